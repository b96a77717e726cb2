"""What a source is: a frame, a query, a file of some format, a folder, or a database."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sumwise import checks, frames
from sumwise.encoding.values import canonical
from sumwise.errors import DataError
from sumwise.io.endings import KINDS, kind_of
from sumwise.io.remote import RemoteFile

IN_PLACE = {"text": "csv", "parquet": "parquet", "arrow": "arrow", "database": "database"}  # by an engine


def is_query(source: Any) -> bool:
    """Whether a source is SQL: text that begins with SELECT, WITH or FROM, and isn't a file.

    Examples
    --------
    >>> from sumwise.aggregate.sources import is_query
    >>> is_query("select * from 'rows.parquet'"), is_query("rows.parquet")
    (True, False)
    """
    if not isinstance(source, str) or os.path.lexists(source):
        return False
    words = source.split(None, 1)
    return len(words) == 2 and words[0].upper() in ("SELECT", "WITH", "FROM")


def is_rows(source: Any) -> bool:
    """Whether a source holds the rows themselves: a frame, or a dict of columns.

    Examples
    --------
    >>> from sumwise.aggregate.sources import is_rows
    >>> is_rows({"a": [1]}), is_rows("rows.csv")
    (True, False)
    """
    return isinstance(source, dict) or frames.is_frame(source)


def file_format(path: Any) -> str:
    """``"parquet"``, ``"csv"``, ``"arrow"`` or ``"database"``, by the ending; a folder holds Parquet files.

    Examples
    --------
    >>> from sumwise.aggregate.sources import file_format
    >>> file_format("rows-*.csv.gz")
    'csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            f"The source is of type {type(path).__name__}.",
            hint="give a path, a pandas, polars or pyarrow frame, an SQL query, or a Spark frame with engine='spark'.",
        )
    given = Path(path)
    if "*" not in str(given):
        if not os.path.exists(given):  # False, too, for a name that no file can have
            raise DataError(f"There is no file {str(given)!r}.")
        if given.is_dir():
            return "parquet"
        ordinary_files([given])
    kind = kind_of(given)
    if kind not in IN_PLACE:
        known = ", ".join(ending for kind in IN_PLACE for ending in KINDS[kind])
        raise DataError(f"The file {str(given)!r} has no ending that shows its format.", hint=f"known: {known}.")
    return IN_PLACE[kind]


def is_sheet(source: Any) -> bool:
    """Whether a source is a file that no engine reads in place: it is opened as every other command opens it.

    Examples
    --------
    >>> from sumwise.aggregate.sources import is_sheet
    >>> is_sheet("rows.xlsx"), is_sheet("rows.parquet")
    (True, False)
    """
    return isinstance(source, str | os.PathLike) and kind_of(source) not in (None, *IN_PLACE)


def ordinary_files(paths: Iterable[str | os.PathLike]) -> list[str]:
    """The paths of files, as text; a pipe or a device, which might never end, is refused.

    Examples
    --------
    >>> from sumwise.aggregate.sources import ordinary_files
    >>> ordinary_files(["/dev/null"])
    Traceback (most recent call last):
    sumwise.errors.DataError: '/dev/null' is a pipe or a device. Hint: copy what it gives to a file.
    """
    found = [os.fspath(p) for p in paths]
    for path in found:
        checks.ordinary_file(path)
    return found


def remote_dataset(address: str) -> Any:
    """Parquet or Arrow files behind an address (``s3a://``, ``hdfs://``, ...) as a dataset, read as it is counted.

    The address is that of a file, of a folder of Parquet files, or a pattern with ``*``.
    """
    from pyarrow import dataset

    name = address.rstrip("/").rpartition("/")[2]
    kind = kind_of(name) if "." in name else "parquet"
    if kind not in ("parquet", "arrow"):
        raise DataError(
            f"{address!r} is read in place as Parquet or Arrow only.",
            hint="write it as Parquet, copy it to this machine, or use engine='spark'.",
        )
    file = RemoteFile(address)
    with file.reached():
        places = file.system.glob(file.place) if "*" in address else [file.place]
        if not places or not file.system.exists(places[0]):
            raise DataError(f"There is no file {address!r}.", hint="look at the address.")
        paths = places if len(places) > 1 or "*" in address else places[0]
        return dataset.dataset(paths, filesystem=file.system, format="ipc" if kind == "arrow" else kind)


