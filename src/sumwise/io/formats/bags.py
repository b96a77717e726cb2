"""Files with one row per individual to Bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import pandas as pd

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.io.formats.files import Opening, open_sheet
from sumwise.io.formats.sheet import Sheet


def read_bags(
    source: Any,
    bag: str,
    features: Sequence | None = None,
    weight: str | None = None,
    *,
    categorical: Sequence = (),
    **opening: Unpack[Opening],
) -> Bags:
    """Read bags from a file, a query or a data frame with one row per individual.

    A column of text in which every entry is a number is read as numbers; one in which no entry is becomes codes with
    ``levels``; a mixture is an error that names the first row. Codes with leading zeros (``007``) are not numbers.
    True and false, as booleans or as text, are the levels False and True.

    Parameters
    ----------
    source : path, SQL text, DuckDB connection, or data frame
        CSV (plain or gzip), Parquet, Arrow or Feather, a DuckDB database with ``query`` or ``table``, a query.
    bag : str
        The column of bag ids, which stay text as written; rows need not be sorted.
    features : list of str, optional
        Default: all other columns.
    weight : str, optional
        The column of row weights.
    categorical : list of str
        Features that are levels even where they look like numbers.
    **opening
        ``query``, ``table`` and ``params`` for DuckDB; ``separator``, ``encoding`` and ``decimal`` for text files.

    Returns
    -------
    Bags

    See Also
    --------
    read_margins : Totals by unit.
    read_tables : Tables of counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats import read_bags
    >>> people = pd.DataFrame({"area": ["01", "02", "01"], "age": ["31", "40", "25"], "sex": ["f", "m", "m"]})
    >>> bags = read_bags(people, bag="area")
    >>> bags.ids, bags.levels
    (array(['01', '02'], dtype='<U2'), {'sex': ('f', 'm')})
    >>> bags[0]
    array([[31.,  0.],
           [25.,  1.]])
    """
    for name, given in (("features", features), ("categorical", categorical)):
        if given is not None and (isinstance(given, (str, bytes)) or not isinstance(given, Sequence)):
            raise DataError(f"{name} is {given!r}.", hint="give a list of columns.")
    wanted = None if features is None else [bag, *features, *([] if weight is None else [weight])]
    sheet = open_sheet(source, wanted, [bag, *categorical], **opening)
    sheet.known(bag, *([] if weight is None else [weight]))
    if features is None:
        features = sheet.others(bag, weight)
    checks.unique(list(features), "features")
    if bag in features or (weight is not None and weight in (bag, *features)):
        raise DataError(
            f"{sheet.name}: a column plays two parts among bag, features and weight.", hint="name each once."
        )
    with sheet.blamed():
        for column in categorical:
            checks.known(column, features, "feature")
    if not features:
        raise DataError(f"{sheet.name} has no feature columns besides the bag.", hint="name at least one.")
    return _bags(sheet, bag, list(features), weight, set(categorical))


def _bags(sheet: Sheet, bag: str, features: list, weight: str | None, categorical: set) -> Bags:
    levels = {c for c in features if c in categorical or _is_levels(sheet, c)}
    numeric = [c for c in features if c not in levels and not pd.api.types.is_bool_dtype(sheet.frame[c].dtype)]
    numbers = sheet.numbers([*numeric, *([] if weight is None else [weight])], negative=True)
    if weight is not None:
        sheet.refuse(numbers[:, -1] < 0, f"column {weight!r} is negative", "weights start at 0.")
    ready: dict[Any, Any] = {bag: sheet.ids(bag).to_numpy()}
    for column in features:
        if column in levels:
            ready[column] = _truths(sheet.ids(column).reset_index(drop=True))
        elif column in numeric:
            ready[column] = numbers[:, numeric.index(column)]
        else:
            ready[column] = sheet.ids(column).to_numpy(dtype=bool)
    if weight is not None:
        ready[weight] = numbers[:, -1]
    frame = pd.DataFrame(ready)
    for column in levels:
        if not isinstance(frame[column].dtype, pd.CategoricalDtype):
            frame[column] = frame[column].astype("category")
    with sheet.blamed():
        return Bags.from_frame(frame, bag, features, weight)


def _truths(series: pd.Series) -> pd.Series:
    """Booleans for text that says true and false alone, as engines read it; anything else as it is."""
    if not (pd.api.types.is_object_dtype(series.dtype) or isinstance(series.dtype, pd.StringDtype)):
        return series
    words = series.astype(str).str.strip().str.lower()
    return words == "true" if words.isin(["true", "false"]).all() else series


def _is_levels(sheet: Sheet, column: Any) -> bool:
    """Whether a column holds levels: text of which no entry is a number, or codes with leading zeros."""
    series = sheet.frame[column]
    if isinstance(series.dtype, pd.CategoricalDtype):
        return True
    if not (pd.api.types.is_object_dtype(series.dtype) or isinstance(series.dtype, pd.StringDtype)):
        return False
    return sheet.holds_levels(column, lambda _: f"correct such rows, or pass categorical=[{column!r}].")
