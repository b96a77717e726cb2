"""Ridge regression for a whole path of penalties from one decomposition, judged by closed-form leave-one-out errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["GRID", "Path", "ridge_path"]

GRID = 10.0 ** np.arange(-12, 3.01, 0.5)
"""Penalties that are tried, relative to the largest squared singular value of the centred features."""


class Path(NamedTuple):
    """The decomposition of weighted, centred features, and leave-one-out errors along a path of penalties."""

    left: np.ndarray  # (n, r) left singular vectors
    squares: np.ndarray  # (r,) squared singular values
    targets: np.ndarray  # (n, k) centred responses times root weights
    mean: np.ndarray  # (D,) of the features
    level: np.ndarray  # (k,) of the responses
    root: np.ndarray  # (n,) root weights, of mean square 1
    penalties: np.ndarray  # (p,)
    errors: np.ndarray  # (p, k) weighted mean squared leave-one-out errors

    def leave_one_out(self, penalty: float) -> np.ndarray:
        """Errors y_i - f_{-i}(x_i) of every unit at one penalty, (n, k); the intercept is refitted too."""
        return _left_out(self, penalty) / self.root[:, None]

    def coefficients(self, features: np.ndarray, penalty: float) -> np.ndarray:
        """Coefficients (D, k) of the features that the path was made from."""
        dual = self.left @ ((self.left.T @ self.targets) / (self.squares + penalty)[:, None])
        # What lies outside the span of the left vectors is orthogonal to the features.
        return ((features - self.mean) * self.root[:, None]).T @ dual


def ridge_path(
    features: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None, penalties: np.ndarray | None = None
) -> Path:
    """Decompose once, then evaluate leave-one-out errors at every penalty.

    Minimises sum_i w_i |y_i - b - B'f_i|^2 + penalty |B|^2. features (n, D), targets (n, k), weights (n,).
    With F the weighted, centred features, F = U S V', and h_i(l) = sum_k U_ik^2 s_k^2 / (s_k^2 + l), the error of
    unit i predicted from all others is r_i(l) / (1 - h_i(l) - w_i / sum w), r the residual. Costs
    O(n D min(n, D)), then O(n r) per penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.kernels.ridge import ridge_path
    >>> x = np.arange(5.0)[:, None]
    >>> path = ridge_path(x, 2 * x + 1)
    >>> path.coefficients(x, 1e-9).round(6), float(path.errors[0].round(9)[0])
    (array([[2.]]), 0.0)
    """
    n = len(features)
    scaled = np.ones(n) if weights is None else weights * (n / np.sum(weights))
    root = np.sqrt(scaled)
    mean, level = scaled @ features / n, scaled @ targets / n
    centred = (features - mean) * root[:, None]
    left, squares = _decompose(centred)
    path = Path(left, squares, (targets - level) * root[:, None], mean, level, root, np.zeros(0), np.zeros((0, 0)))
    top = squares.max(initial=0.0) or 1.0
    grid = GRID * top if penalties is None else np.asarray(penalties, dtype=float)
    errors = np.array([np.mean(_left_out(path, penalty) ** 2, axis=0) for penalty in grid])
    return path._replace(penalties=grid, errors=errors)


def _decompose(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and squared singular values, from the smaller of the two Gram matrices."""
    n, d = centred.shape
    if n <= d:
        squares, left = np.linalg.eigh(centred @ centred.T)
        return left, np.maximum(squares, 0.0)
    squares, right = np.linalg.eigh(centred.T @ centred)
    kept = squares > 1e-14 * max(squares.max(initial=0.0), 1e-300)
    squares = squares[kept]
    return centred @ right[:, kept] / np.sqrt(squares), squares


def _left_out(path: Path, penalty: float) -> np.ndarray:
    """Leave-one-out errors times root weights, (n, k)."""
    shrink = path.squares / (path.squares + penalty)
    residual = path.targets - path.left @ (shrink[:, None] * (path.left.T @ path.targets))
    spare = 1.0 - (path.left**2) @ shrink - path.root**2 / len(path.root)
    return residual / np.maximum(spare, 1e-10)[:, None]
