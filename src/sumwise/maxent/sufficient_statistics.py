"""What a log-linear model needs of tables: their counts and label sums, in the order of the model's parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.hashed_crosses import arranged, crossed_features, homes_of
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Crossed, Layout, layout
from sumwise.maxent.kernels.reconcile import Agreed, reconcile, subsets
from sumwise.maxent.options import SolverOptions
from sumwise.maxent.sparse_terms import SparseTerms, association, listed_values, margins_of
from sumwise.noise import Exact, Poisson
from sumwise.sparse_table import SparseTable
from sumwise.table import Table, title
from sumwise.tables import Tables

MOST_CLASSES = 50  # classes that are numbers; more are treated as amounts
FAR = 5.0  # standard deviations beyond which noise doesn't explain a total


@dataclass(frozen=True)
class SufficientStatistics:
    """Counts and label sums of every term of a log-linear model.

    layout : where parameters are.
    data : Moments, counts (P,) and label sums (C, P); 0 where unobserved.
    seen : Moments of 0 and 1, whether a count and a label sum were observed.
    n : population size; shares : (K,) of the classes.
    noise : Moments, the variance that noise adds to a count and to a label sum; 0 where they are exact.
    shared : (C, P), the covariance of the two; None where they are independent. Tables that were released by class have
        it: the noise of a count is the sum over its classes.
    totals : (C,), the variance that noise gives the label's totals, compared per count; None where there is none.
    """

    layout: Layout
    data: Moments
    seen: Moments
    n: float
    shares: np.ndarray
    noise: Moments
    shared: np.ndarray | None = None
    totals: np.ndarray | None = None

    def noise_per_count(self, rates: np.ndarray, taken: np.ndarray | float = 1.0) -> np.ndarray:
        """Variance (C, P) that noise adds to label sums compared per count: to sum - rate * count.

        rates (C, 1) or (C, P) of the label; taken: what share of a count's noise the comparison has.
        """
        part = rates * taken
        both = self.noise.sums + part**2 * self.noise.counts
        return both if self.shared is None else np.maximum(both - 2 * part * self.shared, 0.0)

    @property
    def noisy(self) -> bool:
        """Whether any count or label sum is."""
        return bool(self.noise.counts.any() or self.noise.sums.any())

    def part(self, t: int) -> slice:
        """Where the parameters of term `t` are."""
        return slice(int(self.layout.term_starts[t]), int(self.layout.term_starts[t + 1]))

    def cells(self, t: int) -> np.ndarray:
        """The cells of term `t`'s table that have parameters of their own, in their order."""
        kept = self.layout.sparse_cells(t)
        return np.arange(self.part(t).stop - self.part(t).start) if kept is None else kept

    def association(self, t: int) -> float:
        """Mutual information over the smaller entropy, 0 to 1, of the two attributes of term `t`."""
        cells = self.cells(t)
        counts = self.implied_counts(t) if t in self.layout.bare else self.data.counts[self.part(t)][: len(cells)]
        return association(cells, counts, self.layout.shape(self.layout.terms[t]))

    def implied_counts(self, t: int) -> np.ndarray:
        """Counts of a bare clique's cells: those of a hashed cross, shared out as if its parts were independent."""
        lay, term = self.layout, self.layout.terms[t]
        for u, other in enumerate(lay.terms):
            if lay.is_crossed(u) and len(other) == 1 and lay.crossed[other[0] - len(lay.sizes)].of == term:
                cell = lay.crossed[other[0] - len(lay.sizes)].values.ravel()
                even = np.ones(1)
                for a in term:
                    even = np.multiply.outer(even, self.margin(a) + 1e-12).ravel()
                counts = np.maximum(self.data.counts[self.part(u)], 0.0)
                return even * (counts / np.maximum(np.bincount(cell, even, len(counts)), 1e-300))[cell]
        return np.zeros(self.part(t).stop - self.part(t).start)

    def margin(self, attribute: int) -> np.ndarray:
        """Shares of an attribute's levels, from the smallest table that holds it; uniform where nothing is seen."""
        found = self._by_level(attribute, np.maximum(self.data.counts, 0.0))
        return found / found.sum() if found.sum() > 0 else np.full(found.shape, 1.0 / len(found))

    def margin_noise(self, attribute: int) -> np.ndarray:
        """Variances of the noise in the counts of an attribute's levels, from the same table as `margin`."""
        return self._by_level(attribute, self.noise.counts)

    def _by_level(self, attribute: int, values: np.ndarray) -> np.ndarray:
        """Values (P,) of the smallest table that holds an attribute, summed by its levels."""
        lay = self.layout
        holding = (i for i, term in enumerate(lay.terms) if attribute in term)
        t = min(holding, key=lambda i: (i in lay.bare, len(lay.terms[i])))
        level = np.unravel_index(self.cells(t), lay.shape(lay.terms[t]))[lay.terms[t].index(attribute)]
        return np.bincount(level, weights=values[self.part(t)][: len(level)], minlength=lay.levels[attribute])


