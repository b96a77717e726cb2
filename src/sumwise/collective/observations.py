"""Observations: tables and energies of the user, placed on the cells of a model's forest and checked against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import gammaln

from sumwise import checks
from sumwise.collective.energy import Energy
from sumwise.collective.kernels.count_problem import CountProblem
from sumwise.collective.layout import Layout
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson
from sumwise.table import title
from sumwise.tables import Tables


@dataclass
class Observed:
    """The flattened problem, and the terms that only the gradient methods can use."""

    layout: Layout
    problem: CountProblem
    extras: list[tuple[np.ndarray, Callable]] = field(default_factory=list)  # (cells, counts -> (value, gradient))
    names: list[str] = field(default_factory=list)  # how messages call each table
    tables: list[tuple[int, np.ndarray, Any]] = field(default_factory=list)  # (node, its cells, Table)
    convex: bool = True  # whether the loss is known to be convex

    def loss(self, cells, smoothing=0.0):
        """``-log p(y | cells)`` plus energies, and its gradient."""
        value, gradient = self.problem.observations.loss(cells, smoothing)
        for index, function in self.extras:
            more, slope = function(cells[index])
            value += float(more)
            gradient[index.ravel()] += np.asarray(slope, dtype=float).ravel()
        return value, gradient

    def log_likelihood(self, node, values):
        """log p(y | table) for every row of `values`, tables of one node."""
        out = np.zeros(len(values))
        for at, cells, table in self.tables:
            if at == node:
                counts = values[:, cells.ravel()].reshape(len(values), *table.shape)
                logs = np.asarray(table.noise.log_density(table.counts, counts))
                out += logs.reshape(len(values), -1).sum(axis=1)
                out += np.where(_within(table, counts), 0.0, -np.inf)
        return out


def observe(model: Any, tables: Any, n: Any, energy: Any = None) -> Observed:
    """Place tables and energies on the model's forest; raise where they can't belong to it."""
    total = _population(tables, n)
    listed = [] if tables is None else list(_checked(tables, model))
    energies = _energies(energy, model)
    groups = [t.attributes for t in listed] + [e.attributes for e in energies]
    layout = model.layout(groups)
    offsets = layout.forest.offsets
    forbidden = np.zeros(offsets[-1], dtype=bool)
    parts, extras, placed = [], [], []
    for number, table in enumerate(listed):
        node = layout.node_of(table.attributes)
        index = layout.cell_index(node, table.attributes, offsets)
        placed.append((node, index - offsets[node], table))
        known = _KINDS.get(type(table.noise))
        if known is None:
            extras.append((index, _user_noise(table)))
            continue
        if isinstance(table.noise, Exact):
            _check_total(table, total)
            forbidden[index[table.counts == 0]] = True
        parts += _parts(known, table, index, number)
        parts += _bounds(table, index, number, forbidden)
    for e in energies:
        index = layout.cell_index(layout.node_of(e.attributes), e.attributes, offsets)
        extras.append((index, e.function))
    _check_agreement([t for t in listed if isinstance(t.noise, Exact) and not np.isnan(t.counts).any()])
    problem = layout.problem(parts, total, forbidden)
    names = [title(t.attributes) for t in listed]
    _check_possible(problem, names)
    convex = all(e.convex for e in energies) and all(_known_convex(t.noise) for t in listed)
    return Observed(layout, problem, extras, names, placed, convex)


def _known_convex(noise: Any) -> bool:
    """Whether a noise is log-concave in the true count: one of sumwise's, or one that says so (``log_concave``)."""
    return type(noise) in _KINDS or bool(getattr(noise, "log_concave", False))


def _population(tables: Any, n: Any) -> float:
    given = tables.n if n is None and isinstance(tables, Tables) else n
    if given is None:
        raise DataError("The size of the population is not known.", hint="give n, or Tables with n.")
    checks.at_least(given, "n", 0, whole_number=False)
    if given == 0:
        raise DataError("n is 0: there is nobody to count.", hint="n is the size of the population.")
    return float(given)


def _checked(tables: Any, model: Any) -> Sequence:
    if not isinstance(tables, Tables):
        raise DataError(f"The tables are a {type(tables).__name__}.", hint="give Tables([Table(...), ...], domain).")
    if model.batch is not None:
        raise DataError(f"Counts are fitted to one model at a time; this is a batch of {model.batch}.")
    for table in tables:
        for a in table.attributes:
            checks.known(a, model.domain, "attribute")
        wanted = tuple(model.domain[a] for a in table.attributes)
        over = title(table.attributes)
        if table.shape != wanted:
            raise DataError(f"The table over {over} has shape {table.shape}; the model's domain has {wanted}.")
        if not model.holds(table.attributes):
            raise DataError(
                f"The table over {over} lies in no clique of the model.",
                hint="observe one node or one edge of a tree, or use a GraphModel with these attributes as a clique.",
            )
    return tables.tables


