"""Groups and outcomes among the columns of a file with one row per unit: by what adds up, then by names."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from sumwise.errors import DataError
from sumwise.frames.margins import rounding
from sumwise.nonvoting import is_nonvoting
from sumwise.recognise.margins import words
from sumwise.recognise.margins.sums import AGREE, clean_rows, families, matrix, nested_sums, parts_of, sums, whole_runs
from sumwise.recognise.profile_file import Column, FileProfile, has_word, is_called, name_parts

ANOTHER_WAY = "another way to split people into groups; name it in groups to use it instead"
LAST_DIGITS = 0.01  # people: sums of counts with decimals, such as of probabilities, that differ by less were rounded
ROUNDED = 1e-6  # relative to a total: what differs by less was rounded
NEAR, FAR, FEW = 0.1, 0.2, 0.05
"""Sides this near in the median unit are rescaled; units this far apart are left out, if they are this few."""
MOST_ABSTAIN = 0.9  # of the people, in the median unit; where more are missing, the outcomes are not all there
MOST_LIKE_GROUPS = 0.34  # leaning of a side that may still be outcomes
SIMILAR_VOTES = (0.7, 1.1)  # votes of another contest, as a multiple of those of the first in the median unit
WHOLE_SUM = {"share": 1.0, "percent": 100.0}


@dataclass(frozen=True)
class Side:
    """Columns that may be the groups, or the outcomes of one contest."""

    columns: list[Column]
    kind: str  # count, share or percent
    closed: bool = False  # whether they add up: to the whole, to a total, or to another side
    total: Column | None = None
    family: int | None = None  # of sides with equal sums
    mark: str = ""  # what identifies the contest, such as its year

    @property
    def leaning(self) -> float:
        """1 where all names read like groups, -1 where all read like outcomes."""
        return words.leaning(self.columns)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [c.name for c in self.columns]


@dataclass
class Sides:
    """What was found: the groups, the outcomes of each contest, and what became of all other columns."""

    groups: Side
    contests: list[Side]
    unused: dict[str, str] = field(default_factory=dict)  # column -> why
    guessed: bool = False  # whether names didn't say which side is which

    @property
    def columns(self) -> list[Column]:
        """The columns of the groups and of all outcomes."""
        return [c for side in (self.groups, *self.contests) for c in side.columns]

    @property
    def names(self) -> set[str]:
        """The names of these columns."""
        return {c.name for c in self.columns}


def find_sides(profile: FileProfile) -> Sides | None:
    """The groups and the outcomes, or None where the file has no two sides."""
    pool = [c for c in profile.numeric if not is_called(c, words.PLACES)]
    pool = [c for c in pool if np.isfinite(c.amounts).any() and np.nanmedian(c.amounts) >= 0]  # no count is below zero
    names = [c.name for c in pool]
    errors = [c for c in pool if is_called(c, words.ERRORS) or words.stated_error(c, names)]
    averages = [c for c in pool if is_called(c, words.AVERAGES)]
    pool = [c for c in pool if c not in errors and c not in averages]
    if profile.n_rows < 2 or len(pool) < 2:
        return None
    kinds = {c.name: kind_of(c) for c in pool}
    nested = _nested(pool, kinds)
    sides = _of_wholes(pool, kinds, nested, profile.n_rows)
    if sides is None:
        inside = {whole.name for whole, _ in nested}
        sides = _sides([c for c in pool if c.name not in inside], kinds, profile.n_rows)
        if sides is not None:
            sides.unused |= {whole.name: f"the sum of {', '.join(c.name for c in parts)}" for whole, parts in nested}
    if sides is not None and (again := _voted_twice(sides, pool)):
        rest = find_sides(replace(profile, columns=tuple(c for c in profile.columns if c.name not in again)))
        sides = sides if rest is None else replace(rest, unused={**rest.unused, **again})
    if sides is not None:
        sides.unused |= {c.name: "a margin of error or a difference, no count of people" for c in errors}
        sides.unused |= {c.name: "no count of people; it may be a covariate" for c in averages}
    return sides


def _voted_twice(sides: Sides, pool: list[Column]) -> dict[str, str]:
    """Outcomes that are totals by their names (turnout) and the sum of columns beside them, the candidates."""
    counts = [c for c in pool if kind_of(c) == "count"]
    found = nested_sums(counts, _usable(counts)) if sides.contests[0].kind == "count" else []
    inside = {name for side in sides.contests for name in side.names}
    return {
        whole.name: f"the sum of {', '.join(c.name for c in parts)}"
        for whole, parts in found
        if whole.name in inside
        and counts_all(whole)
        and not any(c.name in sides.names or is_nonvoting(c.name) for c in parts)
    }


def _nested(pool: list[Column], kinds: dict[str, str]) -> list[tuple[Column, list[Column]]]:
    """Columns of counts that are the sum of columns beside them, but for those that count everybody."""
    counts = [c for c in pool if kinds[c.name] == "count"]
    found = nested_sums(counts, _usable(counts)) if counts else []
    return [(whole, parts) for whole, parts in found if not counts_all(whole)]


def _of_wholes(
    pool: list[Column], kinds: dict[str, str], nested: list[tuple[Column, list[Column]]], n_rows: int
) -> Sides | None:
    """The sides where one of them consists of sums (dem_total, rep_total), whose parts are then left out."""
    if len(nested) < 2:
        return None
    parts = {c.name: whole.name for whole, some in nested for c in some}
    sides = _sides([c for c in pool if c.name not in parts], kinds, n_rows)
    wholes = {whole.name for whole, _ in nested}
    if sides is None or not any(set(side.names) <= wholes for side in (sides.groups, *sides.contests)):
        return None
    sides.unused |= {name: f"a part of {whole}" for name, whole in parts.items()}
    return sides


def _sides(pool: list[Column], kinds: dict[str, str], n_rows: int) -> Sides | None:
    """The groups and the outcomes among some columns."""
    kinds = dict(kinds)
    found = _closed(pool, kinds)
    _perhaps_percents(pool, kinds, found)
    found += _loose(pool, kinds, found, n_rows)
    pairs = [(g, o, score) for g, o in itertools.permutations(found, 2) if (score := _score(g, o)) is not None]
    if not pairs:
        return None
    groups, outcomes, _ = max(pairs, key=lambda pair: pair[2])
    counted = max((p for p in pairs if p[0].kind == p[1].kind == "count"), key=lambda pair: pair[2], default=None)
    if "count" not in (groups.kind, outcomes.kind) and counted is not None:
        known = ((groups, counted[0]), (outcomes, counted[1]))
        if not _totals(pool, kinds) or all(_same_names(shares, counts) for shares, counts in known):
            groups, outcomes, _ = counted  # shares of unknown totals, or rounded ones, beside the counts
    contests = _contests(groups, outcomes, found)
    guessed = groups.leaning < 0 or (
        not any(words.like_group(c) for c in groups.columns)
        and not any(words.like_outcome(c) for side in contests for c in side.columns)
    )
    sides = Sides(groups, contests, guessed=guessed)
    _explain(sides, pool, kinds, found)
    return sides


def kind_of(column: Column) -> str:
    """What a column of numbers holds; a few entries beyond 1 or 100 are mistakes that the reader will name."""
    values = column.amounts[np.isfinite(column.amounts)]
    fractional = bool((values != np.round(values)).any())
    if fractional and (values <= 1).mean() >= 0.9:
        return "share"
    if (is_called(column, words.SHARES) or "%" in column.name) and (values <= 100).mean() >= 0.9 and (values > 1).any():
        return "percent"
    return "count"


def _same_names(shares: Side, counts: Side) -> bool:
    """Whether every count is there as a share too, by its name: white, and white % or pct_white."""
    here = [set(name_parts(name)) for name in shares.names]
    return all(any(set(name_parts(name)) <= parts for parts in here) for name in counts.names)


def _totals(pool: list[Column], kinds: dict[str, str]) -> list[Column]:
    return [c for c in pool if is_called(c, words.TOTALS) and kinds[c.name] == "count"]


def _perhaps_percents(pool: list[Column], kinds: dict[str, str], closed: list[Side]) -> None:
    """Take numbers with decimals up to 100 that add up to nothing for percents, where names suggest it."""
    inside = {name for side in closed for name in side.names}
    if not _totals(pool, kinds):
        return  # percents of nobody knows what; coordinates look like that
    named = any(kind == "percent" for kind in kinds.values())
    for c in pool:
        values = c.amounts[np.isfinite(c.amounts)]
        small = not c.whole and bool((values <= 100).all()) and bool((values >= 0).all())
        suggested = named or words.like_group(c) or words.like_outcome(c)
        if kinds[c.name] == "count" and c.name not in inside and small and suggested:
            kinds[c.name] = "percent"


# --- sides that add up


def _closed(pool: list[Column], kinds: dict[str, str]) -> list[Side]:
    found: list[Side] = []
    counts = [c for c in pool if kinds[c.name] == "count"]
    if counts:
        rows = _usable(counts)
        for number, family in enumerate(families(counts, rows)):
            kind = "percent" if _sums_to_100(family.runs[0], rows) else "count"
            total = family.total if kind == "count" else None
            found += [Side(run, kind, True, total, number) for run in family.runs]
        for run in whole_runs([c for c in counts if _may_be_percent(c)], rows, 100.0):
            found.append(Side(run, "percent", True))
    for kind, whole in WHOLE_SUM.items():
        some = [c for c in pool if kinds[c.name] == kind]
        if some:
            rows = _usable(some)
            runs = whole_runs(some, rows, whole)
            rest = [c for c in some if not any(c in run for run in runs)]
            found += [Side(run, kind, True) for run in [*runs, *_whole_subsets(rest, rows, whole)]]
    return found


def _sums_to_100(run: list[Column], rows: np.ndarray) -> bool:
    values = matrix(run)[rows] / 100
    return bool((np.abs(values.sum(axis=1) - 1) <= rounding(values)).mean() >= AGREE)


def _usable(columns: list[Column]) -> np.ndarray:
    """Rows without a flaw; where flaws are everywhere, columns with many of them are passed over."""
    rows = clean_rows(columns)
    if rows.mean() >= 0.5:
        return rows
    fair = [c for c in columns if np.isnan(c.amounts).mean() < 0.2]
    return clean_rows(fair) if fair else rows


def _may_be_percent(column: Column) -> bool:
    values = column.amounts[np.isfinite(column.amounts)]
    return bool((values <= 100).all()) and bool((values >= 0).all())


def _whole_subsets(columns: list[Column], rows: np.ndarray, whole: float) -> list[list[Column]]:
    """Shares that aren't neighbours and sum to the whole, among those whose names end alike."""
    found: list[list[Column]] = []
    by_end: dict[str, list[Column]] = {}
    for c in columns:
        by_end.setdefault((name_parts(c.name) or [""])[-1], []).append(c)
    for some in [*by_end.values(), *([columns] if len(by_end) > 1 else [])]:
        free = [c for c in some if not any(c in run for run in found)][:12]
        for size in range(2, min(4, len(free)) + 1):
            for chosen in itertools.combinations(free, size):
                values = matrix(list(chosen))[rows] / whole
                off = np.abs(values.sum(axis=1) - 1) <= min(rounding(values), 0.01)
                if len(off) and off.mean() >= AGREE and not any(c in run for c in chosen for run in found):
                    found.append(list(chosen))
    return found


