"""merge_levels: rare or similar levels of large attributes put together, from tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.merged import Merged
from sumwise.encoding.rules import Levels
from sumwise.errors import DataError
from sumwise.maxent.similarity import level_profiles, margin_of, weighted_clusters
from sumwise.noise import Exact, Gaussian, Poisson
from sumwise.sparse_table import SparseTable, table_of_arrays, table_of_cells
from sumwise.table import Table, title
from sumwise.tables import Tables

__all__ = ["merge_levels"]


def merge_levels(
    tables: Tables,
    attributes: str | Sequence[str] | None = None,
    *,
    min_count: float | None = None,
    max_levels: int | None = None,
    by: str = "both",
    levels: int = 100,
    other: str = "other",
    learn_from: Tables | None = None,
    random_state: Any = 0,
) -> Tables:
    """Put levels together in every table that holds them, without rows.

    What was merged travels with the tables and with any model fitted to them: raw values of individuals find their
    merged level at prediction, and those that were never counted go to `other` where there is such a level.

    Parameters
    ----------
    tables : Tables
        Exact ones, or with Gaussian noise or Poisson counts of one rate.
    attributes : str or list of str, optional
        Whose levels to merge; default: all attributes of more than `levels` levels.
    min_count : float, optional
        Levels with fewer individuals become one level, `other`.
    max_levels : int, optional
        Then the most similar levels are put together until so many are left (`other` included).
    by : {"both", "label", "features"}
        What similar levels have in common: the rate of the label, the distribution of the other features, or both
        alike. Differences that chance explains don't count. Rates are told by the individuals that the model will
        learn from, so it becomes too sure of levels merged by rate, unless `learn_from` has others.
    levels : int, default 100
        Attributes of more levels than this are large.
    other : str, default "other"
        Name of the level of rare ones.
    learn_from : Tables, optional
        Tables of other individuals over the same levels (the day before, another region) that tell what to merge.
    random_state : int, Generator or None
        Where the clusters of similar levels begin.

    Returns
    -------
    Tables
        The same object where nothing is merged.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent import MaxEntClassifier, merge_levels
    >>> rng = np.random.default_rng(0)
    >>> rows = {"site": rng.geometric(0.01, 5000), "age": rng.integers(0, 3, 5000), "click": rng.integers(0, 2, 5000)}
    >>> tables = merge_levels(Tables.from_frame(rows, ["site", "age"], label="click"), min_count=40)
    >>> tables.domain["site"], tables.domain.levels("site")[-1]
    (29, 'other')
    >>> MaxEntClassifier(random_state=0).fit(tables).predict_proba({"site": [1, 99999], "age": [0, 0]}).shape
    (2, 2)
    """
    wanted = _checked(tables, attributes, min_count, max_levels, by, levels, other)
    source = tables if learn_from is None else _checked_source(learn_from, tables)
    groups = {}
    for a in wanted:
        found = _groups(source, a, min_count, max_levels, by, other, random_state)
        if found is not None:
            groups[a] = found
    if not groups:
        return tables
    encoding = _encoding(tables, groups)
    rules = {a: encoding[a].levels for a in groups}
    domain = Domain({a: rules.get(a, tables.domain.levels(a)) for a in tables.domain.attributes})
    made = [_merged(t, {a: cells for a, (cells, _, _) in groups.items()}, domain) for t in tables]
    return Tables(made, domain, tables.n, tables.label, tables.classes, encoding)


def _checked(tables: Any, attributes: Any, min_count: Any, max_levels: Any, by: str, levels: int, other: Any) -> list:
    if not isinstance(tables, Tables):
        raise DataError(f"Levels are merged in Tables; this is a {type(tables).__name__}.")
    if min_count is None and max_levels is None:
        raise DataError("Nothing says which levels to merge.", hint="give min_count, max_levels, or both.")
    if min_count is not None:
        checks.at_least(min_count, "min_count", 0, whole_number=False)
    if max_levels is not None:
        checks.at_least(max_levels, "max_levels", 2)
    checks.choice(by, "by", ("both", "label", "features"))
    checks.at_least(levels, "levels", 1)
    if not isinstance(other, str) or not other:
        raise DataError(f"other is {other!r}.", hint="give the name of the level of rare ones.")
    if attributes is None:
        return [a for a in tables.domain.attributes if tables.domain[a] > levels]
    listed = [attributes] if isinstance(attributes, str) else checks.listing(attributes, "attributes")
    for a in listed:
        checks.known(a, tables.domain, "attribute")
    return list(checks.unique(tuple(listed), "attributes"))


def _checked_source(source: Any, tables: Tables) -> Tables:
    if not isinstance(source, Tables) or source.domain != tables.domain:
        raise DataError("learn_from isn't over the levels of the tables.", hint="count both with one domain.")
    return source


def _groups(tables, attribute, min_count, max_levels, by, other, random_state) -> tuple | None:
    """For each level the number of its group, the groups' names, and that of the rare ones; None for no change."""
    names = [str(v) for v in tables.domain.levels(attribute)]
    if len(set(names)) < len(names):
        raise DataError(f"Levels of {attribute!r} are written alike, such as {_twice(names)!r}.", hint="rename them.")
    counts, sums = margin_of(tables, attribute)
    rare = np.zeros(len(names), dtype=bool) if min_count is None else counts < min_count
    if rare.all():
        raise DataError(
            f"min_count is {min_count:g}; no level of {attribute!r} has as many: the largest has {counts.max():g}.",
            hint="lower min_count, or leave the attribute out.",
        )
    taken = names.index(other) if other in names else None
    if taken is not None:
        rare[taken] = rare.any() or rare[taken]  # what was rare before the tables were counted
    group = np.empty(len(names), dtype=np.int64)
    common = np.flatnonzero(~rare)
    room = len(common) if max_levels is None else max(1, max_levels - int(rare.any()))
    if room < len(common):
        points = level_profiles(tables, attribute, counts, sums, by)
        group[common] = weighted_clusters(points[common], np.maximum(counts[common], 0.0), room, random_state)
    else:
        group[common] = np.arange(len(common))
    n_groups = int(group[common].max()) + 1
    group[rare] = n_groups
    if n_groups + int(rare.any()) == len(names):
        return None
    if n_groups + int(rare.any()) < 2:
        raise DataError(
            f"Levels of {attribute!r} don't differ beyond chance, by {by!r}: one would be left.",
            hint="leave the attribute out, compare by something else, or merge by count alone.",
        )
    members = [common[group[common] == g] for g in range(n_groups)]
    called = [_called([names[i] for i in here], counts[here]) for here in members]
    if rare.any() and other in called:
        raise DataError(f"{attribute!r} has a level {other!r} that isn't rare.", hint="name the rare ones otherwise.")
    return group, (*called, other) if rare.any() else tuple(called), other if rare.any() else None


