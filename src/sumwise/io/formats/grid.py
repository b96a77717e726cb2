"""Grids of cells, from text files and sheets: where header and records stand, and which columns hold numbers."""

from __future__ import annotations

import csv
import gc
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from sumwise.checks import LARGEST_EXACT
from sumwise.errors import DataError
from sumwise.io.formats.numerals import PLAIN, STYLES, Style, styles_for
from sumwise.io.formats.sheet import Sheet
from sumwise.io.formats.text import NAMES, SEPARATORS, encoding_remark, inspect_bytes, single_quoted

NO_VALUE = ("na", "n/a", "nan", "null", "none", ".")  # words for a missing number
MOSTLY = 0.6  # of a column's entries, from which on it holds numbers and the others are mistakes
RECORD = 0.5  # of the numbers that a usual row has, from which on a row is a record and not a title
HEAD, SAMPLE = 200, 5000  # rows in which the header is looked for; that show the separator
MOST_RAGGED = 0.2  # of all rows
FEWEST_YEARS = 3  # numbers in equal steps that a header may consist of

Record = tuple[int, list[str]]  # the line of the file, and the cells


class Asks(Protocol):
    """Who answers what a file doesn't show; see `sumwise.schema.questions.Interview`."""

    remarks: list[str]

    def ask(self, key: str, text: str, options: dict[str, Any], stop: str | None = None) -> Any:
        """The option that is chosen."""


class Strict:
    """Nobody answers: what a file doesn't show must be said when it is opened.

    Examples
    --------
    >>> from sumwise.io.formats.grid import Strict
    >>> Strict().ask("decimal", "Is 1.234 a little over 1, or 1234?", {})
    Traceback (most recent call last):
    sumwise.errors.DataError: Is 1.234 a little over 1, or 1234? Hint: say so when it is opened: decimal = ...
    """

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def ask(self, key: str, text: str, options: dict[str, Any], stop: str | None = None) -> Any:
        """Refuse, by naming what must be said."""
        del stop
        listed = " or ".join(repr(value) for value in options.values())
        raise DataError(text, hint=f"say so when it is opened: {key} = {listed or '...'}.")


@dataclass(frozen=True)
class Shared:
    """What is known of the file while its grid is read: its name, how it is opened, and who answers."""

    name: str
    opening: dict[str, Any]
    asks: Asks
    styles: Sequence[Style]

    def remark(self, words: str) -> None:
        """Note what was passed over."""
        self.asks.remarks.append(words.format(self.name))


def read_text(path: Path, opening: dict[str, Any], asks: Asks, ids: Sequence | None = ()) -> Sheet:
    """A text file as a sheet; what was asked about it is added to `opening`.

    Columns that `ids` names (None: all) stay text as written.
    """
    encoding, text = inspect_bytes(path, opening.get("encoding"))
    if opening.get("encoding") is None:
        asks.remarks += encoding_remark(path, encoding)
    named = re.match(r"sep=(.)\r?\n", text)
    separator = opening.get("separator") or (named[1] if named else None)
    with _uncollected():
        grid, separator = _records(path, text, separator)
        return tabulate(grid[1:] if named else grid, path, opening, asks, separator, ids)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for cycles: there are none among rows of texts, and it takes more time than reading them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _records(path: Path, text: str, separator: str | None) -> tuple[list[Record], str]:
    """The records of a text by the separator that splits most of them evenly."""
    split, failures = {}, []
    for sign in (separator,) if separator else _shown(text):
        try:
            split[sign] = _split(path, text, sign)
        except DataError as error:
            failures.append(error)
    if not split:
        raise failures[0]
    rank = {s: _evenness(records) for s, records in split.items()}
    best = max(rank.values())
    leading = [s for s in split if rank[s] == best]
    if len(leading) > 1 and best[0]:
        possible = " and ".join(NAMES[s] for s in leading)
        raise DataError(f"{str(path)!r} may be separated by {possible}.", hint="say which: separator=';'.")
    return split[leading[0]], leading[0]


def _shown(text: str) -> list[str]:
    head = text[: 1 << 16]
    return [s for s in SEPARATORS if s in head] or [","]


def _split(path: Path, text: str, separator: str) -> list[Record]:
    if len(separator) != 1 or separator in '"\r\n':
        raise DataError(f"separator is {separator!r}.", hint="give one character, such as ';'.")
    records = _quoted_by('"', path, text, separator)
    top = next((cells for _, cells in records if len(cells) > 1), [])
    return _quoted_by("'", path, text, separator) if single_quoted(top) else records


def _quoted_by(quote: str, path: Path, text: str, separator: str) -> list[Record]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote, strict=True)
    records, line = [], 1
    try:
        for cells in reader:
            records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{str(path)!r}: row {line} can't be read: {error}.", hint="correct that row.") from None
    return records


