"""Features: how columns become numbers (one-hot encoding of levels, missing values, scaling), for every family."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.bags import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.learned import check_learned

__all__ = [
    "MISSING",
    "OTHER",
    "Features",
    "centre_and_scale",
    "level_text",
    "mean_and_std",
    "name_columns",
    "recode",
    "refuse_far",
    "refuse_missing",
]

MISSING = "missing"  # the level, or the indicator, of what is not there
OTHER = "(other)"  # the level that rare ones share
FEW_UNSEEN = 0.01  # share of rows with a level that training didn't have, from which a warning is issued
BLOCK = 65_536  # rows held at once


def level_text(value: Any) -> str:
    """A level as text: 3, 3.0 and "3" are one level.

    Examples
    --------
    >>> from sumwise.features import level_text
    >>> level_text(3.0), level_text("01234"), level_text(True)
    ('3', '01234', 'True')
    """
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def mean_and_std(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of columns, (n_features,) each; rows count as much as their weights.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
    weights : array of shape (n_rows,), optional

    Returns
    -------
    mean, std : arrays of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.features import mean_and_std
    >>> mean_and_std(np.array([[1.0], [1.0], [4.0]]), np.array([1.0, 1.0, 2.0]))
    (array([2.5]), array([1.5]))
    """
    n, d = values.shape
    total = float(n) if weights is None else float(weights.sum())
    first, second = np.zeros(d), np.zeros(d)
    # Keeps the digits of columns far from zero; a row that counts, for one that doesn't may lie far from all others.
    anchor = np.asarray(values[0 if weights is None else int(np.argmax(weights))], dtype=np.float64)
    for begin in range(0, n, BLOCK):
        block = values[begin : begin + BLOCK]
        shifted = block - anchor
        share = np.full(len(block), 1.0) if weights is None else weights[begin : begin + BLOCK]
        first += share @ shifted
        second += share @ shifted**2
    shift = first / total
    return anchor + shift, np.sqrt(np.maximum(second / total - shift**2, 0.0))


