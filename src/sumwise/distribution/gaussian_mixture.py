"""The mean Gaussian similarity of two Gaussian mixtures, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError


def mixture_similarity(first: Any, second: Any, width: float = 1.0) -> float:
    """Return ``E exp(-|X - Y|^2 / (2 width^2))`` of independent X and Y, each a mixture of normal distributions.

    It is what `GaussianKernel` estimates from two bags, without sampling noise (Lemus Gonzalez, section 2.2): the sum
    over pairs of components of their weights times ``width^d |C|^-1/2 exp(-(m - m')' C^-1 (m - m') / 2)`` with
    ``C = width^2 I + S + S'`` for means m and covariances S in d dimensions.

    Parameters
    ----------
    first, second : (weights, means, covariances), or fitted scikit-learn GaussianMixture
        Arrays (k,), (k, d) and (k, d, d); for one column (k,), (k,) and variances (k,). Weights sum to 1. A mixture of
        scikit-learn needs ``covariance_type="full"``.
    width : float > 0, default 1.0

    Examples
    --------
    >>> from sumwise.distribution import mixture_similarity
    >>> two = ([0.5, 0.5], [0.0, 1.0], [1.0, 1.0])
    >>> [round(mixture_similarity(two, ([1.0], [m], [1.0])), 4) for m in (0.0, 0.5, 1.0)]
    [0.533, 0.5538, 0.533]
    """
    (a, m, s), (b, n, t) = _mixture(first, "first"), _mixture(second, "second")
    d = m.shape[1]
    if n.shape[1] != d:
        raise DataError(
            f"The mixtures have {d} and {n.shape[1]} columns.", hint="compare mixtures of the same columns."
        )
    scale = float(checks.positive(width, "width", ndim=0))
    total = scale**2 * np.eye(d) + s[:, None] + t[None, :]
    apart = m[:, None] - n[None, :]
    solved = np.linalg.solve(total, apart[..., None])[..., 0]
    logs = d * np.log(scale) - 0.5 * np.linalg.slogdet(total)[1] - 0.5 * (apart * solved).sum(axis=2)
    return float(a @ np.exp(logs) @ b)


def _mixture(given: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (k,), means (k, d) and covariances (k, d, d), checked."""
    if hasattr(given, "covariance_type"):
        if given.covariance_type != "full":
            raise DataError(
                f"{name} has covariances of the type {given.covariance_type!r}.", hint="covariance_type='full'."
            )
        given = (given.weights_, given.means_, given.covariances_)
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise DataError(f"{name} is not a mixture.", hint="give (weights, means, covariances).")
    weights = checks.counts(given[0], f"weights of {name}", ndim=1)
    means, covariances = checks.finite(given[1], f"means of {name}"), checks.finite(given[2], f"covariances of {name}")
    means = means[:, None] if means.ndim == 1 else means
    covariances = covariances[:, None, None] if covariances.ndim == 1 else covariances
    k, d = means.shape
    if len(weights) != k or covariances.shape != (k, d, d):
        raise DataError(
            f"{name} has {len(weights)} weights, means of shape {means.shape} and covariances of shape "
            f"{covariances.shape}.",
            hint="arrays (k,), (k, d) and (k, d, d).",
        )
    if abs(weights.sum() - 1.0) > 1e-6:
        raise DataError(f"The weights of {name} sum to {weights.sum():.6g}.", hint="they are shares: divide them.")
    if np.abs(covariances - np.swapaxes(covariances, 1, 2)).max() > 1e-9 * max(np.abs(covariances).max(), 1e-300):
        raise DataError(f"A covariance of {name} is not symmetric.")
    least = float(np.linalg.eigvalsh(covariances).min())
    if least < -1e-9 * np.abs(covariances).max():
        raise DataError(f"A covariance of {name} has the negative eigenvalue {least:.3g}.")
    return weights, means, covariances
