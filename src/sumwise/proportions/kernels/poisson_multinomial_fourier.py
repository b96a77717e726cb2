"""The sum of outcome vectors by the trapezoidal rule on its characteristic function, in several dimensions.

As in `poisson_binomial_fourier`: after tilting, the sum keeps within an ellipsoid, and its characteristic function
within another around 0.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.proportions.kernels.poisson_binomial_tilt import half_width
from sumwise.proportions.kernels.poisson_multinomial_linear import cholesky, inverse, log_det

CUT = 34.0  # frequencies whose term is below exp(-CUT) are left out


@njit(cache=True, error_model="numpy")
def _periods(cov: np.ndarray, n: int) -> np.ndarray:
    d = cov.shape[0]
    periods = np.empty(d, np.int64)
    for j in range(d):
        period = min(math.ceil(half_width(cov[j, j])) + 2, n + 1)
        periods[j] = period + 1 - period % 2
    return periods


@njit(cache=True, error_model="numpy")
def _limits(cov: np.ndarray, periods: np.ndarray) -> np.ndarray:
    """The largest frequency in each dimension: 1 - cos(x) >= 2 x^2 / pi^2 bounds the ellipsoid's box."""
    d = cov.shape[0]
    variances = inverse(cholesky(cov, 1e-9))
    limits = np.empty(d, np.int64)
    for j in range(d):
        far = 0.5 * math.pi * math.sqrt(2.0 * CUT * max(variances[j, j], 0.0))
        top = (periods[j] - 1) // 2
        limits[j] = top if far >= 0.5 * math.pi else min(top, int(far * periods[j] / (2.0 * math.pi)) + 1)
    return limits


@njit(cache=True, error_model="numpy")
def frequencies_needed(cov: np.ndarray, n: int) -> float:
    """About how many frequencies the sum takes: those of the ellipsoid, or of the whole box."""
    d = cov.shape[0]
    if d == 0:
        return 1.0
    periods = _periods(cov, n)
    ball = math.pi ** (0.5 * d) / math.gamma(0.5 * d + 1.0) * (2.0 * CUT) ** (0.5 * d)
    inside = ball * math.exp(-0.5 * log_det(cholesky(cov, 1e-12)))
    box = 1.0
    for j in range(d):
        inside *= periods[j] / (2.0 * math.pi)
        box *= periods[j]
    return 0.5 * min(inside, box) + 1.0


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})
def _add_term(  # noqa: C901
    probs: np.ndarray,
    real: np.ndarray,
    imag: np.ndarray,
    turn_real: float,
    turn_imag: float,
    work: np.ndarray,
    sums: np.ndarray,
) -> float:
    """Add one frequency: work holds f_i and the running product; sums[a, i] += Re(A u_a / f_i). Returns Re A."""
    m, n = probs.shape
    fr, fi, pr, pi = work[0], work[1], work[2], work[3]
    for i in range(n):
        fr[i] = 0.0
        fi[i] = 0.0
    for a in range(m):
        ur, ui = real[a], imag[a]
        for i in range(n):
            fr[i] += probs[a, i] * ur
            fi[i] += probs[a, i] * ui
    for i in range(n):
        pr[i] = fr[i]
        pi[i] = fi[i]
    length = n
    while length > 1:  # the product by halves, so that the loop runs on vectors
        half = (length + 1) // 2
        for i in range(length - half):
            r = pr[i] * pr[i + half] - pi[i] * pi[i + half]
            pi[i] = pr[i] * pi[i + half] + pi[i] * pr[i + half]
            pr[i] = r
        length = half
    ar = pr[0] * turn_real - pi[0] * turn_imag
    ai = pr[0] * turn_imag + pi[0] * turn_real
    smallest = 1.0
    for i in range(n):
        size = fr[i] * fr[i] + fi[i] * fi[i]
        smallest = min(smallest, size)
        size = max(size, 1e-300)
        pr[i] = (ar * fr[i] + ai * fi[i]) / size
        pi[i] = (ai * fr[i] - ar * fi[i]) / size
    if smallest < 1e-12:
        _without(work, turn_real, turn_imag)
    for a in range(m):
        ur, ui = real[a], imag[a]
        for i in range(n):
            sums[a, i] += pr[i] * ur - pi[i] * ui
    return ar


