"""Embedding: the base of transformers from bags to one vector per bag, and copies of such parts of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import Columns, check_bags
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.features import name_columns
from sumwise.inference.canonical import content_sorted

RANGE_MARGIN = 0.5  # ranges of the training bags' moments beyond which those of other bags are cut


def moment_range(moments: np.ndarray) -> np.ndarray:
    """Return (low, high) between which moments of other bags are taken at face value, (2, n_moments).

    A high moment of a heavy tail is without bound: one bag in a hundred may lie a million standard deviations out, and
    a linear function of it would be as far off. A small bag whose rows agree has no logarithm of its spread.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.embedding import moment_range
    >>> moment_range(np.array([[1.0], [3.0]]))
    array([[0.],
           [4.]])
    """
    low, high = moments.min(axis=0), moments.max(axis=0)
    return np.stack([low - RANGE_MARGIN * (high - low), high + RANGE_MARGIN * (high - low)])


class Embedding(TransformerMixin, Estimator):
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

    _learned = "columns_: is Columns; columns_.given: len g; n_features_in_: size g"

    standardize = True
    ends_with_shares = True  # whether the last entries of a vector are the shares of levels
    draws = True  # whether numbers are drawn for columns, which then are in an order of their contents
    columns_: Columns

    def _learn(self, bags: Bags, /) -> None:
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
        del y
        bags = check_bags(bags)
        name_columns(self, bags)
        self.columns_ = Columns.learn(bags, bool(self.standardize), self.draws)
        bags = self.columns_.check(bags)
        if self.columns_.dimension:
            self._learn(content_sorted(bags)[0])
        return self

    def transform(self, bags: Bags) -> Any:
        """Return one vector per bag, (n_bags, dimension): an array, or what `set_output` asks for.

        A pandas frame has the ids of the bags as its index.
        """
        vectors = self.vectors(bags)
        if _get_output_config("transform", self)["dense"] != "pandas":
            return vectors
        import pandas as pd

        return pd.DataFrame(vectors, index=bags.ids)  # columns are named by scikit-learn

    def vectors(self, bags: Bags) -> np.ndarray:
        """Return one vector per bag as an array, whatever the output of `transform` is."""
        self._fitted("columns_")
        bags = self.columns_.check(bags)
        if self.columns_.dimension:
            width, hint = self._embed(bags[:1]).shape[1], "give an embedding with fewer features, or fewer bags."
            checks.allocation(type(self).__name__, (len(bags), width), hint=hint)
        numbers = self._embed(bags) if self.columns_.dimension else np.zeros((len(bags), 0))
        return np.hstack([numbers, self.columns_.shares(bags)]) if self.columns_.levels else numbers

    def transform_used(self, bags: Bags, used: np.ndarray) -> np.ndarray:
        """Return the features `used` of each bag, (n_bags, len(used)): what an estimator that chose some needs."""
        features = self.vectors(bags)
        return features if len(used) == features.shape[1] else features[:, used]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the vectors' entries: those of columns of numbers, then ``column=level`` of the others.

        Parameters
        ----------
        input_features : sequence of str, optional
            For scikit-learn; the columns that `fit` saw, or left out.
        """
        self._fitted("columns_")
        columns = self.columns_
        if input_features is not None and list(input_features) != list(columns.given):
            raise DataError(
                f"input_features are {list(input_features)}; the columns of training were {list(columns.given)}.",
                hint="leave input_features out.",
            )
        levels = columns.levels if self.ends_with_shares else {}
        shares = [f"{name}={level}" for name, listed in levels.items() for level in listed]
        return np.array([*self._number_names(len(shares)), *shares], dtype=object)

    def _number_names(self, n_shares: int, /) -> list[str]:
        """Names of the entries before the last `n_shares`: the class's name and a number, as scikit-learn has them."""
        columns = self.columns_
        one = Bags(np.zeros((1, len(columns.given))), [0, 1], features=columns.given, levels=columns.levels)
        width = self.vectors(one).shape[1] - n_shares
        return [f"{type(self).__name__.lower()}{i}" for i in range(width)]


@dataclass(eq=False, repr=False)
class LinearEmbedding(Embedding):
    """Weighted means of the columns; shares of the levels for categorical ones.

    Parameters
    ----------
    standardize : bool, default True
        Subtract the mean from numeric columns, and divide by their standard deviation over all bags.

    See Also
    --------
    MomentEmbedding : Means, central moments and covariances of the rows of a bag.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

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

    standardize: bool = True

    draws = False

    def _embed(self, bags: Bags) -> np.ndarray:
        from sumwise.distribution.kernels.segments import segment_means

        means = segment_means(bags.values, bags.offsets, bags.given_weights)
        return self.columns_.numbers(means)

    def _number_names(self, _n_shares: int, /) -> list[str]:
        return [str(self.columns_.features[j]) for j in self.columns_.numeric]


def seeded(random_state: Any) -> np.random.Generator:
    """Return the generator of a part that draws; without a seed of its own it is that of 0: no answer is left to luck.

    Examples
    --------
    >>> from sumwise.distribution.embedding import seeded
    >>> bool(seeded(None).random() == seeded(0).random())
    True
    """
    return checks.generator(0 if random_state is None else random_state)


def fresh(given: Any, default: type, random_state: Any, kind: type = Embedding) -> Any:
    """Return an unfitted copy of a part (an embedding or a kernel), seeded by the estimator where it has no seed.

    Examples
    --------
    >>> from sumwise.distribution import FourierEmbedding
    >>> from sumwise.distribution.embedding import fresh
    >>> fresh(None, FourierEmbedding, 7).random_state
    7
    """
    if given is not None and not isinstance(given, kind):
        name = kind.__name__.lower().removeprefix("bag")
        raise DataError(f"{name} is of type {type(given).__name__}.", hint=f"give one such as {default.__name__}().")
    part: Any = default() if given is None else clone(given)
    if random_state is not None and getattr(part, "random_state", 0) is None:
        part.set_params(random_state=random_state)
    return part
