"""Grids of cells, such as a spreadsheet's: where the header stands, what its columns are called and hold."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sumwise.errors import DataError

HEAD = 60  # records in which the header is looked for
MOST_TITLES = 15
NUMBER = re.compile(r"[+-]?[\d.,' ]*\d%?")


def filled(cells: Sequence[Any]) -> int:
    """How many cells of a record hold something."""
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


def header_position(records: Sequence[Sequence[Any]]) -> int | None:
    """Which record names the columns: the first that is as wide as most records and more than half filled.

    Titles, dates and merged headings above it fill at most half of its width. None where no width is usual.
    """
    records = [list(record) for record in records[:HEAD]]
    widths = Counter(len(record) for record in records if filled(record))
    if not widths:
        return None
    width, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    if width < 2 or times < 0.6 * sum(widths.values()):
        return None
    for position, record in enumerate(records[: MOST_TITLES + 1]):
        if len(record) == width and filled(record) > width / 2:
            return position if position == 0 or _names(record) else None
        if filled(record) > width / 2:
            return None
    return None


def _names(record: Sequence[Any]) -> bool:
    """Whether most of a record's cells read like names, not like numbers."""
    numbers = sum(isinstance(cell, (int, float)) or NUMBER.fullmatch(str(cell).strip()) is not None for cell in record)
    return numbers < filled(record) / 2


def column_names(source: str, cells: Sequence[Any], row: int, above: Sequence[Any] = ()) -> tuple[str, ...]:
    """The names in a header; one that is empty is named by its position, and duplicates are refused.

    An empty name is that of the cell above, where the row above holds several: a cell merged over both rows. Names that
    are alike get the heading above them, where the row above the header has one for each: Race Total, Votes
    Total.
    """
    names = [str(cell_text(cell)).strip().lstrip("\ufeff") for cell in cells]
    over = [str(cell_text(cell)).strip() for cell in above] if sum(map(bool, map(cell_text, above))) > 1 else []
    over = over + [""] * (len(names) - len(over))
    own = [heading if heading not in names and over.count(heading) == 1 else "" for heading in over]
    names = [name or own[k] or f"(unnamed {k + 1})" for k, name in enumerate(names)]
    headings, last = [], ""
    for cell in [*above, *[None] * len(names)][: len(names)]:
        last = str(cell_text(cell)).strip() or last
        headings.append(last)
    twice = {name for name, times in Counter(names).items() if times > 1}
    made = [f"{heading} {name}".strip() if name in twice else name for heading, name in zip(headings, names)]
    names = made if len(set(made)) == len(made) else names
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            number = NUMBER.fullmatch(name) is not None
            raise DataError(
                f"{source} has two columns called {name!r} (row {row}, columns {seen[name]} and {position}).",
                hint="that row holds numbers: put a row with names above it."
                if number
                else "give each column a name of its own.",
            )
        seen[name] = position
    return tuple(names)


def blank_remark(path: Any, n: int, first: int) -> str:
    """A note on rows without any entry, which readers pass over."""
    many = "row of {} is" if n == 1 else "rows of {} are"
    return f"{n:,} blank {many.format(path.name)} passed over (first: row {first})."


def cell_text(cell: Any) -> str:
    """A cell as text: whole numbers without a point, dates as in ISO 8601, nothing as an empty text."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, (datetime.date, datetime.time)) else str(cell)


def column_values(cells: Sequence[Any]) -> pd.Series:
    """A column of cells: numbers where all that is there are, true and false likewise, else text."""
    there = [cell for cell in cells if cell is not None and not (isinstance(cell, str) and not cell.strip())]
    blank = [cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells]
    if there and all(isinstance(cell, bool) for cell in there):
        return pd.Series([None if b else cell for b, cell in zip(blank, cells)], dtype=object if any(blank) else bool)
    if there and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in there):
        whole = all(isinstance(cell, int) for cell in there) and not any(blank)
        return pd.Series([None if b else cell for b, cell in zip(blank, cells)], dtype="int64" if whole else "float64")
    return pd.Series([None if b else cell_text(cell) for b, cell in zip(blank, cells)], dtype=object)
