"""What a log-linear model needs of tables: their counts and label sums, in the order of the model's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.contrastive import Moments
from sumwise.kernels.loglinear import Layout, layout
from sumwise.kernels.reconcile import Agreed, reconcile, subsets
from sumwise.noise import Exact, Poisson
from sumwise.table import Table, title
from sumwise.tables import Tables

__all__ = ["Sufficient", "added", "sufficient"]

FAR = 5.0  # standard deviations beyond which noise doesn't explain a total


@dataclass(frozen=True)
class Sufficient:
    """Counts and label sums of every term of a log-linear model.

    layout : where parameters are.
    data : Moments, counts (P,) and label sums (C, P); 0 where unobserved.
    seen : Moments of 0 and 1, whether a count and a label sum were observed.
    n : population size; shares : (K,) of the classes.
    noise : Moments, the variance that noise adds to a count and to a label sum; 0 where they are exact.
    """

    layout: Layout
    data: Moments
    seen: Moments
    n: float
    shares: np.ndarray
    noise: Moments

    @property
    def noisy(self) -> bool:
        """Whether any count or label sum is."""
        return bool(self.noise.counts.any() or self.noise.sums.any())

    def part(self, t: int) -> slice:
        """Where the parameters of term `t` are."""
        return slice(int(self.layout.term_starts[t]), int(self.layout.term_starts[t + 1]))

    def margin(self, attribute: int) -> np.ndarray:
        """Shares of an attribute's levels, from the smallest table that holds it; uniform where nothing is seen."""
        lay = self.layout
        t = min((i for i, term in enumerate(lay.terms) if attribute in term), key=lambda i: len(lay.terms[i]))
        part = slice(lay.term_starts[t], lay.term_starts[t + 1])
        counts = np.maximum(self.data.counts[part].reshape(lay.shape(lay.terms[t])), 0.0)
        away = tuple(i for i, a in enumerate(lay.terms[t]) if a != attribute)
        found = counts.sum(axis=away) if away else counts
        return found / found.sum() if found.sum() > 0 else np.full(found.shape, 1.0 / len(found))


def sufficient(tables: Tables, margins: bool = True) -> Sufficient:
    """Read the sufficient statistics off tables; with `margins`, also of every table that they imply.

    Noisy tables that overlap are made to agree by least squares (see `sumwise.kernels.reconcile`): what several tables
    tell, such as how many there are of each level, is averaged, the surer ones counting more. A table without label
    sums informs the model of x alone; one with cells that were not observed speaks for its own cells only.

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
    place = {a: i for i, a in enumerate(tables.domain.attributes)}
    seen = [_Read(t, place) for t in tables]
    own = {r.axes for r in seen} | {s for r in seen if r.whole and margins for s in subsets(r.axes) if s}
    lay = layout(tables.domain.shape, sorted(own))
    counts, spread, _ = _channel(seen, lay, [r.counts for r in seen], n)
    n_scores = max(len(r.sums) for r in seen)
    parts = [_channel(seen, lay, [r.sums[k] if r.sums else None for r in seen], None) for k in range(n_scores)]
    sums, sums_spread, totals = zip(*parts)
    data = Moments(counts, np.stack(sums))
    known = Moments(*(~np.isnan(m) for m in data))
    data = Moments(*(np.where(k, m, 0.0) for k, m in zip(known, data)))
    shares = _class_shares(np.array(totals) / n, tables)
    return Sufficient(
        lay, data, Moments(*(k.astype(float) for k in known)), n, shares, Moments(spread, np.stack(sums_spread))
    )


def added(parts: Sequence[Sufficient]) -> Sufficient:
    """Sufficient statistics of several parts of the data taken together.

    Examples
    --------
    >>> from sumwise.maxent.sufficient import added, sufficient
    >>> from sumwise.tables import Tables
    >>> t = Tables.from_frame({"a": [0, 0, 1], "y": [1, 0, 1]}, ["a"], label="y", order=1)
    >>> added([sufficient(t), sufficient(t)]).data.counts
    array([4., 2.])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for i, p in enumerate(parts):
        if p.layout.sizes != first.layout.sizes or p.layout.terms != first.layout.terms:
            raise DataError(f"Part {i} has tables over other attributes or levels than part 0.")
    n = sum(p.n for p in parts)
    total = [Moments(*(np.sum(m, axis=0) for m in zip(*(getattr(p, k) for p in parts)))) for k in ("data", "noise")]
    seen = Moments(*(np.prod(m, axis=0) for m in zip(*(p.seen for p in parts))))
    return Sufficient(first.layout, total[0], seen, n, np.sum([p.n * p.shares for p in parts], axis=0) / n, total[1])


