"""How features are scaled before they enter a network."""

from __future__ import annotations

import numpy as np

__all__ = ["centre_and_scale"]


def centre_and_scale(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of columns; of columns with two values, the distance between these.

    So indicators stay as they are, since a rare one would be blown up, whatever they were multiplied by; constant
    columns have scale 1.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
    weights : array of shape (n_rows,), optional

    Returns
    -------
    centre, scale : arrays of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.networks.features import centre_and_scale
    >>> centre_and_scale(np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 1.0]]))[1].round(2)
    array([1.63, 1.  ])
    """
    n, d = values.shape
    total = float(n) if weights is None else float(weights.sum())
    first, second = np.zeros(d), np.zeros(d)
    low, high = values.min(axis=0), values.max(axis=0)
    between = np.zeros(d, dtype=bool)
    anchor = np.asarray(values[0], dtype=np.float64)  # keeps the digits of columns far from zero
    for begin in range(0, n, 65_536):
        block = values[begin : begin + 65_536]
        between |= ((block != low) & (block != high)).any(axis=0)
        shifted = block - anchor
        share = np.full(len(block), 1.0) if weights is None else weights[begin : begin + 65_536]
        first += share @ shifted
        second += share @ shifted**2
    shift = first / total
    spread = np.sqrt(np.maximum(second / total - shift**2, 0.0))
    scale = np.where(between, spread, np.asarray(high - low, dtype=np.float64))
    return anchor + shift, np.where(scale > 0, scale, 1.0)
