"""Mean cosines and sines of projected rows, bag by bag: the features behind every Fourier embedding."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.segments import BagRows, bag_rows
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.shapes import check_positions, check_shapes
from sumwise.inference.kernels.threads import over_bags

ROWS = 512  # worked on at once: all that is needed of them stays in the nearest cache
# 2 pi in two parts; products of the first with whole numbers below 2^20 are exact, so that remainders keep digits.
TWO_PI_HIGH = float.fromhex("0x1.921fb544p+2")
TWO_PI_LOW = float.fromhex("0x1.0b4611a626331p-32")


def mean_fourier_features(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    frequencies: np.ndarray,
    doublings: int = 0,
    *,
    columns: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> np.ndarray:
    """Weighted means of cos(2^s w'(x - c)) and sin(2^s w'(x - c)) over the rows x of each bag, s = 0 to `doublings`.

    values (n_rows, D), offsets (n_bags + 1,), weights (n_rows,) or None, frequencies (d, m); columns (d,) chooses
    columns of the values (default all), centre (d,) is subtracted from them. Returns (n_bags, doublings + 1, 2, m).
    A doubled frequency costs two products, not a cosine and a sine: cos 2t = 2 cos^2 t - 1, sin 2t = 2 sin t cos t.
    Memory is that of the result. An empty bag gives zeros. Short bags are worked on together, long ones in parts; a
    bag's features are the same bit for bit whichever bags lie beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.fourier_features import mean_fourier_features
    >>> mean_fourier_features(np.array([[0.0], [np.pi]]), np.array([0, 1, 2]), None, np.ones((1, 1)))[:, 0, 0, 0]
    array([ 1., -1.])
    """
    chosen = np.arange(values.shape[1]) if columns is None else np.asarray(columns, dtype=np.int64)
    about = np.zeros(len(chosen)) if centre is None else np.asarray(centre, dtype=np.float64)
    omega = np.ascontiguousarray(frequencies, dtype=np.float64)
    check_shapes({"frequencies": (omega, (len(chosen), *omega.shape[-1:])), "centre": (about, (len(chosen),))})
    check_positions("columns", chosen, values.shape[1])
    rows = bag_rows(values, offsets, weights)
    out = np.zeros((len(offsets) - 1, doublings + 1, 2, omega.shape[1]))
    over_bags(lambda begin, end: _mean_features(rows, omega, doublings, chosen, about, out, begin, end), rows.offsets)
    return out


@njit(cache=True, nogil=True)
def _mean_features(
    rows: BagRows,
    frequencies: np.ndarray,
    doublings: int,
    columns: np.ndarray,
    centre: np.ndarray,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:  # pragma: no cover
    d = len(columns)
    room, edges = np.empty((d + 4, ROWS)), np.empty(ROWS + 1, np.uint64)  # unsigned: no index counts from the end
    x, share, edges[0] = room[:d], room[d], 0
    total, i, low = 0.0, begin, rows.offsets[begin]
    while i < end:  # a block: as many whole bags as fit, or a part of a long one
        n_bags = 0
        while n_bags < ROWS and i + n_bags < end and (n_bags == 0 or rows.offsets[i + n_bags + 1] - low <= ROWS):
            first, stop = max(low, rows.offsets[i + n_bags]), rows.offsets[i + n_bags + 1]
            if first == rows.offsets[i + n_bags]:
                total = total_weight(rows, first, stop)
            for row in range(first, min(stop, low + ROWS)):
                weight = rows.weights[row] if rows.weighted else 1.0
                share[row - low] = weight / total if total > 0 else 0.0
                for j in range(d):
                    x[j, row - low] = rows.values[row, columns[j]] - centre[j]
            n_bags += 1
            edges[n_bags] = min(stop - low, ROWS)
        n = edges[n_bags]
        angle, cos, sin = room[d + 1, :n], room[d + 2, :n], room[d + 3, :n]
        for k in range(frequencies.shape[1]):
            angle[:] = 0.0
            for j in range(d):
                _add(angle, x[j], frequencies[j, k])
            add_harmonics(angle, cos, sin, share, edges[: n_bags + 1], doublings, out[i : i + n_bags], k)
        low += n
        i += n_bags - (low < rows.offsets[i + n_bags])


@njit(cache=True)
def total_weight(rows: BagRows, first: int, stop: int) -> float:  # pragma: no cover
    if not rows.weighted:
        return float(stop - first)
    total = 0.0
    for row in range(first, stop):
        total += rows.weights[row]
    return total


@njit(cache=True)
def add_harmonics(
    angle: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    share: np.ndarray,
    edges: np.ndarray,
    doublings: int,
    out: np.ndarray,
    k: int,
) -> None:  # pragma: no cover
    """Add to out[i, :, :, k] the weighted sums, over the rows edges[i] to edges[i + 1], of the cosines and sines of the
    angles and of their doubles."""
    _cosines_and_sines(angle, cos, sin)
    for level in range(doublings + 1):
        if level:
            _double(cos, sin)
        for i in range(len(edges) - 1):
            c, s = _weighted_sums(cos, sin, share, edges[i], edges[i + 1])
            out[i, level, 0, k] += c
            out[i, level, 1, k] += s


# One loop per function: so small, each runs on vector units.
@njit(cache=True, fastmath={"contract"})
def _add(angle: np.ndarray, x: np.ndarray, frequency: float) -> None:  # pragma: no cover
    for r in range(len(angle)):
        angle[r] += frequency * x[r]


@njit(cache=True, fastmath={"contract"})
def _cosines_and_sines(angle: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> None:  # pragma: no cover
    for r in range(len(angle)):
        cos[r], sin[r] = _cos_sin(angle[r])


@njit(cache=True, fastmath={"contract"})
def _double(cos: np.ndarray, sin: np.ndarray) -> None:  # pragma: no cover
    for r in range(len(cos)):
        c, s = cos[r], sin[r]
        cos[r] = 2.0 * c * c - 1.0
        sin[r] = 2.0 * s * c


# Sums may be taken in any order (else they would not run on vector units); what is inside `_cos_sin` may not.
@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _weighted_sums(
    cos: np.ndarray, sin: np.ndarray, share: np.ndarray, begin: int, end: int
) -> tuple[float, float]:  # pragma: no cover
    cosines, sines = 0.0, 0.0
    for r in range(begin, end):
        cosines += share[r] * cos[r]
        sines += share[r] * sin[r]
    return cosines, sines


@njit(cache=True, fastmath={"contract"})
def _cos_sin(t: float) -> tuple[float, float]:  # pragma: no cover
    """Cosine and sine without branches, so that loops over frequencies run on vector units.

    The angle is reduced to a turn, a quarter of it is expanded in Taylor series (its absolute value is below pi / 4,
    where the remainders are below 1e-15), and doubled twice.
    """
    turns = np.rint(t * (0.5 / np.pi))
    x = 0.25 * ((t - turns * TWO_PI_HIGH) - turns * TWO_PI_LOW)
    z = x * x
    s = -1.0 / 1307674368000.0
    s = s * z + 1.0 / 6227020800.0
    s = s * z - 1.0 / 39916800.0
    s = s * z + 1.0 / 362880.0
    s = s * z - 1.0 / 5040.0
    s = s * z + 1.0 / 120.0
    s = s * z - 1.0 / 6.0
    s = x + x * z * s
    c = 1.0 / 20922789888000.0
    c = c * z - 1.0 / 87178291200.0
    c = c * z + 1.0 / 479001600.0
    c = c * z - 1.0 / 3628800.0
    c = c * z + 1.0 / 40320.0
    c = c * z - 1.0 / 720.0
    c = c * z + 1.0 / 24.0
    c = c * z - 0.5
    v = z * c  # cos x - 1, which keeps digits that cos x would lose when doubled
    s, v = 2.0 * s * (1.0 + v), 2.0 * v * (2.0 + v)
    s, v = 2.0 * s * (1.0 + v), 2.0 * v * (2.0 + v)
    return 1.0 + v, s
