"""What a log-linear model needs of tables: their counts and label sums, in the order of the model's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.contrastive import Moments
from sumwise.kernels.loglinear import Layout, layout
from sumwise.noise import Exact
from sumwise.table import Table, title
from sumwise.tables import Tables

__all__ = ["Sufficient", "sufficient"]

FAR = 5.0  # standard deviations beyond which noise doesn't explain a total


@dataclass(frozen=True)
class Sufficient:
    """Counts and label sums of every term of a log-linear model.

    layout : where parameters are.
    data : Moments, counts (P,) and label sums (C, P); 0 where unobserved.
    seen : Moments of 0 and 1, whether a count and a label sum were observed.
    n : population size; shares : (K,) of the classes.
    """

    layout: Layout
    data: Moments
    seen: Moments
    n: float
    shares: np.ndarray

    def margin(self, attribute: int) -> np.ndarray:
        """Shares of an attribute's levels, from the first table that holds it; uniform where nothing is seen."""
        lay = self.layout
        t = next(i for i, term in enumerate(lay.terms) if attribute in term)
        part = slice(lay.term_starts[t], lay.term_starts[t + 1])
        counts = np.maximum(self.data.counts[part].reshape(lay.shape(lay.terms[t])), 0.0)
        away = tuple(i for i, a in enumerate(lay.terms[t]) if a != attribute)
        found = counts.sum(axis=away) if away else counts
        return found / found.sum() if found.sum() > 0 else np.full(found.shape, 1.0 / len(found))


def sufficient(tables: Tables, margins: bool = True) -> Sufficient:
    """Read the sufficient statistics off tables; with `margins`, also of every table that they imply.

    Tables over the same attributes are averaged, the surer ones counting more. Noisy tables whose totals differ are
    scaled to one total. A table without label sums informs the model of x alone.

    Examples
    --------
    >>> from sumwise.maxent.sufficient import sufficient
    >>> from sumwise.tables import Tables
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> sufficient(t).data.counts  # of a x b, then a, then b
    array([1., 1., 0., 1., 2., 1., 1., 2.])
    """
    _check_tables(tables)
    n = population(tables)
    groups: dict[tuple[str, ...], list[Table]] = {}
    for table in tables:
        for wanted in _subsets(table, margins):
            groups.setdefault(wanted, []).append(table)
    place = {a: i for i, a in enumerate(tables.domain.attributes)}
    lay = layout(tables.domain.shape, [[place[a] for a in names] for names in groups])
    names = list(tables.domain.attributes)
    parts = [_pooled([names[a] for a in term], groups, n) for term in lay.terms]
    counts, sums = (np.concatenate([p[i] for p in parts], axis=-1) for i in (0, 1))
    seen, labelled = ~np.isnan(counts), ~np.isnan(sums)
    shares = _class_shares(tables)
    data = Moments(np.where(seen, counts, 0.0), np.where(labelled, sums, 0.0))
    return Sufficient(lay, data, Moments(seen.astype(float), labelled.astype(float)), n, shares)


def population(tables: Tables) -> float:
    """Size of the population: stated, or of exact tables, or the noisy totals' weighted mean once they agree."""
    rest = [t for t in tables if not isinstance(t.noise, Exact) and not np.isnan(t.counts).any()]
    totals = np.array([t.total for t in rest])
    spread = np.array([np.sqrt(t.noise.variance(np.maximum(t.counts, 0.0)).sum()) for t in rest])
    if tables.n is not None:
        n = tables.n
    elif rest:
        n = float(np.average(totals, weights=1 / np.maximum(spread, 1e-9) ** 2))
    else:
        raise DataError(
            "No table is complete, so the size of the population is unknown.", hint="give Tables(..., n=...)."
        )
    if not n > 0:
        raise DataError(f"The tables count {n:g} in all: there is nothing to learn from.")
    off = np.abs(totals - n) / np.maximum(spread, 1e-9)
    if (off > FAR).any():
        worst = int(np.argmax(off))
        raise DataError(
            f"Totals differ by more than noise explains in {int((off > FAR).sum())} of {len(tables)} tables. Farthest: "
            f"{title(rest[worst].attributes)} has {totals[worst]:.6g} against {n:.6g}, {off[worst]:.1f} standard "
            "deviations.",
            hint="count all tables on the same rows, or state their noise.",
        )
    return n


