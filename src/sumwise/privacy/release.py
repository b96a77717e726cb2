"""release: tables to differentially private tables, with the arithmetic shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_text, finding_html, record_html
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.noise import Exact, Gaussian, Noise, Summed
from sumwise.privacy import mechanisms
from sumwise.privacy.accounting import check_promise, loose_rho, mu_of_epsilon
from sumwise.privacy.budget import UNSAID, Budget, checked_budget
from sumwise.privacy.ledger import fingerprints
from sumwise.privacy.mechanisms import Mechanism
from sumwise.progress import track
from sumwise.provenance import Provenance
from sumwise.table import Table, title
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class PersonBounds:
    """How much one person can change the tables.

    Parameters
    ----------
    rows : int >= 1, default 1
        The most rows that one person has in the data.
    weight : float >= 0, optional
        The largest weight of a row. Default: rows have no weights, and each counts 1. Weighted rows must have been
        counted with ``max_weight`` of at most this, which clips larger weights.
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

    _repr_html_ = record_html

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
    >>> from sumwise import Domain, Tables
    >>> from sumwise.privacy import plan_release
    >>> rows, domain = {"a": [0, 1, 1], "b": [0, 0, 1], "y": [1, 0, 1]}, Domain({"a": 2, "b": 2})
    >>> tables = Tables.from_frame(rows, ["a", "b"], label="y", order=1, domain=domain)
    >>> plan = plan_release(tables, epsilon=1.0)
    >>> plan.to_frame()
      table  cells  sensitivity  epsilon  scale
    0     a      4          1.0      0.5    2.0
    1     b      4          1.0      0.5    2.0
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
    labelled: bool = False

    @property
    def unit(self) -> str:
        """What losses are counted in: ``"epsilon"``, or ``"rho"`` of zCDP for Gaussian noise."""
        return "epsilon" if self.mechanism.pure else "rho"

    @property
    def loss(self) -> float:
        """The loss of the whole release, in that unit: losses of tables add up."""
        return math.fsum(self.losses)

    @property
    def entry(self) -> dict[str, float]:
        """The loss of the whole release as a ledger's entry."""
        return {"epsilon": self.loss} if self.mechanism.pure else {"mu": math.sqrt(2 * self.loss)}

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
        return {
            "mechanism": self.mechanism.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": neighbours(self.bounds),
            "tables": len(self.attributes),
            "sensitivity": f"{'L1' if self.mechanism.pure else 'L2'}, per table, of the counts by cell and class",
            "largest sensitivity": max(self.sensitivities),
            self.unit: self.loss,
            "scales": (min(self.scales), max(self.scales)),
            "gain": self.gain(),
        }

    def gain(self) -> dict[str, float]:
        """How much larger the scale would be, as a factor, without each of two savings.

        ``"by class"``: counts by cell and class have half the L1 sensitivity of counts and label sums together (L2: by
        the square root of two). ``"accounting"``: the analytic Gaussian mechanism, against rho-zCDP turned into epsilon
        and delta by the formula of Bun and Steinke (2016).
        """
        factors = {}
        if self.labelled:
            factors["by class"] = 2.0 if self.mechanism.pure else math.sqrt(2.0)
        if not self.mechanism.pure:
            factors["accounting"] = math.sqrt(self.loss / loose_rho(self.epsilon, self.delta))
        return factors

    def __repr__(self) -> str:
        return facts_text("ReleasePlan", self._facts())

    def _repr_html_(self) -> str:
        failing = f" and delta {self.delta:g}" if self.delta else ""
        low, high = min(self.scales), max(self.scales)
        scales = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        words = (
            f"Releasing {len(self.attributes)} tables will spend epsilon {self.epsilon:g}{failing}: "
            f"{self.mechanism.name} noise of scale {scales} on every count. Nothing is drawn or spent yet."
        )
        return finding_html(words, self.to_frame())

    def _facts(self) -> dict[str, Any]:
        facts = self.describe()
        return {k: facts[k] for k in ("mechanism", "epsilon", "delta", "tables", "largest sensitivity", "scales")}


def neighbours(bounds: PersonBounds) -> str:
    """Which data sets the promise can't distinguish, in words."""
    rows = "1 row" if bounds.rows == 1 else f"{bounds.rows} rows"
    weight = "" if bounds.weight is None else f", of weight up to {bounds.weight:g}"
    return f"up to {rows} of one person{weight}, {'replaced by others' if bounds.replace else 'added or removed'}"


