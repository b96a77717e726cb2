"""BagGaussianProcess: Gaussian process regression on bags, with predictive variances and a spatial part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist
from scipy.stats import norm

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.kernels.marginal_likelihood_path import evidence_path
from sumwise.distribution.parts import fresh
from sumwise.distribution.regressor import BagRegressor
from sumwise.distribution.shrunk import total_weights
from sumwise.distribution.wasserstein import WassersteinKernel, default_kernel
from sumwise.errors import DataError
from sumwise.fit import Fit

__all__ = ["BagGaussianProcess"]

SPATIAL_SHARES = (0.1, 0.3, 1.0, 3.0)  # amplitudes of the spatial kernel relative to that of the bags
ALIKE = 1.5  # ratio of the largest to the smallest bag up to which the noise is the same for all
ROWS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)  # c and m that are tried, relative to the smallest bag
N_SIZES = 300  # bags on which they are tried
SPATIAL_LENGTHS = (0.1, 0.3, 1.0)  # lengths relative to the median distance of places


class BagGaussianProcess(BagRegressor):
    """Gaussian process regression with a bag kernel; places on a map may add a smooth surface (Flaxman et al. 2015).

    The response is a constant + f(bag) + g(place) + noise. A bag of few rows says little about its distribution, so the
    variance of the noise is proportional to 1 + c / (n + m) for a bag of n rows (or of weights that sum
    to n); it is bounded, since the response of a bag of no rows is known to lie in the range of the responses. The
    width of the bag kernel, c and m, the amplitude and length of the spatial part and the noise have the largest
    marginal likelihood on a grid, the scale of all in closed form.

    Parameters
    ----------
    kernel : BagKernel, default WassersteinKernel(spread=True, extra_slices=10)
    widths : sequence of float, default (0.01, 0.03, 0.1, 0.3, 1, 3)
        Multiples of the kernel's gamma that are tried.
    random_state : int, numpy.random.Generator or None
        For kernels that draw.

    Attributes
    ----------
    kernel_ : BagKernel
    noise_ : float
        Variance of the noise of a very large bag relative to that of f.
    rows_ : tuple of two floats
        The numbers c and m of rows; (0, 0) where all bags are of similar size, or size says nothing of the noise.
    scale_ : array of shape (n_outputs,)
        Variance of f.
    spatial_ : tuple of two floats
        Amplitude relative to f and length of the spatial part; (0, 0) without one.
    log_evidence_ : float
        Log marginal likelihood.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagGaussianProcess
    >>> train, test = (synthetic.gamma(150, 200, noise=0, random_state=seed) for seed in (0, 1))
    >>> model = BagGaussianProcess().fit(train.bags, train.response)
    >>> low, high = model.predict_interval(test.bags, 0.9)
    >>> bool(0.8 < ((low <= test.response) & (test.response <= high)).mean())
    True
    """

    places_: np.ndarray | None

    def __init__(
        self,
        kernel: BagKernel | None = None,
        widths: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.widths = widths
        self.random_state = random_state

    def fit(self, bags: Bags, y: Any, coordinates: Any = None) -> Any:
        """Learn from bags, their responses and, where given, their places.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,) or (n_bags, n_outputs)
        coordinates : array of shape (n_bags, n_axes), optional
            Where bags lie; `predict` then needs places too.

        Returns
        -------
        self
        """
        self.places_ = None if coordinates is None else _places(coordinates, len(bags))
        return super().fit(bags, y)

    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None) -> None:
        widths = checks.positive(self.widths, "widths", ndim=1)
        self.kernel_ = fresh(default_kernel(self.kernel), WassersteinKernel, self.random_state, BagKernel)
        kept = self.kernel_._fit_represent(bags)
        self.level_ = y.mean(axis=0)
        centred = y - self.level_
        sizes = total_weights(bags)
        self.rows_ = (0.0, 0.0)
        distances, tried = self._choose_kernel(kept, centred, widths)
        if sizes.max() >= ALIKE * sizes.min():
            self.rows_ = self._choose_rows(distances, centred, sizes)
            tried = self._choose_gamma(distances, centred, _inflation(sizes, self.rows_), [t[0] for t in tried])
        gram = self.kernel_._similarities(distances, self.kernel_.gamma_)
        inflation = _inflation(sizes, self.rows_)
        self.spatial_ = (0.0, 0.0)
        if self.places_ is not None:
            gram = self._add_space(gram, centred, self.places_, inflation)
        self.factor_, lower = cho_factor(gram + np.diag(self.noise_ * inflation), lower=True)
        self.dual_ = cho_solve((self.factor_, lower), centred)
        self.scale_ = np.maximum((centred * self.dual_).sum(axis=0) / len(y), 1e-300)
        history = {"gamma": [t[0] for t in tried], "log_evidence": [t[1] for t in tried]}
        self.fit_ = Fit(self.dual_, -self.log_evidence_, None, len(tried), True, history)

    def _choose_kernel(self, kept: Any, centred: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, list]:
        """Choose the variant of the kernel and its width; return its distances and the widths that were tried."""
        best = None
        for kernel, reference in self.kernel_.variants(kept):
            self.kernel_, distances = kernel, kernel._scaled(reference, reference)
            gammas = kernel.gamma_ * (widths if kernel.has_width else np.ones(1))
            tried = self._choose_gamma(distances, centred, np.ones(len(centred)), gammas.tolist())
            found = (self.log_evidence_, self.noise_, kernel, kernel.gamma_, reference, distances, tried)
            best = found if best is None or found[0] > best[0] else best
        assert best is not None
        self.log_evidence_, self.noise_, self.kernel_, self.kernel_.gamma_, self.reference_, distances, tried = best
        return distances, tried

    def _choose_gamma(self, distances: np.ndarray, centred: np.ndarray, inflation: np.ndarray, gammas: list) -> list:
        """Choose the kernel's gamma and the noise; return what was tried."""
        tried = [
            (gamma, *evidence_path(self.kernel_._similarities(distances, gamma), centred, inflation))
            for gamma in gammas
        ]
        self.kernel_.gamma_, self.log_evidence_, self.noise_ = max(tried, key=lambda found: found[1])
        return tried

    def _choose_rows(self, distances: np.ndarray, centred: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
        """Return c and m of the noise by evidence on some bags, evenly spread."""
        some = np.unique(np.linspace(0, len(sizes) - 1, N_SIZES).astype(np.int64))
        gram = self.kernel_._similarities(distances[:, some[:, None], some], self.kernel_.gamma_)
        least = float(sizes.min())
        pairs = [(0.0, 0.0), *((c * least, m * least) for c in ROWS for m in (0.0, *ROWS) if m <= c)]
        found = [evidence_path(gram, centred[some], _inflation(sizes[some], pair))[0] for pair in pairs]
        return pairs[int(np.argmax(found))]

    def _add_space(
        self, gram: np.ndarray, centred: np.ndarray, places: np.ndarray, inflation: np.ndarray
    ) -> np.ndarray:
        """Choose the spatial part by evidence; leave it out where it doesn't help."""
        distances = cdist(places, places)
        middle = float(np.median(pdist(places)))
        for length in (share * middle for share in SPATIAL_LENGTHS):
            surface = np.exp(-0.5 * (distances / length) ** 2)
            for share in SPATIAL_SHARES:
                evidence, noise = evidence_path(gram + share * surface, centred, inflation)
                if evidence > self.log_evidence_:
                    self.log_evidence_, self.noise_, self.spatial_ = evidence, noise, (share, length)
        share, length = self.spatial_
        return gram + share * np.exp(-0.5 * (distances / length) ** 2) if share else gram

    def predict(self, bags: Bags, coordinates: Any = None) -> np.ndarray:
        """Return the predicted response of each bag (at its place, if `fit` was given places)."""
        self._fitted("dual_")
        return self._shaped(self._similar(bags, coordinates)[0] @ self.dual_ + self.level_)

    def _predict(self, bags: Bags) -> np.ndarray:
        return self._similar(bags, None)[0] @ self.dual_ + self.level_

    def predict_interval(self, bags: Bags, level: float = 0.95, coordinates: Any = None) -> tuple:
        """Return the low and high ends between which the response of each bag lies with probability `level`."""
        self._fitted("dual_")
        half = float(norm.ppf(0.5 + 0.5 * checks.fraction(level, "level")))
        middle, spread = self.predict(bags, coordinates), self.predict_std(bags, coordinates)
        return middle - half * spread, middle + half * spread

    def predict_std(self, bags: Bags, coordinates: Any = None) -> np.ndarray:
        """Return the predictive standard deviation of the response of each bag, noise included."""
        self._fitted("dual_")
        similar, own = self._similar(bags, coordinates)
        seen = (similar * cho_solve((self.factor_, True), similar.T).T).sum(axis=1)
        variance = np.maximum(own - seen, 0.0) + self.noise_ * _inflation(total_weights(bags), self.rows_)
        return self._shaped(np.sqrt(variance[:, None] * self.scale_))

    def _similar(self, bags: Bags, coordinates: Any) -> tuple[np.ndarray, np.ndarray]:
        """Similarities to training bags, (n, n_train), and to themselves, (n,)."""
        bags = self.kernel_.columns_.check(bags)
        kept = self.kernel_._represent(bags)
        similar = self.kernel_._compared(kept, self.reference_)
        own = np.ones(len(bags))
        if not self.kernel_.has_width:
            own = np.array([self.kernel_.gram(bags[[i]])[0, 0] for i in range(len(bags))])
        if self.places_ is None:
            if coordinates is not None:
                raise DataError("The process was fitted without coordinates.", hint="give them to fit too.")
            return similar, own
        if coordinates is None:
            raise DataError("The process was fitted with coordinates.", hint="give the places of these bags too.")
        share, length = self.spatial_
        if share:
            places = _places(coordinates, len(bags))
            similar = similar + share * np.exp(-0.5 * (cdist(places, self.places_) / length) ** 2)
        return similar, own + share


def _inflation(sizes: np.ndarray, rows: tuple[float, float]) -> np.ndarray:
    """Variance of the noise of bags of such sizes, relative to that of a very large one."""
    return 1.0 + rows[0] / (sizes + rows[1])


def _places(coordinates: Any, n: int) -> np.ndarray:
    array = checks.finite(coordinates, "coordinates")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise DataError(f"coordinates has shape {array.shape} for {n} bags.", hint="one row per bag.")
    if not np.ptp(array, axis=0).max() > 0:
        raise DataError("All bags lie at the same place.", hint="leave coordinates out.")
    return array
