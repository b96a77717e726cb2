"""One function decides for `advise` and for ``sumwise fit``."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import DataError, Margins, advise, synthetic
from sumwise.ecological import default_method
from sumwise.ecological.calibration import composition_variance

MARGINS = synthetic.precincts(40, random_state=0).margins
ALIKE = Margins(np.tile([60, 40], (30, 1)), [[20 + k, 80 - k] for k in range(30)])


@pytest.mark.parametrize(
    ("margins", "method", "why"),
    [
        (MARGINS, "EcologicalEM", "40 units, 2 groups and 2 outcomes"),
        (MARGINS[:2], "Bounds", "There are 2 units for 2 groups"),
        (MARGINS[:1], "Bounds", "There is 1 unit for 2 groups"),
        (ALIKE, "Bounds", "hardly varies"),
        (Margins(MARGINS.rows, MARGINS.totals[:, None]), "Bounds", "a single group or outcome"),
    ],
)
def test_the_default_follows_what_is_identified_and_advise_says_the_same(margins, method, why):
    found = default_method(margins)
    assert found[0] == method
    assert why in found[1]
    advice = advise(margins)
    assert advice.method == f"sumwise.ecological.{method}"
    assert advice.why[0] == found[1]


def test_empty_units_are_not_counted():
    padded = Margins([[60, 40], [0, 0], [0, 0]], [[50, 50], [0, 0], [0, 0]])
    assert default_method(padded)[0] == "Bounds"
    with pytest.raises(DataError, match="All units are empty"):
        default_method(Margins([[0, 0]], [[0, 0]]))


def test_composition_variance_is_zero_for_like_units_and_one_for_pure_ones():
    assert composition_variance(ALIKE.rows) == pytest.approx(0.0, abs=1e-12)
    assert composition_variance(np.array([[9, 0], [0, 9]])) == pytest.approx(1.0)
