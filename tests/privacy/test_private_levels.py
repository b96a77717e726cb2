"""private_encoding: quantiles and lists of levels, what they cost, and what they don't reveal."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise.aggregate import aggregate
from sumwise.aggregate.declared import declared_rows
from sumwise.encoding import Declaration
from sumwise.encoding.rules import Cuts
from sumwise.errors import DataError
from sumwise.privacy import Budget, PersonBounds, accounting, mechanisms, private_encoding, private_levels, release
from sumwise.privacy.private_levels import even_cuts

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    towns = np.array(["Bern", "Rome", "Oslo"])[rng.choice(3, 4000, p=[0.6, 0.3, 0.1])]
    towns[:1] = "Alp"
    return pd.DataFrame({"age": rng.integers(18, 90, 4000), "town": towns, "y": rng.integers(0, 2, 4000)})


def test_quantiles_are_near_the_true_ones(people):
    spec = {"age": {"kind": "quantiles", "bins": 4, "range": [0, 120]}}
    edges = private_encoding(people, spec, 3.0, budget=None)["age"].edges
    assert np.abs(np.array(edges) - np.quantile(people["age"], [0.25, 0.5, 0.75])).max() < 4


def test_a_village_of_one_is_never_listed(people):
    for _ in range(20):
        encoding = private_encoding(people, {"town": "levels"}, 1.0, 1e-6, budget=None)
        assert encoding["town"].levels == ("Bern", "Oslo", "Rome", "other", "missing")


def test_a_level_of_one_passes_with_probability_at_most_delta():
    """A threshold so low that it shows: delta .001, and a thousand levels of one person each."""
    frame = pd.DataFrame({"x": np.arange(3000)})
    kept = [len(private_encoding(frame, {"x": "levels"}, 1.0, 1e-3, budget=None)["x"].values) for _ in range(10)]
    assert sum(kept) <= 30 + 5 * np.sqrt(30)  # 30,000 chances of at most one in a thousand each


def test_rules_that_learn_nothing_cost_nothing(people):
    spec = {
        "age": {"kind": "width", "bins": 3, "range": [0, 90]},
        "town": {"kind": "levels", "values": ["Bern", "Rome"]},
        "hashed": {"kind": "hash", "column": "town", "cells": 5},
        "both": {"kind": "cross", "of": ["age", "town"], "cells": 4},
        "cut": {"kind": "cuts", "column": "age", "at": [40]},
    }
    budget = Budget(1.0)
    encoding = private_encoding(people, spec, 1.0, budget=budget)
    assert budget.spent == 0
    assert encoding["age"].edges == (30, 60)
    assert encoding["town"].levels == ("Bern", "Rome", "other", "missing")
    assert encoding.learned == ()


def test_rows_to_released_tables_privately_end_to_end(people):
    budget = Budget(1.0, 1e-6)
    spec = {"age": {"kind": "quantiles", "bins": 3, "range": [0, 120]}, "town": "levels"}
    encoding = private_encoding(people, spec, 0.2, 5e-7, budget=budget)
    tables = aggregate(people, ["age", "town"], "y", encoding=encoding)
    assert tables.provenance.learned == ()
    noisy = release(tables, 0.7, budget=budget)
    assert 0.85 < budget.spent < 0.9  # the delta that is left allows the levels' noise less than .2
    assert noisy.encoding == encoding
    assert [(r["epsilon"], r["delta"]) for r in noisy.provenance.releases] == [(0.2, 5e-7), (0.7, 0.0)]
    with raises(DataError, "budget-epsilon-left"):
        release(tables, 0.2, budget=budget)


def test_delta_that_was_spent_is_gone(people):
    budget = Budget(0.5, 1e-6)
    private_encoding(people, {"town": "levels"}, 0.5, 1e-6, budget=budget)
    assert budget.spent == pytest.approx(0.5)
    with raises(DataError, "budget-epsilon-left", "inf"):
        private_encoding(people, {"town": "levels"}, 0.1, 1e-6, budget=budget)


def test_many_rows_of_one_person_are_no_level():
    frame = pd.DataFrame({"town": ["Bern"] * 3000 + ["Alp"] * 3000, "id": [*range(3000), *[-1] * 3000]})
    declared = Declaration({"town": "levels"}, person="id")
    encoding = private_encoding(frame, declared, 1.0, 1e-6, budget=None)
    assert encoding["town"].levels == ("Bern", "other", "missing")
    nobody = private_encoding(
        frame.assign(id=np.nan), declared, 1.0, 1e-6, budget=None
    )  # rows of no person are left out
    assert nobody["town"].levels == ("other", "missing")


@pytest.mark.parametrize("seed", range(5))
def test_one_person_changes_no_more_rows_than_stated(seed):
    """Neighbouring data: whatever rows one person adds, and wherever, others keep theirs."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": rng.integers(0, 6, 30), "x": rng.integers(0, 9, 30)})
    declared = Declaration({"x": {"kind": "cuts", "at": [5]}}, person="id", max_rows=3)

    def counted(rows):
        with declared_rows(rows, declared) as engine:
            pairs = engine.table("SELECT c0, c1 FROM sumwise_source ORDER BY c1, c0").to_pylist()
        return [tuple(pair.values()) for pair in pairs]

    every, without = counted(frame), counted(frame[frame["id"] != 2].sample(frac=1, random_state=seed))
    assert [row for row in every if row[1] != "2"] == without
    assert len(every) - len(without) <= 3