# --- sides that only their names show


def _loose(pool: list[Column], kinds: dict[str, str], closed: list[Side], n_rows: int) -> list[Side]:
    inside = {c.name for side in closed for c in side.columns} | {s.total.name for s in closed if s.total is not None}
    free = [c for c in pool if c.name not in inside and not _is_id(c, n_rows)]
    found: list[Side] = []
    for kind in ("count", "share", "percent"):
        some = [c for c in free if kinds[c.name] == kind]
        plain = [c for c in some if not (kind == "count" and is_total(c))]
        groups = _with_neighbours([c for c in plain if words.like_group(c)], plain)
        named = [c for c in plain if c not in groups and words.like_outcome(c)]
        others = [c for c in plain if c not in groups and c not in named and (kind != "count" or c.whole)]
        others = _within(groups, others) if kind == "count" and groups else others
        found += [Side(side, kind) for side in (groups, named) if side]
        if others and not named:
            found.append(Side(others, kind))
        elif others and kind == "count":
            found += [Side(_block(named, others, pool), kind), Side(others, kind)]
        if kind == "count" and groups and others:
            found += _all_others(groups, [c for c in plain if c in named or c in others])
    kept = [side for side in found if side.kind != "count" or len(side.columns) > 1 or _of_a_total(side, closed)]
    if not any(side.leaning <= 0 for side in (*closed, *kept)):
        voted = [c for c in free if kinds[c.name] == "count" and is_called(c, words.VOTED)]
        kept += [Side(voted[:1], "count")] if voted else []
    return kept