def plan_release(
    tables: Tables,
    epsilon: float = 1.0,
    delta: float = 0.0,
    mechanism: str = "geometric",
    bounds: PersonBounds | int | None = None,
    split: Any = "uniform",
    *,
    public_levels: Any = False,
) -> ReleasePlan:
    """Compute what :func:`release` would do, without spending or drawing anything.

    Parameters
    ----------
    tables, epsilon, delta, mechanism, bounds, split, public_levels
        As in :func:`release`.

    Returns
    -------
    ReleasePlan

    See Also
    --------
    release : Spend the budget and draw the noise.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.privacy import plan_release
    >>> tables = Tables([Table("a", [30, 70]), Table("b", [40, 60])], Domain({"a": 2, "b": 2}))
    >>> plan_release(tables, epsilon=1.0, bounds=1).scales
    (2.0, 2.0)
    """
    if not isinstance(tables, Tables):
        raise DataError(f"tables is of type {type(tables).__name__}.", hint="give Tables, as aggregate makes them.")
    chosen = mechanisms.mechanism(mechanism)
    total = _total_loss(chosen, epsilon, delta)
    bounds = _bounds(bounds, tables.provenance)
    if chosen.whole and tables.provenance.weighted is not False and bounds.weight is not None:
        raise DataError(  # whether the weights happen to be whole would show
            f"Rows have weights, so counts may not be whole; the {chosen.name} mechanism needs whole counts.",
            hint="use mechanism='laplace' or 'gaussian'.",
        )
    _check_levels(tables, public_levels)
    if tables.provenance.withheld:  # also where no cell happened to be small
        raise DataError(
            "The tables were counted with suppress_below; which cells were withheld depends on the data.",
            hint="release tables that were counted without it.",
        )
    if bounds.replace or tables.provenance.weighted is None:  # else one row more or less may not decide
        _check_delta(delta, tables.n)
    for t in tables:
        _check_table(t, chosen, bounds)
    shares = _shares(tables, split)
    sensitivities = (bounds.reach if chosen.pure else bounds.euclidean_reach,) * len(tables)
    losses = tuple(total * s for s in shares)
    scales = tuple(chosen.scale(d, loss) for d, loss in zip(sensitivities, losses))
    names = tuple(t.attributes for t in tables)
    cells = tuple(t.n_cells * (t.n_classes or 1) for t in tables)
    labelled = any(t.n_classes is not None for t in tables)
    return ReleasePlan(
        chosen, bounds, float(epsilon), float(delta), names, cells, sensitivities, losses, scales, labelled
    )


def release(
    tables: Tables,
    epsilon: float = 1.0,
    delta: float = 0.0,
    mechanism: str = "geometric",
    bounds: PersonBounds | int | None = None,
    budget: Budget | None = UNSAID,
    *,
    split: Any = "uniform",
    public_levels: Any = False,
    what: str = "release",
    verbose: int = 0,
) -> Tables:
    """Add noise to tables so that they reveal little about any one person, and state that noise in the tables.

    Parameters
    ----------
    tables : Tables
        Exact, complete tables: a table that was released before, or has withheld cells, is refused.
    epsilon : float > 0, default 1
        Privacy loss of the whole release.
    delta : float in [0, 1), default 0
        Needed, above 0, for Gaussian noise; must be 0 for the others.
    mechanism : {"geometric", "laplace", "gaussian"}
        Geometric noise keeps whole counts whole; so does Gaussian noise on rows without weights (the discrete
        Gaussian).
    bounds : PersonBounds or int, optional
        How much one person can contribute: rows and weight, or a number of rows. Default: what the tables'
        provenance says (see ``person=`` of :func:`sumwise.aggregate.aggregate`), else one row without a weight. Rows
        beyond it break the promise. Weighted rows must be counted with ``max_weight``, which clips larger weights and
        is the bound; if tables don't say whether rows had weights, ``bounds`` must be given.
    budget : Budget or None
        Where to take epsilon from; refused if it isn't there. It must be said: ``None`` is a release of which no
        ledger knows, and which nothing keeps from being repeated.
    split : "uniform" or mapping or sequence, default "uniform"
        How the budget is shared by the tables: equally, or in proportion to a number per table, as
        ``{("age", "city"): 3.0}`` (tables not named get 1) or one number per table in order.
    public_levels : bool or sequence of str, default False
        Attributes whose levels, classes or cut points were read from the rows but are public all the same: they are
        public knowledge, or were learned from other data. True: all. Otherwise such levels are refused, since a level
        by itself reveals that somebody has it; see ``domain=`` and :func:`sumwise.privacy.private_encoding`.
    what : str
        What the budget's ledger calls this release.
    verbose : int, default 0
        1 shows progress.

    Returns
    -------
    Tables
        On the same domain and encoding; each table carries its noise, and the provenance the promise. Counts may be
        negative, and tables disagree. The population ``n`` is no longer stated.

    See Also
    --------
    plan_release : What a release would cost, before it is drawn.
    release_rows : Rows to released tables in one step.

    Notes
    -----
    A row is in one cell of a table and has one class, so the counts by cell and class change by at most
    ``rows * weight`` in all, in L1 and in L2, when a person is added or removed. Where rows are replaced instead, L1
    doubles, and L2 grows by the square root of two. The noise of a label sum is one draw; counts are sums over K
    classes and have K draws (see :class:`sumwise.noise.Summed`).
    Pure mechanisms: scale = sensitivity / epsilon of the table. Gaussian: the analytic Gaussian mechanism (Balle and
    Wang 2018) for all tables together, scale = sensitivity / sqrt(2 rho of the table). OpenDP draws the noise from
    the system's own randomness, without a seed, so this function has no ``random_state``.

    Examples
    --------
    >>> from sumwise import Domain, Tables
    >>> from sumwise.privacy import Budget, release
    >>> tables = Tables.from_frame({"a": [0, 1, 1]}, ["a"], order=1, domain=Domain({"a": 2}))
    >>> release(tables, epsilon=1.0, budget=Budget(1.0))["a"].noise
    Geometric(scale=1)
    """
    plan = plan_release(tables, epsilon, delta, mechanism, bounds, split, public_levels=public_levels)
    check_weights(tables, plan)
    checked_budget(budget)
    require("opendp.prelude", extra="privacy")  # before anything is spent
    if budget is not None:
        budget.spend_all([plan.entry], what, () if budget.path is None else fingerprints(tables))
    noisy = with_noise(tables, plan, verbose)
    return replace(noisy, provenance=released(tables.provenance, plan))


