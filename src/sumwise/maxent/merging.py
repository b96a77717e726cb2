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
from sumwise.maxent.sufficient_statistics import scores_of
from sumwise.noise import Exact, Gaussian, Poisson
from sumwise.sparse_table import SparseTable, table_of_arrays, table_of_cells
from sumwise.table import Table, title
from sumwise.tables import Tables

WIDE_ATTRIBUTE = 100  # levels of another attribute beyond which it says too little of each to compare by


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
    min_count : float >= 0, optional
        Levels with fewer individuals become one level, `other`.
    max_levels : int >= 2, optional
        Then the most similar levels are put together until this many are left (`other` included).
    by : {"both", "label", "features"}
        What similar levels have in common: the rate of the label, the distribution of the other features, or both
        alike. Differences that chance explains don't count. Rates come from the individuals that the model will
        learn from, so it is overconfident about levels merged by rate, unless `learn_from` has others.
    levels : int >= 1, default 100
        Attributes of more levels than this are large.
    other : str, default "other"
        Name of the level of rare ones.
    learn_from : Tables, optional
        Tables of other individuals over the same levels (the day before, another region) that decide what to merge.
    random_state : int, Generator or None
        Where the clusters of similar levels begin.

    Returns
    -------
    Tables
        The same object where nothing is merged.

    See Also
    --------
    drop_tied : Leave out features that others determine.

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
    return Tables(made, domain, tables.n, tables.label, tables.classes, encoding, tables.provenance)


def _checked(tables: Any, attributes: Any, min_count: Any, max_levels: Any, by: str, levels: int, other: Any) -> list:
    if not isinstance(tables, Tables):
        raise DataError(f"Levels are merged in Tables; this is of type {type(tables).__name__}.")
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
    learned = () if tables.encoding is None else tables.encoding.learned
    return Encoding(rules, [n for n in learned if n in rules])


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
    label_noise = None if table.label_noise is None else _noise(table, table.label_noise, axes)
    return Table(table.attributes, counts, sums, _noise(table, table.noise, axes), bounds, label_noise)


def _summed(values: np.ndarray, axes: list[tuple[int, np.ndarray]]) -> np.ndarray:
    for axis, cells in axes:
        order = np.argsort(cells, kind="stable")
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        values = np.add.reduceat(np.take(values, order, axis=axis), starts, axis=axis)
    return values


def _noise(table: Table, noise: Any, axes: list[tuple[int, np.ndarray]]) -> Any:
    if isinstance(noise, Exact) or (isinstance(noise, Poisson) and np.ptp(np.asarray(noise.rate)) == 0):
        return noise
    if isinstance(noise, Gaussian):
        return Gaussian(np.sqrt(_summed(np.broadcast_to(np.asarray(noise.scale) ** 2, table.shape), axes)))
    raise DataError(
        f"Cells of {title(table.attributes)} have {noise!r}, and their sums no noise of that kind.",
        hint="merge levels before tables are released.",
    )


