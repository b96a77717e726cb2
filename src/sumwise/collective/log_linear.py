"""LogLinear: moves whose log-probability is linear in features, as for migrating birds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.collective.kernels.edges import log_sum_exp
from sumwise.collective.kernels.transition_softmax import fit_rows, loss_and_slope, row_log_probabilities
from sumwise.collective.realisations import Realisations
from sumwise.display import record_html
from sumwise.errors import DataError

FIRST_WEEK_COUNT = 0.01  # pseudo-count of every cell in the first week, where its distribution is learned


@dataclass(frozen=True, eq=False, repr=False)
class LogLinear:
    """Moves with ``P(j | i, t) prop. to exp(w . f_t(i, j))``, normalised for every cell i.

    Parameters
    ----------
    features : array (T - 1, L, K, F), or a list of them
        Features of the moves of every week from every cell; one array for all realisations, or one for each (their own
        wind, say). K = L without `targets`.
    start : (L,) array, optional
        Log-probabilities of the first week's cells; if not given, they are learned.
    targets : (L, K) int array, optional
        The cells that can be reached from each cell; -1 for none. Without it, all can.
    ridge : float >= 0, default 0.0
        Adds ``ridge / 2 |w|^2`` to the objective.

    See Also
    --------
    FreeTables : A chain ``phi_1(x_1) prod_t psi_t(x_t, x_{t+1}) phi_T(x_T) / Z`` with free tables.
    CollectiveEM : Learn how one individual moves from noisy counts of populations, by expectation maximisation.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import LogLinear
    >>> season = synthetic.birds(4, 6, random_state=0)
    >>> LogLinear(season.features, start=season.log_potentials["t0"])
    LogLinear(4 features, 1 realisation, 5 steps, 16 cells)
    """

    features: Any
    start: Any = None
    targets: Any = None
    ridge: float = 0.0

    _repr_html_ = record_html

    def __post_init__(self):
        given = self.features
        listed = list(given) if isinstance(given, (list, tuple)) or np.ndim(given) == 5 else [given]
        arrays = [checks.finite(f, "features", ndim=4) for f in listed]
        if not arrays:
            raise DataError("There are no features.", hint="give an array (T - 1, L, K, F).")
        if len({a.shape for a in arrays}) > 1:
            shapes = ", ".join(str(a.shape) for a in arrays[:4])
            raise DataError(f"The realisations have features of different shapes: {shapes}.")
        checks.at_least(self.ridge, "ridge", 0, whole_number=False)
        _, n_states, width, _ = arrays[0].shape
        if self.targets is None and width != n_states:
            raise DataError(
                f"The features have shape {arrays[0].shape}: {n_states} cells and {width} moves from each.",
                hint="give targets (L, K), or the features of all moves.",
            )
        object.__setattr__(self, "features", tuple(checks.frozen(a) for a in arrays))
        if self.targets is not None:
            object.__setattr__(self, "targets", checks.frozen(_targets(self.targets, n_states, width)))
        if self.start is not None:
            start = np.asarray(self.start, dtype=float)
            if start.shape != (n_states,) or np.isnan(start).any() or not start.max() > -np.inf:
                raise DataError(f"start has shape {start.shape}; it must contain {n_states} log-probabilities.")
            object.__setattr__(self, "start", checks.frozen(start - log_sum_exp(start)))

    @property
    def n_weights(self) -> int:
        """The number of features."""
        return self.features[0].shape[-1]

    def check(self, data: Realisations) -> None:
        """Raise where the features don't fit the data."""
        if len(self.features) not in (1, len(data)):
            raise DataError(
                f"There are features of {len(self.features)} realisations and tables of {len(data)}.",
                hint="give one array of features for each realisation, or one for all.",
            )
        wanted = (len(data.edges), data.n_states)
        if self.features[0].shape[:2] != wanted:
            raise DataError(
                f"The features have shape {self.features[0].shape}; the data have {wanted[0]} steps and {wanted[1]} "
                "cells.",
                hint="features have the shape (weeks - 1, cells, cells, number of features).",
            )

    def first(self, data: Realisations, rng: np.random.Generator | None) -> np.ndarray:
        """Parameters to start from: no weights, or random ones; an even distribution in the first week."""
        weights = np.zeros(self.n_weights) if rng is None else rng.normal(size=self.n_weights)
        size = data.n_states
        return weights if self.start is not None else np.concatenate([weights, np.full(size, -np.log(size))])

    def potentials(self, theta: np.ndarray, data: Realisations, r: int) -> dict:
        """Log-potentials of realisation `r`: those of the first week, and of every step."""
        weights = theta[: self.n_weights]
        if self.targets is None:
            logs = row_log_probabilities(self._features(r), weights)
        else:
            allowed, at = self._moves()
            shape = (data.n_states, data.n_states)
            steps = row_log_probabilities(self._features(r), weights, allowed)
            logs = [sparse.csr_array((step[allowed], at), shape=shape) for step in steps]
        begin = self.start if self.start is not None else theta[self.n_weights :]
        return {data.weeks[0]: begin, **dict(zip(data.edges, logs))}

    def log_partition(self, theta: np.ndarray, data: Realisations) -> float:  # noqa: ARG002 - as FreeTables
        """Zero: rows are normalised."""
        return 0.0

    def cost(self, theta: np.ndarray) -> float:
        """What is added to the objective."""
        weights, begin = theta[: self.n_weights], theta[self.n_weights :]
        return 0.5 * self.ridge * float(weights @ weights) - FIRST_WEEK_COUNT * float(begin.sum())

    def improve(self, theta: np.ndarray, data: Realisations, counts: list) -> np.ndarray:
        """The M step: weights by L-BFGS, the first week in closed form."""
        weights = fit_rows(self._parts(data, counts), theta[: self.n_weights], self.ridge)
        if self.start is not None:
            return weights
        begin = np.sum([fit.nodes[data.weeks[0]] for fit in counts], axis=0) + FIRST_WEEK_COUNT
        return np.concatenate([weights, np.log(begin / begin.sum())])

    def _parts(self, data: Realisations, counts: list) -> list:
        """Of every realisation: features, how many made each move, and which moves are allowed."""
        flown = (np.stack([self._picked(fit.edges[e]) for e in data.edges]) for fit in counts)
        allowed = None if self.targets is None else self.targets >= 0
        return [(self._features(r), moves, allowed) for r, moves in enumerate(flown)]

    def normalised(self, theta: np.ndarray, _data: Realisations) -> np.ndarray:
        """Weights as they are; chances of the first week's cells that sum to one, where they are learned."""
        if self.start is not None:
            return theta
        weights, first = np.split(theta, [self.n_weights])
        return np.concatenate([weights, first - np.logaddexp.reduce(first)])

    def gradient(self, theta: np.ndarray, data: Realisations, counts: list) -> np.ndarray:
        """The gradient of F in all parameters, at tables that are most likely under `theta`."""
        weights, first = np.split(theta, [self.n_weights])
        out = self.ridge * weights
        for features, flown, allowed in self._parts(data, counts):
            out = out + loss_and_slope(features, flown, weights, allowed)[1]
        if self.start is not None:
            return out
        begin = np.sum([fit.nodes[data.weeks[0]] for fit in counts], axis=0) + FIRST_WEEK_COUNT
        return np.concatenate([out, begin.sum() * np.exp(first) - begin])

    def ignoring_noise(self, data: Realisations) -> None:
        """There is no such fit: flights aren't observed."""

    def _features(self, r: int) -> np.ndarray:
        return self.features[r if len(self.features) > 1 else 0]

    def _moves(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Which of the targets are cells, (L, K), and the moves (from, to) to them."""
        allowed = self.targets >= 0
        return allowed, (np.nonzero(allowed)[0], self.targets[allowed])

    def _picked(self, table: Any) -> np.ndarray:
        """Counts of the moves, in the order of the targets."""
        if self.targets is None:
            return np.asarray(table)
        allowed, at = self._moves()
        out = np.zeros(allowed.shape)
        out[allowed] = np.asarray(sparse.csr_array(table)[at]).ravel()
        return out

    def __repr__(self) -> str:
        steps, n_states, _, n_features = self.features[0].shape
        runs = f"{len(self.features)} realisation{'s' if len(self.features) > 1 else ''}"
        return f"LogLinear({n_features} features, {runs}, {steps} steps, {n_states} cells)"


def _targets(given: Any, n_states: int, width: int) -> np.ndarray:
    targets = np.asarray(given)
    if targets.shape != (n_states, width) or targets.dtype.kind not in "iu":
        raise DataError(f"targets has shape {targets.shape}; the features need whole numbers ({n_states}, {width}).")
    if targets.min() < -1 or targets.max() >= n_states:
        raise DataError(f"targets lie from {targets.min()} to {targets.max()}; there are {n_states} cells.")
    return targets
