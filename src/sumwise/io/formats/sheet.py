"""A sheet: columns of a source as read, and the words for what is wrong with them and where.

And grids of cells, such as a spreadsheet's: where the header stands, what its columns are called and hold.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks, frames
from sumwise.errors import DataError, SumwiseError
from sumwise.io.formats.numerals import NotNumbers, is_withheld, parse_columns, styles_for
from sumwise.io.parsers.workbook import cell_text

ROUNDED_HINT = "it can't be kept exactly: count in thousands, or take it for text (categorical=) if it is a code."
WITHHELD_HINT = (
    "a withheld count isn't known, and isn't 0: ask for it, merge such groups or units, or leave those rows out."
)
MOST_LISTED = 4  # rows that are named after the first
MISSING_HINT = "fill or drop such rows; a count of nothing is written 0."
DASHES = ("-", "--", "\u2013", "\u2014", "\u2212")
UNKNOWN = ("na", "n/a", "n.a.", "nan", "null", "none", "nil", "nd", "?", ".", "..", "...", "missing", "unknown")

HEAD = 60  # records in which the header is looked for
MOST_TITLES = 15
NUMBER = re.compile(r"[+-]?[\d.,' ]*\d%?")


@dataclass(frozen=True)
class Sheet:
    """Columns of a source as read, with words for where they came from.

    Examples
    --------
    >>> from sumwise.io.formats.files import open_sheet
    >>> sheet = open_sheet({"unit": ["01", "02"], "votes": ["1,234.0", "7"]})
    >>> sheet.numbers(["votes"])
    array([[1234.],
           [   7.]])
    """

    name: str
    columns: tuple
    frame: Any = field(repr=False)  # pandas
    row: Callable[[int], str] = field(repr=False)  # words for the place of a record
    separator: str | None = None
    decimal: str | None = None
    remarks: tuple[str, ...] = ()  # what was passed over
    labels: Mapping[str, str] = field(default_factory=dict)  # words for columns, as files of Stata and SPSS have them
    headings: Mapping[str, str] = field(default_factory=dict)  # what stands above the names of columns
    lines: Any = field(default=None, repr=False)  # the row of the file for each record; None: they count from 1

    def __len__(self) -> int:
        return len(self.frame)

    def known(self, *columns: Any) -> None:
        """Check that the source has these columns."""
        with self.blamed():
            for column in columns:
                checks.known(column, self.columns, "column")

    def others(self, *taken: Any) -> list:
        """The columns that are left beside some, without the index that pandas writes into Parquet files."""
        return [c for c in self.columns if c not in taken and not is_index(c)]

    def missing(self, column: Any) -> np.ndarray:
        """Where a column is missing: null, NaN, or nothing but spaces."""
        series = self.frame[column]
        absent = series.isna().to_numpy()
        if is_string(series):
            return absent | series.str.strip().eq("").fillna(False).to_numpy(dtype=bool)
        if _is_text(series):
            return absent | np.array([isinstance(x, str) and not x.strip() for x in series.tolist()], dtype=bool)
        return absent

    def ids(self, column: Any, *, missing: bool = False) -> Any:
        """A column of names, ids or levels, as written; missing ones are an error unless they may be."""
        absent = self.missing(column)
        if not missing:
            self._refuse(absent, column, "is missing", "fill or drop such rows.")
        series = self.frame[column]
        if _is_text(series) and not is_string(series):
            plain = (str, bool, int, float, decimal.Decimal, np.generic, datetime.date)
            odd = np.array([not isinstance(x, plain) for x in series.tolist()], dtype=bool) & ~absent
            self._refuse(odd, column, "contains no text or number", "turn it into text first.")
        return series

    def names(self, column: Any) -> pd.Series:
        """Return ids as text without blanks around them: names of units, bags or places."""
        return self.ids(column).astype(str).str.strip()

    def holds_levels(self, column: Any, hint: Callable[[str], str]) -> bool:
        """Whether no entry of a column is a number, or some are codes such as 007; a mixture is refused.

        The hint is made of the first text among numbers.
        """
        there, given = ~self.missing(column), self.ids(column, missing=True)
        found = list(dict.fromkeys(str(x).strip() for x in pd.unique(given[there])))
        if any(len(t) > 1 and t[0] == "0" and t[1].isdigit() for t in found):
            return True
        styles = styles_for(self.decimal)
        good = [any(style.number(t) is not None for style in styles) for t in found]
        if any(good) and not all(good):
            odd = found[good.index(False)]
            what = f"column {column!r} mixes numbers with text ({odd[:40]!r})"
            same = np.array([str(x).strip() == odd for x in given.tolist()], dtype=bool)
            self.refuse(there & same, what, hint(odd[:40]))
        return not (good and all(good))

    def numbers(self, columns: Sequence, *, missing: bool = False, negative: bool = False) -> np.ndarray:
        """Columns as one matrix of numbers.

        Parameters
        ----------
        columns : sequence of names
        missing : bool, default False
            Let missing entries be NaN instead of an error.
        negative : bool, default False
            Let entries be negative.
        """
        out = np.full((len(self), len(columns)), np.nan)
        texts: dict[Any, tuple[np.ndarray, np.ndarray, list[str]]] = {}
        for j, column in enumerate(columns):
            absent = self.missing(column)
            if not missing:
                self._refuse(absent, column, "is missing", MISSING_HINT)
            if _is_text(self.frame[column]):
                texts[column] = self._texts(column, absent)
            else:
                out[:, j] = self._typed(column)
        for column, values in self._parsed(texts).items():
            codes, absent, _ = texts[column]
            out[~absent, list(columns).index(column)] = values[codes]
        for j, column in enumerate(columns):
            self._refuse(np.isinf(out[:, j]), column, "is infinite", "correct such rows.")
            self._refuse(self._rounded(column, out[:, j]), column, "is a whole number above 2**53", ROUNDED_HINT)
            if not negative:
                self._refuse(out[:, j] < 0, column, "is negative", "counts start at 0.")
        return out

    def _rounded(self, column: Any, values: np.ndarray) -> np.ndarray:
        """Where a column holds whole numbers that are too large to be kept exactly."""
        bad = np.abs(values) >= checks.LARGEST_EXACT
        series = self.frame[column]
        if not bad.any() or pd.api.types.is_float_dtype(series.dtype):
            return np.zeros(len(bad), dtype=bool)
        for i in np.flatnonzero(bad):
            text = str(series.iloc[i]).lower()
            digits = re.sub(r"\D", "", text)
            exact = "e" not in text and len(digits) <= len(str(abs(int(values[i]))))  # no exponent, no decimals
            bad[i] = exact and int(digits) > checks.LARGEST_EXACT
        return bad

    def _texts(self, column: Any, absent: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Codes of the entries that are there, where they aren't, and the distinct texts that the codes stand for."""
        series = self.frame[column][~absent]
        if not is_string(series):
            good = (str, int, float, np.number, decimal.Decimal)
            strange = np.zeros(len(self), dtype=bool)
            strange[~absent] = [not isinstance(x, good) or isinstance(x, bool) for x in series.tolist()]
            self._refuse(strange, column, "contains no number", "turn it into numbers first.")
            series = pd.Series([str(x) for x in series.tolist()], dtype=object)
        codes, found = pd.factorize(series)
        stripped, texts = pd.factorize(np.array([str(x).strip() for x in found], dtype=object))
        return stripped[codes], absent, [str(x) for x in texts]

    def _parsed(self, texts: dict[Any, tuple[np.ndarray, np.ndarray, list[str]]]) -> dict[Any, np.ndarray]:
        try:
            return parse_columns({c: found for c, (_, _, found) in texts.items()}, self.decimal, self.separator)
        except NotNumbers as failure:
            codes, absent, found = texts[failure.column]
            bad = np.zeros(len(self), dtype=bool)
            bad[np.flatnonzero(~absent)[codes == found.index(failure.text)]] = True
            if is_withheld(failure.text):
                self._refuse(bad, failure.column, "is withheld", WITHHELD_HINT)
            self._refuse(bad, failure.column, failure.remark or "is not a number", _advice(failure.text))
            raise AssertionError("unreachable") from failure

    def _typed(self, column: Any) -> np.ndarray:
        series = self.frame[column]
        if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_complex_dtype(series.dtype):
            raise DataError(
                f"{self.name}: column {column!r} contains {series.dtype}, not numbers.", hint="convert it first."
            )
        if pd.api.types.is_bool_dtype(series.dtype):
            raise DataError(
                f"{self.name}: column {column!r} contains true and false, not numbers.", hint="convert it first."
            )
        return np.asarray(frames.column_values(series), dtype=float)

    def _refuse(self, bad: np.ndarray, column: Any, what: str, hint: str) -> None:
        self.refuse(bad, f"column {column!r} {what}", hint, None if what == "is missing" else column)

    def refuse(self, bad: np.ndarray, what: str, hint: str, shown: Any = None) -> None:
        """Raise a DataError that names the bad rows, if there are any, with the first entry of the column `shown`."""

        def first(i: int) -> str:
            value = "" if shown is None else f" has {str(checks.plain(self.frame[shown].iloc[i]))[:60]!r}"
            others = np.flatnonzero(bad)[1:]
            listed = ", ".join(self.row(int(k)) for k in others[:MOST_LISTED])
            then = f". Then: {listed}{', ...' if len(others) > MOST_LISTED else ''}" if listed else ""
            return f"{self.row(i)}{value}{then}"

        checks.nowhere(bad, f"{self.name}: {what} in {{}} rows", first, hint)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Put the name of the source before the message of any error raised inside."""
        try:
            yield
        except SumwiseError as error:
            raise type(error)(f"{self.name}: {error.message}", hint=error.hint) from error
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise DataError(f"{self.name} can't be used: {error}.") from error


def is_index(column: Any) -> bool:
    """Whether a column is the index of a data frame, which pandas writes into Parquet files: it only numbers rows.

    Examples
    --------
    >>> from sumwise.io.formats.sheet import is_index
    >>> is_index("__index_level_0__"), is_index("index")
    (True, False)
    """
    return str(column).startswith("__index_level_") and str(column).endswith("__")


def _is_text(series: Any) -> bool:
    dtype = series.dtype
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, (pd.StringDtype, pd.CategoricalDtype))


def _advice(text: str) -> str:
    """What to do about a text that stands where a number should."""
    if text in DASHES:
        return f"does {text!r} stand for none or for not known? Write 0 for none; fill or drop rows that aren't known."
    if text.lower() in UNKNOWN:
        return MISSING_HINT
    if text.startswith("#"):
        return "that is an error of a spreadsheet's formula: correct it there."
    if not any(sign.isdigit() for sign in text):
        return "correct it, or leave that row out."
    return "correct it, or say what the decimal sign is (decimal='.' or ',')."


def is_string(series: Any) -> bool:
    """Whether every entry is a string or missing: found fast, and common."""
    if isinstance(series.dtype, pd.StringDtype):
        return True
    return pd.api.types.is_object_dtype(series.dtype) and pd.api.types.infer_dtype(series, skipna=True) == "string"


def filled(cells: Sequence[Any]) -> int:
    """How many cells of a record hold something."""
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


def header_position(records: Sequence[Sequence[Any]]) -> int | None:
    """Which record names the columns: the first that is as wide as most records and more than half filled.

    Titles, dates and merged headings above it fill at most half of its width. None where no width is usual.
    """
    records = [list(record) for record in records[:HEAD]]
    widths = Counter(len(record) for record in records if filled(record))
    if not widths:
        return None
    width, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    if width < 2 or times < 0.6 * sum(widths.values()):
        return None
    for position, record in enumerate(records[: MOST_TITLES + 1]):
        if len(record) == width and filled(record) > width / 2:
            return position if position == 0 or _names(record) else None
        if filled(record) > width / 2:
            return None
    return None


def _names(record: Sequence[Any]) -> bool:
    """Whether most of a record's cells read like names, not like numbers."""
    numbers = sum(isinstance(cell, (int, float)) or NUMBER.fullmatch(str(cell).strip()) is not None for cell in record)
    return numbers < filled(record) / 2