def arrow_table(frame: Any, columns: tuple[str, ...]) -> Any:
    """Some columns of any frame as a pyarrow table with plain types: no dictionaries, NaN of pandas as null.

    Examples
    --------
    >>> from sumwise.aggregate.sources import arrow_table
    >>> arrow_table({"a": ["x", None], "b": [1, 2]}, ("a",)).column("a").null_count
    1
    """
    import pyarrow as pa

    if hasattr(frame, "to_arrow_table"):  # a DuckDB relation
        frame = frame.to_arrow_table()
    if isinstance(frame, pa.Table):
        for name in columns:
            checks.known(name, frame.column_names, "column")
        table = frame.select(list(columns))
    elif hasattr(frame, "to_arrow"):  # polars
        for name in columns:
            checks.known(name, frame.columns, "column")
        table = frame.select(list(columns)).to_arrow()
    else:
        pandas = frames.to_pandas(frame, columns)
        arrays = [_from_pandas(pandas[c], c) for c in columns]
        table = pa.Table.from_arrays(arrays, names=list(columns))
    return pa.Table.from_arrays([_plain(table.column(c), c) for c in columns], names=list(columns))


def table_by_row(frame: Any, columns: tuple[str, ...]) -> Any:
    """Some columns of any frame as a pyarrow table, each value by itself: columns of mixed values become text.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.aggregate.sources import table_by_row
    >>> table_by_row(pd.DataFrame({"a": [1, "x9", 2.0, None, [3]]}), ("a",)).column("a").to_pylist()
    ['1', 'x9', '2', None, None]
    """
    import pandas as pd
    import pyarrow as pa

    if hasattr(frame, "to_arrow_table"):  # a DuckDB relation
        frame = frame.to_arrow_table()
    if not isinstance(frame, pa.Table) and hasattr(frame, "to_arrow"):  # polars
        frame = frame.to_arrow()
    if isinstance(frame, pa.Table):
        for name in columns:
            checks.known(name, frame.column_names, "column")
        arrays = [_decoded(frame.column(c)) for c in columns]
        return pa.Table.from_arrays(arrays, names=list(columns))
    table = frames.to_pandas(frame, columns)
    kinds = pd.api.types
    typed = (kinds.is_bool_dtype, kinds.is_integer_dtype, kinds.is_float_dtype, kinds.is_datetime64_any_dtype)
    plain = {c for c in columns if any(of(table[c].dtype) for of in typed)}
    arrays = [
        pa.array(table[c], from_pandas=True) if c in plain else pa.array([_text(v) for v in table[c]], pa.string())
        for c in columns
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _decoded(column: Any) -> Any:
    """A column without a dictionary, which engines compare by code, and of a type that DuckDB has."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type) or str(column.type) == "string_view":
        return column.cast(pa.string())
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column


def _text(value: Any) -> str | None:
    """A value as text, None if it is missing or nothing that text, numbers, dates and booleans have."""
    try:
        plain = canonical(value)
    except (DataError, ValueError, OverflowError):
        return None
    if plain is None or isinstance(plain, bool):
        return None if plain is None else str(plain).lower()
    if not isinstance(value, int) and isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        return repr(float(plain))  # as DuckDB writes a double
    return str(plain).encode("utf-8", "replace").decode()


def _from_pandas(column: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} contains values that no engine can: {error}.", hint="convert it to text."
        ) from None


def _plain(column: Any, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.types as kinds

    column = pa.chunked_array(column) if not isinstance(column, pa.ChunkedArray) else column
    if kinds.is_dictionary(column.type):
        column = _cast(column, column.type.value_type, name)
    if kinds.is_float16(column.type):  # neither engine has it
        column = column.cast(pa.float32())
    if kinds.is_large_string(column.type) or str(column.type) == "string_view":
        column = column.cast(pa.string())
    if kinds.is_unsigned_integer(column.type):  # Spark has none
        column = _cast(column, pa.int64(), name)
    if kinds.is_null(column.type):
        column = column.cast(pa.string())
    return column


def _cast(column: Any, kind: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"Column {name!r} can't be {kind}: {error}.", hint="turn it into text.") from None


def categories(frame: Any, columns: tuple[str, ...]) -> dict[str, tuple]:
    """The levels of categorical columns, in their order, unused ones too.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.aggregate.sources import categories
    >>> categories(pd.DataFrame({"a": pd.Categorical(["lo"], ["lo", "hi"])}), ("a",))
    {'a': ('lo', 'hi')}
    """
    import pandas as pd

    dtypes = (
        {str(k): v for k, v in dict(getattr(frame, "dtypes", {})).items()} if isinstance(frame, pd.DataFrame) else {}
    )
    if dtypes:
        found = {c: dtypes[c] for c in columns if isinstance(dtypes.get(c), pd.CategoricalDtype)}
        return {c: tuple(checks.plain(v) for v in d.categories) for c, d in found.items()}
    if isinstance(frame, dict) or hasattr(frame, "to_arrow_table"):
        return {}
    table = frames.to_pandas(frame, _dictionary_columns(frame, columns))
    return categories(table, tuple(table.columns)) if table.shape[1] else {}


def _dictionary_columns(frame: Any, columns: tuple[str, ...]) -> tuple[str, ...]:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return tuple(c for c in columns if pa.types.is_dictionary(frame.schema.field(c).type))
    import narwhals as nw

    schema = nw.from_native(frame).collect_schema()
    return tuple(c for c in columns if schema[c] in (nw.Categorical, nw.Enum))
