"""FreeTables: a chain whose potentials are free tables, as for commuters whose moves nobody knows how to describe."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sumwise import checks
from sumwise.collective.counts import dense
from sumwise.collective.kernels.chain_potentials import balanced, chain_moments, fit_chain, split_chain
from sumwise.collective.kernels.edges import log_sum_exp
from sumwise.collective.realisations import Realisations
from sumwise.display import record_html
from sumwise.errors import DataError
from sumwise.noise import Poisson


@dataclass(frozen=True)
class FreeTables:
    """A chain ``phi_1(x_1) prod_t psi_t(x_t, x_{t+1}) phi_T(x_T) / Z`` with free tables.

    Parameters
    ----------
    shared : bool, default True
        One psi for all steps, with phi_1 and phi_T beside it (Sun 2019, section 2.6.2); else one table of transition
        probabilities per step.
    penalty : float >= 0, default 0.01
        With a shared psi, adds ``penalty / 2 |theta|^2``; else `penalty` individuals are added to every cell, so that
        no move is ruled out for good.

    See Also
    --------
    LogLinear : Moves with ``P(j | i, t) prop. to exp(w . f_t(i, j))``, normalised for every cell i.
    CollectiveEM : Learn how one individual moves from noisy counts of populations, by expectation maximisation.

    Examples
    --------
    >>> from sumwise.collective import FreeTables
    >>> FreeTables(shared=False)
    FreeTables(shared=False, penalty=0.01)
    """

    shared: bool = True
    penalty: float = 0.01

    _repr_html_ = record_html

    def __post_init__(self):
        checks.choice(self.shared, "shared", (True, False))
        checks.at_least(self.penalty, "penalty", 0, whole_number=False)
        if not self.shared and self.penalty == 0:
            raise DataError("penalty is 0; tables that aren't shared need some.", hint="0.01 is little.")

    def check(self, data: Realisations) -> None:
        """Raise where the data can't have such a chain."""
        sizes = data.domain.shape
        if self.shared:
            _ = data.n_states  # all weeks need the same cells
        shape = (sizes[0], sizes[0]) if self.shared else (_moves(sizes),)
        checks.allocation("Free tables", shape, hint="merge states, or describe moves by features (LogLinear).")

    def first(self, data: Realisations, rng: np.random.Generator | None) -> np.ndarray:
        """Random parameters to start from (even ones without a generator)."""
        sizes = data.domain.shape
        n = sizes[0] + sizes[-1] + sizes[0] ** 2 if self.shared else sizes[0] + _moves(sizes)
        theta = np.zeros(n) if rng is None else 0.1 * rng.normal(size=n)
        return theta if self.shared else self.normalised(theta, data)

    def potentials(self, theta: np.ndarray, data: Realisations, r: int = 0) -> dict:  # noqa: ARG002 - LogLinear's depend on it
        """Log-potentials of any realisation."""
        if not self.shared:
            begin, steps = self._steps(theta, data)
            return {data.weeks[0]: begin, **dict(zip(data.edges, steps))}
        first, last, move = split_chain(theta, data.n_states)
        return {data.weeks[0]: first, data.weeks[-1]: last, **dict.fromkeys(data.edges, move)}

    def log_partition(self, theta: np.ndarray, data: Realisations) -> float:
        """The sum of ``n log Z`` over the realisations."""
        if not self.shared:
            return 0.0
        return sum(data.sizes) * float(chain_moments(*split_chain(theta, data.n_states), len(data.weeks))[0])

    def cost(self, theta: np.ndarray) -> float:
        """What is added to the objective."""
        return 0.5 * self.penalty * float(theta @ theta) if self.shared else -self.penalty * float(theta.sum())

    def improve(self, theta: np.ndarray, data: Realisations, counts: list) -> np.ndarray:
        """The M step: by L-BFGS with a shared psi, in closed form else."""
        begin, end, moves = _totals(data, counts)
        if not self.shared:
            return self._closed(begin, moves)
        return fit_chain(theta, (begin, end, np.sum(moves, axis=0)), len(data.weeks), self.penalty, 60)

    def normalised(self, theta: np.ndarray, data: Realisations) -> np.ndarray:
        """The same chain in parameters whose rows sum to one; shared potentials stay as they are."""
        if self.shared:
            return theta
        begin, steps = self._steps(theta, data)
        return np.concatenate([begin - log_sum_exp(begin), *((s - log_sum_exp(s)[:, None]).ravel() for s in steps)])

    def gradient(self, theta: np.ndarray, data: Realisations, counts: list) -> np.ndarray:
        """The gradient of F in the parameters, at tables that are most likely under `theta`."""
        begin, end, moves = _totals(data, counts)
        if self.shared:
            given = np.concatenate([begin, end, np.sum(moves, axis=0).ravel()])
            expected = chain_moments(*split_chain(theta, data.n_states), len(data.weeks))[1:]
            return sum(data.sizes) * np.concatenate([np.ravel(e) for e in expected]) - given + self.penalty * theta
        logs = [row for part in (theta[None, : len(begin)], *self._steps(theta, data)[1]) for row in part]
        rows = [row for part in (begin[None], *moves) for row in part + self.penalty]
        return np.concatenate([np.exp(p) * n.sum() - n for p, n in zip(logs, rows)])

    def ignoring_noise(self, data: Realisations) -> np.ndarray | None:
        """The maximum-likelihood fit to the noisy moves as they are, negative sums as zero; None if some are hidden."""
        seen = [[_observed(tables, e) for e in data.edges] for tables in data.tables]
        if any(y is None for run in seen for y in run):
            return None
        moves: list = [sum(run[t] for run in seen) for t in range(len(data.edges))]  # type: ignore[arg-type]
        if not self.shared:
            whole = [np.maximum(m, 0.0) for m in moves]
            return self._closed(whole[0].sum(axis=1), whole)
        sums = moves[0].sum(axis=1), moves[-1].sum(axis=0), sum(moves)
        begin, end, total = balanced(*[np.maximum(x, 0.0) for x in sums], n_steps=len(data.weeks))
        start = np.concatenate([np.zeros(2 * len(begin)), np.log(total + 0.5).ravel() - np.log(total.mean() + 0.5)])
        return fit_chain(start, (begin, end, total), len(data.weeks), self.penalty, 300)

    def _steps(self, theta, data):
        sizes, taken, steps = data.domain.shape, data.domain.shape[0], []
        for a, b in pairwise(sizes):
            steps.append(theta[taken : taken + a * b].reshape(a, b))
            taken += a * b
        return theta[: sizes[0]], steps

    def _closed(self, begin, moves):
        begin = begin + self.penalty
        rows = [m + self.penalty for m in moves]
        shares = [np.log(r / r.sum(axis=1, keepdims=True)).ravel() for r in rows]
        return np.concatenate([np.log(begin / begin.sum()), *shares])


def _totals(data, counts):
    """Counts of the first and last week, and moves of every step, over all realisations."""
    begin, end = (np.sum([fit.nodes[week] for fit in counts], axis=0) for week in (data.weeks[0], data.weeks[-1]))
    return begin, end, [np.sum([dense(fit.edges[e]) for fit in counts], axis=0) for e in data.edges]


def _moves(sizes):
    return sum(a * b for a, b in pairwise(sizes))


def _observed(tables, edge):
    """The counts seen of an edge, in its order and in individuals; None where some weren't."""
    for table in tables:
        if set(table.attributes) == set(edge) and not np.isnan(table.counts).any():
            rate = table.noise.rate if isinstance(table.noise, Poisson) else 1.0
            counts = table.counts / rate
            return counts if table.attributes == edge else counts.T
    return None