def sufficient_statistics(
    tables: Tables,
    margins: bool = True,
    listed: SparseTerms | None = None,
    crossed: Sequence[Crossed] = (),
    joint: bool = False,
) -> SufficientStatistics:
    """Read the sufficient statistics off tables; with `margins`, also of every table that they imply.

    Tables that are `listed` (see `sparse_terms_of`) have parameters for those cells only: all their others share a last
    place whose parameter is 0, for a cell that nobody was counted in and few could be has next to none.

    Noisy tables that overlap are reconciled by least squares (see `sumwise.maxent.kernels.reconcile`): what several
    tables report, such as the number of each level, is averaged, the more precise ones counting more. A table
    without label sums informs the model of x alone; one with unobserved cells informs its own cells only.

    crossed: the last features of the domain, where they are functions of the attributes before them. joint: whether the
    noise of label sums is part of that of the counts, also where tables don't show it (see `Table.by_class`).

    Examples
    --------
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.tables import Tables
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> sufficient_statistics(t).data.counts  # of a x b, then a, then b
    array([1., 1., 0., 1., 2., 1., 1., 2.])
    """
    n_attributes = len(tables.domain) - len(crossed)
    _check_tables(tables, {a for c in crossed for a in c.of})
    n = population(tables)
    place = {a: i for i, a in enumerate(tables.domain.attributes)}
    listed = {} if listed is None else listed
    sparse = [t for t in tables if isinstance(t, SparseTable) and tuple(sorted(map(place.get, t.attributes))) in listed]  # type: ignore[arg-type]
    n_scores = 1 if tables.classes is None or len(tables.classes) == 2 else len(tables.classes)
    full = [t for t in tables if not any(t is s for s in sparse)]
    checks.allocation("Reading tables", *(t.shape for t in full), hint="merge levels, or leave out the largest table.")
    implied = [m for t in sparse for m in margins_of(t, tables, listed)] if margins else []
    seen = [_Read(t, place) for t in (*full, *implied)]
    own = {r.axes for r in seen} | {s for r in seen if r.whole and margins for s in subsets(r.axes) if s} | set(listed)
    lay = layout(tables.domain.shape[:n_attributes], sorted(own), listed, crossed)
    variances, of_sums = ([getattr(r, name) for r in seen] for name in ("variance", "sums_variance"))
    channels = [_channel(seen, lay, [r.counts for r in seen], variances, n)]
    for k in range(n_scores):
        channels.append(_channel(seen, lay, [r.sums[k] if r.sums else None for r in seen], of_sums, None))
    for t in sparse:
        _put(t, tables, lay, channels)
    (counts, *sums), (spread, *sums_spread), (_, *totals) = zip(*channels)
    _check_label_totals(seen, totals, tables)
    data = Moments(counts, np.stack(sums))
    known = Moments(*(~np.isnan(m) for m in data))
    data = Moments(*(np.where(k, m, 0.0) for k, m in zip(known, data)))
    if np.isnan(totals).any() and sparse:
        totals = scores_of(sparse[0].label_totals, 0)
    shares = _class_shares(np.array(totals).ravel() / n, tables)
    for c, kept in enumerate(lay.listed):
        if kept is not None:
            known.counts[lay.starts[c + 1] - 1] = known.sums[:, lay.starts[c + 1] - 1] = False
    noise, observed = Moments(spread, np.stack(sums_spread)), Moments(*(k.astype(float) for k in known))
    for r in seen if joint else ():
        r.covariance = r.sums_variance
    shared, spare = _shared_noise(seen, lay, n_scores), _total_noise(seen, shares, tables.n is not None)
    return SufficientStatistics(lay, data, observed, n, shares, noise, shared=shared, totals=spare)


