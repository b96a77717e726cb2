"""Files to Margins, in long and wide shapes, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.formats.files import Opening, open_sheet, renamed
from sumwise.io.formats.margin_sides import margins_of, named_side, refuse_unused_ballots
from sumwise.io.formats.sheet import Sheet
from sumwise.io.formats.write import write_frame
from sumwise.margins import Margins

LONG_ROLES = {"unit": "unit", "side": "side", "option": "option", "votes": "votes", "row": "row", "col": "col"}


def read_margins(
    source: Any,
    rows: Sequence | Mapping | None = None,
    cols: Sequence | Mapping | None = None,
    unit: str | None = None,
    *,
    total: str | None = None,
    mismatch: str = "raise",
    covariates: Sequence | None = None,
    weight: str | None = None,
    long: Mapping[str, str] | None = None,
    absent: str = "raise",
    rows_in: str | None = None,
    cols_in: str | None = None,
    row_sd: Sequence | None = None,
    ballots: str | None = None,
    **opening: Unpack[Opening],
) -> Margins:
    """Read margins from a file, a query or a data frame.

    A *wide* source has one row per unit and a column per group and per outcome: name them in ``rows`` and ``cols``. A
    *long* source has one row per unit, side and option, with its votes: leave ``rows`` and ``cols`` out.

    Parameters
    ----------
    source : path, SQL text, DuckDB connection, or data frame
        CSV (plain or gzip), Parquet, Arrow or Feather, a DuckDB database with ``query`` or ``table``, a query.
    rows, cols : list of columns, or dict of name to column
        Wide: counts, or shares of ``total``; a dict's None is the rest: ``{"black": "x", "white": None}``.
    unit : str, optional
        The column of unit ids, which stay text as written. Long: default ``"unit"``.
    total, mismatch, covariates, weight, row_sd, ballots
        Wide: as in :meth:`sumwise.Margins.from_frame`; ``mismatch`` counts for the long shape too.
    long : dict, optional
        Long: other names for the columns ``side``, ``option`` and ``votes``, and for the two sides ``row`` and
        ``col``: ``{"votes": "n", "row": "race", "col": "party"}``.
    absent : {"raise", "zero"}
        Long: what a unit means that has no line for an option.
    rows_in, cols_in : {"count", "share", "percent"}, optional
        Wide: what the columns of a side hold, where the numbers alone would not show it.
    **opening
        ``query``, ``table`` and ``params`` for DuckDB; ``separator``, ``encoding`` and ``decimal`` for text files.

    Returns
    -------
    Margins

    See Also
    --------
    write_margins : The way back.
    read_bags : Individuals in bags.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats import read_margins
    >>> wide = pd.DataFrame({"precinct": ["01", "02"], "x": ["25%", "50%"], "yes": [50, 150], "n": [100, 200]})
    >>> m = read_margins(
    ...     wide, rows={"black": "x", "white": None}, cols={"yes": "yes", "no": None}, unit="precinct", total="n"
    ... )
    >>> m.rows
    array([[ 25.,  75.],
           [100., 100.]])
    """
    checks.choice(absent, "absent", ("raise", "zero"))
    if rows is None and cols is None:
        if any(given is not None for given in (total, weight, ballots)) or covariates or row_sd:
            said = "total, weight, covariates, row_sd and ballots belong to the wide shape."
            raise DataError(said, hint="name rows and cols, or leave them out.")
        return _read_long(source, unit, renamed(long, LONG_ROLES, "long", "{'votes': 'n'}"), absent, mismatch, opening)
    if rows is None or cols is None:
        raise DataError("rows and cols go together.", hint="name both (wide), or neither (long).")
    if long is not None:
        raise DataError("long= names columns of the long shape; rows and cols those of the wide.", hint="give one.")
    return _read_wide(
        source, rows, cols, (unit, total, weight, covariates, row_sd, ballots), mismatch, (rows_in, cols_in), opening
    )


def _read_wide(source: Any, rows: Any, cols: Any, extra: tuple, mismatch: str, kinds: tuple, opening: Any) -> Margins:
    unit, total, weight, covariates, row_sd, ballots = extra
    rows, cols = named_side(rows, "rows"), named_side(cols, "cols")
    covariates, row_sd = list(covariates or ()), None if row_sd is None else list(row_sd)
    counts = [c for c in (*rows.values(), *cols.values(), total, weight, ballots, *(row_sd or ())) if c is not None]
    numbers, ids = list(dict.fromkeys([*counts, *covariates])), [] if unit is None else [unit]
    sheet = open_sheet(source, [*numbers, *ids], ids, **opening)
    if unit in numbers:
        raise DataError(f"{sheet.name}: column {unit!r} is the unit and a number.", hint="name it once.")
    # one call, since all columns of a file write numbers in one style; covariates alone may be negative
    columns = dict(zip(numbers, sheet.numbers(numbers, negative=True).T))
    for column in dict.fromkeys(counts):
        sheet.refuse(columns[column] < 0, f"column {column!r} is negative", "counts start at 0.")
    units = None if unit is None else _units(sheet, unit)
    with sheet.blamed():
        if ballots is None:
            others = {c: series for c, series in sheet.frame.items() if c not in numbers}
            refuse_unused_ballots(columns, others, cols)
        return margins_of(
            columns, units, rows, cols, total, mismatch, weight, covariates, *kinds, row_sd=row_sd, ballots=ballots
        )


def _units(sheet: Sheet, unit: Any) -> np.ndarray:
    """The ids of units, each of which has one row."""
    units = sheet.ids(unit)
    twice = units.duplicated().to_numpy()
    first = checks.plain(units.iloc[int(np.argmax(twice))])
    sheet.refuse(twice, f"column {unit!r} repeats a unit ({first!r})", "give each unit one row.")
    return units.to_numpy()


def _read_long(
    source: Any, unit: str | None, names: dict[str, str], absent: str, mismatch: str, opening: Any
) -> Margins:
    unit = names["unit"] if unit is None else unit
    ids = [unit, names["side"], names["option"]]
    if len({*ids, names["votes"]}) < 4:
        raise DataError("A column plays two parts among unit, side, option and votes.", hint="name each once.")
    sheet = open_sheet(source, [*ids, names["votes"]], ids, **opening)
    votes = sheet.numbers([names["votes"]])[:, 0]
    units = in_order(sheet.ids(unit))
    sides = sheet.ids(names["side"]).astype(object).to_numpy()
    is_row, is_col = sides == names["row"], sides == names["col"]
    sheet.refuse(
        ~(is_row | is_col),
        f"column {names['side']!r} is neither {names['row']!r} nor {names['col']!r}",
        "say what the sides are called: long={'row': ..., 'col': ...}.",
    )
    options = sheet.ids(names["option"])
    wide: dict[str, np.ndarray] = {}
    spec = []
    for letter, mask, word in (("r", is_row, names["row"]), ("c", is_col, names["col"])):
        if not mask.any():
            raise DataError(f"{sheet.name}: no row of the side {word!r}.", hint="both sides are needed.")
        named = in_order(options.astype(object).where(mask))  # whole numbers stay what they are
        filled = option_columns(sheet, units, named, votes, absent=absent)
        wide |= {f"{letter}{j}": column for j, column in enumerate(filled.T)}
        spec.append({checks.plain(name): f"{letter}{j}" for j, name in enumerate(named.categories)})
    with sheet.blamed():
        return margins_of(wide, np.asarray(units.categories, dtype=object), *spec, mismatch=mismatch)


def option_columns(
    sheet: Sheet, units: pd.Categorical, options: pd.Categorical, votes: np.ndarray, *, absent: str, add: bool = False
) -> np.ndarray:
    """Votes (unit, option) from a line of the sheet for each, in the order of the categories.

    A line whose option is missing is left out. `absent`: what a cell without a line means. `add`: whether lines of the
    same cell are added up, or refused.
    """
    used, shape = options.codes >= 0, (len(units.categories), len(options.categories))
    cell = np.ravel_multi_index((units.codes[used], options.codes[used]), shape)
    if not add:
        twice = np.zeros(len(used), dtype=bool)
        twice[used] = pd.Series(cell).duplicated().to_numpy()
        sheet.refuse(twice, "a unit has two lines for one option", "add them up, or drop one.")
    lacking = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape) == 0
    if absent == "raise":

        def first(u: int, j: int) -> str:
            where, name = sheet.row(int(np.argmax(units.codes == u))), checks.plain(units.categories[u])
            return f"the unit of {where} has none for option {checks.plain(options.categories[j])!r} (unit {name!r})"

        hint = "set absent to 'zero' if such lines mean no votes."
        checks.nowhere(lacking, f"{sheet.name}: {{}} votes have no row", first, hint)
    return np.bincount(cell, votes[used], lacking.size).reshape(shape)


def in_order(values: pd.Series) -> pd.Categorical:
    """Values by their number, in the order in which they are first seen; missing ones have none."""
    codes, found = pd.factorize(values)
    return pd.Categorical.from_codes(codes, categories=pd.Index(found, dtype=object))


def write_margins(margins: Margins, path: str | PathLike, shape: str = "long") -> None:
    """Write margins to a file that :func:`read_margins` reads back.

    Parameters
    ----------
    margins : Margins
    path : path
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; written whole or not at all.
    shape : {"long", "wide"}
        Long: ``unit, side, option, votes``. Wide: ``unit``, a column per group and outcome, and those of weights
        (``weight``) and covariates where there are any.

    See Also
    --------
    read_margins : The way back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sumwise import Margins
    >>> from sumwise.io.formats import read_margins, write_margins
    >>> m = Margins([[3, 1], [0, 2]], [[2, 2], [1, 1]], units=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_margins(m, pathlib.Path(folder) / "m.csv")
    ...     again = read_margins(pathlib.Path(folder) / "m.csv")
    >>> (again.rows == m.rows).all() and (again.cols == m.cols).all()
    np.True_
    """
    checks.choice(shape, "shape", ("long", "wide"))
    if not len(margins):
        raise DataError("The margins have no units; such a file couldn't be read back.", hint="save them instead.")
    checks.unique(margins.units.tolist(), "The units to write")
    weighted = not np.all(margins.weights == 1)
    if shape == "long":
        if weighted or margins.covariates is not None:
            raise DataError("The long shape has no place for weights and covariates.", hint="write shape='wide'.")
        write_frame(_long_frame(margins), path)
        return
    names = [*margins.row_names, *margins.col_names]
    parts = [margins.rows, margins.cols]
    if weighted:
        names, parts = [*names, "weight"], [*parts, margins.weights[:, None]]
    if margins.covariates is not None:
        names, parts = [*names, *(margins.covariate_names or ())], [*parts, margins.covariates]
    checks.unique(["unit", *map(str, names)], "The columns of the wide shape")
    frame = pd.DataFrame(np.hstack(parts), columns=[str(name) for name in names])
    frame.insert(0, "unit", margins.units)
    write_frame(frame, path)


def _long_frame(margins: Margins) -> pd.DataFrame:
    pieces = []
    for side, values, names in (("row", margins.rows, margins.row_names), ("col", margins.cols, margins.col_names)):
        n, k = values.shape
        pieces.append(
            pd.DataFrame(
                {
                    "unit": np.repeat(margins.units, k),
                    "side": side,
                    "option": np.tile(np.array([str(name) for name in names], dtype=object), n),
                    "votes": values.ravel(),
                }
            )
        )
    return pd.concat(pieces, ignore_index=True)
