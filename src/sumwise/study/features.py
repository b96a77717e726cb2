"""Features: how columns of individuals become numbers, learned once and applied again to other files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sumwise.bags import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.readers.numerals import styles_for
from sumwise.readers.sheet import Sheet

MOST_LEVELS = 30  # of one column; rarer ones share a level
MOST_UNSEEN, FEWEST_ROWS = 0.01, 20  # share of unseen levels from which on is warned, of so many rows
MISSING, OTHER = "(missing)", "(other)"


@dataclass(frozen=True)
class Features:
    """Rules that turn columns into standardised numbers and indicators of levels.

    Parameters
    ----------
    rules : list of dict
        Per column a ``name``, a ``kind`` ("number" or "levels"), and ``mean``, ``scale``, ``missing`` or ``levels``.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.readers.files import open_sheet
    >>> from sumwise.study.features import learn_features
    >>> sheet = open_sheet(pd.DataFrame({"age": [20, 40], "sex": ["f", "m"]}))
    >>> features = learn_features(sheet, ["age", "sex"])
    >>> features.names
    ['age', 'sex = f', 'sex = m']
    >>> features.matrix(sheet)
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    rules: list[dict[str, Any]]

    @property
    def names(self) -> list[str]:
        """The names of the columns of `matrix`."""
        found: list[str] = []
        for rule in self.rules:
            if rule["kind"] == "number":
                found += [rule["name"], f"{rule['name']} {MISSING}"] if rule["missing"] else [rule["name"]]
            else:
                found += [f"{rule['name']} = {level}" for level in rule["levels"]]
        return found

    def matrix(self, sheet: Sheet) -> np.ndarray:
        """The rows of a sheet as numbers; a level that was not seen before has no indicator.

        More than 1% of such rows are a warning; a column that has no known level at all is an error, since it is typed
        in another way than the one that was learned from.
        """
        sheet.known(*(rule["name"] for rule in self.rules))
        numeric = [rule["name"] for rule in self.rules if rule["kind"] == "number"]
        numbers = sheet.numbers(numeric, missing=True, negative=True) if numeric else np.zeros((len(sheet), 0))
        parts: list[np.ndarray] = []
        for rule in self.rules:
            if rule["kind"] == "number":
                parts += self._number(rule, numbers[:, numeric.index(rule["name"])], sheet)
            else:
                levels = level_texts(sheet, rule["name"])
                known = np.isin(levels, rule["levels"])
                _report_unseen(sheet, rule, levels, known)
                levels = np.where(~known & (OTHER in rule["levels"]), OTHER, levels)
                parts += [(levels == level).astype(float) for level in rule["levels"]]
        return np.column_stack(parts) if parts else np.zeros((len(sheet), 0))

    def _number(self, rule: dict[str, Any], values: np.ndarray, sheet: Sheet) -> list[np.ndarray]:
        absent = np.isnan(values)
        if absent.any() and not rule["missing"]:
            name = rule["name"]
            sheet.refuse(
                absent, f"column {name!r} is missing", "none were when the model was fitted: fill or drop such rows."
            )
        scaled = np.where(absent, 0.0, (values - rule["mean"]) / rule["scale"])
        return [scaled, absent.astype(float)] if rule["missing"] else [scaled]


def _report_unseen(sheet: Sheet, rule: dict[str, Any], levels: np.ndarray, known: np.ndarray) -> None:
    there = levels != MISSING
    unseen = there & ~known
    if there.sum() < FEWEST_ROWS or not unseen.sum() > MOST_UNSEEN * there.sum():
        return
    name, first = rule["name"], str(levels[int(np.argmax(unseen))])[:40]
    examples = ", ".join(repr(level) for level in rule["levels"][:3])
    if unseen.sum() == there.sum():
        raise DataError(
            f"{sheet.name}: no entry of column {name!r} is one of its levels: it has {first!r}, the model knows "
            f"{examples}.",
            hint="write the column as it was written then: codes with their zeros, dates and yes or no alike.",
        )
    if OTHER not in rule["levels"]:  # else rare levels were put together, and this may be one of them
        warnings.warn(
            f"{100 * unseen.sum() / there.sum():.3g}% of column {name!r} are levels that the model has not seen, such "
            f"as {first!r}; it knows {examples}.",
            ModelWarning,
            stacklevel=3,
        )


