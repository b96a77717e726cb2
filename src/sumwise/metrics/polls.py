"""Predicted shares beside polled ones, group by group; groups that are on one side only are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sumwise import checks, frames
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def compare_polls(predicted: Any, polls: Any, on: Sequence, missing: str = "raise") -> pd.DataFrame:
    """Put predicted and polled shares of the same groups side by side.

    Parameters
    ----------
    predicted : data frame
        The columns of ``on``, ``share``, and perhaps ``low`` and ``high``: from ``subgroups(...).two_party(...)``.
    polls : data frame
        The columns of ``on``, ``share``, and perhaps ``size`` (how many were asked, or their share).
    on : list of columns
        What defines a group on both sides.
    missing : {"raise", "drop"}, default "raise"
        What to do with groups that one side lacks: polls leave small groups out.

    Returns
    -------
    pandas.DataFrame
        The columns of ``on``, ``predicted``, ``polled``, ``difference``; ``weight`` where polls have a size; ``low``,
        ``high`` and ``covered`` where predictions have an interval. `share_scores` takes its columns.

    Examples
    --------
    >>> from sumwise.metrics import compare_polls
    >>> compare_polls({"sex": ["m", "f"], "share": [0.4, 0.5]}, {"sex": ["f", "m"], "share": [0.56, 0.44]}, ["sex"])
      sex  predicted  polled  difference
    0   m        0.4    0.44       -0.04
    1   f        0.5    0.56       -0.06
    """
    checks.choice(missing, "missing", ("raise", "drop"))
    on = checks.listing(on, "on", "give a list of columns.")
    ours, theirs = (_keyed(frame, on, name) for frame, name in ((predicted, "predicted"), (polls, "polls")))
    alone = [[key for key in a.index if key not in b.index] for a, b in ((ours, theirs), (theirs, ours))]
    if missing == "raise" and any(alone):
        shown = [f"{len(keys)} {where} alone ({_listed(keys)})" for keys, where in zip(alone, SIDES) if keys]
        raise DataError(
            f"The groups by {', '.join(map(str, on))} don't match: {'; '.join(shown)}.",
            hint="rename groups so that both sides agree, or missing='drop'.",
        )
    both = [key for key in ours.index if key in theirs.index]
    if not both:
        raise DataError(
            f"No group by {', '.join(map(str, on))} is on both sides: predicted {_listed(ours.index)}; "
            f"polls {_listed(theirs.index)}.",
            hint="rename groups so that both sides agree.",
        )
    return _beside(ours.loc[both], theirs.loc[both], on)


SIDES = ("in the prediction", "in the poll")


def _keyed(frame: Any, on: list, name: str) -> pd.DataFrame:
    """The frame with its groups as index, as text, so that 1 and "1" or a category meet."""
    import pandas as pd

    table = frames.to_pandas(frame, what=name).reset_index(drop=True)
    for column in (*on, "share"):
        checks.known(column, list(table.columns), f"column of {name}")
    checks.finite(table["share"], f"The share of {name}")
    keys = list(zip(*(table[column].astype(str) for column in on)))
    # a group may have several rows, such as one for each state
    seen: set = set()
    twice = [key for key in keys if key in seen or seen.add(key)]
    if twice:
        raise DataError(
            f"{name} has {len(keys)} rows for {len(seen)} groups by {', '.join(map(str, on))}. Several rows: "
            f"{_listed(dict.fromkeys(twice))}.",
            hint="choose the rows of one state, or name the state's column in on=, too.",
        )
    table.index = pd.Index(keys, tupleize_cols=False)
    return table


def _beside(ours: pd.DataFrame, theirs: pd.DataFrame, on: list) -> pd.DataFrame:
    out: Any = ours[on].copy()
    out["predicted"], out["polled"] = ours["share"], theirs["share"]
    out["difference"] = out["predicted"] - out["polled"]
    if "size" in theirs:
        out["weight"] = theirs["size"]
    if {"low", "high"} <= set(ours.columns):
        out["low"], out["high"] = ours["low"], ours["high"]
        out["covered"] = (out["low"] <= out["polled"]) & (out["polled"] <= out["high"])
    out.index = range(len(out))
    return out


def _listed(keys: Any) -> str:
    shown = [", ".join(key) for key in list(keys)[:5]]
    return "; ".join(repr(t) for t in shown) + ("; ..." if len(keys) > 5 else "")
