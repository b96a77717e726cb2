"""FisherVector: how the rows of a bag pull at the parts of a Gaussian mixture of all rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bandwidth import sample_rows
from sumwise.distribution.embedding import Embedding, seeded
from sumwise.distribution.kernels.mixture import mean_gradients


@dataclass(eq=False, repr=False)
class FisherVector(Embedding):
    """Gradients of a diagonal mixture's log-likelihood by its shares, means and variances, averaged over a bag.

    Parameters
    ----------
    n_components : int >= 1, default 32
        Parts of the mixture; the dimension is (2 n_features + 1) times this.
    power : bool, default True
        Replace each number by its signed square root.
    normalize : bool, default True
        Divide each vector by its length.
    n_sample : int >= 2, default 20000
        Rows that the mixture is learned from.
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.
    shares : bool, default True
        Take gradients by the shares of the parts too. Without them the dimension is 2 n_features times `n_components`,
        as in Sun 2019, Table 4.2.

    Attributes
    ----------
    shares_, means_, deviations_ : arrays of shape (K,), (K, n_features), (K, n_features)
        The mixture, in scaled columns.

    See Also
    --------
    BagOfWords : Shares of rows near each of `n_words` centres found by k-means.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import FisherVector
    >>> bags = synthetic.gamma(20, 50, random_state=0).bags
    >>> FisherVector(4, random_state=0).fit_transform(bags).shape
    (20, 44)
    """

    _learned = "columns_.numeric: len d; shares_?d: float m; means_?d, deviations_?d: float m d"

    n_components: int = 32
    power: bool = True
    normalize: bool = True
    n_sample: int = 20_000
    random_state: Any = None
    shares: bool = True

    def _learn(self, bags: Bags) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        checks.at_least(self.n_components, "n_components", 1)
        checks.at_least(self.n_sample, "n_sample", 2)
        rng = seeded(self.random_state)
        rows = np.unique(sample_rows(bags, int(self.n_sample), rng=rng))
        sample = self.columns_.numbers(bags.values[rows]).round(9)  # units of measurement change the last digit
        parts = min(int(self.n_components), len(sample))
        seed = int(rng.integers(2**31))
        mixture: Any = GaussianMixture(parts, covariance_type="diag", reg_covar=1e-4, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # any mixture will do: it is a frame of reference
            mixture.fit(sample)
        self.shares_, self.means_ = mixture.weights_, mixture.means_
        self.deviations_ = np.sqrt(mixture.covariances_)

    def _embed(self, bags: Bags) -> np.ndarray:
        mixture = self.shares_, self.means_, self.deviations_
        columns = self.columns_
        options = {"columns": columns.numeric, "centre": columns.centre, "scale": columns.scale}
        found = mean_gradients(bags.values, bags.offsets, bags.given_weights, mixture, **options)
        d, n = columns.dimension, len(bags)
        parts = [found[:, :, 1 : d + 1].reshape(n, -1), found[:, :, d + 1 :].reshape(n, -1)]
        out = np.hstack([found[:, :, 0], *parts] if self.shares else parts)
        if self.power:
            out = np.sign(out) * np.sqrt(np.abs(out))
        if self.normalize:
            out = out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
        return out