@njit(cache=True, error_model="numpy")
def _without(work: np.ndarray, turn_real: float, turn_imag: float) -> None:
    """A / f_i where some f_i is (nearly) zero: the product of the others, by prefixes and suffixes."""
    n = work.shape[1]
    prefix = np.ones(n + 1, np.complex128)
    for i in range(n):
        prefix[i + 1] = prefix[i] * complex(work[0, i], work[1, i])
    suffix = complex(turn_real, turn_imag)
    for i in range(n - 1, -1, -1):
        value = prefix[i] * suffix
        work[2, i] = value.real
        work[3, i] = value.imag
        suffix = suffix * complex(work[0, i], work[1, i])


@njit(cache=True, error_model="numpy")
def _pair_masses(probs: np.ndarray) -> np.ndarray:
    """sum_i p_ia p_ib, which bounds |phi(w)| by exp(-sum_{a<b} mass_ab (1 - cos(w . (v_a - v_b))))."""
    n, m = probs.shape
    masses = np.zeros((m, m))
    for i in range(n):
        for a in range(m):
            for b in range(a):
                masses[a, b] += probs[i, a] * probs[i, b]
    return masses


@njit(cache=True, error_model="numpy")
def _bound(masses: np.ndarray, real: np.ndarray, imag: np.ndarray) -> float:
    decay = 0.0
    for a in range(real.size):
        for b in range(a):
            decay += masses[a, b] * (1.0 - real[a] * real[b] - imag[a] * imag[b])
    return decay


@njit(cache=True, error_model="numpy")
def fourier(probs: np.ndarray, outcomes: np.ndarray, target: np.ndarray, cov: np.ndarray) -> tuple[float, np.ndarray]:  # noqa: C901, PLR0912 (plain loops compile best)
    """As `poisson_multinomial_dp.direct`; ``cov`` is the covariance of the sum under ``probs``."""
    n, m = probs.shape
    d = outcomes.shape[1]
    periods = _periods(cov, n)
    limits = _limits(cov, periods)
    masses = _pair_masses(probs)
    columns = np.empty((m, n))
    for i in range(n):
        for a in range(m):
            columns[a, i] = probs[i, a]
    sums, work = np.zeros((m, n)), np.empty((4, n))
    real, imag = np.empty(m), np.empty(m)
    k = np.empty(d, np.int64)
    n_points = 1
    for j in range(d):
        k[j] = -limits[j]
        n_points *= 2 * limits[j] + 1
    middle = n_points // 2
    total = 0.0
    for point in range(middle + 1):  # the middle point is zero; the points after it are conjugates
        for a in range(m):
            phase = 0.0
            for j in range(d):
                phase += 2.0 * math.pi * k[j] / periods[j] * outcomes[a, j]
            real[a] = math.cos(phase)
            imag[a] = math.sin(phase)
        if _bound(masses, real, imag) < CUT:
            angle = 0.0
            for j in range(d):
                angle += 2.0 * math.pi * ((k[j] * int(target[j])) % periods[j]) / periods[j]
            double = 1.0 if point == middle else 2.0
            total += _add_term(columns, real, imag, double * math.cos(angle), -double * math.sin(angle), work, sums)
        for j in range(d - 1, -1, -1):
            k[j] += 1
            if k[j] <= limits[j]:
                break
            k[j] = -limits[j]
    posterior = np.empty((n, m))
    for i in range(n):
        norm = 0.0
        for a in range(m):
            posterior[i, a] = max(probs[i, a] * sums[a, i], 0.0)
            norm += posterior[i, a]
        for a in range(m):
            posterior[i, a] /= norm
    log_total = math.log(total) if total > 0.0 else -np.inf
    for j in range(d):
        log_total -= math.log(periods[j])
    return log_total, posterior