def _within(groups: list[Column], others: list[Column]) -> list[Column]:
    """Columns that no word shows to be outcomes, without those that exceed all groups together, as incomes do."""
    rows = clean_rows([*groups, *others])
    whole = sums(groups)[rows]
    kept = [c for c in others if not len(whole) or float((c.amounts[rows] > whole).mean()) <= 0.5]
    return kept if len(kept) > 1 else others


def _of_a_total(side: Side, closed: list[Side]) -> bool:
    """Whether one column of counts is a group of people whom a total counts: the rest of it are all others."""
    column = side.columns[0]
    if not words.like_group(column) or is_called(column, ("age*", "x")) or not column.whole:
        return False
    totals = [s.total.amounts for s in closed if s.total is not None and is_total(s.total) and s.leaning < 0]
    return any((column.amounts <= total).all() and column.amounts.sum() > 0.001 * total.sum() for total in totals)


def _all_others(groups: list[Column], others: list[Column]) -> list[Side]:
    """All columns other than groups, if they add up to the groups: outcomes, wherever they stand in the file."""
    rows = clean_rows([*groups, *others])
    one, two = sums(groups)[rows], sums(others)[rows]
    same = len(one) > 1 and float((np.abs(one - two) <= ROUNDED * np.maximum(one, two)).mean()) >= AGREE
    return [Side(others, "count", True), Side(groups, "count", True)] if same else []


