"""Columns of a source: their numbers, texts and names, for those who find out what each of them is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.formats.grid import MOSTLY, NO_VALUE
from sumwise.io.formats.numerals import styles_for
from sumwise.io.formats.sheet import Sheet, is_index

WORDS: dict[str, Any] = tomllib.loads((resources.files("sumwise.schema") / "words.toml").read_text("utf-8"))
CODES: list[dict[str, str]] = WORDS.pop("codes")
BOOLEANS = frozenset({"true", "false"})


@dataclass
class Column:
    """One column: entries as text, and as numbers if most of them are."""

    name: str
    codes: np.ndarray = field(repr=False)  # of each row, which word
    words: list[str]  # distinct entries as text; "" where nothing is there
    numbers: Any = None  # array, NaN where missing or odd; None for texts
    odd: dict[int, str] = field(default_factory=dict)  # entries that are no numbers, of a column of numbers
    head: str = ""  # the heading above the name
    place: int = 0  # among the columns of the file

    @cached_property
    def texts(self) -> list[str]:
        """Every entry as text."""
        return np.array(self.words, dtype=object)[self.codes].tolist()

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        n = self.numbers
        return n is not None and bool((np.mod(n[~np.isnan(n)], 1) == 0).mean() > 0.95)

    @cached_property
    def distinct(self) -> int:
        """How many different entries there are."""
        return len({self.words[c] for c in np.unique(self.codes)} - {""})

    @cached_property
    def missing(self) -> np.ndarray:
        """Where nothing is there."""
        blank = np.array([not w for w in self.words], dtype=bool)
        return blank[self.codes] if self.numbers is None else np.isnan(self.numbers)

    @property
    def blanks(self) -> list[str]:
        """Words that stand for missing values, of a column of texts."""
        return [w for w in self.words if w and (w.lower() in NO_VALUE or w == "?")] if self.numbers is None else []

    def called(self, *lists: str) -> bool:
        """Whether its name has a word of one of the lists."""
        return any(has_word(self.said, word) for key in lists for word in WORDS[key])

    @cached_property
    def said(self) -> str:
        """The name in words: of a census table's column what its code stands for."""
        return meaning(self.name) or self.name

    def keep(self, at: np.ndarray) -> Column:
        """Some of its rows."""
        place = {int(old): new for new, old in enumerate(at)} if self.odd else {}
        odd = {place[i]: t for i, t in self.odd.items() if i in place}
        numbers = None if self.numbers is None else self.numbers[at]
        return Column(self.name, self.codes[at], self.words, numbers, odd, self.head, self.place)


@dataclass
class Grid:
    """The columns of one source, with the row of the file for each record."""

    name: str
    columns: list[Column]
    rows: np.ndarray  # the row of the file for each record
    path: str = ""
    opening: dict[str, Any] = field(default_factory=dict)  # how the file is opened
    files: list[str] = field(default_factory=list)  # all files, where two belong together

    def __getitem__(self, name: str) -> Column:
        checks.known(name, [c.name for c in self.columns], "column")
        return next(c for c in self.columns if c.name == name)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(c.name for c in self.columns)

    def keep(self, which: np.ndarray) -> Grid:
        """Some of the rows."""
        at = np.flatnonzero(which)
        return Grid(self.name, [c.keep(at) for c in self.columns], self.rows[at], self.path, self.opening, self.files)

    def without(self, rows: Iterable[int]) -> Grid:
        """All rows but those of the file."""
        listed = np.array(sorted(rows), dtype=self.rows.dtype)
        return self.keep(~np.isin(self.rows, listed)) if len(listed) else self

    def refuse(self, column: Column, bad: np.ndarray, what: str, hint: str) -> None:
        """Refuse a column that is wrong in some rows, with the first of them; nothing where there are none."""
        if not bad.any():
            return
        at = np.flatnonzero(bad)
        then = ", ".join(f"row {self.rows[i]}" for i in at[1:5])
        more = f". Then: {then}{', ...' if len(at) > 5 else ''}" if then else ""
        shown = "" if "missing" in what else f" has {column.texts[at[0]][:60]!r}"
        raise DataError(
            f"{self.name}: column {column.name!r} {what} in {len(at):,} of {len(self):,} rows. First: row "
            f"{self.rows[at[0]]}{shown}{more}.",
            hint=hint,
        )


def grid_of(sheet: Sheet, name: str, path: str = "", opening: dict[str, Any] | None = None) -> Grid:
    """The columns of a sheet."""
    columns = [_column(sheet, str(c)) for c in sheet.columns]
    for place, column in enumerate(columns):
        column.place = place
    columns = [c for c in columns if not (is_index(c.name) and c.numbers is not None)]
    rows = np.arange(1, len(sheet) + 1) if sheet.lines is None else np.asarray(sheet.lines)
    return Grid(name, columns, rows, path, opening or {}, [path] if path else [])


