"""Goodman: ecological regression."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sumwise import checks
from sumwise.ecological.identification import (
    UNKNOWN,
    check_identified,
    copied_units,
    counted_units,
    unidentified_groups,
)
from sumwise.ecological.kernels import least_squares as ls
from sumwise.ecological.kernels.raking import rake
from sumwise.ecological.result import EcologicalEstimator, anywhere, inside
from sumwise.errors import ModelWarning
from sumwise.fit import Fit, warn_not_converged
from sumwise.margins import Margins

OUTSIDE = 1e-9
# One unit's part of all weight, where there are others enough, from which its own error dominates. By its part, 95%
# intervals with as many degrees of freedom as units cover .95 at a quarter, .93 at .3 and .89 at .4 (150 units, 200
# draws; "largest unit" in benchmarks/results/ecological_simulated.json); with those by group .98, .98 and .97.
LARGE = 0.3
MAX_UNITS_FOR_FREEDOM = 1000  # units, the heaviest, that degrees of freedom are computed from


@dataclass(eq=False, repr=False)
class Goodman(EcologicalEstimator):
    """Goodman's ecological regression (1953): column shares on row shares, one set of shares for all units.

    It assumes that a group's shares don't depend on the unit's composition. Nothing keeps the plain fit in [0, 1];
    it warns when it leaves, and ``constrained=True`` is the best fit inside. Cells are the same in every unit, so
    that they don't reproduce each unit's column totals; `EcologicalEM` does.

    Parameters
    ----------
    weighting : {"size", "equal"}, default "size"
        Units count by their total, or equally; times their weights either way.
    alpha : float >= 0, default 0.0
        Ridge: pulls every group towards the overall column shares, with the strength of a fraction `alpha` of the
        mean group's weight.
    constrained : bool, default False
        Keep every group's shares in [0, 1], summing to 1; intervals are the plain fit's, cut at 0 and 1.

    Attributes
    ----------
    standard_errors_ : ndarray of shape (R, C)
        By the textbook, with large units that repeat another's counts taken as one; where a few units have most of the
        weight, at least those that hold whatever the units' variances (HC3).
    freedom_by_group_ : ndarray of shape (R,)
        Degrees of freedom of intervals; where one unit has much of the weight, those of HC3 (Bell and McCaffrey 2002).
    group_correlation_ : ndarray of shape (R, R)
        Correlations of the groups' errors: a group that is estimated too high makes another too low.
    unidentified_ : ndarray of shape (R,)
        Whether the units can't identify a group's shares; its intervals are the bounds.
    outside_ : list of (group, outcome, share)
        Estimates outside [0, 1].

    See Also
    --------
    EcologicalEM : Who chose what, for R x C tables: an EM whose every step rakes each unit to both of its margins.
    Bounds : The method of bounds (Duncan and Davis 1953): the range in which each cell must lie, whatever the model.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import Goodman
    >>> m = Margins([[80, 20], [30, 70], [50, 50], [10, 90]], [[68, 32], [43, 57], [52, 48], [31, 69]])
    >>> Goodman().fit(m).shares_.round(3)
    array([[0.785, 0.215], [0.263, 0.737]])
    """

    _learned = (
        "residual_covariance_: real C C; freedom_by_group_: real R; unidentified_: bool R; "
        "standard_errors_: real R C; group_correlation_: real R R; freedom_: number; outside_: is list"
    )

    weighting: str = "size"
    alpha: float = 0.0
    constrained: bool = False

    def fit(self, margins: Margins, y: Any = None) -> Goodman:
        """Regress the column shares of `margins` on the row shares; `y` is ignored."""
        check_identified(margins)
        checks.choice(self.weighting, "weighting", ("size", "equal"))
        checks.at_least(self.alpha, "alpha", 0, whole_number=False)
        full = counted_units(margins)
        x, t = full.row_shares, full.col_shares
        weights = full.weights * (full.totals if self.weighting == "size" else 1.0)
        weights = weights / weights.mean()
        large = self._warn_of_large(full, weights)
        xx, xt = ls.gram(x, t, weights)
        penalty = self.alpha * float(np.trace(xx)) / len(xx)
        centre = np.average(t, axis=0, weights=weights)
        free = ls.free_shares(xx, xt, penalty, centre)
        number = copied_units(full)
        self.freedom_ = len(np.unique(number)) - margins.n_rows
        errors, self.residual_covariance_ = ls.residual_covariance(x, t, weights, free, penalty, self.freedom_)
        if _uneven(weights):
            errors = np.maximum(errors, ls.robust_errors(x, t, weights, free, penalty))
        self.freedom_by_group_ = np.full(margins.n_rows, max(self.freedom_, 1.0))
        if large:
            heaviest = np.argsort(-weights)[:MAX_UNITS_FOR_FREEDOM]
            by_group = ls.robust_freedom(x[heaviest], weights[heaviest], penalty)
            self.freedom_by_group_ = np.clip(by_group, 1.0, self.freedom_by_group_)
        self.unidentified_ = unidentified_groups(full.rows) | (self.freedom_ < 1)
        self.standard_errors_ = np.where(self.unidentified_[:, None], UNKNOWN, errors)
        self.group_correlation_ = ls.coefficient_correlation(xx, penalty)
        shares = self._solve(xx, xt, penalty, centre) if self.constrained else free
        self._record(shares, margins)
        self._store(margins, np.broadcast_to(shares, (margins.n_units, *shares.shape)).copy())
        if not self.constrained:
            loss = float(np.sum(weights[:, None] * (t - x @ shares) ** 2))
            self.fit_ = Fit(objective=loss, n_iter=1, converged=True, history={"objective": [loss]})
        return self

    def _warn_of_large(self, full: Margins, weights: np.ndarray) -> bool:
        """Warn where one unit weighs so much that residuals of the others don't show its error; returns whether."""
        i, share = int(np.argmax(weights)), float(weights.max() / weights.sum())
        if not (share > LARGE and _uneven(weights)):
            return False
        warnings.warn(
            f"Unit {str(full.units[i])!r} has {share:.0%} of the weight of {len(weights)} units: what it alone "
            "deviates by moves the estimate, and intervals are wide for it. Hint: EcologicalEM(), or split it.",
            ModelWarning,
            stacklevel=3,
        )
        return True

    def _solve(self, xx, xt, penalty, centre) -> np.ndarray:
        tol = 1e-9
        solution = ls.simplex_shares(xx, xt, penalty, centre, tol=tol)
        converged = solution.change < tol
        if not converged:
            warn_not_converged(solution.n_iter, solution.change, tol, hint="raise alpha: the groups hardly differ.")
        self.fit_ = Fit(
            objective=float(solution.objectives[-1]),
            n_iter=solution.n_iter,
            converged=converged,
            history={"objective": solution.objectives},
        )
        return solution.shares

    def _record(self, shares: np.ndarray, margins: Margins) -> None:
        bad = np.argwhere((shares < -OUTSIDE) | (shares > 1 + OUTSIDE))
        self.outside_ = [(margins.row_names[r], margins.col_names[c], float(shares[r, c])) for r, c in bad]
        if self.outside_:
            group, outcome, share = max(self.outside_, key=lambda cell: abs(cell[2] - 0.5))
            warnings.warn(
                f"Goodman's estimate leaves [0, 1] in {len(bad)} of {shares.size} cells. Farthest: {group!r} has "
                f"{share:.3f} for {outcome!r}. Hint: constrained=True fits inside [0, 1].",
                ModelWarning,
                stacklevel=3,
            )

    def _unit_parts(self, margins: Margins) -> tuple[np.ndarray, np.ndarray, float]:
        shares, sd = inside(self.shares_), np.maximum(self.standard_errors_, 1e-6)
        low, high = -self.shares_ / sd, (1 - self.shares_) / sd  # a share at 0 or beyond would be 0 in every unit
        shares = inside(stats.truncnorm(np.minimum(low, 8.0), np.maximum(high, -8.0)).mean() * sd + self.shares_)
        return rake(np.array(margins.rows), np.array(margins.cols), np.log(shares)), sd, 0.0

    def _interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        half = stats.t.ppf(0.5 + level / 2, self.freedom_by_group_)[:, None] * self.standard_errors_
        low, high = self.shares_ - half, self.shares_ + half
        if self.constrained:
            low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
        unknown = self.unidentified_[:, None]  # a regression may leave the bounds
        low = np.where(unknown, np.minimum(self.lower_bound_, self.shares_), low)
        return low, np.where(unknown, np.maximum(self.upper_bound_, self.shares_), high)

    def _drawn(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        spread = self.residual_covariance_
        values, vectors = np.linalg.eigh(spread / max(float(np.trace(spread)), 1e-300))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        scale = np.sqrt(np.sum(self.standard_errors_**2, axis=1))
        z = rng.standard_normal((n_draws, *self.shares_.shape))
        groups, parts = np.linalg.eigh(self.group_correlation_)
        z = np.einsum("rs,nsc->nrc", parts * np.sqrt(np.maximum(groups, 0.0)), z)
        freedom = self.freedom_by_group_[:, None]
        squares = stats.chi2.ppf(rng.uniform(size=(n_draws, 1, 1)), freedom)  # all groups share the residuals
        z *= np.sqrt(freedom / squares)  # the t distribution's tails
        drawn = self.shares_ + scale[:, None] * (z @ root.T)
        if self.constrained:
            drawn = np.clip(drawn, 1e-9, 1.0)
            drawn /= drawn.sum(axis=2, keepdims=True)
        return anywhere(drawn, self.unidentified_, self.lower_bound_, self.upper_bound_, rng)


def _uneven(weights: np.ndarray) -> bool:
    """Whether a few units have most of the weight: the effective number is below half of theirs."""
    return float(weights.sum() ** 2 / np.sum(weights**2)) < len(weights) / 2
