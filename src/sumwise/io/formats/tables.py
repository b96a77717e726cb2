"""Files with one row per cell to Tables, and back.

The format. Every attribute has a column; ``count`` is the number of the cell (empty: not observed). Several
tables stand in one file: where an attribute is not part of a table, its cell is empty. A column ``table`` keeps
tables apart by any name; it is needed only where two tables have the same attributes. Optional columns:
``label_sum`` for the sum of a 0/1 label, or ``label_sum:NAME`` for each class; ``noise`` (exact, poisson,
gaussian, laplace or geometric) with ``scale`` (of a poisson: the rate); ``draws``, where a count has several draws
of that noise, and ``label_scale``, where label sums have noise of another scale; ``low`` and ``high`` for what is
known of a withheld count (an empty ``high`` is no limit).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.io.formats.files import Opening, open_sheet, renamed
from sumwise.io.formats.sheet import Sheet
from sumwise.io.formats.write import write_frame
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson, Summed
from sumwise.provenance import Provenance
from sumwise.sparse_table import SparseTable, pays
from sumwise.tables import Table, Tables

NUMBERS = ("count", "scale", "draws", "label_scale", "low", "high")
NAMES = {c: c for c in (*NUMBERS, "label_sum", "table", "noise", "absent")}
NOISES = {"exact": Exact, "poisson": Poisson, "gaussian": Gaussian, "laplace": Laplace, "geometric": Geometric}
ABSENT = ("raise", "zero", "unobserved")
WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
MAX_DENSE_CELLS = 100_000_000  # cells of one table that is held in full


def read_tables(
    source: Any,
    attributes: Sequence[str] | None = None,
    *,
    domain: Domain | None = None,
    noise: Noise | None = None,
    absent: str = "raise",
    n: float | None = None,
    label: str | None = None,
    names: Mapping[str, str] | None = None,
    provenance: Provenance | None = None,
    **opening: Unpack[Opening],
) -> Tables:
    """Read tables from a file, a query or a data frame with one row per cell.

    Every attribute has a column, and ``count`` the number of each cell (empty: not observed). Several tables stand in
    one file: where an attribute is not part of a table, its cell is empty. A column ``table`` keeps tables apart by any
    name; it is needed only where two tables have the same attributes. Optional columns are ``label_sum`` (of a 0/1
    label) or ``label_sum:NAME`` (of each class), ``noise`` with ``scale``, ``low`` and ``high`` for withheld
    counts, and ``absent``, which says of a table what cells without a row mean. Where they are zero, large tables that
    are mostly empty are held by their filled cells (see :class:`sumwise.sparse_table.SparseTable`).

    Parameters
    ----------
    source : path, SQL text, DuckDB connection, or data frame
        CSV (plain or gzip), Parquet, Arrow or Feather, a DuckDB database with ``query`` or ``table``, a query.
    attributes : list of str, optional
        The attribute columns; default: all that have no other meaning.
    domain : Domain, optional
        The levels and their order; a level outside it is an error. Default: the levels in the file, whole numbers in
        their order, text in the order of first appearance.
    noise : Noise, optional
        How all tables were observed, where the file has no column ``noise``; default ``Exact()``.
    absent : {"raise", "zero", "unobserved"}
        What a cell means that has no row, where no column ``absent`` says it.
    n, label
        As in :class:`sumwise.Tables`.
    names : dict, optional
        Other names of the columns: ``{"count": "impressions", "label_sum": "clicks"}``.
    provenance : Provenance, optional
        Whether the rows that were counted had weights, and so on; a file of cells doesn't say, and
        `sumwise.privacy.release` asks where it is not stated.
    **opening
        ``query``, ``table`` and ``params`` for DuckDB; ``separator``, ``encoding`` and ``decimal`` for text files.

    Returns
    -------
    Tables

    See Also
    --------
    write_tables : The way back.
    read_buckets : Reports with bucket keys.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats import read_tables
    >>> cells = pd.DataFrame(
    ...     {"sex": ["f", "m", "f", "m", None, None], "age": [0, 0, 1, 1, 0, 1], "count": [3, 4, 5, 6, 7, 11]}
    ... )
    >>> tables = read_tables(cells)
    >>> tables
    Tables(tables=2, attributes=[sex, age], n=18)
    >>> tables["sex", "age"].counts
    array([[3., 5.],
           [4., 6.]])
    """
    checks.choice(absent, "absent", ABSENT)
    if noise is not None and not isinstance(noise, Noise):
        raise DataError(f"noise is {noise!r}.", hint="give a noise model, such as Gaussian(2.0).")
    if domain is not None and not isinstance(domain, Domain):
        raise DataError(f"domain is of type {type(domain).__name__}.", hint="give a Domain.")
    called = renamed(names, NAMES, "names", "{'count': 'n'}")
    sheet = open_sheet(source, None, None, **opening)
    cells = _cells(sheet, attributes, domain, called)
    built = [_table(cells, rows, noise, absent) for rows in _groups(cells)]
    with sheet.blamed():
        if provenance is None:
            provenance = Provenance(learned=tuple(a for a in cells.names if a in cells.domain.learned))
        return Tables(built, cells.domain, n, label, cells.classes or None, provenance=provenance)


@dataclass(frozen=True)
class _Cells:
    """The rows of a file of cells: codes of levels (-1 where the attribute is no part), and numbers."""

    sheet: Sheet
    domain: Domain
    codes: np.ndarray  # (rows, attributes)
    numbers: dict[str, np.ndarray]
    labels: np.ndarray | None  # (rows,) or (rows, K)
    classes: tuple
    called: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return self.domain.attributes[: self.codes.shape[1]]


def _cells(sheet: Sheet, attributes: Sequence[str] | None, domain: Domain | None, called: dict[str, str]) -> _Cells:
    sheet.known(called["count"])
    prefix = called["label_sum"] + ":"
    label_columns = [c for c in sheet.columns if c == called["label_sum"] or str(c).startswith(prefix)]
    taken = {*called.values(), *label_columns}
    if attributes is None:
        attributes = sheet.others(*taken)
    elif isinstance(attributes, (str, bytes)) or not isinstance(attributes, Sequence):
        raise DataError(f"attributes is {attributes!r}.", hint="give a list of columns.")
    sheet.known(*attributes)
    both = [a for a in attributes if a in taken]
    if both or not attributes or len(set(attributes)) < len(attributes):
        what = f"column {both[0]!r} has another meaning" if both else "attributes are named twice or not at all"
        raise DataError(f"{sheet.name}: {what}.", hint="name the attribute columns; rename others with names=.")
    if len(label_columns) > 1 and called["label_sum"] in label_columns:
        raise DataError(f"{sheet.name} has sums of one label and of classes.", hint="keep one of the two.")
    levels = {a: _levels(sheet, a) for a in attributes}
    full = _domain(sheet, levels, domain)
    codes = np.column_stack([_codes(sheet, a, levels[a], full) for a in attributes])
    present = [called[c] for c in NUMBERS if called[c] in sheet.columns]
    values = sheet.numbers([*present, *label_columns], missing=True, negative=True)
    numbers = {c: values[:, present.index(called[c])] for c in NAMES if called[c] in present}
    sums = values[:, len(present) :]
    labels = None if not label_columns else sums[:, 0] if label_columns == [called["label_sum"]] else sums
    classes = () if labels is None or labels.ndim == 1 else _whole([c[len(prefix) :] for c in label_columns])
    ordered = Domain({a: full.levels(a) for a in [*attributes, *(b for b in full if b not in set(attributes))]})
    return _Cells(sheet, ordered, codes, numbers, labels, tuple(classes), called)


def _levels(sheet: Sheet, attribute: str) -> list:
    """The levels of one column as written, None where it is empty; whole numbers as such where all are."""
    series, absent = sheet.ids(attribute, missing=True), sheet.missing(attribute)
    values = [None if gone else checks.plain(x) for x, gone in zip(series.tolist(), absent)]
    found = list(dict.fromkeys(x for x in values if x is not None))
    if all(isinstance(x, float) and x.is_integer() and abs(x) < 2**53 for x in found):
        kept = {x: int(x) for x in found}  # a column of whole numbers with gaps
    elif all(isinstance(x, str) for x in found):
        kept = dict(zip(found, _whole(found)))
    else:
        kept = {x: x for x in found}
    return [None if x is None else kept[x] for x in values]


def _whole(texts: list) -> list:
    return (
        [int(x) for x in texts]
        if texts and all(WHOLE_NUMBER.fullmatch(x) and len(x) < 16 for x in texts)
        else list(texts)
    )


def _domain(sheet: Sheet, levels: dict[str, list], domain: Domain | None) -> Domain:
    if domain is not None:
        with sheet.blamed():
            for a in levels:
                checks.known(a, domain, "attribute of the domain")
        return domain
    spec = {}
    for a, values in levels.items():
        found = list(dict.fromkeys(x for x in values if x is not None))
        if not found:
            raise DataError(
                f"{sheet.name}: column {a!r} is empty.", hint="leave it out of attributes, or give a domain."
            )
        spec[a] = sorted(found) if all(type(x) is int for x in found) else found
    with sheet.blamed():
        return Domain(spec, learned=tuple(spec))


def _codes(sheet: Sheet, attribute: str, values: list, domain: Domain) -> np.ndarray:
    known = domain.levels(attribute)
    place = {level: i for i, level in enumerate(known)}
    written = {str(level): i for i, level in enumerate(known)}
    codes = np.array([-1 if x is None else place.get(x, written.get(str(x), -2)) for x in values], dtype=np.int64)
    listed = ", ".join(repr(level) for level in known[:6])
    sheet.refuse(codes == -2, f"column {attribute!r} contains a level outside its domain", f"the levels are {listed}.")
    return codes


def _groups(cells: _Cells) -> list[np.ndarray]:
    """The rows of each table, in the order of their first rows."""
    sheet, present = cells.sheet, cells.codes >= 0
    if cells.called["table"] in sheet.columns:
        keys = pd.factorize(sheet.ids(cells.called["table"]))[0]
    else:
        keys = pd.factorize(pd.Series([row.tobytes() for row in present]))[0]
    groups = [np.flatnonzero(keys == key) for key in range(keys.max() + 1)] if len(keys) else []
    for rows in groups:
        bad = np.zeros(len(keys), dtype=bool)
        bad[rows] = (present[rows] != present[rows[0]]).any(axis=1)
        sheet.refuse(
            bad,
            "a cell has other attributes than the first cell of its table",
            "give a table one set of attributes; an empty cell says that the attribute is not part of it.",
        )
        bad[rows] = ~present[rows].any(axis=1)
        sheet.refuse(bad, "a cell has no attribute at all", "a population's size is n=, not a table.")
    return groups


def _table(cells: _Cells, rows: np.ndarray, noise: Noise | None, absent: str) -> Table:
    sheet, has = cells.sheet, cells.codes[rows[0]] >= 0
    attributes = tuple(a for a, kept in zip(cells.names, has) if kept)
    shape = tuple(cells.domain[a] for a in attributes)
    size, absent = cells.domain.size(attributes), _absent(cells, rows, absent)
    noisy = noise is not None and not isinstance(noise, Exact)
    noted = any(cells.called[c] in sheet.columns for c in ("noise", "low", "high"))
    whole = not np.isnan(cells.numbers["count"][rows]).any()
    sparse = absent == "zero" and whole and not noisy and not noted and pays(size, len(rows))
    if size > MAX_DENSE_CELLS and not sparse:
        raise DataError(f"{sheet.name}: the table over {', '.join(attributes)} has {size:,} cells.", hint="cut levels.")
    cell = np.ravel_multi_index(tuple(cells.codes[rows][:, has].T), shape)
    twice = np.zeros(len(sheet), dtype=bool)
    twice[rows[pd.Series(cell).duplicated().to_numpy()]] = True
    sheet.refuse(twice, "a cell of a table has two rows", "add them up, or keep tables apart by a column 'table'.")
    if len(rows) < size and absent == "raise":
        raise DataError(
            f"{sheet.name}: the table over {', '.join(attributes)} has rows for {len(rows)} of its {size} cells.",
            hint="pass absent='zero' if such cells are empty, absent='unobserved' if they are unknown.",
        )
    if sparse:
        sums = None if cells.labels is None else _label_sums(cells.labels[rows])
        with sheet.blamed():
            return SparseTable(attributes, shape, cell, cells.numbers["count"][rows], sums)
    fill = 0.0 if absent == "zero" else np.nan

    def spread(values: np.ndarray, default: float = fill) -> np.ndarray:
        out = np.full((size, *values.shape[1:]), default)
        out[cell] = values[rows]
        return out.reshape(*shape, *values.shape[1:])

    counts = spread(cells.numbers["count"])
    labels = None if cells.labels is None else _label_sums(spread(cells.labels))
    observed, of_sums = _noise(cells, rows, spread) if cells.called["noise"] in sheet.columns else (noise, None)
    bounds = None
    blank = np.full(len(sheet), np.nan)
    low, high = (spread(cells.numbers.get(c, blank), np.nan) for c in ("low", "high"))
    if not (np.isnan(low) & np.isnan(high)).all():
        bounds = np.nan_to_num(low), np.where(np.isnan(high), np.inf, high)
    with sheet.blamed():
        observed = Exact() if observed is None else observed
        return Table(attributes, counts, labels, observed, bounds, None if labels is None else of_sums)


def _absent(cells: _Cells, rows: np.ndarray, given: str) -> str:
    """What a table's cells without a row mean: its column `absent` says, else the caller."""
    sheet, column = cells.sheet, cells.called["absent"]
    if column not in sheet.columns:
        return given
    stated = [given if gone else str(x).strip() for x, gone in zip(sheet.frame[column], sheet.missing(column))]
    bad = np.zeros(len(sheet), dtype=bool)
    bad[rows] = [stated[i] not in ABSENT or stated[i] != stated[rows[0]] for i in rows]
    said = f"column {column!r} says nothing known, or differs within a table"
    sheet.refuse(bad, said, f"one of {', '.join(ABSENT)}.")
    return stated[rows[0]]


