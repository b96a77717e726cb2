"""EcologicalEM: the fast default for tables of any size."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.contests import Contests
from sumwise.ecological.contextual_error import ContextualError, contextual_error, draw_tables
from sumwise.ecological.identification import check_identified, relative_weights, typical_size
from sumwise.ecological.kernels import BLOCK, LEAST
from sumwise.ecological.kernels.batched_raking import MANY_CONTESTS, compiled_kernels
from sumwise.ecological.kernels.classic_em import ALGORITHMS
from sumwise.ecological.kernels.covariate_em import covariate_shares
from sumwise.ecological.kernels.entropic_em import RakingProblem, SharesSolution, common_shares
from sumwise.ecological.kernels.measurement_error import calibrated_rows, noise_covariances
from sumwise.ecological.kernels.newton_em import newton_inverse, newton_shares
from sumwise.ecological.kernels.pooling import cells_of_table, rake_table
from sumwise.ecological.kernels.raking import rake
from sumwise.ecological.kernels.unit_likelihood import dispersion
from sumwise.ecological.pooling import ALONE, PooledContest, pool
from sumwise.ecological.result import EcologicalEstimator, fresh
from sumwise.errors import DataError, ModelWarning, UnknownName
from sumwise.fit import Fit, warn_not_converged
from sumwise.margins import Margins
from sumwise.progress import track

# Power of the units' inflation of variance that multiplies the determinant: 0 were right if units differ because their
# shares do, 1 if votes were correlated by chance. Mean index of Scotland and New Zealand 7.8, 6.3 at 0; 6.5, 6.6 at .5.
DETERMINANT = 0.25
COMPOSED = 0.99  # R squared of a covariate on composition: in simulations intervals hold up to .95 and in .86 at .99
DOUBT = 0.5  # of the correction for noisy counts: a stated row_sd may be wrong by about a quarter
UNRELIABLE = 0.2  # part of a group's variation between units that is not noise, below which a fit warns


class _Data(NamedTuple):
    rows: np.ndarray
    cols: np.ndarray
    weight: np.ndarray
    row_sd: np.ndarray | None = None
    covariates: np.ndarray | None = None  # standardised

    def some(self, chosen: np.ndarray, as_all: bool = False) -> _Data:
        """Some of the units; they weigh as much as all where asked to, so that the prior doesn't weigh more."""
        parts: Any = (None if part is None else part[chosen] for part in self)
        data = _Data(*parts)
        return data._replace(weight=data.weight * len(self.rows) / len(data.rows)) if as_all else data


