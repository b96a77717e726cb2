"""Mean cosines and sines of projected rows, bag by bag: the features behind every Fourier embedding."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.segments import BagRows, bag_rows
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.shapes import check_positions, check_shapes
from sumwise.inference.kernels.threads import over_bags

ROWS = 512  # of a bag that are worked on at once: all that is needed of them stays in the nearest cache
SHORT_BAG = 40  # rows below which vector units run along frequencies, else along rows (measured to be equally fast)
TWO_PI = 2 * np.pi
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
    Memory is that of the result. An empty bag gives zeros. Long bags are summed along rows, with the sums in registers,
    short ones along frequencies.

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
    x, mass = np.empty((len(columns), ROWS)), np.ones(ROWS)
    wide = np.empty((3, ROWS))
    narrow = np.empty((3, frequencies.shape[1]))
    for i in range(begin, end):
        whole = 0.0
        for low in range(rows.offsets[i], rows.offsets[i + 1], ROWS):
            n = min(ROWS, rows.offsets[i + 1] - low)
            for r in range(n):
                for j in range(len(columns)):
                    x[j, r] = rows.values[low + r, columns[j]] - centre[j]
                if rows.weighted:
                    mass[r] = rows.weights[low + r]
                whole += mass[r]
            if n < SHORT_BAG:
                _along_frequencies(x, mass, n, frequencies, doublings, out[i], narrow)
            else:
                _along_rows(x, mass, n, frequencies, doublings, out[i], wide)
        if whole > 0:
            out[i] /= whole


@njit(cache=True)
def _along_frequencies(
    x: np.ndarray,
    mass: np.ndarray,
    n: int,
    frequencies: np.ndarray,
    doublings: int,
    total: np.ndarray,
    room: np.ndarray,
) -> None:  # pragma: no cover
    angle, cos, sin = room[0], room[1], room[2]
    for r in range(n):
        angle[:] = 0.0
        for j in range(len(x)):
            _add(angle, frequencies[j], x[j, r])
        _cosine_sine(angle, cos, sin, total[0, 0], total[0, 1], mass[r])
        for level in range(1, doublings + 1):
            _double(cos, sin, total[level, 0], total[level, 1], mass[r])


@njit(cache=True)
def _along_rows(
    x: np.ndarray,
    mass: np.ndarray,
    n: int,
    frequencies: np.ndarray,
    doublings: int,
    total: np.ndarray,
    room: np.ndarray,
) -> None:  # pragma: no cover
    angle, cos, sin, mass = room[0, :n], room[1, :n], room[2, :n], mass[:n]
    d = len(x)
    for k in range(frequencies.shape[1]):
        angle[:] = 0.0
        for j in range(0, d - 1, 2):
            _add_two(angle, x[j], x[j + 1], frequencies[j, k], frequencies[j + 1, k])
        if d % 2:
            _add(angle, x[d - 1], frequencies[d - 1, k])
        add_harmonics(angle, cos, sin, mass, doublings, total, k)


@njit(cache=True)
def add_harmonics(
    angle: np.ndarray, cos: np.ndarray, sin: np.ndarray, mass: np.ndarray, doublings: int, total: np.ndarray, k: int
) -> None:  # pragma: no cover
    """Add to total[:, :, k] the sums over rows of cosines and sines of the angles, and of their doubles."""
    c, s = summed_harmonic(angle, cos, sin, mass)
    total[0, 0, k] += c
    total[0, 1, k] += s
    for level in range(1, doublings + 1):
        c, s = summed_doubled(cos, sin, mass)
        total[level, 0, k] += c
        total[level, 1, k] += s


# One loop per function: so small, each runs on vector units.
@njit(cache=True, fastmath={"contract"})
def _add(angle: np.ndarray, along: np.ndarray, x: float) -> None:  # pragma: no cover
    for k in range(len(angle)):
        angle[k] += x * along[k]


@njit(cache=True, fastmath={"contract"})
def _add_two(angle: np.ndarray, one: np.ndarray, other: np.ndarray, x: float, y: float) -> None:  # pragma: no cover
    for k in range(len(angle)):
        angle[k] += x * one[k] + y * other[k]


@njit(cache=True, fastmath={"contract"})
def _cosine_sine(
    angle: np.ndarray, cos: np.ndarray, sin: np.ndarray, cosines: np.ndarray, sines: np.ndarray, weight: float
) -> None:  # pragma: no cover
    for k in range(len(angle)):
        c, s = _cos_sin(angle[k])
        cos[k] = c
        sin[k] = s
        cosines[k] += weight * c
        sines[k] += weight * s


@njit(cache=True, fastmath={"contract"})
def _double(
    cos: np.ndarray, sin: np.ndarray, cosines: np.ndarray, sines: np.ndarray, weight: float
) -> None:  # pragma: no cover
    for k in range(len(cos)):
        c, s = cos[k], sin[k]
        s = 2.0 * s * c
        c = 2.0 * c * c - 1.0
        cos[k] = c
        sin[k] = s
        cosines[k] += weight * c
        sines[k] += weight * s


# Sums may be taken in any order (else they would not run on vector units); what is inside `_cos_sin` may not.
@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def summed_harmonic(
    angle: np.ndarray, cos: np.ndarray, sin: np.ndarray, mass: np.ndarray
) -> tuple[float, float]:  # pragma: no cover
    cosines, sines = 0.0, 0.0
    for r in range(len(angle)):
        c, s = _cos_sin(angle[r])
        cos[r] = c
        sin[r] = s
        cosines += mass[r] * c
        sines += mass[r] * s
    return cosines, sines


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def summed_doubled(cos: np.ndarray, sin: np.ndarray, mass: np.ndarray) -> tuple[float, float]:  # pragma: no cover
    cosines, sines = 0.0, 0.0
    for r in range(len(cos)):
        c, s = cos[r], sin[r]
        s = 2.0 * s * c
        c = 2.0 * c * c - 1.0
        cos[r] = c
        sin[r] = s
        cosines += mass[r] * c
        sines += mass[r] * s
    return cosines, sines


@njit(cache=True, fastmath={"contract"})
def _cos_sin(t: float) -> tuple[float, float]:  # pragma: no cover
    """Cosine and sine without branches, so that loops over frequencies run on vector units.

    The angle is reduced to a turn, a quarter of it is expanded in Taylor series (its absolute value is below pi / 4,
    where the remainders are below 1e-15), and doubled twice.
    """
    turns = np.rint(t * (1.0 / TWO_PI))
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
