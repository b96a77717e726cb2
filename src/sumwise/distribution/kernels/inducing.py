"""Inducing points: which to take, and the sparse Gaussian process that stands on them (Titsias 2009)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from sumwise.distribution.kernels.marginal_likelihood import NOISE

POOL = 2  # times the inducing points: how many units, drawn at random, they are picked from


class SparseProcess(NamedTuple):
    """A sparse Gaussian process at its best noise level: what predictions and the bound are made of."""

    bound: float  # lower bound on the log marginal likelihood
    noise: float  # variance of the noise relative to that of f
    scale: np.ndarray  # (k,) variance of f
    dual: np.ndarray  # (m, k) the predicted mean is k(x, inducing) @ dual
    axes: np.ndarray  # (m, m) the variance explained at x is |k(x, inducing) @ axes|^2


def pick_inducing(gram: np.ndarray, m: int) -> np.ndarray:
    """Indices of at most m rows by pivoted Cholesky: each has the largest variance given those before it.

    gram (n, n) is positive semidefinite. Stops early where nothing is left to explain. Costs O(n m^2).
    """
    left = np.diag(gram).astype(float).copy()
    floor = len(gram) * np.finfo(float).eps * max(float(left.max(initial=0.0)), 1e-300)  # rounding of such sums
    factor = np.zeros((min(m, len(gram)), len(gram)))
    picked: list[int] = []
    for j in range(len(factor)):
        pivot = int(np.argmax(left))
        if left[pivot] <= floor:
            break
        factor[j] = (gram[pivot] - factor[:j, pivot] @ factor[:j]) / np.sqrt(left[pivot])
        left -= factor[j] ** 2
        left[pivot] = -np.inf
        picked.append(pivot)
    return np.array(picked, dtype=np.int64)


def sparse_process(
    cross: np.ndarray, inner: np.ndarray, own: np.ndarray, targets: np.ndarray, inflation: np.ndarray
) -> SparseProcess:
    """The sparse process with the largest variational bound over noise levels.

    cross (n, m) is the kernel between data and inducing points, inner (m, m) among these, own (n,) of each datum with
    itself, targets (n, k), inflation (n,) the diagonal D of the noise. With L L' = inner, A = L^-1 cross' D^-1/2 and
    A A' = U diag(e) U', the model is y ~ N(0, s (Q + l D)), Q = cross inner^-1 cross', and

        bound = -n/2 log(2 pi e s) - 1/2 log det(Q + l D) - tr(D^-1 (K - Q)) / (2 l),

    each of whose terms is a sum over e: one decomposition gives all noise levels. Costs O(n m^2).
    """
    n, m = cross.shape
    # A factorisation rounds by m eps times the largest eigenvalue, which is m times the mean diagonal at most.
    jitter = m**2 * np.finfo(float).eps * max(float(np.mean(np.diag(inner))), 1e-300)
    lower = np.linalg.cholesky(inner + jitter * np.eye(m))
    root = np.sqrt(inflation)
    white = solve_triangular(lower, (cross / root[:, None]).T, lower=True, overwrite_b=True, check_finite=False)
    values, vectors = np.linalg.eigh(white @ white.T)
    values = np.maximum(values, 0.0)
    given = targets / root[:, None]
    products = vectors.T @ (white @ given)
    energy, trace = (given**2).sum(axis=0), max(float((own / inflation).sum() - values.sum()), 0.0)
    best = None
    for noise in NOISE * max(float(np.mean(own)), 1e-300):
        total = values + noise
        quadratic = (energy - (products**2 / total[:, None]).sum(axis=0)) / noise
        scale = np.maximum(quadratic / n, 1e-300)
        spread = np.log(total).sum() + (n - m) * np.log(noise) + np.log(inflation).sum()
        bound = float((-0.5 * n * np.log(2 * np.pi * np.e * scale) - 0.5 * spread - 0.5 * trace / noise).sum())
        if best is None or bound > best[0]:
            best = bound, float(noise), scale
    assert best is not None
    bound, noise, scale = best
    back = solve_triangular(lower.T, vectors, lower=False, check_finite=False)
    dual = back @ (products / (values + noise)[:, None])
    return SparseProcess(bound, noise, scale, dual, back * np.sqrt(values / (values + noise)))
