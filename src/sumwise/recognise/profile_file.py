"""A profile of a file: its columns, what they hold, which are not features, and whether its first row names them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.readers.files import TEXT, open_sheet
from sumwise.readers.numerals import is_withheld, styles_for
from sumwise.readers.sheet import is_index
from sumwise.readers.text import inspect_text
from sumwise.study.problem import Problem
from sumwise.study.sources import open_source

DOTTED_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?", re.ASCII)  # that separate thousands
HEAD = 60  # rows that show whether there is a header
BLANKS = ("", "?", "N", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "-", ".")
MOST_RAGGED = 0.2  # of all rows, with another number of fields than the header: these may be left out
LONGEST_LABEL = 60  # letters of a column's label that may stand for its name
MOST_ODD = 5  # words that are not numbers in a column of numbers

UNIQUE = 0.9  # distinct values per row from which nearly every row has its own
IDS = (
    "id", "ids", "uuid", "guid", "key", "serial*", "seqn", "caseid", "case", "respondent*", "nr", "no", "number",
    "ssn",
)  # fmt: skip
DIGITS = 7  # of whole numbers that are all of one length and all different: nobody measures so
WEIGHT = re.compile(r"weight|wgt|(?<![a-z])p?wts?(?![a-z])|(final|per|hh|person|house)wt", re.IGNORECASE)
MEASURED = re.compile(r"birth|body|kg|lbs?(?![a-z])|gram|pound|ounce|tonne", re.IGNORECASE)  # weights of things


@dataclass(frozen=True)
class Column:
    """What a column holds."""

    name: str
    numbers: Any = field(repr=False)  # array, where all that is there are numbers; NaN where missing
    texts: Any = field(repr=False)  # pandas, where it isn't numbers
    distinct: int
    missing: int
    blanks: tuple[str, ...] = ()  # words that stand for missing ones
    doubtful: Any = field(repr=False, default=None)  # array, where most entries are numbers; NaN for the others
    odd: tuple[str, ...] = ()  # the words among those numbers

    @property
    def amounts(self) -> Any:
        """The numbers, also of a column in which a few entries are none; None where most aren't."""
        return self.numbers if self.numbers is not None else self.doubtful

    @property
    def counts(self) -> bool:
        """Whether it may hold counts."""
        return self.numbers is not None and self.missing == 0 and bool((self.numbers >= 0).all())

    @property
    def whole(self) -> bool:
        """Whether it holds whole numbers."""
        n = self.amounts
        return n is not None and bool((n[~np.isnan(n)] == np.round(n[~np.isnan(n)])).all())

    @property
    def shares(self) -> bool:
        """Whether it may hold shares."""
        return self.counts and float(np.max(self.numbers)) <= 1.0 and not self.whole

    @property
    def codes(self) -> np.ndarray:
        """Which of its values each row has, as numbers from 0; -1 where it is missing."""
        return pd.factorize(self.texts if self.numbers is None else pd.Series(self.numbers))[0]

    @property
    def words(self) -> list[str]:
        """Its distinct texts, in the order of the file; none where all are numbers."""
        return [] if self.texts is None else [str(text) for text in self.texts.dropna().unique().tolist()]

    @property
    def entries(self) -> list[str]:
        """All entries as text, empty where they are missing."""
        if self.numbers is None:
            return ["" if absent else str(text) for text, absent in zip(self.texts.tolist(), self.texts.isna())]
        return ["" if np.isnan(x) else f"{x:.15g}" for x in self.numbers.tolist()]

    def value(self, i: int) -> str:
        """One entry as text; empty where it is missing."""
        if self.numbers is None:
            return "" if pd.isna(self.texts.iloc[i]) else str(self.texts.iloc[i])
        return "" if np.isnan(self.numbers[i]) else f"{self.numbers[i]:.15g}"


