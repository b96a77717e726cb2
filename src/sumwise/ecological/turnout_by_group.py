"""Turnout of every group, and the choice of those who voted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.ecological.em import EcologicalEM
from sumwise.ecological.kernels.raking import rake
from sumwise.ecological.result import fresh
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.margins import Margins
from sumwise.nonvoting import no_candidates

N_REFITS = 8  # of the second stage, with turnout drawn from the first


@dataclass(frozen=True)
class Turnout:
    """Turnout by group and choice among voters; made by `turnout` and `two_stage_turnout`.

    Attributes
    ----------
    turnout : Estimate
        Per group, the share of it that voted.
    choice : Estimate
        Per group and candidate, the share of the group's *voters* that chose the candidate.
    abstention : tuple of str
        The outcomes that were counted as not voting.
    method : {"one stage", "two stages"}

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM, turnout
    >>> rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    >>> m = Margins(rows, [[40, 20, 40], [25, 30, 45], [30, 28, 42], [18, 36, 46], [38, 20, 42], [28, 27, 45]],
    ...             col_names=["A", "B", "NoVote"])
    >>> found = turnout(EcologicalEM().fit(m))
    >>> found.abstention, found.choice.labels[1]
    (('NoVote',), ('A', 'B'))
    """

    turnout: Estimate
    choice: Estimate
    abstention: tuple
    method: str

    def _repr_html_(self) -> str:
        each = ", ".join(f"{name} {value:.1%}" for name, value in zip(self.turnout.labels[0], self.turnout.values))
        return finding_html(f"Turnout by group: {each}. Choice among voters:", self.choice.to_frame())


def abstentions(names: Sequence, given: Any = None) -> np.ndarray:
    """Which outcomes are not candidates, (C,) bool: those named, or those whose name says so."""
    found = np.array(no_candidates(names, given))
    hint = "name them: abstention=['NoVote']." if given is None else "leave at least one candidate."
    if not found.any() or found.all():
        listed = ", ".join(map(str, names))
        what = "none counts" if not found.any() else "all count"
        raise DataError(f"Of the outcomes {listed}, {what} as not voting.", hint=hint)
    return found


def among_voters(shares: np.ndarray, away: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turnout (..., R) and shares of candidates among voters (..., R, candidates) from shares (..., R, C)."""
    voted = np.clip(1 - shares[..., away].sum(axis=-1), 1e-9, 1.0)
    return voted, shares[..., ~away] / voted[..., None]


def turnout(
    est: Any, abstention: Any = None, level: float = 0.95, n_draws: int = 2000, random_state: Any = 0
) -> Turnout:
    """Compute turnout and choice among voters from one fit to all outcomes, non-voters included.

    Parameters
    ----------
    est : fitted estimator on Margins
        Its outcomes hold candidates and non-voters, so that totals are of everybody who could vote.
    abstention : str or list of str, optional
        The outcomes that are not candidates; by default those whose names say so ("NoVote", "abstain", ...).
    level : float in (0, 1), default 0.95
    n_draws : int, default 2000
    random_state : int, Generator or None, default 0

    Returns
    -------
    Turnout

    See Also
    --------
    two_stage_turnout : Turnout first, then choice.
    voting_patterns : Candidates of choice and polarisation.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM, turnout
    >>> rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    >>> cols = [[40, 20, 40], [25, 30, 45], [30, 28, 42], [18, 36, 46], [38, 20, 42], [28, 27, 45]]
    >>> found = turnout(EcologicalEM().fit(Margins(rows, cols)), abstention="col2")
    >>> found.turnout.shape, found.choice.shape
    ((2,), (2, 2))
    """
    level = checks.fraction(level, "level")
    away = abstentions(est.col_names_, abstention)
    voted, choice = among_voters(est.shares_, away)
    draws = among_voters(est.sample(n_draws, random_state), away)
    tails = [(1 - level) / 2, (1 + level) / 2]
    ranges = [np.quantile(d, tails, axis=0) for d in draws]
    if away.sum() == 1:  # the method's own interval of one cell
        low, high = est.interval(level)
        ranges[0] = np.stack([1 - high[:, away][:, 0], 1 - low[:, away][:, 0]])
    return _record(est, away, (voted, choice), ranges, level, "one stage")


