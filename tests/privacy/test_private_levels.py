"""private_encoding: quantiles and lists of levels, what they cost, and what they don't reveal."""

import numpy as np
import pandas as pd
import pytest

from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.privacy import Budget, private_encoding, release

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
    assert budget.spent == pytest.approx(0.9)
    assert noisy.encoding == encoding
    with pytest.raises(DataError, match="left"):
        release(tables, 0.2, budget=budget)


def test_delta_that_was_spent_is_gone(people):
    budget = Budget(2.0, 1e-6)
    private_encoding(people, {"town": "levels"}, 0.5, 1e-6, budget=budget)
    assert budget.spent == pytest.approx(0.5)
    with pytest.raises(DataError, match="would bring what is spent to inf"):
        budget.spend(mu=0.01)
    with pytest.raises(DataError, match="would bring what is spent to inf"):
        private_encoding(people, {"town": "levels"}, 0.5, 1e-6, budget=budget)


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ({"age": {"kind": "quantiles"}}, {}, "needs a range"),
        ({"age": {"kind": "quantiles", "range": [5, 5]}}, {}, "needs a range"),
        ({"town": "levels"}, {"delta": 0.0}, "need a delta above 0"),
        ({"town": {"kind": "target"}}, {}, "no private form"),
        ({"town": "levels"}, {"epsilon": 1e6}, "promises nothing"),
        ({"town": "words"}, {}, "unknown rule"),
        ({"nowhere": "levels"}, {}, "nowhere"),
    ],
)
def test_private_encoding_refuses(people, spec, options, words):
    with pytest.raises(DataError, match=words):
        private_encoding(people, spec, **{"epsilon": 1.0, "delta": 1e-6, "budget": None, **options})
    with pytest.raises(DataError, match="budget is not said"):
        private_encoding(people, {"age": [40]}, 1.0)