def _evenness(records: list[Record]) -> tuple[bool, float]:
    widths = Counter(len(r) for _, r in records[:SAMPLE] if any(c.strip() for c in r))
    if not widths:
        return False, 0.0
    width, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    return width > 1, round(times / sum(widths.values()), 3)


def tabulate(
    grid: Sequence[Record],
    path: Path,
    opening: dict[str, Any],
    asks: Asks,
    separator: str = ",",
    ids: Sequence | None = (),
) -> Sheet:
    """Find header, headings, titles, remarks and records in a grid of cells."""
    name = path.name
    grid = [(line, [c.strip() for c in cells]) if k < HEAD else (line, cells) for k, (line, cells) in enumerate(grid)]
    filled = [_filled(cells) for _, cells in grid]
    if not any(filled):
        raise DataError(f"{str(path)!r} is empty.", hint="give a file with a header and at least one row.")
    width = max(Counter(len(c) for (_, c), k in zip(grid, filled) if k).items(), key=lambda i: (i[1], i[0]))[0]
    styles = styles_for(opening.get("decimal"))
    numeric = np.array([_n_numbers(cells, styles) for _, cells in grid[:HEAD]])
    header, body = _header(grid, numeric, filled, width, opening)
    names, heads = _names(grid, header, body, width, name, asks)
    if header is None:
        opening["header"] = False
    rows = _data_rows(grid, numeric, filled, body, names, Shared(name, opening, asks, styles))
    texts = _transposed([grid[i][1] for i in rows], len(names))
    used = [k for k in range(len(names)) if names[k] or any(texts[k])]
    full = _full_names(names, heads, used, name)
    columns = {full[k]: texts[k] for k in used}
    lines = np.array([grid[i][0] for i in rows])
    frame, decimal = _typed(columns, opening, separator, asks, ids)
    listed = {full[k]: heads[k] for k in used if heads[k]}
    remarks = tuple(asks.remarks) if isinstance(asks, Strict) else ()
    return Sheet(
        repr(str(path)),
        tuple(frame.columns),
        frame,
        lambda i: f"row {lines[i]}",
        separator,
        decimal,
        remarks,
        headings=listed,
        lines=lines,
    )


def _filled(cells: list[str]) -> int:
    """How many cells hold something."""
    n = len(cells) - cells.count("")
    return sum(bool(c.strip()) for c in cells) if n and cells[0].isspace() else n


def _n_numbers(cells: list[str], styles: Sequence[Style]) -> int:
    """How many cells are numbers."""
    words = [c.strip() for c in cells]
    words = [w for w in words if w and (w[0].isdigit() or w[-1].isdigit() or w[-1] == "%")]
    return sum(any(s.number(w) is not None for s in styles) for w in words)


def _transposed(rows: list[list[str]], width: int) -> list[Sequence[str]]:
    """The cells of every column; short rows are filled with nothing."""
    if all(len(r) == width for r in rows):
        return list(zip(*rows))
    return list(zip(*((r + [""] * width)[:width] for r in rows)))


def _header(
    grid: list[Record], numeric: np.ndarray, filled: list[int], width: int, opening: dict[str, Any]
) -> tuple[int | None, int]:
    """The place of the header (None: there is none), and of the first record."""
    first = next(i for i, k in enumerate(filled) if k)
    if opening.get("header") is False:
        return None, first
    usual = float(np.median(numeric[numeric > 0])) if (numeric > 0).any() else 0.0
    if usual == 0:
        top = next((i for i, k in enumerate(filled) if 2 * k > width), first)
        return (top, top + 1) if _names_columns(grid, top) else (None, top)
    body = next(i for i, k in enumerate(numeric) if k and k >= RECORD * usual)
    above = [i for i in range(body) if len({*grid[i][1]} - {""}) > 1 or (width == 1 and filled[i])]
    top = max(above, key=lambda i: (len({*grid[i][1]} - {""}), -i), default=None)
    named = top is not None and len({*grid[top][1]} - {""}) == width  # a name for every column
    steps = _in_steps(grid[body][1]) and body + 1 < len(grid) and not _in_steps(grid[body + 1][1])
    if steps and not named:
        return body, body + 1  # years, or numbers of weeks, as names of columns
    return top, body


def _names_columns(grid: list[Record], top: int) -> bool:
    """Whether the first row of a file of texts names its columns: its entries are all different, and stand nowhere
    below.
    """
    cells, rest = grid[top][1], [r for _, r in grid[top + 1 : top + 61]]
    again = sum(any(j < len(r) and r[j] == c for r in rest) for j, c in enumerate(cells))
    return again < len(cells) / 2 and len({*cells}) == len(cells)


