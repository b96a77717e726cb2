"""ShrunkEmbedding: the vector of a small bag is uncertain, and shrinks towards the population."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import Embedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.parts import fresh
from sumwise.errors import DataError
from sumwise.kernels.shrinkage import Shrinkage, shrink, shrinkage

__all__ = ["ShrunkEmbedding"]


class ShrunkEmbedding(Embedding):
    """Posterior means of bags' vectors: what is seen of a bag of n rows has noise of covariance within / n.

    Bags' true vectors are taken to be normal about the population's, with the covariance that is left of the spread
    between bags when the noise is taken away; the noise is seen by comparing two halves of each bag. Both are estimated
    from training bags (an empirical Bayes version of Law et al. 2018). Large bags stay as they are, small ones move
    towards the population, along those directions that they say least about.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding()
        One whose vectors are means over rows: Fourier, linear, word shares without roots.
    random_state : int, numpy.random.Generator or None
        For the halves, and for the embedding where it draws.

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

    def __init__(self, embedding: Embedding | None = None, random_state: Any = None):
        self.embedding = embedding
        self.random_state = random_state

    def fit(self, bags: Bags, y: Any = None) -> Any:
        """Learn the covariances within and between bags; the response is not used."""
        self.embedding_ = fresh(self.embedding, FourierEmbedding, self.random_state).fit(bags)
        self.columns_ = self.embedding_.columns_
        rng = checks.generator(self.random_state)
        pairs = np.flatnonzero(bags.sizes > 1)
        if len(pairs) < 2:
            raise DataError(
                f"{len(pairs)} of {len(bags)} bags have more than one row: the noise within bags can't be seen.",
                hint="use the embedding without shrinkage.",
            )
        first, second = _halves(bags[pairs], rng)
        differences = self.embedding_.transform(first) - self.embedding_.transform(second)
        counts = 1.0 / effective_sizes(first) + 1.0 / effective_sizes(second)
        vectors = self.embedding_.transform(bags)
        found = shrinkage(vectors, effective_sizes(bags), differences / np.sqrt(counts)[:, None])
        self.mean_, self.axes_, self.back_, self.between_ = found
        return self

    def transform(self, bags: Bags) -> np.ndarray:
        """Return one vector per bag, shrunk by its size, (n_bags, dimension)."""
        self._fitted("between_")
        found = Shrinkage(self.mean_, self.axes_, self.back_, self.between_)
        return shrink(self.embedding_.transform(bags), effective_sizes(bags), found)

    def candidates(self, dimension: int) -> list[np.ndarray]:
        """Return the sets of features that an estimator may choose among: those of the embedding."""
        return self.embedding_.candidates(dimension)


def effective_sizes(bags: Bags) -> np.ndarray:
    """Return the number of equally weighted rows with the same noise, (sum w)^2 / sum w^2.

    A row of weight two isn't two observations: it counts as one, so repeated rows shrink less than weighted ones.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution.shrunk import effective_sizes
    >>> effective_sizes(Bags.from_arrays([[1.0, 2.0]], weights=[[0.5, 0.5]]))
    array([2.])
    """
    if not bags.weighted:
        return bags.sizes.astype(float)
    total, squares = (np.add.reduceat(bags.weights**p, bags.offsets[:-1]) for p in (1, 2))
    return total**2 / squares


def _halves(bags: Bags, rng: np.random.Generator) -> tuple[Bags, Bags]:
    """Return two disjoint halves of every bag, rows shuffled."""
    order = np.lexsort((rng.random(bags.n_rows), bags.bag_index))
    place = np.arange(bags.n_rows) - bags.offsets[bags.bag_index]
    weights = bags.weights[order] if bags.weighted else None
    mixed = Bags(bags.values[order], bags.offsets, weights, None, bags.features, bags.levels)
    low = place < (bags.sizes // 2)[bags.bag_index]
    return mixed.subset(low), mixed.subset(~low)
