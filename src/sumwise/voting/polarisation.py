"""Polarised voting over many contests in one table, and which groups decided a contest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.nonvoting import no_candidates
from sumwise.voting.candidates_of_choice import (
    VotingPatterns,
    others_shares,
    probability_text,
    voting_patterns,
)

POLARISED = (
    "A contest is called polarised for a group if, with probability 0.95 or more, the group's voters prefer its "
    "candidate of choice and all other voters another one; not polarised if both prefer the same one with probability "
    "0.95 or more (Thornburg v. Gingles, 478 U.S. 30, 53 n. 21 (1986): the groups vote differently). "
    "Probabilities are conditional on the model."
)


def polarised_voting(
    fits: Mapping[Any, Any] | Any,
    winners: Mapping[Any, Any] | None = None,
    offices: Mapping[Any, Any] | None = None,
    level: float = 0.95,
    n_draws: int = 2000,
    random_state: Any = 0,
    abstention: Any = None,
) -> pd.DataFrame:
    """Tabulate cohesion, crossover and polarisation of every group in every contest; see `POLARISED`.

    Shares are among voters: outcomes that mean not voting are not candidates.

    Parameters
    ----------
    fits : mapping of contest to fitted estimator, or EcologicalEM fitted to Contests
    winners : mapping of contest to candidate, optional
        By default the candidate with most votes.
    offices : mapping of contest to str, optional
        Adds a column.
    level : float in (0, 1), default 0.95
    n_draws : int, default 2000
    random_state : int, Generator or None, default 0
    abstention : str or list of str, optional
        The outcomes that are not candidates, in the contests that have them; by default those whose names say so
        ("NoVote", "abstain", ...).

    Returns
    -------
    pandas.DataFrame
        One row per contest and group: candidate of choice and its probability, cohesion (the group's share for that
        candidate) and crossover (everybody else's) with intervals, their gap, the overlap of the two densities, the
        probability that the group prefers this candidate and the others another, whether voting is polarised, and
        whether the candidate won.

    See Also
    --------
    voting_patterns : One contest in detail.
    decisive_groups : Whose votes decided a contest.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import polarised_voting
    >>> fits = {k: EcologicalEM().fit(synthetic.precincts(60, 2, 2, random_state=k).margins) for k in range(2)}
    >>> polarised_voting(fits)[["contest", "group"]].values.tolist()
    [[0, 'group 1'], [0, 'group 2'], [1, 'group 1'], [1, 'group 2']]
    """
    level = checks.fraction(level, "level")
    fits = getattr(fits, "contests_", fits)
    if not isinstance(fits, Mapping):
        raise DataError("Give fits by contest.", hint='such as polarised_voting({"mayor 2020": est}).')
    asked = [abstention] if isinstance(abstention, str) else abstention
    if asked is not None:
        no_candidates([name for est in fits.values() for name in est.col_names_], asked)  # refuses unknown names
    rows = []
    for contest, est in fits.items():
        away = None if asked is None else [name for name in asked if name in est.col_names_]
        lead = {"contest": contest} | ({} if offices is None else {"office": offices.get(contest)})
        winner = None if winners is None else winners.get(contest)
        if winner is None:
            votes = np.where(no_candidates(est.col_names_, away), -np.inf, est.total_.sum(axis=0))
            winner = est.col_names_[int(np.argmax(votes))]
        patterns = voting_patterns(est, level, n_draws, random_state, away)
        rows += [lead | row for row in _contest_rows(patterns, winner)]
    return pd.DataFrame(rows)


def _contest_rows(found: VotingPatterns, winner: Any) -> list[dict[str, Any]]:
    shares, draws, voters, _ = found.voters
    others = others_shares(draws, voters)
    rows = []
    for r, chosen in enumerate(found.choice.to_dict("records")):
        name = chosen["candidate"]
        row = {"group": chosen["group"], "candidate of choice": name}
        row["probability"] = probability_text(chosen["probability"])
        for what in (found.cohesion, found.crossover):
            low, high = what.interval
            row |= {what.name: float(what.values[r]), f"{what.name} low": low[r], f"{what.name} high": high[r]}
        row["gap"] = row["cohesion"] - row["crossover"]
        c = int(np.argmax(shares[r]))
        row["overlap"] = overlap(draws[:, r, c], others[:, r, c])
        row["others differ"] = probability_text(chosen["others_differ"])
        row["polarised"] = chosen["polarised"]
        row["candidate won"] = name == winner
        rows.append(row)
    return rows


def overlap(first: np.ndarray, second: np.ndarray, n_bins: int = 50) -> float:
    """The overlap of two densities, the integral of their minimum, from draws in [0, 1]."""
    low, high = min(first.min(), second.min()), max(first.max(), second.max())
    if high - low < 1e-12:
        return 1.0
    counts = [np.histogram(x, bins=n_bins, range=(low, high))[0] / len(x) for x in (first, second)]
    return float(np.minimum(*counts).sum())


def decisive_groups(est: Any, n_draws: int = 2000, random_state: Any = 0, abstention: Any = None) -> pd.DataFrame:
    """Report the winner's margin, what each group contributed to it, and whether the result depends on the group.

    Parameters
    ----------
    est : fitted estimator on Margins
    n_draws : int, default 2000
    random_state : int, Generator or None, default 0
    abstention : str or list of str, optional
        The outcomes that are not candidates; by default those whose names say so ("NoVote", "abstain", ...).

    Returns
    -------
    pandas.DataFrame
        One row per group: its estimated voters, its net votes for the winner over the runner-up, that net over the
        winner's margin, and the probability that without the group's votes another candidate would have won.

    See Also
    --------
    polarised_voting : Polarised voting over contests.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import decisive_groups
    >>> decisive_groups(EcologicalEM().fit(synthetic.precincts(60, random_state=0).margins)).columns.tolist()
    ['group', 'voters', 'net votes', 'share of margin', 'decisive']
    """
    real = ~np.array(no_candidates(est.col_names_, abstention))
    if real.sum() < 2:
        raise DataError("There are fewer than two candidates.", hint="non-voters are not candidates.")
    candidates = [name for name, choice in zip(est.col_names_, real) if choice]
    counts, drawn = est.total_[:, real], est.draws(n_draws, random_state).values[..., real]
    votes = counts.sum(axis=0)
    first, second = np.argsort(-votes, kind="stable")[:2]
    margin = float(votes[first] - votes[second])
    rows = []
    for r, group in enumerate(est.row_names_):
        net = float(counts[r, first] - counts[r, second])
        without = votes - est.group_sizes_[r] * drawn[:, r]  # the contest's votes are known; the group's part is drawn
        rows.append(
            {
                "group": group,
                "voters": float(counts[r].sum()),
                "net votes": net,
                "share of margin": net / margin if margin > 0 else np.nan,
                "decisive": float(np.mean(without.argmax(axis=1) != first)),
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs = {"winner": candidates[first], "runner-up": candidates[second], "margin": margin}
    return frame