def _block(named: list[Column], others: list[Column], pool: list[Column]) -> list[Column]:
    """Outcomes that names show, with the columns that stand in one block with them: candidates, known by no word."""
    kept, run = [], []
    for c in [*pool, None]:
        if c is not None and (c in named or c in others):
            run.append(c)
            continue
        kept += run if any(c in named for c in run) else []
        run = []
    return kept


def _with_neighbours(side: list[Column], columns: list[Column]) -> list[Column]:
    """A side with the columns beside it that say "other" or "unknown", which may belong to either."""
    order = [c.name for c in columns]
    for c in columns:
        near = {abs(order.index(c.name) - order.index(s.name)) for s in side}
        if c not in side and is_called(c, words.EITHER_SIDE) and 1 in near:
            side = [x for x in columns if x in side or x is c]
    return side


def _is_id(column: Column, n_rows: int) -> bool:
    if words.like_group(column) or words.like_outcome(column):
        return False
    return words.names_unit(column) or (column.whole and column.distinct == n_rows and _runs_on(column))


def _runs_on(column: Column) -> bool:
    values = column.amounts
    return len(values) > 2 and bool((np.diff(values) == 1).all())


def is_total(column: Column) -> bool:
    """Whether a name says that a column counts everybody, or all of some."""
    return counts_all(column) or is_called(column, ("total*", "tot", "totpop", "totvap"))


def counts_all(column: Column) -> bool:
    """Whether a name says that a column counts everybody: total votes, ballots cast; not dem_total."""
    parts = name_parts(column.name)
    known = [replace(column, name=p) for p in parts if not p.isdigit()]
    return any(is_called(c, words.TOTALS) for c in known) and all(
        is_called(c, (*words.TOTALS, *words.COUNTED)) for c in known
    )


# --- which two