def _label_sums(sums: np.ndarray) -> np.ndarray | None:
    return None if np.isnan(sums).all() else sums


def _noise(cells: _Cells, rows: np.ndarray, spread: Any) -> tuple[Noise, Noise | None]:
    """The noise of a table's counts, and that of its label sums where it differs."""
    sheet, column = cells.sheet, cells.called["noise"]
    kinds = sheet.frame[column].astype(object).to_numpy()
    known = np.array([isinstance(x, str) and x.strip().lower() in NOISES for x in kinds], dtype=bool)
    bad = np.zeros(len(sheet), dtype=bool)
    bad[rows] = ~known[rows]
    sheet.refuse(bad, f"column {column!r} names no noise model", f"the models are {', '.join(NOISES)}.")
    bad[rows] = [str(kinds[i]).strip().lower() != str(kinds[rows[0]]).strip().lower() for i in rows]
    sheet.refuse(bad, f"column {column!r} differs within a table", "give a table one noise model.")
    kind = NOISES[str(kinds[rows[0]]).strip().lower()]
    if kind is Exact:
        return Exact(), None
    if "scale" not in cells.numbers:
        raise DataError(f"{sheet.name} has noise without a column {cells.called['scale']!r}.", hint="add it.")
    scale = cells.numbers["scale"]
    bad[rows] = ~(scale[rows] > 0)
    sheet.refuse(bad, f"column {cells.called['scale']!r} is not above zero", "give the scale of the noise.")
    first = float(scale[rows[0]])
    with sheet.blamed():
        noise = kind(first if (scale[rows] == first).all() else spread(scale, first))
        draws, of_sums = (_constant(cells, rows, c) for c in ("draws", "label_scale"))
        if draws is not None and draws != int(draws):
            raise DataError(f"Column {cells.called['draws']!r} has {draws:g}.", hint="draws are whole numbers.")
        if draws is not None and draws != 1:
            noise = Summed(noise, int(draws))
        return noise, None if of_sums is None else kind(of_sums)


