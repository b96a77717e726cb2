"""PyramidMatchKernel: how much of two bags' histograms overlaps, from fine to coarse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel


@dataclass(eq=False, repr=False)
class PyramidMatchKernel(BagKernel):
    """Overlap of histograms from fine to coarse cells; rows that match only in coarse cells count less.

    Columns are treated one by one and averaged; a categorical column's levels are cells that never merge.

    Parameters
    ----------
    levels : int >= 1, default 10
        With ``scale="range"`` the finest histogram has 2^(levels - 1) cells between a column's least and largest
        training value.
    decay : float in (0, 1), default 0.5
        Weight of a level relative to the next finer one.
    normalise : bool, default True
        Compare shares of rows; else weighted counts, so that large bags match more.
    scale : {"range", "data"}, default "range"
        "data" takes the columns in the units that they have, as Lemus González does: cells of side 1, 2, 4, ... up to
        the first that covers the range, so `levels` is not used.

    See Also
    --------
    GaussianKernel : The mean over pairs of rows of ``exp(-|x - x'|^2 / (2 width^2))``: the inner product of mean
        embeddings.
    WassersteinKernel : A kernel from Wasserstein distances: ``exp(-gamma W1)`` or ``exp(-gamma W2^2)``, summed over
        columns or slices.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution import PyramidMatchKernel
    >>> bags = Bags.from_arrays([[0.0, 1.0], [1.0, 2.0], [7.0, 8.0]])
    >>> PyramidMatchKernel(levels=4).fit(bags).gram(bags).round(3)
    array([[1.   , 0.625, 0.125],
           [0.625, 1.   , 0.125],
           [0.125, 0.125, 1.   ]])
    """

    _learned = "columns_.numeric: len d; low_?d, high_?d: float d; levels_?: number"

    has_width = False

    levels: int = 10
    decay: float = 0.5
    normalise: bool = True
    scale: str = "range"

    def _learn(self, bags: Bags) -> None:
        checks.at_least(self.levels, "levels", 1)
        checks.fraction(self.decay, "decay")
        checks.choice(self.scale, "scale", ("range", "data"))
        chosen = bags.values[:, self.columns_.numeric]
        low, high = chosen.min(axis=0), chosen.max(axis=0)
        self.levels_ = int(self.levels)
        if self.scale == "data":  # one number of levels for all columns: the finest cells have side 1 in each
            low = np.floor(low)
            self.levels_ = int(np.ceil(np.log2(np.max(high - low, initial=1.0) + 1))) + 1
            high = low + 2.0 ** (self.levels_ - 1)
        self.low_, self.high_ = low.astype(float), high.astype(float)

    def represent(self, bags: Bags) -> np.ndarray:
        """Finest histograms of all columns, then counts of levels, (n_bags, cells); values outside go to the ends."""
        cells = 2 ** (self.levels_ - 1)
        hint = "give fewer levels, or with scale='data' columns in larger units: cells have side 1."
        checks.allocation("PyramidMatchKernel", (len(bags), len(self.low_) * cells), hint=hint)
        index, parts = bags.bag_index, []
        for j, low, high in zip(self.columns_.numeric, self.low_, self.high_):
            place = np.floor(((bags.values[:, j] - low) / (high - low) * cells).round(9))  # on an edge in any unit
            code = np.clip(place, 0, cells - 1).astype(np.int64)
            parts.append(np.bincount(index * cells + code, bags.weights, len(bags) * cells).reshape(len(bags), cells))
        counts = bags.total_weights[:, None]
        parts.append(self.columns_.shares(bags) * counts)
        whole = np.hstack(parts)
        return whole / counts if self.normalise else whole

    def distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        n_levels, d = self.levels_, self.columns_.dimension
        split = d * 2 ** (n_levels - 1)
        total = _overlap(a[:, split:], b[:, split:])
        fine, before = [x[:, :split] for x in (a, b)], 0.0
        for level in range(n_levels if d else 0):
            now = _overlap(*fine)
            total = total + self.decay**level * (now - before)
            before = now
            if level < n_levels - 1:
                fine = [x.reshape(len(x), -1, 2).sum(axis=2) for x in fine]
        return total[None] / (d + len(self.columns_.levels))


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Histogram intersections sum min(a, b) = (sum a + sum b - sum |a - b|) / 2, (n_a, n_b)."""
    if not a.shape[1]:
        return np.zeros((len(a), len(b)))
    return 0.5 * (a.sum(axis=1)[:, None] + b.sum(axis=1) - cdist(a, b, "cityblock"))
