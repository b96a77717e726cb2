"""Labels of bags with known counts, drawn by swapping a one and a zero."""

from __future__ import annotations

import numpy as np

from sumwise.kernels.compiled import njit


def swap_labels(
    labels: np.ndarray, logits: np.ndarray, offsets: np.ndarray, n_swaps: int, *, rng: np.random.Generator
) -> np.ndarray:
    """Metropolis steps that leave p(labels | logits, counts) as it is: n_swaps proposals per member, bag by bag.

    A swap of a one at i and a zero at j keeps the count and multiplies the probability by exp(l_j - l_i).

    Parameters
    ----------
    labels, logits : (n_rows,) arrays
    offsets : (n_bags + 1,) array
    n_swaps : int
    rng : numpy.random.Generator

    Returns
    -------
    (n_rows,) array
    """
    return _swapped(np.array(labels, dtype=np.float64), np.asarray(logits), np.asarray(offsets), n_swaps, rng)


@njit(cache=True)
def _swapped(
    labels: np.ndarray, logits: np.ndarray, offsets: np.ndarray, n_swaps: int, rng: np.random.Generator
) -> np.ndarray:  # pragma: no cover - compiled
    for b in range(offsets.size - 1):
        begin, n = offsets[b], offsets[b + 1] - offsets[b]
        for _ in range(n_swaps * n):
            i, j = begin + int(rng.random() * n), begin + int(rng.random() * n)
            if labels[i] > labels[j] and np.log(rng.random()) < logits[j] - logits[i]:
                labels[i], labels[j] = labels[j], labels[i]
    return labels
