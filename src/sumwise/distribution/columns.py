"""How the columns of bags enter an embedding: numbers centred and scaled, categories as shares of their levels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags, as_bags
from sumwise.distribution.kernels.segments import segment_means
from sumwise.errors import DataError, ModelWarning
from sumwise.features import MISSING, recode, report_unseen
from sumwise.inference.canonical import column_order
from sumwise.learned import check_learned

__all__ = ["Columns", "check_bags"]

ROUNDING = 1e-12  # differences of standardised values up to this are rounding error
UNSEEN = "(unseen)"  # a level that training didn't have: a share of no known one


def check_bags(bags: Any, least: int = 1) -> Bags:
    """Return bags that can be embedded: at least this many, none of them empty.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution.columns import check_bags
    >>> check_bags(Bags.from_arrays([[1.0], [2.0]]), least=3)
    Traceback (most recent call last):
    sumwise.errors.DataError: There are 2 bags; at least 3 are needed. Hint: a sample is a bag: one response each.
    """
    bags = as_bags(bags)
    hint = "use bags.drop_empty(), and the responses of those bags."
    checks.nowhere(bags.sizes == 0, "{} bags are empty", lambda i: f"bag {checks.plain(bags.ids[i])!r}", hint)
    if len(bags) < least:
        raise DataError(
            f"There are {len(bags)} bags; at least {least} are needed.", hint="a sample is a bag: one response each."
        )
    return bags


@dataclass(frozen=True)
class Columns:
    """Which columns are numbers, their centre and scale, and the levels of the others; learned from training bags.

    Missing numbers are replaced by the mean of their column, and a column that had some in training is joined by its
    indicator of missing values; missing categories are a level of their own. A level that training didn't have has no
    share of its own: more than one such row in a hundred is worth a warning, a column of nothing else is refused.

    Parameters
    ----------
    features : tuple
    numeric : integer array (d,)
        Positions of the columns of numbers that vary.
    centre, scale : arrays (d,)
        Subtracted from and divided into those columns.
    levels : dict
        Levels by name, for columns that hold codes.
    fill : array (n_given,), optional
        What missing numbers are replaced by, for each column of the bags as given.
    gaps : tuple
        Names of the columns of numbers with missing values in training.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution.columns import Columns
    >>> columns = Columns.learn(Bags.from_arrays([[1.0, 3.0], [2.0, 2.0]]))
    >>> columns.centre, columns.dimension
    (array([2.]), 1)
    """

    features: tuple
    numeric: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    levels: dict
    fill: np.ndarray | None = None
    gaps: tuple = ()

    def __post_init__(self) -> None:
        check_learned(self, "features: names *; gaps: names *; levels: levels")
        if not ({*self.levels} <= {*self.given} and {*self.gaps} <= {*self.given}):
            raise DataError("There are levels or missing values of columns that aren't there.")
        numeric = np.asarray(self.numeric)  # compiled code takes these positions on trust; a file may be forged
        inside = numeric.dtype.kind in "iu" and np.all((numeric >= 0) & (numeric < len(self.features)))
        if numeric.ndim != 1 or not inside or not np.shape(self.centre) == np.shape(self.scale) == numeric.shape:
            raise DataError(f"Columns of numbers are {numeric}, for {len(self.features)} features.")
        check_learned(self, "centre, scale: float d; fill?: float *")

    @property
    def given(self) -> tuple:
        """Columns of the bags as given, before indicators of missing values were added."""
        return self.features[: len(self.features) - len(self.gaps)]

    @classmethod
    def learn(cls, bags: Bags, standardize: bool = True, by_content: bool = False) -> Columns:
        """Learn from training bags, each counted the same; constant columns are left out with a warning.

        With `by_content` the columns of numbers are in an order of what they hold, for those who draw numbers for them.
        """
        order = column_order(bags) if by_content else np.arange(bags.n_features)
        gone = np.isnan(bags.values)
        some = dict(zip(bags.features, np.asarray(gone.any(axis=0)).tolist()))
        gaps = tuple(name for name in bags.features if some[name] and name not in bags.levels)
        fill = _means_of_known(bags, gone) if gone.any() else None
        held = {name: (*levels, MISSING) if some[name] else levels for name, levels in bags.levels.items()}
        bags = _filled(bags, gaps, fill, held)
        order = [*order.tolist(), *range(len(order), bags.n_features)]  # indicators of missing values were added
        numeric = np.array([j for j in order if bags.features[j] not in bags.levels], dtype=np.int64)
        weights = bags.given_weights
        # Not features.mean_and_std, for which a bag counts by its rows: here every bag counts the same
        moments = segment_means(bags.values, bags.offsets, weights).mean(axis=0)[numeric]
        centre = np.zeros(bags.n_features)
        centre[numeric] = moments
        spread = segment_means(bags.values, bags.offsets, weights, centre, 2)
        scale = np.sqrt(spread.mean(axis=0)[numeric])
        constant = scale <= ROUNDING * np.maximum(np.abs(moments), 1e-300)
        if constant.any():
            named = ", ".join(repr(bags.features[j]) for j in numeric[constant][:3])
            if constant.all() and not bags.levels:
                raise DataError(f"All {len(constant)} columns are constant ({named}): bags do not differ.")
            warnings.warn(
                f"{int(constant.sum())} of {bags.n_features} columns are constant ({named}) and are left out.",
                ModelWarning,
                stacklevel=4,
            )
        kept = ~constant
        scale = scale[kept] if standardize else np.ones(int(kept.sum()))
        return cls(bags.features, numeric[kept], moments[kept], scale, dict(bags.levels), fill, gaps)

    @property
    def dimension(self) -> int:
        """Number of columns of numbers."""
        return len(self.numeric)

    def check(self, bags: Any) -> Bags:
        """Return bags whose columns are those of training, codes of categories translated to its levels."""
        bags = self._in_order(check_bags(bags))
        if self.gaps or bags.levels != self.levels or _has_missing(bags.values):
            bags = self._prepared(bags, np.isnan(bags.values))
        return bags

    def _in_order(self, bags: Bags) -> Bags:
        """Return the bags with the columns of training in their order, by name."""
        if bags.features == self.given:
            return bags
        lacking = [name for name in self.given if name not in bags.features]
        extra = [name for name in bags.features if name not in self.given]
        if lacking or extra:
            found = [f"lack {name!r}" for name in lacking[:1]] + [f"have {name!r} besides" for name in extra[:1]]
            raise DataError(
                f"The bags have {bags.n_features} columns; those of training had {len(self.given)}. They "
                f"{' and '.join(found)}.",
                hint="give columns of the same names.",
            )
        order = [bags.features.index(name) for name in self.given]
        return bags.with_values(np.asarray(bags.values)[:, order], self.given, bags.levels)

    def _prepared(self, bags: Bags, gone: np.ndarray) -> Bags:
        """Return the bags with missing values filled and codes of categories translated."""
        some = np.flatnonzero(gone.any(axis=0)).tolist()
        new = [bags.features[j] for j in some if bags.features[j] not in (*self.gaps, *self.levels)]
        if new:
            warnings.warn(
                f"Column {new[0]!r} has missing values, which training had not: its mean takes their place.",
                ModelWarning,
                stacklevel=5,
            )
        known = np.zeros(len(self.given))
        known[self.numeric[self.numeric < len(known)]] = self.centre[self.numeric < len(known)]
        values, held = np.array(bags.values), dict(self.levels)
        for name, levels in self.levels.items():
            j = self.given.index(name)
            mine = bags.levels.get(name)
            codes = values[:, j]
            if gone[:, j].any():
                mine, codes = (*(mine or ()), MISSING), np.where(gone[:, j], len(mine or ()), codes)
            values[:, j] = _translated(codes, mine, levels, name)
            if (values[:, j] == len(levels)).any():
                held[name] = (*levels, UNSEEN)
        bags = bags.with_values(values, self.given, held)
        return _filled(bags, self.gaps, known if self.fill is None else self.fill, held)

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the columns of numbers, centred and scaled; rows may be any part of all rows."""
        return (values[:, self.numeric] - self.centre) / self.scale

    def shares(self, bags: Bags) -> np.ndarray:
        """Return the weighted share of every level in every bag, (n_bags, number of levels)."""
        parts = [np.zeros((len(bags), 0))]
        index = bags.bag_index if self.levels else np.zeros(0, dtype=np.int64)
        for name, levels in self.levels.items():
            codes = bags.values[:, self.features.index(name)].astype(np.int64)
            width = len(levels) + 1  # the last: levels that training didn't have
            counts = np.bincount(index * width + codes, bags.weights, len(bags) * width).reshape(len(bags), width)
            parts.append((counts / counts.sum(axis=1, keepdims=True))[:, :-1])
        return np.hstack(parts)


