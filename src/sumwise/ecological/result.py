"""What every method on margins leaves behind: cells, totals, shares, intervals, bounds, a score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise import checks
from sumwise.draws import Draws
from sumwise.ecological.kernels import LEAST
from sumwise.ecological.kernels.bounds import aggregate_bounds
from sumwise.ecological.kernels.unit_likelihood import dispersion, unit_log_density, unit_moments
from sumwise.ecological.unit_intervals import unit_intervals
from sumwise.errors import DataError, ModelWarning
from sumwise.estimate import Estimate
from sumwise.estimator import Estimator
from sumwise.fit import Fit
from sumwise.frames import by_names, to_pandas, unnamed
from sumwise.margins import Margins

AXES = ("group", "outcome")


class EcologicalEstimator(Estimator):
    """Base of the methods on `Margins`; a method supplies `fit` and `_interval`.

    Attributes
    ----------
    cells_ : ndarray of shape (n_units, R, C)
        Row shares per unit. A group without members in a unit has its overall shares there.
    total_ : ndarray of shape (R, C)
        Estimated counts over all units.
    shares_ : ndarray of shape (R, C)
        Row shares over all units: ``total_`` over the groups' sizes, so that units weigh by the group's size.
    dispersion_ : float
        How much more the units vary than multinomial draws from `shares_` would: the variance of a unit of N
        people is ``1 + dispersion_ * (N - 1)`` times as large.
    fit_ : Fit
        How the answer was reached.

    Examples
    --------
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.ecological.result import EcologicalEstimator
    >>> issubclass(Bounds, EcologicalEstimator)
    True
    """

    _learned = (
        "shares_, total_, lower_bound_, upper_bound_: real R C; cells_: real n R C; row_names_: len R; "
        "col_names_: len C; n_units_: size n; group_sizes_: float R; fit_: is Fit; "
        "denominator_?: is str; dispersion_?: is float"
    )

    uses_row_sd = False
    can_sample = True  # whether there is a probability model to draw from

    fit_: Fit

    def fit(self, margins: Margins, y: Any = None) -> EcologicalEstimator:
        """Estimate the cells of `margins`; `y` is ignored."""
        raise NotImplementedError

    def draws(self, n_draws: int = 2000, random_state: Any = 0) -> Draws:
        """Return draws of `shares_`: how sure the method is of all of them together.

        Intervals, differences, ranks and everything made of shares are read off them.

        Parameters
        ----------
        n_draws : int >= 2, default 2000
        random_state : int, Generator or None, default 0
        """
        self._fitted("shares_")
        n_draws = int(checks.at_least(n_draws, "n_draws", 2))
        values = self._drawn(n_draws, checks.generator(random_state))
        names = {"labels": (self.row_names_, self.col_names_), "axes": AXES, "name": "share"}
        return Draws(values, **names)

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), each (R, C), that cover `shares_` with probability `level`: quantiles of `draws`.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            Between 0 and 1.
        """
        self._fitted("shares_")
        low, high = self._interval(checks.fraction(level, "level"))
        return low, high

    def estimate(self, level: float = 0.95) -> Estimate:
        """Return `shares_` with names, intervals and the bounds that hold whatever the model.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
        """
        low, high = self.interval(level)
        return Estimate(
            self.shares_,
            low,
            high,
            level,
            labels=(self.row_names_, self.col_names_),
            axes=AXES,
            lower_bound=self.lower_bound_,
            upper_bound=self.upper_bound_,
            name="share",
        )

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        if not hasattr(self, "row_names_"):
            return None
        bounds = type(self).__name__ == "Bounds"
        ends = "the range that the totals imply" if bounds else "95% intervals"
        stopped = "" if self.fit_.converged else " Read with caution: the fit stopped before it converged."
        words = f"Share of every group with each outcome, over all units, with {ends} (low, high).{stopped}"
        return words, self.estimate().to_frame()

    @property
    def interval_kind(self) -> str:
        """What `interval` allows for: "contextual" effects and chance, "model only", or "bounds" that always hold."""
        return "contextual" if getattr(self, "context", False) else "model only"

    def unit_interval(self, margins: Margins, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), each (n_units, R, C), for the row shares of every unit; NaN for a group without members.

        A unit deviates from the fitted shares by chance, by `dispersion_` and by its composition; what one group
        deviates the others must make up for, and bounds hold.

        Parameters
        ----------
        margins : Margins
            The units that were fitted.
        level : float in (0, 1), default 0.95
        """
        self._fitted("cells_")
        level = checks.fraction(level, "level")
        if self.cells_.shape != (len(margins), margins.n_rows, margins.n_cols):
            raise DataError(
                f"The fit is of {len(self.cells_)} units; these margins have {len(margins)}.",
                hint="give the margins that were fitted.",
            )
        return self._unit_interval(margins, level)

    def _unit_interval(self, margins: Margins, level: float, /) -> tuple[np.ndarray, np.ndarray]:
        cells, sd, tau = self._unit_parts(margins)
        return unit_intervals(margins, cells, sd, self.dispersion_, level, tau)

    def unit_shares(self, margins: Margins) -> np.ndarray:
        """Return the row shares of every unit (n_units, R, C) that reproduce its totals: what `unit_interval` contains.

        They are `cells_`, unless a method has the same shares in every unit (`Goodman`), which totals may contradict.
        """
        self._fitted("cells_")
        return self._unit_parts(margins)[0]

    def _unit_parts(self, _margins: Margins, /) -> tuple[np.ndarray, np.ndarray, float]:
        """Row shares of units that reproduce their columns, standard deviations of overall shares and of slopes."""
        low, high = self.interval(0.95)
        return self.cells_, (high - low) / 3.92, 0.0

    def score(self, margins: Margins, y: Any = None) -> float:
        """Return the mean log-likelihood per unit of other units' column totals given their row totals.

        Every method is scored by one density, so that scores compare: the normal approximation to multinomial rows
        with the fitted `shares_`, its variance inflated by the fitted `dispersion_`.

        Parameters
        ----------
        margins : Margins
            Units with the same groups and outcomes.
        """
        self._fitted("shares_")
        shares = inside(self.shares_)
        counted = margins.totals > 0  # an empty unit says nothing
        if not counted.any():
            raise DataError(f"There is nobody in any of {len(margins)} units.", hint="score units with people.")
        density = unit_log_density(margins.rows[counted], margins.cols[counted], shares, self.dispersion_)
        return float(np.mean(density))

    def predict(self, groups: Any) -> np.ndarray:
        """Return expected outcome shares (n_units, C) of other units from the sizes of their groups.

        Parameters
        ----------
        groups : array of shape (n_units, R), data frame or Margins
            How many people of each group a unit has; columns of a frame are found by the names of the groups.
        """
        rows = self._group_counts(groups)
        whole = rows.sum(axis=1, keepdims=True)
        return np.divide(rows @ self.shares_, whole, out=np.zeros((len(rows), self.shares_.shape[1])), where=whole > 0)

    def predict_interval(
        self, groups: Any, level: float = 0.95, random_state: Any = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) of the outcome shares (n_units, C) of other units.

        The interval allows for the uncertainty of `shares_` and for how much a unit deviates from them
        (`dispersion_`).

        Parameters
        ----------
        groups : array of shape (n_units, R), data frame or Margins
        level : float in (0, 1), default 0.95
        random_state : int, Generator or None, default 0
        """
        from scipy.stats import norm

        rows = self._group_counts(groups)
        whole = np.maximum(rows.sum(axis=1), 1e-300)[:, None]
        shares = inside(self.shares_)
        within = (rows @ (shares * (1 - shares))) * (1 + self.dispersion_ * np.maximum(whole - 1, 0))
        between: Any = 0.0
        if self.can_sample:
            between = np.einsum("ir,drc->dic", rows, self.draws(400, random_state).values).var(axis=0)
        wide = norm.ppf((1 + checks.fraction(level, "level")) / 2) * np.sqrt(within + between) / whole
        mean = self.predict(rows)
        return np.clip(mean - wide, 0.0, 1.0), np.clip(mean + wide, 0.0, 1.0)

    def _group_counts(self, groups: Any) -> np.ndarray:
        self._fitted("shares_")
        if isinstance(groups, Margins):
            named = dict(zip(groups.row_names, groups.rows.T))
            groups = groups.rows if unnamed(groups.row_names) else to_pandas(named)
        rows = by_names(groups, self.row_names_, "groups")
        if rows.shape[1] != self.shares_.shape[0] or (rows < 0).any():
            raise DataError(
                f"groups has {rows.shape[1]} columns; the model has {self.shares_.shape[0]} groups.",
                hint=f"give counts of {', '.join(map(str, self.row_names_))}.",
            )
        return rows

    def _interval(self, level: float, /) -> tuple[np.ndarray, np.ndarray]:
        return self.draws().interval(level)

    def _drawn(self, _n_draws: int, _rng: np.random.Generator, /) -> np.ndarray:
        raise DataError(f"{type(self).__name__} has no probability model to draw from.", hint="use EcologicalEM().")

    def _store(self, margins: Margins, cells: np.ndarray) -> None:
        """Keep the unit cells (row shares) and everything that follows from them."""
        size = margins.rows.sum(axis=0)[:, None]
        self.total_ = np.einsum("ir,irc->rc", margins.rows, cells)
        self.shares_ = np.divide(self.total_, size, out=cells.mean(axis=0), where=size > 0)
        self.cells_ = np.where(margins.rows[:, :, None] > 0, cells, self.shares_[None])
        if margins.row_sd is not None and margins.row_sd.any() and not self.uses_row_sd:
            warnings.warn(
                f"{type(self).__name__} takes the counts by group as exact: its intervals don't include row_sd. "
                "Hint: EcologicalEM() includes it.",
                ModelWarning,
                stacklevel=4,
            )
        self.row_names_, self.col_names_ = margins.row_names, margins.col_names
        self.denominator_ = margins.denominator
        self.n_units_ = margins.n_units
        self.group_sizes_ = margins.rows.sum(axis=0)
        self.lower_bound_, self.upper_bound_ = aggregate_bounds(margins.rows, margins.cols)
        groups, outcomes = margins.rows.any(axis=0), margins.cols.any(axis=0)  # the others have no votes to vary
        shares = inside(self.shares_[groups][:, outcomes])
        distance, _, rank = unit_moments(margins.rows[:, groups], margins.cols[:, outcomes], shares)
        used = min(shares.shape[0] * (shares.shape[1] - 1), rank.sum() / 2)
        self.dispersion_ = dispersion(distance, rank, margins.totals, float(used))


def anywhere(
    drawn: np.ndarray, unidentified: np.ndarray, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draws (n, R, C) in which groups that units can't identify have any share inside the bounds."""
    if not unidentified.any():
        return drawn
    found = rng.uniform(np.maximum(lower, 1e-9), np.maximum(upper, 2e-9), drawn.shape)
    return np.where(unidentified[:, None], found / found.sum(axis=2, keepdims=True), drawn)


def drawn_again(draws: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """`n_draws` of the draws in a random order, each as often as any other, so that the mean stays."""
    return draws[rng.permutation(len(draws))[np.arange(n_draws) % len(draws)]]


def inside(shares: np.ndarray) -> np.ndarray:
    """Shares moved off 0 and 1 (and onto the simplex, which regressions can leave), for a density.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.result import inside
    >>> inside(np.array([[1.1, -0.1]])).round(3)
    array([[1., 0.]])
    """
    kept = np.clip(shares, LEAST, None)  # a share of 0 would make any vote for it impossible
    return kept / kept.sum(axis=1, keepdims=True)


def fresh(est: Any, **parameters: Any) -> Any:
    """An unfitted copy of an estimator, with some parameters changed."""
    made: Any = clone(est)
    return made.set_params(**parameters)