def _score(groups: Side, outcomes: Side) -> float | None:
    if set(groups.names) & set(outcomes.names) or (outcomes.total is not None and outcomes.total in groups.columns):
        return None
    equal = groups.family is not None and groups.family == outcomes.family  # votes by party and by candidate, say
    if (
        (groups.total is not None and groups.total in outcomes.columns)
        or groups.leaning < outcomes.leaning
        or (groups.leaning < 0 and not equal)
        or outcomes.leaning > MOST_LIKE_GROUPS
    ):
        return None
    if not (groups.closed and outcomes.closed) and groups.leaning <= 0 and not _are_electors(groups, outcomes):
        return None  # nothing says that these are groups
    if parts_of(outcomes.columns, groups.columns, _both(groups, outcomes)):
        return None  # the cells themselves
    fit = relation(groups, outcomes)
    alone = not outcomes.closed or (outcomes.family is None and fit.word == "equal")  # known by names, or all others
    mean = -1.0 if any(words.like_outcome(c) for c in outcomes.columns) and alone else outcomes.leaning
    score = groups.leaning - mean + 0.5 * groups.closed + 0.3 * outcomes.closed
    score += 1.5 * equal - 2.0 * (groups.leaning < 0)
    score += {"equal": 1.0, "shares": 0.5, "no_vote": 0.3, "rescale": 0.6, "far": -0.5}[fit.word]
    score += 0.3 * (_of_age(groups) and any(is_nonvoting(c.name) for c in outcomes.columns))
    score -= 0.05 * all(is_called(c, words.SEXES) for c in groups.columns)  # beside race or age, rarely what is asked
    if outcomes.closed:  # the same either way round, so that the order of the file decides where names don't
        return score - 0.001 * (len(groups.columns) + len(outcomes.columns))
    return score + 0.002 * min(len(outcomes.columns), 10)


def _are_electors(groups: Side, outcomes: Side) -> bool:
    """Whether one side adds up to those who may vote, and the other to fewer: whoever is missing didn't vote."""
    electors = groups.total is not None and is_called(groups.total, words.ELECTORATE)
    return electors and groups.leaning == 0 and relation(groups, outcomes).word == "no_vote"


def _of_age(side: Side) -> bool:
    """Whether names speak of those who may vote, among whom some don't."""
    return all(any("vap" in part for part in name_parts(c.name)) for c in side.columns)


def _both(groups: Side, outcomes: Side) -> np.ndarray:
    return clean_rows([*groups.columns, *outcomes.columns])


@dataclass(frozen=True)
class Relation:
    """How the sums of two sides are related over the rows."""

    word: str  # equal, shares, no_vote, rescale or far
    apart: float = 0.0  # in the median row, relative to the larger
    out: np.ndarray | None = None  # rows that don't fit and are few


def relation(groups: Side, outcomes: Side, keep: np.ndarray | None = None) -> Relation:
    """How outcomes relate to groups: equal sums, fewer outcomes (some didn't vote), or sums that are near."""
    if "count" not in (groups.kind, outcomes.kind) or groups.kind != outcomes.kind:
        return Relation("shares")
    rows = _both(groups, outcomes) if keep is None else _both(groups, outcomes) & keep
    if not rows.any():
        return Relation("far", 1.0)
    g, o = sums(groups.columns), sums(outcomes.columns)
    most = np.maximum(np.maximum(g, o), 1e-300)
    off = np.where(rows, np.abs(g - o) / most, 0.0)
    whole = all(c.whole for c in (*groups.columns, *outcomes.columns))
    wrong = rows & (off > ROUNDED) & (whole | (np.abs(g - o) > LAST_DIGITS))
    middle = float(np.median(off[rows]))
    if wrong.sum() <= (1 - AGREE) * rows.sum():
        return Relation("equal", middle, wrong if wrong.any() else None)
    over = rows & (o > g * (1 + 1e-6))
    few = max(1.0, FEW * rows.sum())
    abstain = any(is_nonvoting(c.name) for c in outcomes.columns)
    if not abstain and middle < MOST_ABSTAIN and (not over.any() or (over.sum() <= few and middle > NEAR)):
        return Relation("no_vote", middle, over if over.any() else None)
    far = rows & (off > FAR)
    if middle <= NEAR and far.sum() <= few:
        return Relation("rescale", middle, far if far.any() else None)
    return Relation("far", middle)


# --- contests, and what is left


def _contests(groups: Side, first: Side, found: list[Side]) -> list[Side]:
    """The outcomes of every contest in the file, in its order."""
    if not first.closed:
        return split(first)
    kept = [first]
    wholes = [*groups.columns, *first.columns]
    for side in found:
        used = {name for s in (groups, *kept) for name in s.names}
        if not side.closed or set(side.names) & used or side.kind != first.kind:
            continue
        if side.leaning > (MOST_LIKE_GROUPS if first.leaning > -0.4 else -0.2):
            continue  # not as much an outcome as the first
        if side.total is not None and side.total.name in used:
            continue
        if parts_of(side.columns, wholes, _both(groups, side)) or relation(groups, side).word == "far":
            continue
        kept.append(side)
    kept += _beside(groups, kept, found)
    place = {id(c): k for k, c in enumerate(c for side in found for c in side.columns)}
    kept.sort(key=lambda s: place[id(s.columns[0])])
    return [s for side in kept for s in (split(side) if side.family is None and len(kept) == 1 else [side])]


