"""release_rows: declared rows to released tables in one step, with one charge and one promise."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.aggregate.counters import cells_of, check_memory
from sumwise.aggregate.declared import count_declared, declared_rows, score_rows
from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.declaration import Declaration
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.privacy import mechanisms
from sumwise.privacy.accounting import check_promise
from sumwise.privacy.budget import UNSAID, Budget, checked_budget
from sumwise.privacy.ledger import beside, source_digests
from sumwise.privacy.private_levels import (
    LevelsLoss,
    as_declaration,
    check_lists,
    histograms,
    learned_rules,
    split_loss,
)
from sumwise.privacy.release import PersonBounds, ReleasePlan, neighbours, plan_release, with_noise
from sumwise.provenance import Provenance
from sumwise.table import Table
from sumwise.tables import Tables


def release_rows(
    rows: Any,
    declaration: Declaration | Mapping[str, Any],
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: str | None = None,
    budget: Budget | None = UNSAID,
    *,
    order: int = 2,
    subsets: Sequence[Sequence[str]] | None = None,
    scores: Any = None,
    level_share: float = 0.1,
    replace_person: bool = False,
    what: str = "release_rows",
    **options: Any,
) -> Tables:
    """Count rows into tables and release them, by a declaration made before the rows were read.

    Types, levels, bounds and the number of tables are declared or learned under the budget, which is charged once, for
    everything, before any noise is drawn. No row decides whether the work succeeds.

    Parameters
    ----------
    rows : path or data frame
        A CSV, Parquet or Arrow file, a folder of Parquet files, a DuckDB database, or a frame. What a CSV file's
        columns are is declared, not guessed; each of its lines is a row, and one that can't be is left out.
    declaration : Declaration, or mapping of attributes
        What is known of the rows; a mapping is its ``attributes``.
    epsilon, delta, mechanism, what
        As in :func:`release`, for cut points, levels and tables together. Lists of levels need a delta. Default: all
        of the declared budget; without one, epsilon 1 by geometric noise.
    budget : Budget or None
        As in :func:`release`. Default for a file with a declared budget: the ledger beside the file.
    order, subsets
        Which tables: every subset of so many attributes, or these.
    scores : classifier, optional
        A `MaxEntClassifier` of two classes that was fitted to released tables: count by its predicted probability
        instead, the table that its ``calibrate`` takes.
    level_share : float in (0, 1), default 0.1
        The share of the privacy loss for cut points and levels, if any are learned.
    replace_person : bool, default False
        What is protected: whether a person is in the data at all (False), or only what their rows say (True).
    **options
        ``table``, ``threads`` and ``memory_limit``, as in :func:`sumwise.aggregate.aggregate`.

    Returns
    -------
    Tables
        With their noise, the encoding, and in their provenance one promise for all of it.

    See Also
    --------
    release : Tables that were counted before.
    sumwise.encoding.Declaration : What is known of the rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sumwise.encoding import Declaration
    >>> from sumwise.privacy import Budget, release_rows
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 90, 5000), "ill": rng.integers(0, 2, 5000)})
    >>> declared = Declaration({"age": {"kind": "quantiles", "bins": 3, "range": [0, 120]}}, label="ill")
    >>> noisy = release_rows(people, declared, epsilon=1.0, budget=Budget(1.0), order=1)
    >>> noisy["age"].counts.shape, noisy.provenance.releases[0]["epsilon"]
    ((4,), 1.0)
    """
    declaration = as_declaration(declaration)
    if budget is UNSAID and declaration.budget is not None and isinstance(rows, str | os.PathLike):
        budget = Budget(declaration.budget["epsilon"], declaration.budget["delta"], beside(os.fspath(rows)))
    checked_budget(budget)
    require("opendp.prelude", extra="privacy")
    counted_by = declaration if scores is None else by_scores(declaration, scores)
    amounts = loss_of(declaration, epsilon, delta, mechanism)
    order = order if scores is None else 1
    plan = plan_rows(counted_by, *amounts, order, subsets, level_share, replace_person)
    with declared_rows(rows, declaration, **options) as engine:
        if scores is not None:
            score_rows(engine, counted_by, scores)
        counted = histograms(engine, counted_by)
        if budget is not None:
            budget.spend_all(plan.entries, what, () if budget.path is None else source_digests(rows))
        rules = learned_rules(counted, counted_by, plan.levels, plan.tables.bounds)
        exact = count_declared(engine, counted_by, Encoding(rules), order, subsets)
    released = with_noise(exact, replace(plan.tables, cells=tuple(t.n_cells * (t.n_classes or 1) for t in exact)))
    released = replace(released, provenance=exact.provenance.with_release(**plan.promise))
    return released if scores is None else without_missing(released, scores.score_encoding())


def loss_of(
    declaration: Declaration, epsilon: float | None, delta: float | None, mechanism: str | None
) -> tuple[float, float, str]:
    """Epsilon, delta and mechanism of a release: those given, else the declared ones."""
    declared = declaration.budget or {"epsilon": 1.0, "delta": 0.0, "mechanism": "geometric"}
    return (
        declared["epsilon"] if epsilon is None else epsilon,
        declared["delta"] if delta is None else delta,
        declared["mechanism"] if mechanism is None else mechanism,
    )


def by_scores(declaration: Declaration, model: Any) -> Declaration:
    """The declaration of rows that are counted by a model's predicted probability."""
    encoding = model.score_encoding()
    if encoding.learned:
        raise DataError(
            "The model was fitted to exact counts, and its ranges of probability depend on them.",
            hint="fit it to released tables.",
        )
    if declaration.label is None or tuple(model.classes_) != (declaration.classes or (0, 1)):
        raise DataError("The declared label has other classes than the model.", hint="declare the model's label.")
    ranges = {name: replace(rule, missing="missing") for name, rule in encoding.rules.items()}
    return replace(declaration, attributes=ranges)


