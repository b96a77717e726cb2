"""Levels, Cuts, Hashed, Target, Cross: how one raw column, or a cross of attributes, becomes levels.

A rule is frozen, knows nothing of data frames or engines beyond a pandas Series of raw values, and holds
plain
numbers and strings only, so it can be written as JSON, saved, and spelled in SQL. An
:class:`~sumwise.encoding.Encoding`
is one rule per attribute.
"""

from __future__ import annotations

import hashlib
import math
import numbers
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sumwise.encoding.values import canonical, factorized, kind_of, looked_up, numbers_of
from sumwise.errors import DataError

__all__ = ["RULES", "Cross", "Cuts", "Hashed", "Levels", "Target", "cross_cell", "text_cell"]

PRIME = 2**31 - 1  # products of two residues stay below 2**62: exact in 64-bit integers of any engine
BASE = 1_103_515_245  # larger than any number of levels: the polynomial below is injective on small codes
SALT_STEP = 69_621


def cross_cell(codes, cells: int, salt: int = 0) -> np.ndarray:
    """Cell of a cross feature among ``cells``: a fixed function of the level codes, equal on every engine.

    With p = 2**31 - 1, start with x = (69621 * salt + 1) mod p, then for each code x = (1103515245 * x + code
    + 1) mod p;
    the cell is (x**5 mod p) mod cells. The fifth power permutes the residues of p (5 doesn't divide p - 1),
    so it mixes
    without collisions of its own; every product fits a signed 64-bit integer, so NumPy, DuckDB and Spark
    agree exactly.

    Parameters
    ----------
    codes : sequence of integer arrays
        One array of level codes per attribute of the cross; a negative code (unknown) gives cell -1.
    cells : int
        Number of cells.
    salt : int, default 0
        Another salt gives another hash.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> from sumwise.encoding.rules import cross_cell
    >>> cross_cell([[0, 0, 1, -1], [0, 1, 0, 1]], cells=10)
    array([ 0,  1,  2, -1])
    """
    arrays = [np.asarray(c, dtype=np.int64) for c in codes]
    x = np.full(arrays[0].shape, (SALT_STEP * salt + 1) % PRIME, dtype=np.int64)
    known = np.ones(x.shape, dtype=bool)
    for c in arrays:
        x = (BASE * x + c + 1) % PRIME
        known &= c >= 0
    fourth = (x * x) % PRIME
    fourth = (fourth * fourth) % PRIME
    return np.where(known, (fourth * x) % PRIME % cells, -1)


