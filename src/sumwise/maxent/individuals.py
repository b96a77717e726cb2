"""Individuals as level codes, with -1 for a level that no table has."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.maxent.kernels.loglinear import found_in

__all__ = ["codes_of", "term_scores"]


def codes_of(frame: Any, domain: Domain, encoding: Encoding | None = None) -> np.ndarray:
    """Codes (n_rows, D) of individuals; -1 where a value is missing or a level that the domain lacks.

    Attributes without a rule in the encoding are looked up among the domain's levels.

    Examples
    --------
    >>> from sumwise.domain import Domain
    >>> from sumwise.maxent.individuals import codes_of
    >>> codes_of({"a": ["x", "z"], "b": [1, 0]}, Domain({"a": ["x", "y"], "b": 2}))
    array([[ 0,  1],
           [-1,  0]])
    """
    ruled = [a for a in domain.attributes if encoding is not None and a in encoding]
    found = encoding.project(ruled).codes(frame, unseen="code") if encoding is not None and ruled else {}
    bare = [a for a in domain.attributes if a not in found]
    table = frames.to_pandas(frame, tuple(bare)) if bare else {}
    found |= {a: _codes(table[a], domain.levels(a), a) for a in bare}
    return np.column_stack([found[a] for a in domain.attributes])


def _codes(column: Any, levels: tuple, name: str) -> np.ndarray:
    import pandas as pd

    frames.scalars_only(column, name)
    position = {level: i for i, level in enumerate(levels)}
    codes, found = pd.factorize(column)
    lookup = np.array([position.get(checks.plain(x), -1) for x in found] or [-1], dtype=np.int64)
    if len(found) and (lookup < 0).all():
        _refuse_other_type(found, levels, name)
    return np.where(codes >= 0, lookup[codes], position.get(None, -1))


def _refuse_other_type(values: Any, levels: tuple, name: str) -> None:
    """Refuse a column none of whose values is a level, though some would be if they were text, or numbers."""
    text = {str(level): level for level in levels}
    for value in map(checks.plain, values):
        if str(value) in text:
            meant = text[str(value)]
            raise DataError(
                f"No value of column {name!r} is a level of the tables: it has {value!r} ({type(value).__name__}), "
                f"they have {meant!r} ({type(meant).__name__}).",
                hint="convert the column.",
            )


def term_scores(
    codes: np.ndarray, terms: list, starts: np.ndarray, sizes: tuple, theta: np.ndarray, listed: Any = ()
) -> np.ndarray:
    """Sum of every term's parameters (C, P) at individuals' cells: (n, C). Terms with an unknown level drop out.

    terms: tuples of attribute positions; starts: where each term's parameters begin; listed: as in `Layout`.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.individuals import term_scores
    >>> term_scores(np.array([[1], [-1]]), [(0,)], np.array([0, 2]), (2,), np.array([[0.5, 0.7]]))
    array([[0.7],
           [0. ]])
    """
    out = np.zeros((len(codes), len(theta)))
    for t, term in enumerate(terms):
        columns = [codes[:, a] for a in term]
        known = np.logical_and.reduce([c >= 0 for c in columns])
        cell = np.ravel_multi_index(tuple(np.maximum(c, 0) for c in columns), tuple(sizes[a] for a in term))
        kept = listed[t] if t < len(listed) else None
        place = cell if kept is None else found_in(kept, cell)
        out += np.where(known[:, None], theta[:, starts[t] + place].T, 0.0)
    return out
