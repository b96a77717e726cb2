"""The Hessian of a log-linear model times many vectors, over rows of level codes: compiled, without forming it.

The log-normaliser of p(x, y) proportional to exp(phi(x) . (mu + theta_y) + offset_y) has the covariance of its features
as Hessian. With g = y - r in place of y (r a label rate per cell, 0 for the plain features) parameters are those of
``mu + r theta`` and theta.
"""

from __future__ import annotations

import numpy as np

from sumwise.kernels.compiled import njit


@njit(error_model="numpy", fastmath={"reassoc", "contract"}, cache=True)
def hessian_products(cells, weights, shares, rates, counts, labels, offsets, out_counts, out_labels, out_offsets):  # noqa: C901, PLR0912
    """Add the covariance of features times vectors to the three outputs.

    cells (m, T): parameters that row i has; weights (m,) summing to the population; shares (m, C): P(class | x) of the
    classes that have a row of theta; rates (P, C). Vectors, B of them: counts (P, B), labels (C, P, B), offsets (C, B);
    outputs of the same shapes.
    """
    m, n_terms = cells.shape
    n_scores, _, n_vectors = labels.shape
    total = 0.0
    mean = np.zeros(n_vectors)
    base, score = np.empty(n_vectors), np.empty((n_scores, n_vectors))
    for sweep in range(2):  # first the means of the scores, then what rows differ from them
        for i in range(m):
            base[:] = 0.0
            score[:] = 0.0
            for t in range(n_terms):
                c = cells[i, t]
                for b in range(n_vectors):
                    base[b] += counts[c, b]
                for k in range(n_scores):
                    for b in range(n_vectors):
                        score[k, b] += labels[k, c, b]
                        base[b] -= rates[c, k] * labels[k, c, b]
            for k in range(n_scores):
                for b in range(n_vectors):
                    score[k, b] += offsets[k, b]
            if sweep == 0:
                total += weights[i]
                for b in range(n_vectors):
                    s = base[b]
                    for k in range(n_scores):
                        s += shares[i, k] * score[k, b]
                    mean[b] += weights[i] * s
                continue
            for b in range(n_vectors):
                base[b] -= mean[b]
                whole = base[b]
                for k in range(n_scores):
                    whole += shares[i, k] * score[k, b]
                    score[k, b] = weights[i] * shares[i, k] * (base[b] + score[k, b])  # E[(score - mean) 1(y = k) | x]
                base[b] = weights[i] * whole  # E[score - mean | x]
            for t in range(n_terms):
                c = cells[i, t]
                for b in range(n_vectors):
                    out_counts[c, b] += base[b]
                for k in range(n_scores):
                    for b in range(n_vectors):
                        out_labels[k, c, b] += score[k, b] - rates[c, k] * base[b]
            for k in range(n_scores):
                for b in range(n_vectors):
                    out_offsets[k, b] += score[k, b]
        if sweep == 0:
            mean /= total