def _has_missing(values: np.ndarray, block: int = 8192) -> bool:
    return any(np.isnan(values[i : i + block]).any() for i in range(0, len(values), block))


def _means_of_known(bags: Bags, gone: np.ndarray) -> np.ndarray:
    """Weighted means of what is known of every column; 0 where nothing is."""
    weights = np.where(gone, 0.0, bags.weights[:, None])
    total = weights.sum(axis=0)
    return np.where(gone, 0.0, bags.values * weights).sum(axis=0) / np.where(total > 0, total, 1.0)


def _filled(bags: Bags, gaps: tuple, fill: np.ndarray | None, levels: dict) -> Bags:
    """Return bags without missing values, with an indicator for each column of `gaps`."""
    gone = np.isnan(bags.values)
    if fill is None or not (gone.any() or gaps):
        return bags
    missing = np.array([len(levels[n]) - 1 if n in levels else f for n, f in zip(bags.features, fill)])
    indicators = gone[:, [bags.features.index(name) for name in gaps]].astype(float)
    values = np.hstack([np.where(gone, missing, bags.values), indicators])
    return bags.with_values(values, (*bags.features, *(f"{name} ({MISSING})" for name in gaps)), levels)


def _translated(codes: np.ndarray, given: tuple | None, known: tuple, name: Any) -> np.ndarray:
    """Return codes of training's levels for codes of other bags' levels; one past the last for a level it lacked."""
    if given is None:
        raise DataError(f"Column {name!r} has no levels; in training it had.", hint="build the bags the same way.")
    out = recode(codes.astype(np.int64), given, known)
    report_unseen(name, out < 0, given, known)
    return np.where(out < 0, len(known), out)
