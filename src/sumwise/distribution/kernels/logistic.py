"""Multinomial logistic regression on classes or proportions, penalised, by L-BFGS."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from sumwise.inference.kernels.minimise import minimise


class LogisticSolution(NamedTuple):
    """Coefficients (D, K), intercepts (K,), and how they were reached."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    n_iter: int
    slope: float  # largest absolute gradient at the end
    history: list[Any]


def cross_entropy(logits: np.ndarray, shares: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean of -sum_k share_k log p_k over units, weighted (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.logistic import cross_entropy
    >>> round(cross_entropy(np.zeros((1, 2)), np.array([[0.5, 0.5]])), 4)
    0.6931
    """
    return float(np.average(-(shares * log_softmax(logits, axis=1)).sum(axis=1), weights=weights))


def fit_logistic(
    features: np.ndarray,
    shares: np.ndarray,
    penalty: float,
    start: LogisticSolution | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
    weights: np.ndarray | None = None,
) -> LogisticSolution:
    """Minimise mean cross entropy + ``penalty / 2 |coef|^2`` over coefficients and free intercepts.

    features (n, D), shares (n, K), each row a distribution over classes; weights (n,) are those of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.logistic import fit_logistic
    >>> x = np.array([[-1.0], [1.0]])
    >>> found = fit_logistic(x, np.array([[0.8, 0.2], [0.2, 0.8]]), 1e-9)
    >>> (x @ found.coef + found.intercept).round(2)[0]
    array([ 0.69, -0.69])
    """
    d, k = features.shape[1], shares.shape[1]
    counted = np.full((len(features), 1), 1.0 / len(features)) if weights is None else weights[:, None] / weights.sum()

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coef, intercept = flat[: d * k].reshape(d, k), flat[d * k :]
        logs = log_softmax(features @ coef + intercept, axis=1)
        slope = (np.exp(logs) - shares) * counted
        gradient = features.T @ slope + penalty * coef
        loss = -(counted * shares * logs).sum() + 0.5 * penalty * (coef**2).sum()
        return loss, np.concatenate([gradient.ravel(), slope.sum(axis=0)])

    begin = np.zeros((d + 1) * k) if start is None else np.concatenate([start.coef.ravel(), start.intercept])
    history: list[float] = []
    options = {"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxcor": 20}
    found = minimise(
        value, begin, jac=True, method="L-BFGS-B", options=options, callback=lambda x: history.append(value(x)[0])
    )
    coef, intercept = found.x[: d * k].reshape(d, k), found.x[d * k :]
    slope = float(np.abs(found.jac).max())
    return LogisticSolution(coef, intercept - intercept.mean(), float(found.fun), int(found.nit), slope, history)
