"""MomentEmbedding: means, variances, higher moments and covariances of each bag."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import ROUNDING
from sumwise.distribution.embedding import Embedding, moment_range
from sumwise.distribution.kernels.segments import BLOCK, segment_moments


@dataclass(eq=False, repr=False)
class MomentEmbedding(Embedding):
    """Means, central moments and covariances of the rows of a bag.

    Central moments and covariances far beyond those of the training bags are cut to the range of these and half of it.

    Parameters
    ----------
    order : int >= 1, default 4
        Highest moment of each column: 2 stops at the variances.
    cross : bool, default True
        Also the covariance of each pair of columns.

    Attributes
    ----------
    spread_ : array of shape (dimension,)
        The standard deviation of every moment between training bags; features are divided by it, so that a penalty
        treats them alike.

    See Also
    --------
    LinearEmbedding : Weighted means of the columns; shares of the levels for categorical ones.
    QuantileEmbedding : Quantile functions on a grid: Euclidean distances of vectors are 2-Wasserstein distances of
        bags.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import MomentEmbedding
    >>> bags = synthetic.gamma(20, 50, random_state=0).bags
    >>> MomentEmbedding(order=3).fit_transform(bags).shape
    (20, 25)
    """

    _learned = "columns_.numeric: len d; mean_?d, spread_?d: float m; range_?d: real 2 m"

    order: int = 4
    cross: bool = True

    draws = False

    def _learn(self, bags: Bags) -> None:
        checks.at_least(self.order, "order", 1)
        raw = self._raw(bags)
        self.mean_, self.range_ = raw.mean(axis=0), moment_range(raw)
        self.range_[:, : self.columns_.dimension] = [[-np.inf], [np.inf]]  # means
        spread = raw.std(axis=0)
        least = np.maximum(ROUNDING * np.abs(raw).max(axis=0), self._rounding(raw.shape[1]))
        self.spread_ = np.where(spread > least, spread, 1.0)

    def _rounding(self, n_moments: int) -> np.ndarray:
        """What rounding alone makes of each moment where rows of a bag don't differ; columns have unit variance.

        A column that is the same in all rows of every training bag has variances of 1e-30 or so. Divided by those, a
        held-out bag whose rows differ would be an outlier of 1e30 standard deviations.
        """
        powers = np.repeat(np.arange(1, int(self.order) + 1), self.columns_.dimension)
        least = np.full(n_moments, ROUNDING)  # covariances: rounding in one column times the spread of the other
        least[: len(powers)] = ROUNDING**powers
        return least

    def _raw(self, bags: Bags) -> np.ndarray:
        step = max(1, BLOCK // bags.n_features)  # rows at a time, in whole bags, to bound memory
        cuts = np.searchsorted(bags.offsets, np.arange(0, bags.n_rows, step))
        edges = np.unique(np.concatenate([cuts, [len(bags)]]))
        return np.vstack([self._raw_part(bags[a:b]) for a, b in itertools.pairwise(edges)])

    def _raw_part(self, bags: Bags) -> np.ndarray:
        rows = self.columns_.numbers(bags.values)
        return segment_moments(rows, bags.offsets, bags.given_weights, int(self.order), bool(self.cross))

    def _embed(self, bags: Bags) -> np.ndarray:
        return (np.clip(self._raw(bags), *self.range_) - self.mean_) / self.spread_

    def _number_names(self, _n_shares: int, /) -> list[str]:
        columns = [str(self.columns_.features[j]) for j in self.columns_.numeric]
        kinds = ["mean", "variance", *(f"moment {k}" for k in range(3, int(self.order) + 1))][: int(self.order)]
        pairs = itertools.combinations(columns, 2) if self.cross else ()
        return [f"{kind} {c}" for kind in kinds for c in columns] + [f"covariance {a}, {b}" for a, b in pairs]