def added(parts: Sequence[SufficientStatistics]) -> SufficientStatistics:
    """Sufficient statistics of several parts of the data taken together.

    Examples
    --------
    >>> from sumwise.maxent.sufficient_statistics import added, sufficient_statistics
    >>> from sumwise.tables import Tables
    >>> t = Tables.from_frame({"a": [0, 0, 1], "y": [1, 0, 1]}, ["a"], label="y", order=1)
    >>> added([sufficient_statistics(t), sufficient_statistics(t)]).data.counts
    array([4., 2.])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for i, p in enumerate(parts):
        if (
            p.layout.sizes != first.layout.sizes
            or p.layout.terms != first.layout.terms
            or len(p.data.counts) != len(first.data.counts)
        ):
            raise DataError(f"Part {i} has tables over attributes or levels other than those of part 0.")
    n = sum(p.n for p in parts)
    total = [Moments(*(np.sum(m, axis=0) for m in zip(*(getattr(p, k) for p in parts)))) for k in ("data", "noise")]
    seen = Moments(*(np.prod(m, axis=0) for m in zip(*(p.seen for p in parts))))
    covariances = [p.shared for p in parts if p.shared is not None]
    shared = np.sum(covariances, axis=0) if covariances else None
    shares = np.sum([p.n * p.shares for p in parts], axis=0) / n
    spares = [p.totals for p in parts if p.totals is not None]
    spare = np.sum(spares, axis=0) if spares else None
    return SufficientStatistics(first.layout, total[0], seen, n, shares, total[1], shared=shared, totals=spare)


def parts_of(tables: Any, who: str = "fit") -> list[Tables]:
    """Tables, or a list of them over the same domain, as a list.

    Examples
    --------
    >>> from sumwise.maxent.sufficient_statistics import parts_of
    >>> parts_of([])
    Traceback (most recent call last):
    sumwise.errors.DataError: There are no tables. Hint: give Tables, or a list of them.
    """
    parts = list(tables) if isinstance(tables, (list, tuple)) else [tables]
    if not parts:
        raise DataError("There are no tables.", hint="give Tables, or a list of them.")
    for i, part in enumerate(parts):
        if not isinstance(part, Tables):
            raise DataError(
                f"{who} takes Tables; this is of type {type(part).__name__}.", hint="see Tables.from_frame."
            )
        if part.domain != parts[0].domain:
            raise DataError(
                f"Part {i} has attributes or levels other than those of part 0.",
                hint="count all parts with the same domain=.",
            )
    return parts


def read_parts(
    tables: Sequence[Tables], options: SolverOptions, listing: Any, joint: bool = False
) -> list[SufficientStatistics]:
    """Statistics of every part, with hashed crosses as functions of x; as if exact where noise is to be ignored.

    listing: what finds the cells of tables that are held sparse, given the parts and their crosses; None for nothing.
    joint: whether the noise of label sums is part of that of the counts.
    """
    parts = [arranged(t) for t in tables]
    domain = parts[0].domain
    crossed = crossed_features(domain, parts[0].encoding)
    homes_of([domain.axes(t.attributes) for t in parts[0]], domain, crossed, not options.paper)  # refuses large ones
    listed = None if listing is None else listing(parts, crossed)
    found = [sufficient_statistics(t, not options.paper, listed, crossed, joint) for t in parts]
    if not options.paper:
        return found
    return [replace(s, noise=Moments(*(np.zeros_like(v) for v in s.noise)), shared=None, totals=None) for s in found]


class _Read:
    """A table with ascending axes: counts, label sums of every score, the variances of either's noise."""

    def __init__(self, table: Table, place: dict[str, int]) -> None:
        axes = [place[a] for a in table.attributes]
        order = np.argsort(axes)
        self.axes = tuple(sorted(axes))
        rate = np.asarray(table.noise.rate) if isinstance(table.noise, Poisson) else np.ones(())
        whole = np.broadcast_to(rate, table.shape)
        self.counts = np.transpose(table.counts / whole, order)
        self.sums = [np.transpose(s / whole, order) for s in binary_or_all(table) or []]
        self.variance, self.sums_variance = (
            float(np.mean(np.broadcast_to(v, self.counts.shape) / np.transpose(whole, order) ** 2))
            for v in (
                n.variance(np.maximum(np.nan_to_num(self.counts), 0.0)) for n in (table.noise, table.noise_of_sums)
            )
        )
        self.whole = table.complete
        self.covariance = self.sums_variance if table.by_class else 0.0


