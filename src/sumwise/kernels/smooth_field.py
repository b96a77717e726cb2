"""A Gaussian process over time and space from values with gaps, in few features: f = A w B', w standard normal.

The kernel is a product, exp(-dt^2 / 2 a^2) exp(-dx^2 / 2 b^2); each factor is cut to its largest eigenvalues, so the
cost of one product is n_times x n_places x n_features and no matrix over all values is formed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

__all__ = ["Field", "factor", "fit_field", "posterior_draws"]

KEPT = 0.999  # of a kernel's trace
MOST = 1500  # points of an eigendecomposition; more go through that many inducing ones


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


def factor(points: np.ndarray, length: float, *, rng) -> np.ndarray:
    """Features (n, p) whose products are the kernel exp(-d^2 / 2 length^2) of points (n, d), nearly."""
    points = points.reshape(len(points), -1)
    chosen = points if len(points) <= MOST else points[rng.choice(len(points), MOST, replace=False)]
    kernel = _kernel(chosen, chosen, length)
    values, vectors = np.linalg.eigh(kernel)
    order = np.argsort(values)[::-1]
    n = int(np.searchsorted(np.cumsum(values[order]), KEPT * values.sum())) + 1
    values, vectors = values[order[:n]], vectors[:, order[:n]]
    if len(chosen) == len(points):
        return vectors * np.sqrt(np.maximum(values, 0.0))
    return _kernel(points, chosen, length) @ (vectors / np.sqrt(np.maximum(values, 1e-12)))


def _kernel(a, b, length):
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


def posterior_draws(field: Field, seen: np.ndarray, y: np.ndarray, n_draws: int, *, rng):
    """Yield draws (T, L) of f given y, by solving for perturbed data (exact for the features)."""
    a, b = field.times, field.places
    shown = np.where(seen, y - field.mean, 0.0)
    for _ in range(n_draws):
        noisy = shown + np.where(seen, rng.normal(0.0, np.sqrt(field.noise), y.shape), 0.0)
        right = a.T @ noisy @ b / field.noise + rng.standard_normal(field.weights.shape)
        yield field.values(_solve(a, b, seen, field.noise, right))


def _solve(a, b, seen, noise, right):
    """Solve (1 + A' M A / noise) w = right by conjugate gradients; M keeps what was seen."""
    shape = right.shape

    def product(flat):
        w = flat.reshape(shape)
        return (w + a.T @ np.where(seen, a @ w @ b.T, 0.0) @ b / noise).ravel()

    size = right.size
    solution, left = cg(LinearOperator((size, size), product), right.ravel(), rtol=1e-6, maxiter=2000)
    if left:
        raise FloatingPointError(f"conjugate gradients stopped after {left} steps")
    return solution.reshape(shape)
