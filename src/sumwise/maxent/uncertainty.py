"""Intervals of predicted probabilities and coefficients: the model refitted to tables that might have been."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, stdtrit
from sklearn.exceptions import NotFittedError

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.effects import effects_of, least_split
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import effect_frame, own_places
from sumwise.maxent.individuals import codes_of
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.penalties import penalties_of, usual_penalties
from sumwise.maxent.penalty_search import fit_quietly, quick_copy
from sumwise.maxent.queries import Queries
from sumwise.maxent.shrinkage import free_shares, suggested_scale, supposed
from sumwise.maxent.sufficient_statistics import Sufficient, added, parts_of
from sumwise.maxent.thinning import jittered
from sumwise.progress import track

__all__ = ["Uncertainty"]

MOST = 200_000  # rows that tell how the errors of tables hang together
STEPS = 60  # from the fitted model to that of other tables


class Uncertainty(Queries):
    """Base of `MaxEntClassifier`: how far its answers may be off.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> example = synthetic.xor(1000, random_state=0)
    >>> model = MaxEntClassifier().fit(example.tables).bootstrap(example.tables, n=10, random_state=0)
    >>> low, high = model.predict_interval({"x1": [0], "x2": [1], "x3": [1]})
    >>> bool(low[0, 1] < model.predict_proba({"x1": [0], "x2": [1], "x3": [1]})[0, 1] < high[0, 1])
    True
    """

    _brief = False  # whether a fit may end near the optimum, as refits do
    replicates_: dict[str, np.ndarray]
    engine_: str
    penalty_theta_: Any
    verbose: int

    def bootstrap(self, tables: Any, n: int = 30, random_state: Any = None) -> Any:
        """Refit n times to tables as another sample and other noise might have given them, n times for the penalties.

        Of the latter, each has penalties that pull to drawn parameters in place of zero, which shows what penalties
        take away; how large the drawn ones are, the fitted ones suggest (``replicates_["scale"]``, in units of what
        the default penalties suppose). Keeps parameters with both errors in ``replicates_``, for `predict_interval`,
        `effect_intervals` and `coefficient_intervals`. Costs about as much as n fits.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Those that the model was fitted to.
        n : int, default 30
            Number of refits of each kind; the error of an interval's width is about 1 / sqrt(2 n).
        random_state : int, Generator or None
        """
        self._fitted("mu_")
        n = checks.at_least(n, "n", 2)
        parts = parts_of(tables, "bootstrap")
        found = added([self._read(t, self._layout().listing_by_term()) for t in parts])
        if parts[0].domain != self.domain_ or found.data.sums.shape != self.theta_.shape:
            raise DataError("The tables aren't those that the model was fitted to.")
        if abs(found.n - self.n_) > 1e-6 * self.n_:
            raise DataError(
                f"The tables count {found.n:g}, those that the model was fitted to {self.n_:g}.", hint="give all parts."
            )
        rng = checks.generator(self.random_state if random_state is None else random_state)
        codes, labels = self._draws(int(np.clip(found.n, 1000, MOST)), rng)
        plain = self._plain(found)
        variances = self._supposed(found, plain)
        centres = [_drawn(found, variances, plain, rng) for _ in range(n)]
        theta, offsets = [], []
        same = int(rng.integers(2**31))  # Monte Carlo error is in one kind of refit, and cancels in the other
        for i in track(range(2 * n), "bootstrap", verbose=self.verbose):
            other = jittered(found, codes, labels, rng) if i < n else replace(found, centre=centres[i - n])
            trial = quick_copy(self, STEPS, int(rng.integers(2**31)) if i < n else same)
            trial._brief = True
            fit_quietly(trial, other, parts[0], self.penalty_theta_, weigh=True)
            theta.append(trial.theta_)
            offsets.append(trial.offsets_)
        self._keep(found, variances.sums, [c.sums for c in centres], np.stack(theta), np.stack(offsets))
        self.replicates_["coefficients"] = least_split(found.layout, self.replicates_["prior"], plain.sums, True)
        return self

    def _plain(self, found: Sufficient) -> Moments:
        """Penalties as they would be on tables without noise."""
        large = self._setting("shrink_large")
        return penalties_of(found, self.penalty_theta_, self._setting("penalty_mu"), aware=False, large=large)

    def _supposed(self, found: Sufficient, plain: Moments) -> Moments:
        """Variances of the true parameters, up to a factor."""
        mu, theta = self._setting("penalty_mu"), self.penalty_theta_
        both = (theta, usual_penalties(len(self.domain_)))
        given, usual = (penalties_of(found, p, mu, aware=False, large=False).sums for p in both)
        return supposed(plain, given, usual)

    def _keep(self, found: Sufficient, variances: np.ndarray, centres: list, theta: np.ndarray, offsets: np.ndarray):
        n, lay = len(centres), found.layout
        sampled, pulled = (_around_mean(theta[at]) for at in (slice(0, n), slice(n, None)))
        answered = pulled - _around_mean(np.stack(centres))
        a, b = (v.var(axis=0, ddof=1).ravel() for v in (sampled, answered))
        own = np.broadcast_to(own_places(lay) * free_shares(lay), self.theta_.shape)
        scale = suggested_scale(self.theta_.ravel(), a, b, own.ravel())
        root = np.sqrt(scale)
        moved = _around_mean(offsets[:n]) + root * _around_mean(offsets[n:])
        self.replicates_ = {
            "theta": self.theta_ + sampled + root * pulled,
            "offsets": self.offsets_ + moved,
            "prior": scale * variances,
            "shares": np.concatenate([found.margin(a) for a in range(len(lay.sizes))]),
            "scale": np.array(scale),
        }

    def predict_interval(self, frame: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the low and high ends of P(class | features), each (n_rows, n_classes); needs `bootstrap`.

        They cover the sampling of individuals, the noise of tables and what penalties take away, on the scale of
        log-odds, with Student's t for the number of refits. They don't cover what pairwise tables can't tell.

        Parameters
        ----------
        frame : data frame of individuals
        level : float, default 0.95
        """
        self._bootstrapped()
        codes = codes_of(frame, self.domain_, self.encoding_)
        kept, zero = self.replicates_, np.zeros_like(self.mu_)
        every = zip(kept["theta"], kept["offsets"])
        odds = np.stack([_log_odds(self._scores_of(Parameters(zero, t, o), codes)) for t, o in every])
        half = self._quantile(level) * odds.std(axis=0, ddof=1)
        centre = _log_odds(self._scores(codes))
        return expit(centre - half), expit(centre + half)

    def coefficient_intervals(self, level: float = 0.95) -> Any:
        """Return `coefficients` with columns ``low``, ``high`` and ``told``; needs `bootstrap`.

        How much of a level's effect is in which table is the penalties' doing, and the intervals are for coefficients
        split like that; `effect_intervals` has what doesn't depend on it. ``told`` is the share of a coefficient's
        variance that the tables took away: near 0, it is mostly what was supposed.
        """
        self._bootstrapped()
        own, kept = own_places(self._layout()), self.replicates_
        spread = kept["theta"].std(axis=0, ddof=1)
        ends = [v.T[own].ravel() for v in (self._quantile(level) * spread, _told(spread, kept["coefficients"]))]
        frame = self.coefficients()
        middle = frame["coefficient"]
        return frame.assign(low=middle - ends[0], high=middle + ends[0], told=ends[1])

    def effect_intervals(self, level: float = 0.95) -> Any:
        """Return the effects of levels and of their crosses on log-odds, with intervals; needs `bootstrap`.

        The effect of a level is against the average individual, that of a pair against what its two levels do on their
        own; averages are over the levels' shares. So written, coefficients are told by the predictions alone.

        Returns
        -------
        pandas.DataFrame
            Columns ``table``, ``levels``, ``class``, ``effect``, ``low``, ``high``, ``told``: the share of the effect's
            variance that the tables took away. Effects of rare levels have little of it, and their intervals are mostly
            what was supposed of all. With more than two classes an effect is against the mean over classes.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> tables = synthetic.xor(5000, random_state=0).tables
        >>> found = MaxEntClassifier().fit(tables).bootstrap(tables, n=5, random_state=0).effect_intervals()
        >>> found.sort_values("effect").iloc[-1][["table", "levels"]].tolist()
        [('x3',), (1,)]
        """
        self._bootstrapped()
        kept, lay = self.replicates_, self._layout()
        shares = np.split(kept["shares"], np.cumsum(lay.sizes)[:-1])
        found, every, prior = (
            effects_of(lay, values, shares, variances=i == 2)
            for i, values in enumerate((self.theta_, kept["theta"], kept["prior"]))
        )
        if len(self.theta_) > 1:
            found, every = ([e - e.mean(axis=-2, keepdims=True) for e in part] for part in (found, every))
            prior = [p * (1.0 - 1.0 / len(self.theta_)) for p in prior]
        spread = [e.std(axis=0, ddof=1) for e in every]
        told = [_told(s, p) for s, p in zip(spread, prior)]
        return effect_frame(self, found, [self._quantile(level) * s for s in spread], told)

    def _bootstrapped(self) -> None:
        self._fitted("theta_")
        if not hasattr(self, "replicates_"):
            raise NotFittedError("Intervals need refits: call bootstrap(tables) after fit.")

    def _quantile(self, level: float) -> float:
        freedom = len(self.replicates_["theta"]) - 1
        return float(stdtrit(freedom, 0.5 + checks.fraction(level, "level") / 2))

    def coefficients(self) -> Any:
        """Return theta as a pandas frame."""
        raise NotImplementedError

    def _read(self, tables: Any, listed: Any) -> Any:
        raise NotImplementedError

    def _setting(self, name: str) -> Any:
        raise NotImplementedError

    def _scores_of(self, parameters: Parameters, codes: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def _drawn(found: Sufficient, variances: Moments, plain: Moments, rng: np.random.Generator) -> Moments:
    """Parameters with these variances, split between tables as penalties do; else refits would only move them there."""
    lay = found.layout
    mu, theta = (rng.standard_normal(v.shape) * np.sqrt(v) for v in variances)
    return Moments(least_split(lay, mu[None], plain.counts[None])[0], least_split(lay, theta, plain.sums))


def _around_mean(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=0)


def _told(spread: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Share of the prior variance that is gone; all of it where there was no penalty."""
    return np.where(prior > 0, np.clip(1.0 - spread**2 / np.maximum(prior, 1e-300), 0.0, 1.0), 1.0)


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Log-odds of every class against the others, (n, K)."""
    out = np.empty_like(scores)
    for k in range(scores.shape[1]):
        out[:, k] = scores[:, k] - np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)
    return out
