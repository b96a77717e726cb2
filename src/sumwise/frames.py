"""Any data frame in: pandas, polars, pyarrow, or a dict of columns (through narwhals, loaded when used).

Values that belong together are put into one order: by the labels of a pandas index, or by the names of columns.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, UnknownName

MOST_NUMBERED_CLASSES = 50  # distinct numbers beyond which a label is an amount, or an identifier

NO_LABEL = ("", "na", "n/a", "nan", "null", "none", ".", "?")  # among numbers


def is_frame(x: Any) -> bool:
    """Tell whether `x` is a data frame of a kind that sumwise takes.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import is_frame
    >>> is_frame(pd.DataFrame({"a": [1]})), is_frame([1])
    (True, False)
    """
    if isinstance(x, (np.ndarray, list, tuple, str)) or x is None:
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(x, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except nw.exceptions.DuplicateError:  # a frame all the same; its column names are checked when it is read
        return True


def to_pandas(frame: Any, columns: Sequence | None = None, what: str = "the frame") -> Any:
    """Return `columns` of any data frame as a pandas frame, in the order asked for.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or dict of columns
    columns : sequence of names, optional
        Default: all.
    what : str
        How messages call the frame.

    Examples
    --------
    >>> from sumwise.frames import to_pandas
    >>> to_pandas({"a": [1, 2], "b": [3, 4]}, ["b"]).columns.tolist()
    ['b']
    """
    import pandas as pd

    if isinstance(frame, dict):
        try:
            frame = pd.DataFrame(frame)
        except ValueError as error:
            raise DataError(f"{what} is a dict that makes no frame: {error}.") from None
    if not is_frame(frame):
        raise DataError(f"{what} is of type {type(frame).__name__}.", hint="give a pandas, polars or pyarrow frame.")
    present = column_names(frame)
    checks.unique(present, f"The columns of {what}")
    wanted = present if columns is None else checks.listing(columns, "columns")
    for name in wanted:
        checks.known(checks.name_of_column(name, "A column"), present, "column")
    if isinstance(frame, pd.DataFrame):
        return _native(frame).loc[:, list(wanted)]
    import narwhals as nw

    native = nw.from_native(frame)
    if isinstance(native, nw.LazyFrame):
        native = native.select(list(wanted)).collect()
    return native.select(list(wanted)).to_pandas()


def _native(frame: Any) -> Any:
    """A pandas frame whose numbers have this machine's byte order and a double's precision: pandas sorts no others."""
    types = {c: d for c, d in frame.dtypes.items() if isinstance(d, np.dtype)}
    foreign: dict = {c: d.newbyteorder("=") for c, d in types.items() if not d.isnative}
    foreign |= {c: np.float64 for c, d in types.items() if d.kind == "f" and d.itemsize > 8}
    return frame.astype(foreign) if foreign else frame


def column_names(frame: Any) -> tuple:
    """Return the column names of any data frame, or of a dict of columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import column_names
    >>> column_names(pd.DataFrame({"a": [1], "b": [2]}))
    ('a', 'b')
    """
    if hasattr(frame, "column_names"):  # pyarrow
        return tuple(frame.column_names)
    if hasattr(frame, "collect_schema"):  # polars, eager and lazy
        return tuple(frame.collect_schema().names())
    return tuple(checks.plain(c) for c in (frame if isinstance(frame, dict) else frame.columns))


def numeric(frame: Any, columns: Sequence, what: str, **options: Any) -> np.ndarray:
    """Return `columns` as one float matrix; a column that holds no numbers is named.

    Examples
    --------
    >>> from sumwise.frames import numeric
    >>> numeric({"a": [1, 2], "b": [3, 4]}, ["a", "b"], "votes")
    array([[1., 3.],
           [2., 4.]])
    """
    table = to_pandas(frame, columns)
    if not len(table):
        raise DataError(f"{what}: the frame has no rows.")
    parts = [
        checks.finite(column_values(table[c]), f"{what}, column {c!r}", ndim=1, **{"labels": None, **options})
        for c in columns
    ]
    if not parts:
        raise DataError(f"{what} names no columns.")
    return np.column_stack(parts)


def codes_and_levels(column: Any, name: str, levels: Sequence | None = None) -> tuple[np.ndarray, tuple]:
    """Return integer codes and the levels that they stand for.

    Levels are the categories of a categorical column, else the sorted distinct values; with `levels`
    given, a value outside them is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import codes_and_levels
    >>> codes_and_levels(pd.Series(["b", "a", "b"]), "side")
    (array([1, 0, 1]), ('a', 'b'))
    """
    import pandas as pd

    scalars_only(column, name)
    missing = column.isna().to_numpy()
    if levels is None or None not in levels:
        hint = "drop or fill such rows, or make missing a level with an Encoding."
        checks.nowhere(missing, f"Column {name!r} is missing in {{}} rows", lambda i: f"row {i}", hint)
    if levels is not None:
        return _codes_in(column, name, levels), tuple(levels)
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = tuple(checks.plain(x) for x in column.cat.categories)
        return column.cat.codes.to_numpy().astype(np.int64), levels
    try:
        codes, found = pd.factorize(column, sort=True)
    except TypeError:
        kinds = sorted({kind.__name__ for kind in set(map(type, column))})
        raise DataError(
            f"Column {name!r} contains values of kinds that have no common order ({', '.join(kinds)}).",
            hint="convert it to text.",
        ) from None
    levels = tuple(checks.plain(x) for x in found.tolist())
    distinct_texts(levels, name)
    return codes.astype(np.int64), levels


def scalars_only(column: Any, name: str) -> None:
    """Check that a column of objects holds single values (text, numbers, dates), not lists or other objects.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import scalars_only
    >>> scalars_only(pd.Series(["a", 1, None]), "c")
    """
    if column.dtype != object:
        return
    import pandas as pd

    odd = {kind.__name__ for kind in set(map(type, column)) if not _scalar_kind(kind, pd)}
    if odd:
        raise DataError(
            f"Column {name!r} has values that can't be levels ({', '.join(sorted(odd))}).", hint="convert it to text."
        )


def _scalar_kind(kind: type, pd: Any) -> bool:
    plain = (str, int, float, np.generic, datetime.date, datetime.timedelta, decimal.Decimal, type(None))
    return issubclass(kind, (*plain, type(pd.NA), type(pd.NaT)))


def _codes_in(column: Any, name: str, levels: Sequence) -> np.ndarray:
    position = {level: i for i, level in enumerate(levels)}
    import pandas as pd

    codes, distinct = pd.factorize(column)
    lookup = np.array([position.get(checks.plain(x), -1) for x in distinct] or [-1], dtype=np.int64)
    out = np.where(codes >= 0, lookup[codes], position.get(None, -1))
    bad = out < 0
    if bad.any():
        i = int(np.argmax(bad))
        checks_hint = ", ".join(repr(x) for x in list(levels)[:6]) + (", ..." if len(levels) > 6 else "")
        raise UnknownName(
            f"Column {name!r} has levels outside its domain in {int(bad.sum())} of {len(out)} rows. First: row {i} "
            f"has {checks.plain(column.iloc[i])!r}.",
            hint=f"the levels are {checks_hint}. Merge rare or new levels with an Encoding.",
        )
    return out


def column_values(column: Any) -> np.ndarray:
    """Return a pandas column as a plain array: nullable numbers as numbers, missing ones as NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import column_values
    >>> column_values(pd.Series([1, None], dtype="Int64"))
    array([ 1., nan])
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.astype(object))
    if pd.api.types.is_extension_array_dtype(column.dtype) and pd.api.types.is_numeric_dtype(column.dtype):
        if column.isna().any():
            return column.to_numpy(dtype=float, na_value=np.nan)
        return column.to_numpy(dtype=column.dtype.numpy_dtype)  # pyright: ignore[reportAttributeAccessIssue]
    return column.to_numpy()


