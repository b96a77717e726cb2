"""BagRidge: ridge regression on an embedding of bags, the penalty chosen by leave-one-out errors in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernels.ridge import Path, ridge_path
from sumwise.distribution.penalty import held_out_errors, middle_penalty, penalties_and_weights
from sumwise.distribution.regressor import BagRegressor, warn_remote
from sumwise.fit import Fit


@dataclass(eq=False, repr=False)
class BagRidge(BagRegressor):
    """Ridge regression on an embedding: from bags of samples to one response per bag.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding(moments=True)
        How a bag becomes a vector.
    penalty : "loo" or float, default "loo"
        Weight of the squared coefficients, relative to the largest squared singular value of the features. "loo"
        averages over penalties, per output, with weights by the likelihood of their leave-one-out errors.
    random_state : int, numpy.random.Generator or None, default 0
        For the embedding, where it draws.

    Attributes
    ----------
    embedding_ : Embedding
        Fitted.
    coef_, intercept_ : arrays of shape (dimension, n_outputs), (n_outputs,)
    penalty_ : array of shape (n_outputs,)
        Relative, as the parameter; where it is an average, the geometric mean.
    residuals_ : array of shape (n_bags, n_outputs)
        Leave-one-out errors, each at the settings that are best for all other bags; behind `predict_interval`.
    loo_error_ : array of shape (n_outputs,)
        Mean squared leave-one-out error at the penalty; with groups, the error without the bag's group.
    used_ : array of int
        Which features are used: an embedding with several widths is cut to the widest ones that serve best.
    mean_, least_, axes_, limit_
        For the features that are used: their mean, the least penalty, axes from which leverages are computed, and the
        largest leverage of a training bag for the model of the others; see `remoteness`.
    fit_ : Fit
        The sets of features that were tried, and the least leave-one-out error of each, relative to the variance.

    See Also
    --------
    BagKernelRidge : Kernel ridge regression with a kernel between bags.
    BagGaussianProcess : Gaussian process regression with a bag kernel; places on a map may add a smooth surface
        (Flaxman et al. 2015).
    DeepSets : Predict a response of bags by rho(pool(phi(x))), with phi and rho learned together.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagRidge
    >>> train, test = (synthetic.gamma(200, 200, noise=0, random_state=seed) for seed in (0, 1))
    >>> model = BagRidge(random_state=0).fit(train.bags, train.response)
    >>> bool(model.score(test.bags, test.response) > 0.6)
    True
    """

    _learned = (
        "embedding_: is Embedding; embedding_.n_features_in_: size g; coef_: float q K; "
        "intercept_, penalty_: float K; used_: int<q u; mean_: float u; axes_: float u *; "
        "residuals_: real n K; loo_error_: real K; limit_, least_: is float; response_range_: real 2 K"
    )

    embedding: Embedding | None = None
    penalty: Any = "loo"
    random_state: Any = 0

    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None) -> None:
        given = FourierEmbedding(moments=True) if self.embedding is None else self.embedding
        self.embedding_ = fresh(given, FourierEmbedding, self.random_state)
        features = self.embedding_.fit(bags).vectors(bags)
        paths, used, errors = self._choose(features, y, groups, weights)
        path = paths[int(np.argmin(errors["error"]))]
        penalties, shares = penalties_and_weights(path, self.penalty)
        self.coef_ = np.zeros((features.shape[1], y.shape[1]))
        self.coef_[used] = path.coefficients(features[:, used], penalties, shares)
        self.intercept_ = path.level - path.mean @ self.coef_[used]
        self.used_ = used
        self.mean_ = path.mean
        self.penalty_ = middle_penalty(path, penalties, shares)
        self.least_ = float(self.penalty_.min()) * path.top
        self.axes_ = path.axes(features[:, used], self.least_)
        # Bags that are alike differ by rounding, relative to their features or to the unit of standardised columns.
        size = max(float((features[:, used] ** 2).sum(axis=1).max()), float(self.embedding_.standardize))
        rounding = np.finfo(float).eps * size / self.least_
        self.limit_ = max(float(path.leverages(self.least_).max()), rounding)
        self.residuals_ = checks.frozen(held_out_errors(paths, self.penalty, np.maximum(y.var(axis=0), 1e-300)))
        self.loo_error_ = np.average(path.leave_one_out(penalties, shares) ** 2, axis=0, weights=weights)
        self.fit_ = Fit(self.coef_, float(self.loo_error_.mean()), None, len(errors["error"]), True, errors)

    def _choose(
        self, features: np.ndarray, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None
    ) -> tuple[list[Path], np.ndarray, dict]:
        """Return the paths of candidate features, the features with the least leave-one-out error, and all errors."""
        scale = np.maximum(y.var(axis=0), 1e-300)
        tried, paths, best = {"n_features": [], "error": []}, [], np.arange(0)
        for used in self.embedding_.candidates(features.shape[1]):
            path = ridge_path(features[:, used], y, weights, groups=groups)
            paths.append(path)
            error = float(np.mean(path.errors.min(axis=0) / scale))
            if error < min(tried["error"], default=np.inf):
                best = used
            tried["n_features"].append(len(used))
            tried["error"].append(error)
        return paths, best, tried

    def _predict(self, bags: Bags) -> np.ndarray:
        features = self.embedding_.transform_used(bags, self.used_)
        warn_remote(self._remoteness(features))
        return features @ self.coef_[self.used_] + self.intercept_

    def remoteness(self, bags: Bags) -> np.ndarray:
        """Return how far each bag lies from the training bags, (n_bags,); above 1 the prediction extrapolates.

        It is the bag's leverage relative to the largest leverage of a training bag for the model of the others.
        """
        self._fitted("coef_")
        return self._remoteness(self.embedding_.transform_used(bags, self.used_))

    def _remoteness(self, features: np.ndarray) -> np.ndarray:
        centred = features - self.mean_
        seen = ((centred @ self.axes_) ** 2).sum(axis=1)
        return ((centred**2).sum(axis=1) / self.least_ - seen) / max(self.limit_, 1e-300)
