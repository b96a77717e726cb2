"""Which engine is chosen, and which attributes are drawn together."""

import numpy as np
import pandas as pd

from messages import raises
from sumwise import DataError, Tables
from sumwise.maxent import engines
from sumwise.maxent.engines import check_name, choose, large_pairs, strong_pairs, strong_trees
from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.sparse_terms import sparse_terms_of
from sumwise.maxent.sufficient_statistics import sufficient_statistics


def test_auto_takes_an_exact_engine_where_it_is_quick():
    assert choose("auto", layout([2, 3], [(0, 1)]), 2) == "exact"
    assert choose("auto", layout([10] * 8, [(i, i + 1) for i in range(7)]), 2) == "tree"
    assert choose("auto", layout([10] * 8, [(i, j) for i in range(8) for j in range(i)]), 2) == "gibbs"
    assert choose("gibbs", layout([2, 3], [(0, 1)]), 2) == "gibbs"


def test_strongly_correlated_attributes_are_found_once_each():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 2000)
    frame = pd.DataFrame({"a": a, "b": a // 2, "c": a, "d": rng.integers(0, 3, 2000), "y": rng.integers(0, 2, 2000)})
    assert strong_pairs(sufficient_statistics(Tables.from_frame(frame, list("abcd"), label="y"))) == ((0, 1),)


def test_an_unknown_engine_is_refused():
    with raises(DataError, "is-takes", "engine", "quantum", "auto", "gibbs", "spark", "exact"):
        check_name("quantum")


def test_correlated_attributes_are_proposed_from_a_tree():
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


def test_correlated_pairs_of_many_cells_are_proposed_and_small_ones_redrawn(monkeypatch):
    rng = np.random.default_rng(0)
    site = rng.integers(0, 400, 3000)
    rows = {"site": site, "page": (site * 7 + (rng.random(3000) < 0.1)) % 390, "y": rng.integers(0, 2, 3000)}
    tables = Tables.from_frame(rows, ["site", "page"], label="y")
    stats = sufficient_statistics(tables, listed=sparse_terms_of([tables]))
    assert strong_pairs(stats) == ((0, 1),)
    assert large_pairs(stats) == ()
    monkeypatch.setattr(engines, "PAIR_COST", 100)
    assert strong_pairs(stats) == ()
    (jump,) = large_pairs(stats)
    assert jump.pair == (0, 1)
    assert len(jump.cells) == len(jump.shares) == len(tables["site", "page"].filled()[0])
    assert min(jump.first.min(), jump.second.min()) > 0
