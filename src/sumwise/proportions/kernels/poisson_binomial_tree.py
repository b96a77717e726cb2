"""The count of a bag by messages in a binary tree of partial counts, each a convolution by FFT (Sun et al. 2017,
section IV.B)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

fft: Any = scipy.fft  # typed as dispatchers there; they take and return arrays


def _convolve_pairs(level: np.ndarray) -> np.ndarray:
    """Upward messages, eq. (4): the distributions of the sums of neighbours, (2m, w) -> (m, 2w - 1)."""
    left, right = level[0::2], level[1::2]
    width = level.shape[1]
    size = 2 * width - 1
    if width <= 17:  # short sums are faster done directly
        out = np.zeros((left.shape[0], size))
        for shift in range(width):
            out[:, shift : shift + width] += left[:, shift : shift + 1] * right
        return out
    length = fft.next_fast_len(size, real=True)
    return fft.irfft(fft.rfft(left, length) * fft.rfft(right, length), length)[:, :size]


def _correlate(parent: np.ndarray, other: np.ndarray, width: int) -> np.ndarray:
    """Downward messages, eq. (5): sum over the sibling's count of parent(z + z') other(z')."""
    if width <= 17:
        out = np.zeros((parent.shape[0], width))
        for shift in range(width):
            out += parent[:, shift : shift + width] * other[:, shift : shift + 1]
        return out
    length = fft.next_fast_len(parent.shape[1], real=True)
    return fft.irfft(fft.rfft(parent, length) * np.conj(fft.rfft(other, length)), length)[:, :width]


def tree(probs: np.ndarray, first: int, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """As `poisson_binomial_dp.direct`, in O(n log(n)^2) time and O(n log n) memory.

    Parameters
    ----------
    probs : (n,) probabilities of label 1, tilted.
    first, weights : the potential is ``weights[s - first]`` for counts s in the window, 0 elsewhere.

    Returns
    -------
    total, posterior : as `poisson_binomial_dp.direct`.
    """
    n = probs.size
    leaves = 1 << max(n - 1, 0).bit_length()
    padded = np.zeros(leaves)
    padded[:n] = probs
    levels = [np.column_stack([1.0 - padded, padded])]
    while levels[-1].shape[0] > 1:
        levels.append(_convolve_pairs(levels[-1]))
    root = levels[-1][0]
    message = np.zeros((1, root.size))
    message[0, first : first + len(weights)] = weights
    total = float(root @ message[0])
    for level in reversed(levels[:-1]):
        below = np.empty(level.shape)
        below[0::2] = _correlate(message, level[1::2], level.shape[1])
        below[1::2] = _correlate(message, level[0::2], level.shape[1])
        message = below
    posterior = probs * message[:n, 1] / total
    return total, np.clip(posterior, 0.0, 1.0)
