"""Levels that were read from rows are known as such wherever they are passed on to."""

from dataclasses import replace

import pandas as pd
import pytest

import sumwise
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.aggregate import aggregate, fit_encoding
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Cuts, Levels
from sumwise.privacy import plan_release

ROWS = pd.DataFrame({"town": ["Bern", "Rome", "Rome", "Alp"], "age": [20, 35, 50, 65]})


@pytest.fixture(scope="module")
def fitted():
    return Encoding.fit(ROWS, {"town": "levels", "age": {"kind": "quantiles", "bins": 2}})


REWRAPPED = {
    "rules": lambda e: Encoding(e.rules),
    "dict of rules": lambda e: Encoding(dict(e.rules)),
    "one by one": lambda e: Encoding({n: e[n] for n in e.attributes}),
    "spec of rules": lambda e: Encoding.fit(ROWS, dict(e.rules)),
    "engine's spec of rules": lambda e: fit_encoding(
        ROWS, {**e.rules, "a": {"kind": "levels", "column": "age"}}
    ).project(["town", "age"]),
    "file": lambda e: Encoding.from_dict(e.to_dict()),
    "changed rules": lambda e: Encoding({n: replace(r, missing="none") for n, r in e.rules.items()}),
    "projection": lambda e: e.project(["age", "town"]),
}


@pytest.mark.parametrize("again", REWRAPPED.values(), ids=list(REWRAPPED))
def test_a_rewrapped_encoding_is_still_learned(fitted, again):
    encoding = again(fitted)
    assert set(encoding.learned) == {"town", "age"}
    tables = aggregate(ROWS, ["town", "age"], encoding=encoding)
    assert set(tables.provenance.learned or ()) == {"town", "age"}
    with raises(DataError, "levels-classes-cut"):
        plan_release(tables)
    assert plan_release(tables, public_levels=True).epsilon == 1.0


def test_a_cross_of_learned_rules_is_learned(fitted):
    crossed = Encoding({**fitted.rules, "both": Cross(("town", "age"), 5)})
    assert crossed.learned_by(["both"]) == crossed.domain.project(["both"]).learned == ("both",)


DOMAINS = {
    "of an encoding": lambda e: e.project(["town"]).domain,
    "of a frame": lambda e: Domain.from_frame(ROWS, ["town"]),
    "of tables": lambda e: Tables.from_frame(ROWS, ["town"], order=1).domain,
    "of counted tables": lambda e: aggregate(ROWS, ["town"], order=1).domain,
    "rewrapped": lambda e: Domain(dict(e.project(["town"]).domain.spec)),
    "of levels": lambda e: Domain({"town": e.domain.levels("town")}),
    "projected": lambda e: Domain.from_frame(ROWS).project(["town"]),
}


@pytest.mark.parametrize("domain_of", DOMAINS.values(), ids=list(DOMAINS))
def test_a_domain_of_learned_levels_is_not_public(fitted, domain_of):
    domain = domain_of(fitted)
    assert domain.learned == ("town",)
    assert domain == Domain({"town": list(domain.levels("town"))})  # which nobody calls learned
    for count in (aggregate, Tables.from_frame):
        with raises(DataError, "levels-classes-cut", "town"):
            plan_release(count(ROWS, ["town"], order=1, domain=domain))
    with raises(DataError, "levels-classes-cut"):
        plan_release(Tables([Table("town", [1, 1, 2])], domain), bounds=1)


def test_declared_levels_are_public():
    domain = Domain({"town": ["Alp", "Bern", "Rome"], "age": [20, 35, 50, 65]})
    assert domain.learned == ()
    assert plan_release(aggregate(ROWS, ["town", "age"], domain=domain)).epsilon == 1.0
    given = Encoding({"town": Levels("town", ("Bern",), other="other"), "age": Cuts("age", (30,))})
    assert given.learned == given.domain.learned == ()
    assert plan_release(aggregate(ROWS, ["town", "age"], encoding=given)).epsilon == 1.0


def test_saved_domains_and_encodings_stay_learned(fitted, tmp_path):
    for made in (fitted, fitted.domain):
        sumwise.save(made, tmp_path / "it.sumwise")
        assert sumwise.load(tmp_path / "it.sumwise").learned == ("town", "age")