@dataclass(frozen=True)
class FileProfile:
    """What a file holds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.profile_file import profile_file
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("39, State-gov, <=50K\\n50, Private, >50K\\n")
    >>> profile = profile_file(path)
    >>> profile.header, [column.name for column in profile.columns]
    (False, ['c1', 'c2', 'c3'])
    """

    path: Path
    n_rows: int
    header: bool
    columns: tuple[Column, ...]
    ragged: bool = False  # whether some rows have too few or too many fields, and were left out
    decimal: str | None = None  # a comma where points were taken to separate thousands
    row: Callable[[int], str] = field(default=lambda i: f"row {i + 1}", repr=False)  # words for a record's place
    title: str = ""  # what stands above the header
    sheet: str | int | None = None  # of a workbook
    remarks: tuple[str, ...] = ()  # what the reader passed over
    given: Mapping[str, Any] = field(default_factory=dict)  # what a person said: total, mismatch
    opened: Mapping[str, Any] = field(default_factory=dict)  # what a person said of a text file: encoding, separator
    labels: Mapping[str, str] = field(default_factory=dict)  # words for columns, where the file has them

    def labelled(self) -> FileProfile:
        """The same with columns called by their labels, for those who read names."""
        return replace(self, columns=tuple(replace(c, name=self.labels.get(c.name, c.name)) for c in self.columns))

    def opening(self) -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
        """What [data] must say to open the file as it was read here, and comments on it."""
        data: dict[str, Any] = {"file": str(self.path), **self.opened}
        comments: dict[tuple[str, str], str] = {}
        if self.sheet is not None:
            data["sheet"] = self.sheet
        if not self.header:
            data["header"] = False
            comments["data", "header"] = "the first row holds data; columns are called c1, c2, ..."
        if self.ragged:
            data["ragged"] = "drop"
            comments["data", "ragged"] = "some rows have too few or too many fields: they are left out"
        if self.decimal:
            data["decimal"] = self.decimal
            comments["data", "decimal"] = "1.234 was read as 1234; '.' reads it as a little over 1"
        return data, comments

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def numeric(self) -> list[Column]:
        """The columns of numbers, with those in which a few entries are none."""
        return [column for column in self.columns if column.amounts is not None]

    def state_blanks(self, data: dict[str, Any], comments: dict[tuple[str, str], str]) -> None:
        """Name the words that stand for missing values in [data]."""
        words = sorted({word for c in self.columns for word in c.blanks})
        if words:
            data["missing"] = words
            comments["data", "missing"] = "these stand for missing values"

    def refuse(self, column: Column, bad: np.ndarray, what: str, hint: str) -> None:
        """Refuse a column that is wrong in some rows, with the first of them; nothing where there are none."""
        what = f"{self.path.name}: column {column.name!r} {what} in {{}} rows"
        checks.nowhere(bad, what, lambda i: f"{self.row(i)} has {column.value(i)!r}", hint)

    def refuse_withheld(self, words: tuple[str, ...], hint: str, used: tuple[Column, ...] = ()) -> None:
        """Refuse a column called like counts that was read as text, since so many of them are withheld."""
        for c in self.columns:
            if c not in used and c.amounts is None and is_called(c, words):
                self.refuse(c, c.texts.fillna("").map(is_withheld).to_numpy(dtype=bool), "is withheld", hint)


def is_called(column: Column, words: tuple[str, ...]) -> bool:
    """Whether a column's name holds one of these words; a star stands for any ending."""
    return any(has_word(column.name, word) for word in words)