def centre_and_scale(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of columns; of columns with two values, the distance between these.

    So indicators stay as they are, since a rare one would be blown up, whatever they were multiplied by; constant
    columns have scale 1.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
    weights : array of shape (n_rows,), optional

    Returns
    -------
    centre, scale : arrays of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.features import centre_and_scale
    >>> centre_and_scale(np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 1.0]]))[1].round(2)
    array([1.63, 1.  ])
    """
    low, high = values.min(axis=0), values.max(axis=0)
    between = np.zeros(values.shape[1], dtype=bool)
    for begin in range(0, len(values), BLOCK):
        block = values[begin : begin + BLOCK]
        between |= ((block != low) & (block != high)).any(axis=0)
    mean, std = mean_and_std(values, weights)
    scale = np.where(between, std, np.asarray(high - low, dtype=np.float64))
    return mean, np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True, eq=False)
class Features:
    """How each column enters a model, learned from training rows and applied to any others.

    A column of numbers stays a number; where some were missing in training, missing ones count as the mean and a
    column of indicators says which. A column of levels (text, categories) becomes one indicator per level.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns that go in.
    levels : dict
        Levels by name, of the columns that have them.
    means : array of shape (n_columns,)
        What a missing number counts as.
    missing : boolean array of shape (n_columns,)
        Whether a column of indicators says which rows are missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise import Bags
    >>> from sumwise.features import Features
    >>> people = pd.DataFrame({"b": [1, 1, 2], "age": [20.0, None, 40.0], "job": ["x", "y", "x"]})
    >>> features = Features.learn(Bags.from_frame(people, bag="b"))
    >>> features.names
    ('age', 'age=missing', 'job=x', 'job=y')
    >>> features.matrix(pd.DataFrame({"job": ["y"], "age": [50]}))
    array([[50.,  0.,  0.,  1.]])
    """

    columns: tuple
    levels: dict
    means: np.ndarray
    missing: np.ndarray

    def __post_init__(self) -> None:
        check_learned(self, "columns: names d; levels: levels; means: float d; missing: bool d")
        if not set(self.levels) <= set(self.columns):
            raise DataError(f"There are levels of columns that aren't there: {sorted(map(str, self.levels))[:3]}.")

    @classmethod
    def learn(cls, bags: Bags) -> Features:
        """Learn from the rows of bags, weighted where they carry weights."""
        gone = np.isnan(bags.values)
        missing = np.asarray(gone.any(axis=0))
        known = np.where(gone, 0.0, bags.values) if missing.any() else bags.values
        people = bags.weights @ ~gone if missing.any() else np.full(bags.n_features, bags.weights.sum())
        means = bags.weights @ known / np.where(people > 0, people, 1.0)
        return cls(bags.features, dict(bags.levels), means, missing)

    @property
    def unchanged(self) -> bool:
        """Whether rows enter as they are: no levels, and nothing missing in training."""
        return not self.levels and not self.missing.any()

    @property
    def named(self) -> bool:
        """Whether columns have names of their own, not x0, x1, ..."""
        return _have_names(self.columns)

    @property
    def names(self) -> tuple:
        """Names of the columns of `matrix`."""
        out: list = []
        for j, name in enumerate(self.columns):
            if name in self.levels:
                out += [f"{name}={level_text(level)}" for level in self.levels[name]]
            else:
                out.append(name)
            if self.missing[j]:
                out.append(f"{name}={MISSING}")
        return tuple(out)

    def width(self, name: Any) -> int:
        """How many columns of `matrix` a column becomes."""
        gap = bool(self.missing[self.columns.index(name)])
        return (len(self.levels[name]) if name in self.levels else 1) + gap

    def rows(self, data: Any) -> Bags:
        """Rows of bags, of a frame or of a matrix as bags with these columns in this order.

        Columns of frames are found by their names; others are left out. A matrix, and bags whose columns have no
        names, are taken by position. A frame or matrix is one bag.
        """
        if isinstance(data, Bags):
            return self._ordered(data)
        if frames.is_frame(data):
            return self._from_frame(data)
        values = checks.finite(checks.dense(data), "X", allow_nan=True, allow_bool=True)
        if values.ndim != 2:
            raise DataError(f"X has shape {values.shape}.", hint="one row per individual: (n_rows, n_features).")
        self._same_number(values.shape[1])
        return Bags(values, np.array([0, len(values)]), None, None, self.columns, self.levels)

    def design(self, data: Any) -> Bags:
        """The same bags with the numbers that enter the model as values."""
        bags = self.rows(data)
        plain = self.unchanged and not bags.levels and not np.isnan(bags.values).any()
        if plain:
            return bags
        n, width = len(bags.values), len(self.names)
        checks.allocation("The design matrix", (n, width), hint="merge rare levels, or give fewer rows.")
        return bags.with_values(self._numbers(bags), self.names)

    def matrix(self, data: Any) -> np.ndarray:
        """The numbers that enter the model, (n_rows, n_columns of `names`).

        A level that training didn't have has no indicator. More than one row in a hundred with such a level is worth
        a warning; a column without any known level is refused.
        """
        return self.design(data).values

    def _numbers(self, bags: Bags) -> np.ndarray:
        values = np.asarray(bags.values, dtype=np.float64)
        parts: list[np.ndarray] = []
        for j, name in enumerate(self.columns):
            gone = np.isnan(values[:, j])
            if name in self.levels:
                codes = self._codes(bags, j, gone)
                parts.append((codes[:, None] == np.arange(len(self.levels[name]))).astype(np.float64))
            else:
                if name in bags.levels:
                    raise DataError(f"Feature {name!r} contains text; it held numbers in training.")
                if gone.any() and not self.missing[j]:
                    self._warn_of_new_gaps(gone, j)
                parts.append(np.where(gone, self.means[j], values[:, j])[:, None])
            if self.missing[j]:
                parts.append(gone[:, None].astype(np.float64))
        return np.hstack(parts)

    def _codes(self, bags: Bags, j: int, gone: np.ndarray) -> np.ndarray:
        """Codes of one column in the levels of training; -1 where there is none."""
        name, known = self.columns[j], self.levels[self.columns[j]]
        present = bags.levels.get(name)
        codes = np.where(gone, -1, bags.values[:, j]).astype(np.int64)
        if present is None:
            present = np.unique(bags.values[~gone, j]).tolist()
            codes = np.where(gone, -1, np.searchsorted(present, np.where(gone, 0.0, bags.values[:, j])))
        if tuple(present) != tuple(known):
            codes = recode(codes, present, known)
        unseen = (codes < 0) & ~gone if self.missing[j] else codes < 0
        report_unseen(name, unseen, present, known)
        return codes

    def _warn_of_new_gaps(self, gone: np.ndarray, j: int) -> None:
        warnings.warn(
            f"Feature {self.columns[j]!r} is missing in {int(gone.sum())} of {gone.size} rows; in training it never "
            f"was. Such rows count as its mean, {self.means[j]:.4g}. Hint: drop or fill them.",
            ModelWarning,
            stacklevel=2,
        )

    def _same_number(self, n: int) -> None:
        if n != len(self.columns):
            raise DataError(
                f"X has {n} features; the classifier was fitted on {len(self.columns)}.",
                hint="give the columns of training, in their order, or name them here and there.",
            )

    def _ordered(self, bags: Bags) -> Bags:
        if not (_have_names(self.columns) and _have_names(bags.features)):
            self._same_number(bags.n_features)
            return bags
        if bags.features == self.columns:
            return bags
        order = self._positions(bags.features, "The bags")
        levels = {name: bags.levels[name] for name in self.columns if name in bags.levels}
        return bags.with_values(bags.values[:, order], self.columns, levels)

    def _positions(self, present: tuple, what: str) -> list[int]:
        absent = [name for name in self.columns if name not in present]
        if absent:
            listed = ", ".join(repr(x) for x in absent[:3])
            raise DataError(
                f"{what} lack {len(absent)} of the {len(self.columns)} features of training. First: {listed}.",
                hint="name columns as in training (feature_names_in_), or give a matrix, which is taken by position.",
            )
        return [present.index(name) for name in self.columns]

    def _from_frame(self, frame: Any) -> Bags:
        present = frames.column_names(frame)
        if self.named:
            self._positions(present, "The columns of the frame")
            table = frames.to_pandas(frame, list(self.columns), what="X")
        else:
            self._same_number(len(present))
            table = frames.to_pandas(frame, what="X").set_axis(list(self.columns), axis=1)
        return table_rows(table, self.levels)


def recode(codes: np.ndarray, present: Sequence, known: Sequence) -> np.ndarray:
    """Turn codes of the levels `given` into codes of `known`; a new level is "(other)" where that is known, else -1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.features import recode
    >>> recode(np.array([0, 1, 2]), ["b", "x", "a"], ["a", "b"])
    array([ 1, -1,  0])
    """
    place = {level_text(level): k for k, level in enumerate(known)}
    new = place.get(OTHER, -1)
    return np.array([*(place.get(level_text(level), new) for level in present), -1])[codes]


def report_unseen(name: Any, unseen: np.ndarray, present: Sequence, known: Sequence) -> None:
    """Warn of more than one row in a hundred with a level that training didn't have; refuse if all are such rows."""
    share = float(unseen.mean()) if unseen.size else 0.0
    if share <= FEW_UNSEEN:
        return
    texts = {level_text(x) for x in known}
    new = [level_text(x) for x in present if level_text(x) not in texts][:3]
    shown = f" First: {', '.join(map(repr, new))}." if new else ""
    message = f"Feature {name!r} has a level that training didn't have in {share:.1%} of {unseen.size} rows.{shown}"
    if share == 1.0 and unseen.size > 1:
        listed = ", ".join(repr(x) for x in sorted(texts)[:5])
        raise DataError(message, hint=f"levels in training were {listed}: read the column as it was read there.")
    warnings.warn(f"{message} Such rows have no effect of this feature.", ModelWarning, stacklevel=3)


