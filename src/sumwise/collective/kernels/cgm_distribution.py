"""The distribution of a population's tables (the CGM distribution): log-probability and sampling.

For a forest with degrees ``nu`` (Sun 2019, eqs. 2.4 and 2.6; one ``n!`` per component):
``p(n) = n! prod_i prod_x (n_i(x)!)^(nu_i - 1) / prod_e prod n_e! * exp(<theta, n>) / Z^n``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, xlogy

from sumwise.collective.kernels.edges import DenseEdge, MarginEdge, SparseEdge, softmax

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs
    from sumwise.collective.kernels.count_problem import CountProblem


def log_probability(
    problem: CountProblem,
    cells: np.ndarray,
    tables: list[np.ndarray],
    log_z: float,
    marginals: tuple[np.ndarray, list[np.ndarray]] | None = None,
) -> float:
    """Log-probability of integer tables that lie in the polytope.

    With `marginals` ``(cells, tables)`` for a population of one, eq. (2.4) is used; else eq. (2.6) with `log_z`.
    """
    n, forest = problem.total, problem.forest
    value = len(forest.roots) * float(gammaln(n + 1.0))
    nu = (problem.degrees - 1.0)[problem.node]
    value += float((nu * gammaln(cells + 1.0)).sum())
    value -= sum(float(gammaln(np.asarray(t) + 1.0).sum()) for t in tables)
    if marginals is None:
        value -= problem.regulariser(cells, tables) - _entropy_part(problem, cells, tables)
        return value - n * log_z
    mu_cells, mu_tables = marginals
    value -= float((nu * xlogy(cells, mu_cells)).sum())
    with np.errstate(divide="ignore"):
        return value + sum(float(xlogy(t, mu).sum()) for t, mu in zip(tables, mu_tables))


def _entropy_part(problem: CountProblem, cells: np.ndarray, tables: list[np.ndarray]) -> float:
    nu = (problem.degrees - 1.0)[problem.node]
    return sum(float(xlogy(t, t).sum()) for t in tables) - float((nu * xlogy(cells, cells)).sum())


def sample_tables(problem: CountProblem, beliefs: Beliefs, rng: np.random.Generator) -> tuple[np.ndarray, list[Any]]:
    """Draw node counts (flat) and edge tables of a population, by multinomial splits from the roots down."""
    forest, total = problem.forest, int(problem.total)
    nodes: list[Any] = [None] * len(forest.sizes)
    tables: list[Any] = [None] * len(forest.edges)
    for root in forest.roots:
        nodes[root] = rng.multinomial(total, _probabilities(softmax(beliefs.nodes[root])))
    for k in range(len(forest.steps) - 1, -1, -1):
        child, parent, e, back = forest.steps[k]
        # `back`: the child is the second node of the edge
        edge = forest.edges[e][2]
        tables[e], nodes[child] = _SPLITS[type(edge)](edge, nodes[parent], beliefs.inner[k], back, rng)
    return np.concatenate(nodes).astype(float), [t.astype(float) for t in tables]


def _probabilities(p: np.ndarray) -> np.ndarray:
    return p / p.sum(axis=-1, keepdims=True)


def _split_dense(
    operator: DenseEdge, parents: np.ndarray, inner: np.ndarray, child_second: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    theta = operator.theta if child_second else operator.theta.T
    table = np.zeros(theta.shape, dtype=np.int64)
    busy = np.flatnonzero(parents)
    table[busy] = rng.multinomial(parents[busy], _probabilities(softmax(theta[busy] + inner)))
    return (table if child_second else table.T), table.sum(axis=0)


def _split_sparse(
    operator: SparseEdge, parents: np.ndarray, inner: np.ndarray, child_second: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    parent, child = (operator.first, operator.second) if child_second else (operator.second, operator.first)
    order = np.argsort(parent, kind="stable")
    starts = np.searchsorted(parent[order], np.arange(len(parents) + 1))
    table = np.zeros(len(operator.theta), dtype=np.int64)
    for x in np.flatnonzero(parents):
        moves = order[starts[x] : starts[x + 1]]
        table[moves] = rng.multinomial(parents[x], _probabilities(softmax(operator.theta[moves] + inner[child[moves]])))
    size = operator.shape[1 if child_second else 0]
    return table, np.bincount(child, table, size).astype(np.int64)


def _split_margin(
    operator: MarginEdge, parents: np.ndarray, inner: np.ndarray, child_second: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if child_second:  # the child is the margin of its parent
        return parents, operator.margin(parents)
    folded = operator.fold(inner)
    cells = np.zeros(folded.shape, dtype=np.int64)
    busy = np.flatnonzero(parents)
    cells[busy] = rng.multinomial(parents[busy], _probabilities(softmax(folded[busy])))
    where = operator.fold(np.arange(operator.shape[0]))
    table = np.zeros(operator.shape[0], dtype=np.int64)
    table[where.ravel()] = cells.ravel()
    return table, table


_SPLITS: dict[type, Callable[..., Any]] = {
    DenseEdge: _split_dense,
    SparseEdge: _split_sparse,
    MarginEdge: _split_margin,
}
"""By kind of edge: its table and counts of the child, given counts of the parent."""


def assign_individuals(
    problem: CountProblem, cells: np.ndarray, tables: list[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """States of every individual at every node (n, n_nodes), at random among those with the given tables."""
    forest, total = problem.forest, int(problem.total)
    out = np.zeros((total, len(forest.sizes)), dtype=np.int64)
    for root in forest.roots:
        counts = cells[problem.offsets[root] : problem.offsets[root + 1]].astype(np.int64)
        out[:, root] = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    for k in range(len(forest.steps) - 1, -1, -1):
        child, parent, e, back = forest.steps[k]
        parents, children, counts = _pairs(forest.edges[e][2], tables[e], back)
        people = rng.permutation(total)
        people = people[np.argsort(out[people, parent], kind="stable")]
        order = np.argsort(parents, kind="stable")
        out[people, child] = np.repeat(children[order], counts[order].astype(np.int64))
    return out


def _pairs(operator: DenseEdge, table: np.ndarray, child_second: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parent state, child state and count of every cell of an edge table."""
    if isinstance(operator, SparseEdge):
        first, second, counts = operator.first, operator.second, table
    elif isinstance(operator, MarginEdge):
        first = np.arange(operator.shape[0])
        second, counts = operator.spread(np.arange(operator.shape[1])), table
    else:
        first, second = (a.ravel() for a in np.indices(operator.shape))
        counts = table.ravel()
    return (first, second, counts) if child_second else (second, first, counts)
