"""Votes that were counted centrally: absentee, early and provisional ballots that belong to no precinct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks, frames
from sumwise.display import finding_html
from sumwise.errors import DataError, UnknownName


@dataclass(frozen=True)
class CentralVotes:
    """Votes of units with central votes among them; made by `allocate_central_votes`.

    Attributes
    ----------
    votes : DataFrame
        Units by outcomes: their own votes, and central ones in proportion to those of the same outcome.
    by_people : DataFrame
        The same by the other rule: central votes in proportion to the people of a unit who are not among its votes.
    low, high : DataFrame
        A unit's votes are at least its own, and at most those and all central ones, as far as there are people.
    allocated : float
        The part of all votes that was counted centrally.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.voting import allocate_central_votes
    >>> votes = pd.DataFrame({"A": [40, 10], "B": [10, 40]})
    >>> found = allocate_central_votes(votes, {"A": 20, "B": 30}, [100, 100])
    >>> round(found.allocated, 3), found.high["B"].tolist()
    (0.333, [40.0, 70.0])
    """

    votes: pd.DataFrame
    by_people: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    allocated: float

    @property
    def error(self) -> pd.DataFrame:
        """How far the two rules differ, in votes of a unit."""
        return (self.votes - self.by_people).abs()

    def _repr_html_(self) -> str:
        words = f"{self.allocated:.1%} of the votes were counted centrally and allocated to units; error, in votes:"
        return finding_html(words, self.error)


def allocate_central_votes(votes: Any, central: Mapping[Any, float], people: Any) -> CentralVotes:
    """Allocate votes that belong to no unit (absentee, early, provisional) to the units, by two rules.

    Who cast them is not known. By the first rule a candidate's central voters live where the candidate's other voters
    do; by the second all central voters live where people are not among the voters of the units. Fit both: what differs
    between the two fits is not known from these data. The bounds hold by any rule.

    Parameters
    ----------
    votes : data frame of shape (n_units, C)
        The units' own votes, a column for each outcome.
    central : mapping of outcome to count
        The votes counted centrally, of every outcome.
    people : array of shape (n_units,)
        How many people could vote in each unit.

    Returns
    -------
    CentralVotes

    See Also
    --------
    turnout : Turnout of every group, and the choice of those who voted.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.voting import allocate_central_votes
    >>> votes = pd.DataFrame({"A": [40, 10], "B": [10, 40]})
    >>> found = allocate_central_votes(votes, {"A": 20, "B": 30}, [100, 150])
    >>> found.votes["A"].tolist(), found.by_people["A"].round(1).tolist()
    ([56.0, 14.0], [46.7, 23.3])
    """
    own = frames.to_pandas(votes).astype(float)
    for name in central:
        checks.known(str(name), list(map(str, own.columns)), "outcome")
    absent = [name for name in own.columns if name not in central]
    if absent:
        raise UnknownName(f"central has no count of {absent[0]!r}.", hint="0 if nobody voted so centrally.")
    counts = checks.counts(own.to_numpy(), "votes", ndim=2)
    extra = checks.counts([central[name] for name in own.columns], "central", ndim=1)
    size = checks.counts(people, "people", ndim=1)
    checks.same_length(votes=counts, people=size)
    room = size - counts.sum(axis=1)
    if (room < 0).any():
        i = int(np.argmin(room))
        raise DataError(
            f"Unit {checks.plain(own.index[i])!r} has {counts[i].sum():.10g} votes and {size[i]:.10g} people.",
            hint="correct this unit; people are those who could vote, not ballots.",
        )
    if extra.sum() > room.sum():
        raise DataError(
            f"There are {extra.sum():.10g} central votes, and {room.sum():.10g} people who are not among the votes.",
            hint="are they of the same contest and the same units?",
        )
    by_votes = _within(extra * _parts(counts), room)
    by_people = np.outer(room / max(float(room.sum()), 1e-300), extra)
    most = counts + np.minimum(extra, room[:, None])

    def framed(values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(values, index=own.index, columns=own.columns)

    votes_in_all = float(counts.sum() + extra.sum())
    shown = (framed(part) for part in (counts + by_votes, counts + by_people, counts, most))
    return CentralVotes(*shown, allocated=float(extra.sum()) / max(votes_in_all, 1e-300))


def _parts(counts: np.ndarray) -> np.ndarray:
    """Every unit's part of each outcome's votes; of all votes where nobody has an outcome."""
    sums = counts.sum(axis=0)
    everybody = counts.sum(axis=1, keepdims=True) / max(float(counts.sum()), 1e-300)
    return np.where(sums > 0, counts / np.maximum(sums, 1e-300), everybody)


def _within(allocated: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The allocation with no unit above its room: what is too much goes where room is, each outcome as a whole."""
    total = allocated.sum(axis=0)
    for _ in range(len(room)):
        sums = allocated.sum(axis=1)
        over = sums > room * (1 + 1e-12)
        if not over.any():
            break
        allocated = allocated * np.where(over, room / np.maximum(sums, 1e-300), 1.0)[:, None]
        left = np.maximum(room - allocated.sum(axis=1), 0.0)
        allocated = allocated + np.outer(left / max(float(left.sum()), 1e-300), total - allocated.sum(axis=0))
    return allocated
