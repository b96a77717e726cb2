"""A frame to a file: CSV and Parquet through DuckDB, Arrow through pyarrow; whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.io.writer import new_file

FORMATS = {
    ".csv": "FORMAT csv, HEADER",
    ".csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".tsv.gz": "FORMAT csv, HEADER, DELIMITER '\t', COMPRESSION gzip",
    ".parquet": "FORMAT parquet",
    ".arrow": "",
    ".feather": "",
}
SYSTEM_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EIO)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what spreadsheets take for formulas


def write_frame(frame: pd.DataFrame, path: str | PathLike, private: bool = False) -> None:
    """Write a frame to the file that the ending of ``path`` asks for; only its owner may read a private one.

    Examples
    --------
    >>> import pandas as pd, tempfile, pathlib
    >>> from sumwise.io.formats.write import write_frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_frame(pd.DataFrame({"a": [0.5]}), pathlib.Path(folder) / "x.csv")
    ...     (pathlib.Path(folder) / "x.csv").read_text()
    'a\\n0.5\\n'
    """
    path = Path(path)
    ending = "".join(path.suffixes[-2:]).lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    if ending not in FORMATS:
        raise DataError(
            f"{str(path)!r} has an ending that can't be written.", hint=f"take one of {', '.join(FORMATS)}."
        )
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {str(path.parent)!r}.", hint="make it first.")
    with new_file(path, private) as file:
        # Columns of objects as text, except where all are whole numbers
        out = frame.copy(deep=False)
        for column in out.columns:
            if out[column].dtype == object:
                values = out[column].tolist()
                if all(isinstance(x, int) and not isinstance(x, bool) for x in values):
                    out[column] = pd.Series(values, dtype="int64", index=out.index)
                else:
                    out[column] = pd.Series(
                        [None if x is None else str(x) for x in values], dtype="string", index=out.index
                    )
        _write(out, file.name, ending)


def write_tables(frames: Mapping[str, pd.DataFrame], folder: str | PathLike, most_csv: float = float("inf")) -> None:
    """Write frames to a folder: each as Parquet, and as CSV without formulas where it has at most `most_csv` rows.

    The frame called estimates is always written as both.
    """
    for name, frame in frames.items():
        write_frame(frame, Path(folder) / f"{name}.parquet")
        if name == "estimates" or len(frame) <= most_csv:
            write_frame(harmless(frame), Path(folder) / f"{name}.csv")


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts that a spreadsheet would take for formulas behind an apostrophe.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats.write import harmless
    >>> harmless(pd.DataFrame({"unit": ["=1+1", "a", "-3"]}))["unit"].tolist()
    ["'=1+1", 'a', '-3']
    """
    out = frame.copy(deep=False)
    for column in out.columns:
        if not pd.api.types.is_numeric_dtype(out[column].dtype):
            out[column] = [_safe(x) for x in out[column].tolist()]
    return out.rename(columns={c: _safe(c) for c in out.columns})


def _safe(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _write(frame: pd.DataFrame, path: str, ending: str) -> None:
    import pyarrow as pa

    names = [str(c) for c in frame.columns]
    table: Any = pa.Table.from_pandas(frame, preserve_index=False).rename_columns(names)
    if not FORMATS[ending]:
        with pa.OSFile(path, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
        return
    import duckdb

    from sumwise.io.formats.connection import connect, reason

    quoted = os.path.abspath(path).replace("'", "''")  # a name of ours, in a folder of the user's
    with connect([path]) as con:
        con.register("sheet", table)
        try:
            con.execute(f"COPY (SELECT * FROM sheet) TO '{quoted}' ({FORMATS[ending]}, USE_TMP_FILE false)")  # noqa: S608
        except duckdb.IOException as error:  # what the system refused, in DuckDB's words
            known = [code for code in SYSTEM_CODES if os.strerror(code) in str(error)]
            raise (OSError(known[0], os.strerror(known[0])) if known else OSError(reason(error))) from error
