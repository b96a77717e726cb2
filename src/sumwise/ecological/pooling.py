"""Partial pooling of contests: every contest's table borrows from the others of its election."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sumwise.contests import Contests
from sumwise.ecological.alignment import Matched, match_outcomes
from sumwise.ecological.correction import FEWEST, ContestFacts, corrected_table, resemblance
from sumwise.ecological.kernels.pooling import log_lifts, mixed_table
from sumwise.ecological.kernels.unit_likelihood import unit_log_density
from sumwise.ecological.result import fresh, inside
from sumwise.margins import Margins

ALONE, POOLED, CORRECTED = "alone", "pooled", "pooled and corrected"
WEIGHTS = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])  # of the other contests that are tried on held-out units
CORRECTED_ERROR = 0.6  # of corrected tables over that of estimates alone: their mean errors, 3.77 and 6.55


class PooledContest(NamedTuple):
    """A contest's table (R, C), the error of its shares over that of an estimate alone, and how they were reached."""

    table: np.ndarray
    scale: float
    method: str
    strength: float  # weight of the other contests
    distance: float  # of the election from those that the correction was learned on; from 1 on it isn't used
    labels: tuple


def comparable(contests: Mapping[Any, Margins], elections: Mapping[Any, Any]) -> dict[Any, Margins]:
    """Contests that can borrow from another of their election: at least two of its groups are the same.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.pooling import comparable
    >>> made = {k: Margins([[3, 2]], [[4, 1]], row_names=list(names)) for k, names in zip("abc", ["xy", "xy", "xz"])}
    >>> list(comparable(made, dict.fromkeys("abc")))
    ['a', 'b']
    """
    groups = {key: set(map(str, margins.row_names)) for key, margins in contests.items()}

    def alike(key: Any, other: Any) -> bool:
        return key != other and elections[key] == elections[other] and len(groups[key] & groups[other]) > 1

    return {key: margins for key, margins in contests.items() if any(alike(key, other) for other in groups)}


def pool(contests: Contests, fits: Mapping[Any, Any], correction: Any = "auto") -> dict[Any, PooledContest]:
    """Pool fits of all contests, election by election; a contest that has nothing to borrow from stays as it is.

    `fits` are fitted alone. `correction` is "auto" (where contests look like those it was learned on), True or False.
    """
    elections = defaultdict(list)
    for key in contests:
        elections[contests.election_of(key)].append(key)
    done: dict[Any, PooledContest] = {}
    for ids in elections.values():
        done |= _pool_election(contests, ids, fits, correction)
    return {key: done[key] for key in contests}


def _pool_election(contests: Contests, ids: list, fits: Mapping[Any, Any], correction: Any) -> dict:
    matched = match_outcomes(contests, ids, {key: fits[key].total_ for key in ids})
    facts = contest_facts(contests, ids, fits, matched)
    distances = np.full(len(ids), np.nan)
    if correction is True or (correction == "auto" and len(ids) >= FEWEST):
        distances = resemblance([facts[key] for key in ids])
    typical = float(np.median(distances))
    use = np.full(len(ids), correction is True or typical < 1.0)
    use &= ~np.array([_rejected(facts[key], fits[key]) for key in ids])
    strength = 0.0 if use.all() else pooling_strength(contests, ids, fits, facts)
    done = {}
    for key, correct in zip(ids, use):
        table, method = _estimate(facts[key], strength, bool(correct))
        scale = CORRECTED_ERROR if method == CORRECTED else 1.0
        weight = np.nan if correct else strength
        done[key] = PooledContest(table, scale, method, weight, typical, matched[key].labels)
    return done


def _rejected(fact: ContestFacts, est: Any) -> bool:
    """Whether a contest's own data reject the corrected table, at 5 percent."""
    size = np.maximum(fact.table.sum(axis=1, keepdims=True), 1e-300)
    return est.error_of_shares().rejects((corrected_table(fact) - fact.table) / size)


def _estimate(fact: ContestFacts, strength: float, correct: bool) -> tuple[np.ndarray, str]:
    if correct:
        return corrected_table(fact), CORRECTED
    if strength == 0 or not fact.n_others.any():
        return fact.table, ALONE
    return mixed_table(fact.table, fact.pooled, shrinkage(strength, fact)), POOLED


def shrinkage(strength: float, fact: ContestFacts) -> np.ndarray:
    """The weight of the others in each cell, (R, C): less where only a few contests have it."""
    return strength * fact.n_others / (fact.n_others + 1)


