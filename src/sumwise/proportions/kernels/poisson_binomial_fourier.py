"""The count of a bag by the trapezoidal rule on its characteristic function.

After tilting the count keeps within ``M`` values and its characteristic function within a few frequencies, so

    P(S = s) = (1/M) sum_k phi(w_k) exp(-i w_k s),    w_k = 2 pi k / M,
    phi(w) = prod_i f_i(w),    f_i(w) = 1 - p_i + p_i exp(iw)

needs about a dozen terms whatever the size of the bag; it is exact but for the truncated tails (below rounding).
Leaving label i out divides by f_i. ``M`` is odd, so that no frequency is pi and no f_i is zero.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_parts
from sumwise.proportions.kernels.poisson_binomial_tilt import TAIL


@njit(cache=True, error_model="numpy")
def period_and_frequencies(n: int, var: float, reach: float, width: int) -> tuple[int, int]:
    """The odd period M, beyond reach and window, and how many frequencies k = 0..K-1 matter."""
    period = min(math.ceil(reach) + width + 1, n + 1)
    period += 1 - period % 2
    half = (period + 1) // 2
    # |phi(w)| <= exp(-2 var sin(w/2)^2)
    ratio = TAIL / (2.0 * var)
    if ratio >= 1.0:
        return period, half
    return period, min(half, int(period * math.asin(math.sqrt(ratio)) / math.pi) + 2)


@njit(cache=True, error_model="numpy")
def _phases(count: int, period: int, first: int, weights: np.ndarray) -> np.ndarray:
    """exp(iw_k) - 1, and sum_s weight(s) exp(-i w_k s) with the factor 2 for the conjugate frequency, real and
    imaginary apart."""
    table = np.empty((4, count))
    for k in range(count):
        angle = 2.0 * math.pi * k / period
        half = math.sin(0.5 * angle)
        table[0, k] = -2.0 * half * half
        table[1, k] = math.sin(angle)
        real = 0.0
        imag = 0.0
        for j in range(weights.size):
            if weights[j] > 0.0:
                turn = 2.0 * math.pi * ((k * (first + j)) % period) / period
                real += weights[j] * math.cos(turn)
                imag -= weights[j] * math.sin(turn)
        double = 1.0 if k == 0 else 2.0
        table[2, k] = double * real
        table[3, k] = double * imag
    return table


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _characteristic(probs: np.ndarray, table: np.ndarray, real: np.ndarray, imag: np.ndarray) -> None:
    """phi(w_k), multiplied up in place into real, imag."""
    for p in probs:
        for k in range(real.size):
            a = 1.0 + p * table[0, k]
            b = p * table[1, k]
            r = real[k] * a - imag[k] * b
            imag[k] = real[k] * b + imag[k] * a
            real[k] = r


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _leave_out(
    probs: np.ndarray, table: np.ndarray, real: np.ndarray, imag: np.ndarray, total: float, posterior: np.ndarray
) -> None:
    """posterior_i = p_i + p_i (1 - p_i) Re sum_k A_k (exp(iw_k) - 1) / f_i(w_k) / total; A is in real, imag."""
    count = real.size
    up = np.empty(count)
    vp = np.empty(count)
    for k in range(count):
        up[k] = real[k] * table[0, k] - imag[k] * table[1, k]
        vp[k] = real[k] * table[1, k] + imag[k] * table[0, k]
    for i in range(probs.size):
        p = probs[i]
        part = 0.0
        for k in range(1, count):
            a = 1.0 + p * table[0, k]
            b = p * table[1, k]
            part += (up[k] * a + vp[k] * b) / (a * a + b * b)
        posterior[i] = min(max(p + p * (1.0 - p) * part / total, 0.0), 1.0)


@njit(cache=True, error_model="numpy")
def _weigh(real: np.ndarray, imag: np.ndarray, table: np.ndarray) -> float:
    """A_k = phi(w_k) times the potential's transform, in place; returns sum_k Re A_k, which is M times the total."""
    total = 0.0
    for k in range(real.size):
        r = real[k] * table[2, k] - imag[k] * table[3, k]
        imag[k] = real[k] * table[3, k] + imag[k] * table[2, k]
        real[k] = r
        total += r
    return total


@njit(cache=True, error_model="numpy")
def fourier(
    probs: np.ndarray, var: float, reach: float, first: int, weights: np.ndarray, posterior: np.ndarray
) -> float:
    """As `poisson_binomial_dp.direct`, in O(n) time times a dozen frequencies."""
    period, count = period_and_frequencies(probs.size, var, reach, weights.size)
    table = _phases(count, period, first, weights)
    real = np.ones(count)
    imag = np.zeros(count)
    _characteristic(probs, table, real, imag)
    total = _weigh(real, imag, table)
    _leave_out(probs, table, real, imag, total, posterior)
    return total / period


def fourier_parallel(
    probs: np.ndarray, var: float, reach: float, first: int, weights: np.ndarray, posterior: np.ndarray
) -> float:
    """`fourier` for one huge bag, its members shared among the cores."""
    n = probs.size
    period, count = period_and_frequencies(n, var, reach, weights.size)
    table = _phases(count, period, first, weights)
    n_parts = 16
    edges = np.arange(n_parts + 1) * n // n_parts
    reals, imags = np.ones((n_parts, count)), np.zeros((n_parts, count))
    part_of = {int(begin): part for part, begin in enumerate(edges[:-1])}

    def multiply(begin: int, end: int) -> None:
        _characteristic(probs[begin:end], table, reals[part_of[begin]], imags[part_of[begin]])

    over_parts(multiply, edges)
    product = np.prod(reals + 1j * imags, axis=0)
    real, imag = product.real.copy(), product.imag.copy()
    total = _weigh(real, imag, table)
    over_parts(lambda i, j: _leave_out(probs[i:j], table, real, imag, total, posterior[i:j]), edges)
    return total / period
