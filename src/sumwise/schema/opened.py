"""Files as the problem names them: opened, trimmed, joined by unit, with errors that point at the problem's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.endings import kind_of
from sumwise.io.formats.files import Opening, open_sheet
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.problem import Problem
from sumwise.schema.relation import listed
from sumwise.schema.source import text_names

OPENING = {
    "separator": "what separates fields, where the file doesn't show it",
    "encoding": "such as cp1252, where the file doesn't show it",
    "decimal": "'.' or ','",
    "header": "false where the first row contains data: columns are then called c1, c2, ...",
    "table": "of a database",
    "query": "of a database",
    "missing": "what stands for a missing value, such as N or ?",
    "sheet": "of a workbook, by name or counted from 1; default the first",
    "without": 'rows to leave out, as {column = "value"} or {column = ["value", ...]}, or a list of such',
    "only": 'rows to use, as {column = "value"} or {column = ["one", "other"]}; default all',
    "leave_out": "rows of the file to leave out, by their numbers",
    "zero": "what stands for 0, such as a dash",
    "footnotes": "true where marks of footnotes stand behind numbers",
    "ragged": "what to do with rows of a text file that have too few or too many fields: raise or drop",
    "hidden_rows": "use or drop, of a workbook",
}
FOOTNOTE = r"^([\d,.]+)\s*(?:[*†‡¹²³]|\(\w\)|\[\w\])$"
OPENED: dict[tuple, dict[str, Any]] = {}  # the files that were opened last: sheet, trimmed sheet, codes of columns
MOST_OPENED = 2
LINE = "line of the file"  # where rows that were picked stood


def open_source(
    problem: Problem,
    source: Any,
    columns: Sequence[str] | None = None,
    ids: Sequence[str] | None = (),
    *,
    trimmed: bool = True,
    **more: Any,
) -> Sheet:
    """Open a file as the problem's [data] says, with texts trimmed and missing values as such.

    Parameters
    ----------
    problem : Problem
    source : path
    columns : list of str, optional
        Which columns to load; default all.
    ids : list of str
        Columns that stay text as written.
    trimmed : bool, default True
        Whether texts lose blanks around them; else they are as written.
    **more
        What goes before what [data] says.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.schema.problem import Problem
    >>> from sumwise.schema.opened import open_source
    >>> p = Problem.parse('family = "ecological"\\n[data]\\nmissing = ["?"]')
    >>> open_source(p, pd.DataFrame({"a": [" x", "?"]})).frame["a"].isna().tolist()
    [False, True]
    """
    opening = {k: v for k, v in problem.data.items() if k in Opening.__annotations__} | more
    path = Path(source) if isinstance(source, (str, Path)) else None
    text = path is not None and kind_of(path) == "text"
    if not text:
        opening = {k: v for k, v in opening.items() if k in ("table", "query", "sheet", "hidden_rows")}
    with problem.blamed(("data", "ragged")):
        checks.choice(problem.data.get("ragged", "raise"), "ragged", ("raise", "drop"))
    picked = problem.data.get("only") or problem.data.get("without")
    load = None if picked else columns  # rows are picked by columns that aren't asked for
    with problem.blamed():
        sheet = _opened(source, path, load, ids, opening)
        sheet.known(*(columns or ()))
    problem.met.update(map(str, sheet.columns))
    problem.remarks.extend(line for line in sheet.remarks if line not in problem.remarks)
    # whether it is the one file that the problem names; no other is asked for, or looked for
    alone = "file" in problem.data and not any(key.endswith("_file") for key in problem.data)
    folder = Path() if problem.path is None else problem.path.parent
    alone = alone and path == folder / str(problem.data["file"])
    blanks = problem.data.get("missing", [])
    blanks = [blanks] if isinstance(blanks, str) else blanks
    if not (isinstance(blanks, list) and all(isinstance(w, str) for w in blanks)):
        problem.fail(("data", "missing"), f"missing is {blanks!r}.", 'give words in quotes: missing = ["N", "?"].')
    rows = problem.data.get("leave_out", [])
    if not (isinstance(rows, list) and all(isinstance(r, int) and not isinstance(r, bool) for r in rows)):
        problem.fail(("data", "leave_out"), f"leave_out is {rows!r}.", "give numbers of rows: leave_out = [7, 12].")
    shown = _marked(problem, _trimmed(sheet, blanks))
    if not trimmed:
        shown = replace(
            shown, frame=shown.frame.assign(**{LINE: np.arange(len(shown))})
        )  # values are asked for trimmed
    main = source is problem.frames.get("file") or (path is not None and path == folder / str(problem.data.get("file")))
    if rows and main:
        shown = _left_out(problem, shown, rows)
    if trimmed:
        return _without(problem, _only(problem, shown, alone), alone)
    used = _without(problem, _only(problem, shown, alone), alone)
    return only_rows(sheet, used.frame[LINE].to_numpy())


def _left_out(problem: Problem, sheet: Sheet, rows: list[int]) -> Sheet:
    """The rows that the problem doesn't leave out by their numbers in the file."""
    lines = np.arange(1, len(sheet) + 1) if sheet.lines is None else sheet.lines
    keep = ~np.isin(lines, rows)
    unknown = sorted({*rows} - {*lines.tolist()})
    if unknown or not keep.any():
        words = f"{sheet.name} has no row {unknown[0]}" if unknown else f"leave_out leaves no row of {sheet.name}"
        problem.fail(("data", "leave_out"), f"{words}.", "count rows as they stand in the file.")
    problem.remarks.append(
        f"{int((~keep).sum())} of {len(keep)} rows of {sheet.name} are left out, as the problem file asks: "
        f"{listed(rows)}."
    )
    return only_rows(sheet, np.flatnonzero(keep))