def margin_of(tables: Tables, attribute: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Counts (L,) and label sums (L, C) of an attribute's levels, from its smallest complete table.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.merging import margin_of
    >>> margin_of(Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y"), "a")
    (array([2., 1.]), array([[1.],
           [1.]]))
    """
    whole = [t for t in tables if attribute in t.attributes and t.complete]
    if not whole:
        raise DataError(f"No table that holds {attribute!r} is complete.", hint="levels can't be compared.")
    labelled = [t for t in whole if t.n_classes is not None]
    counts, sums = _by_level(min(labelled or whole, key=lambda t: t.n_cells), attribute)
    return counts, sums


def _by_level(table: Table, attribute: str, beside: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Counts and label sums of a level, or of a level and those of another attribute, flattened."""
    cells, counts, sums = table.filled()
    at = dict(zip(table.attributes, np.unravel_index(cells, table.shape)))
    sizes = dict(zip(table.attributes, table.shape))
    place, size = at[attribute], sizes[attribute]
    if beside is not None:
        place, size = place * sizes[beside] + at[beside], size * sizes[beside]
    added = np.bincount(place, weights=counts, minlength=size)
    if sums is None:
        return added, None
    return added, np.stack([np.bincount(place, weights=s, minlength=size) for s in scores_of(sums, 1)], axis=1)


def level_profiles(tables: Tables, attribute: str, counts: np.ndarray, sums: Any, by: str) -> np.ndarray:
    """Points (L, D) of an attribute's levels whose squared distances, weighted by counts, are chi-squares.

    Each block of coordinates (the label, another attribute) is drawn towards the mean of all levels as far as chance
    explains it, so that what doesn't vary with the level has no say. With by="both" the other attributes together weigh
    as much as the label at most.
    """
    n = np.maximum(counts, 0.0)
    label = [] if sums is None or by == "features" else [_block(n, sums, two_sided=sums.shape[1] == 1)]
    features = [] if by == "label" else [_block(n, c) for c in _beside(tables, attribute)]
    if by == "label" and not label:
        raise DataError("No table has label sums, so levels can't be merged by the label.", hint="by='features'.")
    if label and features:
        labelled, rest = (sum(float(n @ (b**2).sum(axis=1)) for b in part) for part in (label, features))
        features = [b * np.sqrt(min(1.0, labelled / rest)) if rest > 0 else b for b in features]
    blocks = [*label, *features]
    if not blocks:
        raise DataError(
            f"No other attribute of up to {WIDE_ATTRIBUTE} levels shares a table with {attribute!r}.",
            hint="by='label'.",
        )
    return np.concatenate(blocks, axis=1)


def _beside(tables: Tables, attribute: str) -> list[np.ndarray]:
    """Counts (L, J) of the levels with those of every other attribute that isn't too wide."""
    found: dict[str, np.ndarray] = {}
    for t in sorted((t for t in tables if attribute in t.attributes and t.complete), key=lambda t: t.n_cells):
        for b in t.attributes:
            if b != attribute and b not in found and tables.domain[b] <= WIDE_ATTRIBUTE:
                found[b] = _by_level(t, attribute, b)[0].reshape(tables.domain[attribute], -1)
    return list(found.values())


def _block(n: np.ndarray, counts: np.ndarray, two_sided: bool = False) -> np.ndarray:
    """Profiles (L, J) of levels, centred, scaled by the root of the mean profile, and drawn in by their chance."""
    total, used = max(float(n.sum()), 1e-300), n > 0
    mean = np.clip(counts.sum(axis=0) / total, 1e-12, None)
    scale = mean * (1 - mean) if two_sided else mean
    shares = counts / np.maximum(n, 1e-300)[:, None]
    away = np.where(used[:, None], shares - mean, 0.0) / np.sqrt(np.maximum(scale, 1e-12))
    freedom = counts.shape[1] if two_sided else max(counts.shape[1] - 1, 1)
    chi = float(n @ (away**2).sum(axis=1))
    spare = total - float(np.sum(n**2)) / total
    varies = max(chi - (int(used.sum()) - 1) * freedom, 0.0) / max(spare, 1e-300)  # beyond chance, per individual
    return away * (varies / np.maximum(varies + freedom / np.maximum(n, 1e-300), 1e-300))[:, None]


def weighted_clusters(points: np.ndarray, weights: np.ndarray, n_clusters: int, random_state: Any) -> np.ndarray:
    """Cluster (0, 1, ... without gaps) of each point, by k-means."""
    from sklearn.cluster import KMeans

    distinct = np.unique(points, axis=0)
    if len(distinct) <= n_clusters:
        return np.unique(points, axis=0, return_inverse=True)[1].ravel()
    seed = random_state if random_state is None or isinstance(random_state, int) else int(random_state.integers(2**31))
    model = KMeans(n_clusters, n_init=4, random_state=seed)  # pyright: ignore[reportArgumentType]
    return np.unique(model.fit_predict(points, sample_weight=np.maximum(weights, 1e-9)), return_inverse=True)[1]
