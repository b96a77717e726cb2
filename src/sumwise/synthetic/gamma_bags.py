"""Bags of scaled chi-squared numbers whose shape is the response (Law et al. 2018; Lemus Gonzalez, section 5.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.synthetic.draws import softmax
from sumwise.synthetic.record import Record

N_SHAPES = 801  # points of the grid over y on which posteriors are computed
X_STEP = 0.01  # grid step of the noisy density, in units of the noise or of 1, whichever is smaller
CHUNK = 2**21  # histogram cells held at once


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Record):
    """Bags of Gamma-distributed numbers and the best that anybody could predict; made by `gamma`.

    Attributes
    ----------
    bags : Bags
    response : (n_bags,) array
        y_i, to be predicted from bag i.
    noise : float >= 0
        Variance of the added normal noise.
    support : (float, float)
        Range of the uniform prior of y.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.gamma(50, 100, random_state=0)
    >>> data.bayes().shape
    (50,)
    """

    bags: Bags
    response: np.ndarray
    noise: float
    support: tuple[float, float]

    def bayes(self) -> np.ndarray:
        """Return E[y_i | bag i] under the true model: no predictor has a smaller expected squared error.

        The posterior is computed on a grid of 801 values of y; with noise, the density is convolved numerically
        (relative error of the mean below 1e-4).
        """
        shapes = np.linspace(*self.support, N_SHAPES)
        log_likelihood = self._exact(shapes) if self.noise == 0 else self._convolved(shapes)
        log_likelihood[:, [0, -1]] += np.log(0.5)  # trapezoid rule for the uniform prior
        return softmax(log_likelihood) @ shapes

    @property
    def bayes_error(self) -> float:
        """Mean squared error of `bayes` on these bags; benchmarks divide by it."""
        return float(np.mean((self.bayes() - self.response) ** 2))

    def _exact(self, shapes: np.ndarray) -> np.ndarray:
        """log p(bag | y) up to a constant; sum(log x) and sum(x) are sufficient."""
        from scipy.special import gammaln

        values = np.asarray(self.bags.values, dtype=float)
        per_row = np.stack([np.log(values).sum(axis=1), values.sum(axis=1), np.full(len(values), values.shape[1])])
        log_sum, plain_sum, n = np.add.reduceat(per_row, self.bags.offsets[:-1], axis=1)
        half = shapes / 2
        return np.outer(log_sum, half) - np.outer(plain_sum, half) + np.outer(n, half * np.log(half) - gammaln(half))

    def _convolved(self, shapes: np.ndarray) -> np.ndarray:
        """log p(bag | y); the density of Gamma plus normal noise is tabulated, its log interpolated linearly."""
        grid, log_density = _noisy_log_density(shapes, np.sqrt(self.noise))
        step = grid[1] - grid[0]
        width = self.bags.n_features
        out = np.empty((len(self.bags), len(shapes)))
        per_chunk = max(1, CHUNK // len(grid))
        for first in range(0, len(self.bags), per_chunk):
            part = self.bags[first : first + per_chunk]
            place = np.clip((part.values.ravel() - grid[0]) / step, 0, len(grid) - 1.000001)
            cell = place.astype(np.intp)
            cell_share = place - cell
            cell += np.repeat(np.arange(len(part)) * len(grid), part.sizes * width)
            size = len(part) * len(grid)
            weights = np.bincount(cell, 1 - cell_share, size) + np.bincount(cell + 1, cell_share, size)
            out[first : first + len(part)] = weights.reshape(len(part), len(grid)) @ log_density
        return out


def gamma(
    n_bags: int = 1000,
    bag_size: int = 1000,
    *,
    small: float | None = None,
    noise: float | None = None,
    n_features: int = 5,
    support: tuple[float, float] = (4.0, 8.0),
    random_state: Any = None,
) -> Gamma:
    """Draw bags of Gamma-distributed numbers whose shape parameter is the response.

    Parameters
    ----------
    n_bags : int >= 1, default 1000
        The papers train on 1,000, validate on 500 and test on 1,000: draw 2,500 and slice ``bags[:1000]``, ...
    bag_size : int >= 1, default 1000
        Rows per bag; the size of the largest bags when `small` is given.
    small : float in [0, 0.5], optional
        Variable sizes: this share of the bags has 5 rows, a quarter has 20, a quarter has 100 and the rest
        `bag_size`, in random order (the papers use 0, 0.25 and 0.5).
    noise : float >= 0, optional
        Variance of the normal noise added to each number; 1 for a fixed bag size, 0 for variable sizes (as in the
        papers) if not given.
    n_features : int >= 1, default 5
    support : (float, float), default (4, 8)
        Range of the response.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Gamma

    Notes
    -----
    ::

        y_i   ~ Uniform(4, 8)
        x_ijd ~ Gamma(shape y_i / 2, rate 1 / 2) / y_i + e_ijd,   e ~ N(0, noise)

    so x is a chi-squared variable over its degrees of freedom: mean 1, variance 2 / y_i + noise. The optimum
    `bayes_error` is about 0.17 for fixed bags of 1,000 with noise, and 0.13 / 0.35 / 0.55 for `small` of 0 / 0.25 / 0.5
    (its standard deviation between draws of 1,000 bags is 0.01 / 0.02 / 0.03: compare on the same draw).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> fixed = synthetic.gamma(20, 100, random_state=0)
    >>> len(fixed.bags), fixed.bags.n_features, fixed.noise
    (20, 5, 1.0)
    >>> variable = synthetic.gamma(100, small=0.25, random_state=0)
    >>> sorted(set(variable.bags.sizes.tolist())), variable.noise
    ([5, 20, 100, 1000], 0.0)
    """
    rng = checks.generator(random_state)
    checks.at_least(n_bags, "n_bags", 1)
    checks.at_least(bag_size, "bag_size", 1)
    checks.at_least(n_features, "n_features", 1)
    array = checks.positive(support, "support", ndim=1)
    if len(array) != 2 or array[0] >= array[1]:
        raise DataError(f"support is {support!r}.", hint="give the lowest and the highest response, as in (4, 8).")
    low, high = float(array[0]), float(array[1])
    if noise is None:
        noise = 1.0 if small is None else 0.0
    noise = float(checks.at_least(noise, "noise", 0, whole_number=False))
    sizes = np.full(n_bags, bag_size) if small is None else _variable_sizes(n_bags, bag_size, small, rng)
    response = rng.uniform(low, high, n_bags)
    per_row = np.repeat(response, sizes)[:, None]
    values = rng.standard_gamma(np.broadcast_to(per_row / 2, (len(per_row), n_features)))
    values *= 2 / per_row
    if noise:
        values += np.sqrt(noise) * rng.standard_normal(values.shape)
    bags = Bags(values, np.concatenate([[0], np.cumsum(sizes)]))
    return Gamma(bags, response, noise, (low, high))


def _variable_sizes(n_bags: int, largest: int, small: float, rng: np.random.Generator) -> np.ndarray:
    checks.at_least(small, "small", 0, whole_number=False)
    if small > 0.5:
        raise DataError(f"small is {small!r}; it must be at most 0.5.", hint="half of the bags have 20 or 100 rows.")
    counts = [int(n_bags * share) for share in (small, 0.25, 0.25)]
    sizes = np.repeat([5, 20, 100, largest], [*counts, n_bags - sum(counts)])
    return rng.permutation(sizes)


def _noisy_log_density(shapes: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid (G,) and log p(x | y) (G, n_shapes) of x = Gamma(y / 2, 1 / 2) / y + N(0, scale^2).

    The exact mass of the Gamma part in each grid cell is convolved with the normal density by FFT.
    """
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.special import gammainc, gammaincinv

    step = X_STEP * min(1.0, scale)
    top = (gammaincinv(shapes / 2, 1 - 1e-12) * 2 / shapes).max()
    n_noise = int(np.ceil(8 * scale / step))
    n_mass = int(np.ceil(top / step))
    mass = np.diff(gammainc(shapes / 2, np.arange(n_mass + 1)[:, None] * step * shapes / 2), axis=0)
    normal = np.exp(-0.5 * (np.arange(-n_noise, n_noise + 1) * step / scale) ** 2) / (scale * np.sqrt(2 * np.pi))
    n_out = n_mass + 2 * n_noise
    length = next_fast_len(n_out, real=True)
    spectrum = np.asarray(rfft(mass, length, axis=0)) * np.asarray(rfft(normal, length))[:, None]
    density = np.asarray(irfft(spectrum, length, axis=0))[:n_out]
    grid = (np.arange(n_out) - n_noise + 0.5) * step
    return grid, np.log(np.maximum(density, 1e-18))
