"""The default method on tables with label sums, which `advise` names too."""

from __future__ import annotations

from dataclasses import replace

from sumwise import Tables, advise, synthetic
from sumwise.maxent import default_method

TABLES = synthetic.xor(400, random_state=0).tables


def test_amounts_get_the_regressor_and_classes_the_classifier():
    assert default_method(TABLES)[0] == "MaxEntClassifier"
    amounts = Tables(list(TABLES), TABLES.domain, n=TABLES.n, provenance=replace(TABLES.provenance, amount=(0.0, 9.0)))
    assert default_method(amounts)[0] == "MaxEntRegressor"
    assert advise(amounts).method == "sumwise.maxent.MaxEntRegressor"


def test_advise_gives_the_default_and_its_reason():
    method, why = default_method(TABLES)
    advice = advise(TABLES)
    assert advice.method == f"sumwise.maxent.{method}"
    assert why in advice.why
