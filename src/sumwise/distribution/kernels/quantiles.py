"""Quantile functions of bags on a grid, and distances between them: Wasserstein distances on a line."""

from __future__ import annotations

import numba as nb
import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.shapes import check_shapes
from sumwise.inference.kernels.threads import over_parts

TILE = 16  # bags of the other side whose quantiles stay in the nearest cache


def cell_quantiles(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    n: int,
    *,
    directions: np.ndarray | None = None,
    columns: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> np.ndarray:
    """Means of the quantile function over n cells of equal probability, (n_bags, m, n).

    values (n_rows, D), offsets (n_bags + 1,), weights (n_rows,) or None; columns (d,) chooses columns, centre (d,) is
    subtracted, and directions (d, m) are projected on, default the columns themselves. Cell k of a bag with quantile
    function q holds n times the integral of q over [k / n, (k + 1) / n], exactly, whatever the bag's size and weights.
    One sort per bag and direction.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.quantiles import cell_quantiles
    >>> cell_quantiles(np.array([[3.0], [1.0], [2.0]]), np.array([0, 3]), None, 2)
    array([[[1.33333333, 2.66666667]]])
    """
    chosen = np.arange(values.shape[1]) if columns is None else columns
    about = 0.0 if centre is None else centre
    m = len(chosen) if directions is None else directions.shape[1]
    out = np.zeros((len(offsets) - 1, m, n))
    for i, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        rows = values[begin:end, chosen] - about
        lines = np.ascontiguousarray(rows.T if directions is None else (rows @ directions).T)
        if weights is None:
            lines.sort(axis=1)
            if len(rows) == n:
                out[i] = lines
            elif len(rows) % n == 0:
                out[i] = lines.reshape(m, n, -1).mean(axis=2)
            else:
                _integrate(lines, np.full(lines.shape, 1.0 / len(rows)), out[i])
        else:
            order = np.argsort(lines, axis=1)
            mass = weights[begin:end] / weights[begin:end].sum()
            _integrate(np.take_along_axis(lines, order, axis=1), mass[order], out[i])
    return out


@njit(cache=True, nogil=True)
def _integrate(lines: np.ndarray, mass: np.ndarray, out: np.ndarray) -> None:  # pragma: no cover
    n = out.shape[1]
    for j in range(lines.shape[0]):
        cell = 0
        room = 1.0 / n
        for k in range(lines.shape[1]):
            left = mass[j, k]
            while left > room and cell < n - 1:
                out[j, cell] += room * n * lines[j, k]
                left -= room
                cell += 1
                room = 1.0 / n
            out[j, cell] += left * n * lines[j, k]
            room -= left


def line_distances(a: np.ndarray, b: np.ndarray | None, order: int) -> np.ndarray:
    """Mean over cells of ``|a - b|^order`` for all pairs of bags, line by line, (m, n_a, n_b).

    a (n_a, m, n), b (n_b, m, n), or None for a itself, which takes half the time. order 1 gives the 1-Wasserstein
    distance, order 2 the square of the 2-Wasserstein distance, of the distributions on the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.quantiles import line_distances
    >>> line_distances(np.array([[[0.0, 0.0]], [[1.0, 3.0]]]), None, 1)[0]
    array([[0., 2.], [2., 0.]])
    """
    other = a if b is None else b
    check_shapes({"quantiles": (other, (len(other), *a.shape[1:]))})
    if order == 2:
        return np.stack([squared_distances(a[:, j], other[:, j]) / a.shape[2] for j in range(a.shape[1])])
    out = np.zeros((a.shape[1], len(a), len(other)))
    first = np.ascontiguousarray(a.transpose(1, 0, 2))
    second = first if b is None else np.ascontiguousarray(other.transpose(1, 0, 2))
    edges = _edges(len(a), b is None)
    for j in range(a.shape[1]):
        over_parts(lambda begin, end, j=j: _absolute(first[j], second[j], b is None, out[j], begin, end), edges)
        if b is None:
            lower = np.tril_indices(len(a), -1)
            out[j][lower] = out[j].T[lower]
    return out


def _edges(n: int, triangle: bool) -> np.ndarray:
    """Edges that cut rows into parts of about equal work."""
    parts = np.linspace(0, 1, 2 * nb.get_num_threads() + 1)
    share = 1 - np.sqrt(1 - parts) if triangle else parts
    return np.unique((share * n).astype(np.int64))


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances of rows by one matrix product, about a common centre so that digits are kept."""
    centre = b.mean(axis=0)
    a, b = a - centre, b - centre
    return np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * (a @ b.T), 0.0)


@njit(cache=True, nogil=True, fastmath=True)
def _absolute(
    a: np.ndarray, b: np.ndarray, triangle: bool, out: np.ndarray, begin: int, end: int
) -> None:  # pragma: no cover
    n = a.shape[1]
    for tile in range(begin if triangle else 0, len(b), TILE):
        for i in range(begin, end):
            for j in range(max(tile, i + 1) if triangle else tile, min(tile + TILE, len(b))):
                total = 0.0
                for k in range(n):
                    total += abs(a[i, k] - b[j, k])
                out[i, j] = total / n