def _marked(problem: Problem, sheet: Sheet) -> Sheet:
    """A sheet with 0 for what the problem says stands for it, and without marks of footnotes behind numbers."""
    zero, notes = problem.data.get("zero", []), problem.data.get("footnotes", False)
    if not zero and not notes:
        return sheet
    frame = sheet.frame.copy(deep=False)
    for column in frame.columns:
        series = frame[column]
        if (
            not pd.api.types.is_numeric_dtype(series.dtype)
            and pd.api.types.infer_dtype(series, skipna=True) == "string"
        ):
            texts = series.str.replace(FOOTNOTE, r"\1", regex=True) if notes else series
            frame[column] = texts.where(~texts.isin(zero), "0")
    return replace(sheet, frame=frame)


def _opened(source: Any, path: Path | None, columns: Any, ids: Any, opening: dict[str, Any]) -> Sheet:
    """A sheet; the last two files stay open in memory, since several contests are read from them in turn."""
    if path is None or not path.is_file():
        return open_sheet(text_names(source), columns, ids, **opening)
    facts = path.stat()
    key = (str(path.absolute()), facts.st_mtime_ns, facts.st_size, repr((columns, ids, sorted(opening.items()))))
    if key not in OPENED:
        while len(OPENED) >= MOST_OPENED:
            del OPENED[next(iter(OPENED))]
        OPENED[key] = {"sheet": open_sheet(source, columns, ids, **opening)}
    return OPENED[key]["sheet"]


def _trimmed(sheet: Sheet, missing: list[str]) -> Sheet:
    """A sheet with its texts trimmed; that of a file which is open in memory is kept too."""
    known = next((entry for entry in OPENED.values() if entry["sheet"] is sheet), {})
    if not known or known.get("missing") != missing:
        frame = sheet.frame.copy(deep=False)
        for column in frame.columns:
            series = frame[column]
            if pd.api.types.is_numeric_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype):
                continue
            if pd.api.types.infer_dtype(series, skipna=True) == "string":
                trimmed = series.str.strip()
                frame[column] = trimmed.mask(trimmed.isin(missing), None) if missing else trimmed
        known |= {"missing": missing, "trimmed": replace(sheet, frame=frame), "texts": {}}
    return known["trimmed"]


def _only(problem: Problem, sheet: Sheet, alone: bool) -> Sheet:
    """The rows that the problem asks for."""
    asked = problem.data.get("only", {})
    if not isinstance(asked, dict):
        problem.fail(("data", "only"), f"only is {asked!r}.", 'give columns and values: only = {state = "Ohio"}.')
    if not asked or (keep := _where(problem, sheet, "only", asked, alone)).all():
        return sheet
    if not keep.any():
        problem.fail(("data", "only"), f"No row of {sheet.name} has {asked!r}.", "check the values.")
    return only_rows(sheet, np.flatnonzero(keep))


def _where(problem: Problem, sheet: Sheet, key: str, entry: dict[str, Any], alone: bool) -> np.ndarray:
    """The rows that have the values of an entry under [data]."""
    rows = np.ones(len(sheet), dtype=bool)
    for column, values in entry.items():
        if alone:
            with problem.blamed(("data", key)):
                sheet.known(column)
        if column in sheet.columns:
            listed = values if isinstance(values, list) else [values]
            rows &= np.any([_is_value(sheet, column, value) for value in listed], axis=0)
        elif key == "without":  # a column of another file, perhaps; `all_met` looks when all are open
            rows[:] = False
    return rows


