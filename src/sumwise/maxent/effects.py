"""Effects: the coefficients in the one form that predictions determine.

The same log-odds can be written with a level's coefficient in its own table, or spread over all tables that hold it;
which it is, penalties decide. Effects leave no choice: that of a level is against the average individual, that of a
pair of levels against what the two do on their own, averages being taken over levels by their shares, attribute by
attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.kernels.reconcile import subsets


def effect_terms(lay: Layout) -> list[tuple[int, ...]]:
    """Sets of attributes that have effects: all tables and what is within them, small ones first.

    Examples
    --------
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.effects import effect_terms
    >>> effect_terms(layout((2, 3), [(0, 1)]))
    [(0,), (1,), (0, 1)]
    """
    whole = {s for t in dense_terms(lay) for s in subsets(lay.terms[t]) if s}
    listed = {term for t, term in enumerate(lay.terms) if lay.sparse_cells(t) is not None}
    return sorted(whole | listed, key=lambda s: (len(s), s))


def dense_terms(lay: Layout) -> list[int]:
    """Terms that have a parameter for every cell."""
    return [t for t in range(len(lay.terms)) if lay.sparse_cells(t) is None and t not in lay.bare]


def effects_of(lay: Layout, values: np.ndarray, shares: Sequence[np.ndarray], variances: bool = False) -> list:
    """Effects of parameters (..., P), one array (..., cells) for each of `effect_terms`.

    shares: of the levels of each attribute. With `variances` the values are variances of independent parameters, and so
    is what is returned. A table that lists its cells has them for effects: those that it doesn't list hold it in place.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.effects import effects_of
    >>> half = np.full(2, 0.5)
    >>> effects_of(layout((2, 2), [(0, 1)]), np.array([3.0, 1.0, 1.0, 1.0]), [half, half])  # of a, of b, of a x b
    [array([ 0.5, -0.5]), array([ 0.5, -0.5]), array([ 0.5, -0.5, -0.5,  0.5])]
    """
    wanted, lead = effect_terms(lay), values.shape[:-1]
    out: dict[tuple[int, ...], Any] = dict.fromkeys(wanted, 0.0)
    listed = {term for t, term in enumerate(lay.terms) if lay.sparse_cells(t) is not None}
    for t, term in enumerate(lay.terms):
        if t in lay.bare:
            continue
        part = values[..., lay.term_starts[t] : lay.term_starts[t + 1]]
        if term in listed:
            out[term] = out[term] + part[..., :-1]
            continue
        table = part.reshape(*lead, *lay.shape(term))
        for s in subsets(term):
            if s and s not in listed:
                out[s] = out[s] + _onto(table, len(lead), term, s, shares, variances).reshape(*lead, -1)
    return [out[s] for s in wanted]


def _onto(table: np.ndarray, first: int, term: Sequence[int], kept: Sequence[int], shares, variances: bool):
    """Deviations from the mean along the kept axes, means along the others."""
    for i, a in enumerate(term):
        axis = first + i
        p = shares[a].reshape([-1 if j == axis else 1 for j in range(table.ndim)])
        mean = np.sum((p**2 if variances else p) * table, axis=axis, keepdims=True)
        if a not in kept:
            table = mean
        elif variances:
            table = (1.0 - 2.0 * p) * table + mean
        else:
            table = table - mean
    return table


def least_split(lay: Layout, values: np.ndarray, penalties: np.ndarray, variances: bool = False) -> np.ndarray:
    """Parameters (C, P) of the same log-odds, up to a constant, whose penalty is least; or variances of such.

    penalties (C, P), the same for all cells of a table. The effect of S is in every table T that holds S, in proportion
    to 1 / (penalty of T x number of cells of T for each of S): so a penalised fit splits it.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.effects import least_split
    >>> lay = layout((2, 2), [(0, 1), (0,)])  # four cells, then two levels
    >>> least_split(lay, np.array([[0.0, 0.0, 0.0, 0.0, 1.0, -1.0]]), np.ones((1, 6))).round(3)
    array([[ 0.333,  0.333, -0.333, -0.333,  0.667, -0.667]])
    """
    even = [np.full(k, 1.0 / k) for k in lay.levels]
    effects = dict(zip(effect_terms(lay), effects_of(lay, values, even, variances)))
    dense = dense_terms(lay)
    price = np.maximum(np.stack([penalties[:, lay.term_starts[t]] for t in range(len(lay.terms))]), 1e-12)
    out = values.copy()
    for t in dense:
        term, table = lay.terms[t], np.zeros((len(values), *lay.shape(lay.terms[t])))
        for s in subsets(term):
            if s and effects[s].shape[-1] == np.prod(lay.shape(s)):
                parts = {u: 1.0 / (price[u] * _cells_beyond(lay, u, s)) for u in dense if set(s) <= set(lay.terms[u])}
                share = parts[t] / sum(parts.values())
                along = [lay.levels[a] if a in s else 1 for a in term]
                table += ((share**2 if variances else share)[:, None] * effects[s]).reshape(-1, *along)
        out[:, lay.term_starts[t] : lay.term_starts[t + 1]] = table.reshape(len(values), -1)
    return out


def _cells_beyond(lay: Layout, t: int, inner: Sequence[int]) -> float:
    """Cells of term `t` for each of a table within it."""
    return float(np.prod(lay.shape(lay.terms[t])) / np.prod(lay.shape(inner)))
