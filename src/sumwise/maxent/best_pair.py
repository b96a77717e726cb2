"""BestPair: a logistic regression on the two features that predict best together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.kernels.loglinear import class_scores, layout
from sumwise.maxent.kernels.table_logistic import cell_design, fit_softmax
from sumwise.maxent.naive_bayes import class_counts
from sumwise.maxent.sufficient_statistics import SufficientStatistics, sufficient_statistics
from sumwise.maxent.tables_classifier import TablesClassifier
from sumwise.tables import Tables


@dataclass(eq=False, repr=False)
class BestPair(TablesClassifier):
    """Logistic regression with two features and their interaction, from the table of the two (B2f).

    Parameters
    ----------
    penalty : float >= 0, default 1.0
        L2 penalty on every coefficient but the intercept.
    pair : pair of str, optional
        The features; default: those with the best log-likelihood once the parameters in use are charged (Akaike).

    Attributes
    ----------
    pair_ : tuple of str
    ranking_ : pandas.DataFrame
        Every pair with its criterion, per individual, best first.

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.
    NaiveBayesTables : Naive Bayes from tables: features are taken as independent given the class.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import BestPair
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> model = BestPair().fit(example.tables)
    >>> "x3" in model.pair_
    True
    """

    _learned = "theta_: float k p; pair_: is tuple; ranking_: is DataFrame"

    penalty: float = 1.0
    pair: Any = None

    def fit(self, tables: Tables) -> BestPair:
        """Learn from tables of two features; others are left aside."""
        import pandas as pd

        penalty = float(checks.at_least(self.penalty, "penalty", 0, whole_number=False))
        found = sufficient_statistics(tables, margins=True)
        names = tables.domain.attributes
        pairs = [t for t in found.layout.terms if len(t) == 2]
        if self.pair is not None:
            wanted = tuple(sorted(tables.domain.axes(checks.listing(self.pair, "pair"))))
            pairs = [t for t in pairs if t == wanted]
        if not pairs:
            raise DataError("There is no table of two features to choose.", hint="count tables with order=2.")
        fits = [_fit_pair(found, pair, penalty) for pair in pairs]
        order = np.argsort([-f[2] for f in fits], kind="stable")
        best = int(order[0])
        self._remember(tables, found.n)
        self.pair_ = tuple(names[a] for a in pairs[best])
        self.theta_, self.offsets_ = fits[best][0], fits[best][1]
        rows = [(names[pairs[i][0]], names[pairs[i][1]], fits[i][2]) for i in order]
        self.ranking_ = pd.DataFrame(rows, columns=["first", "second", "criterion"])
        return self

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        axes = self.domain_.axes(self.pair_)
        sizes = tuple(self.domain_[a] for a in self.pair_)
        lay = layout(sizes, [(0, 1), (0,), (1,)])
        return class_scores(lay, self.theta_, self.offsets_, codes[:, axes])


def _fit_pair(found: SufficientStatistics, pair: tuple[int, ...], penalty: float):
    """Coefficients, offsets, and the penalised log-likelihood less the parameters in use, per individual."""
    counts, classes = class_counts(found, pair)
    sizes = found.layout.shape(pair)
    own = layout(sizes, [(0, 1), (0,), (1,)])
    cells = np.indices(sizes).reshape(2, math.prod(sizes)).T
    used = counts > 0
    design = cell_design(own, cells[used])
    theta, offsets, loss, _ = fit_softmax(design, classes[used], np.full(own.n_params, max(penalty, 1e-9)))
    fit = -(loss - penalty * float(np.sum(theta**2)))
    share = np.clip(classes[used] / counts[used, None], 0, 1)
    information = counts[used] * (1 - (share**2).sum(axis=1)) / 2
    in_use = float(np.sum(information / (information + 2 * penalty)))
    return theta, offsets, (fit - in_use) / max(counts.sum(), 1.0)
