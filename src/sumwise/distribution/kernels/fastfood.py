"""Fastfood: Gaussian frequencies as products of Hadamard and diagonal matrices, applied in n log n without a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sumwise.distribution.kernels.fourier_features import add_harmonics, total_weight
from sumwise.distribution.kernels.segments import BagRows, bag_rows
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.shapes import check_positions, check_shapes
from sumwise.inference.kernels.threads import over_bags

CACHED = 1 << 15  # numbers of a block of rows that are worked on at once


@dataclass(frozen=True, eq=False)
class Fastfood:
    """S H G P H B, block by block (Le, Sarlos and Smola 2013): four numbers per frequency, whatever the features.

    H is the Hadamard matrix of the least power of two p that is not below the number of features d; B are random
    signs, P a permutation, G normal numbers, S lengths of normal vectors over the norm of a row. Each array has shape
    (n_blocks, p); a block gives p frequencies.
    """

    signs: np.ndarray
    shuffle: np.ndarray
    gauss: np.ndarray
    lengths: np.ndarray

    def dense(self, d: int, n: int) -> np.ndarray:
        """The frequencies as a matrix, (d, n)."""
        size = self.signs.shape[1]
        blocks = []
        for signs, shuffle, gauss, lengths in zip(self.signs, self.shuffle, self.gauss, self.lengths):
            rows = hadamard(np.eye(size)[:, :d] * signs[:, None])[shuffle] * gauss[:, None]
            blocks.append((hadamard(rows) * lengths[:, None]).T)
        return np.hstack(blocks)[:, :n]


def draw_fastfood(d: int, n: int, *, rng: np.random.Generator) -> Fastfood:
    """Blocks for n frequencies of d features.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.fastfood import draw_fastfood
    >>> draw_fastfood(3, 6, rng=np.random.default_rng(0)).signs.shape
    (2, 4)
    """
    size = 1 << max(0, (d - 1).bit_length())
    shape = (-(-n // size), size)
    signs, gauss = rng.choice([-1.0, 1.0], shape), rng.standard_normal(shape)
    shuffle = rng.permuted(np.tile(np.arange(size), (shape[0], 1)), axis=1)
    norms = np.sqrt(size) * np.linalg.norm(gauss, axis=1, keepdims=True)
    return Fastfood(signs, shuffle, gauss, np.sqrt(rng.chisquare(size, shape)) / norms)


def hadamard(x: np.ndarray) -> np.ndarray:
    """Product of the Hadamard matrix (entries 1 and -1) with the columns of x (p, k), p a power of two.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.fastfood import hadamard
    >>> hadamard(np.eye(2))
    array([[ 1.,  1.], [ 1., -1.]])
    """
    out = np.array(x, dtype=np.float64, order="C")
    _transform(out, out.shape[1])
    return out


def mean_fastfood_features(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    blocks: Fastfood,
    n: int,
    doublings: int = 0,
    *,
    columns: np.ndarray,
    centre: np.ndarray,
    factor: np.ndarray,
) -> np.ndarray:
    """As `mean_fourier_features`, for n frequencies of `blocks`: (n_bags, doublings + 1, 2, n).

    Frequencies are multiplied by `factor` (d,), one per column.
    Takes n log2 p products per row where a matrix takes n d, and no memory but that of a few hundred rows.
    """
    _check(blocks, n, len(columns))
    check_shapes({"centre": (centre, (len(columns),)), "factor": (factor, (len(columns),))})
    check_positions("columns", columns, values.shape[1])
    rows, out = bag_rows(values, offsets, weights), np.zeros((len(offsets) - 1, doublings + 1, 2, n))
    chosen = np.asarray(columns, dtype=np.int64)
    about, scale = np.asarray(centre, dtype=np.float64), np.asarray(factor, dtype=np.float64)
    parts = (blocks.signs, blocks.shuffle, blocks.gauss, blocks.lengths)
    over_bags(
        lambda begin, end: _mean_features(rows, *parts, doublings, chosen, about, scale, out, begin, end), rows.offsets
    )
    return out


def _check(blocks: Fastfood, n: int, d: int) -> None:
    """Refuse blocks that don't give n frequencies of d features: compiled loops take their sizes on trust."""
    size = 1 << max(0, (d - 1).bit_length())
    shape = (-(-n // size), size)
    check_shapes({name: (getattr(blocks, name), shape) for name in ("signs", "shuffle", "gauss", "lengths")})
    check_positions("shuffle", blocks.shuffle, size)


@njit(cache=True)
def _add_and_subtract(first: np.ndarray, second: np.ndarray) -> None:  # pragma: no cover
    for r in range(len(first)):
        a, b = first[r], second[r]
        first[r] = a + b
        second[r] = a - b


@njit(cache=True)
def _transform(x: np.ndarray, n: int) -> None:  # pragma: no cover
    """The Walsh-Hadamard transform of the first n columns, in place."""
    half = 1
    while half < len(x):
        for start in range(0, len(x), 2 * half):
            for j in range(start, start + half):
                _add_and_subtract(x[j, :n], x[j + half, :n])
        half *= 2


@njit(cache=True, nogil=True)
def _mean_features(
    rows: BagRows,
    signs: np.ndarray,
    shuffle: np.ndarray,
    gauss: np.ndarray,
    lengths: np.ndarray,
    doublings: int,
    columns: np.ndarray,
    centre: np.ndarray,
    factor: np.ndarray,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:  # pragma: no cover
    size = signs.shape[1]
    most = max(8, min(512, CACHED // size))
    x, y, share, work = np.empty((size, most)), np.empty((size, most)), np.ones(most), np.empty((3, most))
    edges = np.zeros(2, np.uint64)
    for i in range(begin, end):
        total = total_weight(rows, rows.offsets[i], rows.offsets[i + 1])
        for low in range(rows.offsets[i], rows.offsets[i + 1], most):
            n = min(most, rows.offsets[i + 1] - low)
            edges[1] = n
            for r in range(n):
                weight = rows.weights[low + r] if rows.weighted else 1.0
                share[r] = weight / total if total > 0 else 0.0
            for block in range(len(signs)):
                x[len(columns) :] = 0.0
                for j in range(len(columns)):
                    scale = signs[block, j] * factor[j]
                    for r in range(n):
                        x[j, r] = scale * (rows.values[low + r, columns[j]] - centre[j])
                _transform(x, n)
                for j in range(size):
                    y[j, :n] = gauss[block, j] * x[shuffle[block, j], :n]
                _transform(y, n)
                first = block * size
                angle, cos, sin = work[0, :n], work[1, :n], work[2, :n]
                for k in range(min(size, out.shape[3] - first)):
                    angle[:] = lengths[block, k] * y[k, :n]
                    add_harmonics(angle, cos, sin, share, edges, doublings, out[i : i + 1], first + k)
