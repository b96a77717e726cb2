"""A folder of tables: the tables themselves, whole, and a page of facts about them; written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.io import writer
from sumwise.io.formats.tables import write_tables
from sumwise.io.persistence import load, save
from sumwise.tables import Tables

TABLES, FACTS, CELLS, ENCODING = "tables.sumwise", "summary.json", "cells.parquet", "encoding.json"
RESERVE = ".reserve"


def check_free(folder: str | PathLike) -> Path:
    """Refuse a folder that can't be made or already holds something; nothing is written."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise DataError(f"{str(path)!r} is a file.", hint="name a folder that is not there yet.")
    if path.is_dir() and any(path.iterdir()):
        raise DataError(f"The folder {str(path)!r} is not empty.", hint="name another, or remove it first.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"There is no folder {str(path.absolute().parent)!r}.", hint="make it first.")
    return path


@contextmanager
def new_folder(folder: str | PathLike, reserve: int = 0) -> Iterator[Path]:
    """A temporary folder that becomes the one named at the end of the block, whole, or is removed if anything fails.

    reserve: bytes of disk that are set aside at the start and freed for use by `free_reserve`: whoever spends a budget
    within the block knows that its result can be written.
    """
    path = check_free(folder)
    with ExitStack() as stack:
        try:
            building = stack.enter_context(writer.new_folder(path))
        except OSError as error:
            raise DataError(
                f"The folder {str(path)!r} can't be created: {error}.", hint="name a place to write to."
            ) from None
        if reserve:
            _set_aside(building / RESERVE, reserve, path)
        yield building
        free_reserve(building)


def free_reserve(building: Path) -> None:
    """Give back the space that `new_folder` set aside."""
    (building / RESERVE).unlink(missing_ok=True)


def _set_aside(file: Path, size: int, path: Path) -> None:
    try:
        with writer.new_file(file) as out:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(out.fileno(), 0, size)
            else:
                out.write(bytes(size))
    except OSError as error:
        raise DataError(
            f"There is no room for {size / 2**20:,.0f} MiB at {str(path)!r}: {error}.", hint="name another place."
        ) from None


def write_tables_folder(
    tables: Tables, folder: str | PathLike, facts: dict[str, Any] | None = None, cells: bool = False
) -> None:
    """Write tables, with their noise and encoding, into a new folder: ``tables.sumwise``, ``summary.json``,
    ``encoding.json``.

    Parameters
    ----------
    tables : Tables
    folder : path
        A folder that isn't there, or is empty.
    facts : dict, optional
        More to say in ``summary.json``, beside what the tables say of themselves.
    cells : bool, default False
        Also write ``cells.parquet``, one row per cell, for other programs.

    See Also
    --------
    read_tables_folder : The way back.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise import Tables
    >>> from sumwise.io.formats.tables_folder import read_tables_folder, write_tables_folder
    >>> tables = Tables.from_frame({"a": [0, 1, 1]}, ["a"], order=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_tables_folder(tables, pathlib.Path(place) / "tables")
    ...     read_tables_folder(pathlib.Path(place) / "tables") == tables
    True
    """
    with new_folder(folder) as building:
        write_into(tables, building, facts, cells)


def write_into(tables: Tables, building: Path, facts: dict[str, Any] | None = None, cells: bool = False) -> None:
    """Write the files of a folder of tables; see :func:`write_tables_folder`."""
    save(tables, building / TABLES)
    summary = json.dumps({**tables.describe(), **(facts or {})}, indent=1, default=str, ensure_ascii=False)
    writer.write_text(building / FACTS, summary)
    if tables.encoding is not None:
        rules = json.dumps(tables.encoding.to_dict(), indent=1, ensure_ascii=False)
        writer.write_text(building / ENCODING, rules)
    if cells:
        write_tables(tables, building / CELLS)


def read_tables_folder(folder: str | PathLike) -> Tables:
    """Read the tables of a folder that :func:`write_tables_folder` wrote.

    Parameters
    ----------
    folder : str or path
        The folder.

    See Also
    --------
    write_tables_folder : The way back.

    Examples
    --------
    >>> from sumwise.io.formats.tables_folder import read_tables_folder
    >>> read_tables_folder("nowhere")
    Traceback (most recent call last):
    sumwise.errors.DataError: There is no file 'nowhere/tables.sumwise'. Hint: ...
    """
    path = Path(folder) / TABLES
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.", hint="sumwise aggregate makes such a folder.")
    tables = load(path)
    if not isinstance(tables, Tables):
        raise DataError(f"{str(path)!r} contains a {type(tables).__name__}, no Tables.")
    return tables
