"""Sheets of Excel workbooks (.xlsx), with the header found below titles; read in a process with limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.io.formats.grid import Asks, Record, tabulate
from sumwise.io.formats.sheet import Sheet
from sumwise.io.parsers.workbook import SHEETS
from sumwise.io.sandbox import parse
from sumwise.io.sizes import EXPANSION, FREE_SIZE

FREE_MEMORY, MEMORY_PER_BYTE = 2**30, 64  # what cells take as Python's objects: a packed byte holds some text
BYTES_PER_SECOND = 2**16  # of a packed workbook; openpyxl reads about twice as many


def open_excel(path: Path, opening: dict[str, Any], asks: Asks, ids: Sequence | None = ()) -> Sheet:
    """One sheet of a workbook: the only one that shows, or the one that is named or numbered from 1."""
    sheets, records, hidden_lines = _parsed(path, opening.get("sheet"))
    if opening.get("sheet") is None:
        shown = [name for name, hidden in sheets.items() if not hidden] or list(sheets)
        if len(shown) > 1:
            words = f"{path.name} has {len(shown)} sheets: which contains the data?"
            opening["sheet"] = asks.ask("sheet", words, {name: name for name in shown})
            _, records, hidden_lines = _parsed(path, opening["sheet"])
        elif shown:
            hidden = [repr(name) for name, hidden in sheets.items() if hidden and name not in shown]
            if hidden:
                asks.remarks.append(f"{path.name} has hidden sheets, which aren't read: {', '.join(hidden)}.")
            opening["sheet"] = shown[0]
    if hidden_lines and "hidden_rows" not in opening:
        words = f"{len(hidden_lines)} rows of {path.name} are hidden (first: row {min(hidden_lines)}). Are they data?"
        options = {"yes, use them": "use", "no, leave them out": "drop"}
        opening["hidden_rows"] = asks.ask("hidden_rows", words, options)
    if opening.get("hidden_rows") == "drop":
        records = [(line, cells) for line, cells in records if line not in hidden_lines]
        asks.remarks.append(f"{len(hidden_lines)} hidden rows of {path.name} are left out.")
    if not records:
        page = opening.get("sheet")
        raise DataError(f"{str(path)!r}: the sheet {page!r} is empty.", hint="name another: sheet=, or --sheet.")
    width = max(len(cells) for _, cells in records)
    grid = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in records]
    return tabulate(grid, path, opening, asks, ids=ids)


def _parsed(path: Path, sheet: str | int | None) -> tuple[dict[str, bool], list[Record], set[int]]:
    """Sheets with more than a row, and whether each is hidden; the rows of the one asked for; which of them are."""
    require("openpyxl")
    size = path.stat().st_size
    table = parse(
        "sumwise.io.parsers.workbook",
        path,
        max(FREE_MEMORY, MEMORY_PER_BYTE * size),
        size / BYTES_PER_SECOND,
        sheet=sheet,
        most_bytes=max(FREE_SIZE, EXPANSION * size),
    )
    lines, hidden = table["line"].to_pylist(), table["hidden"].to_pylist()
    records = list(zip(lines, table["cells"].to_pylist()))
    return json.loads(table.schema.metadata[SHEETS]), records, {line for line, h in zip(lines, hidden) if h}
