"""Files with one row per individual to Bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.io.formats.files import Opening, open_sheet


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

    What columns hold is decided as in :meth:`sumwise.Bags.from_frame`.

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
    return Bags.from_frame(sheet, bag, features, weight, categorical)
