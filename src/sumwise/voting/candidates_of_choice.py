"""Voting patterns: what a court asks of a fit: candidates of choice, cohesion, crossover, polarisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.nonvoting import is_rest, members, no_candidates
from sumwise.voting.turnout_by_group import among_voters


@dataclass(frozen=True)
class VotingPatterns:
    """Voting patterns of groups, with intervals and probabilities; made by `voting_patterns`.

    Attributes
    ----------
    choice : pandas.DataFrame
        Per group its candidate of choice (the outcome with the largest share; not voting is none), the probability
        that it is the largest, the runner-up, the probability that the group prefers this candidate and all others
        another, and whether voting is polarised (see `POLARISED`).
    cohesion : Estimate
        For each group, the share of its voters who chose its candidate of choice.
    crossover : Estimate
        Per group the share that everybody else gives to that group's candidate of choice.
    polarisation : Estimate
        Per group and outcome the group's share less that of everybody else.
    level : float in (0, 1)
    abstention : tuple of str
        Outcomes that are not voting; where there are any, all shares are among voters.
    voters : tuple
        Shares of candidates among each group's voters (R, candidates), draws of them (n_draws, R, candidates), how many
        voters (R,), and the candidates; empty in files of version 0.2 and before.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import voting_patterns
    >>> p = synthetic.precincts(80, 2, 2, random_state=1)
    >>> found = voting_patterns(EcologicalEM().fit(p.margins))
    >>> found.choice.columns.tolist()
    ['group', 'candidate', 'probability', 'runner_up', 'others_differ', 'polarised']
    """

    choice: pd.DataFrame
    cohesion: Estimate
    crossover: Estimate
    polarisation: Estimate
    level: float
    abstention: tuple = ()
    voters: tuple = field(default=(), repr=False)

    def _repr_html_(self) -> str:
        return finding_html(self.to_text())

    def to_text(self) -> str:
        """Return the findings as sentences for a report."""
        lines = []
        people, rest = ("group's voters", "all other voters") if self.abstention else ("group", "all others")
        noun = "voters" if self.abstention else "people"
        for k, row in enumerate(self.choice.to_dict("records")):
            group, candidate, second = row["group"], *(named(row[key]) for key in ("candidate", "runner_up"))
            percent = [100 * float(v[k]) for e in (self.cohesion, self.crossover) for v in (e.values, *e.interval)]
            likely = probability_text(row["probability"])
            lines.append(
                f"The candidate of choice of {members(group, noun)} is {candidate} (probability {likely}; "
                f"next is {second}). An estimated {percent[0]:.1f}% of the {people} chose {candidate} "
                f"({100 * self.level:g}% interval {percent[1]:.1f}% to {percent[2]:.1f}%), and {percent[3]:.1f}% of "
                f"{rest} ({percent[4]:.1f}% to {percent[5]:.1f}%). {_verdict(row)}"
            )
        return "\n".join(lines)


def named(candidate: Any) -> str:
    """Return a candidate's name; what stands for all others is in quotes, since "is not Smith" would deny something.

    Examples
    --------
    >>> from sumwise.voting.candidates_of_choice import named
    >>> named("Smith"), named("not Smith")
    ('Smith', "'not Smith'")
    """
    return f"'{candidate}'" if is_rest(candidate) else str(candidate)


def probability_text(probability: float) -> str:
    """Return a probability in two digits, never as certainty: ">0.99", "<0.01".

    Parameters
    ----------
    probability : float in [0, 1]
        What to print.

    Examples
    --------
    >>> from sumwise.voting.candidates_of_choice import probability_text
    >>> probability_text(1.0), probability_text(0.874), probability_text(0.0)
    ('>0.99', '0.87', '<0.01')
    """
    if probability > 0.99:
        return ">0.99"
    return "<0.01" if probability < 0.01 else f"{probability:.2f}"


def _polarised(others_differ: float, differ: float) -> str:
    """Whether voting is polarised: "yes", "no" or "undetermined".

    In a close contest the others prefer another candidate whichever a group prefers, since the totals are known: that
    alone says nothing about the group. So "yes" needs a group whose own choice is determined.
    """
    return "yes" if others_differ >= 0.95 else "no" if differ <= 0.05 else "undetermined"


def _verdict(row: Any) -> str:
    if row["polarised"] == "no":
        return "Voting is not polarised: the probability that the others prefer the same candidate is at least 0.95."
    likely = "the probability that the group prefers this candidate and the others another is "
    verdict = "Voting is polarised" if row["polarised"] == "yes" else "Whether voting is polarised is undetermined"
    return f"{verdict}: {likely}{probability_text(row['others_differ'])}."


def voting_patterns(
    est: Any, level: float = 0.95, n_draws: int = 2000, random_state: Any = 0, abstention: Any = None
) -> VotingPatterns:
    """Compute candidates of choice, cohesion, crossover and polarisation from a fitted estimator.

    Parameters
    ----------
    est : fitted estimator on Margins
        With a probability model (not `Bounds`).
    level : float in (0, 1), default 0.95
    n_draws : int, default 2000
        Draws of the shares behind probabilities and intervals.
    random_state : int, Generator or None, default 0
    abstention : str or list of str, optional
        The outcomes that are not candidates; by default those whose names say so ("NoVote", "abstain", ...).

    Returns
    -------
    VotingPatterns

    See Also
    --------
    polarised_voting : One table over all contests.
    turnout : Turnout, and choice among voters.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import voting_patterns
    >>> p = synthetic.precincts(80, 2, 3, random_state=1)
    >>> voting_patterns(EcologicalEM().fit(p.margins)).cohesion.shape
    (2,)
    """
    level = checks.fraction(level, "level")
    groups, names = est.row_names_, est.col_names_
    away = np.array(no_candidates(names, abstention))  # not voting is no candidate
    if (~away).sum() < 2 or len(groups) < 2:
        raise DataError(
            f"Voting patterns need two groups and two candidates; there are {len(groups)} groups, and the "
            f"outcomes are {', '.join(map(str, names))}.",
            hint="non-voters are not candidates.",
        )
    shares, draws, sizes = est.shares_, est.draws(n_draws, random_state).values, est.group_sizes_
    gone, names = (tuple(name for name, out in zip(names, away) if out == which) for which in (True, False))
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = est.interval(level)
    if gone:
        voted, draws = among_voters(draws, away)
        shares, sizes, (low, high) = draws.mean(axis=0), sizes * voted.mean(axis=0), np.quantile(draws, tails, axis=0)
    order = np.argsort(-shares, axis=1, kind="stable")
    best, second = order[:, 0], order[:, 1]
    others, others_drawn = others_shares(shares, sizes), others_shares(draws, sizes)
    first, others_first = draws.argmax(axis=2), others_drawn.argmax(axis=2)
    differ = first != others_first
    others_differ = np.mean((first == best) & differ, axis=0)
    choice = pd.DataFrame(
        {
            "group": list(groups),
            "candidate": [names[c] for c in best],
            "probability": np.mean(first == best, axis=0),
            "runner_up": [names[c] for c in second],
            "others_differ": others_differ,
            "polarised": [_polarised(*both) for both in zip(others_differ, differ.mean(axis=0))],
        }
    )
    row = np.arange(len(groups))
    near = np.quantile(draws - others_drawn, tails, axis=0)
    across = np.quantile(others_drawn[:, row, best], tails, axis=0)
    if len(groups) == 2:  # all others are the other group, whose interval is known
        across = np.stack([low[1 - row, best], high[1 - row, best]])
    point, value = shares - others, others[row, best]
    named = {"level": level, "labels": [groups], "axes": ["group"]}
    both = {"level": level, "labels": [groups, names], "axes": ["group", "outcome"]}
    return VotingPatterns(
        choice,
        Estimate(shares[row, best], low[row, best], high[row, best], name="cohesion", **named),
        Estimate(value, *across, name="crossover", **named),
        Estimate(point, *near, name="polarisation", **both),
        level,
        gone,
        (shares, draws, sizes, names),  # a plain tuple, which files hold
    )


def others_shares(shares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Shares of everybody outside each group, (..., R, C)."""
    counts = shares * sizes[:, None]
    rest = np.maximum(sizes.sum() - sizes, 1e-300)[:, None]
    return (counts.sum(axis=-2, keepdims=True) - counts) / rest