def learn_features(sheet: Sheet, columns: Sequence[str], categorical: Sequence[str] = ()) -> Features:
    """Learn how columns become numbers.

    A column of numbers is standardised; where some are missing, they count at the mean and get an indicator. A column
    of text, or one that is named in `categorical`, gets an indicator per level, rare levels together.

    Parameters
    ----------
    sheet : Sheet
    columns : list of str
    categorical : list of str
        Columns that are levels even where they look like numbers.
    """
    sheet.known(*columns, *categorical)
    kinds = {c: "levels" if c in set(categorical) else column_kind(sheet, c) for c in columns}
    numeric = [c for c in columns if kinds[c] == "number"]
    numbers = sheet.numbers(numeric, missing=True, negative=True) if numeric else np.zeros((len(sheet), 0))
    rules: list[dict[str, Any]] = []
    for column in columns:
        if kinds[column] == "number":
            values = numbers[:, numeric.index(column)]
            there = values[~np.isnan(values)]
            scale = float(there.std()) if there.size else 0.0
            if not scale > 0:
                continue  # the same in every row: no information
            rules.append(
                {
                    "name": column,
                    "kind": "number",
                    "mean": float(there.mean()),
                    "scale": scale,
                    "missing": bool(there.size < len(values)),
                }
            )
        else:
            counts = pd.Series(level_texts(sheet, column)).value_counts(sort=True)
            kept: list[Any] = sorted(counts.index[:MOST_LEVELS].tolist())
            if len(counts) > MOST_LEVELS:
                kept.append(OTHER)
            if len(kept) > 1:
                rules.append({"name": column, "kind": "levels", "levels": kept})
    if not rules:
        raise DataError(f"{sheet.name}: all features are the same in every row.", hint="name other columns.")
    return Features(rules)


def level_texts(sheet: Sheet, column: str) -> np.ndarray:
    """A column as text, with a word for what is missing; whole numbers without a point."""
    series = sheet.frame[column]
    absent = sheet.missing(column)
    if pd.api.types.is_numeric_dtype(series.dtype):
        texts = [_number_text(x) for x in np.asarray(series, dtype=float).tolist()]
    else:
        texts = [str(x).strip() for x in series.tolist()]
    return np.where(absent, MISSING, np.array(texts, dtype=object)).astype(object)


def _number_text(value: float) -> str:
    """A number as a level: every digit, and whole ones without a point."""
    return str(int(value)) if value.is_integer() else repr(value)


def column_kind(sheet: Sheet, column: str) -> str:
    """ "number" where every entry that is there is one, "levels" where none is; a mixture is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.readers.files import open_sheet
    >>> from sumwise.study.features import column_kind
    >>> column_kind(open_sheet(pd.DataFrame({"a": ["1,200", "7"]})), "a")
    'number'
    """
    series = sheet.frame[column]
    if pd.api.types.is_bool_dtype(series.dtype):
        return "levels"
    if pd.api.types.is_numeric_dtype(series.dtype):
        return "number"
    absent = sheet.missing(column)
    found = pd.unique(pd.Series([str(x).strip() for x in series[~absent].tolist()], dtype=object))
    if any(len(t) > 1 and t[0] == "0" and t[1].isdigit() for t in found):
        return "levels"  # codes
    styles = styles_for(sheet.decimal)
    good = [any(style.number(t) is not None for style in styles) for t in found]
    if any(good) and not all(good):
        odd = found[good.index(False)]
        bad = (~absent) & (series.astype(str).str.strip() == odd).to_numpy(dtype=bool)
        sheet.refuse(
            bad,
            f"column {column!r} mixes numbers with text ({odd[:40]!r})",
            f'add it to categorical, or set missing = ["{odd[:40]}"] in [data] if that stands for nothing.',
        )
    return "number" if len(found) and all(good) else "levels"


def bags_of(sheet: Sheet, bag: str, features: Features, weight: str | None) -> tuple[Bags, np.ndarray]:
    """The rows of a sheet as bags, in the order in which bags first appear, and which row of the sheet each is.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.readers.files import open_sheet
    >>> from sumwise.study.features import bags_of, learn_features
    >>> sheet = open_sheet(pd.DataFrame({"area": ["b", "a", "b"], "x": [1, 2, 3]}))
    >>> bags, order = bags_of(sheet, "area", learn_features(sheet, ["x"]), None)
    >>> bags.ids.tolist(), order.tolist()
    (['b', 'a'], [0, 2, 1])
    """
    codes, found = pd.factorize(sheet.ids(bag).astype(str).str.strip().to_numpy())
    order = np.argsort(codes, kind="stable")
    weights = None if weight is None else sheet.numbers([weight])[order, 0]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(found)))])
    return Bags(features.matrix(sheet)[order], offsets, weights, found.tolist(), features.names), order


def typed_frame(sheet: Sheet, columns: Sequence[str], categorical: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of a sheet as numbers where they hold numbers, else as text; missing ones stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.readers.files import open_sheet
    >>> from sumwise.study.features import typed_frame
    >>> typed_frame(open_sheet(pd.DataFrame({"a": ["1,200.0", "7"], "b": ["x", None]})), ["a", "b"]).values.tolist()
    [[1200.0, 'x'], [7.0, None]]
    """
    sheet.known(*columns)
    kinds = {c: "levels" if c in set(categorical) else column_kind(sheet, c) for c in columns}
    numeric = [c for c in columns if kinds[c] == "number"]
    numbers = sheet.numbers(numeric, missing=True, negative=True) if numeric else np.zeros((len(sheet), 0))
    out: dict[str, Any] = {}
    for column in columns:
        if kinds[column] == "number":
            out[column] = numbers[:, numeric.index(column)]
        else:
            texts = level_texts(sheet, column)
            out[column] = pd.Series([None if t == MISSING else t for t in texts.tolist()], dtype=object)
    return pd.DataFrame(out)