def _column(sheet: Sheet, name: str) -> Column:
    series, head = sheet.frame[name], sheet.headings.get(name, "")
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        numbers = np.asarray(pd.to_numeric(series), dtype=float)
        codes, found = pd.factorize(numbers, use_na_sentinel=False)
        return Column(name, codes, [number_text(x) for x in found], numbers, head=head)
    codes, words = text_codes(series)
    style = styles_for(sheet.decimal)[0] if sheet.decimal else styles_for(None)[0]
    there = [i for i, w in enumerate(words) if w and w.lower() not in NO_VALUE]
    numbers = [style.number(words[i]) for i in there]
    coded = any(len(words[i]) > 1 and words[i][0] == "0" and words[i][1].isdigit() for i in there)
    good = np.zeros(len(words), dtype=bool)
    good[[i for i, x in zip(there, numbers) if x is not None]] = True
    if coded or not good.any() or good[codes].sum() < MOSTLY * np.isin(codes, there).sum():
        return Column(name, codes, words, head=head)
    values = np.full(len(words), np.nan)
    values[there] = [np.nan if x is None else x for x in numbers]
    bad = np.isin(codes, [i for i, x in zip(there, numbers) if x is None])
    return Column(name, codes, words, values[codes], {int(i): words[codes[i]] for i in np.flatnonzero(bad)}, head)


def text_codes(series: Any) -> tuple[np.ndarray, list[str]]:
    """Codes and the texts that they stand for: trimmed, "" where nothing is there, True and False as in frames.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.schema.columns import text_codes
    >>> text_codes(pd.Series([True, False, True]))
    (array([0, 1, 0]), ['True', 'False', ''])
    """
    try:
        codes, found = pd.factorize(series, use_na_sentinel=True)
    except TypeError:  # lists and dicts
        codes, found = pd.factorize(series.map(str, na_action="ignore"), use_na_sentinel=True)
    if isinstance(series.dtype, pd.CategoricalDtype):
        found = np.asarray(found)
    texts = [number_text(x) if isinstance(x, float) else str(x).strip() for x in list(found)]
    if {t.lower() for t in texts} <= BOOLEANS:
        texts = [t.capitalize() for t in texts]
    again, words = pd.factorize(np.array([*texts, ""], dtype=object))
    return again[codes], [str(w) for w in words]  # -1, missing, is the last: ""


@lru_cache(maxsize=1 << 16)
def meaning(name: str) -> str:
    """What the code of a census table's column stands for; nothing for other names.

    Examples
    --------
    >>> from sumwise.schema.columns import meaning
    >>> meaning("P4_005N"), meaning("P0030001"), meaning("votes")
    ('nh white vap', 'total vap', '')
    """
    for table in CODES:
        found = re.fullmatch(table["pattern"], name)
        if found is not None:
            return str(table.get(found[1].lstrip("0"), "subtotal"))
    return ""


def number_text(x: float) -> str:
    """A number as text, whole ones without a point; nothing for one that is missing."""
    return "" if np.isnan(x) else f"{x:.15g}"


def parts(name: str) -> list[str]:
    """The words and numbers in a name, in lower case: NoVote is no and vote, dem16 is dem and 16."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", name)
    return re.findall(r"[^\W_]+|%", spaced.lower())


@lru_cache(maxsize=1 << 18)
def has_word(name: str, word: str) -> bool:
    """Whether a name has a word: as a whole, or as its beginning if the word ends in a star."""
    some = {*parts(name), *re.findall(r"[^\W_]+", name.lower()), "".join(parts(name))}
    return any(p.startswith(word[:-1]) for p in some) if word.endswith("*") else word in some


def sums(columns: Sequence[Column]) -> np.ndarray:
    """Sums of columns, row by row."""
    return np.column_stack([c.numbers for c in columns]).sum(axis=1) if columns else np.zeros(0)


def agreement(a: np.ndarray, b: np.ndarray, tol: float = 1e-6) -> float:
    """In which share of the rows two sums are equal; 0 if nothing is there."""
    ok = ~np.isnan(a) & ~np.isnan(b)
    if not ok.any() or not a[ok].any():
        return 0.0
    return float((np.abs(a - b)[ok] <= tol * np.maximum(np.abs(a), np.abs(b))[ok]).mean())


def joined(columns: Sequence[Column]) -> list[str]:
    """The entries of several columns as one text per row."""
    return columns[0].texts if len(columns) == 1 else [" / ".join(row) for row in zip(*(c.texts for c in columns))]


def row_keys(columns: Sequence[Column]) -> np.ndarray:
    """One number per combination of entries of several columns."""
    code = np.zeros(len(columns[0].codes), dtype=np.int64)
    for column in columns:
        code = pd.factorize(code * (int(column.codes.max(initial=0)) + 1) + column.codes)[0]
    return code


def is_constant(values: np.ndarray, keys: np.ndarray) -> bool:
    """Whether numbers are the same in all rows of a key."""
    groups = pd.Series(values).groupby(np.asarray(keys))
    return bool(groups.transform("min").eq(groups.transform("max"))[~np.isnan(values)].all())
