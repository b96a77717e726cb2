"""King: ecological inference by a truncated normal of the groups' shares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.draws import Draws
from sumwise.ecological.contextual_error import centred_tables
from sumwise.ecological.identification import (
    check_identified,
    counted_units,
    relative_weights,
    unidentified_groups,
)
from sumwise.ecological.kernels import king as kernel
from sumwise.ecological.kernels import king_checks
from sumwise.ecological.king_tables import UNITS_PER_PARAMETER, fit_iterated, fit_multivariate
from sumwise.ecological.result import EcologicalEstimator, anywhere, drawn_again
from sumwise.errors import DataError, ModelWarning, NotConverged
from sumwise.fit import Fit, warn_not_converged
from sumwise.margins import Margins
from sumwise.progress import Progress

PARAMETERS = (
    "mean of the first group",
    "mean of the second group",
    "log standard deviation of the first group",
    "log standard deviation of the second group",
    "correlation",
)


@dataclass(eq=False, repr=False)
class King(EcologicalEstimator):
    """King's ecological inference (1997): each group's shares are normal across units, truncated to [0, 1].

    For 2 x 2 tables the parameters `phi_` maximise King's posterior with the exact truncation constant; they are then
    drawn by importance sampling, and every unit's shares are simulated on its tomography line, so that cells lie in
    the bounds and add up. Totals weight units by the size of the group, the quantity that elections and courts ask
    for, and not by the size of the unit as some texts write. Units where a group is absent, or where all chose alike,
    are used as they are.

    Parameters
    ----------
    erho, esigma, ebeta : float, default 0.5
        Priors: the standard deviation of the transformed correlation, of the standard deviations, and how fast means
        outside [0, 1] are penalised, by ``d**2 / (2 * ebeta)``; 0 leaves a prior out.
    covariates : list of str, pair of such lists or None, default None
        Covariates of `margins` that move the means of both groups; or, as a pair, those of the first and of the second.
    strategy : {"iterated", "multivariate", "full"}, default "iterated"
        For tables larger than 2 x 2: every cell by two 2 x 2 tables (its row against the rest by its column against
        the rest, seen from the rows and seen from the columns), which may disagree; or a truncated normal of all
        shares at once, for tables of up to 20 free shares, R (C - 1), with one correlation between rows and one between
        outcomes ("multivariate"), or one for every two shares, which takes at least six units for each parameter
        ("full"). See Notes.
    n_draws : int >= 10, default 1000
    max_iter : int >= 1, default 500
    random_state : int, Generator or None, default 0
        Draws follow the order of units and groups; another order gives another approximation.

    Attributes
    ----------
    phi_ : ndarray
        2 x 2: King's parameters (means, log standard deviations, correlation, covariates) on his scale.
    phi_covariance_ : ndarray
    draws_ : ndarray of shape (n_draws, R, C)
        Draws of `shares_` by King's model.
    unidentified_ : ndarray of shape (R,)
        Whether the units can't identify a group's shares; its intervals are the bounds.
    unit_interval_ : ndarray of shape (n_units, 2)
        2 x 2: 80% intervals of the first group's share of the first outcome; NaN in an empty unit.
    disagreement_ : float
        Iterated R x C: the largest difference between the two ways to a share.
    correlated_tables_ : int
        R x C: 2 x 2 tables whose likelihood has no mode that can be reached, since shares have a correlation of 1.
    effective_draws_ : float
        2 x 2: the effective number of draws behind the importance weights.
    integration_error_ : float
        Multivariate: the standard deviation of the log posterior over other sets of integration points; from 2 on the
        fit doesn't count as converged.

    Notes
    -----
    The multivariate strategy takes the largest outcome as the rest of each row. The other shares are normal,
    truncated to the rows' simplices, with a mean and a standard deviation each, and their correlations. The mode of
    the margins' posterior is found by scoring on units' tables that are sampled exactly, cycle by cycle; parameters
    are then drawn from the normal about it. Only the truncation constant is estimated, on fixed quasi-random
    points. Standard deviations are held between 0.05 and 1 and correlations on King's scale between -1 and 1; a
    prior keeps means near [0, 1]. Estimates are often good, but draws treat the model as true and are narrow: on
    contests whose cells were counted, 95% intervals covered 58% to 78%, and with few units about half of the truth
    even of data from the model (a fit to fewer than 30 units warns). `EcologicalEM` has intervals that allow for
    shares that depend on composition.

    See Also
    --------
    EcologicalEM : Who chose what, for R x C tables: an EM whose every step rakes each unit to both of its margins.
    MultinomialDirichlet : The hierarchical model of Rosen, Jiang, King and Tanner (2001): multinomial rows, Dirichlet
        shares across units.
    Goodman : Goodman's ecological regression (1953): column shares on row shares, one set of shares for all units.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import King
    >>> m = synthetic.precincts(40, 2, 2, random_state=0).margins
    >>> est = King(n_draws=200).fit(m)
    >>> bool(abs((est.cells_ * m.rows[:, :, None]).sum(axis=1) - m.cols).max() < 1e-9)
    True
    """

    _learned = (
        "phi_?: float h; phi_covariance_?: float h h; draws_: float m R C; unit_interval_?: real n 2; "
        "unidentified_: bool R; effective_draws_?: is float"
    )

    erho: float = 0.5
    esigma: float = 0.5
    ebeta: float = 0.5
    covariates: Any = None
    strategy: str = "iterated"
    n_draws: int = 1000
    max_iter: int = 500
    random_state: int = 0

    def fit(self, margins: Margins, y: Any = None) -> King:
        """Estimate the cells of `margins`; `y` is ignored."""
        self._check()
        check_identified(margins)
        if self.strategy == "iterated" or (margins.n_rows, margins.n_cols) == (2, 2):
            hint = "lower n_draws, or use EcologicalEM(), which keeps no draws of units."
            checks.allocation("King", (self.n_draws, margins.n_units), hint=hint)
        rng = checks.generator(self.random_state)
        if (margins.n_rows, margins.n_cols) == (2, 2):
            self._fit_two(margins, rng)
        elif min(margins.n_rows, margins.n_cols) < 2:
            raise DataError(
                f"King's method needs two groups and two outcomes; there are {margins.n_rows} and {margins.n_cols}.",
                hint="with one group or one outcome there is nothing to infer.",
            )
        else:
            self._fit_tables(margins, rng)
        full = counted_units(margins)
        self.unidentified_ = unidentified_groups(full.rows) | (len(full) <= margins.n_rows)
        if len(full) < 5 * UNITS_PER_PARAMETER:
            units = f"there are {len(full)} units" if len(full) > 1 else "there is 1 unit"
            warnings.warn(
                f"King's model has five parameters for every two groups, and {units}: its intervals hardly allow for "
                "their error, and are too narrow. Hint: EcologicalEM(), or Bounds().",
                ModelWarning,
                stacklevel=2,
            )
        return self

    def _check(self) -> None:
        for name in ("erho", "esigma", "ebeta"):
            checks.at_least(getattr(self, name), name, 0, whole_number=False)
        checks.at_least(self.n_draws, "n_draws", 10)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.choice(self.strategy, "strategy", ("iterated", "multivariate", "full"))

    def _priors(self) -> kernel.KingPriors:
        return kernel.KingPriors(float(self.erho), float(self.esigma), float(self.ebeta))

    def _fit_two(self, margins: Margins, rng: np.random.Generator) -> None:
        full = margins[margins.totals > 0]
        sides = np.ascontiguousarray(full.row_shares[:, 0]), np.ascontiguousarray(full.col_shares[:, 0])
        data = kernel.KingData(*sides, relative_weights(full), *_covariates(full, self.covariates))
        priors = self._priors()
        with Progress("Steps", 3) as progress:
            phi, covariance, record, course = kernel.maximise(data, priors, self.max_iter)
            progress.step()
            distance = kernel.distance_to_mode(record.jac, covariance)
            converged = distance < kernel.DISTANCE
            if not converged:
                warn_not_converged(record.nit, distance, kernel.DISTANCE, hint="raise max_iter, or tighten the priors.")
            self.phi_, self.phi_covariance_ = phi, covariance
            self._warn_of_unanimous(data, priors)
            draws, self.effective_draws_ = kernel.resample(phi, covariance, data, priors, self.n_draws, rng=rng)
            progress.step()
            first, second = kernel.simulate(draws, data, rng=rng)
        sizes = full.rows
        totals = np.stack([first @ sizes[:, 0], second @ sizes[:, 1]], axis=1) / sizes.sum(axis=0)
        self.draws_ = np.stack([totals, 1 - totals], axis=2)
        cells = np.zeros((margins.n_units, 2, 2))
        shares = np.stack([first.mean(axis=0), second.mean(axis=0)], axis=1)
        cells[margins.totals > 0] = np.stack([shares, 1 - shares], axis=2)
        self.unit_interval_ = np.full((margins.n_units, 2), np.nan)
        self.unit_interval_[margins.totals > 0] = np.quantile(first, [0.1, 0.9], axis=0).T
        self._store(margins, cells)
        self.fit_ = Fit(
            answer=phi,
            objective=-float(record.fun),
            n_iter=int(record.nit),
            converged=converged,
            history={"objective": course},
        )

    def _warn_of_unanimous(self, data: kernel.KingData, priors: kernel.KingPriors) -> None:
        """Fit again without units where all chose alike, and warn where that moves the parameters."""
        unanimous = (data.t <= 0) | (data.t >= 1)
        n = int(unanimous.sum())
        if n == 0 or len(data.t) - n < 10:
            return
        rest = kernel.KingData(*(side[~unanimous] for side in data))
        without, covariance, *_ = kernel.maximise(rest, priors, self.max_iter)
        variance = np.minimum(np.diag(self.phi_covariance_), np.diag(covariance))  # such units inflate their own error
        moved = np.abs(without - self.phi_) / np.sqrt(np.maximum(variance, 1e-12))
        if moved.max() > 1:
            k = int(np.argmax(moved))
            name = PARAMETERS[k] if k < len(PARAMETERS) else f"coefficient {k - len(PARAMETERS)} of the covariates"
            warnings.warn(
                f"{n} of {len(data.t)} units are unanimous, and they move the fit: the {name} is {self.phi_[k]:.2f} "
                f"with them and {without[k]:.2f} without, {moved[k]:.1f} standard errors. Hint: check these units, fit "
                "without them, or use EcologicalEM().",
                ModelWarning,
                stacklevel=4,
            )

    def _fit_tables(self, margins: Margins, rng: np.random.Generator) -> None:
        if self.covariates:
            raise DataError("Covariates are for 2 x 2 tables.", hint="merge groups and outcomes, or leave them out.")
        if self.strategy != "iterated":
            full = self.strategy == "full"
            done = fit_multivariate(margins, self._priors(), self.n_draws, self.max_iter, rng, full)
            self.integration_error_ = done.integration_error
        else:
            done = fit_iterated(margins, self._priors(), self.n_draws, self.max_iter, rng)
            self.disagreement_ = done.disagreement
            if done.disagreement > 0.05:
                warnings.warn(
                    f"The two 2 x 2 decompositions disagree by up to {done.disagreement:.3f} in a share (on average "
                    f"{done.mean_disagreement:.3f}). Hint: strategy='multivariate', or EcologicalEM().",
                    ModelWarning,
                    stacklevel=3,
                )
        self._store(margins, done.cells)
        limits = self.group_sizes_, self.lower_bound_, self.upper_bound_
        self.draws_ = centred_tables(done.draws, self.shares_, *limits)  # iterated: 2 x 2 tables that don't add up
        self.fit_, self.correlated_tables_ = done.fit, done.correlated
        if done.change >= done.tol:
            hint = "raise max_iter, or tighten the priors."
            if done.correlated:
                hint = (
                    f"in {done.correlated} of the 2 x 2 tables the two shares of a unit are as good as equal "
                    "(correlation 1), as in units of nearly one group only, and the likelihood has no mode that can be "
                    "reached: use MultinomialDirichlet() or EcologicalEM()."
                )
            warn_not_converged(done.fit.n_iter, done.change, done.tol, hint=hint)
        elif not done.fit.converged:
            warnings.warn(
                f"The log posterior is known to {done.integration_error:.1f} only: the truncation constant is too hard "
                "to estimate where the multivariate strategy went, and its intervals can't be trusted. "
                "Hint: MultinomialDirichlet() or EcologicalEM().",
                NotConverged,
                stacklevel=3,
            )

    def assumptions(self, margins: Margins, coordinates: Any = None, n_permutations: int = 499) -> dict[str, Any]:
        """Test what the 2 x 2 model assumes; small p-values speak against it.

        Parameters
        ----------
        margins : Margins
            The units that were fitted.
        coordinates : array of shape (n_units, 2), optional
            Where the units are; without them independence across units isn't tested.
        n_permutations : int, default 499

        Returns
        -------
        dict
            ``truncated_normality``, ``mean_independence`` and ``spatial_independence``, each with a statistic, a
            p-value and a sentence.
        """
        self._fitted("phi_")
        rng = checks.generator(self.random_state)
        x, t = margins.row_shares[:, 0], margins.col_shares[:, 0]
        distance, p_normal = king_checks.normality(x, t, self.phi_[:5], 4000, rng=rng)
        curvature, p_curvature = king_checks.curvature_in_x(x, t, margins.totals * margins.weights)
        found = {
            "truncated_normality": _test_result(distance, p_normal, "outcomes follow the fitted truncated normal"),
            "mean_independence": _test_result(curvature, p_curvature, "the groups' mean shares don't change with X"),
        }
        if coordinates is not None:
            place = checks.finite(coordinates, "coordinates", ndim=2)
            checks.same_length(units=margins.units, coordinates=place)
            residual = t - np.einsum("ir,r->i", margins.row_shares, self.shares_[:, 0])
            index, p_near = king_checks.moran(residual, place, int(n_permutations), rng=rng)
            found["spatial_independence"] = _test_result(index, p_near, "neighbouring units are independent")
        return found

    def _drawn(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        drawn = self.draws_ if n_draws == len(self.draws_) else drawn_again(self.draws_, n_draws, rng)
        return anywhere(drawn, self.unidentified_, self.lower_bound_, self.upper_bound_, rng)

    def _interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        low, high = Draws(self.draws_).interval(level)
        unknown = self.unidentified_[:, None]
        return np.where(unknown, self.lower_bound_, low), np.where(unknown, self.upper_bound_, high)


def _test_result(statistic: float, p_value: float, claim: str) -> dict[str, Any]:
    verdict = "no evidence against it" if p_value > 0.05 else "the data speak against it"
    return {"statistic": statistic, "p_value": p_value, "claim": claim, "verdict": verdict}


def _covariates(margins: Margins, names: Any) -> list[np.ndarray]:
    """The centred covariates (n, k) of the first and of the second group's mean."""
    both = list(names or ())
    pair = both if len(both) == 2 and not any(isinstance(part, str) for part in both) else [both, both]
    known, found = list(map(str, margins.covariate_names or ())), []
    for part in pair:
        chosen = list(part or ())
        for name in chosen:
            checks.known(str(name), known, "covariate")
        values = np.zeros((len(margins), 0))
        if chosen and margins.covariates is not None:
            values = margins.covariates[:, [known.index(str(name)) for name in chosen]]
        found.append(values - values.mean(axis=0))
    return found
