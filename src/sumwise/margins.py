"""Margins: row and column totals of one table per unit; the cells are unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError

__all__ = ["Margins"]

BY_UNIT = ("rows", "cols", "units", "weights", "covariates", "row_sd")
SIDES = ("rows", "cols", "covariates", "row_sd")  # arrays with a row per unit
ROWS_TOTAL = "row totals of each unit"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Margins:
    """Row and column totals of one table per unit (precinct, county, ...); the cells are unknown.

    Parameters
    ----------
    rows : array of shape (n_units, n_rows)
        Counts by group; they may be fractional. A data frame gives `row_names` by its columns. Pandas frames
        and series are aligned by their index, whose labels become the `units` if none are given; labels that differ
        are an error. A plain index 0, 1, ... beside other labels is taken in its order.
    cols : array of shape (n_units, n_cols)
        Counts by outcome. Each unit's total must equal that of its rows within a relative 1e-9.
    units : sequence, optional
        A distinct id per unit; default 0, 1, ...
    row_names, col_names : sequences of str, optional
    weights : array of shape (n_units,), optional
        How much each unit counts in a fit, compared with the others; default 1.
    covariates : array of shape (n_units, k) or data frame, optional
        Facts about units, for methods that use them.
    covariate_names : sequence, optional
        Names of the covariates; a data frame brings its own.
    denominator : str, optional
        In words, what the totals are (turnout, voting-age population); reports state it.
    row_sd : array of shape (n_units, n_rows), optional
        Standard deviations of the counts by group, where these are estimates themselves (race probabilities from names
        and places, survey or census error, noise added for disclosure avoidance). `EcologicalEM` corrects for it and
        lets intervals include it; other methods warn that they don't.

    See Also
    --------
    Contests : Several contests of the same units.
    sumwise.ecological.EcologicalEM : Estimate the cells.
    sumwise.ecological.Bounds : What the margins imply without a model.

    Examples
    --------
    >>> from sumwise import Margins
    >>> m = Margins([[60, 40], [10, 90]], [[55, 45], [30, 70]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> m
    Margins(units=2, rows=[a, b], cols=[yes, no], total=200)
    >>> m[[1]].rows
    array([[10., 90.]])
    """

    rows: np.ndarray
    cols: np.ndarray
    units: np.ndarray = None  # type: ignore[assignment]
    row_names: tuple = None  # type: ignore[assignment]
    col_names: tuple = None  # type: ignore[assignment]
    weights: np.ndarray = None  # type: ignore[assignment]
    covariates: np.ndarray | None = None
    denominator: str | None = None
    covariate_names: tuple[Any, ...] | None = None
    row_sd: np.ndarray | None = None

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            rows: Any,
            cols: Any,
            units: Any = None,
            row_names: Sequence[Any] | None = None,
            col_names: Sequence[Any] | None = None,
            weights: Any = None,
            covariates: Any = None,
            denominator: str | None = None,
            covariate_names: Sequence[Any] | None = None,
            row_sd: Any = None,
        ) -> None: ...

    def __post_init__(self):
        self._align()
        row_names = self.row_names if self.row_names is not None else _names_of(self.rows)
        col_names = self.col_names if self.col_names is not None else _names_of(self.cols)
        rows = checks.counts(_array_of(self.rows), "rows", ndim=2)
        cols = checks.counts(_array_of(self.cols), "cols", ndim=2)
        for name, side in (("rows", rows), ("cols", cols)):
            if not all(side.shape):
                raise DataError(f"{name} has shape {side.shape}; it needs at least one unit and one column.")
        n = checks.same_length(rows=rows, cols=cols)
        units = checks.identifiers(self.units, n, "units")
        checks.same_totals(rows, cols, units)
        self._set("rows", checks.frozen(rows))
        self._set("cols", checks.frozen(cols))
        self._set("units", units)
        self._set("row_names", checks.names(row_names, rows.shape[1], "row_names", "row"))
        self._set("col_names", checks.names(col_names, cols.shape[1], "col_names", "col"))
        self._set("weights", _unit_weights(self.weights, n, units))
        self._set("denominator", ROWS_TOTAL if self.denominator is None else str(self.denominator))
        self._set_covariates(units)
        if self.row_sd is not None:
            row_sd = checks.counts(_side_of(self.row_sd, self.row_names, "row_sd"), "row_sd", ndim=2)
            if row_sd.shape != rows.shape:
                raise DataError(
                    f"row_sd has shape {row_sd.shape}; rows has {rows.shape}.", hint="one per count by group."
                )
            self._set("row_sd", checks.frozen(row_sd))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        rows: Sequence[Any] | Mapping[Any, Any],
        cols: Sequence[Any] | Mapping[Any, Any],
        unit: str | None = None,
        total: str | None = None,
        mismatch: str = "raise",
        *,
        weight: str | None = None,
        covariates: Sequence[Any] | None = None,
        rows_in: str | None = None,
        cols_in: str | None = None,
        row_sd: Sequence[Any] | None = None,
        ballots: str | None = None,
    ) -> Margins:
        """Build margins from one row per unit, with a column per group and per outcome.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        rows, cols : list of columns, or dict of name to column
            In a dict, the column None stands for the rest of the total: ``{"black": "x", "white": None}``.
        unit : str, optional
            The column of unit ids.
        total : str, optional
            The column of unit totals. A side without an entry above 1 is then read as shares, one that sums to 100
            in every unit as percents; sums that miss the whole by rounding are corrected, larger ones are refused.
        mismatch : {"raise", "rescale", "no_vote", "drop"}
            What to do where the sides' totals differ: refuse and list units; scale the sides to the total (of the
            rows where no `total` is given); add an outcome "no vote" that holds what is missing; or
            leave such units out, which `denominator` then names.
        weight, covariates : str and list of str, optional
            Further columns.
        rows_in, cols_in : {"count", "share", "percent"}, optional
            What the columns of a side hold, where the numbers alone would not show it.
        row_sd : list of columns, optional
            Standard errors of the groups, one for each column of ``rows`` and in its unit (counts, shares, percents).
        ballots : str, optional
            The column of people who turned out. Shares and a rest of ``cols`` are then of them; ballots beyond the
            votes become the outcome "undervote", and with ``mismatch="no_vote"`` only people beyond the ballots are
            "no vote".
            More votes than ballots are refused: where each voter had several votes, votes aren't people, and each
            candidate is read by itself, as ``{"Smith": "smith", "not Smith": None}``.

        Examples
        --------
        >>> import pandas as pd
        >>> from sumwise import Margins
        >>> df = pd.DataFrame({"x": [0.25, 0.5], "t": [0.5, 0.75], "n": [100, 200]})
        >>> m = Margins.from_frame(df, {"black": "x", "white": None}, {"yes": "t", "no": None}, total="n")
        >>> m.rows
        array([[ 25.,  75.],
               [100., 100.]])
        >>> m.denominator
        "column 'n'"

        Of 100 adults 70 turned out, and 64 of them voted in this contest:

        >>> df = pd.DataFrame({"young": [40], "old": [60], "yes": [34], "no": [30], "cast": [70]})
        >>> m = Margins.from_frame(df, ["young", "old"], ["yes", "no"], ballots="cast", mismatch="no_vote")
        >>> dict(zip(m.col_names, m.cols[0].tolist()))
        {'yes': 34.0, 'no': 30.0, 'undervote': 6.0, 'no vote': 30.0}
        """
        from sumwise.schema.building.margins import margins_schema

        columns = {"unit": unit, "total": total, "weight": weight, "ballots": ballots}
        columns |= {"groups_in": rows_in, "outcomes_in": cols_in}
        lists = {"covariates": covariates, "groups_sd": row_sd}
        return margins_schema(rows, cols, mismatch, columns, lists).read(frame)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.rows.shape[0]

    @property
    def n_rows(self) -> int:
        """Number of groups R."""
        return self.rows.shape[1]

    @property
    def n_cols(self) -> int:
        """Number of outcomes C."""
        return self.cols.shape[1]

    @property
    def shape(self) -> tuple[int]:
        """(n_units,): a sample is a unit."""
        return (self.n_units,)

    @property
    def totals(self) -> np.ndarray:
        """The total of each unit, (n_units,)."""
        return self.rows.sum(axis=1)

    @property
    def row_shares(self) -> np.ndarray:
        """Rows over totals, (n_units, R); 0 in an empty unit."""
        return _shares(self.rows)

    @property
    def col_shares(self) -> np.ndarray:
        """Columns over totals, (n_units, C); 0 in an empty unit."""
        return _shares(self.cols)

    def describe(self) -> dict[str, Any]:
        """Return the facts: sizes, names, totals, and how many units are empty or of one group only."""
        return {
            "units": self.n_units,
            "rows": list(self.row_names),
            "cols": list(self.col_names),
            "total": float(self.rows.sum()),
            "row totals": dict(zip(self.row_names, self.rows.sum(axis=0).tolist())),
            "col totals": dict(zip(self.col_names, self.cols.sum(axis=0).tolist())),
            "smallest unit": float(self.totals.min(initial=self.totals.max(initial=0.0))),
            "largest unit": float(self.totals.max(initial=0.0)),
            "empty units": int((self.totals == 0).sum()),
            "homogeneous units": int(((self.rows > 0).sum(axis=1) == 1).sum()),
            "denominator": self.denominator,
            "covariates": list(self.covariate_names or ()),
        }

    def __len__(self) -> int:
        return self.n_units

    def __getitem__(self, index: Any) -> Margins:
        chosen = checks.unit_index(index, self.n_units)
        chosen = slice(chosen, chosen + 1) if isinstance(chosen, int) else chosen
        fields = ((n, getattr(self, n)) for n in self.__slots__)
        return _derived(*(v[chosen] if n in BY_UNIT and v is not None else v for n, v in fields))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Margins):
            return NotImplemented
        arrays = all(_equal(getattr(self, n), getattr(other, n)) for n in BY_UNIT)
        words = ("row_names", "col_names", "denominator", "covariate_names")
        return arrays and all(getattr(self, n) == getattr(other, n) for n in words)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _restored(cls, **fields: Any) -> Margins:
        """Build checked margins from a file; unlike the constructor, allow a part with repeated units or none."""
        units = fields.get("units")
        if not isinstance(units, np.ndarray) or 0 < len(units) == len(set(units.tolist())):
            return cls(**fields)
        checked = {**fields, "units": None}
        if not len(units):  # names can only be checked on a unit
            sides = {n: np.zeros((1, *np.asarray(fields.get(n)).shape[1:])) for n in SIDES}
            checked |= {n: zeros for n, zeros in sides.items() if fields.get(n) is not None} | {"weights": None}
        combined = cls(**checked)
        checks.same_length(**{n: fields.get(n) for n in BY_UNIT})
        part = combined if len(units) else combined[[]]
        return _derived(*(units if n == "units" else getattr(part, n) for n in cls.__slots__))

    def __reduce__(self):  # a copy is as frozen as the original, and may have repeated units
        return _derived, tuple(getattr(self, n) for n in self.__slots__)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the figure that suits these data and return its axes; see `sumwise.plots.plot_containers`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_containers(self, ax, **options)

    def __repr__(self) -> str:
        return facts_text("Margins", self._facts())

    def _repr_html_(self) -> str:
        import pandas as pd

        total = float(self.rows.sum())
        words = f"{self.n_units:,} units, {total:,.0f} people ({self.denominator}): who chose what is not known."
        sides = [("group", self.row_names, self.rows), ("outcome", self.col_names, self.cols)]
        rows = [
            (side, str(n), f"{v:,.0f}", f"{v / total:.1%}" if total else "")
            for side, names, values in sides
            for n, v in zip(names, np.asarray(values).sum(axis=0))
        ]
        return finding_html(words, pd.DataFrame(rows, columns=["side", "name", "people", "share"]))

    def _facts(self) -> dict[str, Any]:
        return {"units": self.n_units, "rows": self.row_names, "cols": self.col_names, "total": float(self.rows.sum())}

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _align(self) -> None:
        """Put pandas frames and series into one order by their index, which also names the units."""
        per_unit = {name: getattr(self, name) for name in BY_UNIT}
        if not any(hasattr(x, "iloc") for x in per_unit.values()):
            return
        from sumwise.frames import in_one_order

        aligned, labels = in_one_order(per_unit)
        for name, value in aligned.items():
            self._set(name, value)
        if self.units is None and labels is not None:
            self._set("units", labels)

    def _set_covariates(self, units: np.ndarray) -> None:
        if self.covariates is None:
            if self.covariate_names is not None:
                raise DataError("covariate_names are given without covariates.")
            return
        names = self.covariate_names if self.covariate_names is not None else _names_of(self.covariates)
        array = checks.finite(_array_of(self.covariates), "covariates")
        array = checks.finite(array[:, None] if array.ndim == 1 else array, "covariates", ndim=2)
        checks.same_length(units=units, covariates=array)
        self._set("covariates", checks.frozen(array))
        self._set("covariate_names", checks.names(names, array.shape[1], "covariate_names", "z"))


def _derived(*fields: Any) -> Margins:
    """Return margins made of parts that were checked before; units may repeat, as in a bootstrap, or be none."""
    part = object.__new__(Margins)
    for name, value in zip(Margins.__slots__, fields):
        object.__setattr__(part, name, checks.frozen(value) if isinstance(value, np.ndarray) else value)
    return part


def _unit_weights(value: Any, n: int, units: np.ndarray) -> np.ndarray:
    if value is None:
        return np.broadcast_to(np.float64(1.0), n)
    weights = checks.counts(value, "weights", ndim=1)
    checks.same_length(units=units, weights=weights)
    if not weights.sum() > 0:
        raise DataError("All unit weights are zero.", hint="give at least one unit a weight above zero.")
    return checks.frozen(weights)


def _shares(side: np.ndarray) -> np.ndarray:
    total = side.sum(axis=1, keepdims=True)
    return np.divide(side, total, out=np.zeros_like(side), where=total > 0)


def _equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


def _names_of(x: Any) -> tuple[Any, ...] | None:
    from sumwise import frames

    return frames.column_names(x) if hasattr(x, "columns") and frames.is_frame(x) else None


def _array_of(x: Any) -> Any:
    if not hasattr(x, "columns"):
        return x
    from sumwise import frames

    return frames.numeric(x, frames.column_names(x), "margins") if frames.is_frame(x) else x


def _side_of(x: Any, names: tuple[Any, ...], what: str) -> Any:
    """The columns of a frame by the names of a side."""
    if not hasattr(x, "columns"):
        return x
    from sumwise.frames import by_names

    return by_names(x, names, what)
