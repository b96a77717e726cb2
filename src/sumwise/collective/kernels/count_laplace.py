"""Laplace approximation around the most likely counts: variances of linear functions of them.

The objective's curvature is that of ``R`` plus that of the loss. The inverse of the first, within the polytope, is the
covariance ``S`` of the tables of n individuals of the tilted model, whose products cost one pass. With ``D`` the second
derivatives of the loss at the observed cells o, the posterior covariance is
``S - S_.o (D^-1 + S_oo)^-1 S_o.``; exact cells have an infinite D.
"""

from __future__ import annotations

import numpy as np


def at_kink(problem, g, share=1e-6):
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


def function_variances(problem, beliefs, cells, weights, tol=1e-10, max_iter=500):
    """Posterior variances of ``weights @ cells`` for every row of weights (n_functions, n_cells)."""
    observations = problem.observations
    noise, curved = _noise(problem, cells)
    index = observations.index[curved]
    noise = noise[curved]

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
    observations = problem.observations
    s, p, e = observations.slices()
    inverse, curved = np.zeros(observations.size), np.ones(observations.size, dtype=bool)
    inverse[s] = observations.var
    inverse[p] = cells[observations.index[p]] ** 2 / observations.y[p]
    # Of the linear ones only exact cells are curved; those of two-sided noise lie off their kink here.
    curved[e] = np.isinf(observations.low) & np.isinf(observations.high)
    return inverse, curved & (cells[observations.index] > 0)


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
