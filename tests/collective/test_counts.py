"""Counts: tables by name, margins, and tables made when asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from messages import raises
from sumwise import Domain
from sumwise.collective import Counts, CountsFit, TreeModel
from sumwise.collective.counts import LazyTables
from sumwise.errors import DataError


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
    with raises(KeyError, "no-table-over"):
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


CHAIN = TreeModel(Domain({"a": 2, "b": 3}), [("a", "b")], {("a", "b"): [[0.3, -1.0, 0.2], [-0.5, 0.4, 0.0]]})


@pytest.mark.parametrize("n", [1, 3, 7, 40])
def test_size_is_inferred_from_the_tables(n):
    drawn = CHAIN.sample_tables(n, random_state=n)
    nodes, edges = dict(drawn.nodes), {e: np.asarray(drawn.edges[e]) for e in drawn.edges}
    made = Counts(nodes, edges)
    assert made.n == n
    assert CHAIN.log_probability(made) == CHAIN.log_probability(Counts(nodes, edges, n)) > -np.inf
    assert CHAIN.objective(made) == CHAIN.objective(Counts(nodes, edges, n))
    assert CountsFit(nodes=nodes, edges=edges).n == n
    assert Counts({}, {e: sparse.csr_array(t) for e, t in edges.items()}).n == n


def test_tables_of_different_totals_have_no_size():
    with raises(DataError, "tables-population-different", "a", 5, 6):
        Counts({"a": np.array([2.0, 3.0])}, {("a", "b"): np.ones((2, 3))})
    with raises(DataError, "no-tables-size"):
        Counts({})


def test_a_size_that_contradicts_the_tables_is_refused():
    drawn = CHAIN.sample_tables(12, random_state=0)
    wrong = Counts(drawn.nodes, drawn.edges, 1)
    for ask in (CHAIN.log_probability, CHAIN.objective):
        with raises(DataError, "counts-sum-population", 12, 1):
            ask(wrong)