@pytest.mark.parametrize(("replace", "rows"), [(False, 1), (True, 2)])
def test_replaced_rows_go_and_come(monkeypatch, replace, rows):
    seen = []
    monkeypatch.setattr(private_levels, "_noisy_cuts", lambda *a: seen.append(a[-1]) or Cuts("age", (1.0,)))
    declared = Declaration({"age": {"kind": "quantiles", "range": [0, 100]}})
    loss = private_levels.LevelsLoss.of(1.0, 0.0)
    private_levels.learned_rules({"age": {}}, declared, loss, PersonBounds(replace=replace))
    assert seen == [rows]


@pytest.mark.parametrize("name", ["geometric", "gaussian"])
def test_a_row_moves_each_histogram_by_one(monkeypatch, name):
    """Neighbours by brute force: the histograms of a column differ by one in one bin each."""
    noise, seen = mechanisms.mechanism(name), []
    monkeypatch.setattr(type(noise), "add", lambda _, values, __: seen.append(values) or values)
    declared = Declaration({"x": {"kind": "quantiles", "range": [0, 100]}})
    rng = np.random.default_rng(0)
    values = pd.Series([*(rng.random(12) * 120), 100.0, np.nan, np.inf, -np.inf, -5.0])
    for i in range(len(values)):
        seen.clear()
        for column in (values, values.drop(i)):
            with declared_rows({"x": column}, declared) as engine:
                counted = private_levels.histograms(engine, declared)
            private_levels._noisy_cuts(counted["x"], declared.attributes["x"], noise, 1.0, 1)
        for every, fewer in zip(seen[:3], seen[3:]):
            assert np.abs(every - fewer).sum() == (0 if np.isnan(values[i]) else 1)


def test_a_value_that_many_share_has_a_bin_of_its_own():
    counts = np.r_[900.0, np.zeros(499), np.full(500, 0.2)]
    assert even_cuts(counts, 5) == [1, 625, 750, 875]
    assert even_cuts(np.full(10, 7.0), 5) == [2, 4, 6, 8]
    assert even_cuts(np.array([3.0, 3, 90, 3, 3]), 4) == [2, 3, 4]
    assert even_cuts(np.zeros(10), 5) == []


def test_small_budgets_still_find_the_cuts():
    """Ten cuts at epsilon .01 of 30,000 rows: an exponential mechanism for each had missed by thousands of ranks."""
    values = np.random.default_rng(1).normal(50, 15, 30_000)
    spec = {"x": {"kind": "quantiles", "bins": 10, "range": [0, 100]}}
    edges = private_encoding(pd.DataFrame({"x": values}), spec, 0.01, 1e-6, budget=None)["x"].edges
    ranks = [np.mean(values < e) for e in edges]
    assert len(edges) > 5
    assert np.diff([0, *ranks, 1]).max() < 0.35


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ({"age": {"kind": "quantiles"}}, {}, ("attribute-needs-range",)),
        ({"age": {"kind": "quantiles", "range": [5, 5]}}, {}, ("attribute-needs-range",)),
        ({"town": "levels"}, {"delta": 0.0}, ("levels-need-delta",)),
        ({"town": {"kind": "target"}}, {}, ("attribute-asks-target",)),
        ({"town": "levels"}, {"epsilon": 1e6}, ("epsilon-above-promises",)),
        ({"town": "levels"}, {"epsilon": 0}, ("epsilon-must-above", 0)),
        ({"town": "words"}, {}, ("attribute-asks-unknown",)),
        ({"nowhere": "levels"}, {}, ("there-is-no", "nowhere")),
    ],
)
def test_private_encoding_refuses(people, spec, options, words):
    with raises(DataError, *words):
        private_encoding(people, spec, **{"epsilon": 1.0, "delta": 1e-6, "budget": None, **options})
    with raises(DataError, "budget-not-nothing"):
        private_encoding(people, {"age": [40]}, 1.0)


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "quantiles", "range": [0, float("inf")]},
        {"kind": "quantiles", "range": [float("nan"), 1]},
        {"kind": "quantiles", "range": ["0", "100"]},
        {"kind": "quantiles", "range": [0, 100], "bins": 1},
        {"kind": "levels", "max_levels": 0},
        {"kind": "levels", "min_count": -3},
    ],
)
def test_what_is_refused_costs_nothing(people, rule):
    budget = Budget(1.0, 1e-6)
    with pytest.raises(DataError):
        private_encoding(people, {"town" if rule["kind"] == "levels" else "age": rule}, 1.0, 1e-6, budget=budget)
    assert budget.spent == 0


def test_min_count_is_asked_of_noisy_counts(people):
    for least, wanted in ((1, ("Bern", "Rome", "Oslo")), (800, ("Bern", "Rome")), (1800, ("Bern",))):
        spec = {"town": {"kind": "levels", "min_count": least}}
        encoding = private_encoding(people, spec, 5.0, 1e-6, budget=None)  # noise of about two people
        assert set(encoding["town"].values) == set(wanted)


def test_a_range_may_be_of_numpy_numbers(people):
    spec = {"age": {"kind": "width", "bins": 4, "range": (np.int64(0), np.float32(100))}}
    assert private_encoding(people, spec, 1.0, budget=None)["age"].edges == (25.0, 50.0, 75.0)


def test_the_losses_of_levels_and_tables_add_up_to_the_whole():
    levels, epsilon, delta = private_levels.split_loss(2.0, 1e-6, 0.25, pure=True)
    assert (levels.epsilon, epsilon, delta) == (0.5, 1.5, 0.0)
    levels, epsilon, delta = private_levels.split_loss(2.0, 1e-6, 0.25, pure=False)
    every = accounting.mu_of_epsilon(2.0, delta) ** 2
    assert levels.delta + delta == pytest.approx(1e-6, rel=1e-12)
    assert levels.mu**2 == pytest.approx(0.25 * every)
    assert levels.mu**2 + accounting.mu_of_epsilon(epsilon, delta) ** 2 == pytest.approx(every, rel=1e-6)
    assert epsilon < 2.0
