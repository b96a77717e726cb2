"""drop_tied: leave out large attributes that another large one nearly determines."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.sparse_terms import association
from sumwise.maxent.sufficient_statistics import scores_of
from sumwise.noise import Exact
from sumwise.table import Table
from sumwise.tables import Tables

MOST_ROWS = 2_000_000  # individuals whose levels are shuffled, to see what chance does


def drop_tied(tables: Tables, levels: int = 100, tie: float = 0.6) -> Tables:
    """Leave out attributes of many levels that are nearly functions of another such attribute.

    Their common table is nearly empty, its cells say little, and chains can hardly move in it, so that a model may
    predict worse with both than with either (Gilotte et al. 2022, section 4.3). Of two that are so associated, the one
    whose levels are less informative about the label is left out, with its tables.

    Parameters
    ----------
    tables : Tables
        With label sums.
    levels : int >= 1, default 100
        Attributes of more levels than this count as large.
    tie : float in (0, 1), default 0.6
        Mutual information over the smaller entropy, 0 to 1, from which two large attributes are left together no
        longer. What chance gives, nearly 1 where most levels occur once, is taken out.

    Returns
    -------
    Tables
        The same object where nothing is left out. A model fitted to the result ignores the columns that were left out.

    See Also
    --------
    merge_levels : Fewer levels, without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent import drop_tied
    >>> rng = np.random.default_rng(0)
    >>> site = rng.integers(0, 150, 3000)
    >>> rows = {"site": site, "page": 149 - site, "age": rng.integers(0, 3, 3000), "click": rng.integers(0, 2, 3000)}
    >>> len(drop_tied(Tables.from_frame(rows, ["site", "page", "age"], label="click")).domain)
    2
    """
    checks.at_least(levels, "levels", 1)
    checks.fraction(tie, "tie")
    if not isinstance(tables, Tables):
        raise DataError(
            f"drop_tied takes Tables; this is of type {type(tables).__name__}.", hint="see Tables.from_frame."
        )
    domain = tables.domain
    large = [a for a in domain.attributes if domain[a] > levels]
    tied = []
    for a, b in combinations(large, 2):
        strength = max((_beyond_chance(t) for t in tables.on(a, b)), default=0.0)
        if strength > tie:
            tied.append((strength, a, b))
    gone: set[str] = set()
    for _, a, b in sorted(tied, reverse=True):
        if a not in gone and b not in gone:
            gone.add(a if _informative(tables, a) < _informative(tables, b) else b)
    if not gone:
        return tables
    kept = [a for a in domain.attributes if a not in gone]
    left = [t for t in tables if not gone & set(t.attributes)]
    for t in tables:  # an attribute that was counted with those alone keeps what is left of its table
        own = [a for a in t.attributes if a not in gone]
        if own and len(own) < len(t.attributes) and not any(set(own) <= set(other.attributes) for other in left):
            left.append(t.project(own))
    return Tables(
        left, domain.project(kept), tables.n, tables.label, tables.classes, tables.encoding, tables.provenance
    )


def _beyond_chance(table: Table) -> float:
    """Association of two attributes beyond chance: levels that occur once seem to determine each other."""
    cells, counts, _ = table.filled()
    counts = np.nan_to_num(counts)
    found = association(cells, counts, table.shape)
    if not isinstance(table.noise, Exact):
        return found
    share = min(1.0, MOST_ROWS / max(float(counts.sum()), 1.0))
    each = np.ceil(share * counts).astype(np.int64)
    row, col = (np.repeat(level, each) for level in np.unravel_index(cells, table.shape))
    apart = np.random.default_rng(0).permutation(col)
    places, together = np.unique(np.ravel_multi_index((row, apart), table.shape), return_counts=True)
    by_chance = association(places, together.astype(float), table.shape)
    return max(0.0, found - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else 0.0


def _informative(tables: Tables, attribute: str) -> float:
    """Variance of the label's rates over the levels of an attribute, sampling taken out; the best of its tables."""
    return max((_spread_of_rates(t, attribute) for t in tables if attribute in t.attributes), default=0.0)


def _spread_of_rates(table: Table, attribute: str) -> float:
    cells, filled, label = table.filled()
    if label is None or not table.complete:
        return 0.0
    level = np.unravel_index(cells, table.shape)[table.attributes.index(attribute)]
    size = table.shape[table.attributes.index(attribute)]
    counts = np.maximum(np.bincount(level, weights=filled, minlength=size), 0.0)
    total = max(float(counts.sum()), 1e-300)
    out = 0.0
    for values in scores_of(label, filled.ndim):
        sums = np.bincount(level, weights=values, minlength=size)
        rates = sums / np.maximum(counts, 1.0)
        mean = float(sums.sum()) / total
        out += float(np.sum(counts * (rates - mean) ** 2)) / total - mean * (1 - mean) * np.sum(counts > 0) / total
    return out
