"""Tables of two by two, published as shares: the classics of ecological inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.datasets.elections import Names, margins_of, with_rest
from sumwise.datasets.records import Election
from sumwise.datasets.store import read_csv
from sumwise.margins import Margins


def matproii() -> Election:
    """Voter registration by race in 268 southern counties, 1968.

    The published shares have four decimals, so the true cells add up to the column totals within 0.1
    percent only; ``margins`` follow the published ``x`` and ``t``.

    Returns
    -------
    Election
        Rows black, white; columns registered, not registered; ``cells`` (268, 2, 2) are the true counts.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.matproii().margins
    Margins(units=268, rows=[black, white], cols=[registered, not registered], total=8.8437e+06)
    """
    df = read_csv("matproii")
    margins = _two_by_two(df, "x", "t", "n", names=(("black", "white"), ("registered", "not registered")))
    cells = _cells(margins, df[["tb", "tw"]])
    return Election("matproii", margins, cells, cells.sum(axis=0), df)


def foreign_illiteracy_1930() -> Election:
    """Illiteracy by foreign birth in 48 states, 1930: Robinson's fallacy.

    No state's population is published with the set: the margins are shares (each unit sums to one), and so
    are the cells.

    Returns
    -------
    Election
        Rows foreign born, native; columns illiterate, literate; ``cells`` (48, 2, 2); ``total`` is None,
        since the states can't be added up without their sizes.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.foreign_illiteracy_1930().margins
    Margins(units=48, rows=[foreign born, native], cols=[illiterate, literate], total=48)
    """
    df = read_csv("foreign_illiteracy_1930")
    units = df["ICPSR"].astype(str).tolist()
    names = ("foreign born", "native"), ("illiterate", "literate")
    margins = _two_by_two(df, "X", "Y", None, names=names, units=units)
    return Election("foreign_illiteracy_1930", margins, _cells(margins, df[["W1", "W2"]]), None, df)


def _cells(margins: Margins, shares: Any) -> np.ndarray:
    """True cells from each row's share of the first column."""
    yes = shares.to_numpy()
    return margins.rows[:, :, None] * np.stack([yes, 1 - yes], axis=2)


def _two_by_two(df: Any, x: str, t: str, n: str | None, *, names: Names, units: Any = None) -> Margins:
    """Margins from the share ``x`` of the first row, the share ``t`` of the first column, and totals."""
    total = np.ones((len(df), 1)) if n is None else df[[n]].to_numpy(float)
    rows = with_rest(df[[x]].to_numpy(float)) * total
    cols = with_rest(df[[t]].to_numpy(float)) * total
    return margins_of(rows, cols, names, units, "shares (no counts are published)" if n is None else "people")