def two_stage_turnout(
    margins: Margins, abstention: Any = None, level: float = 0.95, method: Any = None, random_state: Any = 0
) -> Turnout:
    """Estimate who voted, then what voters chose, by two fits.

    The first is of groups by voted or not; the second of the estimated voters of each group by candidate. The
    second is fitted again to voters that are drawn from the first, so that its intervals include that uncertainty.

    Parameters
    ----------
    margins : Margins
    abstention : str or list of str, optional
        As in `turnout`.
    level : float in (0, 1), default 0.95
    method : EcologicalEM, optional
        Cloned for both stages; default ``EcologicalEM()``.
    random_state : int, Generator or None, default 0

    Returns
    -------
    Turnout

    See Also
    --------
    turnout : Both from one fit.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import two_stage_turnout
    >>> rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    >>> m = Margins(rows, [[40, 20, 40], [25, 30, 45], [30, 28, 42], [18, 36, 46], [38, 20, 42], [28, 27, 45]],
    ...             col_names=["A", "B", "NoVote"])
    >>> two_stage_turnout(m).turnout.shape
    (2,)
    """
    level = checks.fraction(level, "level")
    away = abstentions(margins.col_names, abstention)
    method = EcologicalEM() if method is None else method
    rng = checks.generator(random_state)
    sides = np.stack([margins.cols[:, ~away].sum(axis=1), margins.cols[:, away].sum(axis=1)], axis=1)
    if not sides.sum(axis=0).all():
        raise DataError("Everybody voted, or nobody did.", hint="with no non-voters there is no turnout to estimate.")
    first = fresh(method).fit(Margins(margins.rows, sides, weights=margins.weights))
    second = _second(margins, away, first.cells_, method)
    refits = []
    for draw in first.sample(N_REFITS, rng):
        cells = rake(np.array(margins.rows), sides, np.log(np.clip(draw, 1e-6, 1.0)))
        refits.append(_second(margins, away, cells, fresh(method, n_groups=0)).shares_)
    sd = np.sqrt(second.standard_errors_**2 + np.var(refits, axis=0, ddof=1))
    second.standard_errors_ = sd
    bounds = np.zeros_like(sd), np.ones_like(sd)  # bounds of estimated voters are no bounds
    second.lower_bound_, second.upper_bound_ = bounds
    low, high = first.interval(level)
    ranges = [np.stack([low[:, 0], high[:, 0]]), np.stack(second.interval(level))]
    return _record(first, away, (first.shares_[:, 0], second.shares_), ranges, level, "two stages", margins)


def _second(margins: Margins, away: np.ndarray, cells: np.ndarray, method: Any) -> Any:
    """A fit of the voters that `cells` (n, R, 2) imply, by candidate."""
    voters = margins.rows * cells[:, :, 0]
    votes = margins.cols[:, ~away]
    whole = voters.sum(axis=1, keepdims=True)
    scale = np.divide(votes.sum(axis=1, keepdims=True), whole, out=np.zeros_like(whole), where=whole > 0)
    used = Margins(voters * scale, votes, weights=margins.weights, row_names=margins.row_names)
    return fresh(method).fit(used)


def _record(est, away, values, ranges, level, method, margins=None) -> Turnout:
    groups = est.row_names_ if margins is None else margins.row_names
    names = est.col_names_ if margins is None else margins.col_names
    candidates = [name for name, gone in zip(names, away) if not gone]
    made = []
    for value, (low, high), what, labels, axes in zip(
        values, ranges, ("turnout", "share"), ([groups], [groups, candidates]), (["group"], ["group", "candidate"])
    ):
        ends = np.clip(np.minimum(low, value), 0, 1), np.clip(np.maximum(high, value), 0, 1)
        made.append(Estimate(np.clip(value, 0, 1), ends[0], ends[1], level, labels=labels, axes=axes, name=what))
    return Turnout(made[0], made[1], tuple(name for name, gone in zip(names, away) if gone), method)
