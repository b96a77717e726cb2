"""MaxEntRegressor: expected amounts of individuals (revenue, visits) from tables of counts and sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sumwise import checks, frames
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.fit import Fit, warn_not_converged
from sumwise.maxent.amounts import amount_range, as_binary
from sumwise.maxent.bootstrap import standing_rows
from sumwise.maxent.effect_sizes import Amounts, effect_sizes
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.kernels.amount_glm import FAMILIES, Drawing, Targets, drawn_errors, fit_glm
from sumwise.maxent.kernels.loglinear import term_scores
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.maxent.max_ent import MaxEntClassifier
from sumwise.maxent.sufficient_statistics import SufficientStatistics, parts_of
from sumwise.maxent.thinning import drawn_noise, drawn_totals, spread_totals
from sumwise.tables import Tables

ROWS = 40_000  # drawn from the model of x where its joint table is too large to go through
DRAWS = 40  # of the parameters' errors, for intervals
ROUNDS = 3  # of estimating the dispersion and fitting again


@dataclass(eq=False, repr=False)
class MaxEntRegressor(Estimator):
    """Expected amount of an individual, from tables of counts and of sums of the amount.

    The distribution of features x is the maximum entropy model of `MaxEntClassifier`, fitted to the tables with the
    scaled amount as label. On it, E[y | x] = g(offset + phi(x) . theta) is a generalised linear model, phi marking the
    cells that x falls in: its sums over every cell are those of the tables, apart from penalties.

    Parameters
    ----------
    family : {"auto", "poisson", "gaussian"}, default "auto"
        "poisson": counts and other amounts that are never negative (logarithmic link; their variance is proportional to
        the mean). "gaussian": amounts of any sign (identity link, one variance). "auto" takes "poisson" where the range
        of the amounts starts at 0 or above.
    penalty_theta : float or sequence of float, optional
        L2 penalty on theta, for tables of one attribute, of two, and so on, for amounts of variance 1 (Gaussian), or on
        the logarithmic scale (Poisson). Default: 1 / (2 v) with v the variance of the effects of levels, and of pairs
        beyond those of their levels: the posterior mean given the tables, their sampling and their noise.
    model : MaxEntClassifier, optional
        Settings of the model of x; default: its defaults.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    theta_ : ndarray of shape (P,)
    offset_ : float
    mean_ : float
        Mean amount over the rows that were counted.
    dispersion_ : float
        Variance of an amount given x (Gaussian), or that over its mean (Poisson; 1 where tables have no squares).
    family_ : str
        "poisson" or "gaussian".
    penalty_theta_ : tuple
    draws_ : ndarray of shape (40, P + 1)
        Drawn errors of theta and the offset, for `predict_interval`.
    fit_ : Fit

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent import MaxEntRegressor, amount_tables
    >>> rng = np.random.default_rng(0)
    >>> rows = {"age": rng.integers(0, 3, 4000), "city": rng.integers(0, 2, 4000)}
    >>> rows["visits"] = rng.poisson(1.0 + rows["age"] * rows["city"])
    >>> tables = amount_tables(rows, ["age", "city"], "visits", 0, 20)
    >>> model = MaxEntRegressor(random_state=0).fit(tables)
    >>> model.predict({"age": [0, 2], "city": [1, 1]}).round(1)
    array([1. , 2.9])
    """

    family: str = "auto"
    penalty_theta: Any = None
    model: MaxEntClassifier | None = None
    random_state: Any = None

    @classmethod
    def _migrated(cls, attributes: dict[str, Any]) -> dict[str, Any]:
        """Models of earlier versions have the family that they were asked for."""
        return {"family_": attributes["family"], **attributes} if "x_model_" in attributes else attributes

    def fit(self, tables: Any, y: None = None) -> MaxEntRegressor:
        """Learn from tables of an amount, as `amount_tables` counts them.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Several are parts of the data, whose sums are added up.
        y : None
            Amounts are in the tables.
        """
        from sklearn.base import clone

        checks.choice(self.family, "family", ("auto", *FAMILIES))
        if y is not None:
            raise DataError("fit takes tables, whose label sums hold the amounts.", hint="leave y out.")
        parts = parts_of(tables)
        ranges = {amount_range(t) for t in parts}
        if len(ranges) > 1:
            raise DataError(
                f"Parts have amounts of {len(ranges)} ranges.", hint="count all with the same low and high."
            )
        low, high = ranges.pop()
        if self.family == "poisson" and low < 0:
            raise DataError(
                f"Amounts go down to {low:g}; those of family 'poisson' are never negative.", hint="use 'gaussian'."
            )
        self.family_ = ("gaussian" if low < 0 else "poisson") if self.family == "auto" else self.family
        rng = checks.generator(self.random_state)
        of_x: Any = MaxEntClassifier() if self.model is None else clone(self.model)
        binary = [as_binary(t) for t in parts]
        of_x.set_params(random_state=int(rng.integers(2**31))).fit(binary)
        self.x_model_, self.range_ = of_x, (low, high)
        self.domain_, self.encoding_, self.label_, self.n_ = parts[0].domain, parts[0].encoding, parts[0].label, of_x.n_
        stats = of_x.statistics(binary, shared=all(t.by_class for part in parts for t in part))
        self._learn(of_x.model_, stats, _mean_square(parts, low, high), rng)
        return self

    def _learn(self, model: LogLinearModel, stats: SufficientStatistics, squares: Any, rng: Any) -> None:
        low, lay, width = self.range_[0], stats.layout, self.range_[1] - self.range_[0]
        rows, shares = standing_rows(model, model.draw(ROWS, rng)[0])
        design = cell_design(lay, rows)
        weights = stats.n * shares
        here = design.T @ weights
        mean = self.mean_ = low + width * float(stats.shares[1])
        seen = stats.seen.counts * stats.seen.sums[0] * lay.own_places() > 0
        observed = low * stats.data.counts + width * stats.data.sums[0]
        rate = np.full(lay.n_params, mean)  # of every cell: rows have too many or too few of it
        noise = width**2 * stats.noise_per_count(stats.shares[1:, None])[0]
        counted = np.maximum(here, 1.0)
        variance = self._variance(squares, mean)
        unit = variance if self.family_ == "gaussian" else 1.0
        priors = self._prior(stats, Amounts(low, width, mean, variance, noise), rng) / unit
        priors = np.where(seen[:, None], priors, 1e6 / unit)
        prior = priors[:, 0]
        dispersion, start = (variance if self.family_ == "gaussian" else 1.0), None
        kind: Any = FAMILIES[self.family_]
        losses: list[float] = []  # by round: the dispersion changes in between
        theta, offset, loss, n_iter, done, penalty = np.zeros(lay.n_params), mean, np.inf, 0, False, prior
        for _ in range(ROUNDS):
            spread = dispersion * counted * (1.0 if self.family_ == "gaussian" else mean)  # sampling variance of a sum
            penalty = prior * (1.0 + noise / spread)
            sums = np.where(seen, observed + rate * (here - stats.data.counts), rate * here)
            targets = Targets(sums, mean * stats.n, penalty)
            theta, offset, loss, n_iter, done = fit_glm(design, weights, targets, self.family_, dispersion, start)
            start = theta, offset
            losses.append(loss)
            fitted = kind.mean(design @ theta + offset)
            dispersion = self._dispersion(squares, mean, fitted, shares)
            rate = np.where(here > 0, (design.T @ (weights * fitted)) / np.maximum(here, 1e-9), mean)
        self.theta_, self.offset_, self.dispersion_ = theta, offset, dispersion
        self.fit_ = Fit(objective=loss, n_iter=n_iter, converged=done, history={"objective": losses})
        if not done:
            warn_not_converged(n_iter, float("nan"), 1e-6, stacklevel=5)
        noises = self._drawn_noise(stats, rate, seen, rng) / dispersion
        outcome = weights * kind.variance(design @ theta + offset) / dispersion
        self.draws_ = drawn_errors(design, Drawing(outcome, penalty, priors[:, 1:], noises), rng)

    def _drawn_noise(self, stats: SufficientStatistics, rate: np.ndarray, seen: np.ndarray, rng: Any) -> np.ndarray:
        """Draws (P + 1, draws) of the noise of the sums, compared per count, and of their total."""
        low, width = self.range_[0], self.range_[1] - self.range_[0]
        drawn = [drawn_noise(stats, rng) for _ in range(DRAWS)]
        off = np.stack([width * m.sums[0] - (rate - low) * m.counts for m in drawn], axis=1)
        totals = np.stack([drawn_totals(stats, rng) for _ in range(DRAWS)], axis=1)  # (1, draws)
        off = width * spread_totals(stats.layout, np.ones(1)).T * totals + off
        return np.vstack([off * seen[:, None], width * totals])

    def _prior(self, stats: SufficientStatistics, given: Amounts, rng: np.random.Generator) -> np.ndarray:
        """Penalties (P, 1 + draws) of theta, for amounts of variance 1 or on the logarithmic scale: as trained with,
        and as drawn from what the tables say of the variance of effects."""
        if self.penalty_theta is None:
            unit = given.variance if self.family_ == "gaussian" else given.mean**2
            found = [effect_sizes(stats, given, k, unit) for k in (1, 2)]
            by_order = np.stack([0.5 / np.append(f.mean, f.draw(DRAWS, rng)) for f in found])
        else:
            asked = self.penalty_theta if np.ndim(self.penalty_theta) else [self.penalty_theta]
            one = np.array([float(checks.positive(p, "penalty_theta")) for p in asked])
            by_order = np.repeat(one[:, None], 1 + DRAWS, axis=1)
        self.penalty_theta_ = tuple(by_order[:, 0].tolist())
        return stats.layout.by_order(by_order)

    def _variance(self, squares: tuple[float, float] | None, mean: float) -> float:
        """Variance of all amounts; where noise hides it, a standard error more, so that intervals aren't too short."""
        if self.family_ == "poisson":
            own = mean + 1e-12  # of a Poisson count: the squares decide as far as their noise allows
            if squares is None:
                return own
            sure = own**2 / (own**2 + squares[1])
            return max(sure * (squares[0] - mean**2) + (1 - sure) * own, 0.1 * own)
        if squares is None:
            raise DataError("Family 'gaussian' needs sums of squares.", hint="count with squares=True.")
        return max(squares[0] - mean**2, 0.0) + np.sqrt(squares[1]) + 1e-12

    def _dispersion(self, squares: Any, mean: float, fitted: np.ndarray, shares: np.ndarray) -> float:
        """The variance of amounts given x: the total variance less that of the fitted means."""
        if squares is None:
            return 1.0
        variance, explained = self._variance(squares, mean), float(shares @ (fitted - shares @ fitted) ** 2)
        if self.family_ == "gaussian":
            return max(variance - explained, 0.05 * variance)
        own = mean + 1e-12
        sure = own**2 / (own**2 + squares[1])  # else 1, that of Poisson counts
        return max(sure * (squares[0] - mean**2 - explained) / own + (1 - sure), 0.1)

    def _linear_predictor(self, frame: Any, theta: np.ndarray) -> np.ndarray:
        """Linear predictors (n, C) of individuals, without the offset, for theta (C, P)."""
        model = self.x_model_.model_
        return term_scores(model.layout, model.schema.codes(frame), theta)

    def predict(self, frame: Any) -> np.ndarray:
        """Return the expected amount of individuals, (n_rows,).

        Parameters
        ----------
        frame : data frame of individuals
            Where a value is missing, or a level that no table has, the feature's terms drop out.
        """
        self._fitted("theta_")
        kind: Any = FAMILIES[self.family_]
        return kind.mean(self.offset_ + self._linear_predictor(frame, self.theta_[None])[:, 0])

    def predict_interval(self, frame: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the low and high ends of the expected amounts, each (n_rows,).

        They account for the sampling of individuals, the noise of tables and shrinkage, not for effects of three
        attributes together that no table shows. They are for the expected amount, not for one person's.

        Parameters
        ----------
        frame : data frame of individuals
        level : float in (0, 1), default 0.95
        """
        self._fitted("draws_")
        kind: Any = FAMILIES[self.family_]
        middle = self.offset_ + self._linear_predictor(frame, self.theta_[None])[:, 0]
        errors = self._linear_predictor(frame, self.draws_[:, :-1]) + self.draws_[:, -1]
        student = float(stdtrit(len(self.draws_), 0.5 + checks.fraction(level, "level") / 2))
        half = student * np.sqrt(np.mean(errors**2, axis=1))
        return kind.mean(middle - half), kind.mean(middle + half)

    def score(self, frame: Any, amounts: Any) -> float:
        """Return R squared of the expected amounts on individuals.

        Parameters
        ----------
        frame : data frame of individuals
        amounts : sequence of numbers
        """
        y = frames.numeric(frames.to_pandas({"amount": amounts}, ["amount"]), ["amount"], "amounts")[:, 0]
        off = y - self.predict(frame)
        return float(1.0 - np.sum(off**2) / np.sum((y - y.mean()) ** 2))

    def level_means(self, level: float = 0.95) -> Any:
        """Return the expected amount at every level of every attribute, averaged over the other attributes.

        Parameters
        ----------
        level : float in (0, 1), default 0.95

        Returns
        -------
        pandas.DataFrame
            Columns ``attribute``, ``level``, ``count``, ``mean``, ``low``, ``high``.
        """
        import pandas as pd

        self._fitted("theta_")
        model, rng = self.x_model_.model_, np.random.default_rng(0)
        rows, shares = standing_rows(model, model.draw(ROWS, rng)[0])
        kind: Any = FAMILIES[self.family_]
        middle = self.offset_ + term_scores(model.layout, rows, self.theta_[None])[:, 0]
        errors = term_scores(model.layout, rows, self.draws_[:, :-1]) + self.draws_[:, -1]
        slope, fitted = kind.variance(middle), kind.mean(middle)
        student = float(stdtrit(len(self.draws_), 0.5 + checks.fraction(level, "level") / 2))
        lines = []
        for a, name in enumerate(model.schema.domain.attributes):
            for k, value in enumerate(model.schema.domain.levels(name)):
                weight = shares * (rows[:, a] == k)
                mass = float(weight.sum())
                if mass > 0:
                    mean = float(weight @ fitted) / mass
                    half = student * float(np.sqrt(np.mean(((weight * slope) @ errors / mass) ** 2)))
                    lines.append((name, str(value), mass * self.n_, mean, mean - half, mean + half))
        return pd.DataFrame(lines, columns=["attribute", "level", "count", "mean", "low", "high"])


def _mean_square(parts: list[Tables], low: float, high: float) -> tuple[float, float] | None:
    """Mean of the squared amounts over all tables that have squares, and the variance that noise gives it."""
    width, found = high - low, []
    for part in parts:
        for t in part:
            if t.label_sums is not None and t.label_sums.ndim > t.counts.ndim and not np.isnan(t.label_sums).any():
                rest, spread, square = t.label_totals
                n = rest + spread + square
                mean = (spread + square) / n
                value = low**2 + 2 * low * width * mean + width**2 * square / n
                noise = float(np.mean(t.noise_of_sums.variance(np.zeros(1)))) * t.n_cells * (width**2 / n) ** 2
                found.append((value, n, noise))
    if not found:
        return None
    values, sizes, noises = np.array(found).T
    share = sizes / sizes.sum()
    return float(share @ values), float(share**2 @ noises)