def name_parts(name: str) -> list[str]:
    """The words and numbers in a name, in lower case: NoVote is no and vote, dem16 is dem and 16."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", name)
    return re.findall(r"[^\W_]+", spaced.lower())


def has_word(name: str, word: str) -> bool:
    """Whether a name has a word: as a whole, or as its beginning if the word ends in a star."""
    parts = _all_parts(name)
    if word.endswith("*"):
        return any(part.startswith(word[:-1]) for part in parts)
    return word in parts or name.lower() == word


@lru_cache(maxsize=4096)  # every column is asked about hundreds of words
def _all_parts(name: str) -> tuple[str, ...]:
    return (*name_parts(name), *re.findall(r"[^\W_]+", name.lower()))


def profile_file(path: Any, **opening: Any) -> FileProfile:
    """Profile a file.

    Parameters
    ----------
    path : path
    **opening
        As readers take it: separator, encoding, decimal, header, sheet, table.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.", hint="check the path.")
    checks.ordinary_file(path)
    if opening.get("header") is None:
        opening["header"] = has_header(path, opening)
    text = _is_text(path)
    kept = {k: v for k, v in opening.items() if text or k in ("sheet", "table")}
    try:
        sheet, ragged = open_sheet(path, None, (), **kept), False
    except DataError as error:
        if not (text and "fields; the header has" in error.message):
            raise
        _refuse_ragged(path, opening)
        values = {"family": "any", "data": {**{k: v for k, v in opening.items() if v is not None}, "ragged": "drop"}}
        sheet, ragged = open_source(Problem(values), path), True
    decimal = opening.get("decimal") or _decimal(sheet)
    every = (_column(sheet, name, decimal) for name in sheet.columns)
    columns = tuple(c for c in every if c.amounts is None or not is_index(c.name))  # an index of texts may name units
    title = inspect_text(path, opening.get("encoding"), opening.get("separator"), False).title if text else ""
    header = bool(opening["header"])
    facts = {"sheet": opening.get("sheet"), "remarks": sheet.remarks}
    # The labels of columns that are short and no other column's name or label
    labels = {name: label for name, label in sheet.labels.items() if label != name and len(label) <= LONGEST_LABEL}
    taken = [*map(str, sheet.columns), *labels.values()]
    facts["labels"] = {name: label for name, label in labels.items() if taken.count(label) == 1}
    facts["opened"] = {k: opening[k] for k in ("encoding", "separator") if text and opening.get(k) is not None}
    return FileProfile(path, len(sheet), header, columns, ragged, decimal, sheet.row, title, **facts)


def _refuse_ragged(path: Path, opening: dict[str, Any]) -> None:
    """Refuse a file in which many rows have another number of fields than the header: leaving them out loses much."""
    file = inspect_text(path, opening.get("encoding"), opening.get("separator"), bool(opening["header"]))
    n, rows = len(file.columns), [fields for _, fields in file.records()][1:]
    if rows and all(len(fields) == n + 1 for fields in rows):
        raise DataError(
            f"{path.name}: every row has {n + 1} fields, and the header names {n}: the first or last column has no "
            "name.",
            hint="add its name to the header (R: write.csv, or write.table with col.names = NA).",
        )
    odd = sum(len(fields) != n for fields in rows)
    if odd > MOST_RAGGED * len(rows):
        raise DataError(
            f"{path.name}: {odd:,} of {len(rows):,} rows have too few or too many fields for the header's {n} columns.",
            hint="quote fields that hold the separator, or give the separator (sumwise init --separator).",
        )


def _decimal(sheet: Any) -> str | None:
    """A comma, where a file with semicolons has points, and all of them stand where thousands would be separated."""
    if sheet.separator != ";":
        return None
    words = {str(w).strip().removesuffix("%").strip() for name in sheet.columns for w in sheet.frame[name].dropna()}
    pointed = [w for w in words if "." in w and _is_number(w)]
    return "," if pointed and all(DOTTED_THOUSANDS.fullmatch(w) for w in pointed) else None


