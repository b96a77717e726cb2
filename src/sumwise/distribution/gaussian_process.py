"""BagGaussianProcess: Gaussian process regression on bags, with predictive variances and a spatial part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist
from scipy.stats import t as student

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.kernels.inducing import POOL, pick_inducing, sparse_process
from sumwise.distribution.kernels.marginal_likelihood import marginal_likelihood_path, marginal_likelihoods
from sumwise.distribution.regressor import BagRegressor, check_reference, warn_beyond
from sumwise.distribution.wasserstein import fresh_kernel
from sumwise.errors import DataError
from sumwise.fit import Fit
from sumwise.inference.averaging import NEGLIGIBLE, evidence_weights
from sumwise.learned import check_part

SPATIAL_SHARES = (0.1, 0.3, 1.0, 3.0)  # amplitudes of the spatial kernel relative to that of the bags
ROWS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)  # c and m that are tried, relative to the smallest bag
SPATIAL_LENGTHS = (0.1, 0.3, 1.0)  # lengths relative to the median distance of places
FEW_BAGS = 200  # on which c and m are tried, and up to which the spread accounts for uncertain widths and noise


@dataclass(eq=False, repr=False)
class BagGaussianProcess(BagRegressor):
    """Gaussian process regression with a bag kernel; places on a map may add a smooth surface (Flaxman et al. 2015).

    The response is a constant + f(bag) + g(place) + noise. A bag of few rows says little about its distribution, so the
    variance of the noise is proportional to 1 + c / (n + m) for a bag of n rows (or of weights that sum
    to n); it is bounded, since the response of a bag of no rows is known to lie in the range of the responses. The
    width of the bag kernel, c and m, the amplitude and length of the spatial part and the noise have the largest
    marginal likelihood on a grid, the scale of all in closed form. Intervals are those of a Student t distribution,
    since the scale is estimated; with up to 200 bags they average over widths and noise levels by marginal likelihood.

    Above `max_bags` the process stands on inducing bags (Titsias 2009): time and memory then grow linearly.

    Parameters
    ----------
    kernel : BagKernel, default WassersteinKernel(spread=True, extra_slices=10)
    widths : sequence of float, default (0.01, 0.03, 0.1, 0.3, 1, 3)
        Multiples of the kernel's gamma that are tried.
    n_tuning : int, default 1000
        The kernel and its width, c and m and the spatial part are chosen on at most this many bags, drawn at random.
    max_bags : int, default 2000
        With more bags than this, inducing bags take the place of all.
    n_inducing : int, default 500
        How many; each is the bag whose response is least certain given those picked before it.
    random_state : int, numpy.random.Generator or None, default 0
        For kernels that draw, and for which bags settings are chosen on and inducing bags are picked from.

    Attributes
    ----------
    kernel_ : BagKernel
    noise_ : float
        Variance of the noise of a very large bag relative to that of f.
    rows_ : tuple of two floats
        The numbers c and m of rows; (0, 0) where all bags are of one size, or size says nothing of the noise.
    scale_ : array of shape (n_outputs,)
        Variance of f.
    spatial_ : tuple of two floats
        Amplitude relative to f and length of the spatial part; (0, 0) without one.
    log_evidence_ : float
        Log marginal likelihood of the bags that settings were chosen on; with inducing bags a lower bound on that of
        all.
    n_inducing_ : int
        Inducing bags, or 0 where all bags are used.

    See Also
    --------
    BagKernelRidge : Kernel ridge regression with a kernel between bags.
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.

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

    _learned = (
        "kernel_: is BagKernel; kernel_.n_features_in_: size g; level_, scale_: float K; "
        "factor_: float * *; dual_: float m K; noise_: number; "
        "rows_: is tuple; spatial_: len 2; settings_: is list; response_range_: real 2 K"
    )

    places_: np.ndarray | None = field(init=False)

    kernel: BagKernel | None = None
    widths: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    n_tuning: int = field(default=1000, kw_only=True)
    max_bags: int = field(default=2000, kw_only=True)
    n_inducing: int = field(default=500, kw_only=True)
    random_state: Any = 0

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "reference_"):
            check_reference(self.reference_, self.dual_)
        if not getattr(self, "n_inducing_", 1):
            check_part("factor_", self.factor_, "float m m", {"m": len(self.reference_)})

    def fit(self, bags: Bags, y: Any, coordinates: Any = None, sample_weight: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn from bags, their responses and, where given, their places.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,) or (n_bags, n_outputs)
        coordinates : array of shape (n_bags, n_axes), optional
            Where bags lie; `predict` then needs places too.
        sample_weight : array of shape (n_bags,), optional
            The noise of a bag's response has 1 / weight of the variance; 0 leaves the bag out. With given settings
            predictions are those of as many copies of the bag.

        Returns
        -------
        self
        """
        self.places_ = None if coordinates is None else _places(coordinates, len(bags))
        if self.places_ is not None and sample_weight is not None:
            self.places_ = self.places_[checks.bag_weights(bags, sample_weight) > 0]
        return super().fit(bags, y, sample_weight=sample_weight)

    def _reorder(self, order: np.ndarray) -> None:
        self.places_ = None if self.places_ is None else self.places_[order]

    def _learn(self, bags: Bags, y: np.ndarray, _groups: np.ndarray | None, weights: np.ndarray | None, /) -> None:
        for name in ("n_tuning", "max_bags", "n_inducing"):
            checks.at_least(getattr(self, name), name, 3)
        rng = checks.generator(self.random_state)
        widths = checks.positive(self.widths, "widths", ndim=1)
        self.kernel_ = fresh_kernel(self.kernel, self.random_state)
        kept = self.kernel_.fit_represent(bags)
        many = len(y) > self.max_bags
        self.level_ = np.average(y, axis=0, weights=weights)
        centred, sizes = y - self.level_, bags.total_weights
        noise = np.ones(len(y)) if weights is None else 1.0 / weights
        some = rng.permutation(len(y))[: int(self.n_tuning)] if len(y) > self.n_tuning else np.arange(len(y))
        some.sort()
        kept, tried = self._tune(kept, centred, (sizes, noise), widths, some)
        inflation = noise * _inflation(sizes, self.rows_)
        if many:
            self._learn_inducing(kept, centred, inflation, rng)
        else:
            self._learn_all(kept, centred, inflation)
        self.n_bags_, self.settings_ = len(y), []
        if len(y) <= FEW_BAGS and not self.n_inducing_:
            self.settings_ = self._weigh_settings(centred, inflation, [t[0] for t in tried])
        history = {"gamma": [t[0] for t in tried], "log_evidence": [t[1] for t in tried]}
        self.fit_ = Fit(self.dual_, -self.log_evidence_, None, len(tried), True, history)

    def _tune(
        self, kept: Any, centred: np.ndarray, beside: tuple, widths: np.ndarray, some: np.ndarray
    ) -> tuple[Any, list]:
        """Choose the kernel, its gamma, the noise and the spatial part on `some` bags; return what is kept of all."""
        sizes, noise = beside
        targets, inflation = centred[some], noise[some]
        self.rows_, self.spatial_ = (0.0, 0.0), (0.0, 0.0)
        kept, distances, tried = self._choose_kernel(kept, targets, inflation, widths, some)
        if sizes.max() > sizes.min():
            self.rows_ = self._choose_rows(distances, targets, sizes[some], inflation)
            inflation = inflation * _inflation(sizes[some], self.rows_)
            tried = self._choose_gamma(distances, targets, inflation, [t[0] for t in tried])
        if self.places_ is not None:
            gram = self.kernel_.similarities(distances, self.kernel_.gamma_)
            self._choose_space(gram, targets, self.places_[some], inflation)
        return kept, tried

    def _learn_all(self, kept: Any, centred: np.ndarray, inflation: np.ndarray) -> None:
        """Condition on every bag."""
        self.reference_, self.reference_places_, self.n_inducing_ = kept, self.places_, 0
        gram = self._kernel(kept, self.places_)
        self.factor_, self.dual_, self.scale_ = _condition(gram, self.noise_ * inflation, centred)

    def _weigh_settings(self, centred: np.ndarray, inflation: np.ndarray, gammas: list) -> list[dict[str, Any]]:
        """Return widths and noise levels that the data support, each with its weight and what prediction needs."""
        grams = {gamma: self._kernel(self.reference_, self.places_, gamma) for gamma in gammas}
        found = {gamma: marginal_likelihoods(gram, centred, inflation) for gamma, gram in grams.items()}
        pairs = [(gamma, float(noise)) for gamma, (levels, _) in found.items() for noise in levels]
        weights = evidence_weights(np.concatenate([logs for _, logs in found.values()]))
        matter = weights >= NEGLIGIBLE * weights.max()
        settings = []
        for k in np.flatnonzero(matter):
            gamma, noise = pairs[k]
            factor, dual, scale = _condition(grams[gamma].copy(), noise * inflation, centred)
            parts = {"gamma": gamma, "noise": noise, "factor": factor, "dual": dual, "scale": scale}
            settings.append({"weight": float(weights[k] / weights[matter].sum()), **parts})
        return settings

    def _learn_inducing(self, kept: Any, centred: np.ndarray, inflation: np.ndarray, rng: np.random.Generator) -> None:
        """Condition on inducing bags; the noise is chosen again, by the bound on all bags."""
        places = self.places_
        pool = np.sort(rng.permutation(len(centred))[: POOL * int(self.n_inducing)])
        self.reference_, self.reference_places_ = kept[pool], None if places is None else places[pool]
        gram = self._kernel(self.reference_, self.reference_places_)
        picked = pick_inducing(gram, int(self.n_inducing))
        inner = gram[np.ix_(picked, picked)]
        self.n_inducing_, chosen = len(picked), pool[picked]
        self.reference_, self.reference_places_ = kept[chosen], None if places is None else places[chosen]
        found = sparse_process(self._kernel(kept, places), inner, self._own(kept), centred, inflation)
        self.log_evidence_, self.noise_, self.scale_ = found.bound, found.noise, found.scale
        self.dual_, self.axes_ = found.dual, found.axes

    def _choose_kernel(
        self, kept: Any, centred: np.ndarray, inflation: np.ndarray, widths: np.ndarray, some: np.ndarray
    ) -> tuple:
        """Choose the variant of the kernel and its width; return what it keeps, distances of some bags, and widths."""
        best = None
        for kernel, reference in self.kernel_.variants(kept):
            part = reference if len(some) == len(reference) else reference[some]
            self.kernel_, distances = kernel, kernel.scaled_distances(part, part)
            gammas = kernel.gamma_ * (widths if kernel.has_width else np.ones(1))
            tried = self._choose_gamma(distances, centred, inflation, gammas.tolist())
            found = (self.log_evidence_, self.noise_, kernel, kernel.gamma_, reference, distances, tried)
            best = found if best is None or found[0] > best[0] else best
        assert best is not None
        self.log_evidence_, self.noise_, self.kernel_, self.kernel_.gamma_, kept, distances, tried = best
        return kept, distances, tried

    def _choose_gamma(self, distances: np.ndarray, centred: np.ndarray, inflation: np.ndarray, gammas: list) -> list:
        """Choose the kernel's gamma and the noise; return what was tried."""
        tried = [
            (gamma, *marginal_likelihood_path(self.kernel_.similarities(distances, gamma), centred, inflation))
            for gamma in gammas
        ]
        self.kernel_.gamma_, self.log_evidence_, self.noise_ = max(tried, key=lambda found: found[1])
        return tried

    def _choose_rows(
        self, distances: np.ndarray, centred: np.ndarray, sizes: np.ndarray, noise: np.ndarray
    ) -> tuple[float, float]:
        """Return c and m of the noise by evidence on some bags, evenly spread."""
        some = np.unique(np.linspace(0, len(sizes) - 1, FEW_BAGS).astype(np.int64))
        gram = self.kernel_.similarities(distances[:, some[:, None], some], self.kernel_.gamma_)
        least = float(sizes.min())
        pairs = [(0.0, 0.0), *((c * least, m * least) for c in ROWS for m in (0.0, *ROWS) if m <= c)]
        found = [
            marginal_likelihood_path(gram, centred[some], noise[some] * _inflation(sizes[some], pair))[0]
            for pair in pairs
        ]
        return pairs[int(np.argmax(found))]

    def _choose_space(self, gram: np.ndarray, centred: np.ndarray, places: np.ndarray, inflation: np.ndarray) -> None:
        """Choose the spatial part by marginal likelihood; leave it out where it doesn't help."""
        middle = float(np.median(pdist(places)))
        for length in (share * middle for share in SPATIAL_LENGTHS):
            surface = _surface(places, places, length)
            for share in SPATIAL_SHARES:
                found, noise = marginal_likelihood_path(gram + share * surface, centred, inflation)
                if found > self.log_evidence_:
                    self.log_evidence_, self.noise_, self.spatial_ = found, noise, (share, length)

    def predict(self, bags: Bags, coordinates: Any = None, return_std: bool = False) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the predicted response of each bag (at its place, if `fit` was given places).

        With ``return_std``, also its predictive standard deviation, noise included, as scikit-learn's processes do.
        """
        self._fitted("dual_")
        predicted = self._predict(bags, coordinates)
        warn_beyond(predicted, self.response_range_)
        middle = self._shaped(np.clip(predicted, *self._bounds()))
        return (middle, self._deviation(bags, coordinates)) if return_std else middle

    def _predict(self, bags: Bags, coordinates: Any = None) -> np.ndarray:
        return self._kernel(*self._kept(bags, coordinates)) @ self.dual_ + self.level_

    def predict_interval(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, bags: Bags, level: float = 0.9, bounds: tuple[float, float] | None = None, coordinates: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the low and high ends between which the response of each bag lies with probability `level`.

        Parameters
        ----------
        bags : Bags
        level : float in (0, 1), default 0.9
        bounds : tuple of float, optional
            What a response can be, for example ``(0, 100)``: intervals end there. Default: (0, inf) for counts.
        coordinates : array of shape (n_bags, n_axes), where `fit` was given places
        """
        self._fitted("dual_")
        half = float(student.ppf(0.5 + 0.5 * checks.fraction(level, "level"), self.n_bags_ - 1))
        middle = self._shaped(self._predict(bags, coordinates))
        spread, limits = self._deviation(bags, coordinates), self._bounds() if bounds is None else bounds
        return np.clip(middle - half * spread, *limits), np.clip(middle + half * spread, *limits)

    def _deviation(self, bags: Bags, coordinates: Any) -> np.ndarray:
        kept, places = self._kept(bags, coordinates)
        inflation = _inflation(bags.total_weights, self.rows_)
        similar, own = self._kernel(kept, places), self._own(kept)
        seen = ((similar @ self.axes_) ** 2).sum(axis=1) if self.n_inducing_ else _explained(similar, self.factor_)
        variance = (np.maximum(own - seen, 0.0) + self.noise_ * inflation)[:, None] * self.scale_
        if self.settings_:
            variance = self._averaged_variance(kept, places, similar @ self.dual_, own, inflation)
        return self._shaped(np.sqrt(variance * self.n_bags_ / (self.n_bags_ - 1)))

    def _averaged_variance(
        self, kept: Any, places: np.ndarray | None, mean: np.ndarray, own: np.ndarray, inflation: np.ndarray
    ) -> np.ndarray:
        """Mean squared deviation from the prediction under each setting, averaged by their weights."""
        grams = {s["gamma"]: self._kernel(kept, places, s["gamma"]) for s in self.settings_}
        total = np.zeros_like(mean)
        for setting in self.settings_:
            similar = grams[setting["gamma"]]
            within = np.maximum(own - _explained(similar, setting["factor"]), 0.0) + setting["noise"] * inflation
            total += setting["weight"] * (within[:, None] * setting["scale"] + (similar @ setting["dual"] - mean) ** 2)
        return total

    def _kept(self, bags: Bags, coordinates: Any) -> tuple[Any, np.ndarray | None]:
        """What the kernel keeps of bags, and their places."""
        bags = self.kernel_.columns_.check(bags)
        if self.places_ is None and coordinates is not None:
            raise DataError("The process was fitted without coordinates.", hint="give them to fit too.")
        if self.places_ is not None and coordinates is None:
            raise DataError("The process was fitted with coordinates.", hint="give the places of these bags too.")
        return self.kernel_.represent(bags), None if coordinates is None else _places(coordinates, len(bags))

    def _kernel(self, kept: Any, places: np.ndarray | None, gamma: float | None = None) -> np.ndarray:
        """Kernel between what is kept of bags, with their places, and the reference bags."""
        similar = self.kernel_.compare(kept, self.reference_, gamma)
        share, length = self.spatial_
        if share and places is not None and self.reference_places_ is not None:
            similar += share * _surface(places, self.reference_places_, length)
        return similar

    def _own(self, kept: Any) -> np.ndarray:
        """Kernel of each bag with itself."""
        own = np.ones(len(kept)) if self.kernel_.has_width else self.kernel_.self_similarities(kept)
        return own + self.spatial_[0]


def _condition(gram: np.ndarray, noise: np.ndarray, centred: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cholesky factor of a kernel matrix, overwritten, with noise; the dual coefficients; and the variance of f."""
    gram[np.diag_indices(len(gram))] += noise
    factor, lower = cho_factor(gram, lower=True, overwrite_a=True)
    dual = cho_solve((factor, lower), centred)
    return factor, dual, np.maximum((centred * dual).sum(axis=0) / len(centred), 1e-300)


def _explained(similar: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Variance at each bag that its similarities (n, m) to the reference bags explain."""
    return (similar * cho_solve((factor, True), similar.T).T).sum(axis=1)


def _surface(places: np.ndarray, others: np.ndarray, length: float) -> np.ndarray:
    return np.exp(-0.5 * (cdist(places, others) / length) ** 2)


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