def _channel(seen: list[_Read], lay: Layout, values: list, variances: list[float], total: float | None):
    """Values and variances (P,) of all terms, and the total: whole tables made to agree, others averaged by cell.

    NaN is unknown.
    """
    found = [(r.axes, v, s) for r, v, s in zip(seen, values, variances) if v is not None]
    whole = [part for part in found if not np.isnan(part[1]).any()]
    agreed = reconcile(whole, total) if whole else Agreed({}, {})
    out, spread = [], []
    for t, term in enumerate(lay.terms):
        if term in agreed.values:
            out.append(agreed.values[term].ravel())
            spread.append(np.full(out[-1].size, agreed.variances[term]))
            continue
        given = [(v.ravel(), np.full(v.size, s)) for axes, v, s in found if axes == term]
        size = int(lay.term_starts[t + 1] - lay.term_starts[t])
        value, variance = _average(given) if given else (np.full(size, np.nan),) * 2
        out.append(value)
        spread.append(np.nan_to_num(variance))
    return np.concatenate(out), np.concatenate(spread), float(agreed.values.get((), np.nan))


def _shared_noise(seen: list[_Read], lay: Layout, n_scores: int) -> np.ndarray | None:
    """Covariance (C, P) of the noise of counts and label sums once tables agree; None where no table has any.

    Of an effect both are means over tables, weighted by the inverse of their variance, as in `reconcile`.
    """
    if not any(r.covariance for r in seen):
        return None
    out = np.zeros((n_scores, lay.n_params))
    for t, term in enumerate(lay.terms):
        holding = [r for r in seen if set(term) <= set(r.axes) and (r.whole or r.axes == term)]
        labelled = [r for r in holding if r.sums]
        added = {id(r): r.counts.size / math.prod(lay.shape(term)) for r in holding}
        exact = any(r.variance <= 0 for r in holding) or any(r.sums_variance <= 0 for r in labelled)
        if exact or not labelled:
            continue
        of_counts = sum(1.0 / (added[id(r)] * r.variance) for r in holding)
        of_sums = sum(1.0 / (added[id(r)] * r.sums_variance) for r in labelled)
        parts = (r.covariance / (added[id(r)] * r.variance * r.sums_variance) for r in labelled)
        out[:, lay.term_starts[t] : lay.term_starts[t + 1]] = sum(parts) / (of_counts * of_sums)
    return out


def _total_noise(seen: list[_Read], shares: np.ndarray, n_known: bool) -> np.ndarray | None:
    """Variance (C,) of the noise of the label's totals, per count: the population's size may have noise, too."""
    whole = [r for r in seen if r.whole and r.sums and not any(np.isnan(s).any() for s in r.sums)]
    if not whole or any(r.sums_variance <= 0 for r in whole):
        return None
    of_sums = np.array([1.0 / (r.sums_variance * r.counts.size) for r in whole])
    of_counts = np.array([1.0 / max(r.variance * r.counts.size, 1e-300) for r in whole])
    together = np.array([r.covariance * r.counts.size for r in whole])
    rates = shares[1:] if len(shares) == 2 else shares
    out = np.full(len(rates), 1.0 / of_sums.sum())
    if not n_known:
        both = float(np.sum(of_sums * of_counts * together) / (of_sums.sum() * of_counts.sum()))
        out = out + rates**2 / of_counts.sum() - 2 * rates * both
    return np.maximum(out, 0.0)


