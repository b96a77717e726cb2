"""Least squares of column shares on row shares: free, ridge, and with every row on the simplex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class SimplexSolution(NamedTuple):
    """Shares on the simplex, the objective at each step, the last change, and the number of steps."""

    shares: np.ndarray
    objectives: np.ndarray
    change: float
    n_iter: int


def gram(x: np.ndarray, t: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of the regression: X'WX (R, R) and X'WT (R, C).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import gram
    >>> gram(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), np.array([2.0]))[1]
    array([[1., 0.], [1., 0.]])
    """
    weighted = x * weights[:, None]
    return weighted.T @ x, weighted.T @ t


def free_shares(xx: np.ndarray, xt: np.ndarray, alpha: float, centre: np.ndarray) -> np.ndarray:
    """Minimise ``sum_i w_i |t_i - x_i B|^2 + alpha |B - centre|^2`` over B (R, C).

    Of several minima, the one nearest to the centre (C,). The rows of B sum to 1 when those of T and of the centre do.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import free_shares, gram
    >>> x = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> t = x @ np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> free_shares(*gram(x, t, np.ones(2)), 0.0, t.mean(axis=0)).round(6)
    array([[0.9, 0.1], [0.4, 0.6]])
    """
    apart = xt - xx.sum(axis=1, keepdims=True) * centre
    return centre + np.linalg.lstsq(xx + alpha * np.eye(len(xx)), apart, rcond=1e-12)[0]