def _constant(cells: _Cells, rows: np.ndarray, column: str) -> float | None:
    """The one number that a column has for all cells of a table; None where it is empty."""
    if column not in cells.numbers:
        return None
    values = cells.numbers[column][rows]
    bad = np.zeros(len(cells.sheet), dtype=bool)
    bad[rows] = (values != values[0]) & ~(np.isnan(values) & np.isnan(values[0]))
    cells.sheet.refuse(bad, f"column {cells.called[column]!r} differs within a table", "give a table one number.")
    return None if np.isnan(values[0]) else float(values[0])


def write_tables(tables: Tables, path: str | PathLike) -> None:
    """Write tables to a file that :func:`read_tables` reads back: one row per cell, of sparse tables per filled cell.

    A column ``table`` keeps tables apart; noise, bounds and label sums have their columns where there are any.
    Axes come back in the order of the domain. ``n``, ``label``, the names of two classes and an encoding are not in the
    file, and text like ``"1"`` can't be distinguished from numbers: give ``read_tables`` the ``domain`` to get the same
    levels in the same order. ``sumwise.save`` keeps everything.

    Parameters
    ----------
    tables : Tables
    path : path
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; written whole or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sumwise import Tables
    >>> from sumwise.io.formats import read_tables, write_tables
    >>> tables = Tables.from_frame({"a": [0, 1, 1], "b": ["x", "x", "y"]}, ["a", "b"], order=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables(tables, pathlib.Path(folder) / "t.csv")
    ...     read_tables(pathlib.Path(folder) / "t.csv") == tables
    True
    """
    domain = tables.domain
    for a in domain:
        if a in NAMES or a.startswith("label_sum:"):
            raise DataError(f"Attribute {a!r} is named like another column of the file.", hint="rename it.")
        for level in domain.levels(a):
            if level is None or not str(level).strip():
                raise DataError(f"Attribute {a!r} has the level {level!r}, which a file can't show.", hint="name it.")
    frame: Any = pd.concat([_frame(t, i, tables) for i, t in enumerate(tables, start=1)], ignore_index=True)
    extra = ("noise", "scale", "draws", "label_scale", "low", "high", "absent")
    empty = [c for c in extra if frame[c].isna().all() or set(frame[c]) == {"exact"}]
    write_frame(frame.drop(columns=empty), path)


