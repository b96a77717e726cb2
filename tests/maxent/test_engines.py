"""Which engine is chosen, and which attributes are drawn together."""

import numpy as np
import pandas as pd
import pytest

from sumwise import DataError, Tables
from sumwise.maxent.engines import check_name, choose, strong_pairs, strong_trees
from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.sufficient_statistics import sufficient_statistics


def test_auto_takes_an_exact_engine_where_it_is_quick():
    assert choose("auto", layout([2, 3], [(0, 1)]), 2) == "exact"
    assert choose("auto", layout([10] * 8, [(i, i + 1) for i in range(7)]), 2) == "tree"
    assert choose("auto", layout([10] * 8, [(i, j) for i in range(8) for j in range(i)]), 2) == "gibbs"
    assert choose("gibbs", layout([2, 3], [(0, 1)]), 2) == "gibbs"


def test_strongly_tied_attributes_are_found_once_each():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 2000)
    frame = pd.DataFrame({"a": a, "b": a // 2, "c": a, "d": rng.integers(0, 3, 2000), "y": rng.integers(0, 2, 2000)})
    assert strong_pairs(sufficient_statistics(Tables.from_frame(frame, list("abcd"), label="y"))) == ((0, 1),)


def test_an_unknown_engine_is_refused():
    with pytest.raises(DataError, match="engine is 'quantum'. Hint: one of auto, gibbs, spark, exact"):
        check_name("quantum")


def test_attributes_that_hang_together_are_proposed_from_a_tree():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 4000)
    frame = pd.DataFrame({"a": a, "b": a // 2, "c": (a + 1) % 4, "d": rng.integers(0, 3, 4000)})
    frame["y"] = rng.integers(0, 2, 4000)
    (jump,) = strong_trees(sufficient_statistics(Tables.from_frame(frame, list("abcd"), label="y")))
    assert sorted(jump.attributes) == [0, 1, 2]
    assert jump.parents[0] == -1
    assert all(p in jump.attributes for p in jump.parents[1:])
    for share in jump.shares:
        np.testing.assert_allclose(share.sum(axis=1), 1.0)
        assert share.min() > 0


def test_pairs_that_are_drawn_together_need_no_tree():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 4000)
    frame = pd.DataFrame({"a": a, "b": a // 2, "d": rng.integers(0, 3, 4000), "y": rng.integers(0, 2, 4000)})
    assert strong_trees(sufficient_statistics(Tables.from_frame(frame, list("abd"), label="y"))) == ()