def _check_tables(tables: Any) -> None:
    if not isinstance(tables, Tables):
        raise DataError(f"fit takes Tables; this is a {type(tables).__name__}.", hint="see Tables.from_frame.")
    if all(t.label_sums is None for t in tables):
        raise DataError("No table has label sums, so there is no label to learn.", hint="count with label='...'.")
    covered = {a for t in tables for a in t.attributes}
    bare = [a for a in tables.domain.attributes if a not in covered]
    if bare:
        raise DataError(
            f"{len(bare)} of {len(tables.domain)} attributes are in no table. First: {bare[0]!r}.",
            hint="leave them out of the domain, or add tables.",
        )
    for t in tables:
        if np.isnan(t.counts).all() or (
            isinstance(t.noise, Exact) and not t.total > 0 and not np.isnan(t.counts).any()
        ):
            raise DataError(f"The table over {title(t.attributes)} is empty.", hint="leave it out.")


def _subsets(table: Table, margins: bool) -> list[tuple[str, ...]]:
    """The table's own attributes, and those of every table that it implies (none where cells are missing)."""
    own = tuple(table.attributes)
    if not margins or np.isnan(table.counts).any():
        return [own]
    return [s for r in range(len(own), 0, -1) for s in combinations(own, r)]


def _pooled(names: Sequence[str], groups: dict, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts (cells,) and label sums (C, cells) over attributes, averaged over all tables that tell them."""
    found = [t for key, members in groups.items() if sorted(key) == sorted(names) for t in members]
    parts = [_summed(t, names, n) for t in found]
    exact = [p for p in parts if p[2].max() == 0.0]
    if exact:  # nothing noisy can add to what is known; one with label sums before one without
        parts = sorted(exact, key=lambda p: bool(np.isnan(p[1]).all()))[:1]
    weight = np.stack([1.0 / np.maximum(p[2], 1e-300) for p in parts])
    counts = _average(np.stack([p[0] for p in parts]), weight)
    n_scores = max(len(p[1]) for p in parts)
    labelled = [np.broadcast_to(p[1], (n_scores, p[1].shape[1])) for p in parts]
    sums = _average(np.stack(labelled), np.broadcast_to(weight[:, None], (len(parts), n_scores, weight.shape[1])))
    return counts, sums


def _average(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    weight = np.where(known, weight, 0.0)
    total = weight.sum(axis=0)
    mean = (np.where(known, values, 0.0) * weight).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, np.nan)


def _summed(table: Table, names: Sequence[str], n: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, label sums and variances of a table summed onto `names`, scaled to the population."""
    away = tuple(i for i, a in enumerate(table.attributes) if a not in names)
    kept = [a for a in table.attributes if a in names]
    order = [kept.index(a) for a in names]
    whole = not isinstance(table.noise, Exact) and not np.isnan(table.counts).any()
    scale = n / table.total if whole and table.total > 0 else 1.0

    def onto(array):
        return np.transpose(array.sum(axis=away), order).ravel() * scale

    variance = np.broadcast_to(table.noise.variance(np.maximum(np.nan_to_num(table.counts), 0.0)), table.shape)
    sums = binary_or_all(table)
    labelled = np.full((1, len(onto(table.counts))), np.nan) if sums is None else np.stack([onto(s) for s in sums])
    return onto(table.counts), labelled, onto(variance)


def binary_or_all(table: Table) -> list[np.ndarray] | None:
    """Label sums of class 1 alone for two classes, of every class for more; None without a label."""
    sums = table.label_sums
    if sums is None:
        return None
    if sums.ndim == table.counts.ndim:
        return [sums]
    return [sums[..., 1]] if sums.shape[-1] == 2 else [sums[..., k] for k in range(sums.shape[-1])]


def _class_shares(tables: Tables) -> np.ndarray:
    """Shares of the classes, by the tables whose cells are all known."""
    shares = []
    for t in tables:
        sums = binary_or_all(t)
        if sums is None or np.isnan(t.counts).any() or any(np.isnan(s).any() for s in sums) or not t.total > 0:
            continue
        found = np.array([s.sum() for s in sums]) / t.total
        shares.append(np.array([1 - found[0], found[0]]) if len(found) == 1 else found)
    if not shares:
        raise DataError("No table with label sums is complete, so the classes' shares are unknown.")
    mean = np.mean(shares, axis=0)
    if mean.min() <= 0:
        classes = tables.classes or tuple(range(len(mean)))
        gone = [repr(classes[k]) for k in range(len(mean)) if mean[k] <= 0]
        raise DataError(
            f"Class {', '.join(gone)} of {len(mean)} never occurs: the labels can't be told apart.",
            hint="a label needs two classes that occur.",
        )
    return mean / mean.sum()
