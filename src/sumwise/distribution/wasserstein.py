"""WassersteinKernel: similarities from transport distances on lines, on slices, or exactly in several dimensions."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks, extras
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.columns import ROUNDING
from sumwise.distribution.embedding import fresh
from sumwise.distribution.kernels.quantiles import line_distances
from sumwise.distribution.quantile import draw_slices, grid_quantiles
from sumwise.errors import DataError
from sumwise.inference.kernels.shapes import check_shapes

NARROW_BAG = 1e-6  # standard deviations, relative to that of all rows, below which bags are equally narrow


@dataclass(eq=False, repr=False)
class WassersteinKernel(BagKernel):
    """A kernel from Wasserstein distances: ``exp(-gamma W1)`` or ``exp(-gamma W2^2)``, summed over columns or slices.

    On a line both are positive definite, and cost one sort per bag: quantile functions on a grid are compared
    cell by cell. (``exp(-gamma W1^2)`` is not guaranteed to be, and is not offered.) A categorical column is one more
    part: the share of people who would have to change their level.

    Parameters
    ----------
    order : {1, 2}, default 2
        1 for W1, 2 for the square of W2.
    n_quantiles : int >= 1 or None, default 100
        Cells of the grid, each of the same probability. With as many cells as rows, distances are exact. None is exact
        transport between the rows themselves in all dimensions (the extra ``transport``; small bags only: a pair of
        bags of n rows costs about n^3). That kernel is not guaranteed to be positive definite.
    slices : int >= 0, default 0
        Compare projections on this many random directions, which sees joint structure; 0 compares column by column.
    combine : {"sum", "product"}, default "sum"
        Mean of the kernels of the columns (or slices), or the kernel of the mean distance.
    spread : bool, default False
        Add a part per column (or slice) that compares the logarithms of standard deviations, as far apart as they are
        (order 1) or squared (order 2). Wasserstein distances see that a narrow bag is narrow, and hardly by which
        factor; responses often follow the factor. Estimators whose kernel is left to them take it.
    extra_slices : int >= 0, default 0
        Compare projections on this many random directions beside the columns (or slices), where there are several
        columns. An estimator keeps them if they lower its error; estimators whose kernel is left to them try ten.
    gamma : "median" or float, default "median"
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.
        For the slices; extra ones are always the same.

    See Also
    --------
    GaussianW2Kernel : ``exp(-gamma W2^2)`` with the squared 2-Wasserstein distance between normal distributions fitted
        to two bags.
    GaussianKernel : The mean over pairs of rows of ``exp(-|x - x'|^2 / (2 width^2))``: the inner product of mean
        embeddings.
    PyramidMatchKernel : Overlap of histograms from fine to coarse cells; rows that match only in coarse cells count
        less.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution import WassersteinKernel
    >>> bags = Bags.from_arrays([[0.0, 1.0], [1.0, 2.0], [5.0, 6.0]])
    >>> WassersteinKernel(1).fit(bags).gram(bags).round(2)
    array([[1.  , 0.78, 0.29],
           [0.78, 1.  , 0.37],
           [0.29, 0.37, 1.  ]])
    """

    _learned = "columns_.numeric: len d; directions_?: float d *; n_extra_?: number"

    order: int = 2
    n_quantiles: int | None = 100
    slices: int = 0
    combine: str = "sum"
    spread: bool = False
    extra_slices: int = 0
    gamma: Any = "median"
    random_state: Any = None

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether every Gram matrix is positive semidefinite."""
        return self.n_quantiles is not None or self.columns_.dimension == 1

    @property
    def squared(self) -> bool:
        """Whether distances are squares."""
        return self.order == 2

    def _learn(self, _bags: Bags, /) -> None:
        checks.choice(self.order, "order", (1, 2))
        if self.n_quantiles is not None:
            checks.at_least(self.n_quantiles, "n_quantiles", 1)
        checks.at_least(self.slices, "slices", 0)
        checks.at_least(self.extra_slices, "extra_slices", 0)
        exact = self.n_quantiles is None
        if exact and self.columns_.levels:
            raise DataError("Exact transport needs columns of numbers only.", hint="drop categorical columns.")
        if exact and (self.spread or self.extra_slices):
            raise DataError(
                "Exact transport doesn't use slices.", hint="give n_quantiles, or leave out spread and extra_slices."
            )
        d, n = self.columns_.dimension, int(self.slices)
        extra = int(self.extra_slices) if d > 1 else 0
        self.directions_ = draw_slices(d, n, self.random_state)
        if extra:
            self.directions_ = np.hstack([self.directions_, draw_slices(d, extra, 0)])  # the same each time
        self.n_extra_ = extra

    def variants(self, kept: Any) -> list[tuple[BagKernel, Any]]:
        """Return the kernel without its extra slices, where it has some, and as it is, each with what it keeps."""
        if not self.n_extra_:
            return [(self, kept)]
        m, n = self.directions_.shape[1], int(self.n_quantiles or 0)
        plain = copy(self)
        plain.n_extra_, base = 0, m - self.n_extra_
        plain.directions_ = self.directions_[:, :base]
        lines = [np.arange(base * n), np.arange(m * n, m * n + base)] if self.spread else [np.arange(base * n)]
        shares = np.arange(m * (n + 1) if self.spread else m * n, kept.shape[1])
        if len(self.scale_) > 1:
            parts = np.arange(len(self.scale_))
            plain.scale_ = self.scale_[(parts >= 2 * m if self.spread else parts >= m) | (parts % m < base)]
        return [(plain, kept[:, np.concatenate([*lines, shares])]), (self, kept)]

    def represent(self, bags: Bags) -> Any:
        if self.n_quantiles is None:
            return bags.with_values(self.columns_.numbers(bags.values))
        if not self.columns_.dimension:
            return self.columns_.shares(bags)
        cells = grid_quantiles(bags, self.columns_, int(self.n_quantiles or 0), self.directions_)
        parts = [cells.reshape(len(bags), -1)]
        if self.spread:
            deviation = cells.std(axis=2)  # of a bag of one row rounding error, which is no difference of bags
            deviation[deviation <= ROUNDING * np.abs(cells).max(axis=2)] = 0.0
            parts.append(np.log(deviation + NARROW_BAG))
        return np.hstack([*parts, self.columns_.shares(bags)])

    def distances(self, a: Any, b: Any) -> np.ndarray:
        if self.n_quantiles is None:
            return _transport(a, b, self.order)[None]
        m, n = self.directions_.shape[1], int(self.n_quantiles or 0)
        check_shapes({"what is kept of bags": (b, (len(b), a.shape[1]))})
        parts, place = [], 0
        for width in (n, 1) if self.spread else (n,):
            lines = [x[:, place : place + m * width].reshape(len(x), m, width) for x in (a, b)]
            place += m * width
            parts += [line_distances(lines[0], None if b is a else lines[1], self.order)] if m else []
        return np.concatenate([*parts, *self._level_distances(a, b, place)])


def fresh_kernel(given: BagKernel | None, random_state: Any) -> BagKernel:
    """Return the kernel that an estimator fits: a copy of the one given, or a Wasserstein kernel with spreads and extra
    slices, seeded by the estimator where it has no seed.

    Examples
    --------
    >>> from sumwise.distribution.wasserstein import fresh_kernel
    >>> fresh_kernel(None, 7)
    WassersteinKernel(extra_slices=10, random_state=7, spread=True)
    """
    kernel = WassersteinKernel(spread=True, extra_slices=10) if given is None else given
    return fresh(kernel, WassersteinKernel, random_state, BagKernel)


def _transport(a: Bags, b: Bags, order: int) -> np.ndarray:
    """Exact transport costs between bags: |x - y| for order 1, its square for order 2."""
    ot = extras.require("ot")
    metric = "euclidean" if order == 1 else "sqeuclidean"
    shares = [[w / w.sum() for w in np.split(bags.weights, bags.offsets[1:-1])] for bags in (a, b)]
    out = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(i + 1 if a is b else 0, len(b)):
            cost = ot.dist(np.asarray(a[i], dtype=float), np.asarray(b[j], dtype=float), metric=metric)
            out[i, j] = ot.emd2(shares[0][i], shares[1][j], cost)
    return out + out.T if a is b else out
