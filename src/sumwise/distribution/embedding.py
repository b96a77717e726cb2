"""Embedding: the base of transformers from bags to one vector per bag."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.distribution.columns import Columns, check_bags
from sumwise.estimator import Estimator

__all__ = ["Embedding", "LinearEmbedding"]


class Embedding(Estimator):
    """Base of the embeddings: `fit` learns from bags, `transform` gives a matrix with one row per bag.

    A subclass gives ``_learn(bags)``, which sets what it needs, and ``_embed(bags)``, which maps the columns of numbers
    to an array of shape (n_bags, D); ``self.columns_`` says which columns those are. Columns that hold codes of a
    categorical variable (`Bags.levels`) enter as weighted shares of their levels, behind the other features. Rows are
    taken bag by bag, so that memory is that of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import MomentEmbedding
    >>> from sumwise.distribution.embedding import Embedding
    >>> issubclass(MomentEmbedding, Embedding)
    True
    """

    standardize = True
    columns_: Columns

    def _learn(self, bags: Bags) -> None:
        """Learn from the columns of numbers; there is at least one."""

    def _embed(self, bags: Bags) -> np.ndarray:
        """Return the features of the columns of numbers, (n_bags, D)."""
        raise NotImplementedError

    def candidates(self, dimension: int) -> list[np.ndarray]:
        """Return the sets of features that an estimator may choose among; here there is one, all of them."""
        return [np.arange(dimension)]

    def fit(self, bags: Bags, y: Any = None) -> Any:
        """Learn what the embedding needs from training bags; the response is not used.

        Parameters
        ----------
        bags : Bags
        y : ignored

        Returns
        -------
        self
        """
        bags = check_bags(bags)
        self.columns_ = Columns.learn(bags, bool(self.standardize))
        bags = self.columns_.check(bags)
        if self.columns_.dimension:
            self._learn(bags)
        return self

    def transform(self, bags: Bags) -> np.ndarray:
        """Return one vector per bag, (n_bags, dimension)."""
        self._fitted("columns_")
        bags = self.columns_.check(bags)
        numbers = self._embed(bags) if self.columns_.dimension else np.zeros((len(bags), 0))
        return np.hstack([numbers, self.columns_.shares(bags)]) if self.columns_.levels else numbers

    def transform_used(self, bags: Bags, used: np.ndarray) -> np.ndarray:
        """Return the features `used` of each bag, (n_bags, len(used)): what an estimator that chose some needs."""
        features = self.transform(bags)
        return features if len(used) == features.shape[1] else features[:, used]

    def fit_transform(self, bags: Bags, y: Any = None) -> np.ndarray:
        """Learn from bags and return their vectors."""
        return self.fit(bags, y).transform(bags)


class LinearEmbedding(Embedding):
    """Weighted means of the columns; shares of the levels for categorical ones.

    Parameters
    ----------
    standardize : bool, default True
        Divide columns of numbers by their standard deviation over all bags, after subtracting their mean.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise import Bags
    >>> from sumwise.distribution import LinearEmbedding
    >>> people = pd.DataFrame({"place": list("aabb"), "age": [20, 40, 60, 80], "sex": list("fmff")})
    >>> LinearEmbedding(standardize=False).fit_transform(Bags.from_frame(people, bag="place"))
    array([[-20. ,   0.5,   0.5],
           [ 20. ,   1. ,   0. ]])
    """

    def __init__(self, standardize: bool = True):
        self.standardize = standardize

    def _embed(self, bags: Bags) -> np.ndarray:
        from sumwise.distribution.kernels.segments import segment_means

        means = segment_means(bags.values, bags.offsets, bags.weights if bags.weighted else None)
        return self.columns_.numbers(means)