def in_one_order(inputs: dict[str, Any]) -> tuple[dict[str, Any], list | None]:
    """Put pandas objects with the same labels into the order of the first whose index isn't just 0, 1, ...

    Arrays are matched by position, and so are frames and series with a default index next to labelled ones. Labels
    that differ are an error: nobody knows which rows belong together.

    Parameters
    ----------
    inputs : dict of name to array, frame, series or None

    Returns
    -------
    inputs : dict
    labels : list or None
        Those of the order, where they are text or whole numbers and distinct.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import in_one_order
    >>> rows = pd.DataFrame({"a": [1, 2]}, index=["north", "south"])
    >>> out, labels = in_one_order({"rows": rows, "cols": pd.Series([4, 3], index=["south", "north"])})
    >>> out["cols"].tolist(), labels
    ([3, 4], ['north', 'south'])
    """
    indexed = {name: x.index for name, x in inputs.items() if hasattr(x, "index") and hasattr(x, "iloc")}
    first = next((name for name, index in indexed.items() if not _plain(index)), None)
    if first is None:
        return inputs, None
    out = dict(inputs)
    for name, index in indexed.items():
        order = _order(index, indexed[first], name, first)
        out[name] = inputs[name] if order is None else inputs[name].iloc[order]
    labels = [checks.plain(x) for x in indexed[first].tolist()]
    named = all(isinstance(x, (str, int)) for x in labels) and len(set(labels)) == len(labels)
    return out, labels if named else None


