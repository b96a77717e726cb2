"""Log-linear models over discrete attributes and a class: where parameters live, and exact expectations.

The model is p(x, y) proportional to exp(offset_y + sum over tables t of w_t[y, x_t]) (Gilotte et al. 2022, eq. (1),
with w = mu for class 0 and mu + theta_y otherwise). Tables that lie within another one share its cells: all work is
done on the *cliques*, the tables that are within no other, whose cells follow each other in one flat vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.shapes import check_shapes

ENUMERABLE = 4_000_000  # cells of the joint table, classes included, beyond which enumeration is refused


class Crossed(NamedTuple):
    """A feature that is a function of attributes, such as a hashed cross of two.

    of: positions of the attributes, ascending; values: which of `size` values each of their joint cells has, shaped by
    their levels.
    """

    of: tuple[int, ...]
    values: np.ndarray
    size: int


class Layout(NamedTuple):
    """Where the cells of tables are, in flat vectors.

    - sizes: levels of each attribute.
    - cliques: attribute positions of each clique, ascending; cells of clique c are
      ``starts[c]:starts[c + 1]``, C order.
    - terms: the cliques, then the tables within them; parameters of term t are ``term_starts[t]:term_starts[t + 1]``,
      so the first ``n_cells`` parameters are the cliques' own.
    - cells, params: pairs (a clique's cell, a smaller table's parameter that applies to it).
    - listed: for each clique None, or the cells of its table (ascending, C order) that it has places for, where most
      are empty; a last place stands for all the others. No smaller table lives on such a clique.
    - crossed: features that are functions of attributes; feature i has the position ``len(sizes) + i`` in terms. A
      table over such features lies within a clique over the attributes that they are functions of.
    - bare: cliques that were made for such tables; they have no parameters of their own, which stay 0.
    """

    sizes: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    starts: np.ndarray
    terms: tuple[tuple[int, ...], ...]
    term_starts: np.ndarray
    cells: np.ndarray
    params: np.ndarray
    listed: tuple[np.ndarray | None, ...] = ()
    crossed: tuple[Crossed, ...] = ()
    bare: tuple[int, ...] = ()

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels of each attribute, then of each crossed feature."""
        return (*self.sizes, *(c.size for c in self.crossed))

    @property
    def n_terms(self) -> int:
        """Number of terms that have parameters."""
        return len(self.terms) - len(self.bare)

    def order(self, t: int) -> int:
        """Number of attributes that term `t` depends on."""
        return len(attributes_of(self.terms[t], len(self.sizes), self.crossed))

    def by_order(self, values: np.ndarray) -> np.ndarray:
        """Values by the order of tables, the last also for those of higher order, as one per parameter, (P, ...)."""
        orders = np.repeat([self.order(t) for t in range(len(self.terms))], np.diff(self.term_starts))
        return values[np.minimum(orders, len(values)) - 1]

    def is_crossed(self, t: int) -> bool:
        """Whether term `t` is over a crossed feature."""
        return any(a >= len(self.sizes) for a in self.terms[t])

    def with_crossed(self, codes: np.ndarray) -> np.ndarray:
        """Level codes of attributes (n, D) with those of the crossed features behind; -1 where one is unknown."""
        columns = [codes]
        for feature in self.crossed:
            parts = [codes[:, a].astype(np.int64) for a in feature.of]
            known = np.logical_and.reduce([p >= 0 for p in parts])
            found = feature.values[tuple(np.maximum(p, 0) for p in parts)]
            columns.append(np.where(known, found, -1)[:, None])
        return np.concatenate(columns, axis=1) if self.crossed else codes

    @property
    def n_cells(self) -> int:
        """Number of cells of all cliques."""
        return int(self.starts[-1])

    @property
    def n_params(self) -> int:
        """Number of parameters of all terms."""
        return int(self.term_starts[-1])

    def shape(self, attributes: Iterable[int]) -> tuple[int, ...]:
        """Levels of some attributes or crossed features."""
        levels = self.levels if self.crossed else self.sizes
        return tuple(levels[a] for a in attributes)

    @property
    def sparse(self) -> bool:
        """Whether any clique lists its cells."""
        return any(cells is not None for cells in self.listed)

    def sparse_cells(self, t: int) -> np.ndarray | None:
        """The cells that term `t` has places for; None where it has one for each."""
        return self.listed[t] if t < len(self.listed) else None

    def sparse_terms(self) -> dict[tuple[int, ...], np.ndarray]:
        """The cells of every clique that lists them."""
        return {c: cells for c, cells in zip(self.cliques, self.listed) if cells is not None}

    def parameters(self, t: int, cells: np.ndarray) -> np.ndarray:
        """Where the parameters of cells (C order) of term `t`'s table are."""
        kept = self.sparse_cells(t)
        if kept is None:
            return self.term_starts[t] + cells
        return self.term_starts[t] + found_in(kept, cells)

    def row_parameters(self, t: int, codes: np.ndarray) -> np.ndarray:
        """Where the parameters of term `t` are that rows of known level codes (n, D) have: (n,)."""
        term = self.terms[t]
        return self.parameters(t, np.ravel_multi_index(tuple(codes[:, a] for a in term), self.shape(term)))

    def all_row_parameters(self, codes: np.ndarray) -> np.ndarray:
        """`row_parameters` of all terms, (n, T)."""
        return np.stack([self.row_parameters(t, codes) for t in range(len(self.terms))], axis=1)

    def own_places(self) -> np.ndarray:
        """Whether a parameter is a cell's own (P,): not of cells that a table doesn't list, nor of a bare clique."""
        own = np.ones(self.n_params, dtype=bool)
        for c in self.bare:
            own[self.starts[c] : self.starts[c + 1]] = False
        own[[self.starts[c + 1] - 1 for c, kept in enumerate(self.listed) if kept is not None]] = False
        return own

    def term_cells(self, t: int) -> Iterable[tuple[int, ...]]:
        """Levels of each cell that term `t` has a parameter of its own for, in their order."""
        kept, shape = self.sparse_cells(t), self.shape(self.terms[t])
        if t in self.bare:
            return ()
        if kept is None:
            return np.ndindex(*shape)
        return (tuple(map(int, at)) for at in zip(*np.unravel_index(kept, shape)))

    def clique_cells(self, c: int) -> np.ndarray:
        """Flat positions of the cells of clique `c`, shaped like its table; not for one that lists its cells."""
        return np.arange(self.starts[c], self.starts[c + 1]).reshape(self.shape(self.cliques[c]))