def pooling_strength(
    contests: Contests, ids: list, fits: Mapping[Any, Any], facts: Mapping[Any, ContestFacts]
) -> float:
    """The largest weight of the other contests that predicts held-out units as well as the best; 0 if none does better.

    As well, and better, mean within and beyond one standard error (Breiman et al. 1984): what all contests share is
    known better than what one has alone.

    Each contest is fitted to half of its units, mixed with the others, and scored on the other half by the
    log-likelihood of their columns. A fit to half of the units has twice the variance of one to all, for which the
    best weight w becomes w / (2 - w).
    """
    gains = []
    for key in ids:
        margins = contests[key]
        if facts[key].n_others.any() and np.count_nonzero(margins.totals) >= 2 * margins.n_rows:
            halves = [margins[part] for part in halves_by_content(margins)]
            scores = [_held_out(halves[k], halves[1 - k], fits[key], facts[key]) for k in (0, 1)]
            gains += [score - score[0] for score in scores if score is not None]
    if len(gains) < 2:
        return 0.0
    mean = np.mean(gains, axis=0)
    error = np.std(gains, axis=0, ddof=1) / np.sqrt(len(gains))
    best = int(np.argmax(mean))
    if mean[best] <= error[best]:
        return 0.0
    weight = WEIGHTS[np.flatnonzero(mean >= mean[best] - error[best])[-1]]
    return float(weight / (2 - weight))


def halves_by_content(margins: Margins) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two halves of the units that count, alike in size and composition, whatever their order.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.pooling import halves_by_content
    >>> m = Margins([[1, 9], [0, 0], [5, 5], [2, 8], [4, 6]], [[5, 5], [0, 0], [5, 5], [6, 4], [3, 7]])
    >>> [half.tolist() for half in halves_by_content(m)]
    [[0, 4], [3, 2]]
    """
    counted = np.flatnonzero((margins.totals > 0) & (margins.weights > 0))
    keys = np.column_stack([margins.rows, margins.cols])[counted]
    order = counted[np.lexsort(keys.T[::-1])]
    return order[::2], order[1::2]


def _held_out(part: Margins, rest: Margins, est: Any, fact: ContestFacts) -> np.ndarray | None:
    """Log-likelihood of `rest` for every weight, from a fit to `part`; None where a group is absent from `part`."""
    if not (part.rows.sum(axis=0) > 0).all() or not part.cols.sum(axis=0).all():
        return None
    table = fresh(est).fit(part).total_
    scores = []
    for weight in WEIGHTS:
        mixed = mixed_table(table, fact.pooled, shrinkage(weight, fact)) if weight else table
        shares = inside(mixed / mixed.sum(axis=1, keepdims=True))
        scores.append(float(np.sum(unit_log_density(rest.rows, rest.cols, shares, est.dispersion_))))
    return np.array(scores)


def contest_facts(contests: Contests, ids: list, fits: Mapping[Any, Any], matched: Mapping[Any, Matched]) -> dict:
    """What each contest's estimate is, and what the others of its election have: ContestFacts by id."""
    lifts = {key: log_lifts(fits[key].total_) for key in ids}
    cells = defaultdict(list)
    for key in ids:
        for r, c, kind in _kinds(contests[key], matched[key]):
            cells[kind].append((key, lifts[key][r, c]))
    facts = {}
    for key in ids:
        centre, spread, n = lifts[key].copy(), np.ones_like(lifts[key]), np.zeros_like(lifts[key])
        for r, c, kind in _kinds(contests[key], matched[key]):
            others = np.array([x for other, x in cells[kind] if other != key])
            if len(others):
                centre[r, c] = np.median(others)
                spread[r, c] = others.std() + 0.3 / np.sqrt(len(others))
                n[r, c] = len(others)
        facts[key] = _facts(contests[key], fits[key], matched[key], (centre, spread, n))
    return facts


def _kinds(margins: Margins, matched: Matched):
    """Cells that may be compared across contests: row, column and the kind's name."""
    for c, label in enumerate(matched.labels):
        if label is not None:
            for r, group in enumerate(margins.row_names):
                yield r, c, (group, label)


def _facts(margins: Margins, est: Any, matched: Matched, pooled: tuple) -> ContestFacts:
    full = margins[margins.totals > 0]
    weight = full.totals / full.totals.sum()
    x, t = full.row_shares - weight @ full.row_shares, full.col_shares - weight @ full.col_shares
    cells = est.cells_[margins.totals > 0]
    moved = cells - np.einsum("i,irc->rc", weight, cells)
    own = np.zeros(est.total_.shape)
    for c, r in enumerate(matched.groups):
        if r is not None:
            own[r, c] = 1.0
    return ContestFacts(
        table=est.total_,
        own=own,
        other_group=np.array([float("other" in str(name).lower()) for name in margins.row_names]),
        pooled=pooled[0],
        spread=pooled[1],
        n_others=pooled[2],
        group_sd=np.sqrt(weight @ x**2),
        outcome_sd=np.sqrt(weight @ t**2),
        covariance=np.einsum("i,ir,ic->rc", weight, x, t),
        cell_sd=np.sqrt(np.einsum("i,irc->rc", weight, moved**2)),
        n_units=len(full),
        dispersion=est.overdispersion_,
    )
