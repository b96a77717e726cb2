"""How informative a bag's count is about the parameters: the derivative of its expectation, bag by bag."""

from __future__ import annotations

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_bags, writable


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"contract", "reassoc"})
def _sums(
    start_bag: int, end_bag: int, values: np.ndarray, offsets: np.ndarray, weights: np.ndarray, out: np.ndarray
) -> None:
    for b in range(start_bag, end_bag):
        row = out[b]
        for i in range(offsets[b], offsets[b + 1]):
            w = weights[i]
            row[-1] += w
            for j in range(values.shape[1]):
                row[j] += w * values[i, j]


def weighted_sums(values: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_i w_i (x_i, 1) over each bag: with w_i = p_i (1 - p_i), the derivative of the expected count.

    Parameters
    ----------
    values : (n_rows, n_features) array
    offsets : (n_bags + 1,) array of int
    weights : (n_rows,) array

    Returns
    -------
    (n_bags, n_features + 1) array, the sum of weights last.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2, 3]), np.array([1.0, 0.5, 2.0]))
    array([[2. , 1.5],
           [8. , 2. ]])
    """
    offsets = np.array(offsets, dtype=np.int64)
    out = np.zeros((offsets.size - 1, values.shape[1] + 1))
    weights = writable(weights)
    over_bags(lambda i, j: _sums(i, j, values, offsets, weights, out), offsets)
    return out
