"""ShrunkEmbedding: the vector of a small bag is uncertain, and shrinks towards the population."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernels.shrinkage import Shrinkage, shrink, shrinkage
from sumwise.errors import DataError
from sumwise.features import name_columns

N_PARTS = 16  # that a bag is cut into, to see the noise within it


@dataclass(eq=False, repr=False)
class ShrunkEmbedding(Embedding):
    """Posterior means of bags' vectors: what is seen of a bag of n rows has noise of covariance within / n.

    Bags' true vectors are taken to be normal about the population's, with the covariance that is left of the spread
    between bags when the noise is taken away; the noise is seen by comparing parts of each bag. Both are estimated
    from training bags (an empirical Bayes version of Law et al. 2018). Large bags stay as they are, small ones move
    towards the population, along those directions that they say least about.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding()
        One whose vectors are means over rows: Fourier, linear, word shares without roots.
    survey : bool, default False
        Weights are those of a survey: a row of weight two is one observation, which stands for two people. By default
        it is two observations that happen to be equal, as if the row stood there twice.
    random_state : int, numpy.random.Generator or None, default None
        For the parts, and for the embedding where it draws.

    See Also
    --------
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.
    SizeMatched : Learn one model per size on training bags subsampled to it, and predict each bag by the model of its
        size.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import LinearEmbedding, ShrunkEmbedding
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_arrays([rng.normal(m, 1, 2) for m in rng.normal(0, 1, 400)])
    >>> plain = LinearEmbedding(standardize=False).fit_transform(bags)
    >>> shrunk = ShrunkEmbedding(LinearEmbedding(standardize=False), random_state=0).fit_transform(bags)
    >>> bool(0.55 < np.polyfit(plain[:, 0], shrunk[:, 0], 1)[0] < 0.75)  # 1 / (1 + 1 / 2)
    True
    """

    embedding: Embedding | None = None
    survey: bool = False
    random_state: Any = None

    def fit(self, bags: Bags, y: Any = None) -> Any:
        """Learn the covariances within and between bags; the response is not used."""
        del y
        self.embedding_ = fresh(self.embedding, FourierEmbedding, self.random_state).fit(bags)
        self.columns_ = self.embedding_.columns_
        name_columns(self, bags)
        several = np.flatnonzero(bags.sizes > 1)
        if len(several) < 2:
            raise DataError(
                f"{len(several)} of {len(bags)} bags have more than one row: the noise within bags can't be seen.",
                hint="use the embedding without shrinkage.",
            )
        vectors = self.embedding_.vectors(bags)
        within = self._within(bags[several], vectors[several], checks.generator(self.random_state))
        self.mean_, self.axes_, self.back_, self.between_ = shrinkage(vectors, self._sizes(bags), within)
        return self

    def _sizes(self, bags: Bags) -> np.ndarray:
        return bags.effective_sizes if self.survey else bags.total_weights

    def _within(self, bags: Bags, vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the covariance of the vector of one observation, (D, D), from parts of bags at random.

        With sizes n of a bag and p of a part that holds the share a of its weight, the part's vector differs from
        the bag's by noise of covariance (1 / p - 2 a / p + 1 / n) within.
        """
        total, room = np.zeros((vectors.shape[1],) * 2), 0.0
        sizes, whole = bags.effective_sizes, bags.total_weights
        for some in _parts(bags, rng):
            there = np.flatnonzero(some.sizes > 0)
            part = some[there]
            n, share = part.effective_sizes, part.total_weights / whole[there]
            differences = self.embedding_.vectors(part) - vectors[there]
            total += (differences * n[:, None]).T @ differences
            room += float(np.sum(n * ((1.0 - 2.0 * share) / n + 1.0 / sizes[there])))
        return total / room

    def vectors(self, bags: Bags) -> np.ndarray:
        """Return one vector per bag, shrunk by its size, (n_bags, dimension)."""
        self._fitted("between_")
        found = Shrinkage(self.mean_, self.axes_, self.back_, self.between_)
        return shrink(self.embedding_.vectors(bags), self._sizes(bags), found)

    def candidates(self, dimension: int) -> list[np.ndarray]:
        """Return the sets of features that an estimator may choose among: those of the embedding."""
        return self.embedding_.candidates(dimension)


def _parts(bags: Bags, rng: np.random.Generator) -> Iterator[Bags]:
    """Yield disjoint parts of all bags, rows shuffled: the first of each bag, the second, ... while there are rows."""
    order = np.lexsort((rng.random(bags.n_rows), bags.bag_index))
    place = np.arange(bags.n_rows) - bags.offsets[bags.bag_index]
    sizes = bags.sizes[bags.bag_index]
    part = place * np.minimum(sizes, N_PARTS) // sizes
    mixed = bags.regrouped(order, bags.offsets)
    for k in range(int(part.max()) + 1):
        yield mixed.subset(part == k)
