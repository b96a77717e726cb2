"""Turnout of every group, and the choice of those who voted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.nonvoting import is_nonvoting, no_candidates


@dataclass(frozen=True)
class Turnout:
    """Turnout by group and choice among voters; made by `turnout`.

    Attributes
    ----------
    turnout : Estimate
        Per group, the share of it that voted.
    choice : Estimate
        Per group and candidate, the share of the group's *valid votes* that the candidate got.
    abstention : tuple of str
        The outcomes that were counted as not voting. Undervotes, blank and invalid ballots are not among them: whoever
        cast one turned out.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import turnout
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

    def _repr_html_(self) -> str:
        each = ", ".join(f"{name} {value:.1%}" for name, value in zip(self.turnout.labels[0], self.turnout.values))
        return finding_html(f"Turnout by group: {each}. Choice among voters:", self.choice.to_frame())


def abstentions(names: Sequence, given: Any = None) -> np.ndarray:
    """Which outcomes are not candidates, (C,) bool: those named, or those whose name says so."""
    abstained = np.array(no_candidates(names, given))
    hint = "name them: abstention=['NoVote']." if given is None else "leave at least one candidate."
    if not abstained.any() or abstained.all():
        listed = ", ".join(map(str, names))
        what = "none counts" if not abstained.any() else "all count"
        raise DataError(f"Of the outcomes {listed}, {what} as not voting.", hint=hint)
    return abstained


def stayed_home(names: Sequence, given: Any = None) -> np.ndarray:
    """Which outcomes are not turning out, (C,) bool: those named, or those whose name says so; no undervote is."""
    return abstentions(names, given) & np.array([given is not None or is_nonvoting(name) for name in names])


def among_voters(shares: np.ndarray, away: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of valid votes (..., R) and candidates' shares of them (..., R, candidates) from shares (..., R, C)."""
    chosen = shares[..., ~away]
    voted = np.clip(chosen.sum(axis=-1), 1e-9, 1.0)
    return voted, chosen / voted[..., None]


def turnout(
    est: Any, abstention: Any = None, level: float = 0.95, n_draws: int = 2000, random_state: Any = 0
) -> Turnout:
    """Compute turnout and choice among voters from one fit to all outcomes, non-voters included.

    Parameters
    ----------
    est : fitted estimator on Margins
        Its outcomes hold candidates and non-voters, so that totals are of everybody who could vote.
    abstention : str or list of str, optional
        The outcomes that are not voting; by default those whose names say so ("NoVote", "abstain", ...). Undervotes and
        blank ballots ("undervotes", "blank") are no candidates either, but their voters turned out.
    level : float in (0, 1), default 0.95
    n_draws : int, default 2000
    random_state : int, Generator or None, default 0

    Returns
    -------
    Turnout

    See Also
    --------
    voting_patterns : Candidates of choice and polarisation.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import turnout
    >>> rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    >>> cols = [[40, 20, 40], [25, 30, 45], [30, 28, 42], [18, 36, 46], [38, 20, 42], [28, 27, 45]]
    >>> found = turnout(EcologicalEM().fit(Margins(rows, cols)), abstention="col2")
    >>> found.turnout.shape, found.choice.shape
    ((2,), (2, 2))
    """
    level = checks.fraction(level, "level")
    away = abstentions(est.col_names_, abstention)
    home = stayed_home(est.col_names_, abstention)
    drawn, tails = est.draws(n_draws, random_state).values, [(1 - level) / 2, (1 + level) / 2]
    voting, chosen = np.clip(1 - drawn[..., home].sum(axis=-1), 0, 1), among_voters(drawn, away)[1]
    (low, high), (least, most) = (np.quantile(draws, tails, axis=0) for draws in (voting, chosen))
    candidates = [name for name, gone in zip(est.col_names_, away) if not gone]
    groups = est.row_names_
    voted = Estimate(voting.mean(axis=0), low, high, level, labels=[groups], axes=["group"], name="turnout")
    labels, axes = [groups, candidates], ["group", "candidate"]
    choice = Estimate(chosen.mean(axis=0), least, most, level, labels=labels, axes=axes, name="share")
    return Turnout(voted, choice, tuple(name for name, gone in zip(est.col_names_, home) if gone))
