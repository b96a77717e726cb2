"""MultinomialDirichlet: the full posterior over whole tables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.ecological.identification import check_identified, typical_size
from sumwise.ecological.kernels import table_sampler as kernel
from sumwise.ecological.kernels.entropic_em import RakingProblem, common_shares
from sumwise.ecological.kernels.polytope import moved_inside
from sumwise.ecological.kernels.raking import rake
from sumwise.ecological.result import EcologicalEstimator, drawn_again
from sumwise.errors import DataError, ModelWarning
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference.kernels.chain_diagnostics import effective_size, split_r_hat
from sumwise.margins import Margins
from sumwise.progress import Progress

MOST_PEOPLE = 1e9  # a sweep passes over all of them


@dataclass(eq=False, repr=False)
class MultinomialDirichlet(EcologicalEstimator):
    """The hierarchical model of Rosen, Jiang, King and Tanner (2001): multinomial rows, Dirichlet shares across units.

    Chains walk over whole tables that have both margins of every unit, by moves between four cells that are drawn
    exactly from their conditional distribution; nothing needs tuning. They run until split R-hat is below `r_hat` for
    every share or `max_draws` is reached. `interval` and `estimate` raise an error if the chains have not converged.

    Fractional counts are rounded by largest remainders, and a warning says so.

    Parameters
    ----------
    shape, rate : float, default 8.0 and 2.0
        The gamma prior of the Dirichlet concentrations. The literature's 4.0 and 2.0 lets cells vanish, which cost
        accuracy on half of the elections.
    n_chains : int >= 2, default 4
    n_draws : int >= 20, default 300
        Draws kept per chain in each round, after the first half of the first round is dropped.
    max_draws : int, default 6000
        Draws per chain at which to give up.
    thin : int >= 1, default 2
        Sweeps per draw.
    r_hat : float, default 1.01
    random_state : int, Generator or None, default 0
        Draws follow the order of groups and outcomes; another order gives another approximation.

    Attributes
    ----------
    draws_ : ndarray of shape (n, R, C)
        Posterior draws of `shares_`.
    concentrations_ : ndarray of shape (R, C)
        Posterior mean of the Dirichlet concentrations.
    r_hat_, effective_size_ : ndarrays of shape (R, C)

    See Also
    --------
    EcologicalEM : Who chose what, for R x C tables: an EM whose every step rakes each unit to both of its margins.
    King : King's ecological inference (1997): each group's shares are normal across units, truncated to [0, 1].

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import MultinomialDirichlet
    >>> rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35]]
    >>> m = Margins(rows, [[68, 32], [43, 57], [52, 48], [31, 69], [60, 40]])
    >>> est = MultinomialDirichlet(r_hat=1.2).fit(m)
    >>> est.total_.sum(axis=0).round(6)
    array([254., 246.])
    """

    _learned = "draws_: float m R C; r_hat_, effective_size_: real R C; concentrations_: float R C; converged_: is bool"

    shape: float = 8.0
    rate: float = 2.0
    n_chains: int = 4
    n_draws: int = 300
    max_draws: int = 6000
    thin: int = 2
    r_hat: float = 1.01
    random_state: int = 0

    def fit(self, margins: Margins, y: Any = None) -> MultinomialDirichlet:
        """Sample the tables of `margins`; `y` is ignored."""
        self._check()
        check_identified(margins)
        rows, cols = _whole_counts(margins)
        counted = in_one_order(rows, cols)
        rows, cols = rows[counted], cols[counted]
        streams = checks.generator(self.random_state).spawn(self.n_chains)
        states = [self._start(margins, rows, cols, stream) for stream in streams]
        kept, means, concentrations, r_hats = self._run(states, streams)
        size = np.maximum(rows.sum(axis=0)[:, None], 1)
        chains = kept / size
        self.r_hat_, self.effective_size_ = split_r_hat(chains), effective_size(chains)
        worst = float(self.r_hat_.max())
        self.converged_ = bool(worst < self.r_hat)
        self.draws_ = chains.reshape(-1, *chains.shape[2:])
        self.concentrations_ = concentrations
        x = np.broadcast_to(rows[:, :, None], means.shape)
        cells = np.tile(self.draws_.mean(axis=0), (margins.n_units, 1, 1))  # where a group has or rounds to nobody
        np.divide(means, x, out=means, where=x > 0)
        cells[counted] = np.where(x > 0, means, cells[counted])
        self._store(margins, cells)
        limits = self.lower_bound_, self.upper_bound_  # means are of all rounds but the first; counts may be rounded
        moved = self.draws_ + self.shares_ - self.draws_.mean(axis=0)
        self.draws_ = moved_inside(moved, self.group_sizes_, self.total_.sum(axis=0), *limits)
        history = {"r_hat": r_hats}
        self.fit_ = Fit(objective=worst, n_iter=kept.shape[1], converged=self.converged_, history=history)
        if not self.converged_:
            warn_not_converged(kept.shape[1], worst - 1, self.r_hat - 1, hint="raise max_draws or thin.")
        return self

    def _check(self) -> None:
        for name in ("shape", "rate"):
            checks.positive(getattr(self, name), name)
        checks.at_least(self.n_chains, "n_chains", 2)
        checks.at_least(self.n_draws, "n_draws", 20)
        checks.at_least(self.max_draws, "max_draws", self.n_draws)
        checks.at_least(self.thin, "thin", 1)
        if not self.r_hat > 1:
            raise DataError(f"r_hat is {self.r_hat}; it must be above 1.", hint="1.01 is strict, 1.1 is lenient.")

    def _start(
        self, margins: Margins, rows: np.ndarray, cols: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tables and concentrations near a quick fit, scattered by more than the posterior."""
        overall = np.tile(margins.cols.sum(axis=0) / margins.cols.sum(), (margins.n_rows, 1))
        problem = RakingProblem(rows + 0.0, cols + 0.0, np.ones(len(rows)), rho=0.005, alpha=2.0)
        near = common_shares(problem, overall, tol=1e-3)
        mixed = 0.9 * np.exp(near.log_shares) + 0.1 * rng.dirichlet(np.ones(margins.n_cols), margins.n_rows)
        guide = rake(rows + 0.0, cols + 0.0, np.log(mixed)) * rows[:, :, None]
        return kernel.north_west(rows, cols, guide), 20 * mixed + 0.05

    def _run(
        self, states: list[tuple[np.ndarray, np.ndarray]], streams: list[np.random.Generator]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float]]:
        """Rounds of draws until the chains agree; the first half of the first round is dropped."""
        parts, means, alphas, r_hats = [], [], [], []
        done, kept = 0, np.empty((0, 0))
        rounds = -(-self.max_draws // self.n_draws)
        with Progress("Chains", rounds * len(states)) as progress:  # at most: one estimate of the time left for all
            while done < self.max_draws:
                runs = []
                for (table, alpha), rng in zip(states, streams):
                    draws, thin = int(self.n_draws), int(self.thin)
                    runs.append(kernel.sample_chain(table, alpha, draws, thin, self.shape, self.rate, rng))
                    progress.step()
                done += self.n_draws
                drop = self.n_draws // 2 if not parts else 0
                totals, concentrations, tables = zip(*runs)
                parts.append(np.stack([draws[drop:] for draws in totals]))
                means.append(np.mean(tables, axis=0))
                alphas.append(np.mean([draws[drop:] for draws in concentrations], axis=(0, 1)))
                kept = np.concatenate(parts, axis=1)
                r_hats.append(float(split_r_hat(kept).max()))
                if r_hats[-1] < self.r_hat:
                    break
        return kept, np.mean(means[1:] or means, axis=0), np.mean(alphas[1:] or alphas, axis=0), r_hats

    def _drawn(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        self._need_convergence()
        if n_draws == len(self.draws_):
            return self.draws_
        return drawn_again(self.draws_, n_draws, rng)

    def _interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        return self.draws(len(self.draws_)).interval(level)

    def _need_convergence(self) -> None:
        if not self.converged_:
            worst = float(self.r_hat_.max())
            raise DataError(
                f"The chains don't agree: R-hat is up to {worst:.2f}, the limit is {self.r_hat}.",
                hint="raise max_draws or thin; shares_ and draws_ hold what there is.",
            )


def in_one_order(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Positions of the units with people, sorted by what they hold: chains are the same in any order of the units."""
    counted = np.flatnonzero(rows.sum(axis=1) > 0)
    return counted[np.lexsort(np.column_stack([rows, cols])[counted].T[::-1])]


def _whole_counts(margins: Margins) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as whole numbers with equal totals; a warning where that changes them."""
    totals = np.round(margins.totals).astype(np.int64)
    if not totals.sum() > 0:
        most = float(margins.totals.max())
        raise DataError(
            f"All units round to nobody; the largest has {most:.3g} people.", hint="give counts, not shares."
        )
    if totals.sum() > MOST_PEOPLE or totals.min() < 0:
        raise DataError(
            f"There are {margins.totals.sum():.3g} people in all; tables are drawn person by person, up to "
            f"{MOST_PEOPLE:.0g} of them.",
            hint="use EcologicalEM, or give counts in thousands.",
        )
    sides = []
    for side in (margins.rows, margins.cols):
        total = np.maximum(side.sum(axis=1, keepdims=True), 1e-300)
        sides.append(kernel.largest_remainder(side * (totals[:, None] / total), totals))
    moved = max(float(np.abs(a - b).max()) for a, b in zip(sides, (margins.rows, margins.cols)))
    apart = np.abs(sides[0] - margins.rows).sum(axis=1) / (2 * np.maximum(margins.totals, 1e-300))
    if typical_size(margins) <= 1:
        raise DataError(
            f"Rounding to whole people would move {np.median(apart):.0%} of the people of a typical unit to another "
            f"group; a unit has {np.median(margins.totals):.3g} of them.",
            hint="give counts of people, not shares.",
        )
    if moved > 1e-6:
        changed = int((np.abs(sides[0] - margins.rows).max(axis=1) > 1e-6).sum())
        warnings.warn(
            f"Counts are fractional: they were rounded by largest remainders, rows in {changed} of {len(margins)} "
            f"units, by up to {moved:.2f}. Hint: give whole counts to have them used as they are.",
            ModelWarning,
            stacklevel=3,
        )
    return sides[0], sides[1]