def _put(table: SparseTable, tables: Tables, lay: Layout, channels: list) -> None:
    """Write the values of a sparse table and of listed tables within it, where nothing is written yet."""
    axes = set(tables.domain.axes(table.attributes))
    scores = [] if table.cell_sums is None else scores_of(table.cell_sums, 1)
    for c, kept in enumerate(lay.listed):
        if kept is None or not set(lay.cliques[c]) <= axes:
            continue
        part = slice(int(lay.starts[c]), int(lay.starts[c + 1]))
        for (values, spread, _), cells in zip(channels, (table.cell_counts, *scores)):
            if np.isnan(values[part]).all():
                values[part] = listed_values(table, tables, lay.cliques[c], kept, cells)
                spread[part] = 0.0


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
    rest = [t for t in tables if not isinstance(t.noise, Exact) and t.complete]
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
    _refuse_far("Totals", [t.attributes for t in rest], totals, spread, n)
    return n


def _check_label_totals(seen: list[_Read], agreed: Sequence[float], tables: Tables) -> None:
    """Refuse noisy label sums whose totals are far from what all tables agree on."""
    names = tables.domain.attributes
    for k, total in enumerate(agreed):
        labelled = [r for r in seen if r.sums and r.sums_variance > 0 and not np.isnan(r.sums[k]).any()]
        totals = np.array([r.sums[k].sum() for r in labelled])
        spread = np.array([np.sqrt(r.sums_variance * r.sums[k].size) for r in labelled])
        _refuse_far("Totals of the label", [tuple(names[a] for a in r.axes) for r in labelled], totals, spread, total)


def _refuse_far(what: str, attributes: list, totals: np.ndarray, spread: np.ndarray, goal: float) -> None:
    off = np.abs(totals - goal) / np.maximum(spread, 1e-9)
    if (off > FAR).any():
        worst = int(np.argmax(off))
        raise DataError(
            f"{what} differ by more than noise explains in {int((off > FAR).sum())} of {len(totals)} noisy tables. "
            f"Farthest: {title(attributes[worst])} has {totals[worst]:.6g} against {goal:.6g}, {off[worst]:.1f} "
            "standard deviations.",
            hint="count all tables on the same rows, state their noise, and give NaN for cells that were withheld.",
        )


def _check_tables(tables: Any, implied: set[int]) -> None:
    """implied: attributes that crosses depend on, which need no table of their own."""
    if not isinstance(tables, Tables):
        raise DataError(f"fit takes Tables; this is of type {type(tables).__name__}.", hint="see Tables.from_frame.")
    if tables.classes is None:
        raise DataError("No table has label sums, so there is no label to learn.", hint="count with label='...'.")
    if len(tables.classes) > MOST_CLASSES and all(isinstance(c, (int, float)) for c in tables.classes):
        raise DataError(
            f"The label {tables.label!r} has {len(tables.classes)} classes, all of them numbers: is it an amount?",
            hint="cut amounts into ranges, or give classes as text.",
        )
    covered = {a for t in tables for a in t.attributes}
    bare = [a for i, a in enumerate(tables.domain.attributes) if a not in covered and i not in implied]
    if bare:
        raise DataError(
            f"{len(bare)} of {len(tables.domain)} attributes are in no table. First: {bare[0]!r}.",
            hint="leave them out of the domain, or add tables.",
        )
    for t in tables:
        if isinstance(t.noise, Exact) and t.complete and not t.total > 0:
            raise DataError(f"The table over {title(t.attributes)} is empty.", hint="leave it out.")
        if not t.complete and np.isnan(t.counts).all():
            raise DataError(f"The table over {title(t.attributes)} is empty.", hint="leave it out.")


def binary_or_all(table: Table) -> list[np.ndarray] | None:
    """Label sums of class 1 alone for two classes, of every class for more; None without a label."""
    sums = table.label_sums
    return None if sums is None else scores_of(sums, len(table.shape))


def scores_of(sums: np.ndarray, n_axes: int) -> list[np.ndarray]:
    """Label sums of class 1 alone for two classes, of every class for more, from sums of cells on `n_axes` axes."""
    if sums.ndim == n_axes or sums.shape[-1] == 1:
        return [sums if sums.ndim == n_axes else sums[..., 0]]
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
            f"Class {', '.join(gone)} of {len(mean)} never occurs: there is nothing to classify.",
            hint="a label needs two classes that occur.",
        )
    return mean / mean.sum()
