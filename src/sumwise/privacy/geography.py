"""consistent_counts: noisy counts of nested places as whole numbers that add up at every level."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.table import Table, title
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


def consistent_counts(tables: Tables, parents: Mapping[str, Mapping[Any, Any]]) -> dict[str, pd.DataFrame]:
    """Publish noisy counts of nested places: whole, not negative, and the same at every level.

    It uses the released tables alone and costs no privacy. Estimates of a model come from the noisy tables themselves:
    counts that may not be negative are biased upwards where few people live.

    Parameters
    ----------
    tables : Tables
        Released tables over each level of geography and the same other attributes, as ``("state", "sex")``,
        ``("county", "sex")`` and ``("tract", "sex")``.
    parents : mapping of str to mapping
        For every level but the coarsest, from the coarsest down: which place of the level above each place is in,
        ``{"county": {county: state}, "tract": {tract: county}}``. It must be public.

    Returns
    -------
    dict of str to DataFrame
        For each level of geography, the coarsest first, one row per place and cell: the levels, ``count``, and, where
        there is a label, one column per class.

    Notes
    -----
    Measurements of all levels are averaged by their precision, from the finest level up (Hay et al. 2010); then, from
    the coarsest level down, the counts of the places within one are the nearest ones that are not negative and add up
    to it, rounded by largest remainders. Every cell and class is treated by itself, so all margins add up too.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.noise import Geometric
    >>> from sumwise.privacy import consistent_counts
    >>> domain = Domain({"state": ["N"], "county": ["N1", "N2"]})
    >>> noisy = [Table("state", [10], noise=Geometric(1)), Table("county", [12, -1], noise=Geometric(1))]
    >>> consistent_counts(Tables(noisy, domain), {"county": {"N1": "N", "N2": "N"}})["county"]
      county  count
    0     N1     10
    1     N2      0
    """
    levels, rest = _levels(tables, parents)
    inside = {fine: _indices(tables, fine, coarse, parents[fine]) for coarse, fine in pairwise(levels)}
    measured = {level: _by_class(_table(tables, level, rest)) for level in levels}
    means, variances = {}, {}
    for level, finer in zip(reversed(levels), [None, *reversed(levels)]):
        means[level], variances[level] = measured[level]
        if finer is not None:
            within = inside[finer]
            sums = np.zeros_like(means[level])
            np.add.at(sums, within, means[finer])
            spread = np.bincount(within, variances[finer], minlength=len(sums))
            own = variances[level]
            share = np.divide(spread, spread + own, out=np.ones_like(own), where=spread > 0)[:, None]
            known = np.isin(np.arange(len(sums)), within)[:, None]  # a place without places in it has its own alone
            means[level] = np.where(known, share * means[level] + (1 - share) * sums, means[level])
            variances[level] = np.where(known[:, 0], share[:, 0] * own, own)
    counts = {levels[0]: np.maximum(np.rint(means[levels[0]]), 0.0)}
    for coarse, fine in pairwise(levels):
        counts[fine] = np.zeros_like(means[fine])
        for place, totals in enumerate(counts[coarse]):
            within = np.flatnonzero(inside[fine] == place)
            if len(within):
                counts[fine][within] = divided(means[fine][within], variances[fine][within], totals)
    return {level: _frame(tables, level, rest, counts[level]) for level in levels}


def divided(means: np.ndarray, variances: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Whole counts (k, cells) that add up to whole totals (cells,), nearest to means by their precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.privacy.geography import divided
    >>> divided(np.array([[4.0], [-3.0], [2.4]]), np.ones(3), np.array([7.0]))
    array([[4.],
           [0.],
           [3.]])
    """
    slope = means / variances[:, None]
    order = np.argsort(-slope, axis=0, kind="stable")
    sorted_means, sorted_slope = (np.take_along_axis(x, order, axis=0) for x in (means, slope))
    shift = (np.cumsum(sorted_means, axis=0) - totals) / np.cumsum(variances[order], axis=0)
    used = np.maximum((sorted_slope > shift).sum(axis=0), 1) - 1  # how many are above 0
    exact = np.maximum(means - np.take_along_axis(shift, used[None], axis=0) * variances[:, None], 0.0)
    whole = np.floor(exact + 1e-9)  # rounding of sums
    missing = totals - whole.sum(axis=0)
    rank = np.argsort(np.argsort(-(exact - whole), axis=0, kind="stable"), axis=0, kind="stable")
    return whole + (rank < missing)