class _Read:
    """A table with ascending axes: counts, label sums of every score, variance of a cell."""

    def __init__(self, table: Table, place: dict[str, int]) -> None:
        axes = [place[a] for a in table.attributes]
        order = np.argsort(axes)
        self.axes = tuple(sorted(axes))
        rate = np.asarray(table.noise.rate) if isinstance(table.noise, Poisson) else np.ones(())
        whole = np.broadcast_to(rate, table.shape)
        self.counts = np.transpose(table.counts / whole, order)
        self.sums = [np.transpose(s / whole, order) for s in binary_or_all(table) or []]
        variance = table.noise.variance(np.maximum(np.nan_to_num(self.counts), 0.0))
        self.variance = float(np.mean(np.broadcast_to(variance, self.counts.shape) / np.transpose(whole, order) ** 2))
        self.whole = not np.isnan(table.counts).any()


def _channel(seen: list[_Read], lay: Layout, values: list, total: float | None):
    """Values and variances (P,) of all terms, and the total: whole tables made to agree, others averaged by cell.

    NaN is unknown.
    """
    found = [(r.axes, v, r.variance) for r, v in zip(seen, values) if v is not None]
    whole = [part for part in found if not np.isnan(part[1]).any()]
    agreed = reconcile(whole, total) if whole else Agreed({}, {})
    out, spread = [], []
    for term in lay.terms:
        if term in agreed.values:
            out.append(agreed.values[term].ravel())
            spread.append(np.full(out[-1].size, agreed.variances[term]))
            continue
        given = [(v.ravel(), np.full(v.size, s)) for axes, v, s in found if axes == term]
        value, variance = _average(given) if given else (np.full(int(np.prod(lay.shape(term))), np.nan),) * 2
        out.append(value)
        spread.append(np.nan_to_num(variance))
    return np.concatenate(out), np.concatenate(spread), float(agreed.values.get((), np.nan))


def _average(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the known values of each cell, weighted by the inverse of their variance."""
    values, variances = np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts])
    weight = np.where(np.isnan(values), 0.0, 1.0 / np.maximum(variances, 1e-300))
    total = weight.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values * weight, axis=0) / total
        return np.where(total > 0, mean, np.nan), np.where(total > 0, 1.0 / total, 0.0)


def population(tables: Tables) -> float:
    """Size of the population: stated, or of exact tables, or the noisy totals' weighted mean once they agree."""
    rest = [t for t in tables if not isinstance(t.noise, Exact) and not np.isnan(t.counts).any()]
    rates = [t.noise.rate if isinstance(t.noise, Poisson) else 1.0 for t in rest]
    totals = np.array([(t.counts / r).sum() for t, r in zip(rest, rates)])
    spread = np.array(
        [np.sqrt((t.noise.variance(np.maximum(t.counts / r, 0.0)) / r**2).sum()) for t, r in zip(rest, rates)]
    )
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


def binary_or_all(table: Table) -> list[np.ndarray] | None:
    """Label sums of class 1 alone for two classes, of every class for more; None without a label."""
    sums = table.label_sums
    if sums is None:
        return None
    if sums.ndim == table.counts.ndim:
        return [sums]
    return [sums[..., 1]] if sums.shape[-1] == 2 else [sums[..., k] for k in range(sums.shape[-1])]


def _class_shares(found: np.ndarray, tables: Tables) -> np.ndarray:
    """Shares of the classes, by the tables whose cells are all known."""
    if np.isnan(found).any():
        raise DataError("No table with label sums is complete, so the classes' shares are unknown.")
    mean = np.array([1 - found[0], found[0]]) if len(found) == 1 else found
    if mean.min() <= 0:
        classes = tables.classes or tuple(range(len(mean)))
        gone = [repr(classes[k]) for k in range(len(mean)) if mean[k] <= 0]
        raise DataError(
            f"Class {', '.join(gone)} of {len(mean)} never occurs: the labels can't be told apart.",
            hint="a label needs two classes that occur.",
        )
    return mean / mean.sum()