def column_names(source: str, cells: Sequence[Any], row: int, above: Sequence[Any] = ()) -> tuple[str, ...]:
    """The names in a header; one that is empty is named by its position, and duplicates are refused.

    An empty name is that of the cell above, where the row above holds several: a cell merged over both rows. Names that
    are alike get the heading above them, where the row above the header has one for each: Race Total, Votes
    Total.
    """
    names = [str(cell_text(cell)).strip().lstrip("\ufeff") for cell in cells]
    over = [str(cell_text(cell)).strip() for cell in above] if sum(map(bool, map(cell_text, above))) > 1 else []
    over = over + [""] * (len(names) - len(over))
    own = [heading if heading not in names and over.count(heading) == 1 else "" for heading in over]
    names = [name or own[k] or f"(unnamed {k + 1})" for k, name in enumerate(names)]
    headings, last = [], ""
    for cell in [*above, *[None] * len(names)][: len(names)]:
        last = str(cell_text(cell)).strip() or last
        headings.append(last)
    twice = {name for name, times in Counter(names).items() if times > 1}
    made = [f"{heading} {name}".strip() if name in twice else name for heading, name in zip(headings, names)]
    names = made if len(set(made)) == len(made) else names
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            number = NUMBER.fullmatch(name) is not None
            raise DataError(
                f"{source} has two columns called {name!r} (row {row}, columns {seen[name]} and {position}).",
                hint="that row contains numbers: put a row with names above it."
                if number
                else "give each column a name of its own.",
            )
        seen[name] = position
    return tuple(names)


