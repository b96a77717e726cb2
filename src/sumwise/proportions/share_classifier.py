"""ShareClassifier: the base of linear methods that learn from bags' class shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.fit import Fit, warn_not_converged
from sumwise.progress import Progress
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.linear import Solution, as_penalty, check_penalty, constant_table
from sumwise.proportions.penalty import reference_shape, walk
from sumwise.proportions.shares import BagShares, bag_shares, share_loss

STEPS = 10.0 ** np.arange(-4.0, 4.1)  # times the reference penalty
MIDDLE = 4
NEGLIGIBLE = 1e-3  # relative gain in held-out loss below which the walk stops
MAX_KEPT_BYTES = 2**28  # bytes of features up to which the parts of the folds are kept from penalty to penalty


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

    With ``_by_class = True`` several classes are fitted one against the rest. ``penalty="auto"`` walks from the penalty
    of `reference_shape` by factors of ten while the shares of held-out bags are predicted better.
    """

    _by_class = False

    _: KW_ONLY
    penalty: float | str = "auto"
    totals: str = "match"
    max_iter: int = 300
    tol: float = 1e-3
    random_state: Any = 0

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        """Fit two classes, or all at once, to class shares with one penalty."""
        raise NotImplementedError

    def _check(self):
        """Check the parameters; a subclass adds its own."""
        check_penalty(self.penalty)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.positive(self.tol, "tol")

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> Any:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes)
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: weight 2 is the same as giving the bag twice, weight 0 leaves it out.
        """
        self._check()
        bags, counts, weights = self._training(bags, counts, sample_weight)
        data = bag_shares(bags, counts, self.totals, weights)
        self._learn(data)
        warn_of_few_bags(data.n_bags, data.values.shape[1])
        return self

    def _learn(self, data: BagShares):
        """Fit to shares."""
        self.n_classes_, self.classes_ = data.n_classes, np.arange(data.n_classes)
        self.multiclass_ = "ovr" if self._by_class and data.n_classes > 2 else "exact"
        tasks = [data] if self.multiclass_ == "exact" else [data.against(c) for c in range(data.n_classes)]
        penalties = [self._chosen(task) for task in tasks]
        self._keep([self.solve_shares(task, p) for task, p in zip(tasks, penalties)], penalties)

    def _keep(self, found: list[Solution], penalties):
        n_logits = len(found) if len(found) > 1 or self.n_classes_ == 2 else self.n_classes_
        self.theta_ = np.concatenate([s.theta for s in found]).reshape(n_logits, -1)
        self.coef_, self.intercept_ = self.theta_[:, :-1].copy(), self.theta_[:, -1].copy()
        self.penalty_ = penalties[0] if len(found) == 1 else penalties
        self._record(found)

    def _record(self, found: list[Solution]):
        worst = max(found, key=lambda s: (not s.converged, s.change))
        history = {"objective": np.array(worst.history)}
        objective = sum(s.objective for s in found)
        self.fit_ = Fit(self.__dict__.get("theta_"), objective, None, worst.n_iter, worst.converged, history)
        if not worst.converged:
            warn_not_converged(worst.n_iter, worst.change, self.tol, stacklevel=6)

    def _chosen(self, data: BagShares) -> Any:
        """The penalty given, or the one whose fits predict the shares of held-out bags best."""
        return (
            self._walk(data, self._parts(data))[0]
            if isinstance(self.penalty, str)
            else as_penalty(self.penalty, data.values.shape[1])
        )

    def _parts(self, data: BagShares) -> Callable:
        rng = checks.generator(self.random_state)
        return _parts(data, rng.permutation(np.arange(data.n_bags) % 4))

    def _walk(self, data: BagShares, part: Callable) -> tuple[Any, float]:
        """The penalty, and the loss of held-out bags with it: not a number where there are too few to hold out."""
        if not isinstance(self.penalty, str):
            return as_penalty(self.penalty, data.values.shape[1]), np.nan
        reference = reference_shape(data.values)
        if data.n_bags < 4:
            return reference, np.nan
        losses: dict[int, float] = {}

        def visit(i):
            losses[i] = self._held_out(part, reference * STEPS[i])
            progress.step()

        def gains(i, _before):
            best = min(losses.values())
            visit(i)
            return losses[i] <= best * (1.0 - NEGLIGIBLE)

        with Progress("Penalties", len(STEPS)) as progress:
            visit(MIDDLE)
            walk(gains, MIDDLE, range(len(STEPS)))
        taken = min(losses, key=lambda i: (losses[i], abs(i - MIDDLE)))
        return reference * STEPS[taken], losses[taken]

    def _held_out(self, part: Callable, penalty) -> float:
        total = 0.0
        for fold in range(4):
            train, test = part(fold)
            theta = self.solve_shares(train, penalty).theta
            table = theta.reshape(-1, test.values.shape[1] + 1)
            total += share_loss(linear_logits(test.values, table), test) * float(test.bag_weights @ test.sizes)
        return total

    def _logits(self, bags: Bags) -> np.ndarray:
        return self._linear_logits(bags)


def _parts(data: BagShares, folds) -> Callable[[int], tuple[BagShares, BagShares]]:
    """The bags without a fold, and those in it; what was computed of them once stays with them, unless it's large."""

    def part(fold):
        return data.take(np.flatnonzero(folds != fold)), data.take(np.flatnonzero(folds == fold))

    return cache(part) if data.values.nbytes <= MAX_KEPT_BYTES else part
