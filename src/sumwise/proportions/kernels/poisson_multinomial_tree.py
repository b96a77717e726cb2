"""The sum of outcome vectors by messages in a binary tree, each a multidimensional convolution (Sun et al. 2017,
fig. 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

fft: Any = scipy.fft  # typed as dispatchers there; they take and return arrays


def tree(probs: np.ndarray, outcomes: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """As `poisson_multinomial_dp.direct`, in O(n^d log(n)^2) time.

    Parameters
    ----------
    probs : (n, m) tilted probabilities; outcomes that can't be have probability 0.
    outcomes : (m, d) vectors of 0 and 1.
    target : (d,) their sum.
    """
    n, m = probs.shape
    outcomes = np.asarray(outcomes, dtype=np.int64)
    d = outcomes.shape[1]
    leaves = 1 << max(n - 1, 0).bit_length()
    bottom = np.zeros((leaves,) + (2,) * d)
    for a in range(m):
        bottom[(slice(0, n), *outcomes[a])] += probs[:, a]
    bottom[(slice(n, None),) + (0,) * d] = 1.0
    levels: list[Any] = [bottom]
    axes = tuple(range(1, d + 1))
    while levels[-1].shape[0] > 1:
        level = levels[-1]
        size = 2 * level.shape[1] - 1
        shape = [fft.next_fast_len(size, real=True)] * d
        product = fft.rfftn(level[0::2], shape, axes=axes) * fft.rfftn(level[1::2], shape, axes=axes)
        levels.append(fft.irfftn(product, shape, axes=axes)[(slice(None),) + (slice(0, size),) * d])
    message: Any = np.zeros(levels[-1].shape)
    message[(0, *np.asarray(target, dtype=np.int64))] = 1.0
    total = float((levels[-1] * message).sum())
    for level in reversed(levels[:-1]):
        shape = [fft.next_fast_len(message.shape[1], real=True)] * d
        parent = fft.rfftn(message, shape, axes=axes)
        inner = (slice(None),) + (slice(0, level.shape[1]),) * d
        below = np.empty(level.shape)
        for mine, other in ((0, 1), (1, 0)):
            product = parent * np.conj(fft.rfftn(level[other::2], shape, axes=axes))
            below[mine::2] = fft.irfftn(product, shape, axes=axes)[inner]
        message = below
    posterior = np.stack([probs[:, a] * message[(slice(0, n), *outcomes[a])] for a in range(m)], axis=1)
    posterior = np.maximum(posterior, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(max(total, 0.0)), posterior / posterior.sum(axis=1, keepdims=True)
