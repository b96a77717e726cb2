"""BagKernelRidge: kernel ridge regression on bags; width and penalty chosen together by leave-one-out errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.kernels.inducing import POOL, pick_inducing
from sumwise.distribution.kernels.ridge import Path, gram_path, ridge_path
from sumwise.distribution.kernels.segments import BLOCK
from sumwise.distribution.penalty import held_out_errors, middle_penalty, penalties_and_weights
from sumwise.distribution.regressor import BagRegressor, check_reference, warn_remote
from sumwise.distribution.wasserstein import fresh_kernel
from sumwise.errors import ModelWarning
from sumwise.fit import Fit


@dataclass(eq=False, repr=False)
class BagKernelRidge(BagRegressor):
    """Kernel ridge regression with a kernel between bags, by default of sliced Wasserstein distances.

    One eigendecomposition per width gives the leave-one-out errors of all penalties, so that width and penalty are
    chosen together without refitting.

    Parameters
    ----------
    kernel : BagKernel, default WassersteinKernel(spread=True, extra_slices=10)
    penalty : "loo" or float, default "loo"
        Relative to the largest eigenvalue of the centred Gram matrix. "loo" averages over penalties, per output, with
        weights by the likelihood of their leave-one-out errors.
    widths : sequence of float, default (0.01, 0.03, 0.1, 0.3, 1, 3)
        Multiples of the kernel's gamma that are tried; ``(1,)`` takes the kernel as it is.
    n_tuning : int, default 500
        Widths (and variants of the kernel) are compared on at most this many bags, drawn at random; the penalty is
        chosen on all.
    max_bags : int, default 2048
        Above this many bags the Gram matrix is replaced by Nystroem features on `n_landmarks` bags: there both cost
        about the same, and beyond it the cost grows linearly.
    n_landmarks : int, default 1024
        Each is the bag that those picked before it explain least.
    random_state : int, numpy.random.Generator or None, default 0

    Attributes
    ----------
    kernel_ : BagKernel
        Fitted, with the chosen ``gamma_``.
    dual_, intercept_ : arrays of shape (n_bags or n_landmarks, n_outputs), (n_outputs,)
    penalty_ : array of shape (n_outputs,)
        Where it is an average, the geometric mean.
    residuals_ : array of shape (n_bags, n_outputs)
        Leave-one-out errors, each at the settings that are best for all other bags (at the widths chosen, where not all
        bags took part in that); behind `predict_interval`.
    loo_error_ : array of shape (n_outputs,)
        Mean squared leave-one-out error; with groups, the error without the bag's group.
    least_eigenvalue_ : float
        The least eigenvalue of the centred Gram matrix, relative to the largest; clearly below 0 where the kernel is
        not positive semidefinite, of which a fit warns.
    limit_ : float
        The largest distance of a training bag from its nearest neighbour, among the bags that widths were compared on;
        see `remoteness`.
    fit_ : Fit
        The widths that were tried, and the error of each at its best penalty.

    See Also
    --------
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.
    BagGaussianProcess : Gaussian process regression with a bag kernel; places on a map may add a smooth surface
        (Flaxman et al. 2015).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagKernelRidge, WassersteinKernel
    >>> train, test = (synthetic.gamma(200, 200, noise=0, random_state=seed) for seed in (0, 1))
    >>> model = BagKernelRidge(WassersteinKernel(order=1)).fit(train.bags, train.response)
    >>> bool(model.score(test.bags, test.response) > 0.6)
    True
    """

    _learned = (
        "kernel_: is BagKernel; kernel_.n_features_in_: size g; dual_: float m K; "
        "intercept_, penalty_: float K; residuals_: real n K; loo_error_: real K; "
        "limit_, least_eigenvalue_: is float; response_range_: real 2 K"
    )

    kernel: BagKernel | None = None
    penalty: Any = "loo"
    widths: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    n_tuning: int = 500
    max_bags: int = 2048
    n_landmarks: int = 1024
    random_state: Any = 0

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "reference_"):
            check_reference(self.reference_, self.dual_)

    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None) -> None:
        for name in ("n_tuning", "max_bags", "n_landmarks"):
            checks.at_least(getattr(self, name), name, 3)
        rng = checks.generator(self.random_state)
        self.kernel_ = fresh_kernel(self.kernel, self.random_state)
        kept = self.kernel_.fit_represent(bags)
        many = len(bags) > self.max_bags
        history, kept, tried = self._tune(kept, y, (groups, weights), rng)
        kin = groups, weights
        whole = tried[int(np.argmin(history["error"]))] if tried else None
        path = self._learn_landmarks(kept, y, kin, rng) if many else self._learn_gram(kept, y, kin, whole)
        penalties, shares = penalties_and_weights(path, self.penalty)
        self.penalty_ = middle_penalty(path, penalties, shares)
        paths = [path] if many or not tried else [each for each, _ in tried]
        self.residuals_ = checks.frozen(held_out_errors(paths, self.penalty, np.maximum(y.var(axis=0), 1e-300)))
        self.loo_error_ = np.average(path.leave_one_out(penalties, shares) ** 2, axis=0, weights=weights)
        self.fit_ = Fit(self.dual_, float(self.loo_error_.mean()), None, len(history["gamma"]), True, history)

    def _tune(
        self, kept: Any, y: np.ndarray, beside: tuple, rng: np.random.Generator
    ) -> tuple[dict, Any, list[tuple[Path, float]]]:
        """Choose the kernel and its gamma; return what was tried, what is kept, and paths if they are of all bags."""
        widths = checks.positive(self.widths, "widths", ndim=1)
        n = len(y)
        some = np.sort(rng.choice(n, self.n_tuning, replace=False)) if n > self.n_tuning else np.arange(n)
        kin, counted = (None if each is None else each[some] for each in beside)
        scale = np.maximum(y.var(axis=0), 1e-300)
        history, paths, best = {"gamma": [], "error": []}, [], None
        for kernel, whole in self.kernel_.variants(kept):
            part = whole[some] if len(some) < n else whole
            distances = kernel.scaled_distances(part, part)
            apart = kernel.apart(distances, part, part)
            np.fill_diagonal(apart, np.inf)
            reach = float(apart.min(axis=1).max())
            for gamma in (kernel.gamma_ * (widths if kernel.has_width else np.ones(1))).tolist():
                found = gram_path(kernel.similarities(distances, gamma), y[some], counted, groups=kin)
                error = float(np.mean(found[0].errors.min(axis=0) / scale))
                if best is None or error < min(history["error"]):
                    best = kernel, gamma, whole, reach
                paths.append(found)
                history["gamma"].append(gamma)
                history["error"].append(error)
        assert best is not None
        self.kernel_, self.kernel_.gamma_, kept, self.limit_ = best
        return history, kept, paths if len(some) == n else []

    def _learn_gram(self, kept: Any, y: np.ndarray, beside: tuple, whole: tuple[Path, float] | None) -> Path:
        groups, weights = beside
        if whole is None:
            whole = gram_path(self.kernel_.compare(kept, kept), y, weights, groups=groups)
        path, self.least_eigenvalue_ = whole
        if self.least_eigenvalue_ < -np.sqrt(np.finfo(float).eps):  # more than rounding
            warnings.warn(
                f"The Gram matrix is not positive semidefinite: its least eigenvalue is {self.least_eigenvalue_:.1e} "
                "times the largest. Negative eigenvalues are treated as 0.",
                ModelWarning,
                stacklevel=4,
            )
        self.reference_ = kept
        self.dual_ = path.root[:, None] * path.dual(*penalties_and_weights(path, self.penalty))
        self.intercept_ = path.level - path.mean @ self.dual_
        return path

    def _learn_landmarks(self, kept: Any, y: np.ndarray, beside: tuple, rng: np.random.Generator) -> Path:
        """Nystroem: ridge on k(x, landmarks) K^(-1/2), in blocks of bags."""
        groups, weights = beside
        pool = kept[np.sort(rng.permutation(len(y))[: POOL * int(self.n_landmarks)])]
        self.reference_ = pool[pick_inducing(self.kernel_.compare(pool, pool), int(self.n_landmarks))]
        squares, vectors = np.linalg.eigh(self._similar(self.reference_))
        self.least_eigenvalue_ = float(squares[0] / squares[-1])
        good = squares > 1e-10 * squares[-1]
        root = vectors[:, good] / np.sqrt(squares[good])
        step = max(1, BLOCK // len(root))
        features = np.vstack([self._similar(kept[i : i + step]) @ root for i in range(0, len(y), step)])
        path = ridge_path(features, y, weights, groups=groups)
        coefficients = path.coefficients(features, *penalties_and_weights(path, self.penalty))
        self.dual_ = root @ coefficients
        self.intercept_ = path.level - path.mean @ coefficients
        return path

    def _similar(self, kept: Any) -> np.ndarray:
        """Similarities to the reference bags."""
        return self.kernel_.compare(kept, self.reference_)

    def _predict(self, bags: Bags) -> np.ndarray:
        similar, remote = self._near(bags)
        warn_remote(remote)
        return similar @ self.dual_ + self.intercept_

    def remoteness(self, bags: Bags) -> np.ndarray:
        """Return how far each bag lies from the training bags, (n_bags,); above 1 the prediction extrapolates.

        It is the bag's distance from the nearest training bag relative to the largest that a training bag has from its
        nearest neighbour. Distances of a kernel without a width come from its inner products; pyramid match, which is
        bounded, can't show that a bag lies far away.
        """
        self._fitted("dual_")
        return self._near(bags)[1]

    def _near(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Similarities to the reference bags, and remoteness."""
        kernel, similar, nearest = self.kernel_, [], []
        kept = kernel.represent(kernel.columns_.check(bags))
        for part, scaled in kernel.distance_blocks(kept, self.reference_):
            nearest.append(kernel.apart(scaled, part, self.reference_).min(axis=1))
            similar.append(kernel.similarities(scaled, kernel.gamma_))
        return np.vstack(similar), np.concatenate(nearest) / max(self.limit_, 1e-300)