@dataclass(eq=False, repr=False)
class EcologicalEM(EcologicalEstimator):
    """Who chose what, for R x C tables: an EM whose every step rakes each unit to both of its margins.

    It finds the row shares that need the least distortion, unit by unit, to reproduce the column totals. Three
    things set it apart from the multinomial EM that it starts from. Large units count less where units vary more than
    multinomial draws do, by as much as they are found to. The determinant of the likelihood, which raking alone
    leaves out, keeps estimates from being too flat. And a small pseudo-count keeps cells from vanishing, which those
    of real tables don't.

    Cells lie in the bounds and add up to both margins of every unit. Intervals come from a model: chance, and groups
    whose shares vary with the composition of their unit by slopes with a prior from real contests, integrated out in
    closed form (`contextual_error`). Where units are few or have similar composition, intervals are about as wide as
    the bounds.

    Parameters
    ----------
    method : {"entropic", "multinomial", "normal"}, default "entropic"
        Ours, or the two classic algorithms for comparison (raked to the margins at the end).
    prior : float, default 1.0
        Pseudo-count per cell: how many people's worth of data the prior counts for.
    max_iter : int >= 1, default 500
    tol : float > 0, default 1e-4
        Largest change of a share in a step at which to stop.
    correction : {"auto", True, False}, default "auto"
        For several contests: whether to correct pooled tables by what was learned on elections whose split votes were
        counted. ``"auto"`` does so where there are at least ten contests that look like those.
    covariates : {"all"}, list of str or None, default None
        Covariates of the margins that shares depend on, by a multinomial logit whose slopes all groups share. It
        corrects for aggregation bias that they explain: groups that live where an outcome is popular with everybody
        are otherwise taken to prefer it.
    context : bool, default True
        Whether intervals allow for groups that behave differently from place to place, which margins hardly show.
        Without it they allow for chance alone, and are marked "model only": use this only if your covariates explain
        all aggregation bias.
    row_error : {"classical", "berkson", "uncorrected"}, default "classical"
        Which kind of error ``row_sd`` is. Classical: counts are the truth plus noise, as from a survey or with noise
        for disclosure avoidance, and more different between units than the true ones are; the fit is to the expected
        counts by group given the observed ones (regression calibration). Berkson: the truth varies around the counts,
        as around sums of voters' probabilities (`uncertain_margins`) or an area's mean given to all of its units;
        nothing is attenuated, and intervals alone allow for it. Uncorrected: as classical, but fitted to the counts as
        they are: differences between groups are underestimated (attenuation), and intervals include that.

    Attributes
    ----------
    common_shares_ : ndarray of shape (R, C)
        The shares that all units are distorted from.
    overdispersion_ : float
        How much more units vary than multinomial draws: the variance of a unit of N people is ``1 + overdispersion_ *
        (N - 1)`` times as large.
    standard_errors_ : ndarray of shape (R, C)
        Of `shares_`: chance, contextual effects and errors of the groups' counts.
    slope_deviation_ : float
        How much groups' shares are taken to vary with composition, in units of sqrt(p (1 - p)) per unit of composition:
        a prior from contests whose cells were counted, widened where outcomes are curved in composition.
    newton_inverse_ : ndarray of shape (R * C, R * C)
        With thousands of units: the factor of the Newton steps that the fit took, learned on some of them.
    row_reliability_ : ndarray of shape (R,)
        Where margins have ``row_sd``: the part of each group's variation between units that is not noise.
    slopes_ : ndarray of shape (k, C)
        With covariates: the change of the log shares, centred over outcomes, per standard deviation of each;
        ``common_shares_`` are those at the mean covariates.
    contests_ : dict of id to EcologicalEM
        After ``fit(contests)``: the fit of each contest, also as ``est["id"]``.
    pooling_ : str
        How a contest of several was estimated: "alone", "pooled", or "pooled and corrected".
    pooling_strength_ : float
        The weight that the other contests of its election had, chosen on held-out units: 0 where they have nothing in
        common, NaN where the correction took its place.
    alone_ : ndarray of shape (R, C)
        What the contest's shares would be without the others.

    Notes
    -----
    Contests of one election are similar in their log lifts, log P(outcome | group) - log P(outcome): pooling moves each
    contest's lifts towards the median of the others and keeps its margins.

    See Also
    --------
    King : King's ecological inference (1997): each group's shares are normal across units, truncated to [0, 1].
    MultinomialDirichlet : The hierarchical model of Rosen, Jiang, King and Tanner (2001): multinomial rows, Dirichlet
        shares across units.
    Goodman : Goodman's ecological regression (1953): column shares on row shares, one set of shares for all units.
    Bounds : The method of bounds (Duncan and Davis 1953): the range in which each cell must lie, whatever the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.multinomial(500, [0.3, 0.7], 40) + rng.integers(0, 200, (40, 2))
    >>> votes = [[rng.multinomial(a, [0.7, 0.2, 0.1]), rng.multinomial(b, [0.1, 0.5, 0.4])] for a, b in rows]
    >>> m = Margins(rows, np.sum(votes, axis=1), row_names=["young", "old"], col_names=["A", "B", "C"])
    >>> est = EcologicalEM().fit(m)
    >>> bool(np.abs(est.shares_ - [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]).max() < 0.1)
    True
    >>> bool(np.abs(est.total_.sum(axis=0) - m.cols.sum(axis=0)).max() < 1e-6)
    True
    """

    _learned = (
        "common_shares_, standard_errors_?, error_scale_?, error_shift_?: real R C; "
        "error_weights_?: float e; error_covariances_?: float e a a; overdispersion_?, slope_deviation_?: is float"
    )

    uses_row_sd = True

    method: str = "entropic"
    prior: float = 1.0
    max_iter: int = 500
    tol: float = 1e-4
    correction: str = "auto"
    covariates: Any = None
    context: bool = True
    row_error: str = "classical"

    def _check_rebuilt(self) -> None:
        if "contests_" not in vars(self):  # each of them is checked by itself
            super()._check_rebuilt()

    def fit(self, margins: Margins | Contests, y: Any = None) -> EcologicalEM:
        """Estimate the cells of `margins`, or of each of several contests; `y` is ignored."""
        self._check()
        if isinstance(margins, Contests):
            return self._fit_contests(margins)
        check_identified(margins)
        typical = typical_size(margins)
        if typical <= 1:
            warnings.warn(
                f"A typical unit has {typical:.3g} people. These counts are taken as people, of whom a unit that small "
                "says next to nothing: estimates are pulled together and can be far off. Hint: give counts of people, "
                "not shares.",
                ModelWarning,
                stacklevel=2,
            )
        vars(self).pop("slopes_", None)  # refits of groups start from this fit's slopes, never from an earlier one's
        data = self._data(margins)
        expected = self._expected(data)
        counted = expected.some(counted_order(data))
        if self.method == "entropic":
            shares, converged, change = self._fit_entropic(counted)
        else:
            shares, converged, change = self._fit_classic(counted)
        if not converged:
            warn_not_converged(self.fit_.n_iter, change, self.tol)
        self.common_shares_ = shares
        cells = rake(expected.rows, data.cols, _log(shares))
        if expected is not data:
            self._warn_of_noise(margins, data)
            cells = _with_rows(data, _totals(expected, cells))
        self._store(margins, cells)
        self._store_errors(data.some(counted_order(data)))
        return self

    def _expected(self, data: _Data) -> _Data:
        """The data with expected counts by group in place of noisy ones."""
        if self.row_error != "classical" or data.row_sd is None or not data.row_sd.any():
            return data
        return data._replace(rows=calibrated_rows(data.rows, data.row_sd, data.weight, data.covariates).rows)

    def _warn_of_noise(self, margins: Margins, data: _Data) -> None:
        assert data.row_sd is not None
        done = calibrated_rows(data.rows, data.row_sd, data.weight, data.covariates)
        self.row_reliability_ = done.reliability
        worst = int(np.argmin(done.reliability))
        if done.reliability[worst] < UNRELIABLE:
            real = max(float(done.reliability[worst]), 0.0)
            warnings.warn(
                f"By row_sd, {1 - real:.0%} of how {margins.row_names[worst]!r} varies between units is noise: what it "
                "chose can hardly be estimated. Hint: check row_sd, or merge the group with another.",
                ModelWarning,
                stacklevel=3,
            )

    def __getitem__(self, key: Any) -> EcologicalEM:
        """Return the fit of one contest, after ``fit(contests)``."""
        fits = self._fitted("contests_").contests_
        if key not in fits:
            raise UnknownName(
                f"There is no contest {key!r}.", hint=f"there are {len(fits)}; first {next(iter(fits))!r}."
            )
        return fits[key]

    def _fitted(self, *names: str) -> Any:
        if "shares_" in names and "contests_" in vars(self):
            raise DataError(
                f"This is a fit of {len(self.contests_)} contests.", hint='ask one of them: est["id"].interval(0.95).'
            )
        return super()._fitted(*names)

    def _fit_contests(self, contests: Contests) -> EcologicalEM:
        if self.correction is True and self.method != "entropic":
            raise DataError("The correction was learned for method='entropic'.", hint="correction=False.")
        with compiled_kernels(len(contests) >= MANY_CONTESTS):
            fits = {key: fresh(self).fit(contests[key]) for key in track(list(contests), "Contests")}
            pooled = pool(contests, fits, self.correction if self.method == "entropic" else False)
            for key, part in pooled.items():
                EcologicalEM._take(fits[key], contests[key], part)
        self.contests_ = fits
        unconverged = [key for key, est in fits.items() if not est.fit_.converged]
        steps = sum(est.fit_.n_iter for est in fits.values())
        self.fit_ = Fit(n_iter=steps, converged=not unconverged, history={"unconverged": unconverged})
        return self

    def _take(self, margins: Margins, part: PooledContest) -> None:
        """Replace the contest's own estimate by the pooled one."""
        self.alone_, self.pooling_ = self.shares_, part.method
        self.pooling_strength_, self.correction_distance_ = part.strength, part.distance
        self.outcome_labels_ = part.labels
        if part.method != ALONE:
            self._store(margins, cells_of_table(np.array(margins.rows), np.array(margins.cols), part.table))
            data = self._data(margins)
            self._store_errors(data.some(counted_order(data)), part.scale, self.shares_ - self.alone_)

    def _check(self) -> None:
        if self.correction not in ("auto", True, False):
            raise DataError(f"correction is {self.correction!r}.", hint='"auto", True or False.')
        checks.choice(self.method, "method", ("entropic", *ALGORITHMS))
        checks.at_least(self.prior, "prior", 0, whole_number=False)
        checks.choice(self.row_error, "row_error", ("classical", "berkson", "uncorrected"))
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.positive(self.tol, "tol")
        if self.covariates is not None and self.method != "entropic":
            raise DataError(f"method={self.method!r} does not accept covariates.", hint="method='entropic' does.")

    def _data(self, margins: Margins) -> _Data:
        sides = np.array(margins.rows), np.array(margins.cols), relative_weights(margins)
        if self.covariates is not None and margins.covariates is None:
            raise DataError(
                "These margins have no covariates.", hint="Margins(..., covariates=...), or covariates=None."
            )
        names = None if self.covariates is None else chosen_covariates(margins, self.covariates)
        if not names or margins.covariates is None:
            return _Data(*sides, margins.row_sd)
        self.covariate_names_ = names
        known = list(map(str, margins.covariate_names or ()))
        z = margins.covariates[:, [known.index(name) for name in names]]
        size = np.maximum(margins.totals, 1e-300)
        z = z - np.average(z, axis=0, weights=size)
        spread = np.sqrt(np.average(z**2, axis=0, weights=size))
        flat = [name for name, s in zip(names, spread) if not s > 1e-12]
        if flat:
            raise DataError(f"Covariate {flat[0]!r} is the same in every unit.", hint="leave it out.")
        z = z / spread
        if len(z) > sides[0].shape[1] + 1:
            weight = np.sqrt(size / size.sum())[:, None]
            composition = weight * sides[0] / size[:, None]
            left = weight * z - composition @ np.linalg.lstsq(composition, weight * z, rcond=None)[0]
            explained = 1 - (left**2).sum(axis=0)
            if explained.max() > COMPOSED:
                worst = int(explained.argmax())
                raise DataError(
                    f"Covariate {names[worst]!r} follows from the composition of the units (R squared "
                    f"{explained[worst]:.3f}): differences between groups can't be distinguished from shares that vary "
                    "with it.",
                    hint="leave it out.",
                )
        return _Data(*sides, margins.row_sd, z)

    def _fit_entropic(self, data: _Data) -> tuple[np.ndarray, bool, float]:
        start = np.tile(data.cols.sum(axis=0) / data.cols.sum(), (data.rows.shape[1], 1))
        part = data
        if len(data.rows) > BLOCK:  # some of the units suffice to start near the answer and to see how much units vary
            part = data.some(np.arange(0, len(data.rows), -(-len(data.rows) // (BLOCK // 2))), as_all=True)
        first = self._solve(part, start, rho=0.0, tol=max(self.tol, 1e-3))
        n, free = len(part.cols), np.count_nonzero(part.cols.any(axis=0)) - 1.0  # free outcomes of a unit
        used = min(part.rows.shape[1] * free, n * free / 2)
        self.overdispersion_ = dispersion(2 * first.divergence, np.full(n, free), part.rows.sum(axis=1), used)
        vars(self).pop("newton_inverse_", None)
        if part is data:
            done = self._solve(data, np.exp(first.log_shares), self.overdispersion_)
        else:
            done = self._solve_many(data, part, np.exp(first.log_shares))
        if data.covariates is not None:
            self.slopes_ = done.slopes
        change = float(done.changes[-1]) if len(done.changes) else np.inf
        self.fit_ = Fit(
            answer=np.exp(done.log_shares),
            objective=float(done.objectives[-1]) if len(done.objectives) else np.nan,
            n_iter=len(done.changes),
            converged=done.converged,
            history={"objective": done.objectives, "change": done.changes},
        )
        return np.exp(done.log_shares), done.converged, change

    def _problem(self, data: _Data, rho: float) -> RakingProblem:
        inflation = 1 + rho * float(data.rows.sum()) / max(len(data.rows), 1)  # of the variance of a unit of mean size
        gamma, alpha = inflation**DETERMINANT, self.prior * inflation
        return RakingProblem(data.rows, data.cols, data.weight, rho, gamma, alpha)

    def _solve_many(self, data: _Data, part: _Data, start: np.ndarray) -> SharesSolution:
        """The solution on all units from that on a part of them, by Newton steps where these succeed."""
        rho = self.overdispersion_
        near = self._solve(part, start, rho)
        if data.covariates is None:
            for units in (part, data):  # the factor improves near the solution
                self.newton_inverse_ = newton_inverse(self._problem(part, rho), near.log_shares)
                near = self._solve_near(units, np.exp(near.log_shares))
                if units is data and near.converged:
                    return near
        return self._solve(data, np.exp(near.log_shares), rho)

    def _solve_near(self, data: _Data, start: np.ndarray) -> SharesSolution:
        """The solution on data like those that were fitted, by Newton steps."""
        problem = self._problem(data, self.overdispersion_)
        return newton_shares(problem, start, self.newton_inverse_, tol=self.tol)

    def _solve(self, data: _Data, start, rho, tol=None) -> SharesSolution:
        problem = self._problem(data, rho)
        limits: Any = {"max_iter": self.max_iter, "tol": tol or self.tol}
        if data.covariates is None:
            return common_shares(problem, start, **limits)
        return covariate_shares(problem, start, data.covariates, slopes=getattr(self, "slopes_", None), **limits)

    def _fit_classic(self, data: _Data) -> tuple[np.ndarray, bool, float]:
        start = np.tile(data.cols.sum(axis=0) / data.cols.sum(), (data.rows.shape[1], 1))
        classic = ALGORITHMS[self.method]
        limits = np.maximum(start, LEAST), self.max_iter, self.tol
        shares, steps, change = classic(data.rows, data.cols, data.weight, *limits)
        self.overdispersion_ = 0.0
        converged = change < self.tol
        self.fit_ = Fit(answer=shares, n_iter=steps, converged=converged, history={"change": [change]})
        return shares, converged, change

    def _store_errors(self, data: _Data, scale: float = 1.0, moved: np.ndarray | None = None) -> None:
        """The error of `shares_` by the units fitted, times `scale` where other contests have `moved` them."""
        rho = self.overdispersion_ if self.method == "entropic" else self.dispersion_
        row_variance, shift = self._measurement_error(data)
        error = contextual_error(
            data.rows,
            data.cols,
            self.shares_,
            rho,
            covariates=data.covariates,
            row_variance=row_variance,
            shift=shift,
            context=self.context,
        )
        if moved is not None:  # what other contests changed may be wrong altogether
            error = error._replace(scale=scale * error.scale, shift=np.hypot(error.shift, moved) * np.sign(moved))
        self.error_weights_, self.error_covariances_ = error.weights, error.covariances
        self.error_scale_, self.error_shift_ = error.scale, error.shift
        self.standard_errors_, self.slope_deviation_ = error.standard_errors, error.slope_deviation

    def _measurement_error(self, data: _Data) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What errors of the groups' counts add: the variance of units' outcomes, and a deviation of all cells.

        Noisy groups look more alike than they are. A correction removes that, and half of it is taken as uncertain,
        since `row_sd` is itself an estimate; without a correction all of it is. Berkson errors attenuate nothing.
        """
        if data.row_sd is None or not data.row_sd.any():
            return None, None
        size = data.rows.sum(axis=1, keepdims=True)
        noise = noise_covariances(data.rows / size, data.row_sd / size)
        outcome = np.maximum(data.cols.sum(axis=0) / data.cols.sum(), 1e-6)
        each = np.einsum("rc,irs,sc->ic", self.shares_, noise, self.shares_) / np.maximum(outcome * (1 - outcome), 1e-6)
        if self.row_error == "berkson":
            return each.mean(axis=1), None
        corrected = data._replace(rows=calibrated_rows(data.rows, data.row_sd, data.weight, data.covariates).rows)
        moved = self._refit(corrected._replace(row_sd=None)) - self._refit(data._replace(row_sd=None))
        return each.mean(axis=1), (DOUBT if self.row_error == "classical" else 1.0) * moved

    def _refit(self, data: _Data) -> np.ndarray:
        """Row shares (R, C) over all units of `data` by a fit near the one that is stored."""
        counted = data.some(counted_order(data))
        start, near = self.common_shares_, None
        if hasattr(self, "newton_inverse_"):
            near = self._solve_near(counted, start)
            start = np.exp(near.log_shares)
        if near is None or not near.converged:
            near = self._solve(counted, start, self.overdispersion_)
        size = np.maximum(data.rows.sum(axis=0)[:, None], 1e-300)
        return _totals(data, rake(data.rows, data.cols, near.log_shares)) / size

    def without_units(self, margins: Margins, units: Any) -> np.ndarray:
        """Return `shares_` of the same people where the fit ignores some units, (R, C).

        Parameters
        ----------
        margins : Margins
            The units that were fitted.
        units : int or array of int
            Positions of the units to ignore.
        """
        self._fitted("shares_")
        data = self._data(margins)
        weight = data.weight.copy()
        weight[units] = 0.0
        if not weight.sum() > 0:
            raise DataError("No unit is left.", hint="leave out fewer.")
        return self._refit(self._expected(data._replace(weight=weight)))

    def _drawn(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        groups, outcomes = np.sort(self.total_, axis=1), np.sort(self.total_, axis=0)  # alike in any order
        r, c = np.lexsort([*groups.T, groups.sum(axis=1)]), np.lexsort([*outcomes, outcomes.sum(axis=0)])
        shift = np.broadcast_to(self.error_shift_, self.shares_.shape)
        error = ContextualError(
            self.error_weights_, self.error_covariances_[:, r][:, :, r], self.error_scale_[r][:, c], shift[r][:, c]
        )
        low, high = (bound[r][:, c] for bound in (self.lower_bound_, self.upper_bound_))
        drawn = draw_tables(self.shares_[r][:, c], self.group_sizes_[r], error, low, high, rng, n_draws)
        return drawn[:, np.argsort(r)][:, :, np.argsort(c)]

    def error_of_shares(self) -> ContextualError:
        """Return the distribution of the error of `shares_`."""
        return ContextualError(self.error_weights_, self.error_covariances_, self.error_scale_, self.error_shift_)

    def _unit_parts(self, _margins: Margins, /) -> tuple[np.ndarray, np.ndarray, float]:
        return self.cells_, self.standard_errors_, self.slope_deviation_


def counted_order(data: _Data) -> np.ndarray:
    """Positions of the units with people and a weight above 0, sorted by content: no other order changes an answer."""
    counted = np.flatnonzero((data.rows.sum(axis=1) > 0) & (data.weight > 0))
    keys = np.column_stack([data.weight, data.rows, data.cols])[counted]
    return counted[np.lexsort(keys.T[::-1])]


def chosen_covariates(margins: Margins, chosen: Any) -> list[str]:
    """The names of covariates that were asked for, all of them by "all"."""
    known = list(map(str, margins.covariate_names or ()))
    if isinstance(chosen, str):
        checks.choice(chosen, "covariates", ("all",))
        return known
    for name in chosen:
        checks.known(str(name), known, "covariate")
    return list(map(str, chosen))


def _log(shares: np.ndarray) -> np.ndarray:
    positive = np.maximum(shares, LEAST)
    return np.log(positive / positive.sum(axis=1, keepdims=True))


def _with_rows(data: _Data, expected: np.ndarray) -> np.ndarray:
    """Row shares (n, R, C) with the rows that were observed whose counts have the shares of the `expected` (R, C)."""
    rows, cols = data.rows.sum(axis=0), data.cols.sum(axis=0)
    shares = expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    return cells_of_table(data.rows, data.cols, rake_table(shares * rows[:, None], rows, cols))


def _totals(data: _Data, cells: np.ndarray) -> np.ndarray:
    """Counts (R, C) over all units from row shares."""
    return np.einsum("ir,irc->rc", data.rows, cells)
