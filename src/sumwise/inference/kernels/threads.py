"""Bags shared among the cores: compiled loops release the interpreter's lock, plain threads run them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

SMALL = 20_000  # rows below which threads don't pay


def writable(array: np.ndarray) -> np.ndarray:
    """The array as contiguous doubles that may be written to: one compiled version serves all callers."""
    return np.require(array, np.float64, ["C", "W"])


def split(offsets: np.ndarray, n_parts: int) -> np.ndarray:
    """Edges that cut the bags into parts of about equal numbers of rows."""
    cuts = np.linspace(0, offsets[-1], n_parts + 1)[1:-1]
    return np.unique(np.concatenate([[0], np.searchsorted(offsets, cuts), [offsets.size - 1]]))


def over_parts(work: Callable[..., Any], edges: np.ndarray) -> None:
    """Call ``work(begin, end)`` for each part, on as many threads as Numba is allowed (``NUMBA_NUM_THREADS``)."""
    parts = list(zip(edges[:-1].tolist(), edges[1:].tolist()))
    n_threads = min(numba.get_num_threads(), len(parts))
    if n_threads < 2:
        for begin, end in parts:
            work(begin, end)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for future in [pool.submit(work, begin, end) for begin, end in parts]:
            future.result()


def over_bags(work: Callable[..., Any], offsets: np.ndarray) -> None:
    """`over_parts` with parts of whole bags, one call where the rows are few."""
    if offsets[-1] < SMALL:
        work(0, offsets.size - 1)
    else:
        over_parts(work, split(offsets, 2 * numba.get_num_threads()))