def name_columns(estimator: Any, bags: Bags) -> None:
    """Set scikit-learn's ``n_features_in_`` and, where columns have names of their own, ``feature_names_in_``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sumwise import Bags
    >>> from sumwise.features import name_columns
    >>> fitted = SimpleNamespace()
    >>> name_columns(fitted, Bags.from_arrays([[1.0], [2.0]]))
    >>> vars(fitted)
    {'n_features_in_': 1}
    """
    estimator.n_features_in_ = bags.n_features
    if _have_names(bags.features):
        estimator.feature_names_in_ = np.array([str(name) for name in bags.features], dtype=object)
    elif "feature_names_in_" in vars(estimator):
        del estimator.feature_names_in_


def _have_names(columns: tuple) -> bool:
    return columns != tuple(f"x{j}" for j in range(len(columns)))


def table_rows(table: Any, categorical: Any = ()) -> Bags:
    """The rows of a pandas frame as one bag: numbers, and codes of text, of categories and of `categorical`."""
    levels: dict[str, tuple] = {}
    parts = [frames.column_numbers(table[c], c, levels, c in categorical) for c in table.columns]
    values = np.column_stack(parts) if parts else np.zeros((len(table), 0))
    return Bags(values, np.array([0, len(table)]), None, None, list(table.columns), levels)


