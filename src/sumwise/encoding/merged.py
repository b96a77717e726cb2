"""Merged: levels of another rule put together, after the rows are gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumwise.encoding.rules import RULES, Cross
from sumwise.errors import DataError

__all__ = ["ALL_RULES", "Merged"]


@dataclass(frozen=True, slots=True)
class Merged:
    """Levels of another rule put together; usually made by :func:`sumwise.maxent.merge_levels`.

    Parameters
    ----------
    rule : Levels, Cuts, Hashed or Target
        How raw values became levels first.
    cells : tuple of int
        Which of ``names`` each of its levels went to.
    names : tuple of str
        Names of the merged levels.
    other : str, optional
        That of ``names`` which takes the values that the rule has no level for; None where they keep having none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.merged import Merged
    >>> from sumwise.encoding.rules import Levels
    >>> rule = Merged(Levels("city", ("Bern", "Oslo", "Rome")), (0, 1, 1), ("Bern", "other"), other="other")
    >>> rule.codes(pd.Series(["Rome", "Bern", "Paris"]))
    array([1, 0, 1])
    """

    kind: ClassVar[str] = "merged"
    rule: Any
    cells: tuple
    names: tuple
    other: str | None = None

    def __post_init__(self):
        if not isinstance(self.rule, tuple(RULES.values())) or isinstance(self.rule, Cross):
            raise DataError(
                f"Levels are merged of {self.rule!r}.", hint="give a column's rule: Levels, Cuts, Hashed or Target."
            )
        names = tuple(self.names)
        if not names or not all(isinstance(n, str) and n for n in names) or len(set(names)) < len(names):
            raise DataError(f"Merged levels of {self.column!r} must have distinct names.", hint="give each a text.")
        given = np.asarray(self.cells)
        if given.shape != (len(self.rule.levels),) or given.dtype.kind not in "iu":
            raise DataError(
                f"Column {self.column!r} has {len(self.rule.levels)} levels; cells have shape {given.shape} and dtype "
                f"{given.dtype}.",
                hint="give one whole number per level.",
            )
        if given.min() < 0 or given.max() >= len(names):
            raise DataError(f"Cells of {self.column!r} must be from 0 to {len(names) - 1}.")
        if self.other is not None and self.other not in names:
            raise DataError(f"{self.other!r} is none of the merged levels of {self.column!r}.")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "cells", tuple(int(c) for c in given))

    @property
    def column(self) -> str:
        """The raw column."""
        return self.rule.column

    @property
    def levels(self) -> tuple:
        """The merged levels."""
        return self.names

    @property
    def unseen_code(self) -> int:
        """Code of a value that the rule has no level for; -1 where it has none here either."""
        return self._merged(getattr(self.rule, "unseen_code", -1))

    @property
    def missing_code(self) -> int:
        """Code of a missing value; -1 where it has no level."""
        return self._merged(self.rule.missing_code)

    @property
    def home(self) -> int:
        """Code of the level that takes what has none; -1 where there is no such level."""
        return -1 if self.other is None else self.names.index(self.other)

    def codes(self, values: Any) -> np.ndarray:
        """Codes of the merged levels; -1 where a value has none."""
        inner = self.rule.codes(values)
        return np.where(inner >= 0, np.array(self.cells, dtype=np.int64)[inner], self.home)

    def _merged(self, code: int) -> int:
        return self.cells[code] if code >= 0 else self.home


ALL_RULES = {**RULES, Merged.kind: Merged}
