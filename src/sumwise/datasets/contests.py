"""The 386 contests with known truth: party vote by candidate vote in New Zealand and Scotland."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise.datasets.records import Contest
from sumwise.datasets.store import read_csv
from sumwise.errors import DataError, UnknownName
from sumwise.margins import Margins


def contests(merged: bool = True, dataset: str | None = None) -> list[Contest]:
    """386 contests, each with its units' margins and its true table.

    Voters cast a party vote (rows) and a candidate vote (columns); the official split-vote tables give the
    truth of each district: New Zealand 2002 to 2014 and a part of Scotland 2007 (Pavia 2022).

    Parameters
    ----------
    merged : bool, default True
        Merge options under 3 percent of the district into "Other", as in the published comparison. Without
        merging there are up to 26 rows and 15 columns. One raw table (Whanganui 2002) is published with
        four votes moved between parties; all others add up to their margins exactly.
    dataset : str, optional
        Only that election: ``"NZ_2002"``, ..., ``"NZ_2014"``, ``"SCO_2007"``.

    Returns
    -------
    list of Contest
        Each has ``margins``, ``total`` (the true table, R x C), ``dataset``, ``district``, ``key``,
        ``number`` and ``election``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> first = datasets.contests()[0]
    >>> first.district, first.margins.n_units, first.total.shape
    ('Aoraki', 80, (7, 5))
    """
    districts = read_csv("contests", 0)
    units, truth = (read_csv("contests", number) for number in ((1, 2) if merged else (3, 4)))
    sizes = ("R", "C") if merged else ("R_raw", "C_raw")
    code = {key: i for i, key in enumerate(zip(districts["dataset"], districts["district"]))}
    unit_blocks, truth_blocks = _blocks(units, code), _blocks(truth, code)
    wanted = range(len(districts))
    if dataset is not None:
        if dataset not in set(districts["dataset"]):
            known = ", ".join(districts["dataset"].unique())
            raise UnknownName(f"There are no contests of {dataset!r}.", hint=f"the elections are {known}.")
        wanted = np.flatnonzero(districts["dataset"].to_numpy() == dataset)
    columns = {c: units[c].to_numpy() for c in ("unit", "k", "votes")} | {"col": units["side"].to_numpy() == "col"}
    names = {c: truth[c].to_numpy() for c in ("row", "col", "votes", "row_name", "col_name")}
    records = districts.to_dict("records")
    return [
        _contest(
            records[i],
            sizes=[records[i][s] for s in sizes],
            votes={c: values[unit_blocks[i]] for c, values in columns.items()},
            truth={c: values[truth_blocks[i]] for c, values in names.items()},
        )
        for i in wanted
    ]


def _blocks(frame: pd.DataFrame, code: dict) -> list[slice]:
    """Where each district's lines are: they lie together in the file."""
    key = frame["dataset"] + "\x1f" + frame["district"]
    codes, uniques = pd.factorize(key)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes))
    if len(starts) != len(uniques):
        raise DataError("The lines of a contest don't lie together in the file.", hint="get a fresh copy.")
    blocks: list[slice | None] = [None] * len(code)
    for name, start, end in zip(uniques, starts, ends):
        blocks[code[tuple(name.split("\x1f"))]] = slice(start, end)
    if any(block is None for block in blocks):
        raise DataError("Some contests have no lines in the file.", hint="get a fresh copy.")
    return [block for block in blocks if block is not None]


def _contest(record: dict, sizes: list[int], votes: dict, truth: dict) -> Contest:
    sides = []
    for size, mask in zip(sizes, (~votes["col"], votes["col"])):
        side = np.zeros((record["units"], size))  # options without a vote in a unit are left out of the raw file
        side[votes["unit"][mask], votes["k"][mask]] = votes["votes"][mask]
        sides.append(side)
    total = np.zeros(sizes)
    total[truth["row"], truth["col"]] = truth["votes"]
    margins = Margins(
        *sides,
        row_names=_names(truth["row_name"], truth["row"], sizes[0]),
        col_names=_names(truth["col_name"], truth["col"], sizes[1]),
        denominator="votes",
    )
    gap = np.abs(total.sum(1) - sides[0].sum(0)).sum() + np.abs(total.sum(0) - sides[1].sum(0)).sum()
    if gap > 1e-3 * total.sum():
        raise DataError(f"The true table of {record['key']} doesn't add up to its margins.", hint="get a fresh copy.")
    return Contest(
        name=f"{record['dataset']} {record['district']}",
        margins=margins,
        total=total,
        dataset=record["dataset"],
        district=record["district"],
        key=record["key"],
        number=record["number"],
    )


def _names(texts: np.ndarray, index: np.ndarray, size: int) -> tuple[str, ...]:
    first = np.full(size, -1)
    first[index[::-1]] = np.arange(len(index))[::-1]
    return tuple(str(texts[i]) for i in first)
