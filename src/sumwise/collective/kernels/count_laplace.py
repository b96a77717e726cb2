"""Laplace approximation around the most likely counts: variances of linear functions of them.

The objective's curvature is that of ``R`` plus that of the loss. The inverse of the first, within the polytope, is the
covariance ``S`` of the tables of n individuals of the tilted model, whose products cost one pass. With ``D`` the second
derivatives of the loss at the observed cells o, the posterior covariance is
``S - S_.o (D^-1 + S_oo)^-1 S_o.``; exact cells have an infinite D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sumwise.collective.kernels.belief_propagation import edge_counts
from sumwise.collective.kernels.dual_counts import conjugate_gradients
from sumwise.collective.kernels.path_sweeps import PathSystem

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs
    from sumwise.collective.kernels.count_problem import CountProblem

TOL = 1e-6  # residual of a system, relative
MOST_PRODUCTS = 500


def at_kink(problem: CountProblem, g: np.ndarray, share: float = 1e-6) -> np.ndarray:
    """Which observed cells with two-sided noise have a multiplier inside its box: their count is at the kink."""
    observations = problem.observations
    _, _, e = observations.slices()
    out = np.zeros(observations.size, dtype=bool)
    soft = np.isfinite(observations.low) & np.isfinite(observations.high)
    room = share * (observations.high - observations.low)
    inside = (g[e] > observations.low + np.where(soft, room, 0.0)) & (
        g[e] < observations.high - np.where(soft, room, 0.0)
    )
    out[e] = soft & inside & (problem.base[observations.index[e]] > -np.inf)
    return out


def function_variances(
    problem: CountProblem,
    beliefs: Beliefs,
    cells: np.ndarray,
    weights: Iterable[np.ndarray],
    tables: tuple[CountProblem, Beliefs, np.ndarray] | None = None,
) -> np.ndarray:
    """Posterior variances of ``weights @ cells`` for every row of weights (any iterable of (n_cells,) arrays).

    Where weights are of more cells, `tables` is the problem with those, its beliefs and its cells: systems are solved
    on the smaller problem, which has all that was observed. With `weight`, by which losses were divided, noise with a
    kink counts as normal.
    """
    noise, curved = _noise(problem, cells)
    wide, wide_beliefs, wide_cells = (problem, beliefs, cells) if tables is None else tables
    index, noise = problem.observations.index[curved], noise[curved]
    seen_at = wide.observations.index[curved]
    solve = _solver(problem, beliefs, cells, index, noise)
    out = []
    for a in weights:
        moved = wide.covariance_product(wide_beliefs, wide_cells, a)
        known = moved[seen_at] @ solve(moved[seen_at]) if len(index) else 0.0
        out.append(a @ moved - known)
    return np.maximum(out, 0.0)


def _solver(
    problem: CountProblem, beliefs: Beliefs, cells: np.ndarray, index: np.ndarray, noise: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """What solves ``(noise + S_oo) x = r``: sweeps on chains whose cells all have noise, else conjugate gradients.

    A variance is wrong by the square of the residual's size.
    """
    if problem.paths is not None and len(noise) and (noise > 0).all():
        free, curvature = np.zeros(problem.n_cells, dtype=bool), np.zeros(problem.n_cells)
        free[index], curvature[index] = True, noise
        system = PathSystem(problem, beliefs, cells, curvature, free)
        return lambda rhs: system.solve(np.bincount(index, rhs, problem.n_cells), TOL, MOST_PRODUCTS)[index]

    def product(x: np.ndarray) -> np.ndarray:
        spread = np.bincount(index, x, problem.n_cells)
        return noise * x + problem.covariance_product(beliefs, cells, spread)[index]

    scale = noise + np.maximum(cells[index], 1e-12 * problem.total)
    return lambda rhs: conjugate_gradients(product, lambda r: r / scale, rhs, rhs / scale, TOL, MOST_PRODUCTS)[0]


def node_covariance(problem: CountProblem, beliefs: Beliefs, cells: np.ndarray, node: int) -> np.ndarray | None:
    """Posterior covariance of all counts of one node of a path, by a filter along the path; None where there is none.

    Counts of a Markov chain have the covariances of a Gaussian one with the same first two moments. The filter carries
    the covariance of the present node, and that between it and `node`, given all observations so far.
    """
    noise, curved = _noise(problem, cells)
    route = next((nodes for nodes, _ in problem.paths or () if node in nodes), None)
    if route is None or (noise[curved] <= 0).any() or problem.device is not None:
        return None
    seen = np.full(problem.n_cells, np.inf)
    seen[problem.observations.index[curved]] = noise[curved]
    parts = [slice(a, b) for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
    links = {frozenset(e[:2]): (k, e[0]) for k, e in enumerate(problem.forest.edges)}
    z = cells[parts[route[0]]]
    here, across, own = np.diag(z) - np.outer(z, z) / problem.total, None, None
    for k, i in enumerate(route):
        if k:
            number, first = links[frozenset((route[k - 1], i))]
            table = edge_counts(problem.forest, beliefs, number, problem.total)
            if np.ndim(table) != 2:
                return None
            table = table if first == route[k - 1] else table.T
            moves = np.divide(table, z[:, None], out=np.zeros_like(table), where=z[:, None] > 0)
            here = moves.T @ (here @ moves - table) + np.diag(cells[parts[i]])
            across = None if across is None else across @ moves
        z = cells[parts[i]]
        at = np.flatnonzero(np.isfinite(seen[parts[i]]))
        if len(at):
            factor = cho_factor(here[np.ix_(at, at)] + np.diag(seen[parts[i]][at]))
            gain = cho_solve(factor, here[at])
            if across is not None:
                own = own - across[:, at] @ cho_solve(factor, across[:, at].T)
                across = across - across[:, at] @ gain
            here = here - here[:, at] @ gain
        if i == node:
            across, own = here, here
    return own


def _noise(problem: CountProblem, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse second derivatives of the loss at the observed cells, and which cells have any."""
    observations = problem.observations
    s, p, e = observations.slices()
    inverse, curved = np.zeros(observations.size), np.ones(observations.size, dtype=bool)
    inverse[s] = observations.var
    inverse[p] = cells[observations.index[p]] ** 2 / observations.y[p]
    # Of the linear ones only exact cells are curved; those of two-sided noise lie off their kink here.
    curved[e] = np.isinf(observations.low) & np.isinf(observations.high)
    return inverse, curved & (cells[observations.index] > 0)
