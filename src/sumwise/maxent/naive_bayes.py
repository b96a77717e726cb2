"""NaiveBayesTables: features independent given the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import identity

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.kernels.loglinear import class_scores, layout
from sumwise.maxent.kernels.table_logistic import fit_softmax
from sumwise.maxent.sufficient_statistics import SufficientStatistics, sufficient_statistics
from sumwise.maxent.tables_classifier import TablesClassifier
from sumwise.tables import Tables


@dataclass(eq=False, repr=False)
class NaiveBayesTables(TablesClassifier):
    """Naive Bayes from tables: features are taken as independent given the class.

    Parameters
    ----------
    smoothing : float >= 0, default 1.0
        Individuals added to every level, divided among the classes by their shares. With 0 and one-way tables this
        is the unpenalised maximum entropy model.
    penalty : float >= 0, optional
        In place of smoothing: one logistic regression per feature with this L2 penalty and the intercept at the
        classes' shares (Gilotte et al. 2022, appendix A).

    Attributes
    ----------
    log_ratios_ : ndarray of shape (1 or K, levels of all features)
        What each level adds to the score of class 1 (of every class, if there are more than two).

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.
    BestPair : Logistic regression with two features and their interaction, from the table of the two (B2f).

    Examples
    --------
    >>> from sumwise.maxent import NaiveBayesTables
    >>> from sumwise.tables import Tables
    >>> people = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [0, 0, 1, 0]}
    >>> model = NaiveBayesTables().fit(Tables.from_frame(people, ["a", "b"], label="y"))
    >>> model.predict_proba({"a": [1], "b": [0]})[:, 1].round(2)
    array([0.6])
    """

    _learned = "log_ratios_: float k p"

    smoothing: float = 1.0
    penalty: float | None = None

    def fit(self, tables: Tables) -> NaiveBayesTables:
        """Learn from tables of any orders: they are summed onto single features."""
        found = sufficient_statistics(tables, margins=True)
        smoothing = checks.at_least(self.smoothing, "smoothing", 0, whole_number=False)
        parts = []
        for a in range(len(tables.domain)):
            counts, sums = class_counts(found, (a,))
            if self.penalty is None:
                parts.append(_log_ratios(counts, sums, found.shares, smoothing))
            else:
                penalty = float(checks.at_least(self.penalty, "penalty", 0, whole_number=False))
                parts.append(_penalised(counts, sums, found.shares, penalty))
        self._remember(tables, found.n)
        self.log_ratios_ = np.concatenate(parts, axis=1)
        log_shares = np.log(found.shares)
        self.offsets_ = log_shares - log_shares[0]
        return self

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "domain_") and sum(self.domain_.shape) != self.log_ratios_.shape[1]:
            raise DataError(f"log_ratios_ are not those of {self.domain_}.", hint="save the object again.")

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        lay = layout(self.domain_.shape, [(a,) for a in range(len(self.domain_))])
        return class_scores(lay, self.log_ratios_, self.offsets_, codes)


def class_counts(found: SufficientStatistics, attributes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Counts (S,) and class counts (S, K) of the cells of a table, cut at 0 and at the counts."""
    at = found.part(found.layout.terms.index(attributes))
    counts, sums = np.maximum(found.data.counts[at], 0.0), found.data.sums[:, at]
    if len(sums) == 1:
        ones = np.clip(sums[0], 0.0, counts)
        return counts, np.column_stack([counts - ones, ones])
    classes = np.maximum(sums, 0.0).T
    return classes.sum(axis=1), classes


def _log_ratios(counts: np.ndarray, classes: np.ndarray, shares: np.ndarray, smoothing: float) -> np.ndarray:
    """log P(level | class) - log P(level | class 0), smoothed; 0 for a level that nobody has."""
    filled = classes + smoothing * shares
    share = filled / filled.sum(axis=0)
    with np.errstate(divide="ignore"):
        log = np.log(np.maximum(share, 1e-300))
    log[counts + smoothing == 0] = 0.0
    return (log[:, 1:] - log[:, :1]).T if len(shares) == 2 else log.T


def _penalised(counts: np.ndarray, classes: np.ndarray, shares: np.ndarray, penalty: float) -> np.ndarray:
    """One penalised logistic regression on a single feature's levels, offsets fixed at the classes' shares."""
    if len(shares) > 2:
        levels: Any = identity(len(counts), format="csr")  # each level is its own indicator
        theta, *_ = fit_softmax(levels, classes, np.full(len(counts), max(penalty, 1e-9)))
        return theta
    base, ones = float(np.log(shares[1] / shares[0])), classes[:, 1]
    w = np.zeros(len(counts))
    for _ in range(100):  # Newton, level by level
        p = 1.0 / (1.0 + np.exp(-np.clip(w + base, -35, 35)))
        step = (counts * p - ones + 2 * penalty * w) / np.maximum(counts * p * (1 - p) + 2 * penalty, 1e-9)
        w -= np.clip(step, -2, 2)
    return w[None]
