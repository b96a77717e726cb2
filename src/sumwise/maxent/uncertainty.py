"""Intervals of predicted probabilities and coefficients: the model refitted to tables that might have been."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.choosing import fit_quietly, quick_copy
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import own_places
from sumwise.maxent.individuals import codes_of
from sumwise.maxent.queries import Queries
from sumwise.maxent.sufficient import added
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

    replicates_: dict[str, np.ndarray]
    engine_: str
    penalty_theta_: Any
    verbose: int

    def bootstrap(self, tables: Any, n: int = 30, random_state: Any = None) -> Any:
        """Refit to tables as another sample of as many individuals, and other noise, might have given them.

        Keeps the parameters in ``replicates_``, for `predict_interval` and `coefficient_intervals`. Costs about as much
        as n / 2 fits.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Those that the model was fitted to.
        n : int, default 30
            Number of refits; the error of an interval's width is about 1 / sqrt(2 n).
        random_state : int, Generator or None
        """
        self._fitted("mu_")
        n = checks.at_least(n, "n", 2)
        parts = list(tables) if isinstance(tables, (list, tuple)) else [tables]
        found = added([self._read(t, self._layout().listing_by_term()) for t in parts])
        if parts[0].domain != self.domain_ or found.data.sums.shape != self.theta_.shape:
            raise DataError("The tables aren't those that the model was fitted to.")
        rng = checks.generator(self.random_state if random_state is None else random_state)
        codes, labels = self._draws(int(np.clip(found.n, 1000, MOST)), rng)
        theta, offsets = [], []
        for _ in track(range(n), "bootstrap", verbose=self.verbose):
            trial = quick_copy(self, STEPS, int(rng.integers(2**31)))
            fit_quietly(trial, jittered(found, codes, labels, rng), parts[0], self.penalty_theta_, weigh=True)
            theta.append(trial.theta_)
            offsets.append(trial.offsets_)
        self.replicates_ = {"theta": np.stack(theta), "offsets": np.stack(offsets)}
        return self

    def predict_interval(self, frame: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the low and high ends of P(class | features), each (n_rows, n_classes); needs `bootstrap`.

        They cover the sampling of individuals and the noise of tables, on the scale of log-odds. They don't cover what
        penalties take away, nor what pairwise tables can't tell.

        Parameters
        ----------
        frame : data frame of individuals
        level : float, default 0.95
        """
        self._fitted("replicates_")
        codes = codes_of(frame, self.domain_, self.encoding_)
        kept = self.replicates_
        zero = np.zeros_like(self.mu_)
        odds = np.stack([_log_odds(self._scores_of(Parameters(zero, t, o), codes)) for t, o in zip(*kept.values())])
        half = float(ndtri(0.5 + checks.fraction(level, "level") / 2)) * odds.std(axis=0, ddof=1)
        centre = _log_odds(self._scores(codes))
        return expit(centre - half), expit(centre + half)

    def coefficient_intervals(self, level: float = 0.95) -> Any:
        """Return `coefficients` with columns ``low`` and ``high``; needs `bootstrap`."""
        self._fitted("replicates_")
        frame = self.coefficients()
        spread = self.replicates_["theta"].std(axis=0, ddof=1).T[own_places(self._layout())].ravel()
        half = float(ndtri(0.5 + checks.fraction(level, "level") / 2)) * spread
        return frame.assign(low=frame["coefficient"] - half, high=frame["coefficient"] + half)

    def coefficients(self) -> Any:
        """Return theta as a pandas frame."""
        raise NotImplementedError

    def _read(self, tables: Any, listed: Any) -> Any:
        raise NotImplementedError

    def _scores_of(self, parameters: Parameters, codes: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Log-odds of every class against the others, (n, K)."""
    out = np.empty_like(scores)
    for k in range(scores.shape[1]):
        out[:, k] = scores[:, k] - np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)
    return out
