"""Margins from a frame: which columns are which side, shares against counts, and what to do where totals differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.errors import DataError

__all__ = ["margins_from_frame"]

NO_VOTE = "no vote"
REST_HINT = "correct these units, drop them, or pass mismatch='rescale' to scale each side to the total."


def margins_from_frame(
    cls: type,
    frame: Any,
    rows: Sequence | Mapping,
    cols: Sequence | Mapping,
    unit: str | None,
    total: str | None,
    mismatch: str,
    weight: str | None,
    covariates: Sequence | None,
) -> Any:
    """Do the work of `Margins.from_frame`, which documents it.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise import Margins
    >>> df = pd.DataFrame({"p": ["n1", "n2"], "a": [5, 2], "b": [5, 8], "yes": [3, 4], "no": [7, 2]})
    >>> m = Margins.from_frame(df, ["a", "b"], ["yes", "no"], unit="p", mismatch="no_vote")
    >>> m.cols
    array([[3., 7., 0.],
           [4., 2., 4.]])
    """
    for name, column in (("unit", unit), ("total", total), ("weight", weight)):
        checks.name_of_column(column, name)
    covariates = None if covariates is None else checks.listing(covariates, "covariates")
    checks.choice(mismatch, "mismatch", ("raise", "rescale", "no_vote"))
    row_spec, col_spec = _side(rows, "rows"), _side(cols, "cols")
    _distinct_columns(row_spec, col_spec)
    extra = [c for c in (unit, total, weight) if c is not None] + list(covariates or ())
    wanted = [c for spec in (row_spec, col_spec) for c in spec.values() if c is not None]
    table = frames.to_pandas(frame, list(dict.fromkeys(wanted + extra)))
    if not len(table):
        raise DataError("The frame has no rows, so there are no units.")
    units = checks.identifiers(table[unit] if unit is not None else None, len(table), f"column {unit!r}")
    totals = None if total is None else _counts(table, [total], units)[:, 0]
    row_counts = _side_counts(table, row_spec, totals, units, "rows")
    col_counts = _side_counts(table, col_spec, totals, units, "cols")
    col_names = list(col_spec)
    denominator = "row totals of each unit" if total is None else f"column {total!r}"
    if totals is not None:
        row_counts, _, _ = _settle(row_counts, totals, units, "rows", "rescale" if mismatch == "rescale" else "raise")
    target = row_counts.sum(axis=1) if totals is None else totals
    col_counts, added, words = _settle(col_counts, target, units, "cols", mismatch)
    return cls(
        row_counts,
        col_counts,
        units=units,
        row_names=list(row_spec),
        col_names=col_names + added,
        weights=None if weight is None else _counts(table, [weight], units)[:, 0],
        covariates=None if not covariates else frames.numeric(table, covariates, "covariates", labels=(units,)),
        covariate_names=None if not covariates else tuple(covariates),
        denominator=denominator + words,
    )


def _side(given: Any, which: str) -> dict:
    if not isinstance(given, Mapping):
        listed = checks.listing(given, which, "give a list of columns, or a dict of name to column.")
        given = dict.fromkeys(checks.unique(listed, which))
        given = {column: column for column in given}
    spec = {name: checks.name_of_column(column, f"{which} {name!r}") for name, column in given.items()}
    if not spec:
        raise DataError(f"{which} names no columns.")
    if sum(column is None for column in spec.values()) > 1:
        raise DataError(f"{which} has more than one rest (a column of None).", hint="only one name can be the rest.")
    if all(column is None for column in spec.values()):
        raise DataError(f"{which} names no column besides the rest.")
    return spec


def _distinct_columns(row_spec: dict, col_spec: dict) -> None:
    both = {c for c in row_spec.values() if c is not None} & {c for c in col_spec.values() if c is not None}
    if both:
        raise DataError(f"Column {sorted(map(str, both))[0]!r} is in rows and in cols.", hint="name it on one side.")


def _counts(table: Any, columns: Sequence, units: np.ndarray) -> np.ndarray:
    array = frames.numeric(table, columns, "margins", labels=(units,))
    for j, column in enumerate(columns):
        checks.counts(array[:, j], f"column {column!r}", labels=(units,))
    return array


def _side_counts(table: Any, spec: dict, totals: np.ndarray | None, units: np.ndarray, which: str) -> np.ndarray:
    """Return the counts of one side, with shares multiplied out and the rest filled in."""
    named = [c for c in spec.values() if c is not None]
    values = _counts(table, named, units)
    sums = values.sum(axis=1)
    has_rest = len(named) < len(spec)
    if has_rest and totals is None:
        raise DataError(f"{which} has a rest, but there is no total to take it from.", hint="name the total column.")
    shares = totals is not None and bool((sums <= 1 + 1e-6).all()) and bool((totals > 1).any())
    whole = np.ones(len(units)) if shares else totals
    if has_rest:
        assert whole is not None
        rest = whole - sums
        _refuse(rest < -checks.TOTALS_RTOL * whole, units, f"{which} exceed their total", sums, whole)
        place = list(spec.values()).index(None)
        values = np.insert(values, place, np.maximum(rest, 0.0), axis=1)
    if shares:
        assert totals is not None
        values = values * totals[:, None]
    return values


def _settle(
    side: np.ndarray, target: np.ndarray, units: np.ndarray, which: str, mismatch: str
) -> tuple[np.ndarray, list[str], str]:
    """Make one side's totals equal `target` in the way asked for; return it, added names, and words."""
    sums = side.sum(axis=1)
    differ = np.abs(sums - target) > checks.TOTALS_RTOL * np.maximum(sums, target)
    if mismatch == "no_vote":
        missing = target - sums
        _refuse(differ & (missing < 0), units, f"{which} exceed the total", sums, target)
        rest = np.where(differ, missing, 0.0)
        return np.column_stack([side, rest]), [NO_VOTE], f"; outcome {NO_VOTE!r} holds what the columns lack"
    if not differ.any():
        return side, [], ""
    if mismatch == "raise":
        _refuse(differ, units, f"{which} don't sum to the total", sums, target)
    _refuse(differ & (sums == 0), units, f"{which} are all zero and can't be rescaled", sums, target)
    factor = np.divide(target, sums, out=np.ones_like(sums), where=differ)
    return side * factor[:, None], [], f"; {which} of {int(differ.sum())} units rescaled to it"


def _refuse(bad: np.ndarray, units: np.ndarray, what: str, sums: np.ndarray, target: np.ndarray) -> None:
    if not bad.any():
        return
    i = int(np.argmax(bad))
    listed = ", ".join(repr(checks.plain(u)) for u in units[np.flatnonzero(bad)[:5]])
    raise DataError(
        f"{what[0].upper() + what[1:]} in {int(bad.sum())} of {len(bad)} units ({listed}"
        f"{', ...' if bad.sum() > 5 else ''}). First: unit {checks.plain(units[i])!r} has {sums[i]:.10g} against "
        f"{target[i]:.10g}.",
        hint=REST_HINT if "don't" in what else "correct or drop these units.",
    )
