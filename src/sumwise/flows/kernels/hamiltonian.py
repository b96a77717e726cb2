"""Hamiltonian Monte Carlo, in coordinates in which the density has about unit covariance.

A trajectory of a quarter of the period of a standard normal density forgets where it began. The step adapts while the
chain warms up, to an acceptance between those that are best for few and for many coordinates (Hoffman and Gelman 2014,
who take .8).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

QUARTER, ACCEPTANCE, FAR = np.pi / 2.0, 0.8, 1000.0


def hamiltonian_draws(
    log_density: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    n: int,
    warm_up: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws (n, d) of a density whose logarithm and gradient `log_density` returns; -inf where there is none."""
    at, (value, slope), log_step = start, log_density(start), np.log(0.4)
    out = np.empty((n, len(start)))
    for k in range(-warm_up, n):
        n_steps = max(int(np.ceil(QUARTER / np.exp(log_step))), 1)
        step = QUARTER / n_steps * rng.uniform(0.8, 1.2)  # no trajectory is a period long
        speed = rng.standard_normal(len(start))
        energy = value - 0.5 * float(speed @ speed)
        moved, moved_value, moved_slope = at, value, slope
        for _ in range(n_steps):
            speed = speed + 0.5 * step * moved_slope
            moved = moved + step * speed
            moved_value, moved_slope = log_density(moved)
            if not np.isfinite(moved_value) or moved_value - value < -FAR:  # the step was much too long
                moved_value = -np.inf
                break
            speed = speed + 0.5 * step * moved_slope
        difference = moved_value - 0.5 * float(speed @ speed) - energy
        accepted = float(np.exp(min(difference, 0.0))) if np.isfinite(difference) else 0.0
        if rng.random() < accepted:
            at, value, slope = moved, moved_value, moved_slope
        if k < 0:
            log_step += (accepted - ACCEPTANCE) / np.sqrt(k + warm_up + 1.0)
        else:
            out[k] = at
    return out