def _is_value(sheet: Sheet, column: str, value: Any) -> np.ndarray:
    """Where a column has a value, written as text; an empty text is a missing entry."""
    if str(value).strip() == "":
        return sheet.missing(column)
    texts = next((entry["texts"] for entry in OPENED.values() if entry.get("trimmed") is sheet), {})
    if column not in texts:
        series = sheet.frame[column]
        plain = pd.api.types.infer_dtype(series[:1000], skipna=True) == "string"
        codes, distinct = pd.factorize(series if plain else series.astype(str).str.strip())
        texts[column] = codes, {str(text): code for code, text in enumerate(distinct)}
    codes, known = texts[column]
    return np.any([codes == known.get(text, -2) for text in (str(value), f"{value}.0")], axis=0)  # -1 is missing


def _without(problem: Problem, sheet: Sheet, alone: bool) -> Sheet:
    """The rows that the problem doesn't leave out; a remark names those that it does."""
    asked = problem.data.get("without", [])
    entries = [asked] if isinstance(asked, dict) else asked
    if not (isinstance(entries, list) and all(isinstance(entry, dict) and entry for entry in entries)):
        problem.fail(("data", "without"), f"without is {asked!r}.", 'give columns and values: {precinct = "TOTAL"}.')
    drop = np.zeros(len(sheet), dtype=bool)
    for entry in entries:
        drop |= _where(problem, sheet, "without", entry, alone)
    if not drop.any():
        if entries and alone:
            problem.remarks.append(f"No row of {sheet.name} has what [data] leaves out ({asked!r}).")
        return sheet
    if drop.all():
        problem.fail(("data", "without"), f"without leaves no row of {sheet.name}.", "check the values.")
    problem.remarks.append(
        f"{int(drop.sum())} of {len(drop)} rows of {sheet.name} are left out, as the problem file asks: "
        f"{listed([sheet.row(int(i)) for i in np.flatnonzero(drop)])}."
    )
    return only_rows(sheet, np.flatnonzero(~drop))


def numbered_again(sheet: Sheet, column: str) -> Sheet:
    """A sheet in which names that stand in several rows get a number from the second on: A, A (2)."""
    names = sheet.ids(column).astype(str)
    again = names.groupby(names).cumcount()
    taken = set(names.tolist())
    numbered = [
        name if k == 0 else _free(f"{name} ({k + 1})", taken) for name, k in zip(names.tolist(), again.tolist())
    ]
    return replace(sheet, frame=sheet.frame.assign(**{column: numbered}))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def all_met(problem: Problem) -> None:
    """Refuse a column under `only` that none of the opened files has.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.schema.problem import Problem
    >>> from sumwise.schema.opened import all_met, open_source
    >>> p = Problem.parse('family = "ecological"\\n[data]\\nonly = {stat = "Ohio"}')
    >>> _ = open_source(p, pd.DataFrame({"state": ["Ohio"]}))
    >>> all_met(p)
    Traceback (most recent call last):
    sumwise.errors.UnknownName: problem, line 3: There is no column 'stat'. Hint: did you mean 'state'?
    """
    for key in ("only", "without"):
        given = problem.data.get(key, [])
        with problem.blamed(("data", key)):
            for column in (c for entry in ([given] if isinstance(given, dict) else given) for c in entry):
                checks.known(column, sorted(problem.met), "column")


def only_rows(sheet: Sheet, rows: np.ndarray) -> Sheet:
    """Some rows of a sheet; messages still name their places in the file.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sumwise.io.formats.files import open_sheet
    >>> from sumwise.schema.opened import only_rows
    >>> only_rows(open_sheet(pd.DataFrame({"a": [5, 6, 7]})), np.array([2])).row(0)
    'row 2, counted from 0'
    """
    lines = (np.arange(1, len(sheet) + 1) if sheet.lines is None else sheet.lines)[rows]
    frame = sheet.frame.iloc[rows].reset_index(drop=True)
    return replace(sheet, frame=frame, row=lambda i: sheet.row(int(rows[i])), lines=lines)


def labelled_only(sheet: Sheet, label: str, notes: list[str]) -> Sheet:
    """The rows that have a label; a note says how many have none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats.files import open_sheet
    >>> from sumwise.schema.opened import labelled_only
    >>> notes = []
    >>> len(labelled_only(open_sheet(pd.DataFrame({"y": ["a", None, "b"]})), "y", notes)), notes
    (2, ["1 of 3 individuals have no 'y' and were left out."])
    """
    absent = sheet.missing(label)
    if not absent.any():
        return sheet
    notes.append(f"{int(absent.sum()):,} of {len(sheet):,} individuals have no {label!r} and were left out.")
    return only_rows(sheet, np.flatnonzero(~absent))


