"""How an observed count differs from the true one: p(observed | true), its gradient and its convex conjugate.

With ``l(n) = -log p(observed | n)``, which is convex in n for every kind here but the negative binomial, a model offers

- ``log_density(observed, true)``: log p(observed | true), cell by cell;
- ``gradient(observed, true)``: its derivative in the true count;
- ``conjugate(observed, slope)``: ``sup_n slope * n - l(n)``, infinite where the slope is out of reach;
- ``conjugate_point(observed, slope)``: the n at which that is attained;
- ``variance(true)`` and ``sample(true, random_state)``.

A NaN is a cell that was not observed: its density is 1, its gradient 0, its conjugate 0 at slope 0 and
infinite elsewhere.
`sample` simulates; noise that protects people comes from `sumwise.privacy.release`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError

__all__ = ["Exact", "Gaussian", "Geometric", "Laplace", "NegativeBinomial", "Noise", "Poisson", "Summed"]


@dataclass(frozen=True, eq=False)
class Noise(ABC):
    """Base of the noise models; see the module for what each offers.

    Examples
    --------
    >>> from sumwise.noise import Gaussian, Noise
    >>> isinstance(Gaussian(2.0), Noise)
    True
    """

    def __post_init__(self):
        for field in fields(self):
            object.__setattr__(self, field.name, _scale(getattr(self, field.name), field.name))

    def log_density(self, observed: Any, true: Any) -> np.ndarray:
        """Return log p(observed | true) per cell; 0 where `observed` is NaN."""
        y, n = _pair(self, observed, true)
        return np.where(np.isnan(y), 0.0, self._log_density(np.nan_to_num(y), n))

    def gradient(self, observed: Any, true: Any) -> np.ndarray:
        """Return the derivative of log p(observed | true) in `true`; 0 where `observed` is NaN."""
        y, n = _pair(self, observed, true)
        return np.where(np.isnan(y), 0.0, self._gradient(np.nan_to_num(y), n))

    def conjugate(self, observed: Any, slope: Any) -> np.ndarray:
        """Return sup over n of slope * n + log p(observed | n)."""
        y, s = _pair(self, observed, slope)
        unseen = np.where(s == 0, 0.0, np.inf)
        return np.where(np.isnan(y), unseen, self._conjugate(np.nan_to_num(y), s))

    def conjugate_point(self, observed: Any, slope: Any) -> np.ndarray:
        """Return the n that attains the conjugate (its gradient in the slope); NaN where there is none."""
        y, s = _pair(self, observed, slope)
        return np.where(np.isnan(y), np.nan, self._conjugate_point(np.nan_to_num(y), s))

    def variance(self, true: Any) -> np.ndarray:
        """Return the variance of an observation, given the true count."""
        return self._variance(_floats(true, "true"))

    def sample(self, true: Any, random_state: Any = None) -> np.ndarray:
        """Return simulated observations of the true counts."""
        rng = checks.generator(random_state)
        return np.asarray(self._sample(_pair(self, true, 0.0)[0], rng), dtype=float)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):  # a copy is as frozen as the original
        return type(self), tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        shown = [f"{f.name}={_scale_text(getattr(self, f.name))}" for f in fields(self)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        errors: list[str] = []
        for true in (10.0, 100.0, 1000.0):
            sd = np.sqrt(self.variance(true))
            low, high = (f"{value:.3g}" for value in (np.min(sd), np.max(sd)))
            errors.append(low if low == high else f"{low} to {high}")
        return finding_html(
            f"{self!r}: how observed counts differ from true ones. The standard deviation of an observation is "
            f"{errors[0]} at a true count of 10, {errors[1]} at 100, {errors[2]} at 1,000."
        )

    def describe(self) -> dict[str, Any]:
        """Return the kind of noise and its parameters."""
        return {"noise": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}

    @abstractmethod
    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray: ...

    def _conjugate(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        point = self._conjugate_point(y, slope)
        reached = np.isfinite(point)
        at = np.where(reached, point, 0.0)
        return np.where(reached, slope * at + self._log_density(y, at), np.inf)

    @abstractmethod
    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _variance(self, n: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...


@dataclass(frozen=True, eq=False, repr=False)
class Exact(Noise):
    """No noise: the observed count is the true one.

    The gradient is 0 at the observation and NaN elsewhere, where there is none.

    Examples
    --------
    >>> from sumwise.noise import Exact
    >>> Exact().log_density([3, 4], [3, 5])
    array([  0., -inf])
    """

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.where(y == n, 0.0, -np.inf)

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.where(y == n, 0.0, np.nan)

    def _conjugate(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return slope * y

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return y + 0.0 * slope

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return np.zeros_like(n)

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        del rng  # nothing is random
        return n.copy()


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Noise):
    """Each individual is counted `rate` times on average: y ~ Poisson(rate * n).

    Parameters
    ----------
    rate : float or array, default 1.0
        Above zero; one number, or one per cell (a detection rate).

    Examples
    --------
    >>> from sumwise.noise import Poisson
    >>> Poisson(0.5).conjugate_point(3.0, 0.2)  # y / (rate - slope)
    array(10.)
    """

    rate: float | np.ndarray = 1.0

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        mean = self.rate * n
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mean = np.where(y > 0, y * np.log(np.maximum(mean, 0.0)), 0.0)
        legal = (n >= 0) & (y >= 0) & (y == np.floor(y))
        return np.where(legal, log_mean - mean - _log_factorial(y), -np.inf)

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y > 0, np.divide(y, n), 0.0) - self.rate

    def _conjugate(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        gap = self.rate - slope
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(y > 0, y * (np.log(self.rate * y) - np.log(gap)) - y, 0.0) - _log_factorial(y)
        return np.where((gap > 0) | ((gap == 0) & (y == 0)), value, np.inf)

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        gap = self.rate - slope
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap > 0, y / gap, np.where((gap == 0) & (y == 0), 0.0, np.nan))

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return self.rate * n

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mean = self.rate * n
        bad = ~((mean >= 0) & (mean < 2.0**62))
        if bad.any():
            raise DataError(
                f"A Poisson count has no mean of {mean[bad].flat[0]:.6g} ({int(bad.sum())} of {bad.size} places).",
                hint="true counts are numbers from 0 to 4e18 / rate.",
            )
        return rng.poisson(mean)


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(Noise):
    """Counts that vary more than Poisson counts: mean ``rate * n``, variance ``mean + dispersion * mean^2``.

    A Poisson count whose rate differs from count to count (observers, weather) by a gamma factor of mean 1 and variance
    `dispersion`. Its log-density is not concave in the true count, so `map_counts` finds a stationary point and proves
    no gap.

    Parameters
    ----------
    rate : float or array, default 1.0
        Above zero; one number, or one per cell.
    dispersion : float or array, default 0.1
        Above zero; 0.1 means that the rate varies by about 32% from count to count.

    Examples
    --------
    >>> from sumwise.noise import NegativeBinomial
    >>> float(NegativeBinomial(dispersion=0.1).variance(100.0))
    1100.0
    """

    rate: float | np.ndarray = 1.0
    dispersion: float | np.ndarray = 0.1

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        from scipy.special import gammaln

        mean, r = self.rate * n, 1.0 / self.dispersion
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mean = np.where(y > 0, y * np.log(np.maximum(mean, 0.0) / (r + np.maximum(mean, 0.0))), 0.0)
            value = log_mean - r * np.log1p(np.maximum(mean, 0.0) / r)
        legal = (n >= 0) & (y >= 0) & (y == np.floor(y))
        constant = gammaln(np.maximum(y, 0.0) + r) - gammaln(r) - _log_factorial(y)
        return np.where(legal, value + constant, -np.inf)

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        mean, r = self.rate * n, 1.0 / self.dispersion
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y > 0, np.divide(y, n), 0.0) - self.rate * (y + r) / (mean + r)

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        # The positive root of c m^2 + r (c - 1) m + r y = 0 with m = rate * n, c = slope / rate; none for c > 0.
        y, slope = np.broadcast_arrays(y, slope)
        r, c = 1.0 / self.dispersion, slope / self.rate
        b = r * (1.0 - c)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = 2.0 * r * y / (b + np.sqrt(b**2 - 4.0 * c * r * y))
        return np.where(c < 0, mean / self.rate, np.where(c == 0, y / self.rate, np.nan))

    def _variance(self, n: np.ndarray) -> np.ndarray:
        mean = self.rate * n
        return mean + self.dispersion * mean**2

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shape = np.zeros_like(n) + 1.0 / self.dispersion
        return Poisson(self.rate).sample(n * rng.gamma(shape, 1.0 / shape), rng)


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Noise):
    """Normal noise: y = n + e with standard deviation `scale`.

    Parameters
    ----------
    scale : float or array
        The standard deviation, above zero; one number, or one per cell.

    Examples
    --------
    >>> from sumwise.noise import Gaussian
    >>> Gaussian(2.0).gradient(10.0, 6.0)  # (y - n) / scale**2
    array(1.)
    """

    scale: float | np.ndarray

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return -0.5 * ((y - n) / self.scale) ** 2 - self._log_constant

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (y - n) / self.scale**2

    def _conjugate(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return slope * y + 0.5 * (slope * self.scale) ** 2 - self._log_constant

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return y + slope * self.scale**2

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return np.zeros_like(n) + self.scale**2

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return n + self.scale * rng.standard_normal(n.shape)

    @property
    def _log_constant(self) -> Any:
        return np.log(self.scale * math.sqrt(2 * math.pi))


class _TwoSided(Noise):
    """Noise whose log-density falls linearly on both sides of the truth, at rate 1 / scale."""

    scale: float | np.ndarray

    @property
    @abstractmethod
    def _log_constant(self) -> Any: ...

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return -np.abs(y - n) / self.scale - self._log_constant

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.sign(y - n) / self.scale

    def _conjugate(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        reached = np.abs(slope) * self.scale <= 1 + 1e-12
        return np.where(reached, slope * y - self._log_constant, np.inf)

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return np.where(np.abs(slope) * self.scale <= 1 + 1e-12, y, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(_TwoSided):
    """Laplace noise: density ``exp(-|y - n| / scale) / (2 scale)``. At the kink the gradient is given as 0.

    Parameters
    ----------
    scale : float or array
        b, above zero; one number, or one per cell. The variance is 2 b^2.

    Examples
    --------
    >>> from sumwise.noise import Laplace
    >>> Laplace(2.0).gradient([5.0, 5.0], [3.0, 9.0])
    array([ 0.5, -0.5])
    """

    scale: float | np.ndarray

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return np.zeros_like(n) + 2 * self.scale**2

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return n + rng.laplace(scale=self.scale, size=n.shape)

    @property
    def _log_constant(self) -> Any:
        return np.log(2 * self.scale)


@dataclass(frozen=True, eq=False, repr=False)
class Geometric(_TwoSided):
    """Two-sided geometric (discrete Laplace) noise: p(k) proportional to ``exp(-|k| / scale)`` on whole numbers.

    Parameters
    ----------
    scale : float or array
        Above zero; one number, or one per cell. With sensitivity 1, epsilon = 1 / scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.noise import Geometric
    >>> k = np.arange(-200, 201)
    >>> round(float(np.exp(Geometric(3.0).log_density(k, 0)).sum()), 12)
    1.0
    """

    scale: float | np.ndarray

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return np.zeros_like(n) + 0.5 / np.sinh(0.5 / self.scale) ** 2

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        fail = -np.expm1(-1.0 / self.scale)  # success probability of each one-sided geometric
        return n + rng.geometric(fail, size=n.shape) - rng.geometric(fail, size=n.shape)

    @property
    def _log_constant(self) -> Any:
        return -np.log(np.tanh(0.5 / self.scale))


@dataclass(frozen=True, eq=False, repr=False)
class Summed(Noise):
    """The sum of several independent draws of Laplace or geometric noise.

    A table released by class has a draw on the count of each class; its counts, summed over K classes, have K draws.

    Parameters
    ----------
    noise : Laplace or Geometric
        The noise of one draw, of one scale for all cells.
    times : int >= 2
        How many draws are added, 2 or more.

    Notes
    -----
    With z = abs(y - n) and K draws the density is exp(-z / scale) times a polynomial of degree K - 1 in z whose
    coefficients are all positive: the residue at the pole of order K of the generating function.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.noise import Geometric, Summed
    >>> noise = Summed(Geometric(3.0), 2)
    >>> round(float(np.exp(noise.log_density(np.arange(-300, 301), 0)).sum()), 12)
    1.0
    >>> float(noise.variance(0.0) / Geometric(3.0).variance(0.0))
    2.0
    """

    noise: Laplace | Geometric
    times: int

    def __post_init__(self):
        if not isinstance(self.noise, Laplace | Geometric) or np.ndim(self.noise.scale):
            raise DataError(f"Draws of {self.noise!r} can't be summed.", hint="give Laplace or Geometric of one scale.")
        checks.at_least(self.times, "times", 2)

    @property
    def scale(self) -> float:
        """The scale of one draw."""
        return float(self.noise.scale)

    def __repr__(self) -> str:
        return f"Summed({self.noise!r}, times={self.times})"

    def _terms(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the polynomial's terms at z (K, ...) and their derivatives in z."""
        k, geometric = self.times, isinstance(self.noise, Geometric)
        log_a2 = -2.0 / self.scale
        logs, slopes = [], []
        for j in range(k):
            order = k - 1 - j  # C(K - 1 + j, j) times a polynomial of this degree
            log, slope = np.full(z.shape, math.log(math.comb(k - 1 + j, j)) - math.lgamma(order + 1)), np.zeros(z.shape)
            if geometric:  # C(z + K - 1, order) a^(2j) / (1 - a^2)^(K + j)
                log += j * log_a2 - (k + j) * math.log(-math.expm1(log_a2))
                for i in range(order):
                    log, slope = log + np.log(z + k - 1 - i), slope + 1.0 / (z + k - 1 - i)
            else:  # (z / scale)^order / order! / 2^j
                log -= j * math.log(2.0)
                if order:
                    with np.errstate(divide="ignore"):
                        log, slope = log + order * np.log(z / self.scale), order / np.maximum(z, 1e-300)
            logs.append(log)
            slopes.append(slope)
        return np.stack(logs), np.stack(slopes)

    def _log_density(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        z = np.abs(y - n)
        logs, _ = self._terms(z)
        top = logs.max(axis=0)
        value = top + np.log(np.exp(logs - top).sum(axis=0)) - z / self.scale
        if isinstance(self.noise, Geometric):
            return value + 2 * self.times * math.log(-math.expm1(-1.0 / self.scale))
        return value - math.log(self.scale) - self.times * math.log(2.0)

    def _steepness(self, z: np.ndarray) -> np.ndarray:
        """Minus the derivative of the log-density in z, from 0 at z = 0 towards 1 / scale."""
        logs, slopes = self._terms(z)
        weight = np.exp(logs - logs.max(axis=0))
        return 1.0 / self.scale - (weight * slopes).sum(axis=0) / weight.sum(axis=0)

    def _gradient(self, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.sign(y - n) * np.maximum(self._steepness(np.abs(y - n)), 0.0)

    def _conjugate_point(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        y, slope = np.broadcast_arrays(y, slope)
        low, high = np.zeros(y.shape), np.full(y.shape, self.scale)
        wanted = np.abs(slope)
        for _ in range(60):  # until the density is steep enough there
            flat = self._steepness(high) < wanted
            if not flat.any():
                break
            high = np.where(flat, 2 * high, high)
        for _ in range(100):
            middle = (low + high) / 2
            flat = self._steepness(middle) < wanted
            low, high = np.where(flat, middle, low), np.where(flat, high, middle)
        return np.where(wanted * self.scale < 1, y + np.sign(slope) * (low + high) / 2, np.nan)

    def _variance(self, n: np.ndarray) -> np.ndarray:
        return self.times * self.noise.variance(n)

    def _sample(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return n + sum(self.noise.sample(np.zeros_like(n), rng) for _ in range(self.times))


def _pair(noise: Noise, observed: Any, other: Any) -> tuple[np.ndarray, np.ndarray]:
    y, x = _floats(observed, "observed"), _floats(other, "other")
    parameters = [np.shape(getattr(noise, f.name)) for f in fields(noise)]
    try:
        np.broadcast_shapes(y.shape, x.shape, *parameters)
    except ValueError:
        raise DataError(
            f"The observed counts have shape {y.shape}, what they are compared with has {x.shape}, and the noise "
            f"is {noise!r}.",
            hint="give arrays of one shape, or a number.",
        ) from None
    return y, x


def _floats(x: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        return checks.finite(x, name, allow_nan=True)  # it knows how to say what is wrong


def _scale(x: Any, name: str) -> float | np.ndarray:
    array = checks.positive(x, name, hint="tables without noise are Exact()." if name == "scale" else None)
    if not array.size:
        raise DataError(f"{name} is empty.", hint="give a number, or one per cell.")
    return float(array) if array.ndim == 0 else checks.frozen(array)


def _scale_text(x: Any) -> str:
    return f"{x:g}" if np.ndim(x) == 0 else f"array{np.shape(x)}"


def _log_factorial(y: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln

    return gammaln(np.maximum(y, 0.0) + 1.0)


def check_fits(noise: Any, shape: tuple[int, ...]) -> None:
    """Check that `noise` offers what a table needs and that its per-cell parameters have the table's shape."""
    for needed in ("log_density", "gradient"):
        if isinstance(noise, type) or not callable(getattr(noise, needed, None)):
            raise DataError(
                f"The noise is {noise!r}, which has no {needed}(observed, true).",
                hint="use Exact(), Poisson(rate), NegativeBinomial(rate, dispersion), Gaussian(scale), Laplace(scale), "
                "Geometric(scale), or an object with log_density and gradient.",
            )
    for field in fields(noise) if isinstance(noise, Noise) else ():
        shape_of_field = np.shape(getattr(noise, field.name))
        if shape_of_field and shape_of_field != shape:
            raise DataError(f"The noise has a {field.name} of shape {shape_of_field} for a table of shape {shape}.")