def without_missing(tables: Tables, encoding: Encoding) -> Tables:
    """A released table of scores without its last level, which is for missing values and has no people."""
    table = tables[0]
    sums = None if table.label_sums is None else table.label_sums[:-1]
    kept = Table(table.attributes, table.counts[:-1], sums, table.noise, label_noise=table.label_noise)
    return replace(tables, tables=[kept], domain=encoding.domain, encoding=encoding)


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """What releasing declared rows costs: for levels and cut points, and for each table."""

    declaration: Declaration
    epsilon: float
    delta: float
    levels: LevelsLoss | None
    tables: ReleasePlan  # with the most cells that each can have

    @property
    def entries(self) -> list[dict[str, float]]:
        """The losses as a ledger's entries."""
        return [*([] if self.levels is None else [self.levels.entry(self.declaration)]), self.tables.entry]

    @property
    def promise(self) -> dict[str, Any]:
        """The promise of everything together."""
        names = [self.tables.mechanism.name, *([] if self.levels is None else [self.levels.mechanism.name])]
        return {
            "mechanism": " and ".join(dict.fromkeys(names)),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": neighbours(self.tables.bounds),
            "unit of privacy": "a row" if self.declaration.person is None else "a person",
        }


def plan_rows(
    declaration: Declaration,
    epsilon: float,
    delta: float,
    mechanism: str,
    order: int,
    subsets: Sequence[Sequence[str]] | None,
    level_share: float,
    replace_person: bool = False,
) -> RowsPlan:
    """Everything that can be refused, and every scale, without a look at the rows."""
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    checks.at_least(delta, "delta", 0, whole_number=False)
    check_promise(epsilon, delta)
    chosen = mechanisms.mechanism(mechanism)
    if epsilon <= 0:
        raise DataError(f"epsilon is {epsilon!r}; it must be above 0.", hint="smaller means more noise.")
    if not chosen.pure and not delta > 0:
        raise DataError(f"delta is {delta!r}; Gaussian noise needs one above 0.", hint="far below one over n, as 1e-6.")
    wanted = _wanted(declaration, order, subsets)
    levels, left, left_delta = None, float(epsilon), float(delta)
    if declaration.learned:
        if not 0 < level_share < 1:
            raise DataError(f"level_share is {level_share!r}.", hint="give a number between 0 and 1, as 0.1.")
        levels, left, left_delta = split_loss(epsilon, delta, level_share, chosen.pure)
    check_lists(declaration, levels)
    sizes, classes = declaration.sizes, len(declaration.classes or (0, 1))
    names = list(sizes)
    counted = [*sizes.values(), *([classes] if declaration.label else [])]
    places = [[*map(names.index, s), *([len(names)] if declaration.label else [])] for s in wanted]
    check_memory(places, counted, [*names, declaration.label or ""], None)
    bounds = PersonBounds(declaration.max_rows, declaration.max_weight, replace_person)
    plan = plan_release(_empty(declaration, wanted), left, left_delta, mechanism, bounds)
    plan = replace(plan, cells=tuple(cells_of(places, counted)))
    return RowsPlan(declaration, float(epsilon), float(delta), levels, plan)


def _wanted(declaration: Declaration, order: int, subsets: Sequence[Sequence[str]] | None) -> list[tuple[str, ...]]:
    """The attributes of each table."""
    if subsets is None:
        wanted = list(combinations(declaration.attributes, int(checks.at_least(order, "order", 1))))
    else:
        wanted = [(s,) if isinstance(s, str) else tuple(s) for s in subsets]
    if not wanted:
        raise DataError(f"No table is asked for: order is {order}.", hint="lower the order, or declare attributes.")
    for name in (a for attributes in wanted for a in attributes):
        checks.known(name, declaration.attributes, "attribute")
    return wanted


def _empty(declaration: Declaration, wanted: list[tuple[str, ...]]) -> Tables:
    """Tables of the same attributes without anybody in them, which a release refuses for the same reasons."""
    tables = []
    for attributes in wanted:
        shape = (1,) * len(attributes)
        by_class = shape if declaration.classes is None else (*shape, len(declaration.classes))
        sums = None if declaration.label is None else np.zeros(by_class)
        tables.append(Table(attributes, np.zeros(shape), sums))
    rows = None if declaration.person is None else declaration.max_rows
    provenance = Provenance(declaration.weight is not None, declaration.max_weight, rows, ())
    names = None if declaration.label is None else declaration.classes or (0, 1)
    domain = Domain(dict.fromkeys(declaration.attributes, 1))
    return Tables(tables, domain, None, declaration.label, names, provenance=provenance)
