"""Sheets of Excel workbooks (.xlsx), with the header found below titles; openpyxl does the reading."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise import checks
from sumwise.errors import DataError, SumwiseError
from sumwise.extras import require
from sumwise.readers.sheet import Sheet, blank_remark, cell_text, column_names, column_values, filled, header_position
from sumwise.readers.sizes import EXPANSION, FREE_SIZE

ROW = re.compile(rb"<(?:\w+:)?row\s[^>]*?\br=[\"'](-?\d+(?:\.\d+)?)[\"']")
EXCEL = {".xlsx", ".xlsm"}
MOST_ROWS, MOST_CELLS = 2**20, 10**8  # rows of the format itself; cells that some gigabytes hold


def open_excel(path: Path, sheet: str | int | None = None, header: bool | None = None) -> Sheet:
    """One sheet of a workbook: the first, or the one that is named or numbered from 1."""
    shown = repr(str(path))
    page, records, sheets = _opened(path, shown, sheet)
    if not records:
        raise DataError(f"{shown}: the sheet {page!r} is empty.", hint=f"name another: {', '.join(sheets)}.")
    width = max(max(j for j, cell in enumerate(row) if cell is not None) for _, row in records) + 1
    cells = [(row + [None] * width)[:width] for _, row in records]
    first = (header_position(cells) or 0) if header is not False else -1
    names = (
        tuple(f"c{j}" for j in range(1, width + 1))
        if first < 0
        else column_names(shown, cells[first], records[first][0], cells[first - 1] if first else ())
    )
    body, numbers = cells[first + 1 :], [number for number, _ in records[first + 1 :]]
    kept = [j for j in range(width) if not names[j].startswith("(unnamed") or any(row[j] is not None for row in body)]
    frame = pd.DataFrame({names[j]: column_values([row[j] for row in body]) for j in kept})
    blank = sorted(set(range(numbers[0], numbers[-1])) - set(numbers)) if numbers else []
    remarks = [blank_remark(path, len(blank), blank[0])] if blank else []
    title = " ".join(cell_text(cell) for row in cells[: max(first, 0)] for cell in row if cell is not None)
    if title:
        remarks.append(f"the rows above the header of {path.name} were treated as a title: {title[:80]!r}.")
    others = [repr(name) + ", hidden" * hidden for name, hidden in sheets.items() if name != page]
    if others and sheet is None:
        listed = ", ".join(others[:5])
        remarks.append(
            f"only the first sheet of {path.name}, {page!r}, is read; the others "
            f"({listed}{', ...' if others[5:] else ''}) are not: --sheet names one."
        )
    return Sheet(shown, tuple(frame.columns), frame, lambda i: f"row {numbers[i]}", remarks=tuple(remarks))


def _opened(path: Path, shown: str, sheet: str | int | None) -> tuple[str, list[tuple[int, list]], dict[str, bool]]:
    """The name of the sheet, its rows with their numbers, and every sheet of the workbook: whether it is hidden."""
    openpyxl = require("openpyxl")
    _check_size(path, shown)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # zip, XML and openpyxl have no common one
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete .xlsx file?") from error
    try:
        if not book.sheetnames:
            raise DataError(f"{shown} has no sheet.", hint="is it a complete .xlsx file?")
        page = _page(book, shown, sheet)
        sheets = {name: book[name].sheet_state != "visible" for name in book.sheetnames}
        return page.title, _records(page, shown), sheets
    except (SumwiseError, MemoryError):
        raise
    except Exception as error:  # cells are read only now, and what is wrong with one has no common error either
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete .xlsx file?") from error
    finally:
        book.close()


def _records(page: Any, shown: str) -> list[tuple[int, list]]:
    """The rows that hold anything, with their numbers; a cell far away makes no million wide empty ones."""
    if hasattr(page, "reset_dimensions"):  # a sheet of charts has no cells
        page.reset_dimensions()
    _check_order(page, shown)
    kept, size = [], 0
    for number, row in enumerate(page.iter_rows(values_only=True), start=1):
        size += len(row)
        if number > MOST_ROWS or size > MOST_CELLS:
            raise DataError(
                f"{shown}: the sheet has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells.",
                hint="save it as CSV, without what lies far below or beside the table.",
            )
        if filled(list(row)):
            kept.append((number, list(row)))
    return kept


def _check_order(page: Any, shown: str) -> None:
    """Refuse rows that don't stand in order: openpyxl passes over them without a word."""
    source = getattr(page, "_get_source", None)  # the sheet's XML
    if source is None:
        return
    last, rest = 0, b""
    with source() as stream:
        while piece := stream.read(1 << 20):
            *whole, rest = (rest + piece).rpartition(b"<")
            for found in ROW.finditer(b"".join(whole)):
                number = float(found[1])
                if number <= last:
                    raise DataError(
                        f"{shown}: the sheet {page.title!r} has row {number:.0f} after row {last:.0f}; rows must stand "
                        "in order from 1 on.",
                        hint="open it in a spreadsheet program and save it again, or as CSV.",
                    )
                last = number


def _check_size(path: Path, shown: str) -> None:
    """Refuse a workbook that says it unpacks to far more than sheets do."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        if isinstance(error, zipfile.BadZipFile) and _is_text(path):
            raise DataError(f"{shown} is text, and no workbook.", hint="call it .csv.") from error
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete .xlsx file?") from error
    if size > max(FREE_SIZE, EXPANSION * path.stat().st_size):
        raise DataError(
            f"{shown} has {path.stat().st_size:,} bytes and unpacks to {size:,}; it isn't read.",
            hint="save the sheet as CSV.",
        )


def _page(book: Any, shown: str, sheet: str | int | None) -> Any:
    names = list(book.sheetnames)
    if sheet is None:
        return next((book[name] for name in names if book[name].sheet_state == "visible"), book[names[0]])
    if isinstance(sheet, int) and not isinstance(sheet, bool):
        if not 1 <= sheet <= len(names):
            raise DataError(f"{shown} has {len(names)} sheets, and no sheet {sheet}.", hint="count from 1.")
        return book[names[sheet - 1]]
    if str(sheet) not in names and str(sheet).isdigit():
        return _page(book, shown, int(sheet))
    checks.known(str(sheet), names, "sheet")
    return book[str(sheet)]


def _is_text(path: Path) -> bool:
    """Whether a file begins with lines of printable text."""
    with path.open("rb") as file:
        head = file.read(4096).decode("utf-8", errors="replace")
    return "\n" in head and "\ufffd" not in head[:-1] and all(c.isprintable() or c in "\r\n\t" for c in head)
