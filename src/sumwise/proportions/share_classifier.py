"""ShareClassifier: the base of linear methods that learn from bags' class shares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.fit import Fit, warn_not_converged
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.linear import Solution, as_penalty, check_penalty, constant_table, default_penalty
from sumwise.proportions.shares import BagShares, bag_shares


def linear_logits(values, table) -> np.ndarray:
    """Logits of rows under a table of (n_logits, n_features + 1): (n_rows,) for one logit, else one column each."""
    logits = values @ table[:, :-1].T + table[:, -1]
    return logits[:, 0] if logits.shape[1] == 1 else logits


def constant_start(data: BagShares) -> np.ndarray:
    """Parameters that give every row the overall shares."""
    return constant_table(data.overall, data.values.shape[1] + 1).ravel()


@dataclass(eq=False, repr=False)
class ShareClassifier(BagClassifier):
    """Base of the linear methods for class shares: a subclass gives `solve_shares`, one fit with one penalty.

    With ``_by_class = True`` several classes are fitted one against the rest. ``penalty="auto"`` is that of a prior
    under which log-odds vary as a logistic variable does. With ``_labels_members = True`` the likelihood counts every
    member's label as known; since a count is as informative as one label, the penalty is as many times as large as
    bags have members.
    """

    _learned = "theta_: float k d+1; coef_: float k d; intercept_: float k"

    _by_class = False
    _labels_members = False

    _: KW_ONLY
    penalty: float | str = "auto"
    totals: str = "match"
    max_iter: int = 300
    tol: float = 1e-3

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        """Fit two classes, or all at once, to class shares with one penalty."""
        raise NotImplementedError

    def _check(self):
        """Check the parameters; a subclass adds its own."""
        check_penalty(self.penalty)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.positive(self.tol, "tol")

    def fit(self, bags: Any, counts: Any, sample_weight: Any = None, *, groups: Any = None, labels: Any = None) -> Any:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags, or a list of one array per bag
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes)
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: weight 2 is the same as giving the bag twice, weight 0 leaves it out.
        groups : array of one label per row, or column, optional
            With it ``bags`` are rows, a matrix or frame, and ``counts`` a Series or mapping by group.
        labels : array of shape (n_rows,), optional
            Classes of the few members for whom they are known, -1 or NaN for all others; counts include them.
        """
        self._check()
        bags, counts, weights = self._training(bags, counts, sample_weight, groups, labels)
        data = bag_shares(bags, counts, self.totals, weights)
        self._learn(data)
        warn_of_few_bags(data.n_bags, data.values.shape[1])
        return self

    def _learn(self, data: BagShares):
        """Fit to shares."""
        self.n_classes_, self.classes_ = data.n_classes, np.arange(data.n_classes)
        self.multiclass_ = "ovr" if self._by_class and data.n_classes > 2 else "exact"
        tasks = [data] if self.multiclass_ == "exact" else [data.against(c) for c in range(data.n_classes)]
        self.penalty_ = self._penalty(data)
        self._keep([self.solve_shares(task, self.penalty_) for task in tasks])

    def _penalty(self, data: BagShares) -> Any:
        if not isinstance(self.penalty, str):
            return as_penalty(self.penalty, data.values.shape[1])
        return default_penalty(data.values) * (data.mean_size if self._labels_members else 1.0)

    def _keep(self, solutions: list[Solution]):
        n_logits = len(solutions) if len(solutions) > 1 or self.n_classes_ == 2 else self.n_classes_
        self.theta_ = np.concatenate([s.theta for s in solutions]).reshape(n_logits, -1)
        self.coef_, self.intercept_ = self.theta_[:, :-1].copy(), self.theta_[:, -1].copy()
        worst = max(solutions, key=lambda s: (not s.converged, s.change))
        history = {"objective": np.array(worst.history)}
        objective = sum(s.objective for s in solutions)
        self.fit_ = Fit(self.theta_, objective, None, worst.n_iter, worst.converged, history)
        if not worst.converged:
            warn_not_converged(worst.n_iter, worst.change, self.tol, stacklevel=5)

    def _logits(self, bags: Bags) -> np.ndarray:
        return self._linear_logits(bags)
