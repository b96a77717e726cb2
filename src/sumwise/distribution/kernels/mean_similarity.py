"""Mean Gaussian similarity of the rows of two bags, over all pairs of rows."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.segments import BLOCK


def mean_similarity(
    a: np.ndarray,
    a_offsets: np.ndarray,
    a_weights: np.ndarray,
    b: np.ndarray,
    b_offsets: np.ndarray,
    b_weights: np.ndarray,
    *,
    symmetric: bool = False,
) -> np.ndarray:
    """``sum_rs w_r v_s exp(-|x_r - y_s|^2 / 2) / (sum w sum v)`` for all pairs of bags, (n_a, n_b).

    a (rows, d) and b (rows, d) are in units of the width. Rows of the second side are taken in blocks, so that memory
    is bounded. `symmetric` computes one half.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.mean_similarity import mean_similarity
    >>> x, cut = np.array([[0.0], [1.0]]), np.array([0, 1, 2])
    >>> mean_similarity(x, cut, np.ones(2), x, cut, np.ones(2)).round(4)
    array([[1.    , 0.6065], [0.6065, 1.    ]])
    """
    out = np.zeros((len(a_offsets) - 1, len(b_offsets) - 1))
    total = np.add.reduceat(np.append(b_weights, 0.0), b_offsets[:-1])
    squares = (b**2).sum(axis=1)
    for i, (begin, end) in enumerate(zip(a_offsets[:-1].tolist(), a_offsets[1:].tolist())):
        rows, weights = a[begin:end], a_weights[begin:end] / a_weights[begin:end].sum()
        first = int(b_offsets[i]) if symmetric else 0
        means = np.zeros(len(b))
        step = max(1, BLOCK // len(rows))
        for low in range(first, len(b), step):
            part = slice(low, low + step)
            distance = (rows**2).sum(axis=1)[:, None] + squares[part] - 2 * (rows @ b[part].T)
            means[part] = weights @ np.exp(-0.5 * np.maximum(distance, 0.0))
        sums = np.add.reduceat(np.append(means * b_weights, 0.0), b_offsets[:-1])
        out[i] = sums / total
    return np.triu(out) + np.triu(out, 1).T if symmetric else out