def with_noise(tables: Tables, plan: ReleasePlan, verbose: int = 0) -> Tables:
    """The tables with the noise of a plan, drawn now; what they cost is the caller's to charge and to state."""
    steps = track(list(zip(tables, plan.scales)), "Adding noise", verbose=verbose)
    return replace(tables, tables=tuple(_noisy(t, scale, plan) for t, scale in steps), n=None)


def released(provenance: Provenance, plan: ReleasePlan) -> Provenance:
    """The provenance of tables that were released as planned."""
    facts = plan.describe() | {"unit of privacy": "a row" if provenance.rows_per_person is None else "a person"}
    stated = ("mechanism", "epsilon", "delta", "neighbours", plan.unit, "unit of privacy")
    return provenance.with_release(**{k: facts[k] for k in stated})


def _total_loss(chosen: Mechanism, epsilon: Any, delta: Any) -> float:
    """The loss of the whole release, in the mechanism's unit."""
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    if epsilon <= 0:
        raise DataError(f"epsilon is {epsilon!r}; it must be above 0.", hint="smaller means more noise.")
    checks.at_least(delta, "delta", 0, whole_number=False)
    check_promise(epsilon, 0.0)
    if chosen.pure:
        if delta:
            raise DataError(f"The {chosen.name} mechanism has no delta; {delta!r} was given.", hint="leave it out.")
        return float(epsilon)
    if not 0 < delta < 1:
        raise DataError(
            f"delta is {delta!r}; Gaussian noise needs one between 0 and 1.", hint="far below one over n, as 1e-6."
        )
    check_promise(epsilon, delta)
    return mu_of_epsilon(float(epsilon), float(delta)) ** 2 / 2


def _check_delta(delta: float, n: float | None) -> None:
    if n is not None and delta * n >= 1:
        raise DataError(
            f"delta is {delta:g}, and there are {n:,.0f} rows: it would allow some of them to be shown as they are.",
            hint="delta lies far below one over n.",
        )


