"""Estimate: labelled numbers with intervals and the bounds that the data imply."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Estimate"]

ARRAYS = ("values", "low", "high", "lower_bound", "upper_bound")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """Named numbers with intervals, and the bounds that hold for any model.

    Parameters
    ----------
    values : array
        The estimates, of any shape; NaN where there is none.
    low, high : arrays, optional
        The interval of probability `level`.
    level : float in (0, 1), optional
        For example 0.95; needed with an interval.
    labels : sequence of sequences, optional
        The names along each axis.
    axes : sequence of str, optional
        What each axis is, for example ("group", "candidate").
    lower_bound, upper_bound : arrays, optional
        What the data imply without any model.
    name : str
        What is estimated.

    See Also
    --------
    sumwise.report.report : A page on a fitted model.

    Examples
    --------
    >>> from sumwise import Estimate
    >>> e = Estimate([[0.7, 0.3]], low=[[0.6, 0.2]], high=[[0.8, 0.4]], level=0.95,
    ...              labels=[["a"], ["yes", "no"]], axes=["group", "vote"], name="share")
    >>> e.to_frame()
      group vote  share  low  high
    0     a  yes    0.7  0.6   0.8
    1     a   no    0.3  0.2   0.4
    """

    values: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    level: float | None = None
    labels: tuple = None  # type: ignore[assignment]
    axes: tuple = None  # type: ignore[assignment]
    lower_bound: np.ndarray | None = None
    upper_bound: np.ndarray | None = None
    name: str = "estimate"

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            values: Any,
            low: Any = None,
            high: Any = None,
            level: float | None = None,
            labels: Any = None,
            axes: Any = None,
            lower_bound: Any = None,
            upper_bound: Any = None,
            name: str = "estimate",
        ) -> None: ...

    def __post_init__(self):
        if self.values is None:
            raise DataError("The values are None.", hint="give the estimates.")
        arrays = {n: getattr(self, n) for n in ARRAYS if getattr(self, n) is not None}
        for name, value in arrays.items():
            array = checks.finite(value, name, allow_nan=True)
            object.__setattr__(self, name, checks.frozen(array))
            if array.shape != self.values.shape:
                raise DataError(f"{name} has shape {array.shape}; the values have {self.values.shape}.")
        for lower, upper in (("low", "high"), ("lower_bound", "upper_bound")):
            if (lower in arrays) != (upper in arrays):
                raise DataError(f"{lower} and {upper} go together; one of them is missing.")
            if lower in arrays and (above := getattr(self, lower) > getattr(self, upper)).any():
                raise DataError(f"{lower} is above {upper} in {int(above.sum())} of {above.size} places.")
        if (self.low is None) != (self.level is None):
            raise DataError("An interval needs its level, and a level its interval.", hint="give low, high and level.")
        if self.level is not None:
            checks.fraction(self.level, "level")
        shape = self.values.shape
        axes = checks.names(self.axes, len(shape), "axes", "axis")
        value = [range(n) for n in shape] if self.labels is None else self.labels
        labels = checks.listing(value, "labels", "give a list of names per axis.")
        if len(labels) != len(shape):
            raise DataError(f"There are labels for {len(labels)} axes; the values have {len(shape)}.")
        names = tuple(checks.names(names, n, f"labels of {a!r}", str(a)) for names, n, a in zip(labels, shape, axes))
        checks.unique([*map(str, axes), str(self.name), *ARRAYS[1:]], "The columns of an estimate")
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "labels", names)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """(low, high); an error where the estimate has none."""
        if self.low is None or self.high is None:
            raise DataError("This estimate has no interval.", hint="ask the estimator for one: estimate(level=0.95).")
        return self.low, self.high

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    def covers(self, truth: Any) -> np.ndarray:
        """Return for each number whether its interval holds the truth."""
        low, high = self.interval
        expected = checks.finite(truth, "truth")
        if expected.shape != self.shape:
            raise DataError(f"The truth has shape {expected.shape}; the estimate has {self.shape}.")
        return (low <= expected) & (expected <= high)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one row per number."""
        import pandas as pd

        index = np.indices(self.shape).reshape(len(self.shape), self.values.size)
        frame = {axis: [names[i] for i in index[k]] for k, (axis, names) in enumerate(zip(self.axes, self.labels))}
        columns = dict(zip(ARRAYS, (self.name, *ARRAYS[1:])))
        for field, column in columns.items():
            if (array := getattr(self, field)) is not None:
                frame[column] = array.ravel()
        return pd.DataFrame(frame)

    def plot(self, ax: Any = None) -> Any:
        """Draw values, intervals and bounds, and return the axes; see `sumwise.plots.plot_estimate`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_estimate(self, ax)

    def describe(self) -> dict[str, Any]:
        """Return the facts: what is estimated, of which shape, with which interval and bounds."""
        width = None if self.low is None or self.high is None else float(np.nanmean(self.high - self.low))
        return {
            "name": self.name,
            "axes": {str(a): len(names) for a, names in zip(self.axes, self.labels)},
            "level": self.level,
            "mean width": width,
            "bounds": self.lower_bound is not None,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        words = all(getattr(self, n) == getattr(other, n) for n in ("level", "labels", "axes", "name"))
        return words and all(_same(getattr(self, n), getattr(other, n)) for n in ARRAYS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):  # a copy is as frozen as the original
        return Estimate, tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        interval = "" if self.level is None else f", {100 * self.level:g}% interval"
        table = self.to_frame()
        more = f"\n... {len(table)} in all" if len(table) > 20 else ""
        return f"Estimate of {self.name}{interval}\n{table.head(20).to_string(index=False, float_format='%.4g')}{more}"

    def _repr_html_(self) -> str:
        words = f"{self.values.size} estimates of {self.name}"
        if self.low is not None and self.high is not None and self.values.size:
            width = np.nan_to_num(self.high - self.low)
            k = int(width.argmax())
            spans = f"{100 * width.ravel()[k]:.1f} points" if self.name == "share" else f"{width.ravel()[k]:.3g}"
            words += f" with {100 * (self.level or 0):g}% intervals; the widest spans {spans}"
        return finding_html(f"{words}.", self.to_frame(), most=200)


def _same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))
