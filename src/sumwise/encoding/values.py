"""Raw values of a column: as plain scalars, codes or numbers; and values that are not a level: how many is too many."""

from __future__ import annotations

import datetime
import math
import numbers
import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.errors import DataError

FEWEST = 20  # rows below which a share says nothing
MANY = 0.01


def canonical(value: Any) -> Any:
    """The plain scalar that stands for a raw value: bool, int, float or str; None for a missing one.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.encoding.values import canonical
    >>> canonical(np.int8(3)), canonical(3.0), canonical(0.5), canonical(float("nan"))
    (3, 3, 0.5, None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.date):  # a pandas Timestamp is a date too
        return _date_text(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(
            f"A value of type {type(value).__name__} can't be a level: {value!r}.",
            hint="turn it into text or a number.",
        ) from None
    if math.isnan(number):
        return None
    return int(number) if number.is_integer() else number


def _date_text(value: datetime.date) -> str:
    """A date or a time as engines write it: fractions without zeros at the end, time zones turned into UTC."""
    zone = ""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value, zone = value.astimezone(datetime.UTC).replace(tzinfo=None), "+00"
    text = str(value)
    return (text.rstrip("0") if "." in text else text) + zone


def kind_of(values: tuple, name: str) -> str:
    """``"text"``, ``"number"`` or ``"bool"``: what all the levels of a column are.

    Examples
    --------
    >>> from sumwise.encoding.values import kind_of
    >>> kind_of((1, 2.5), "age")
    'number'
    """
    kinds = {"bool" if isinstance(v, bool) else "text" if isinstance(v, str) else "number" for v in values}
    if len(kinds) > 1:
        raise DataError(
            f"Column {name!r} mixes {' and '.join(sorted(kinds))} levels.", hint="turn all of them into text first."
        )
    return kinds.pop() if kinds else "text"


def factorized(values: Any) -> tuple[np.ndarray, list]:
    """Codes (-1 where missing) and the canonical distinct values of a raw column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.values import factorized
    >>> factorized(pd.Series(["b", None, "a", "b"]))
    (array([ 0, -1,  1,  0]), ['b', 'a'])
    """
    import pandas as pd

    try:
        codes, uniques = pd.factorize(values, use_na_sentinel=True)
    except TypeError as error:
        raise DataError(f"Column {values.name!r} contains values that can't be levels: {error}.") from None
    plain = [canonical(v) for v in uniques]
    if None in plain:  # NaN inside an object column
        keep = np.cumsum([v is not None for v in plain]) - 1
        table = np.where([v is not None for v in plain], keep, -1)
        codes = np.where(codes >= 0, table[codes], -1)
        plain = [v for v in plain if v is not None]
    return codes.astype(np.int64), plain


PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)([.][0-9]+)?")
"""Text that is a number and nothing else: a code such as 01234 is text."""


def as_level(value: Any, kinds: set[type], truths: dict[str, Any]) -> Any:
    """A plain value as a level of these kinds would be written; None where it can't be one.

    The rule for types, from file to prediction: a column is numbers where all its entries are plain numbers (no leading
    zero), booleans where all are true or false, and text as written otherwise: yes and no, codes, dates. A value that
    comes in another of the three is compared by what it says: 7 with '7', True with 'true'.
    """
    if isinstance(value, bool) or (truths and isinstance(value, str)):
        return truths.get(str(value).lower()) if truths else None  # True == 1 in Python: never let them meet
    if bool in kinds:
        return None
    if isinstance(value, str) and str not in kinds:
        return canonical(float(value)) if PLAIN_NUMBER.fullmatch(value.strip()) else None
    if not isinstance(value, str) and kinds == {str}:
        return str(value)
    return value


def looked_up(values: Any, index: dict, missing: int, unseen: int) -> np.ndarray:
    """Codes by a dictionary of canonical values; what is missing or unseen gets its own code.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.values import looked_up
    >>> looked_up(pd.Series(["b", None, "z"]), {"a": 0, "b": 1}, missing=2, unseen=-1)
    array([ 1,  2, -1])
    """
    codes, plain = factorized(values)
    kinds = {type(k) for k in index}
    truths = {str(k).lower(): k for k in index} if kinds <= {bool, str} else {}
    truths = truths if truths and set(truths) <= {"true", "false"} else {}
    table = np.array([index.get(as_level(v, kinds, truths), unseen) for v in plain] + [unseen], dtype=np.int64)
    table[-1] = missing
    return table[codes]


def numbers_of(values: Any, name: str) -> np.ndarray:
    """A raw column as float64, NaN where missing; text that isn't a number is refused with its row.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.values import numbers_of
    >>> numbers_of(pd.Series(["1", None]), "age")
    array([ 1., nan])
    """
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        raise DataError(f"Column {name!r} contains dates; cut points need numbers.", hint="turn dates into days first.")
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        raise DataError(f"Column {name!r} contains durations; cut points need numbers.", hint="turn them into seconds.")
    if pd.api.types.is_complex_dtype(values.dtype):
        raise DataError(f"Column {name!r} contains complex numbers.", hint="cut points need real ones.")
    numeric: Any = pd.to_numeric(values, errors="coerce")
    checks.nowhere(
        (numeric.isna() & ~values.isna()).to_numpy(),
        f"Column {name!r} has {{}} values that are not numbers",
        lambda i: f"row {i} has {checks.plain(values.iloc[i])!r}",
        "use 'levels' for text, or clean the column.",
    )
    return numeric.to_numpy(dtype=np.float64, na_value=np.nan)


class Unseen(NamedTuple):
    """Values of one column that are not a level: how many of how many that are not missing, and the first of them."""

    rows: int
    present: int
    first: Any
    levels: tuple


def count_unseen(column: Any, unknown: np.ndarray, levels: tuple) -> Unseen:
    """Count the entries of a column that are present but unknown."""
    present = ~column.isna().to_numpy()
    at = np.flatnonzero(present & unknown)
    first = checks.plain(column.iloc[at[0]]) if len(at) else None
    return Unseen(len(at), int(present.sum()), first, levels)


def report_unseen(counts: dict[str, Unseen]) -> None:
    """Warn of columns of which more than 1% is not a level of theirs; refuse one of which nothing is."""
    bad = {n: u for n, u in counts.items() if u.present >= FEWEST and u.rows > MANY * u.present}
    for name, u in bad.items():
        if u.rows == u.present:
            raise DataError(
                f"No value of column {name!r} is a level of the tables: it has {u.first!r} "
                f"({type(u.first).__name__}), they have {checks.plain(u.levels[0])!r} ({type(u.levels[0]).__name__}).",
                hint="read the column as it was counted: codes such as '01234' and dates as text (dtype=str), true "
                "and false as booleans.",
            )
    if bad:
        worst = max(bad, key=lambda n: bad[n].rows / bad[n].present)
        shares = ", ".join(f"{n!r} {100 * u.rows / u.present:.3g}%" for n, u in list(bad.items())[:6])
        warnings.warn(
            f"Values that no table has a level for: {shares}. First of {worst!r}: {bad[worst].first!r}. They go to "
            "the level for other values where a rule names one, and are treated as unknown elsewhere. "
            "Hint: is the column typed as it was when it was counted?",
            stacklevel=4,
        )