def _in_steps(cells: list[str]) -> bool:
    values = [int(c) for c in cells if c.isdigit()]
    steps = {b - a for a, b in pairwise(values)}
    return len(values) >= FEWEST_YEARS and len(steps) == 1 and steps.pop() > 0


def _names(
    grid: list[Record], header: int | None, body: int, width: int, name: str, asks: Asks
) -> tuple[list[str], list[str]]:
    """The names of the columns, and the headings above them."""
    if header is None:
        return [f"c{k + 1}" for k in range(width)], [""] * width
    names = [c.lstrip("\ufeff") for c in grid[header][1]]
    filled_rows = [r for _, r in grid[body:] if any(r)]
    if len(names) == width - 1 and all(len(r) == width for r in filled_rows):
        raise DataError(
            f"{name}: every row has {width} fields, and the header names {len(names)}: the first or last column has no "
            "name.",
            hint="add its name to the header (R: write.csv, or write.table with col.names = NA).",
        )
    names += [""] * (width - len(names))
    heads = [""] * len(names)
    for line, cells in grid[:header]:
        some = [(k, c) for k, c in enumerate(cells[: len(names)]) if c]
        if len(some) > 1:
            for (k, c), end in zip(some, [*(k for k, _ in some[1:]), len(names)]):
                heads[k:end] = [c] * (end - k)
        if some:
            asks.remarks.append(f"row {line} of {name} is treated as a title: {' '.join(c for _, c in some)[:80]!r}.")
    for line, cells in grid[header + 1 : body]:
        if any(cells):
            asks.remarks.append(f"row {line} of {name} contains no number and is passed over.")
    return names, heads


def _data_rows(
    grid: list[Record], numeric: np.ndarray, filled: list[int], body: int, names: list[str], shared: Shared
) -> list[int]:
    """The records: neither blank, nor a header again, nor a remark below, nor of another width than the header."""
    n, usual = len(names), float(np.median(numeric[body:])) if len(numeric) > body else 0.0
    rows, ragged, blank = [], [], []
    for i in range(body, len(grid)):
        line, cells = grid[i]
        if not filled[i]:
            blank.append(line)
        elif (len(cells) < n and (filled[i] > 1 or _n_numbers(cells, shared.styles))) or any(cells[n:]):
            ragged.append(i)
        elif usual >= 2 and (2 * filled[i] < n or cells == names) and not _n_numbers(cells, shared.styles):
            shared.remark(f"row {line} of {{}} contains no number and is passed over.")
        else:
            rows.append(i)
    between = [line for line in blank if rows and line < grid[rows[-1]][0]]
    if between:
        shared.remark(f"{len(between)} blank rows of {{}} are passed over.")
    _ask_ragged([grid[i] for i in ragged], len(rows), n, shared)
    if not rows:
        raise DataError(f"{shared.name} has columns and no rows.", hint="give at least one row.")
    return rows


def _ask_ragged(ragged: list[Record], n_rows: int, width: int, shared: Shared) -> None:
    """Refuse many rows of another width than the header; ask about a few."""
    if not ragged:
        return
    name, everything = shared.name, n_rows + len(ragged)
    line, cells = ragged[0]
    if len(ragged) > MOST_RAGGED * everything and shared.opening.get("ragged") != "drop":
        raise DataError(
            f"{name}: {len(ragged):,} of {everything:,} rows have too few or too many fields. First: row {line} has "
            f"{len(cells)} fields; the header has {width}.",
            hint="quote fields that contain the separator, or give the separator (--separator).",
        )
    words = f"{name}: row {line} has {len(cells)} fields; the header has {width} (rows like it: {len(ragged)})."
    if shared.opening.get("ragged") != "drop":
        shared.opening["ragged"] = shared.asks.ask("ragged", words, {"leave such rows out": "drop"}, stop=words)
    shared.remark(f"{len(ragged)} of {everything} rows of {{}} are left out: more or fewer fields (first: row {line}).")


def _full_names(names: list[str], heads: list[str], used: list[int], source: str) -> dict[int, str]:
    """Names that differ: with the heading above them, if they don't by themselves."""
    again = Counter(names)
    full = {k: f"{heads[k]} {names[k]}".strip() if again[names[k]] > 1 else names[k] for k in used}
    full = {k: v or f"(unnamed {k + 1})" for k, v in full.items()}
    twice = [v for v, times in Counter(full.values()).items() if times > 1]
    if twice:
        one, two = [k + 1 for k, v in full.items() if v == twice[0]][:2]
        words = f"{source} has two columns called {twice[0]!r} (columns {one} and {two})."
        raise DataError(words, hint="give each column a name of its own.")
    return full


