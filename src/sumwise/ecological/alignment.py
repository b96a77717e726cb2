"""Which outcomes of different contests are the same kind: by party, by name, or by the group they attract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from sumwise.contests import Contests
from sumwise.ecological.kernels.pooling import association


class Matched(NamedTuple):
    """Of each outcome of a contest: its label across contests (None: compared with nothing), and its own group."""

    labels: tuple
    groups: tuple  # the index of the group that an outcome belongs to, or None


def match_outcomes(contests: Contests, ids: list, tables: Mapping[Any, np.ndarray]) -> dict[Any, Matched]:
    """Label the outcomes of the contests `ids`, which are of one election; `tables` are their first estimates."""
    names = Counter(name for key in ids for name in contests[key].col_names)
    shared = {name for name, n in names.items() if n >= max(2, len(ids) / 3)}
    return {key: _match(contests, key, tables[key], shared) for key in ids}


def _match(contests: Contests, key: Any, table: np.ndarray, shared: set) -> Matched:
    margins, align = contests[key], contests.align
    groups = [str(name) for name in margins.row_names]
    party = (contests.parties or {}).get(key, (None,) * margins.n_cols) if align in ("auto", "party") else ()
    labels: list[Any] = [None] * margins.n_cols
    own: list[int | None] = [None] * margins.n_cols
    for c, name in enumerate(margins.col_names):
        if align in ("auto", "party") and party[c] is not None:
            labels[c] = ("party", party[c])
            own[c] = _index(groups, party[c])
        elif align == "name" or (align == "auto" and name in shared):
            labels[c] = ("name", name)
            own[c] = _index(groups, name)
    if align in ("auto", "learned"):
        _learn(labels, own, groups, association(table))
    return Matched(tuple(labels), tuple(own))


def _index(groups: list[str], name: Any) -> int | None:
    return groups.index(str(name)) if str(name) in groups else None


def _learn(labels: list, own: list, groups: list[str], score: np.ndarray) -> None:
    """Give each outcome without a label the group that it attracts, every group once, by the best assignment."""
    free = [c for c, label in enumerate(labels) if label is None]
    taken = {r for r in own if r is not None}
    left = [r for r in range(len(groups)) if r not in taken]
    if not free or not left:
        return
    rows, cols = linear_sum_assignment(-score[np.ix_(left, free)])
    for a, b in zip(rows, cols):
        r, c = left[a], free[b]
        if score[r, c] > 0:
            labels[c], own[c] = ("group", groups[r]), r
