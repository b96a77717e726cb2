"""A Gaussian process over time and space from values with gaps, in few features: f = A w B', w standard normal.

The kernel is a product, exp(-dt^2 / 2 a^2) exp(-dx^2 / 2 b^2); each factor is cut to its largest eigenvalues, so the
cost of one product is n_times x n_places x n_features and no matrix over all values is formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

TRACE_KEPT = 0.999  # of a kernel's trace
MAX_POINTS = 1500  # points of an eigendecomposition; more go through that many inducing ones
STEPS, FINE = 2000, 1e-6  # of conjugate gradients: at most, and the residual that ends them


class Unsolved(ArithmeticError):
    """Conjugate gradients stopped before their residual was small."""

    def __init__(self, steps: int, residual: float) -> None:
        super().__init__(f"conjugate gradients stopped after {steps} steps with residual {residual:.1e}")
        self.steps, self.residual = steps, residual


class Field(NamedTuple):
    """Features of times (T, p) and places (L, q), means (L,), the scale of f, the variance of noise, weights (p, q)."""

    times: np.ndarray
    places: np.ndarray
    mean: np.ndarray
    scale: float
    noise: float
    weights: np.ndarray

    def values(self, weights: np.ndarray | None = None) -> np.ndarray:
        """f at all times and places, (T, L)."""
        return self.mean + self.times @ (self.weights if weights is None else weights) @ self.places.T


def factor(points: np.ndarray, length: float, *, rng: np.random.Generator) -> np.ndarray:
    """Features (n, p) whose products are the kernel exp(-d^2 / 2 length^2) of points (n, d), nearly."""
    points = points.reshape(len(points), -1)
    chosen = points if len(points) <= MAX_POINTS else points[rng.choice(len(points), MAX_POINTS, replace=False)]
    kernel = _kernel(chosen, chosen, length)
    values, vectors = np.linalg.eigh(kernel)
    order = np.argsort(values)[::-1]
    n = int(np.searchsorted(np.cumsum(values[order]), TRACE_KEPT * values.sum())) + 1
    values, vectors = values[order[:n]], vectors[:, order[:n]]
    if len(chosen) == len(points):
        return vectors * np.sqrt(np.maximum(values, 0.0))
    return _kernel(points, chosen, length) @ (vectors / np.sqrt(np.maximum(values, 1e-12)))


def _kernel(a: np.ndarray, b: np.ndarray, length: float) -> np.ndarray:
    distance = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1)[None] - 2 * a @ b.T
    return np.exp(-np.maximum(distance, 0.0) / (2 * length**2))


def fit_field(y: np.ndarray, times: np.ndarray, places: np.ndarray, scale: float, noise: float) -> Field:
    """Posterior mean of the weights given y (T, L), NaN where there is none; features as from `factor`."""
    seen = np.isfinite(y)
    n = seen.sum(axis=0)
    overall = y[seen].mean()
    mean = (np.where(seen, y, 0.0).sum(axis=0) + overall) / (n + 1)  # of each place, drawn to that of all by one value
    a, b = scale * times, places
    weights = _solve(a, b, seen, noise, a.T @ np.where(seen, y - mean, 0.0) @ b / noise)
    return Field(a, b, mean, scale, noise, weights)


def posterior_draws(
    field: Field, seen: np.ndarray, y: np.ndarray, n_draws: int, *, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield draws (T, L) of f given y, by solving for perturbed data (exact for the features)."""
    a, b = field.times, field.places
    shown = np.where(seen, y - field.mean, 0.0)
    for _ in range(n_draws):
        noisy = shown + np.where(seen, rng.normal(0.0, np.sqrt(field.noise), y.shape), 0.0)
        right = a.T @ noisy @ b / field.noise + rng.standard_normal(field.weights.shape)
        yield field.values(_solve(a, b, seen, field.noise, right))


def with_roughness(
    f: np.ndarray, y: np.ndarray, rough: float, noise: float, *, rng: np.random.Generator | None = None
) -> np.ndarray:
    """Add to a smooth f the independent deviations, of variance `rough`, that noisy y (NaN if unseen) suggest.

    Their posterior mean, ``rough / (rough + noise) (y - f)`` where y was seen; with a generator, a draw.
    """
    seen = np.isfinite(y)
    share = rough / (rough + noise)
    out = f + share * np.where(seen, y - f, 0.0)
    if rng is None or rough == 0:
        return out
    return out + rng.standard_normal(f.shape) * np.sqrt(np.where(seen, share * noise, rough))


def widening(
    f: np.ndarray, off: np.ndarray, variance: np.ndarray, noise: float, share: float = 0.954, n_groups: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """How much wider than expected errors are, by the size of f, from values that were held out.

    In each of a few groups of equal size by f, the least factor w >= 1 for which ``|off| <= 2 sqrt(w^2 variance +
    noise)`` holds for `share` of the values (and one more, as in split conformal prediction).

    Returns
    -------
    knots, factors : arrays
        To interpolate between.
    """
    needed = ((0.5 * off) ** 2 - noise) / np.maximum(variance, 1e-12)
    knots, factors = [], []
    for part in np.array_split(np.argsort(f), max(1, min(n_groups, len(f) // 10))):
        rank = min(1.0, np.ceil((len(part) + 1) * share) / len(part))
        knots.append(np.median(f[part]))
        factors.append(np.sqrt(max(1.0, float(np.quantile(needed[part], rank)))))
    return np.array(knots), np.array(factors)


def _solve(a: np.ndarray, b: np.ndarray, seen: np.ndarray, noise: float, right: np.ndarray) -> np.ndarray:
    """Solve (1 + A' M A / noise) w = right by conjugate gradients; M keeps what was seen."""
    shape = right.shape

    def product(flat: np.ndarray) -> np.ndarray:
        w = flat.reshape(shape)
        return (w + a.T @ np.where(seen, a @ w @ b.T, 0.0) @ b / noise).ravel()

    size, flat = right.size, right.ravel()
    solution, left = cg(LinearOperator((size, size), product), flat, rtol=FINE, maxiter=STEPS)
    if left:
        raise Unsolved(STEPS, float(np.linalg.norm(flat - product(solution)) / np.linalg.norm(flat)))
    return solution.reshape(shape)
