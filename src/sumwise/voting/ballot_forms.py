"""Ballots that are more than one mark: candidates on several lines, and rounds of ranked choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.contests import Contests
from sumwise.draws import Draws
from sumwise.errors import DataError
from sumwise.margins import Margins


def merge_lines(source: Margins | Draws, lines: Mapping[str, Sequence[str]]) -> Margins | Draws:
    """Add up the lines of each candidate: fusion ballots list a candidate under several parties.

    Merge the margins, and a fit is of candidates. Or fit the lines, and merge the draws of their shares: a candidate is
    then the sum of its lines in every draw, so that lines and candidates have estimates that agree.

    Parameters
    ----------
    source : Margins or Draws
        With a line per outcome; draws as `EcologicalEM.draws` returns them, groups by outcomes.
    lines : mapping of candidate to the names of its lines
        Outcomes that it doesn't name stay as they are.

    Returns
    -------
    Margins or Draws
        Outcomes in their order, a candidate in the place of its first line.

    See Also
    --------
    ranked_choice_rounds : Rounds of a ranked-choice count.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import merge_lines
    >>> rows = [[60, 40], [10, 90], [35, 65], [80, 20], [50, 50], [25, 75]]
    >>> cols = [[40, 15, 45], [10, 20, 70], [25, 20, 55], [55, 10, 35], [35, 15, 50], [20, 20, 60]]
    >>> m = Margins(rows, cols, row_names=["a", "b"], col_names=["Lee (D)", "Lee (WF)", "Roy (R)"])
    >>> merge_lines(m, {"Lee": ["Lee (D)", "Lee (WF)"]}).cols[0]
    array([55., 45.])
    >>> by_line = EcologicalEM().fit(m).draws()
    >>> by_candidate = merge_lines(by_line, {"Lee": ["Lee (D)", "Lee (WF)"]})
    >>> bool(abs(by_candidate.values[:, :, 0] - by_line.values[:, :, :2].sum(axis=2)).max() < 1e-12)
    True
    """
    names = list(map(str, source.labels[-1] if isinstance(source, Draws) else source.col_names))
    candidate_of = {}
    for candidate, own in lines.items():
        for line in [own] if isinstance(own, str) else own:
            checks.known(str(line), names, "outcome")
            if candidate_of.setdefault(str(line), candidate) != candidate:
                raise DataError(
                    f"Line {str(line)!r} belongs to {candidate_of[str(line)]!r} and {candidate!r}.",
                    hint="a line has one candidate.",
                )
    merged = [str(candidate_of.get(name, name)) for name in names]
    candidates = list(dict.fromkeys(merged))
    clash = [name for name in candidates if name in names and name not in candidate_of and name in map(str, lines)]
    if clash:
        raise DataError(f"{clash[0]!r} is a candidate and an outcome of its own.", hint="name that line, too.")
    adds = np.array([[candidate == name for candidate in candidates] for name in merged], dtype=float)
    if isinstance(source, Draws):
        labels = (*source.labels[:-1], tuple(candidates))
        return Draws(source.values @ adds, labels=labels, axes=source.axes, name=source.name)
    return Margins(**_sides(source), cols=source.cols @ adds, col_names=candidates)


def ranked_choice_rounds(groups: Any, rounds: Mapping[Any, Any], exhausted: str = "exhausted") -> Contests:
    """Return every round of a ranked-choice count as a contest of its own, with exhausted ballots as an outcome.

    A round says whom groups choose among those who are left. Rounds are of the same ballots and are fitted one by one:
    their errors are shared, so they are no evidence for each other. If one candidate is eliminated, where the ballots
    went is known from the totals of the two rounds and needs no estimate. What can't be learned: the later choices of
    ballots whose candidate stayed, and how a group's exhausted ballots would have continued.

    Parameters
    ----------
    groups : data frame or array of shape (n_units, n_groups)
        How many of each group a unit has: voters, or people who could vote; then those who didn't are "NoVote".
    rounds : mapping of round to data frame of shape (n_units, candidates)
        In the order of the count; the votes of the candidates who are left, in the order of units of `groups`.
    exhausted : str, default "exhausted"
        The name of the outcome of ballots that name nobody who is left.

    Returns
    -------
    Contests
        One for each round, by its key.

    See Also
    --------
    merge_lines : Candidates on several lines.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.voting import ranked_choice_rounds
    >>> groups = pd.DataFrame({"a": [60, 10], "b": [40, 90]})
    >>> first = pd.DataFrame({"Ann": [50, 20], "Bob": [30, 60], "Cy": [20, 20]})
    >>> last = pd.DataFrame({"Ann": [60, 25], "Bob": [35, 70]})
    >>> contests = ranked_choice_rounds(groups, {"first": first, "final": last})
    >>> contests["final"].col_names, contests["final"].cols[0].tolist()
    (('Ann', 'Bob', 'exhausted'), [60.0, 35.0, 5.0])
    """
    people = frames.to_pandas(groups).astype(float)
    names, units = [str(name) for name in people.columns], list(people.index)
    if not rounds:
        raise DataError("There are no rounds.", hint='such as {"first": votes, "final": votes}.')
    contests, before, ballots = {}, None, np.zeros(0)
    for key, votes in rounds.items():
        frame = frames.to_pandas(votes).astype(float)
        frame.columns = [str(name) for name in frame.columns]
        counts = checks.counts(frame.to_numpy(), f"votes of round {key!r}", ndim=2)
        checks.same_length(groups=people, votes=counts)
        if before is None:
            ballots = counts.sum(axis=1)
        else:
            _check_follows(frame, before, key, units)
        left = ballots - counts.sum(axis=1)
        columns = {name: counts[:, c] for c, name in enumerate(frame.columns)}
        if before is not None:
            columns[exhausted] = _at_least_zero(left, ballots, f"Round {key!r} has more votes than the first", units)
        absent = people.to_numpy().sum(axis=1) - ballots
        absent = _at_least_zero(absent, ballots, "The first round has more votes than there are people", units)
        if absent.any():
            columns["NoVote"] = absent
        cols = np.column_stack(list(columns.values()))
        contests[key] = Margins(people.to_numpy(), cols, units=units, row_names=names, col_names=list(columns))
        before = frame
    return Contests(contests, elections={key: str(key) for key in contests})


def _check_follows(frame: Any, before: Any, key: Any, units: list) -> None:
    """Refuse a round with a candidate who was out, or with fewer votes for one than in the round before."""
    back = [name for name in frame.columns if name not in before.columns]
    if back:
        raise DataError(f"Round {key!r} has {back[0]!r}, who was out before.", hint="give rounds in order.")
    fell = (before[list(frame.columns)].to_numpy() - frame.to_numpy()) > 1e-9 * before.to_numpy().sum()
    if fell.any():
        i, c = (int(k) for k in np.argwhere(fell)[0])
        raise DataError(
            f"{frame.columns[c]!r} has fewer votes in round {key!r} than before in {int(fell.any(axis=1).sum())} of "
            f"{len(units)} units. First: unit {checks.plain(units[i])!r}.",
            hint="give rounds in order: who is left keeps all ballots. Transfers of surplus votes are no such rounds.",
        )


def _at_least_zero(values: np.ndarray, ballots: np.ndarray, what: str, units: list) -> np.ndarray:
    """The values with rounding below 0 as 0; an error where it is more than that."""
    below = values < -1e-9 * np.maximum(ballots, 1.0)
    if below.any():
        i = int(np.argmax(below))
        raise DataError(
            f"{what} in {int(below.sum())} of {len(units)} units. First: unit {checks.plain(units[i])!r}, by "
            f"{-values[i]:.10g}.",
            hint="are they of the same units, in the same order?",
        )
    return np.where(values > 1e-9 * np.maximum(ballots, 1.0), values, 0.0)


def _sides(margins: Margins) -> dict[str, Any]:
    """Everything of margins but their outcomes."""
    names = ("rows", "units", "row_names", "weights", "covariates", "denominator", "covariate_names", "row_sd")
    return {name: getattr(margins, name) for name in names}