class Expectation(NamedTuple):
    """What an engine returns.

    cells (K, n_cells): probability of a clique's cell together with the class; each clique sums to 1 over both.
    log_z (K,): log of the sum over x of the unnormalised density, for each class (NaN where the engine has none).
    """

    cells: np.ndarray
    log_z: np.ndarray


def found_in(kept: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Positions of cells among ascending ones; one past the last for those that aren't there."""
    if not len(kept):
        return np.zeros(np.shape(cells), dtype=np.int64)
    at = np.minimum(np.searchsorted(kept, cells), len(kept) - 1)
    return np.where(kept[at] == cells, at, len(kept))


def attributes_of(term: Iterable[int], n_attributes: int, crossed: Sequence[Crossed]) -> tuple[int, ...]:
    """The attributes that features at these positions are functions of, ascending."""
    parts = ((a,) if a < n_attributes else crossed[a - n_attributes].of for a in term)
    return tuple(sorted({a for part in parts for a in part}))


def layout(
    sizes: Sequence[int],
    tables: Iterable[Sequence[int]],
    listed: Mapping[tuple[int, ...], np.ndarray] | None = None,
    crossed: Sequence[Crossed] = (),
) -> Layout:
    """Find the cliques among tables (sets of positions of attributes or crossed features) and lay out their cells.

    listed: tables of which only these cells (ascending, C order) have places of their own; at least one has.
    """
    d = len(sizes)
    given = {tuple(sorted(t)) for t in tables}
    over_crossed = sorted((t for t in given if t[-1] >= d), key=lambda t: (-len(t), t))
    homes_of = {t: attributes_of(t, d, crossed) for t in over_crossed}
    listed = {t: cells if len(cells) else np.zeros(1, np.int64) for t, cells in (listed or {}).items()}
    plain = given - set(over_crossed)
    wanted = sorted(plain | set(homes_of.values()), key=lambda t: (-len(t), t))
    cliques: list[tuple[int, ...]] = []
    inner: list[tuple[tuple[int, ...], int]] = []
    for t in wanted:
        home = None if t in listed else _home(t, cliques, listed)
        if home is None:
            cliques.append(t)
        elif t in plain:
            inner.append((t, home))
    inner += [(t, _home(homes_of[t], cliques, listed)) for t in over_crossed]  # type: ignore[list-item]
    sizes = tuple(int(s) for s in sizes)
    levels = (*sizes, *(c.size for c in crossed))
    shape = [tuple(levels[a] for a in t) for t in [*cliques, *(t for t, _ in inner)]]
    n_places = [math.prod(s) for s in shape]
    for c, clique in enumerate(cliques):
        n_places[c] = len(listed[clique]) + 1 if clique in listed else n_places[c]
    ends = np.concatenate([[0], np.cumsum(n_places)]).astype(np.int64)
    starts = ends[: len(cliques) + 1]
    cells, params = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for k, (t, home) in enumerate(inner, start=len(cliques)):
        at = dict(zip(cliques[home], np.indices(shape[home]).reshape(len(cliques[home]), -1)))
        index = [at[a] if a < d else crossed[a - d].values[tuple(at[b] for b in crossed[a - d].of)] for a in t]
        cells.append(np.arange(starts[home], starts[home + 1]))
        params.append(ends[k] + np.ravel_multi_index(tuple(index), shape[k]))
    terms = (*cliques, *(t for t, _ in inner))
    places = tuple(np.asarray(listed[c], dtype=np.int64) if c in listed else None for c in cliques)
    bare = tuple(c for c, clique in enumerate(cliques) if clique not in plain)
    flat = np.concatenate(cells), np.concatenate(params)
    return Layout(sizes, tuple(cliques), starts, terms, ends, *flat, places, tuple(crossed), bare)


def _home(t: tuple[int, ...], cliques: list[tuple[int, ...]], listed: dict[tuple[int, ...], np.ndarray]) -> int | None:
    """The first clique that holds a table, of those that have all their cells."""
    homes = (c for c, clique in enumerate(cliques) if clique not in listed and set(t) <= set(clique))
    return next(homes, None)


def spread(lay: Layout, params: np.ndarray) -> np.ndarray:
    """Add up all terms on the cliques' cells: (..., n_params) to (..., n_cells)."""
    n = lay.n_cells
    flat = params.reshape(-1, params.shape[-1])
    out = np.stack([row[:n] + np.bincount(lay.cells, weights=row[lay.params], minlength=n) for row in flat])
    return out.reshape(*params.shape[:-1], n)


def project(lay: Layout, cells: np.ndarray) -> np.ndarray:
    """Sum the cliques' cells onto all terms: (..., n_cells) to (..., n_params); the adjoint of `spread`."""
    n, extra = lay.n_cells, lay.n_params - lay.n_cells
    flat = cells.reshape(-1, n)
    sums = [np.bincount(lay.params - n, weights=row[lay.cells], minlength=extra) for row in flat]
    return np.concatenate([flat, np.stack(sums)], axis=1).reshape(*cells.shape[:-1], n + extra)


def log_weights(mu: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Weights of each class: (K, ...) from mu (...) and theta (1, ...) for two classes, (K, ...) for K.

    With one row of theta the classes are mu and mu + theta; with K rows they are mu + theta_k.
    """
    return np.stack([mu, mu + theta[0]]) if len(theta) == 1 else mu + theta


def enumerate_cells(lay: Layout, weights: np.ndarray, offsets: np.ndarray) -> Expectation:
    """Exact expectations by going through every cell of the joint table.

    weights (K, n_cells): log-potentials of the cliques per class; offsets (K,): log-weight of each class.
    """
    n_classes, n_joint = len(weights), math.prod(lay.sizes)
    if n_joint * n_classes > ENUMERABLE:
        raise DataError(
            f"The joint table has {n_joint:.3g} cells times {n_classes} classes; enumeration takes up to "
            f"{ENUMERABLE:,}.",
            hint="use engine='tree' where the tables form a tree or nearly one, or engine='gibbs'.",
        )
    d = len(lay.sizes)
    cells, log_z = np.empty((n_classes, lay.n_cells)), np.empty(n_classes)
    joints = []
    for k in range(n_classes):
        energy = np.zeros(lay.sizes)
        for c, clique in enumerate(lay.cliques):
            shape = [lay.sizes[a] if a in clique else 1 for a in range(d)]
            energy += weights[k, lay.starts[c] : lay.starts[c + 1]].reshape(shape)
        top = energy.max()
        np.exp(energy - top, out=energy)
        log_z[k] = top + np.log(energy.sum())
        joints.append(energy)
    share = class_shares(log_z + offsets)
    for k, mass in enumerate(joints):
        joint = mass * (share[k] / mass.sum())
        for c, clique in enumerate(lay.cliques):
            away = tuple(a for a in range(d) if a not in clique)
            cells[k, lay.starts[c] : lay.starts[c + 1]] = joint.sum(axis=away).ravel()
    return Expectation(cells, log_z)


def log_sum(logs: np.ndarray, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Log of the sum of exponentials over an axis, several, or all; the largest term sets the scale."""
    top = np.max(logs, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(logs - top), axis=axis, keepdims=True)) + top
    return total.squeeze() if axis is None else total.squeeze(axis=axis)


def class_shares(log_mass: np.ndarray) -> np.ndarray:
    """Shares of the classes from their log-masses (K,)."""
    mass = np.exp(log_mass - log_mass.max())
    return mass / mass.sum()


def term_scores(lay: Layout, codes: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sum of every term's parameters (C, P) at the cells of level codes (n, D): (n, C).

    Terms with an unknown level, -1, drop out.
    """
    out = np.zeros((len(codes), len(theta)))
    for t, term in enumerate(lay.terms):
        columns = [codes[:, a] for a in term]
        known = np.logical_and.reduce([c >= 0 for c in columns])
        cell = np.ravel_multi_index(tuple(np.maximum(c, 0) for c in columns), lay.shape(term))
        out += np.where(known[:, None], theta[:, lay.parameters(t, cell)].T, 0.0)
    return out


def class_scores(lay: Layout, theta: np.ndarray, offsets: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log-probabilities of the classes up to a constant per row, (n, K), of level codes (n, D)."""
    shape = (len(theta), int(lay.term_starts[-1]))
    check_shapes({"theta": (theta, shape), "offsets": (offsets, (2 if len(theta) == 1 else len(theta),))})
    scores = term_scores(lay, codes, theta)
    return (np.column_stack([np.zeros(len(scores)), scores[:, 0]]) if len(theta) == 1 else scores) + offsets