def named_together(sheet: Sheet, columns: Sequence[str]) -> tuple[Sheet, str]:
    """A sheet with one column of names made of several, and that column's name; of one column, that column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats.files import open_sheet
    >>> from sumwise.schema.opened import named_together
    >>> sheet = open_sheet(pd.DataFrame({"county": ["A", "B"], "precinct": ["1", "1"]}))
    >>> sheet, name = named_together(sheet, ["county", "precinct"])
    >>> name, sheet.frame[name].tolist()
    ('county / precinct', ['A / 1', 'B / 1'])
    """
    sheet.known(*columns)
    if len(columns) == 1:
        return sheet, columns[0]
    name = " / ".join(columns)
    parts = [sheet.ids(column).astype(str) for column in columns]
    joined = parts[0].str.cat(parts[1:], sep=" / ")
    frame = sheet.frame.assign(**{name: joined})
    return replace(sheet, frame=frame, columns=tuple(frame.columns)), name


def join(problem: Problem, first: Sheet, second: Sheet, key: str, other: str | None = None) -> Sheet:
    """Join two sheets by a column; where the ids of the two differ, say how, unless [data] says to drop them.

    Parameters
    ----------
    problem : Problem
    first, second : Sheet
    key : str
        The column of ids in the first sheet, and in the second unless `other` names it.
    other : str, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.io.formats.files import open_sheet
    >>> from sumwise.schema.problem import Problem
    >>> from sumwise.schema.opened import join
    >>> p = Problem.parse('family = "ecological"')
    >>> a = open_sheet(pd.DataFrame({"unit": ["x", "y"], "young": [1, 2]}))
    >>> join(p, a, open_sheet(pd.DataFrame({"unit": ["y", "x"], "yes": [3, 4]})), "unit").frame["yes"].tolist()
    [4, 3]
    """
    other = key if other is None else other
    ids = [_keys(sheet, column) for sheet, column in ((first, key), (second, other))]
    for sheet, found, column in zip((first, second), ids, (key, other)):
        twice = found.duplicated().to_numpy()
        again = found.tolist()[int(np.argmax(twice))]
        sheet.refuse(twice, f"column {column!r} repeats {again!r}", "give each one row.")
    keep = matched(problem, first, second, ids, "unit")
    place = pd.Series(np.arange(len(second)), index=ids[1])
    rows = np.flatnonzero(keep)
    match = place.reindex(ids[0].iloc[rows]).to_numpy(dtype=int)
    left = first.frame.iloc[rows].reset_index(drop=True)
    right = second.frame.drop(columns=[other]).iloc[match].reset_index(drop=True)
    both = [c for c in right.columns if c in set(left.columns)]
    right = right.rename(columns={c: f"{c} (2)" for c in both})
    frame = pd.concat([left, right], axis=1)
    return Sheet(
        first.name, tuple(frame.columns), frame, lambda i: first.row(int(rows[i])), first.separator, first.decimal
    )


def _keys(sheet: Sheet, column: str) -> pd.Series:
    sheet.known(column)
    return sheet.names(column).reset_index(drop=True)


def matched(problem: Problem, first: Sheet, second: Sheet, ids: Sequence[pd.Series], what: str) -> np.ndarray:
    """Which rows of the first sheet are in the second; an error where ids differ, unless the problem says drop."""
    sets = [set(ids[0]), set(ids[1])]
    alone = [[x for x in dict.fromkeys(ids[a]) if x not in sets[1 - a]] for a in (0, 1)]
    unmatched = problem.data.get("unmatched", "raise")
    with problem.blamed(("data", "unmatched")):
        checks.choice(unmatched, "unmatched", ("raise", "drop"))
    if unmatched == "raise" and any(alone):
        lone = "; ".join(_alone(sheet, a) for sheet, a in zip((first, second), alone))
        raise DataError(
            f"{problem.before(('data',))}The {what}s of the two files don't match: {lone}.",
            hint='write them alike, or set unmatched = "drop" in [data] to leave them out.',
        )
    if sets[0].isdisjoint(sets[1]):
        raise DataError(f"{first.name} and {second.name} have no {what} in common.", hint="write them alike.")
    return ids[0].isin(sets[1]).to_numpy(dtype=bool)


def _alone(sheet: Sheet, alone: list[str]) -> str:
    return f"{len(alone)} only in {sheet.name}" + (f" ({listed(list(map(repr, alone)))})" if alone else "")


def is_birdflow(path: Path) -> bool:
    """Whether a file is an HDF5 file by its name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sumwise.schema.opened import is_birdflow
    >>> is_birdflow(Path("rewbla_2021.hdf5"))
    True
    """
    return path.suffix.lower() in (".hdf5", ".h5")