def text_cell(text: str, cells: int, salt: int = 0) -> int:
    """Cell of a raw level: the first eight hex digits of MD5 of ``"salt:text"``, modulo ``cells``.

    Examples
    --------
    >>> from sumwise.encoding.rules import text_cell
    >>> text_cell("Zürich", cells=100)
    84
    """
    digest = hashlib.md5(f"{salt}:{text}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % cells


def _check_name(column: Any) -> None:
    if not isinstance(column, str) or not column:
        raise DataError(f"A column name must be text; got {column!r}.")


def _check_count(value: Any, what: str, least: int = 1, most: int = PRIME) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
        raise DataError(f"{what} must be a whole number from {least} to {most}; got {value!r}.")


def _check_extra(names: tuple, levels: tuple, column: str) -> None:
    extra = [n for n in names if n is not None]
    for n in extra:
        if not isinstance(n, str) or not n:
            raise DataError(f"The name of an extra level of {column!r} must be text; got {n!r}.")
        if n in levels or extra.count(n) > 1:
            raise DataError(
                f"Column {column!r} already has a level {n!r}.",
                hint="give the extra level another name, as in other='(other)' or missing='(missing)'.",
            )


@dataclass(frozen=True, slots=True)
class Levels:
    """Named levels kept as they are; the rest goes to ``other``, missing values to ``missing``, if named.

    Parameters
    ----------
    column : str
        The raw column.
    values : tuple
        The levels kept, all text, all numbers or all true/false.
    other, missing : str, optional
        Name of the level for rare or unseen values, and for missing ones; None where there is no such level.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.rules import Levels
    >>> rule = Levels("city", ("Bern", "Rome"), other="other")
    >>> rule.levels
    ('Bern', 'Rome', 'other')
    >>> rule.codes(pd.Series(["Rome", "Oslo", "Bern"]))
    array([1, 2, 0])
    """

    kind: ClassVar[str] = "levels"
    column: str
    values: tuple
    other: str | None = None
    missing: str | None = None
    learned: bool = field(default=False, compare=False, repr=False, kw_only=True)  # read from rows, without noise

    def __post_init__(self):
        _check_name(self.column)
        values = tuple(canonical(v) for v in self.values)
        object.__setattr__(self, "values", values)
        if None in values:
            raise DataError(f"A level of {self.column!r} is missing.", hint="name it by missing='missing' instead.")
        kind_of(values, self.column)
        if len(set(values)) < len(values):
            twice = next(v for v in values if values.count(v) > 1)
            raise DataError(f"Column {self.column!r} has the level {twice!r} twice.")
        _check_extra((self.other, self.missing), values, self.column)
        if not self.levels:
            raise DataError(f"Column {self.column!r} has no level.", hint="give it rows, or missing='missing'.")

    @property
    def levels(self) -> tuple:
        """All levels in the order of their codes: the values, then ``other``, then ``missing``."""
        return self.values + tuple(n for n in (self.other, self.missing) if n is not None)

    @property
    def missing_code(self) -> int:
        """Code of a missing value; -1 where it has no level."""
        if self.missing is not None:
            return len(self.levels) - 1
        return len(self.values) if self.other is not None else -1

    @property
    def unseen_code(self) -> int:
        """Code of a value that isn't among ``values``: ``other``, else ``missing``, else -1."""
        return len(self.values) if self.other is not None or self.missing is not None else -1

    def codes(self, values: Any) -> np.ndarray:
        """Level codes of raw values; -1 for what has no level."""
        index = {v: i for i, v in enumerate(self.values)}
        return looked_up(values, index, self.missing_code, self.unseen_code)


@dataclass(frozen=True, slots=True)
class Cuts:
    """Intervals of a number: level i holds ``edges[i-1] <= x < edges[i]``, open at both ends of the line.

    Parameters
    ----------
    column : str
        The raw column.
    edges : tuple of float
        Inner cut points, strictly increasing; k of them make k + 1 levels.
    missing : str, optional
        Name of the level of missing values; None where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.rules import Cuts
    >>> rule = Cuts("age", (18, 65), missing="missing")
    >>> rule.levels
    ('below 18', '[18, 65)', '65 and above', 'missing')
    >>> rule.codes(pd.Series([17.9, 18, 70, None]))
    array([0, 1, 2, 3])
    """

    kind: ClassVar[str] = "cuts"
    column: str
    edges: tuple
    missing: str | None = None
    learned: bool = field(default=False, compare=False, repr=False, kw_only=True)  # read from rows, without noise

    def __post_init__(self):
        _check_name(self.column)
        try:
            edges = tuple(float(e) for e in self.edges)
        except (TypeError, ValueError):
            raise DataError(f"Cut points of {self.column!r} must be numbers; got {self.edges!r}.") from None
        object.__setattr__(self, "edges", edges)
        if not all(math.isfinite(e) for e in edges):
            raise DataError(f"Cut points of {self.column!r} must be finite; got {edges!r}.")
        if any(b <= a for a, b in pairwise(edges)):
            raise DataError(
                f"Cut points of {self.column!r} must increase; got {edges!r}.", hint="sort them, each once."
            )
        _check_extra((self.missing,), self.levels[: len(edges) + 1], self.column)

    @property
    def levels(self) -> tuple:
        """Names of the intervals, then ``missing``."""
        extra = () if self.missing is None else (self.missing,)
        if not self.edges:
            return ("any number", *extra)
        short = [f"{e:.6g}" for e in self.edges]
        text = short if len(set(short)) == len(short) else [repr(e) for e in self.edges]
        inner = tuple(f"[{a}, {b})" for a, b in pairwise(text))
        return (f"below {text[0]}", *inner, f"{text[-1]} and above", *extra)

    @property
    def missing_code(self) -> int:
        """Code of a missing value; -1 where it has no level."""
        return -1 if self.missing is None else len(self.edges) + 1

    def codes(self, values: Any) -> np.ndarray:
        """Level codes of raw numbers; -1 for a missing one without a level."""
        x = numbers_of(values, self.column)
        codes = np.searchsorted(np.array(self.edges), x, side="right").astype(np.int64)
        return np.where(np.isnan(x), self.missing_code, codes)


@dataclass(frozen=True, slots=True)
class Hashed:
    """Any text or whole number into one of ``cells`` by :func:`text_cell`; no level is listed or unseen.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.rules import Hashed
    >>> Hashed("site", cells=100).codes(pd.Series(["a.example", "b.example", "a.example"]))
    array([99, 75, 99])
    """

    kind: ClassVar[str] = "hash"
    column: str
    cells: int
    salt: int = 0
    missing: str | None = None
    learned: bool = field(default=False, compare=False, repr=False, kw_only=True)  # read from rows, without noise

    def __post_init__(self):
        _check_name(self.column)
        _check_count(self.cells, "The number of cells")
        _check_count(self.salt, "The salt", least=0)
        _check_extra((self.missing,), (), self.column)

    @property
    def levels(self) -> tuple:
        """Cell numbers, then ``missing``."""
        return tuple(range(self.cells)) + (() if self.missing is None else (self.missing,))

    @property
    def missing_code(self) -> int:
        """Code of a missing value; -1 where it has no level."""
        return -1 if self.missing is None else self.cells

    def codes(self, values: Any) -> np.ndarray:
        """Cells of raw values; -1 for a missing one without a level."""
        codes, plain = factorized(values)
        if any(isinstance(v, float) for v in plain):
            first = next(v for v in plain if isinstance(v, float))
            raise DataError(
                f"Column {self.column!r} can't be hashed: {first!r} is not a whole number.",
                hint="cut it into intervals.",
            )
        text = [str(v).lower() if isinstance(v, bool) else str(v) for v in plain]
        table = np.array([text_cell(t, self.cells, self.salt) for t in text] + [self.missing_code], dtype=np.int64)
        return table[codes]


@dataclass(frozen=True, slots=True)
class Target:
    """Raw levels merged by how often they occur and how often the label is 1, learned on rows kept for that.

    The counts and the rates of the raw levels are cut into intervals together; each pair of intervals that
    some raw level
    falls in is one level here (Gilotte et al. 2022, section 4.3). What the held-out rows never showed is
    ``unseen``.

    Parameters
    ----------
    column : str
        The raw column.
    values : tuple
        Raw levels of the held-out rows.
    cells : tuple of int
        Which of ``names`` each raw level went to.
    names : tuple of str
        Names of the merged levels.
    unseen : str, default "unseen"
        Name of the level of values that the held-out rows don't have.
    missing : str, optional
        Name of the level of missing values; None where they count as unseen.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.rules import Target
    >>> rule = Target("site", ("a", "b", "c"), cells=(0, 1, 1), names=("rare, low", "rare, high"))
    >>> rule.codes(pd.Series(["c", "a", "new"]))
    array([1, 0, 2])
    """

    kind: ClassVar[str] = "target"
    column: str
    values: tuple
    cells: tuple
    names: tuple
    unseen: str = "unseen"
    missing: str | None = None
    learned: bool = field(default=False, compare=False, repr=False, kw_only=True)  # read from rows, without noise

    def __post_init__(self):
        _check_name(self.column)
        values = tuple(canonical(v) for v in self.values)
        object.__setattr__(self, "values", values)
        for c in self.cells:
            _check_count(c, f"A cell of {self.column!r}", least=0)
        object.__setattr__(self, "cells", tuple(int(c) for c in self.cells))
        object.__setattr__(self, "names", tuple(self.names))
        kind_of(values, self.column)
        if len(set(values)) < len(values) or None in values:
            raise DataError(f"Raw levels of {self.column!r} must be distinct and none missing.")
        if len(self.cells) != len(values):
            raise DataError(f"Column {self.column!r} has {len(values)} raw levels and {len(self.cells)} cells.")
        if any(not 0 <= c < len(self.names) for c in self.cells):
            raise DataError(f"Cells of {self.column!r} must be from 0 to {len(self.names) - 1}.")
        if len(set(self.names)) < len(self.names):
            raise DataError(f"Merged levels of {self.column!r} must have distinct names.")
        _check_extra((self.unseen, self.missing), self.names, self.column)

    @property
    def levels(self) -> tuple:
        """The merged levels, then ``unseen``, then ``missing``."""
        return (*self.names, self.unseen) + (() if self.missing is None else (self.missing,))

    @property
    def missing_code(self) -> int:
        """Code of a missing value: its level, else that of an unseen value."""
        return len(self.levels) - 1

    @property
    def unseen_code(self) -> int:
        """Code of a value that the held-out rows don't have."""
        return len(self.names)

    def codes(self, values: Any) -> np.ndarray:
        """Codes of the merged levels; never -1."""
        return looked_up(values, dict(zip(self.values, self.cells)), self.missing_code, self.unseen_code)


@dataclass(frozen=True, slots=True)
class Cross:
    """A cross of attributes, hashed into ``cells`` by :func:`cross_cell` (Gilotte et al. 2022, section 4.3).

    Examples
    --------
    >>> from sumwise.encoding.rules import Cross
    >>> Cross(("age", "city"), cells=50).levels[:3]
    (0, 1, 2)
    """

    kind: ClassVar[str] = "cross"
    of: tuple
    cells: int
    salt: int = 0

    def __post_init__(self):
        if isinstance(self.of, str) or len(tuple(self.of)) < 2:
            raise DataError(f"A cross needs two attributes or more; got {self.of!r}.")
        object.__setattr__(self, "of", tuple(self.of))
        if len(set(self.of)) < len(self.of):
            raise DataError(f"A cross names an attribute twice: {self.of!r}.")
        _check_count(self.cells, "The number of cells")
        _check_count(self.salt, "The salt", least=0)

    @property
    def levels(self) -> tuple:
        """Cell numbers."""
        return tuple(range(self.cells))


RULES = {rule.kind: rule for rule in (Levels, Cuts, Hashed, Target, Cross)}
