"""Precinct tables for ecological inference: margins, and the true cells where somebody counted them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.datasets.records import Election
from sumwise.datasets.store import read_csv
from sumwise.errors import DataError
from sumwise.margins import Margins

Names = tuple[Sequence[str], Sequence[str]]


def senc() -> Election:
    """Party registration by race in 212 precincts of south-east North Carolina, 2001.

    Returns
    -------
    Election
        Rows white, black, natam; columns dem, rep, non; ``cells`` (212, 3, 3) are the true counts.

    Examples
    --------
    >>> from sumwise import datasets
    >>> e = datasets.senc()
    >>> e.shares.round(3)[1]
    array([0.895, 0.041, 0.065])
    """
    df = read_csv("senc")
    rows, cols = ["white", "black", "natam"], ["dem", "rep", "non"]
    cells = np.stack([df[[prefix + c for c in cols]].to_numpy(float) for prefix in ("wh", "bl", "natam")], axis=1)
    units = (df["county"] + ": " + df["precinct"]).tolist()
    margins = margins_of(df[rows], df[cols], (rows, cols), units, "registered voters")
    return Election("senc", margins, cells, cells.sum(axis=0), df)


def chile_2021(groups: str = "age", mismatch: str = "drop") -> Election:
    """First round of the Chilean presidential election of 2021: 46,606 ballot boxes; no truth.

    In 9,719 boxes the number of voters differs from the number of ballots, mostly by one.

    Parameters
    ----------
    groups : {"age", "sex"}
        Whose votes: eight age groups, or M and F.
    mismatch : {"drop", "rescale"}
        What to do with those boxes: leave them out (36,887 remain), or scale the voters to the ballots.

    Returns
    -------
    Election
        Rows age groups (or sexes); columns seven candidates, BLANK.VOTES and NULL.VOTES.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.chile_2021().margins.cols.shape
    (36887, 9)
    """
    if groups not in ("age", "sex"):
        raise DataError(f"groups is {groups!r}.", hint="take 'age' or 'sex'.")
    if mismatch not in ("drop", "rescale"):
        raise DataError(f"mismatch is {mismatch!r}.", hint="take 'drop' or 'rescale'.")
    df = read_csv("chile_2021", text=["REGION", "ELECTORAL.DISTRICT", "BALLOT.BOX"])
    ages = ["X18.19", "X20.29", "X30.39", "X40.49", "X50.59", "X60.69", "X70.79", "X80."]
    row_names = ["18-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+"]
    if groups == "sex":
        ages = row_names = ["M", "F"]
    options = [f"C{i}" for i in range(1, 8)] + ["BLANK.VOTES", "NULL.VOTES"]
    if mismatch == "drop":
        df = df[~df["MISMATCH"]].reset_index(drop=True)
    rows, cols = df[ages].to_numpy(float), df[options].to_numpy(float)
    if mismatch == "rescale":
        rows = rows * (cols.sum(axis=1) / rows.sum(axis=1))[:, None]
    units = (df["REGION"] + ": " + df["ELECTORAL.DISTRICT"] + ": " + df["BALLOT.BOX"]).tolist()
    return Election("chile_2021", margins_of(rows, cols, (row_names, options), units, "ballots"), frame=df)


def margins_of(rows: Any, cols: Any, names: Names, units: Any, denominator: str = "people", **extra: Any) -> Margins:
    row_names, col_names = (tuple(side) for side in names)
    return Margins(
        np.asarray(rows, dtype=float),
        np.asarray(cols, dtype=float),
        units=units,
        row_names=row_names,
        col_names=col_names,
        denominator=denominator,
        **extra,
    )


def with_rest(shares: np.ndarray) -> np.ndarray:
    return np.concatenate([shares, 1 - shares.sum(axis=1, keepdims=True)], axis=1)
