"""Reading: what a file of margins says so far, on the way to its problem file; and the rows that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.recognise.margins import refusals, words
from sumwise.recognise.margins.sides import Sides
from sumwise.recognise.margins.sums import clean_rows, subtotals, sums_of_others
from sumwise.recognise.profile_file import Column, FileProfile, is_called

NAMED_TOTAL = "is a line of totals, by its name"


@dataclass
class Reading:
    """What is being written into the problem file: its tables, comments, what to check."""

    profile: FileProfile
    sides: Sides
    data: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    ask: list[str] = field(default_factory=list)
    out: dict[int, str] = field(default_factory=dict)  # rows that are left out, and why
    contests: list[dict[str, Any]] = field(default_factory=list)
    refusal: DataError | None = None  # why such a file can't be fitted as it is

    @property
    def keep(self) -> np.ndarray:
        """Rows that aren't left out."""
        keep = np.ones(self.profile.n_rows, dtype=bool)
        keep[list(self.out)] = False
        return keep


def leave_out_totals(reading: Reading) -> None:
    """Rows of totals, by their names or since they are the sum of all others, and rows without any number."""
    profile, sides = reading.profile, reading.sides
    used = sides.columns
    numbers = np.column_stack([c.amounts for c in used])
    named = [c for c in profile.columns if c.texts is not None and c not in used]
    texts = [c for c in named if c.doubtful is None or words.names_unit(c)]
    for i in np.flatnonzero(np.isnan(numbers).all(axis=1)).tolist():
        if any(c.value(i) for c in texts) or any(c.texts is not None and c.value(i) for c in used):
            reading.out[i] = "holds no number"
    for c in texts:
        if c.distinct > 0.5 * profile.n_rows or words.names_unit(c):
            for i in np.flatnonzero(c.texts.fillna("").map(words.is_total_row).to_numpy(dtype=bool)).tolist():
                reading.out.setdefault(i, NAMED_TOTAL)
    _leave_out_sums(reading, used)
    _compare_totals(reading, used)


def _compare_totals(reading: Reading, used: list[Column]) -> None:
    """Say where a line of totals isn't the sum of the rows that are kept: a row is missing, or a number is wrong."""
    named = [i for i, why in reading.out.items() if why == NAMED_TOTAL]
    if len(named) != 1 or reading.sides.groups.kind != "count":
        return
    i, keep = named[0], reading.keep
    for c in used:
        added, stated = float(np.nansum(c.amounts[keep])), float(c.amounts[i])
        if np.isfinite(stated) and abs(added - stated) > 1e-6 * max(added, 1.0):
            reading.out[i] = (
                f"{NAMED_TOTAL}, and not the sum of the others ({c.name}: {stated:,.10g} against {added:,.10g})"
            )
            return


def _leave_out_sums(reading: Reading, used: list[Column]) -> None:
    """Rows that are the sum of others: of the rows beside them, or of all."""
    added = used
    if reading.sides.groups.kind != "count":
        free = [c for c in reading.profile.columns if c.numbers is not None and c.whole]
        added = [c for c in free if is_called(c, words.TOTALS)]
        added += [c for side in reading.sides.contests if side.kind == "count" for c in side.columns]
    if not added:
        return
    twice = [*added, *added[:1]]
    for finder, why in ((sums_of_others, "all other rows"), (subtotals, "the rows beside it")) * 2:
        for i in finder(twice, clean_rows(added) & reading.keep):
            reading.out[i] = f"is the sum of {why}"


def leave_out_repeated(reading: Reading) -> None:
    """A few names that stand in two rows: the same unit in two pieces is left out, two units get numbers."""
    name = reading.columns.get("unit")
    if not isinstance(name, str):
        return
    unit, keep = reading.profile[name], reading.keep
    codes = unit.codes
    groups = [c.amounts for c in reading.sides.groups.columns]
    numbered = []
    for code in np.unique(codes[keep]):
        rows = np.flatnonzero((codes == code) & keep).tolist()
        if len(rows) == 1:
            continue
        if all((values[rows] == values[rows[0]]).all() for values in groups):
            refusals.refuse_copies(reading.profile, rows, unit.value(rows[0]))
            for i in rows:
                reading.out[i] = f"repeats {unit.value(i)!r} with the same groups: one unit in {len(rows)} rows"
        else:
            numbered.append(f"{unit.value(rows[0])!r} ({', '.join(reading.profile.row(i) for i in rows)})")
    if numbered:
        reading.data["repeated"] = "number"
        reading.comments["data", "repeated"] = "names that stand in several rows get a number: A, A (2); raise refuses"
        reading.ask.append(
            f"these names stand in several rows and were treated as several units: {'; '.join(numbered[:5])}."
        )


def left_out_key(reading: Reading) -> dict[str, Any]:
    """The key of [data] that leaves rows out, by the names of their units."""
    if not reading.out:
        return {}
    unit = reading.columns.get("unit")
    names = [unit] if isinstance(unit, str) else unit
    shown = "; ".join(f"{reading.profile.row(i)} {why}" for i, why in list(reading.out.items())[:5])
    more = f"; and {len(reading.out) - 5} more" if len(reading.out) > 5 else ""
    reading.ask.append(f"left out: {shown}{more}.")
    columns = [reading.profile[name] for name in names or _identifying(reading)]
    values = [{c.name: c.value(i) for c in columns} for i in reading.out]
    if len(columns) == 1:
        listed = list(dict.fromkeys(v[columns[0].name] for v in values))
        return {"without": {columns[0].name: listed[0] if len(listed) == 1 else listed}}
    return {"without": [dict(t) for t in dict.fromkeys(tuple(v.items()) for v in values)]}


def _identifying(reading: Reading) -> list[str]:
    """Without names of units: columns whose values occur in no row that is kept."""
    rows = list(reading.out)
    texts = [c for c in reading.profile.columns if c.texts is not None]
    for c in texts + [c for c in reading.profile.columns if c.texts is None]:
        inside = {c.value(i) for i in rows}
        if not inside & {c.value(i) for i in np.flatnonzero(reading.keep).tolist()}:
            return [c.name]
    return [reading.profile.columns[0].name]