def _typed(
    columns: dict[str, Sequence[str]], opening: dict[str, Any], separator: str, asks: Asks, ids: Sequence | None
) -> tuple[pd.DataFrame, str | None]:
    """Columns as numbers if every entry is one, else as text; and the decimal sign of the file."""
    coded = {name: _coded(texts) for name, texts in columns.items()}
    words = {name: found for name, (_, found) in coded.items()}
    style = _style(words, opening, separator, asks)
    frame: dict[str, Any] = {}
    for name, (codes, _) in coded.items():
        values, all_numbers = numbers_of(words[name], style)
        if all_numbers and ids is not None and name not in ids:
            frame[name] = values[codes]
        else:
            mixed = ids is not None and name not in ids and _mostly_numbers(words[name], codes, style)
            gone = [not w or (mixed and w.lower() in NO_VALUE) for w in words[name]]
            texts = np.array([None if g else w for g, w in zip(gone, words[name])], dtype=object)
            frame[name] = texts[codes]
    return pd.DataFrame(frame, copy=False), style.decimal


def _coded(texts: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Codes of the entries, and the distinct texts, without blanks around them, that they stand for."""
    codes, found = pd.factorize(np.array(texts, dtype=object))
    again, words = pd.factorize(np.array([str(w).strip() for w in found], dtype=object))
    return again[codes], [str(w) for w in words]


def numbers_of(words: Sequence[str], style: Style) -> tuple[np.ndarray, bool]:
    """The numbers of distinct texts, NaN for those that are none, and whether all that is there are numbers.

    Examples
    --------
    >>> from sumwise.io.formats.grid import numbers_of
    >>> from sumwise.io.formats.numerals import STYLES
    >>> numbers_of(["1,200", "", "NA"], STYLES[0])
    (array([1200.,   nan,   nan]), True)
    """
    values, percent = np.full(len(words), np.nan), np.zeros(len(words), dtype=bool)
    there = np.array([bool(w) and w.lower() not in NO_VALUE for w in words], dtype=bool)
    for i in np.flatnonzero(there).tolist():
        word = words[i]
        if len(word) > 1 and word[0] == "0" and word[1].isdigit():
            return np.full(len(words), np.nan), False  # codes such as 007
        number = style.number(word)
        if number is not None and abs(number) >= LARGEST_EXACT and word.lstrip("+-").replace(",", "").isdigit():
            return np.full(
                len(words), np.nan
            ), False  # text, so that what a float can't hold is refused where it is used
        if number is not None:
            values[i], percent[i] = number, word[-1] == "%"
    good = ~np.isnan(values)
    if percent.any():
        if not percent[good].all():
            return np.full(len(words), np.nan), False
        values /= 100
    return values, bool(good.any() and good[there].all())


def _mostly_numbers(words: Sequence[str], codes: np.ndarray, style: Style) -> bool:
    """Whether most entries of a column of texts are numbers, so that NA stands for a missing one."""
    there = np.array([bool(w) and w.lower() not in NO_VALUE for w in words], dtype=bool)
    good = np.array([style.number(w) is not None for w in words], dtype=bool) & there
    return bool(good[codes].sum() >= MOSTLY * there[codes].sum()) and bool(good.any())


def _style(words: dict[str, list[str]], opening: dict[str, Any], separator: str, asks: Asks) -> Style:
    """How a file writes its numbers; asked if 1.234 may be a thousand."""
    cells = {w for listed in words.values() for w in listed if w and not PLAIN.fullmatch(w) and w[-1] in "0123456789%"}
    pointed = [w for listed in words.values() for w in listed if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", w)]
    styles = styles_for(opening.get("decimal"))
    if not cells and not pointed:
        return styles[0]
    hits = {style: sum(style.number(c) is not None for c in cells) for style in styles}
    first = STYLES[0]
    if first in hits and separator == "," and hits[first] == max(hits.values()):
        return first  # a decimal comma would have split the field
    best = [style for style, k in hits.items() if k == max(hits.values())]
    point = {w for listed in words.values() for w in listed if "." in w and PLAIN.fullmatch(w)} - set(pointed)
    if point and any(style.decimal == "." for style in best):
        return next(style for style in best if style.decimal == ".")
    shown = next(iter(pointed), "")
    if separator == "," or len({style.number(shown) for style in best} - {None}) < 2:
        return best[0]
    decimal = asks.ask(
        "decimal",
        f"Is {shown} a little over {shown.split('.')[0]}, or {shown.replace('.', '')}?",
        {"points separate thousands": ",", "points are decimal": "."},
    )
    opening["decimal"] = decimal
    return next(style for style in best if style.decimal == decimal)
