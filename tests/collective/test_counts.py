"""Counts: tables by name, margins, and tables made when asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sumwise.collective import Counts, CountsFit
from sumwise.collective.counts import LazyTables


def test_lazy_tables_are_made_once_and_transposed():
    made = []

    def make():
        made.append(1)
        return np.arange(6.0).reshape(2, 3)

    tables = LazyTables({("a", "b"): make})
    assert not made
    np.testing.assert_array_equal(tables["b", "a"], tables["a", "b"].T)
    assert made == [1]
    assert list(tables) == [("a", "b")]
    assert len(tables) == 1
    assert "a x b" in repr(tables)
    with pytest.raises(KeyError, match="no table over a x c"):
        tables["a", "c"]


def test_margins_come_from_the_smallest_table():
    table = np.arange(24.0).reshape(2, 3, 4)
    counts = Counts({"c": table.sum((0, 1))}, {("a", "b"): table.sum(2)}, table.sum(), {("a", "b", "c"): table})
    np.testing.assert_array_equal(counts.table("a"), table.sum((1, 2)))
    np.testing.assert_array_equal(counts.table("b", "a"), table.sum(2).T)
    np.testing.assert_array_equal(counts.table("c", "a"), table.sum(1).T)
    np.testing.assert_array_equal(counts.table("c"), table.sum((0, 1)))
    assert "cliques=1" in repr(counts)


def test_sparse_tables_have_margins_and_frames():
    table = sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    fit = CountsFit(nodes={}, edges={("a", "b"): table}, n=6)
    np.testing.assert_array_equal(fit.table("b"), [3.0, 3.0])
    assert fit.table("b", "a").toarray().tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert len(fit.to_frame("a", "b")) == 3
    assert "method=dual" in repr(fit)
