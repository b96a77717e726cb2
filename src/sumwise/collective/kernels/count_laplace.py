"""Laplace approximation around the most likely counts: variances of linear functions of them.

The objective's curvature is that of ``R`` plus that of the loss. The inverse of the first, within the polytope, is the
covariance ``S`` of the tables of n individuals of the tilted model, whose products cost one pass. With ``D`` the second
derivatives of the loss at the observed cells o, the posterior covariance is
``S - S_.o (D^-1 + S_oo)^-1 S_o.``; exact cells have an infinite D.
"""

from __future__ import annotations

import numpy as np

__all__ = ["at_kink", "function_variances"]


def at_kink(problem, g, share=1e-6):
    """Which observed cells with two-sided noise have a multiplier inside its box: their count is at the kink."""
    evidence = problem.evidence
    _, _, e = evidence.slices()
    out = np.zeros(evidence.size, dtype=bool)
    soft = np.isfinite(evidence.low) & np.isfinite(evidence.high)
    room = share * (evidence.high - evidence.low)
    inside = (g[e] > evidence.low + np.where(soft, room, 0.0)) & (g[e] < evidence.high - np.where(soft, room, 0.0))
    out[e] = soft & inside & (problem.base[evidence.index[e]] > -np.inf)
    return out


def function_variances(problem, beliefs, cells, weights, tol=1e-10, max_iter=500):
    """Posterior variances of ``weights @ cells`` for every row of weights (n_functions, n_cells)."""
    evidence = problem.evidence
    noise, bends = _noise(problem, cells)
    index = evidence.index[bends]
    noise = noise[bends]

    def product(v):
        return problem.covariance_product(beliefs, cells, v)

    def system(x):
        return noise * x + product(np.bincount(index, x, problem.n_cells))[index]

    scale = noise + np.maximum(cells[index], 1e-12 * problem.total)
    out = np.empty(len(weights))
    for k, a in enumerate(weights):
        moved = product(a)
        out[k] = a @ moved
        if len(index):
            seen = moved[index]
            out[k] -= seen @ _solve(system, scale, seen, tol, max_iter)
    return np.maximum(out, 0.0)


def _noise(problem, cells):
    """Inverse second derivatives of the loss at the observed cells, and which cells have any."""
    evidence = problem.evidence
    s, p, e = evidence.slices()
    inverse, bends = np.zeros(evidence.size), np.ones(evidence.size, dtype=bool)
    inverse[s] = evidence.var
    inverse[p] = cells[evidence.index[p]] ** 2 / evidence.y[p]
    # Of the linear ones only exact cells bend; those of two-sided noise lie off their kink here.
    bends[e] = np.isinf(evidence.low) & np.isinf(evidence.high)
    return inverse, bends & (cells[evidence.index] > 0)


def _solve(system, scale, rhs, tol, max_iter):
    """Conjugate gradients with a diagonal preconditioner."""
    x, r = np.zeros_like(rhs), rhs.copy()
    z = r / scale
    p, rz = z, float(r @ z)
    first = rz
    for _ in range(max_iter):
        if rz <= tol**2 * first or rz <= 0:
            break
        h = system(p)
        steep = float(p @ h)
        if steep <= 0:
            break
        x = x + rz / steep * p
        r = r - rz / steep * h
        z = r / scale
        rz, before = float(r @ z), rz
        p = z + rz / before * p
    return x