def _levels(tables: Tables, parents: Mapping[str, Mapping[Any, Any]]) -> tuple[list[str], tuple[str, ...]]:
    """The attributes of geography from the coarsest down, and the other attributes of their tables."""
    finer = list(checks.mapping(parents, "parents"))
    if not finer:
        raise DataError(
            "parents is empty.", hint="give {'county': {county: state}, ...}, from the coarsest level down."
        )
    for name in finer:
        checks.known(name, tables.domain, "attribute")
    above = set(parents[finer[0]].values())
    others = [a for a in tables.domain.attributes if a not in finer and above <= set(tables.domain.levels(a))]
    if len(others) != 1:
        raise DataError(
            f"The places above {finer[0]!r} are levels of {len(others)} attributes.",
            hint="the tables have one attribute of the coarsest places, and its levels are the parents.",
        )
    levels = [*others, *finer]
    with_finest = [t.attributes for t in tables if levels[-1] in t.attributes]
    if len(with_finest) != 1:
        raise DataError(f"{len(with_finest)} tables have {levels[-1]!r}; there must be one.")
    return levels, tuple(a for a in with_finest[0] if a != levels[-1])


def _table(tables: Tables, level: str, rest: tuple[str, ...]) -> Table:
    return tables[(level, *rest)].transpose((level, *rest))


def _by_class(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Counts (places, cells x classes), and the variance of each place's noise."""
    counts, sums, noise = table.counts, table.label_sums, table.noise
    if not np.isfinite(counts).all():
        name = title(table.attributes)
        raise DataError(f"The table over {name} has withheld cells.", hint="release tables without suppress_below.")
    if sums is not None:
        counts = np.stack([counts - sums, sums], axis=-1) if sums.ndim == counts.ndim else sums
        noise = table.noise_of_sums
    variance = float(np.mean(noise.variance(np.maximum(counts, 0.0))))
    return counts.reshape(len(counts), -1).astype(float), np.full(len(counts), max(variance, 1e-12))


def _indices(tables: Tables, fine: str, coarse: str, parent: Mapping[Any, Any]) -> np.ndarray:
    """Which place of the level above each place is in."""
    above = {place: i for i, place in enumerate(tables.domain.levels(coarse))}
    names = tables.domain.levels(fine)
    unknown = [n for n in names if n not in parent or parent[n] not in above]
    if unknown:
        raise DataError(
            f"{len(unknown)} of {len(names)} levels of {fine!r} are in no level of {coarse!r}. First: {unknown[0]!r}.",
            hint="name a place for every level, 'other' and 'missing' too.",
        )
    within = np.array([above[parent[n]] for n in names])
    if len(set(within.tolist())) < len(above):
        empty = next(place for place, i in above.items() if i not in within)
        raise DataError(f"No level of {fine!r} is in {empty!r}.", hint=f"every level of {coarse!r} has one or more.")
    return within


def _frame(tables: Tables, level: str, rest: tuple[str, ...], counts: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    names = (level, *rest)
    index = pd.MultiIndex.from_product([tables.domain.levels(a) for a in names], names=names)
    classes = list(tables.classes or ())
    by_class = counts.reshape(len(index), -1).astype(np.int64)
    frame = pd.DataFrame({"count": by_class.sum(axis=1)}, index=index)
    for k, name in enumerate(classes):
        frame[name] = by_class[:, k]
    return frame.reset_index()
