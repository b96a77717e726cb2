"""Contribution bounds: what is left of each person, whoever else is there, and how far one person moves the tables."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import Domain
from sumwise.aggregate import CountPlan, aggregate
from sumwise.errors import DataError
from sumwise.privacy import plan_release

DOMAIN = Domain({"a": 3, "b": 2})


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    person = rng.integers(0, 40, 300)
    return pd.DataFrame(
        {"id": [f"p{i}" for i in person], "a": rng.integers(0, 3, 300), "b": rng.integers(0, 2, 300),
         "y": rng.integers(0, 2, 300), "w": rng.integers(1, 9, 300)}
    )  # fmt: skip


def counted(frame, engine="duckdb", **bounds):
    return aggregate(frame, ["a", "b"], "y", domain=DOMAIN, person="id", engine=engine, **bounds)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_at_most_so_many_rows_of_each_person(engine, people, most):
    tables = counted(people, engine, max_rows=most)
    assert tables.n == people.groupby("id").size().clip(upper=most).sum()
    assert tables.provenance.rows_per_person == most


@pytest.mark.parametrize("most", [1, 2, 100])
def test_at_most_so_many_different_rows_of_each_person_each_once(engine, people, most):
    tables = counted(people, engine, max_cells=most)
    different = people.drop_duplicates(["id", "a", "b", "y"]).groupby("id").size()
    assert tables.n == different.clip(upper=most).sum()
    if most == 100:
        once = people.drop_duplicates(["id", "a", "b", "y"])
        assert np.array_equal(tables[0].counts, aggregate(once, ["a", "b"], "y", domain=DOMAIN)[0].counts)


def test_the_choice_depends_on_the_seed_and_not_on_the_order(engine, people):
    first = counted(people, engine, max_rows=2, seed=5)
    shuffled = people.sample(frac=1.0, random_state=1)
    assert counted(shuffled, engine, max_rows=2, seed=5) == first
    assert counted(people, engine, max_rows=2, seed=6) != first


def test_engines_choose_the_same_rows(spark, people):
    assert counted(people, "spark", max_rows=2, seed=3) == counted(people, max_rows=2, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{"max_rows": 2}, {"max_cells": 2}, {"max_rows": 3, "max_cells": 2}])
@pytest.mark.parametrize("weights", [{}, {"weight": "w", "max_weight": 4}])
def test_one_person_moves_the_tables_by_no_more_than_the_sensitivity(people, bounds, weights):
    """Take out each person in turn; no counts by class move further than the plan says."""
    whole = counted(people, **bounds, **weights)
    sensitivity = plan_release(whole, 1.0, mechanism="laplace").sensitivities[0]
    moved = []
    for person in people["id"].unique()[:6]:
        rest = counted(people[people["id"] != person], **bounds, **weights)
        ones = np.abs(whole[0].label_sums - rest[0].label_sums).sum()
        zeros = np.abs((whole[0].counts - whole[0].label_sums) - (rest[0].counts - rest[0].label_sums)).sum()
        moved.append(ones + zeros)
    assert max(moved) <= sensitivity + 1e-9
    assert sensitivity == 2 * (4 if weights else 1)


def test_the_choice_is_fair():
    """Each of a person's four rows is kept about equally often, also where two are alike."""
    rows = pd.DataFrame({"id": np.repeat(np.arange(2000), 4), "a": np.tile([0, 1, 2, 2], 2000)})
    tables = aggregate(rows, ["a"], order=1, domain=Domain({"a": 3}), person="id", max_rows=1)
    assert np.allclose(tables["a"].counts / 2000, [0.25, 0.25, 0.5], atol=0.05)


def test_weights_are_clipped(people):
    tables = aggregate(people, ["a"], order=1, weight="w", domain=Domain({"a": 3}), max_weight=4)
    assert tables.n == people["w"].clip(upper=4).sum()
    assert tables.provenance.max_weight == 4


def test_missing_persons_are_refused(people):
    gaps = people.assign(id=people["id"].where(people.index > 2))
    with raises(DataError, "column-names-persons", 3):
        counted(gaps, max_rows=1)
    assert counted(gaps, max_rows=100, where=[("id", "not missing")]).n == 297


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"person": "id"}, ("person-without-bound",)),
        ({"max_rows": 1}, ("max-rows-max",)),
        ({"person": "id", "max_rows": 0}, ("must-least", "max_rows", 0)),
        ({"person": "", "max_rows": 1}, ("is-name-a", "person")),
        ({"max_weight": 3.0}, ("max-weight-needs", "3.0")),
        ({"weight": "w", "max_weight": 0}, ("max-weight-needs", 0)),
        ({"seed": -1}, ("must-least", "seed", -1)),
    ],
)
def test_plan_refuses(given, words):
    with raises(DataError, *words):
        CountPlan("rows.csv", ["a"], order=1, **given)