def by_names(table: Any, names: Sequence[Any], what: str) -> np.ndarray:
    """Return the columns of a frame called `names`, in that order; an array, or a frame for unnamed columns, as it is.

    Parameters
    ----------
    table : array or data frame
    names : sequence
        What the columns were called when a model was fitted; col0, col1, ... of any prefix are no names.
    what : str
        For messages.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.frames import by_names
    >>> by_names(pd.DataFrame({"b": [2], "a": [1]}), ["a", "b"], "groups")
    array([[1., 2.]])
    """
    if not hasattr(table, "columns") or not is_frame(table):
        return checks.finite(table, what, ndim=2)
    present = column_names(table)
    if set(present).isdisjoint(names) and unnamed(names):
        return numeric(table, present, what)
    if absent := [n for n in names if n not in present]:
        raise DataError(
            f"{what} lacks {len(absent)} of {len(names)} columns, first {absent[0]!r}.",
            hint=f"give the columns {', '.join(map(str, names))}, or an array in that order.",
        )
    return numeric(to_pandas(table, names, what), names, what)


def unnamed(names: Sequence[Any]) -> bool:
    """Tell whether names are those that a container gives where there are none: row0, row1, ...

    Examples
    --------
    >>> from sumwise.frames import unnamed
    >>> unnamed(["row0", "row1"]), unnamed(["black", "white"])
    (True, False)
    """
    prefix = str(names[0]).removesuffix("0") if len(names) else ""
    return list(names) == [f"{prefix}{i}" for i in range(len(names))]


def _plain(index: Any) -> bool:
    return index.nlevels == 1 and index.name is None and index.tolist() == list(range(len(index)))


def _order(index: Any, wanted: Any, name: str, first: str) -> np.ndarray | None:
    """Positions of `wanted` labels in an index; None where both have the same order, or one is a plain index."""
    mine, theirs = index.tolist(), wanted.tolist()
    if len(mine) != len(theirs) or mine == theirs:
        return None  # another check says how many there should be
    place = {label: i for i, label in enumerate(mine)}
    absent = [x for x in theirs if x not in place]
    if len(absent) == len(theirs) and _plain(index):
        return None
    if absent or len(place) < len(mine):
        why = f"lacks {len(absent)} of {len(theirs)} labels, first {absent[0]!r}" if absent else "repeats labels"
        raise DataError(
            f"The index of {name} {why}, unlike that of {first}.",
            hint="index both alike, or give arrays in one order: .to_numpy().",
        )
    return np.array([place[x] for x in theirs], dtype=np.int64)