def _is_text(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return any(name.endswith(ending) for ending in TEXT)


def has_header(path: Path, opening: dict[str, Any]) -> bool:
    """Whether the first row of a text file names its columns: it does unless it looks like the rows below."""
    if not _is_text(path):
        return True
    file = inspect_text(path, opening.get("encoding"), opening.get("separator"), header=False)
    rows = [fields for _, fields in itertools.islice(file.records(), HEAD)]
    if len(rows) < 2:
        return True
    first, rest = rows[0], rows[1:]
    numeric = [j for j in range(len(first)) if _mostly_numbers([r[j] for r in rest if j < len(r)])]
    if numeric:
        return not all(_is_number(first[j]) or first[j].strip() in BLANKS for j in numeric)
    again = sum(any(j < len(r) and r[j] == first[j] for r in rest) for j in range(len(first)))
    return again < len(first) / 2 and len(set(first)) == len(first)


def _mostly_numbers(texts: list[str]) -> bool:
    there = [t for t in texts if t.strip() not in BLANKS]
    return bool(there) and sum(_is_number(t) for t in there) >= 0.9 * len(there)


def _is_number(text: str, decimal: str | None = None) -> bool:
    return any(style.number(text.strip()) is not None for style in styles_for(decimal))


def _column(sheet: Any, name: str, decimal: str | None) -> Column:
    series = sheet.frame[name]
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        values = np.asarray(series, dtype=float)
        return Column(name, values, None, int(pd.Series(values).nunique()), int(np.isnan(values).sum()))
    texts = series.astype("string").str.strip()
    found = texts.dropna().unique().tolist()
    blanks = tuple(word for word in BLANKS if word in found)
    rest = [word for word in found if word not in BLANKS]
    lacking = texts.isna() | texts.isin(blanks)
    facts = (len(rest), int(lacking.sum()), tuple(b for b in blanks if b))
    coded = any(len(w) > 1 and w[0] == "0" and w[1].isdigit() for w in rest)
    numbers = [] if coded else [word for word in rest if _is_number(word, decimal)]
    if rest and len(numbers) == len(rest):
        return Column(name, _values(texts, numbers, decimal), None, *facts)
    texts = texts.mask(lacking)
    odd = set(rest) - set(numbers)
    many = len(numbers) >= max(3, 4 * len(odd)) and (len(odd) <= MOST_ODD or all(map(is_withheld, odd)))
    mostly = many and int(texts.isin(odd).sum()) <= 0.3 * int((~lacking).sum())
    doubtful = _values(texts, numbers, decimal) if mostly else None
    return Column(name, None, texts, *facts, doubtful, tuple(sorted(odd)) if mostly else ())


def _values(texts: Any, numbers: list[str], decimal: str | None) -> np.ndarray:
    """The numbers that texts stand for; NaN for all other texts."""
    styles = styles_for(decimal)
    read = {word: next(v for style in styles if (v := style.number(word)) is not None) for word in numbers}
    percent = all(word.endswith("%") for word in numbers)
    return texts.map(read).astype("Float64").to_numpy(dtype=float, na_value=np.nan) / (100 if percent else 1)


def not_features(profile: FileProfile, skip: set[str]) -> dict[str, str]:
    """Columns that say nothing about people, besides those to skip, each with the reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.profile_file import profile_file
    >>> from sumwise.recognise.profile_file import not_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("name,age,perwt\\n" + "".join(f"P{i},{i % 9},{1.5 + i % 7}\\n" for i in range(99)))
    >>> not_features(profile_file(path), set())
    {'name': 'an identifier: no two rows have the same', 'perwt': 'looks like the weight of a survey'}
    """
    found = {}
    for c in (c for c in profile.columns if c.name not in skip):
        if is_identifier(profile, c):
            unique = c.distinct == profile.n_rows - c.missing
            shown = "no two rows have the same" if unique else f"{c.distinct:,} values in {profile.n_rows:,} rows"
            found[c.name] = f"an identifier: {shown}"
        elif is_weight(c):
            found[c.name] = "looks like the weight of a survey"
    return found if len(found) + len(skip) < len(profile.columns) else {}


def is_identifier(profile: FileProfile, column: Column) -> bool:
    """Whether nearly every row has its own text, or whole number that is called or written like an identifier's."""
    if column.distinct <= UNIQUE * profile.n_rows:
        return False
    if column.amounts is None:
        return True
    return column.whole and (is_called(column, IDS) or is_row_number(column) or _is_long_code(column))


def is_weight(column: Column) -> bool:
    """Whether a column is called like the weight of a survey, and holds numbers of 0 or more."""
    called = WEIGHT.search(column.name) and not MEASURED.search(column.name)
    return bool(called) and column.amounts is not None and not bool((column.amounts < 0).any())


def is_row_number(column: Column) -> bool:
    """Whether a column numbers the rows, as an index does that pandas wrote."""
    return column.numbers is not None and len(column.numbers) > 2 and bool((np.diff(column.numbers) == 1).all())


def _is_long_code(column: Column) -> bool:
    values = column.amounts[~np.isnan(column.amounts)]
    if column.distinct < len(values) or not len(values) or values.min() < 10 ** (DIGITS - 1):
        return False
    return len(f"{values.min():.0f}") == len(f"{values.max():.0f}")
