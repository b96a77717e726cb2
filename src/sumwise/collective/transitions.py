"""Probabilities of moving, from tables of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def transitions(counts: Any) -> list[Any]:
    """Return the probability of every move of a chain, (L, L) for each step, from its tables.

    Parameters
    ----------
    counts : Counts, CountsFit or anything with ``edges``
        Such as ``TreeModel(...).marginals()``, or the result of `map_counts`. A place where nobody is stays put.
        Sparse tables of moves give sparse arrays.

    See Also
    --------
    forecast : Where individuals will be.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> from sumwise.collective.transitions import transitions
    >>> moves = {("t0", "t1"): np.array([[1.0, 3.0], [0.0, 0.0]])}
    >>> transitions(Counts({"t0": np.array([4.0, 0.0]), "t1": np.array([1.0, 3.0])}, moves, 4))[0]
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    return [row_shares(counts.edges[e]) for e in counts.edges]


def row_shares(table: Any) -> Any:
    """Rows divided by their sums, dense or sparse; an empty row stays where it is."""
    if not sparse.issparse(table):
        rows = np.asarray(table, dtype=float)
        total = rows.sum(axis=1, keepdims=True)
        return np.where(total > 0, rows / np.where(total > 0, total, 1.0), np.eye(*rows.shape))
    moves: Any = sparse.csr_array(table)
    sums = np.asarray(moves.sum(axis=1)).ravel()
    shares = sparse.diags_array(np.divide(1.0, sums, where=sums > 0, out=np.zeros_like(sums))) @ moves
    empty = sparse.diags_array((sums <= 0).astype(float))
    return sparse.csr_array(shares + empty) if (sums <= 0).any() else sparse.csr_array(shares)
