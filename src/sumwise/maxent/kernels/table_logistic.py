"""Penalised logistic regression on rows or cells that carry class counts: L-BFGS over a sparse design."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sumwise.inference.kernels.minimise import minimise
from sumwise.maxent.kernels.loglinear import Layout, log_sum


def cell_design(lay: Layout, codes: np.ndarray) -> csr_matrix:
    """Indicators (n, P) of the cells that level codes (n, D) fall in, one per term."""
    index = lay.all_row_parameters(codes)
    n, k = index.shape
    return csr_matrix((np.ones(n * k), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, lay.n_params))


def fit_softmax(
    design: csr_matrix, counts: np.ndarray, penalty: np.ndarray, max_iter: int = 500, tol: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Minimise -sum counts * log softmax(offsets + design theta) + sum penalty theta^2.

    design (n, P), counts (n, K) of each class per row, penalty (P,). For two classes theta is (1, P), the score of
    class 1 against class 0; else (K, P). Offsets (K,) carry no penalty. Returns theta, offsets, the loss, and the
    number of iterations; it stops when no gradient entry exceeds `tol` times the total count.
    """
    n_classes, n_params = counts.shape[1], design.shape[1]  # type: ignore[index]  # scipy has no types
    n_scores = 1 if n_classes == 2 else n_classes
    kept = slice(1, 2) if n_classes == 2 else slice(None)
    totals = counts.sum(axis=1)
    turned = design.T.tocsr()
    share = np.maximum(counts.sum(axis=0), 1e-9)
    begin = np.concatenate([np.zeros(n_scores * n_params), np.log(share / share[0])[kept]])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        theta, offsets = x[: n_scores * n_params].reshape(n_scores, n_params), x[n_scores * n_params :]
        score = design @ theta.T + offsets
        if n_classes == 2:
            score = np.column_stack([np.zeros(len(score)), score])
        log_p = score - log_sum(score, axis=1)[:, None]
        residual = (totals[:, None] * np.exp(log_p) - counts)[:, kept]
        gradient = (turned @ residual).T + 2 * penalty * theta
        value = -np.sum(counts * log_p) + np.sum(penalty * theta**2)
        return value, np.concatenate([gradient.ravel(), residual.sum(axis=0)])

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": tol * float(totals.sum()), "ftol": 1e-13}
    result = minimise(loss, begin, jac=True, method="L-BFGS-B", options=options)
    theta, offsets = result.x[: n_scores * n_params].reshape(n_scores, n_params), result.x[n_scores * n_params :]
    offsets = np.concatenate([[0.0], offsets]) if n_classes == 2 else offsets - offsets[0]
    return theta, offsets, float(result.fun), int(result.nit)


def fit_sums(
    design: csr_matrix, sums: np.ndarray, shares: np.ndarray, n: float, penalty: np.ndarray, max_iter: int = 500
) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
    """Logistic regression whose rows have no labels: their sums are observed instead.

    Minimises n mean over rows of log(sum over classes of exp(score)) - sums . theta - n shares . offsets + sum penalty
    theta^2. design (m, P); sums (1 or K, P) label sums; shares (K,) of the classes; penalty (1 or K, P). Returns theta,
    offsets (K,), the loss, and the number of iterations.
    """
    n_scores, n_params = sums.shape
    weight = n / design.shape[0]  # type: ignore[index]  # scipy has no types
    kept = slice(1, 2) if n_scores == 1 else slice(None)
    turned = design.T.tocsr()
    begin = np.concatenate([np.zeros(sums.size), np.log(shares / shares[0])[kept]])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        theta, offsets = x[: sums.size].reshape(sums.shape), x[sums.size :]
        score = design @ theta.T + offsets
        if n_scores == 1:
            score = np.column_stack([np.zeros(len(score)), score])
        top = log_sum(score, axis=1)
        p = weight * np.exp(score - top[:, None])[:, kept]
        value = weight * top.sum() - np.sum(sums * theta) - n * shares[kept] @ offsets + np.sum(penalty * theta**2)
        gradient = (turned @ p).T - sums + 2 * penalty * theta
        return value, np.concatenate([gradient.ravel(), p.sum(axis=0) - n * shares[kept]])

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-5 * n, "ftol": 1e-13}
    result = minimise(loss, begin, jac=True, method="L-BFGS-B", options=options)
    theta, offsets = result.x[: sums.size].reshape(n_scores, n_params), result.x[sums.size :]
    offsets = np.concatenate([[0.0], offsets]) if n_scores == 1 else offsets - offsets[0]
    return theta, offsets, float(result.fun), int(result.nit), bool(result.success)
