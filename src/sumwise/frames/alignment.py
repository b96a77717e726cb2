"""Values that belong together, put into one order: by the labels of a pandas index, or by the names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.frames.conversion import column_names, is_frame, numeric, to_pandas


def in_one_order(given: dict[str, Any]) -> tuple[dict[str, Any], list | None]:
    """Put pandas objects with the same labels into the order of the first whose index isn't just 0, 1, ...

    Arrays are matched by position, and so are frames and series with a default index next to labelled ones. Labels
    that differ are an error: nobody knows which rows belong together.

    Parameters
    ----------
    given : dict of name to array, frame, series or None

    Returns
    -------
    given : dict
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
    indexed = {name: x.index for name, x in given.items() if hasattr(x, "index") and hasattr(x, "iloc")}
    first = next((name for name, index in indexed.items() if not _plain(index)), None)
    if first is None:
        return given, None
    out = dict(given)
    for name, index in indexed.items():
        order = _order(index, indexed[first], name, first)
        out[name] = given[name] if order is None else given[name].iloc[order]
    labels = [checks.plain(x) for x in indexed[first].tolist()]
    named = all(isinstance(x, (str, int)) for x in labels) and len(set(labels)) == len(labels)
    return out, labels if named else None


def by_names(given: Any, names: Sequence[Any], what: str) -> np.ndarray:
    """Return the columns of a frame called `names`, in that order; an array, or a frame for unnamed columns, as it is.

    Parameters
    ----------
    given : array or data frame
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
    if not hasattr(given, "columns") or not is_frame(given):
        return checks.finite(given, what, ndim=2)
    present = column_names(given)
    if set(present).isdisjoint(names) and unnamed(names):
        return numeric(given, present, what)
    if absent := [n for n in names if n not in present]:
        raise DataError(
            f"{what} lacks {len(absent)} of {len(names)} columns, first {absent[0]!r}.",
            hint=f"give the columns {', '.join(map(str, names))}, or an array in that order.",
        )
    return numeric(to_pandas(given, names, what), names, what)


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
            f"The index of {name} {why}, beside that of {first}.",
            hint="index both alike, or give arrays in one order: .to_numpy().",
        )
    return np.array([place[x] for x in theirs], dtype=np.int64)