def _frame(table: Table, number: int, tables: Tables) -> pd.DataFrame:
    domain = tables.domain
    kept = [a for a in domain if a in table.attributes]
    table = table.transpose(kept)
    if isinstance(table, SparseTable):
        cells, counts, sums = table.filled()
    else:
        cells, counts = np.arange(table.n_cells), table.counts.ravel()
        sums = None if table.label_sums is None else table.label_sums.reshape(table.n_cells, -1)
    size, grids = len(cells), dict(zip(kept, np.unravel_index(cells, table.shape)))
    columns: dict[str, Any] = {"table": np.full(size, str(number), dtype=object)}
    for a in domain:
        levels = np.empty(domain[a], dtype=object)
        levels[:] = domain.levels(a)
        columns[a] = levels[grids[a]] if a in grids else np.full(size, None, dtype=object)
    columns["count"] = counts
    columns |= _label_columns(sums, tables, size)
    noise = table.noise.noise if isinstance(table.noise, Summed) else table.noise
    scale = getattr(noise, "scale", getattr(noise, "rate", np.nan))
    columns["noise"] = np.full(size, type(noise).__name__.lower(), dtype=object)
    columns["draws"] = np.full(size, table.noise.times if isinstance(table.noise, Summed) else np.nan)
    columns["label_scale"] = np.full(size, getattr(table.label_noise, "scale", np.nan))
    columns["scale"] = np.broadcast_to(np.asarray(scale, dtype=float), table.shape if np.ndim(scale) else size).ravel()
    low, high = table.bounds if table.bounds is not None else (np.full(size, np.nan),) * 2
    columns["low"], columns["high"] = low.ravel(), np.where(np.isinf(high), np.nan, high).ravel()
    columns["absent"] = np.full(size, "zero" if isinstance(table, SparseTable) else None, dtype=object)
    return pd.DataFrame(columns)


def _label_columns(sums: np.ndarray | None, tables: Tables, size: int) -> dict[str, np.ndarray]:
    if tables.classes is None:
        return {}
    binary = any(len(t.label_totals) == 1 for t in tables)
    if sums is None:
        sums = np.full((size, 1 if binary else len(tables.classes)), np.nan)
    if binary:
        return {"label_sum": sums.ravel()}
    return {f"label_sum:{name}": sums[:, k] for k, name in enumerate(tables.classes)}
