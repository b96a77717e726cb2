"""release: tables to differentially private tables, with the arithmetic shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_html, facts_text
from sumwise.errors import DataError
from sumwise.noise import Exact
from sumwise.privacy import mechanisms
from sumwise.privacy.budget import Budget, rho_of_epsilon
from sumwise.privacy.mechanisms import Mechanism
from sumwise.progress import track
from sumwise.table import Table
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PersonBounds", "ReleasePlan", "plan_release", "release"]


@dataclass(frozen=True, slots=True)
class PersonBounds:
    """How much one person can change the tables.

    Parameters
    ----------
    rows : int, default 1
        The most rows that one person has in the data.
    weight : float, optional
        The largest weight of a row. Default: rows have no weights, and each counts 1.
    replace : bool, default False
        What is protected: whether a person is in the data at all (False), or only what their rows say (True),
        which takes the number of persons as known and doubles what one person can change.

    Examples
    --------
    >>> from sumwise.privacy import PersonBounds
    >>> PersonBounds(rows=3).reach
    3.0
    """

    rows: int = 1
    weight: float | None = None
    replace: bool = False

    def __post_init__(self):
        checks.at_least(self.rows, "rows", 1)
        if self.weight is None:
            return
        checks.at_least(self.weight, "weight", 0, whole_number=False)
        if self.weight <= 0:
            raise DataError(f"weight is {self.weight!r}; it must be above 0.")

    @property
    def reach(self) -> float:
        """How far one person can move the counts of one table, summed over its cells."""
        return self._own * (2.0 if self.replace else 1.0)

    @property
    def euclidean_reach(self) -> float:
        """How far one person can move the counts of one table, as a distance: at worst all rows are in one cell,
        and where they are replaced, all go to one other cell."""
        return self._own * (math.sqrt(2.0) if self.replace else 1.0)

    @property
    def _own(self) -> float:
        return self.rows * (1.0 if self.weight is None else float(self.weight))


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """What a release will do to each table: share of the budget, sensitivity, scale of the noise.

    Made by :func:`plan_release`; nothing is drawn or spent by making it.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.privacy import plan_release
    >>> tables = Tables.from_frame({"a": [0, 1, 1], "b": [0, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y", order=1)
    >>> plan = plan_release(tables, epsilon=1.0)
    >>> plan.to_frame()
      table  cells  sensitivity  epsilon  scale
    0     a      2          2.0      0.5    4.0
    1     b      2          2.0      0.5    4.0
    """

    mechanism: Mechanism
    bounds: PersonBounds
    epsilon: float
    delta: float
    attributes: tuple[tuple[str, ...], ...]
    cells: tuple[int, ...]
    sensitivities: tuple[float, ...]
    losses: tuple[float, ...]
    scales: tuple[float, ...]

    @property
    def unit(self) -> str:
        """What losses are counted in: ``"epsilon"``, or ``"rho"`` of zCDP for Gaussian noise."""
        return "epsilon" if self.mechanism.pure else "rho"

    @property
    def loss(self) -> float:
        """The loss of the whole release, in that unit: losses of tables add up."""
        return math.fsum(self.losses)

    def to_frame(self) -> pd.DataFrame:
        """One line per table."""
        import pandas as pd

        return pd.DataFrame(
            {
                "table": [" x ".join(a) for a in self.attributes],
                "cells": self.cells,
                "sensitivity": self.sensitivities,
                self.unit: self.losses,
                "scale": [float(f"{s:.10g}") for s in self.scales],
            }
        )

    def describe(self) -> dict[str, Any]:
        """The facts: mechanism, what one person can change and why, loss, range of scales."""
        b = self.bounds
        rows = "1 row" if b.rows == 1 else f"{b.rows} rows"
        weight = "" if b.weight is None else f", of weight up to {b.weight:g}"
        relation = "replaced by others" if b.replace else "added or removed"
        return {
            "mechanism": self.mechanism.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": f"up to {rows} of one person{weight}, {relation}",
            "tables": len(self.attributes),
            "sensitivity": f"{'L1' if self.mechanism.pure else 'L2'}, per table, counts and label sums together",
            "largest sensitivity": max(self.sensitivities),
            self.unit: self.loss,
            "scales": (min(self.scales), max(self.scales)),
        }

    def __repr__(self) -> str:
        return facts_text("ReleasePlan", self._facts())

    def _repr_html_(self) -> str:
        return facts_html("ReleasePlan", self._facts())

    def _facts(self) -> dict[str, Any]:
        facts = self.describe()
        return {k: facts[k] for k in ("mechanism", "epsilon", "delta", "tables", "largest sensitivity", "scales")}


def plan_release(
    tables: Tables,
    epsilon: float = 1.0,
    delta: float = 0.0,
    mechanism: str = "geometric",
    bounds: PersonBounds | int | None = None,
    split: Any = "uniform",
) -> ReleasePlan:
    """Work out what :func:`release` would do, without spending or drawing anything.

    Parameters
    ----------
    tables, epsilon, delta, mechanism, bounds, split
        As in :func:`release`.

    Returns
    -------
    ReleasePlan

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.privacy import plan_release
    >>> tables = Tables([Table("a", [30, 70]), Table("b", [40, 60])], Domain({"a": 2, "b": 2}))
    >>> plan_release(tables, epsilon=1.0, bounds=1).scales
    (2.0, 2.0)
    """
    if not isinstance(tables, Tables):
        raise DataError(f"tables is a {type(tables).__name__}.", hint="give Tables, as aggregate makes them.")
    chosen = mechanisms.mechanism(mechanism)
    total = _total_loss(chosen, epsilon, delta)
    bounds = _bounds(bounds)
    for t in tables:
        _check_table(t, chosen, bounds)
    shares = _shares(tables, split)
    sensitivities = tuple(_sensitivity(t, bounds, chosen) for t in tables)
    losses = tuple(total * s for s in shares)
    scales = tuple(chosen.scale(d, loss) for d, loss in zip(sensitivities, losses))
    names = tuple(t.attributes for t in tables)
    cells = tuple(t.counts.size for t in tables)
    return ReleasePlan(chosen, bounds, float(epsilon), float(delta), names, cells, sensitivities, losses, scales)


def release(
    tables: Tables,
    epsilon: float = 1.0,
    delta: float = 0.0,
    mechanism: str = "geometric",
    bounds: PersonBounds | int | None = None,
    budget: Budget | None = None,
    *,
    split: Any = "uniform",
    what: str = "release",
    verbose: int = 0,
) -> Tables:
    """Add noise to tables so that they tell little of any one person, and say in the tables which noise it was.

    Parameters
    ----------
    tables : Tables
        Exact tables, whole: a table that was released before, or has withheld cells, is refused. The levels must
        not come from the data where a level by itself would tell of a person: give a domain when you count.
    epsilon : float, default 1
        Privacy loss of the whole release.
    delta : float, default 0
        Needed, above 0, for Gaussian noise; must be 0 for the others.
    mechanism : {"geometric", "laplace", "gaussian"}
        Geometric noise keeps whole counts whole; so does Gaussian noise on rows without weights (the discrete
        Gaussian).
    bounds : PersonBounds or int, optional
        How much one person can contribute: rows and weight, or a number of rows. Default: one row without a weight.
        Rows beyond it break the promise, and the tables can't tell: bound them before counting. If rows were
        weighted, say how large a weight can be, as ``PersonBounds(weight=2.5)``.
    budget : Budget, optional
        Where to take epsilon from; refused if it isn't there. Without one, this release stands for itself.
    split : "uniform" or mapping or sequence, default "uniform"
        How the budget is shared by the tables: equally, or in proportion to a number per table, as
        ``{("age", "city"): 3.0}`` (tables not named get 1) or one number per table in order.
    what : str
        What the budget's ledger calls this release.
    verbose : int, default 0
        1 shows progress.

    Returns
    -------
    Tables
        On the same domain and encoding; each table carries its noise. Counts may be negative, and tables disagree.
        The population ``n`` is no longer stated.

    Notes
    -----
    One person moves the counts of a table by at most ``rows * weight`` in all, and its label sums by as much, so the
    vector of both has an L1 sensitivity of twice that, and an L2 sensitivity of the square root of two times that.
    Where rows are replaced rather than added or removed, L1 doubles, and L2 grows by the square root of two.
    Pure mechanisms: scale = sensitivity / epsilon of the table. Gaussian: scale = sensitivity / sqrt(2 rho of the
    table), where the whole release has the rho of zCDP that implies (epsilon, delta). OpenDP draws the noise from
    the system's own randomness, without a seed, so this function has no ``random_state``.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.privacy import release
    >>> tables = Tables.from_frame({"a": [0, 1, 1]}, ["a"], order=1)
    >>> release(tables, epsilon=1.0)["a"].noise
    Geometric(scale=1)
    """
    plan = plan_release(tables, epsilon, delta, mechanism, bounds, split)
    _check_weights(tables, plan)
    if budget is not None:
        if not isinstance(budget, Budget):
            raise DataError(f"budget is a {type(budget).__name__}.", hint="give a Budget.")
        budget.spend(**{plan.unit: plan.loss}, what=what)
    noisy = [
        _noisy(t, scale, plan) for t, scale in track(list(zip(tables, plan.scales)), "Adding noise", verbose=verbose)
    ]
    return Tables(noisy, tables.domain, None, tables.label, tables.classes, tables.encoding)


def _total_loss(chosen: Mechanism, epsilon: Any, delta: Any) -> float:
    """The loss of the whole release, in the mechanism's unit."""
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    if epsilon <= 0:
        raise DataError(f"epsilon is {epsilon!r}; it must be above 0.", hint="smaller means more noise.")
    checks.at_least(delta, "delta", 0, whole_number=False)
    if chosen.pure:
        if delta:
            raise DataError(f"The {chosen.name} mechanism has no delta; {delta!r} was given.", hint="leave it out.")
        return float(epsilon)
    if not 0 < delta < 1:
        raise DataError(
            f"delta is {delta!r}; Gaussian noise needs one between 0 and 1.", hint="far below one over n, as 1e-6."
        )
    return rho_of_epsilon(epsilon, delta)


def _bounds(given: Any) -> PersonBounds:
    if given is None:
        return PersonBounds()
    if isinstance(given, PersonBounds):
        return given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return PersonBounds(rows=int(given))
    raise DataError(
        f"bounds is {given!r}.", hint="give the most rows of a person, or PersonBounds(rows=..., weight=...)."
    )


def _check_table(table: Table, chosen: Mechanism, bounds: PersonBounds) -> None:
    name = " x ".join(map(repr, table.attributes))
    if not isinstance(table.noise, Exact):
        raise DataError(
            f"The table over {name} already has noise: {table.noise!r}.", hint="release exact tables, once."
        )
    arrays = [table.counts] if table.label_sums is None else [table.counts, table.label_sums]
    if any(np.isnan(x).any() for x in arrays):
        raise DataError(
            f"The table over {name} has withheld cells; which cells those are tells of the data.",
            hint="release the tables before small cells are withheld.",
        )
    if any(np.abs(x).max(initial=0.0) > mechanisms.LARGEST_WHOLE for x in arrays):
        raise DataError(f"The table over {name} has counts beyond 2**53.", hint="doubles can't hold such counts.")
    if all(np.array_equal(x, np.floor(x)) for x in arrays):
        return
    if chosen.whole:
        raise DataError(
            f"The table over {name} has counts or label sums that are not whole; the geometric mechanism needs "
            "whole ones.",
            hint="weighted tables take mechanism='laplace' or 'gaussian'.",
        )
    if bounds.weight is None:
        raise DataError(
            f"The table over {name} has counts that are not whole, so rows had weights; bounds don't say how large.",
            hint="bounds=PersonBounds(weight=...), or --max-weight, is the largest weight of a row.",
        )


def _check_weights(tables: Tables, plan: ReleasePlan) -> None:
    if plan.bounds.weight is None or plan.bounds.weight >= 1:
        return
    if any(np.any(t.counts != np.floor(t.counts)) for t in tables):
        return
    raise DataError(
        f"bounds say that weights are at most {plan.bounds.weight:g}, and all counts are whole.",
        hint="rows without weights count 1 each: leave weight out.",
    )


def _sensitivity(table: Table, bounds: PersonBounds, chosen: Mechanism) -> float:
    """Counts and label sums are one vector: a person's rows move both."""
    parts = 1 if table.label_sums is None else 2
    return bounds.reach * parts if chosen.pure else bounds.euclidean_reach * math.sqrt(parts)


def _shares(tables: Tables, split: Any) -> list[float]:
    if isinstance(split, str):
        checks.choice(split, "split", ("uniform",))
        weights = [1.0] * len(tables)
    elif isinstance(split, Mapping):
        weights = [1.0] * len(tables)
        for key, value in split.items():
            wanted = sorted(key) if isinstance(key, tuple) else [key]
            found = [i for i, t in enumerate(tables) if sorted(t.attributes) == wanted]
            if not found:
                raise DataError(f"split names {key!r}, and there is no such table.")
            for i in found:
                weights[i] = value
    elif isinstance(split, Sequence | np.ndarray) and len(split) == len(tables):
        weights = list(split)
    else:
        raise DataError(
            f"split is {split!r}.", hint=f"give 'uniform', a mapping of tables to numbers, or {len(tables)} numbers."
        )
    for w in weights:
        checks.at_least(w, "split", 0, whole_number=False)
        if w <= 0:
            raise DataError(
                f"split gives a table {w!r} of the budget.", hint="each table needs some; leave others out."
            )
    total = math.fsum(weights)
    return [float(w) / total for w in weights]


def _noisy(table: Table, scale: float, plan: ReleasePlan) -> Table:
    chosen, whole = plan.mechanism, plan.bounds.weight is None  # told, not seen: what is seen would show
    counts = chosen.add(table.counts, scale, whole)
    sums = None if table.label_sums is None else chosen.add(table.label_sums, scale, whole)
    return Table(table.attributes, counts, sums, chosen.noise(scale))