def _energies(energy: Any, model: Any) -> list[Energy]:
    if energy is None:
        return []
    listed = [energy] if isinstance(energy, Energy) else list(energy)
    for e in listed:
        if not isinstance(e, Energy):
            raise DataError(f"An energy is of type {type(e).__name__}.", hint="give Energy(attributes, function).")
        for a in e.attributes:
            checks.known(a, model.domain, "attribute")
        if not model.holds(e.attributes):
            raise DataError(f"The energy over {title(e.attributes)} lies in no clique of the model.")
    return listed


# --- one table at a time ----------------------------------------------------------------------------


def _cellwise(x, shape, seen):
    return np.broadcast_to(np.asarray(x, dtype=float), shape)[seen]


def _exact(_table, _seen, y):
    keep = y > 0  # zeros are forbidden states
    ends = np.full(int(keep.sum()), np.inf)
    return {"kind": "linear", "low": -ends, "high": ends, "constant": 0.0}, keep


def _poisson(table, seen, y):
    rate = _cellwise(table.noise.rate, table.shape, seen)
    constant = float((gammaln(y + 1.0) - y * np.log(rate)).sum())
    return {"kind": "poisson", "rate": rate, "constant": constant}, None


def _gaussian(table, seen, _y):
    scale = _cellwise(table.noise.scale, table.shape, seen)
    constant = float(np.log(scale * np.sqrt(2.0 * np.pi)).sum())
    return {"kind": "gaussian", "var": scale**2, "constant": constant}, None


def _two_sided(table, seen, _y):
    scale = _cellwise(table.noise.scale, table.shape, seen)
    top = np.log(2.0 * scale) if isinstance(table.noise, Laplace) else -np.log(np.tanh(0.5 / scale))
    return {"kind": "linear", "low": -1.0 / scale, "high": 1.0 / scale, "constant": float(top.sum())}, None


_KINDS = {Exact: _exact, Poisson: _poisson, Gaussian: _gaussian, Laplace: _two_sided, Geometric: _two_sided}


def _parts(kind, table, index, number):
    seen = ~np.isnan(table.counts)
    y, cells = table.counts[seen], index[seen]
    part, keep = kind(table, seen, y)
    if keep is not None:
        y, cells = y[keep], cells[keep]
    return [{**part, "index": cells, "y": y, "source": number}]


def _bounds(table, index, number, forbidden):
    """Withheld cells that are known to lie between two counts: one constraint from each side."""
    if table.bounds is None:
        return []
    low, high = table.bounds
    hidden = np.isnan(table.counts)
    forbidden[index[hidden & (high == 0)]] = True
    top = hidden & np.isfinite(high) & (high > 0)
    foot = hidden & (low > 0)
    common = {"kind": "linear", "source": number, "constant": 0.0}
    return [
        {**common, "index": index[m], "y": y[m], "low": np.full(m.sum(), a), "high": np.full(m.sum(), b)}
        for m, y, a, b in ((top, high, 0.0, np.inf), (foot, low, -np.inf, 0.0))
        if m.any()
    ]


def _within(table, counts):
    """Whether withheld cells keep to their bounds, for a stack of tables."""
    if table.bounds is None:
        return np.ones(len(counts), dtype=bool)
    low, high = table.bounds
    hidden = np.isnan(table.counts)
    fine = ~hidden | ((counts >= low) & (counts <= high))
    return fine.reshape(len(counts), -1).all(axis=1)


def _user_noise(table):
    def function(counts):
        value = np.asarray(table.noise.log_density(table.counts, counts), dtype=float)
        slope = np.asarray(table.noise.gradient(table.counts, counts), dtype=float)
        unseen = np.isnan(table.counts)
        return -float(np.where(unseen, 0.0, value).sum()), -np.where(unseen, 0.0, slope)

    return function


# --- whether they can all be true -------------------------------------------------------------------


def _check_total(table, total):
    full = not np.isnan(table.counts).any()
    off = table.total - total
    if (full and abs(off) > 1e-9 * total) or off > 1e-9 * total:
        raise DataError(
            f"The exact table over {title(table.attributes)} sums to {table.total:.10g}; "
            f"the population is {total:.10g}.",
            hint="correct n or the table, or state its noise.",
        )


def _check_agreement(exact):
    """Exact tables that share attributes must have the same margin over them."""
    for a, b in combinations(exact, 2):
        shared = [x for x in a.attributes if x in b.attributes]
        if not shared:
            continue
        off = np.abs(a.project(shared).counts - b.project(shared).counts)
        if off.max() > 1e-9 * max(1.0, a.total):
            at = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
            raise DataError(
                f"The exact tables over {title(a.attributes)} and {title(b.attributes)} differ by {off.max():.10g} "
                f"over {title(shared)} in cell {at}.",
                hint="correct one of them, or state its noise.",
            )


def _check_possible(problem, names):
    """Counts that must be positive need a state that the model allows."""
    e = problem.observations
    must = (np.concatenate([np.zeros(e.n_gaussian + e.n_poisson), e.low]) == -np.inf) & (e.y > 0)
    _, p, _ = e.slices()
    must[p] = True
    bad = must & (problem.base[e.index] == -np.inf)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(
            f"The table over {names[e.source[k]]} has {e.y[k]:g} in a state that the model rules out "
            f"({int(bad.sum())} such cells).",
            hint="allow the state in the potentials, or look for a contradicting exact zero.",
        )