def _called(members: list[str], counts: np.ndarray) -> str:
    first = members[int(np.argmax(counts))]
    return first if len(members) == 1 else f"{first} and {len(members) - 1} more"


def _twice(names: list[str]) -> str:
    return next(n for n in names if names.count(n) > 1)


def _encoding(tables: Tables, groups: dict[str, tuple]) -> Encoding:
    """The tables' encoding with merged rules; a rule of plain levels where an attribute had none."""
    ruled = [a for a in tables.domain.attributes if tables.encoding is not None and a in tables.encoding]
    kept: Any = tables.encoding.project(ruled).rules if ruled and tables.encoding is not None else {}
    rules = dict(kept)
    for a, (cells, names, other) in groups.items():
        crossed = [n for n, r in kept.items() if a in getattr(r, "of", ())]
        if crossed:
            raise DataError(
                f"The cross {crossed[0]!r} is made of {a!r}, so levels of it can't be merged.",
                hint="merge others, or count again without the cross.",
            )
        rule = kept.get(a, None)
        if hasattr(rule, "of"):
            raise DataError(f"{a!r} is a hashed cross, whose cells can't be merged.", hint="hash it into fewer cells.")
        if isinstance(rule, Merged):  # merged before: of the rule that it was made of
            home = other if other is not None or rule.other is None else names[cells[rule.home]]
            rules[a] = Merged(rule.rule, tuple(cells[list(rule.cells)].tolist()), names, home)
        else:
            plain = Levels(a, tables.domain.levels(a)) if rule is None else rule
            rules[a] = Merged(plain, tuple(cells.tolist()), names, other)
    return Encoding(rules)


def _merged(table: Table, cells: dict[str, np.ndarray], domain: Domain) -> Table:
    """A table with levels of some attributes added up: cells[a] is the new level of each."""
    if not any(a in cells for a in table.attributes):
        return table
    shape = tuple(domain[a] for a in table.attributes)
    if isinstance(table, SparseTable):
        at = np.unravel_index(table.cells, table.shape)
        moved = tuple(cells[a][v] if a in cells else v for a, v in zip(table.attributes, at))
        place = np.ravel_multi_index(moved, shape)
        return table_of_cells(table.attributes, shape, place, table.cell_counts, table.cell_sums)
    axes = [(i, cells[a]) for i, a in enumerate(table.attributes) if a in cells]
    counts, sums = _summed(table.counts, axes), None if table.label_sums is None else _summed(table.label_sums, axes)
    if isinstance(table.noise, Exact) and table.complete and table.bounds is None:
        return table_of_arrays(table.attributes, counts, sums)
    bounds = None if table.bounds is None else tuple(_summed(b, axes) for b in table.bounds)
    return Table(table.attributes, counts, sums, _noise(table, axes), bounds)


def _summed(values: np.ndarray, axes: list[tuple[int, np.ndarray]]) -> np.ndarray:
    for axis, cells in axes:
        order = np.argsort(cells, kind="stable")
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        values = np.add.reduceat(np.take(values, order, axis=axis), starts, axis=axis)
    return values


def _noise(table: Table, axes: list[tuple[int, np.ndarray]]) -> Any:
    noise = table.noise
    if isinstance(noise, Exact) or (isinstance(noise, Poisson) and np.ptp(np.asarray(noise.rate)) == 0):
        return noise
    if isinstance(noise, Gaussian):
        return Gaussian(np.sqrt(_summed(np.broadcast_to(np.asarray(noise.scale) ** 2, table.shape), axes)))
    raise DataError(
        f"Cells of {title(table.attributes)} have {noise!r}, and their sums no noise of that kind.",
        hint="merge levels before tables are released.",
    )