def residual_covariance(
    x: np.ndarray, t: np.ndarray, weights: np.ndarray, shares: np.ndarray, alpha: float, freedom: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors (R, C) of the regression's shares, and the covariance of its residuals (C, C).

    The textbook (X'WX)^-1 s^2 with n - R degrees of freedom unless others are given, where x has R columns; with ridge
    the sandwich (X'WX + aI)^-1 X'WX (X'WX + aI)^-1 s^2, which leaves the bias of ridge out.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import residual_covariance
    >>> x = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    >>> t = np.array([[0.8, 0.2], [0.5, 0.5], [0.7, 0.3]])
    >>> residual_covariance(x, t, np.ones(3), np.array([[0.9, 0.1], [0.4, 0.6]]), 0.0)[0].shape
    (2, 2)
    """
    n, n_rows = x.shape
    root = np.sqrt(weights)[:, None]
    residual = root * (t - x @ shares)
    covariance = residual.T @ residual / max(n - n_rows if freedom is None else freedom, 1)
    xx = (root * x).T @ (root * x)
    inverse = np.linalg.pinv(xx + alpha * np.eye(n_rows), rcond=1e-12)
    spread = np.diag(inverse @ xx @ inverse)
    return np.sqrt(np.maximum(np.outer(spread, np.diag(covariance)), 0.0)), covariance


def robust_errors(x: np.ndarray, t: np.ndarray, weights: np.ndarray, shares: np.ndarray, alpha: float) -> np.ndarray:
    """Standard errors (R, C) that hold whatever the units' variances: HC3 (MacKinnon and White 1985).

    Every residual over 1 minus the unit's leverage stands for its standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import robust_errors
    >>> x = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    >>> t = np.array([[0.8, 0.2], [0.5, 0.5], [0.7, 0.3]])
    >>> robust_errors(x, t, np.ones(3), np.array([[0.9, 0.1], [0.4, 0.6]]), 0.0).shape
    (2, 2)
    """
    root = np.sqrt(weights)[:, None]
    scaled = root * x
    inverse = np.linalg.pinv(scaled.T @ scaled + alpha * np.eye(x.shape[1]), rcond=1e-12)
    factor = scaled @ inverse
    leverage = np.clip(np.einsum("ir,ir->i", factor, scaled), 0.0, 1 - 1e-6)
    residual = root * (t - x @ shares) / (1 - leverage)[:, None]
    return np.sqrt((factor**2).T @ residual**2)


def coefficient_correlation(xx: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """Correlations (R, R) of the coefficients of a regression with these moments `xx` (R, R).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import coefficient_correlation
    >>> coefficient_correlation(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([[ 1. , -0.5], [-0.5,  1. ]])
    """
    inverse = np.linalg.pinv(xx + alpha * np.eye(len(xx)), rcond=1e-12)
    spread = inverse @ xx @ inverse
    deviation = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    correlation = np.clip(spread / np.outer(deviation, deviation), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def robust_freedom(x: np.ndarray, weights: np.ndarray, alpha: float) -> np.ndarray:
    """Degrees of freedom (R,) of `robust_errors`, where units vary equally (Bell and McCaffrey 2002).

    Where one unit has most of the weight, its residual alone makes up the error, and the degrees are near 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import robust_freedom
    >>> x = np.column_stack([np.linspace(0, 1, 20), np.linspace(1, 0, 20)])
    >>> robust_freedom(x, np.ones(20), 0.0).round(1), robust_freedom(x, np.r_[50.0, np.ones(19)], 0.0).round(1)
    (array([7.7, 7.7]), array([2.6, 1. ]))
    """
    root = np.sqrt(weights)[:, None]
    scaled = root * x
    inverse = np.linalg.pinv(scaled.T @ scaled + alpha * np.eye(x.shape[1]), rcond=1e-12)
    factor = scaled @ inverse
    hat = factor @ scaled.T
    left = 1 - np.clip(np.diag(hat), 0.0, 1 - 1e-6)
    remain = (np.eye(len(x)) - hat) * root.T / left[:, None]  # residuals over 1 - leverage, of independent errors
    freedom = np.empty(x.shape[1])
    for r in range(x.shape[1]):
        each = factor[:, [r]] * remain
        inner = each @ each.T
        freedom[r] = np.trace(inner) ** 2 / max(float(np.sum(inner**2)), 1e-300)
    return freedom


def project_rows(z: np.ndarray) -> np.ndarray:
    """The nearest point on the simplex for each row of z (R, C), by sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import project_rows
    >>> project_rows(np.array([[1.2, 0.1, -0.3]])).round(3)
    array([[1., 0., 0.]])
    """
    ordered = -np.sort(-z, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    rank = np.arange(1, z.shape[1] + 1)
    active = (ordered - excess / rank > 0).sum(axis=1)
    shift = excess[np.arange(len(z)), active - 1] / active
    return np.maximum(z - shift[:, None], 0.0)


def simplex_shares(
    xx: np.ndarray, xt: np.ndarray, alpha: float, centre: np.ndarray, *, max_iter: int = 20_000, tol: float = 1e-9
) -> SimplexSolution:
    """`free_shares` with every row of B on the simplex, by accelerated projected gradients with restarts.

    The objective is convex; it stops when no share moves by more than `tol` in a step. Objectives are given up to
    the constant ``sum_i w_i |t_i|^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.least_squares import gram, simplex_shares
    >>> x = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> t = np.array([[0.95, 0.05], [0.4, 0.6]])
    >>> simplex_shares(*gram(x, t, np.ones(2)), 0.0, t.mean(axis=0)).shares.round(3)
    array([[1.   , 0.   ], [0.189, 0.811]])
    """
    curved = xx + alpha * np.eye(len(xx))
    linear = xt + alpha * centre[None, :]
    step = 1.0 / max(np.linalg.eigvalsh(curved)[-1], 1e-300)
    b = project_rows(free_shares(xx, xt, alpha, centre))
    ahead, momentum, objectives, change = b, 1.0, [], np.inf
    for _ in range(max_iter):
        new = project_rows(ahead - step * (curved @ ahead - linear))
        objectives.append(float(np.sum(new * (curved @ new)) - 2 * np.sum(new * linear)))
        change = float(np.abs(new - b).max())
        if np.sum((ahead - new) * (new - b)) > 0:  # the momentum points uphill: restart it
            momentum = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / after * (new - b)
        b, momentum = new, after
        if change < tol:
            break
    return SimplexSolution(b, np.asarray(objectives), change, len(objectives))


def fitted_curvature(x: np.ndarray, t: np.ndarray, weight: np.ndarray) -> tuple[float, float, int]:
    """Coefficient of x^2, its standard error and degrees of freedom; error 0 if there is none.

    The error is robust to unequal variances by MacKinnon and White's HC3 (1985); HC1 rejects too often
    with few units.
    """
    design = np.stack([np.ones_like(x), x, x**2], axis=1)
    root = np.sqrt(weight)[:, None]
    a, y = design * root, t * root[:, 0]
    coefficients, _, rank, _ = np.linalg.lstsq(a, y, rcond=None)
    freedom = len(x) - 3
    if rank < 3 or freedom < 1:
        return 0.0, 0.0, max(freedom, 0)
    residual = y - a @ coefficients
    bread = np.linalg.inv(a.T @ a)
    leverage = np.einsum("ij,jk,ik->i", a, bread, a)
    left_out = residual / np.maximum(1 - leverage, 1e-6)  # HC3: residuals from fits without the unit
    meat = a.T @ (a * (left_out**2)[:, None])
    error = np.sqrt((bread @ meat @ bread)[2, 2])
    return float(coefficients[2]), float(error), freedom
