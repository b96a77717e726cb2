"""Mean gradients of a diagonal Gaussian mixture's log-likelihood over the rows of each bag: Fisher vectors."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.segments import BagRows, bag_rows
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.shapes import check_positions, check_shapes
from sumwise.inference.kernels.threads import over_bags


def mean_gradients(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    mixture: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    columns: np.ndarray,
    centre: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """Weighted means over each bag of the gradients by shares, means and deviations, (n_bags, K, 2 d + 1).

    values (n_rows, D), offsets (n_bags + 1,), weights (n_rows,) or None; mixture: shares (K,), means and deviations
    (K, d), of the rows z = (x[columns] - centre) / scale. With p_k the probability of part k given z and
    u = (z - mean_k) / deviation_k, a row adds (p_k - share_k), p_k u and p_k (u^2 - 1) / sqrt(2), each divided by
    sqrt(share_k). Memory is that of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.mixture import mean_gradients
    >>> one = np.ones(1), np.zeros((1, 1)), np.ones((1, 1))
    >>> options = {"columns": np.arange(1), "centre": np.zeros(1), "scale": np.ones(1)}
    >>> mean_gradients(np.array([[1.0], [3.0]]), np.array([0, 2]), None, one, **options).round(3)
    array([[[0.   , 2.   , 2.828]]])
    """
    shares, means, deviations = mixture
    d, n_parts = len(columns), len(shares)
    check_shapes({"means": (means, (n_parts, d)), "deviations": (deviations, (n_parts, d)), "scale": (scale, (d,))})
    check_shapes({"shares": (shares, (n_parts,)), "centre": (centre, (d,))})
    check_positions("columns", columns, values.shape[1])
    rows, out = bag_rows(values, offsets, weights), np.zeros((len(offsets) - 1, n_parts, 2 * d + 1))
    level = np.log(np.maximum(shares, 1e-300)) - np.log(deviations).sum(axis=1)
    root = np.sqrt(np.maximum(shares, 1e-12))
    given = (np.asarray(columns, dtype=np.int64), centre, 1.0 / scale, level, means, 1.0 / deviations)
    over_bags(lambda begin, end: _mean_gradients(rows, *given, out, begin, end), rows.offsets)
    out[:, :, 0] -= shares
    out[:, :, d + 1 :] /= np.sqrt(2)
    out /= root[:, None]
    return out


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _mean_gradients(
    rows: BagRows,
    columns: np.ndarray,
    centre: np.ndarray,
    inverse: np.ndarray,
    level: np.ndarray,
    means: np.ndarray,
    sharpness: np.ndarray,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:  # pragma: no cover
    n_parts, d = means.shape
    row, logs = np.empty(d), np.empty(n_parts)
    for i in range(begin, end):
        mass = 0.0
        for r in range(rows.offsets[i], rows.offsets[i + 1]):
            weight = rows.weights[r] if rows.weighted else 1.0
            mass += weight
            for j in range(d):
                row[j] = (rows.values[r, columns[j]] - centre[j]) * inverse[j]
            for k in range(n_parts):
                logs[k] = level[k] - 0.5 * _square(row, means[k], sharpness[k])
            top = logs.max()
            total = 0.0
            for k in range(n_parts):
                logs[k] = np.exp(logs[k] - top)
                total += logs[k]
            for k in range(n_parts):
                part = weight * logs[k] / total
                if part > 0.0:
                    _add(out[i, k], row, means[k], sharpness[k], part)
        if mass > 0:
            out[i] /= mass


@njit(cache=True, fastmath={"contract", "reassoc"})
def _square(row: np.ndarray, mean: np.ndarray, sharpness: np.ndarray) -> float:  # pragma: no cover
    total = 0.0
    for j in range(len(row)):
        u = (row[j] - mean[j]) * sharpness[j]
        total += u * u
    return total


@njit(cache=True, fastmath={"contract"})
def _add(
    out: np.ndarray, row: np.ndarray, mean: np.ndarray, sharpness: np.ndarray, part: float
) -> None:  # pragma: no cover
    d = len(row)
    out[0] += part
    for j in range(d):
        u = (row[j] - mean[j]) * sharpness[j]
        out[1 + j] += part * u
        out[1 + d + j] += part * (u * u - 1.0)