def _bounds(given: Any, known: Provenance) -> PersonBounds:
    """What one person can contribute: as given, where that agrees with how the rows were counted."""
    if given is None:
        if known.weighted is None:
            raise DataError(
                "The tables don't say whether rows had weights, nor how many one person has.",
                hint="say it: bounds=1 for one row without a weight, or PersonBounds(rows=..., weight=...), or "
                "--max-rows. In parts that were added, a person may have rows in each.",
            )
        given = PersonBounds(known.rows_per_person or 1, known.max_weight)
    elif isinstance(given, int | np.integer) and not isinstance(given, bool):
        given = PersonBounds(rows=int(given), weight=known.max_weight)
    elif not isinstance(given, PersonBounds):
        raise DataError(
            f"bounds is {given!r}.",
            hint="give the largest number of rows per person, or PersonBounds(rows=..., weight=...).",
        )
    if (known.weighted or known.max_weight is not None) and given.weight is None:
        raise DataError(
            "The tables were counted with weights; bounds don't say how large a weight can be.",
            hint="bounds=PersonBounds(weight=...), or --max-weight, is the largest weight of a row.",
        )
    if known.weighted and known.max_weight is None:
        raise DataError(
            f"bounds say weights of up to {given.weight:g}; nothing kept rows with larger weights from being counted.",
            hint=f"count again with max_weight={given.weight:g}, or sumwise aggregate --max-weight, which clips them.",
        )
    if known.weighted is False and given.weight is not None and given.weight < 1:
        raise DataError(
            f"bounds say that weights are at most {given.weight:g}, and rows were counted without weights.",
            hint="rows without weights count 1 each: leave weight out.",
        )
    if known.rows_per_person is not None and given.rows < known.rows_per_person:
        raise DataError(
            f"bounds say {given.rows} rows of one person; up to {known.rows_per_person} were counted.",
            hint="leave bounds out, or count again with max_rows.",
        )
    if known.max_weight is not None and given.weight is not None and given.weight < known.max_weight:
        raise DataError(
            f"bounds say weights of up to {given.weight:g}; rows were counted with up to {known.max_weight:g}.",
            hint="leave the weight out of bounds, or count again with max_weight.",
        )
    return given


def _check_levels(tables: Tables, public: Any) -> None:
    learned = tuple(dict.fromkeys([*(tables.provenance.learned or ()), *tables.domain.learned]))
    if public is True or not learned:
        return
    allowed = set() if public is False else set(checks.listing(public, "public_levels", "give names, or True."))
    for name in allowed:
        checks.known(name, (*tables.domain.attributes, *([tables.label] if tables.label else [])), "attribute")
    bad = [a for a in learned if a not in allowed]
    if bad:
        raise DataError(
            f"Levels, classes or cut points of {title(bad[:5])}{' and others' if len(bad) > 5 else ''} were read from "
            "the rows: a level by itself reveals that somebody has it.",
            hint="count with domain=..., learn levels privately (private_encoding), or declare them public: "
            "public_levels=[...], or --public-levels.",
        )


def _check_table(table: Table, chosen: Mechanism, bounds: PersonBounds) -> None:
    name = title(table.attributes)
    if not isinstance(table.noise, Exact):
        raise DataError(
            f"The table over {name} already has noise: {table.noise!r}.", hint="release exact tables, once."
        )
    arrays = [table.counts] if table.label_sums is None else [table.counts, table.label_sums]
    if any(np.isnan(x).any() for x in arrays):
        raise DataError(
            f"The table over {name} has withheld cells; which cells those are depends on the data.",
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


def check_weights(tables: Tables, plan: ReleasePlan) -> None:
    """Refuse a bound on weights below 1 where rows seem to count 1 each, and tables don't say."""
    if tables.provenance.weighted is not None or plan.bounds.weight is None or plan.bounds.weight >= 1:
        return
    if any(np.any(t.counts != np.floor(t.counts)) for t in tables):
        return
    raise DataError(
        f"bounds say that weights are at most {plan.bounds.weight:g}, and all counts are whole.",
        hint="rows without weights count 1 each: leave weight out.",
    )


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
    """Noise on the count of each cell and class; counts are the sums over classes."""
    chosen, whole = plan.mechanism, plan.bounds.weight is None  # as stated: what the counts look like would show
    noise = chosen.noise(scale)
    if table.label_sums is None:
        return Table(table.attributes, chosen.add(table.counts, scale, whole), noise=noise)
    binary = table.label_sums.ndim == table.counts.ndim
    by_class = np.stack([table.counts - table.label_sums, table.label_sums], -1) if binary else table.label_sums
    noisy = chosen.add(by_class, scale, whole)
    sums = noisy[..., 1] if binary else noisy
    return Table(table.attributes, noisy.sum(axis=-1), sums, _of_counts(noise, noisy.shape[-1]), label_noise=noise)


def _of_counts(noise: Noise, classes: int) -> Noise:
    """The noise of the sum over classes."""
    return Gaussian(noise.scale * math.sqrt(classes)) if isinstance(noise, Gaussian) else Summed(noise, classes)  # type: ignore[arg-type]
