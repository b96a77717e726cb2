"""The distribution of a population's tables (the CGM distribution): log-probability and sampling.

For a forest with degrees ``nu`` (Sun 2019, eqs. 2.4 and 2.6; one ``n!`` per component):
``p(n) = n! prod_i prod_x (n_i(x)!)^(nu_i - 1) / prod_e prod n_e! * exp(<theta, n>) / Z^n``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, xlogy

from sumwise.collective.kernels.edges import probabilities

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
        nodes[root] = rng.multinomial(total, probabilities(beliefs.nodes[root]))
    for k in range(len(forest.steps) - 1, -1, -1):
        child, parent, e, back = forest.steps[k]
        tables[e], nodes[child] = forest.edges[e][2].draw(nodes[parent], beliefs.inner[k], back, rng)
    return np.concatenate(nodes).astype(float), [t.astype(float) for t in tables]


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
        first, second, _ = forest.edges[e][2].cells()
        parents, children = (first, second) if back else (second, first)
        people = rng.permutation(total)
        people = people[np.argsort(out[people, parent], kind="stable")]
        order = np.argsort(parents, kind="stable")
        out[people, child] = np.repeat(children[order], np.ravel(tables[e])[order].astype(np.int64))
    return out