FARTHEST = 1e5  # standard deviations from zero; farther off, rounding moves fitted probabilities by more than 1e-4


def refuse_far(bags: Bags) -> Bags:
    """Return bags whose columns lie near enough to zero for a model that doesn't centre them.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.features import refuse_far
    >>> refuse_far(Bags.from_arrays([[1e9, 1e9 + 1, 1e9 + 2]]))
    Traceback (most recent call last):
    sumwise.errors.DataError: 1 of 1 columns lie too far from zero ... First: 'x0', at 1e+09 ± 0.82. Hint: ...
    """
    if bags.n_rows == 0:
        return bags
    low, high = bags.values.min(axis=0), bags.values.max(axis=0)
    least = (high - low) / np.sqrt(2.0 * bags.n_rows)  # that a standard deviation can be; few columns need theirs
    suspects = np.flatnonzero((np.maximum(np.abs(low), np.abs(high)) > FARTHEST * least) & (high > low))
    centre, scale = centre_and_scale(bags.values[:, suspects])
    far = np.abs(centre) > FARTHEST * scale
    checks.nowhere(
        far,
        f"{int(far.sum())} of {low.size} columns lie too far from zero for their spread: rounding would hide how rows "
        "differ",
        lambda j: f"{bags.features[suspects[j]]!r}, at {centre[j]:.4g} ± {scale[j]:.2g}",
        "subtract a typical value, the same in training and prediction.",
    )
    return bags


def refuse_missing(bags: Bags, what: str) -> Bags:
    """Return bags without missing values; `what` says who needs that.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.features import refuse_missing
    >>> refuse_missing(Bags.from_arrays([[1.0, float("nan")]]), "A kernel")
    Traceback (most recent call last):
    sumwise.errors.DataError: A kernel does not accept missing values; feature 'x0' is missing in 1 of 2 rows. Hint: ...
    """
    gone = np.isnan(bags.values)
    if gone.any():
        j = int(np.argmax(gone.any(axis=0)))
        raise DataError(
            f"{what} does not accept missing values; feature {bags.features[j]!r} is missing in "
            f"{int(gone[:, j].sum())} of {bags.n_rows} rows.",
            hint="drop or fill them, or sumwise.features.Features.learn(bags).design(bags) for means and indicators.",
        )
    return bags
