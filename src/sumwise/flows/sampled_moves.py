"""Flows of a step of which a sample of moves was counted, too: gamma-Poisson cells, raked to the counts of places.

A flow has a gamma distribution around what movement by distance expects of it, with a shape that is a power of the
expectation; both are fitted to the sample, whose counts are then negative binomial. Given the sample the flow is gamma
again. Raking (iterative proportional fitting) makes its mean agree with the places.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from sumwise.errors import DataError
from sumwise.flows.kernels.raking import raked
from sumwise.noise import Exact, Noise, Poisson

LEAST = 1e-12  # of an individual: a flow that is possible


def sampled_flows(
    far: np.ndarray, rows: np.ndarray, cols: np.ndarray, sample: np.ndarray, noise: Noise
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected flows (L, L) with margins `rows` and `cols`; shapes and rates (L, L) of the gamma before raking.

    Parameters
    ----------
    far : (L, L) array
        Distances in units of neighbours; infinite where no move is possible.
    rows, cols : (L,) arrays
        Individuals at each place before and after the step.
    sample : (L, L) array
        Counts of moves; NaN where not observed.
    noise : Noise
        Exact, or Poisson with the share of moves in the sample.
    """
    if isinstance(noise, Exact):
        rate = np.ones_like(far)
    elif isinstance(noise, Poisson):
        rate = np.broadcast_to(np.asarray(noise.rate, dtype=float), far.shape)
    else:
        raise DataError(
            f"Counts of moves have noise {noise!r}.", hint="give Poisson(share that was sampled) or Exact()."
        )
    seen = ~np.isnan(sample)
    rate, sample = np.where(seen, rate, 0.0), np.where(seen, sample, 0.0)
    cols = cols * rows.sum() / cols.sum()
    z = _fitted(far, rows, cols, sample, rate)
    expected, shape = _prior(z, far, rows, cols)
    alpha, beta = sample + shape, rate + shape / expected
    if isinstance(noise, Exact):
        alpha, beta = np.where(seen, np.maximum(sample, LEAST) / LEAST, alpha), np.where(seen, 1.0 / LEAST, beta)
    return raked(np.where(np.isfinite(far), alpha / beta, 0.0), rows, cols), alpha, beta


def sampled_draws(
    cells: tuple[np.ndarray, np.ndarray], rows: np.ndarray, cols: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Draws (n, m) of functions of a step's flows, by `weights` (m, L, L), for draws (n, L) of its margins.

    `cells` are the shapes and rates that `sampled_flows` returns.
    """
    rng, out = np.random.default_rng(0), np.empty((len(rows), len(weights)))
    flat = weights.reshape(len(weights), -1)
    for k, (before, after) in enumerate(zip(np.maximum(rows, 0.0), np.maximum(cols, 0.0))):
        drawn = np.maximum(rng.gamma(cells[0]) / cells[1], LEAST)
        out[k] = flat @ raked(drawn, before, after * before.sum() / after.sum(), 1e-4).ravel()
    return out


def _prior(z: np.ndarray, far: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expected flows by distance, raked to the places, and gamma shapes.

    Parameters: cost of leaving, log scale, power of distance; of the shape its level, its power of the expected flow,
    and how staying differs.
    """
    apart = 1.0 - np.eye(len(far))
    kernel = np.exp(-z[0] * apart - far * np.exp(-z[1]) - z[2] * np.log1p(far))
    expected = np.maximum(raked(kernel, rows, cols, 1e-6), LEAST)
    return expected, np.exp(z[3] + z[4] * np.log(expected) + z[5] * (1.0 - apart))


def _fitted(far, rows, cols, sample, rate) -> np.ndarray:
    """Parameters that make the sample most likely."""

    def loss(z: np.ndarray) -> float:
        expected, shape = _prior(z, far, rows, cols)
        mean = rate * expected
        value = gammaln(sample + shape) - gammaln(shape) - shape * np.log1p(mean / shape)
        value = value + sample * (np.log(np.maximum(mean, 1e-300)) - np.log(mean + shape))
        return -float(value[np.isfinite(far) & (rate > 0)].sum())

    starts = [np.array([stay, 2.0, power, 0.0, 0.0, 0.0]) for stay in (0.0, 3.0) for power in (0.0, 2.0)]
    found = minimize(loss, min(starts, key=loss), method="L-BFGS-B", bounds=[(-20.0, 20.0)] * 6)
    return found.x
