"""Any source to its columns: text and workbooks by the grid, all else by the readers of its format."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.formats.files import open_file, open_sheet
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.columns import Grid, grid_of
from sumwise.schema.questions import Interview


def open_grid(source: Any, interview: Interview, opening: dict[str, Any] | None = None) -> Grid:
    """The columns of a file or frame; what is asked about how it is opened is kept in ``opening``."""
    opening = dict(opening or {})
    sheet = open_table(source, interview, opening)
    path = fspath(source) if isinstance(source, (str, PathLike)) else ""
    return grid_of(sheet, Path(path).name if path else sheet.name, path, opening)


def open_table(source: Any, interview: Interview, opening: dict[str, Any]) -> Sheet:
    """A file or frame as a sheet."""
    path = Path(fspath(source)) if isinstance(source, (str, PathLike)) else None
    if path is not None and path.exists() and not path.is_dir():
        checks.ordinary_file(path)
    if path is None or not path.is_file():
        return open_sheet(text_names(source), **opening)
    return open_file(path, None, (), opening, interview)


def text_names(source: Any) -> Any:
    """A pandas frame whose columns are called by texts, as those of a file are; anything else as it is."""
    if not isinstance(source, pd.DataFrame) or all(isinstance(name, str) for name in source.columns):
        return source
    if isinstance(source.columns, pd.MultiIndex):
        hint = "give each column one name: frame.columns = frame.columns.map(' '.join)."
        raise DataError("The frame has several rows of column names.", hint=hint)
    named = source.set_axis([str(name) for name in source.columns], axis=1)
    checks.unique(tuple(named.columns), "The columns of the frame, as text,")
    return named
