"""Bags from one array or frame per bag, or from one frame: rows grouped, columns of text or categories coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks, frames
from sumwise.errors import DataError
from sumwise.io.formats.files import open_sheet
from sumwise.io.formats.sheet import Sheet, is_string


def bags_from_arrays(
    cls: type,
    arrays: Sequence[Any],
    weights: Sequence[Any] | None,
    ids: Sequence[Any] | None,
    features: Sequence[str] | None,
    empty: str,
) -> Any:
    """Do the work of `Bags.from_arrays`, which documents it.

    Examples
    --------
    >>> from sumwise import Bags
    >>> Bags.from_arrays([[[0.5], [1.5]], [[2.5]]]).sizes
    array([2, 1])
    """
    checks.choice(empty, "empty", ("raise", "keep"))
    sized = hasattr(arrays, "__len__") and getattr(arrays, "ndim", 1) > 0 and not hasattr(arrays, "nnz")
    if not sized or isinstance(arrays, (str, bytes, Mapping)):
        raise DataError(f"Bags are built from a {type(arrays).__name__}.", hint="give a list of arrays.")
    if not len(arrays):
        raise DataError("There are no bags.", hint="give at least one array.")
    arrays = list(arrays)
    known_ids = checks.identifiers(ids, len(arrays), "ids")
    features = _frame_columns(arrays, known_ids) if features is None else features
    parts = [_part(x, known_ids[i]) for i, x in enumerate(arrays)]
    widths, named = np.array([x.shape[1] for x in parts]), known_ids.tolist()
    checks.nowhere(
        widths != widths[0],
        "Bags differ in width in {} cases",
        lambda i: f"bag {named[i]!r} has {widths[i]} columns, bag {named[0]!r} has {widths[0]}",
    )
    sizes = np.array([len(x) for x in parts])
    if empty == "raise":
        hint = "leave them out, or pass empty='keep'."
        checks.nowhere(sizes == 0, "{} bags are empty", lambda i: f"bag {named[i]!r}", hint)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    dtype = np.float32 if all(x.dtype == np.float32 for x in parts) else np.float64
    values = np.concatenate(parts).astype(dtype, copy=False)
    return cls(values, offsets, _joined_weights(weights, sizes, known_ids), known_ids, features)


def _part(x: Any, given_id: Any) -> np.ndarray:
    part = checks.finite(
        checks.dense(x), f"Bag {checks.plain(given_id)!r}", allow_bool=True, allow_nan=True, keep_float32=True
    )
    if part.ndim == 1:
        part = part[:, None]
    if part.ndim != 2:
        raise DataError(f"Bag {checks.plain(given_id)!r} has {part.ndim} dimensions; it needs 2 (rows, features).")
    return part


def _frame_columns(arrays: Sequence[Any], ids: np.ndarray) -> tuple[Any, ...] | None:
    """Return the columns of bags that are frames; they must be the same, in the same order."""
    if not hasattr(arrays[0], "columns"):
        return None
    columns = [frames.column_names(x) if hasattr(x, "columns") else None for x in arrays]
    for i, found in enumerate(columns):
        if found is not None and found != columns[0]:
            raise DataError(
                f"Bag {checks.plain(ids[i])!r} has the columns {list(found)}, bag {checks.plain(ids[0])!r} has "
                f"{list(columns[0] or ())}.",
                hint="give all frames the same columns in the same order.",
            )
    return columns[0]


def _joined_weights(weights: Sequence[Any] | None, sizes: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
    if weights is None:
        return None
    checks.same_length(bags=sizes, weights=weights)
    parts = [checks.counts(w, f"weights of bag {checks.plain(ids[i])!r}", ndim=1) for i, w in enumerate(weights)]
    for i, part in enumerate(parts):
        if len(part) != sizes[i]:
            raise DataError(f"Bag {checks.plain(ids[i])!r} has {sizes[i]} rows and {len(part)} weights.")
    return np.concatenate(parts)


def bags_from_frame(
    cls: type, frame: Any, bag: str, features: Sequence | None, weight: str | None, categorical: Sequence = ()
) -> Any:
    """Do the work of `Bags.from_frame`, which documents it.

    Examples
    --------
    >>> from sumwise import Bags
    >>> Bags.from_frame({"b": [7, 7, 3], "x": [0.5, 1.5, 2.5]}, bag="b").sizes
    array([2, 1])
    """
    checks.name_of_column(bag, "bag")
    checks.name_of_column(weight, "weight")
    sheet = open_sheet(frame)
    if features is None:
        features = sheet.others(bag, weight)
    columns = list(checks.unique(checks.listing(features, "features", "give a list of columns."), "features"))
    if not columns:
        raise DataError(f"{sheet.name} has no feature columns besides the bag.", hint="name at least one.")
    if bag in columns:
        raise DataError(f"Column {bag!r} is the bag and a feature.", hint="leave it out of features.")
    if weight is not None and (weight in columns or weight == bag):
        raise DataError(f"Column {weight!r} is the weight and plays another part.", hint="name each column once.")
    sheet.known(bag, *columns, *([] if weight is None else [weight]))
    coded = checks.listing(categorical, "categorical")
    for name in coded:
        checks.known(name, columns, "feature")
    frames.scalars_only(sheet.frame[bag], bag)
    hint = "drop such rows, or put them into a bag of their own."
    sheet.refuse(sheet.frame[bag].isna().to_numpy(), f"column {bag!r} is missing", hint)
    codes, ids = pd.factorize(sheet.frame[bag])  # in the order of first appearance
    levels: dict[str, tuple] = {}
    table = _entries(sheet, columns, coded)
    parts = [frames.column_numbers(table[c], c, levels, c in coded) for c in columns]
    dtype = np.float32 if all(p.dtype == np.float32 for p in parts) else np.float64
    order = np.argsort(codes, kind="stable")
    values = np.empty((len(sheet), len(columns)), dtype=dtype)
    for j, part in enumerate(parts):
        values[:, j] = part[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    weights = None if weight is None else sheet.numbers([weight])[order, 0]
    return cls(values, offsets, weights, ids.tolist(), columns, levels)


def _entries(sheet: Sheet, columns: Sequence, coded: Sequence) -> dict[Any, Any]:
    """Columns, those of text as numbers where all their entries are, and as booleans where they say true and false."""
    entries = {c: sheet.frame[c] for c in columns}
    texts = [c for c in columns if c not in coded and is_string(entries[c])]
    hint = "correct such rows, or name the column in categorical."
    numeric = [c for c in texts if not sheet.holds_levels(c, lambda _: hint)]
    numbers = sheet.numbers(numeric, missing=True, negative=True).T if numeric else ()  # in one style of numbers
    entries |= dict(zip(numeric, map(pd.Series, numbers)))
    for c in texts:
        absent = sheet.missing(c)
        words = entries[c].astype(str).str.strip().str.lower()
        if c not in numeric:
            truths = words[~absent].isin(["true", "false"]).all()
            entries[c] = (words == "true").astype(object).mask(absent) if truths else entries[c].mask(absent)
    return entries