def _beside(groups: Side, kept: list[Side], found: list[Side]) -> list[Side]:
    """Contests that don't add up to the groups, beside one that does: about as many votes as it has."""
    if groups.kind != "count":
        return []
    voted = [c for c in kept[0].columns if not is_nonvoting(c.name)]
    more: list[Side] = []
    for side in found:
        used = {name for s in (groups, *kept, *more) for name in s.names}
        if side.closed or side.kind != "count" or set(side.names) & used or len(side.columns) < 2 or not voted:
            continue
        rows = _both(groups, side) & (sums(voted) > 0)
        near = SIMILAR_VOTES[0] < float(np.median(sums(side.columns)[rows] / sums(voted)[rows])) < SIMILAR_VOTES[1]
        whole = all(c.whole for c in side.columns) and side.leaning <= MOST_LIKE_GROUPS
        if near and whole and relation(groups, side).word in ("no_vote", "rescale"):
            more.append(side)
    return more


def split(side: Side) -> list[Side]:
    """The outcomes of each contest among some columns: by marks in their names, or since they count voters twice."""
    marked = words.by_contest(side.columns)
    if len(marked) == 1:
        at = None if side.closed else _twice(side.columns)
        if at is None:
            return [side]
        return [replace(side, columns=side.columns[:at]), replace(side, columns=side.columns[at:])]
    return [replace(side, columns=columns, mark=mark) for mark, columns in marked.items()]


def _twice(columns: list[Column]) -> int | None:
    """Where outcomes fall into two halves with nearly the same sums in every row: the same voters, counted twice."""
    rows = clean_rows(columns)
    places = []
    for at in range(2, len(columns) - 1):
        one, two = sums(columns[:at])[rows], sums(columns[at:])[rows]
        off = np.abs(one - two) / np.maximum(np.maximum(one, two), 1.0)
        if len(off) >= 10 and np.median(off) < NEAR and (off < FAR).mean() > 0.9:
            places.append((at, float(np.mean(off < 1e-9))))
    sure = [at for at, same in places if same >= AGREE] or [at for at, _ in places]
    if len(sure) > 1:
        listed = " or ".join(f"after {columns[at - 1].name}" for at in sure)
        raise DataError(
            f"{', '.join(c.name for c in columns)} count the voters about twice: they are two contests, and the first "
            f"may end {listed}.",
            hint="give the columns of a contest a common mark (smith_16, lee_16, smith_20, lee_20), or split the file.",
        )
    return sure[0] if sure else None


def _explain(sides: Sides, pool: list[Column], kinds: dict[str, str], found: list[Side]) -> None:
    """Why every other column of numbers is left out."""
    used, wholes = sides.names, sides.columns
    cells = {}
    for side in found:
        if not set(side.names) & used:
            for some, whole in parts_of(side.columns, wholes, _both(sides.groups, side)):
                cells |= {c.name: f"sums to {whole.name} with its neighbours: cells that are known" for c in some}
    closed = {name: side for side in found if side.closed for name in side.names}
    for c in pool:
        if c.name not in used:
            sides.unused[c.name] = cells.get(c.name) or _reason(c, sides, kinds[c.name], closed.get(c.name))


def _reason(column: Column, sides: Sides, kind: str, side: Side | None) -> str:
    if side is not None and side.leaning > 0:
        return ANOTHER_WAY
    if is_total(column):
        return "a total that isn't needed"
    if words.names_unit(column):
        return "reads like the name of a unit or of a larger area"
    if kind not in (sides.groups.kind, sides.contests[0].kind):
        return f"holds {kind}s, which the sides don't"
    party = any(has_word(part, word) for part in name_parts(column.name)[1:] for word in words.PARTY)
    may_be = "an outcome of another contest" if party and column.whole else "a covariate"
    return f"no part of a side; it may be {may_be}"