def blank_remark(path: Any, n: int, first: int) -> str:
    """A note on rows without any entry, which readers pass over."""
    many = "row of {} is" if n == 1 else "rows of {} are"
    return f"{n:,} blank {many.format(path.name)} passed over (first: row {first})."


def _is_number(cell: Any) -> bool:
    """Whether a cell is a number; whole ones that take more than 64 bits stay as written."""
    return isinstance(cell, float) or (type(cell) is int and -(2**63) <= cell < 2**63)


def column_values(cells: Sequence[Any]) -> pd.Series:
    """A column of cells: numbers where all that is there are, true and false likewise, else text."""
    there = [cell for cell in cells if cell is not None and not (isinstance(cell, str) and not cell.strip())]
    blank = [cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells]
    if there and all(isinstance(cell, bool) for cell in there):
        return pd.Series([None if b else cell for b, cell in zip(blank, cells)], dtype=object if any(blank) else bool)
    if there and all(_is_number(cell) for cell in there):
        whole = all(isinstance(cell, int) for cell in there) and not any(blank)
        return pd.Series([None if b else cell for b, cell in zip(blank, cells)], dtype="int64" if whole else "float64")
    return pd.Series([None if b else cell_text(cell) for b, cell in zip(blank, cells)], dtype=object)
