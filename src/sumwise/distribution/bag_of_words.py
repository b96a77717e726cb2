"""BagOfWords: how often the rows of a bag fall near each word of a code book."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bandwidth import sample_rows
from sumwise.distribution.embedding import Embedding, seeded
from sumwise.distribution.kernels.segments import block_means, blocks_of_rows


@dataclass(eq=False, repr=False)
class BagOfWords(Embedding):
    """Shares of rows near each of `n_words` centres found by k-means.

    Parameters
    ----------
    n_words : int >= 1, default 100
        At most; fewer where the rows have fewer distinct values.
    counts : {"hard", "soft"}, default "hard"
        A row counts for the nearest word, or for all by ``exp(-|x - word|^2 / (2 width^2))``, normalised.
    width : float > 0, default 0.5
        For soft counts: multiple of the mean distance of a row to its nearest word.
    root : bool, default True
        Take square roots of the shares, so that Euclidean distances are Hellinger distances.
    n_sample : int >= 1, default 20000
        Rows that the words are learned from.
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.

    Attributes
    ----------
    words_ : array of shape (n_words, n_features)
        In scaled columns.

    See Also
    --------
    FisherVector : Gradients of a diagonal mixture's log-likelihood by its shares, means and variances, averaged over a
        bag.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagOfWords
    >>> bags = Bags.from_arrays([[0.0, 0.1, 9.0], [9.0, 9.1, 9.2]])
    >>> sorted(BagOfWords(2, root=False, random_state=0).fit_transform(bags)[0].round(2).tolist())
    [0.33, 0.67]
    """

    _learned = "columns_.numeric: len d; words_?d: float m d; width_?: number"

    n_words: int = 100
    counts: str = "hard"
    width: float = 0.5
    root: bool = True
    n_sample: int = 20_000
    random_state: Any = None

    def _learn(self, bags: Bags) -> None:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        checks.at_least(self.n_words, "n_words", 1)
        checks.at_least(self.n_sample, "n_sample", 1)
        checks.choice(self.counts, "counts", ("hard", "soft"))
        width = float(checks.positive(self.width, "width", ndim=0))
        rng = seeded(self.random_state)
        rows = np.unique(sample_rows(bags, int(self.n_sample), rng=rng))
        sample = self.columns_.numbers(bags.values[rows]).round(9)  # units of measurement change the last digit
        options: Any = {"n_init": 1, "max_iter": 50, "random_state": int(rng.integers(2**31))}
        means: Any = KMeans(min(int(self.n_words), len(sample)), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than words
            means.fit(sample)
        # compared by nine digits, so that units don't change the order
        self.words_ = means.cluster_centers_[np.unique(means.cluster_centers_.round(9), axis=0, return_index=True)[1]]
        nearest = np.sqrt(np.maximum(self._squares(sample).min(axis=1), 0.0)).mean()
        self.width_ = width * (nearest or 1.0)

    def _squares(self, rows: np.ndarray) -> np.ndarray:
        """Squared distances to the words, (n_rows, n_words)."""
        return (rows**2).sum(axis=1)[:, None] + (self.words_**2).sum(axis=1) - 2 * (rows @ self.words_.T)

    def _nearness(self, values: np.ndarray) -> np.ndarray:
        """Soft counts of each row, (n_rows, n_words)."""
        squares = self._squares(self.columns_.numbers(values))
        near = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * self.width_**2))
        return near / near.sum(axis=1, keepdims=True)

    def _count(self, bags: Bags) -> np.ndarray:
        """Weighted shares of rows by nearest word, (n_bags, n_words)."""
        n_words = len(self.words_)
        half = 0.5 * (self.words_**2).sum(axis=1)
        counts = np.zeros(len(bags) * n_words)
        index, weights = bags.bag_index, bags.given_weights
        for begin, end, *_ in blocks_of_rows(bags.offsets, n_words):
            closeness = self.columns_.numbers(bags.values[begin:end]) @ self.words_.T
            closeness -= half
            cell = index[begin:end] * n_words + closeness.round(9).argmax(axis=1)
            first = int(cell.min()) // n_words * n_words
            found = np.bincount(cell - first, None if weights is None else weights[begin:end])
            counts[first : first + len(found)] += found
        out = counts.reshape(len(bags), n_words)
        return out / out.sum(axis=1, keepdims=True)

    def _embed(self, bags: Bags) -> np.ndarray:
        if self.counts == "hard":
            shares = self._count(bags)
        else:
            shares = block_means(bags.values, bags.offsets, bags.given_weights, self._nearness, len(self.words_))
        return np.sqrt(np.maximum(shares, 0.0)) if self.root else shares