def distinct_texts(levels: Sequence, name: str) -> None:
    """Refuse levels that differ by blanks around them alone: most often they are one level.

    Examples
    --------
    >>> from sumwise.frames import distinct_texts
    >>> distinct_texts(["a", "b", "a "], "side")
    Traceback (most recent call last):
    sumwise.errors.DataError: Column 'side' has 'a' and 'a ', which differ by blanks alone. Hint: trim the column.
    """
    first: dict[str, str] = {}
    for text in (x for x in levels if isinstance(x, str)):
        other = first.setdefault(text.strip(), text)
        if other != text:
            what = f"Column {name!r} has {other!r} and {text!r}, which differ by blanks alone."
            raise DataError(what, hint="trim the column.")


def check_classes(classes: Sequence, name: str) -> None:
    """Refuse a label of one value or of fractions, or of so many numbers that it is an amount, or names rows.

    And words for missing values among numbers, which are no class.
    """
    blank = [c for c in classes if isinstance(c, str) and c.strip().lower() in NO_LABEL]
    if blank and len(classes) > len(blank) and all(_reads_as_number(c) for c in classes if c not in blank):
        others = ", ".join(repr(c) for c in classes if c not in blank)
        hint = "leave such rows out, or write what their class is."
        raise DataError(f"The label {name!r} has {blank[0]!r} among numbers ({others[:60]}).", hint=hint)
    if len(classes) == 1:
        raise DataError(f"The label {name!r} has the single value {classes[0]!r}.", hint="a label needs two classes.")
    if len(classes) > MOST_NUMBERED_CLASSES and all(isinstance(c, int | float) for c in classes):
        raise DataError(
            f"The label {name!r} has {len(classes)} or more different numbers, first {classes[0]} and {classes[1]}: it "
            "looks like an amount, not a class.",
            hint="cut it into a few classes, or turn it into text if they really are classes.",
        )
    if parts := [c for c in classes if isinstance(c, float) and not c.is_integer()]:
        hint = "a label is 0 or 1, or one of a few classes."
        raise DataError(f"The label {name!r} contains fractions, first {parts[0]}.", hint=hint)


def _reads_as_number(text: Any) -> bool:
    try:
        return np.isfinite(float(text))
    except (TypeError, ValueError):
        return False


def column_numbers(column: Any, name: str, levels: dict[str, tuple], as_levels: bool = False) -> np.ndarray:
    """A column as numbers, NaN where it is missing; codes of text, categories and booleans, with levels in `levels`.

    True and False are two levels, as they are where a file has them as text: every door gives the same columns.
    """
    import pandas as pd

    kind = column.dtype
    objects = pd.api.types.is_object_dtype(kind) and _all_numbers(column)
    number = (pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)) or objects
    if number and not as_levels:
        values = column_values(column)
        if objects:
            values = np.array([np.nan if gone else x for x, gone in zip(values, column.isna())], dtype=object)
        return checks.finite(values, f"column {name!r}", allow_nan=True, keep_float32=True)
    if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
        raise DataError(f"Column {name!r} contains dates.", hint="turn it into a number first.")
    there = column.notna().to_numpy()
    if not there.any():
        raise DataError(f"Column {name!r} is missing in every row.", hint="leave it out.")
    codes, levels[name] = codes_and_levels(column[there], name)
    out = np.full(len(column), np.nan)
    out[there] = codes
    return out


def _all_numbers(column: Any) -> bool:
    """Whether a column of objects holds numbers alone, as one that lost its type does; missing ones aside."""
    kinds = set(map(type, column[column.notna()]))
    numbers = (int, float, np.integer, np.floating, decimal.Decimal)
    return bool(kinds) and all(issubclass(k, numbers) and not issubclass(k, bool) for k in kinds)
