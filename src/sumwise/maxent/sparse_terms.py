"""Which tables of a model list their cells: those that are held sparse, and that no full table covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sumwise.maxent.hashed_crosses import homes_of
from sumwise.maxent.kernels.loglinear import Crossed, Layout, found_in
from sumwise.maxent.kernels.reconcile import subsets
from sumwise.sparse_table import SparseTable
from sumwise.table import Table
from sumwise.tables import Tables

SparseTerms = Mapping[tuple[int, ...], np.ndarray]  # attribute positions, ascending, to cells in use


def sparse_terms_of(parts: Sequence[Tables], crossed: Sequence[Crossed] = ()) -> dict[tuple[int, ...], np.ndarray]:
    """Cells in use of every table that all parts hold sparse, by the positions of its attributes.

    A table that some part holds in full, or that lies within one that is held in full, is not listed. Nor are tables
    over `crossed` features, the last ones of the domain, and over just the attributes that those depend on.

    Examples
    --------
    >>> from sumwise import Domain, Tables
    >>> from sumwise.maxent.sparse_terms import sparse_terms_of
    >>> from sumwise.sparse_table import SparseTable
    >>> domain = Domain({"site": 1000, "page": 1000})
    >>> table = SparseTable(("page", "site"), (1000, 1000), [5, 1002], [3, 4])
    >>> sparse_terms_of([Tables([table], domain)])
    {(0, 1): array([2001, 5000])}
    """
    place = {a: i for i, a in enumerate(parts[0].domain.attributes)}
    found: dict[tuple[int, ...], list[np.ndarray]] = {}
    full: set[tuple[int, ...]] = set()
    for table in (t for part in parts for t in part):
        axes = tuple(sorted(place[a] for a in table.attributes))
        if not isinstance(table, SparseTable):
            full.add(axes)
            continue
        for s in subsets(axes):
            margin = _onto(table, s, parts[0]) if len(s) > 1 else None
            if isinstance(margin, SparseTable):
                found.setdefault(s, []).append(margin.cells)
    kept = {s: cells for s, cells in found.items() if not any(set(s) <= set(axes) for axes in full)}
    if crossed:
        homes = homes_of([*found, *full], parts[0].domain, crossed)
        kept = {s: cells for s, cells in kept.items() if s[-1] < len(place) - len(crossed) and s not in homes}
    return {s: np.unique(np.concatenate(cells)) for s, cells in kept.items()}


def margins_of(table: SparseTable, tables: Tables, listed: SparseTerms) -> list[Table]:
    """Tables over fewer attributes that a sparse one implies, largest first; without those that are listed."""
    axes = tuple(sorted(tables.domain.axes(table.attributes)))
    wanted = [s for s in subsets(axes) if 0 < len(s) < len(axes) and s not in listed]
    return [_onto(table, s, tables) for s in reversed(wanted)]


def _onto(table: Table, axes: tuple[int, ...], tables: Tables) -> Table:
    return table.project([tables.domain.attributes[a] for a in axes])


def listed_values(table: SparseTable, tables: Tables, axes: tuple[int, ...], kept: np.ndarray, values: np.ndarray):
    """Values of a sparse table's own cells (m,) at listed cells, those of all others in a last place."""
    at = dict(zip(table.attributes, np.unravel_index(table.cells, table.shape)))
    names = [tables.domain.attributes[a] for a in axes]
    cells = np.ravel_multi_index(tuple(at[a] for a in names), tuple(tables.domain[a] for a in names))
    return np.bincount(found_in(kept, cells), weights=values, minlength=len(kept) + 1)


def full_table(lay: Layout, t: int, values: np.ndarray, fill: float | None = None) -> np.ndarray:
    """Values (places of term t,) as an array of the shape of its table; cells that aren't listed get `fill`.

    fill None: the value of their common place.
    """
    shape, kept = lay.shape(lay.terms[t]), lay.sparse_cells(t)
    if kept is None:
        return values.reshape(shape)
    out = np.full(int(np.prod(shape)), values[-1] if fill is None else fill)
    out[kept] = values[:-1]
    return out.reshape(shape)


def association(cells: np.ndarray, counts: np.ndarray, shape: tuple[int, ...]) -> float:
    """Mutual information over the smaller entropy, 0 to 1, of a table of two attributes, by its filled cells.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.sparse_terms import association
    >>> association(np.array([0, 3]), np.array([5.0, 5.0]), (2, 2))
    1.0
    """
    inside = counts > 0
    p = counts[inside] / max(float(counts[inside].sum()), 1e-300)
    row, col = np.unravel_index(cells[inside], shape)
    rows, cols = np.bincount(row, weights=p), np.bincount(col, weights=p)
    entropies = [float(-(q[q > 0] * np.log(q[q > 0])).sum()) for q in (rows, cols)]
    information = float((p * np.log(p / (rows[row] * cols[col]))).sum())
    return information / min(entropies) if len(p) and min(entropies) > 1e-12 else 0.0
