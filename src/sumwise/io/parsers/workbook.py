"""A sheet of an Excel workbook to Arrow: the cells of each row as texts; openpyxl does the reading."""

from __future__ import annotations

import datetime
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError, SumwiseError

ROW = re.compile(rb"<(?:\w+:)?row\s[^>]*?\br=[\"'](-?\d+(?:\.\d+)?)[\"']")
HIDDEN = re.compile(rb"<(?:\w+:)?row\s[^>]*\bhidden=[\"'](?:1|true)[\"'][^>]*>")
FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
MOST_ROWS, MOST_CELLS = 2**20, 10**8  # rows of the format itself; cells that some gigabytes hold
SHEETS = b"sheets"


def parse(path: str, sheet: str | int | None, most_bytes: int) -> Any:
    """Read the sheet that is named or numbered from 1, else the only one that shows; none of several.

    The table has the number of each row that holds anything, whether it is hidden, and its cells. Its schema's metadata
    has every sheet that holds more than a row, and whether it is hidden.
    """
    import pyarrow as pa

    shown = repr(path)
    with _book(Path(path), shown, most_bytes) as book:
        names = {name: book[name].sheet_state != "visible" for name in book.sheetnames}
        sheets = {name: hidden for name, hidden in names.items() if (getattr(book[name], "max_row", 2) or 2) > 1}
        if sheet is None:
            visible = [name for name, hidden in sheets.items() if not hidden] or list(sheets)
            sheet = visible[0] if len(visible) == 1 else None if visible else book.sheetnames[0]
        records: list[tuple[int, list[str]]] = []
        hidden_rows: set[int] = set()
        if sheet is not None:
            page = _page(book, shown, sheet)
            records, hidden_rows = _records(page, shown), _hidden(page)
    lines = [line for line, _ in records]
    columns = {
        "line": pa.array(lines, pa.int64()),
        "hidden": pa.array([line in hidden_rows for line in lines], pa.bool_()),
        "cells": pa.array([cells for _, cells in records], pa.list_(pa.string())),
    }
    return pa.table(columns).replace_schema_metadata({SHEETS: json.dumps(sheets).encode()})


def cell_text(cell: Any) -> str:
    """A cell as text: whole numbers without a point, dates as in ISO 8601, nothing as an empty text."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, (datetime.date, datetime.time)) else str(cell)


def _hidden(page: Any) -> set[int]:
    """The numbers of hidden rows, from the sheet's XML."""
    source = getattr(page, "_get_source", None)
    if source is None:
        return set()
    rows, rest = set(), b""
    with source() as stream:
        while piece := stream.read(1 << 20):
            *whole, rest = (rest + piece).rpartition(b"<")
            for tag in HIDDEN.finditer(b"".join(whole)):
                number = ROW.match(tag[0])
                rows |= {int(float(number[1]))} if number else set()
    return rows


@contextmanager
def _book(path: Path, shown: str, most_bytes: int) -> Iterator[Any]:
    """An open workbook; what is wrong with it is a DataError."""
    import openpyxl

    _check_size(path, shown, most_bytes)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # zip, XML and openpyxl have no common one
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete .xlsx file?") from error
    try:
        if not book.sheetnames:
            raise DataError(f"{shown} has no sheet.", hint="is it a complete .xlsx file?")
        yield book
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
    _check_cells(page, shown)
    kept, size = [], 0
    for number, row in enumerate(page.iter_rows(values_only=True), start=1):
        size += len(row)
        if number > MOST_ROWS or size > MOST_CELLS:
            raise DataError(
                f"{shown}: the sheet has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells.",
                hint="save it as CSV, without what lies far below or beside the table.",
            )
        cells = [cell_text(cell) for cell in row]
        if any(cell.strip() for cell in cells):
            kept.append((number, cells))
    return kept


def _check_cells(page: Any, shown: str) -> None:
    """Refuse what openpyxl passes over without a word: rows that don't stand in order, formulas without values."""
    source = getattr(page, "_get_source", None)  # the sheet's XML
    if source is None:
        return
    last, rest, computed = 0, b"", False
    with source() as stream:
        while piece := stream.read(1 << 20):
            *whole, rest = (rest + piece).rpartition(b"<")
            computed = computed or FORMULA.search(b"".join(whole)) is not None
            for found in ROW.finditer(b"".join(whole)):
                number = float(found[1])
                if number <= last:
                    raise DataError(
                        f"{shown}: the sheet {page.title!r} has row {number:.0f} after row {last:.0f}; rows must stand "
                        "in order from 1 on.",
                        hint="open it in a spreadsheet program and save it again, or as CSV.",
                    )
                last = number
    if computed:
        with source() as stream:
            _check_formulas(stream, page.title, shown)


def _check_formulas(stream: Any, title: str, shown: str) -> None:
    """Refuse formulas whose value the file doesn't hold, as programs write them that don't compute."""
    from openpyxl.xml.functions import iterparse

    empty: list[tuple[str, str]] = []
    for _, cell in iterparse(stream, events=("end",)):
        kind = cell.tag.rpartition("}")[2]
        if kind == "c":
            parts = {part.tag.rpartition("}")[2]: part for part in cell}
            value = parts.get("v")
            # a formula whose value is the empty text says so by its type
            if "f" in parts and (value is None or not value.text) and cell.get("t") != "str":
                empty.append((cell.get("r") or "?", parts["f"].text or ""))
        elif kind == "row":
            cell.clear()
    if empty:
        where, text = empty[0]
        formula = f" (={text[:60]})" if text else ""
        raise DataError(
            f"{shown}: {len(empty):,} cells of the sheet {title!r} contain formulas without values. First: {where}"
            f"{formula}. What the formulas would give isn't in the file.",
            hint="open it in a spreadsheet program and save it there, which computes them; or save the sheet as CSV.",
        )


def _check_size(path: Path, shown: str, most_bytes: int) -> None:
    """Refuse a workbook that says it unpacks to far more than sheets do."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        if isinstance(error, zipfile.BadZipFile) and _is_text(path):
            raise DataError(f"{shown} is text, and no workbook.", hint="call it .csv.") from error
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete .xlsx file?") from error
    if size > most_bytes:
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
