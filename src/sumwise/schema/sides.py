"""Sides of margins that sums prove: columns whose sums equal those of the other side, a total, 1 or 100."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from sumwise.schema.columns import WORDS, Column, Grid, agreement, has_word, parts, sums
from sumwise.schema.questions import Interview

AGREE = 0.8  # of the rows in which sums agree; mistakes in the others are asked about
KINDS = ("race", "age", "sex", "tenure")
AGES = re.compile(
    r"(x|age)?[ _]?\d{2}([ ._-]+(to)?[ ._-]*\d{2}|\+|\.|[ ._-]?plus)", re.IGNORECASE
)  # 18-29, X20.29, X80.
ERRORS = {"groups_moe": ("moe",), "groups_sd": ("se", "sd")}  # words for them, by the key of a problem file
MEANS = {
    "groups_moe": "90% margins of error (as the American Community Survey has them)",
    "groups_sd": "standard errors",
}
ESTIMATE = {"est", "estimate"}
LONGEST_RUN = 40  # columns of one side among others
LONGEST_SUM = 6  # neighbours that a column may be the sum of

Base = tuple[tuple, list[Column], list[list[Column]]]  # a key, groups, the outcomes of each contest


def is_total(c: Column) -> bool:
    """Whether a column's name says that it counts everybody."""
    words = [p for p in parts(c.said) if not p.isdigit()]
    hit = [p for p in words if any(has_word(p, w) for w in WORDS["total"])]
    return bool(hit) and all(p in hit or p in WORDS["besides_total"] for p in words)


def category(c: Column) -> str | None:
    """By what a column's name splits people: race, age, sex, tenure."""
    if AGES.fullmatch(c.said):
        return "age"
    return next((k for k in KINDS if c.called(k)), None)


def kind_of(c: Column) -> str:
    """What a column of numbers holds, by its name and its numbers: count, share or percent."""
    top = float(np.nanmax(c.numbers)) if len(c.numbers) and not np.isnan(c.numbers).all() else 0.0
    named = c.called("percent")
    if (named or not c.is_whole) and top <= 1.0 + 1e-9:
        return "share"
    return "percent" if (named or not c.is_whole) and top <= 130 and not (not named and top < 2) else "count"


def sums_to_hundred(columns: Sequence[Column]) -> bool:
    """Whether columns are whole percents."""
    total = sums(columns)
    near = bool((np.abs(total - 100) <= 0.5 * len(columns)).mean() > 0.9) if len(columns) > 1 else False
    return near and float(np.nanmax([c.numbers.max() for c in columns])) <= 100


def segments(columns: list[Column], target: np.ndarray, tol: float = 1e-6) -> list[list[Column]] | None:
    """Neighbours cut into runs that each sum to the target in nearly every row; None if some are left over."""
    runs: list[list[Column]] = []
    run: list[Column] = []
    for c in columns:
        run.append(c)
        if len(run) > 1 and agreement(sums(run), target, tol) >= AGREE:
            runs.append(run)
            run = []
        elif runs and len(run) < 3 and agreement(sums(runs[-1] + run), target) > agreement(sums(runs[-1]), target):
            runs[-1], run = runs[-1] + run, []
    if len(run) > 1 and runs and kind_of(run[0]) == "count":
        return [*runs, run]  # a contest that doesn't add up; it will be asked about
    return runs if runs and not run else None


def inside(columns: list[Column], target: np.ndarray, iv: Interview, tol: float = 1e-6) -> list[list[Column]]:
    """Runs among other columns that sum to the target; what stands beside them is no count of these people."""
    runs, i = [], 0
    while i < len(columns):
        total, end = columns[i].numbers.astype(float), None
        for j in range(i + 1, min(i + LONGEST_RUN, len(columns))):
            total = total + columns[j].numbers
            if agreement(total, target, tol) >= AGREE:
                end = j + 1
                break
        runs += [columns[i:end]] if end else []
        i = end or i + 1
    left = [c.name for c in columns if not any(c in r for r in runs)]
    if runs and left:
        iv.remarks.append(f"not used, since they add up to nothing: {', '.join(left)}.")
    return runs


def variants(columns: list[Column]) -> list[list[Column]]:
    """The columns; without those that are sums of neighbours; without the parts of such sums."""
    totals, inner = [], []
    for k, c in enumerate(columns):
        spans = range(2, LONGEST_SUM + 1)
        for i, j in [(k - m, k) for m in spans] + [(k + 1, k + 1 + m) for m in spans]:
            near = i >= 0 and j <= len(columns) and c.numbers.any()
            if near and agreement(sums(columns[i:j]), c.numbers) >= 0.95:
                totals.append(c)
                inner += columns[i:j]
                break
    if not totals:
        return [columns]
    return [columns, [c for c in columns if c not in totals], [c for c in columns if c not in inner]]


def bases(pool: list[Column]) -> dict[tuple, list[Column]]:
    """Columns that read like groups, by what kind of group and what else their names say: (race, vap), (race, cvap)."""
    by_name: dict[tuple, list[Column]] = {}
    for k, c in enumerate(pool):
        kind, mark = category(c), _mark(c)
        last = next((v for v in by_name.values() if k and v[-1] is pool[k - 1]), None)
        if kind is None and c.called("either") and last and len(parts(c.said)) == len(parts(pool[k - 1].said)):
            last.append(c)
        elif kind is not None and len(mark) < 3:
            by_name.setdefault((kind, mark), []).append(c)
    for key in [k for k in by_name if "nh" in k[1]]:  # not Hispanic by race: with the Hispanics of the same base
        plain = by_name.get((key[0], tuple(p for p in key[1] if p != "nh")), [])
        by_name[key] += [c for c in plain if any(has_word(c.said, w) for w in ("hisp*", "latin*"))]
    return by_name


def _mark(c: Column) -> tuple[str, ...]:
    """What a name says besides the group: vap, cvap, 2020."""
    if AGES.fullmatch(c.said):
        return ()
    lists = (category(c) or "race", "either", "total", "percent")
    known = [p for p in parts(c.said) if any(has_word(p, w) for key in lists for w in WORDS[key])]
    bases_named = ("vap", "cvap", "reg", "registered", "turnout")
    return tuple(p for p in parts(c.said) if p not in known or p in bases_named)


def without_cells(runs: list[list[Column]], groups: list[Column]) -> list[list[Column]]:
    """Contests without cells that are known: neighbours that sum to a group, or to an outcome."""

    def is_cells(run: list[Column]) -> bool:
        spans = [(i, j) for i in range(len(run)) for j in range(i + 2, min(i + 12, len(run)) + 1) if j - i < len(run)]
        return any(agreement(sums(run[i:j]), c.numbers) >= AGREE for c in groups for i, j in spans)

    first = [c for r in runs[:1] for c in r]
    runs = [r for k, r in enumerate(runs) if k == 0 or not any(agreement(sums(r), c.numbers) >= AGREE for c in first)]
    return [r for r in runs if len(runs) == 1 or not is_cells(r)]


def proved_sides(
    free: list[Column], totals: list[Column], named: dict[tuple, list[Column]], order: Callable, iv: Interview
) -> list[Base]:
    """Groups by their names, with outcomes whose sums equal theirs; columns that are totals after all join `totals`."""
    proved: list[Base] = []
    for key, groups in named.items():
        if kind_of(groups[0]) != "count" or sums_to_hundred(groups):
            continue
        others = [c for k, b in named.items() if k != key for c in b]
        counts = [c for c in free if kind_of(c) == "count" and c not in groups]
        rest = [c for c in counts if c not in others]
        alone = [c for c in rest if agreement(c.numbers, sums(groups)) >= AGREE]  # a total, whatever it is called
        totals += [c for c in alone if c not in totals]
        pools = [rest, counts] if others else [rest]  # candidates may be called Black and White
        for pool in ([c for c in pool if c not in alone] for pool in pools):
            runs = _runs_beside(groups, pool, totals, order, iv)
            if not runs or any((groups, runs) == (g, r) for _, g, r in proved):
                continue
            proved.append((key, groups, runs))
            either = any(c in others for c in runs[0]) or may_be_swapped(groups, runs[0])
            if len(runs) == 1 and either:  # which are the groups?
                proved.append(((*key, "other side"), runs[0], [groups]))
    return proved


def stated_errors(grid: Grid, groups: Sequence[Column], iv: Interview) -> dict[str, list[str]]:
    """The column of every group's margin of error or standard error, by its name: black_cvap, black_cvap_moe."""
    for key, words in ERRORS.items():
        named = {tuple(sorted(said)): c.name for c in grid.columns if c.numbers is not None and (said := _of(c, words))}
        found = [named.get(tuple(sorted(set(parts(c.said)) - ESTIMATE))) for c in groups]
        if None not in found and len({*found}) == len(found):
            listed = [str(name) for name in found]
            iv.remarks.append(f"{', '.join(listed)}: taken as {MEANS[key]} of the groups, for intervals.")
            return {key: listed}
    return {}


def _of(c: Column, words: Sequence[str]) -> set[str]:
    """What the name of an error says besides that it is one; nothing where it isn't."""
    said = set(parts(c.said))
    return said - {*words} - ESTIMATE if said & {*words} else set()


def may_be_swapped(groups: list[Column], run: list[Column]) -> bool:
    """Whether words leave open which side is which: groups called like persons, or outcomes like groups."""
    if any(c.called("outcome") for c in run):
        return False
    words = [[p for p in parts(c.said) if not any(has_word(p, w) for w in WORDS["percent"])] for c in groups]
    persons = {w for own in words for w in own} <= {*WORDS["surname"]}
    unread = any(category(c) is None and not c.called("either") for c in groups)
    return persons or unread or any(category(c) for c in run)


def _runs_beside(
    groups: list[Column], rest: list[Column], totals: list[Column], order: Callable, iv: Interview
) -> list[list[Column]]:
    """Runs of other columns whose sums equal those of the groups; none if there are none."""
    target = sums(groups)
    tries = [v for t in [[], *[[t] for t in totals]] for v in variants(sorted(rest + t, key=order))]
    whole = ([v] if len(v) > 1 and agreement(sums(v), target) >= AGREE else segments(v, target) for v in tries)
    runs = next((r for r in whole if r), None)
    runs = runs or next((r for v in reversed(variants(rest)) if (r := inside(v, target, iv))), None)
    return without_cells(runs, groups) if runs else []


def equal_sums(free: list[Column], iv: Interview) -> list[Base]:
    """Runs of neighbours with equal sums, whatever they are called: which of them holds the groups is asked."""
    columns = [c for c in free if kind_of(c) == "count" and c.is_whole]
    for pool in variants(columns):
        for p in range(2, len(pool) - 1):
            runs = segments(pool[p:], sums(pool[:p])) if not sums_to_hundred(pool[:p]) else None
            if not runs:
                continue
            runs = without_cells([pool[:p], *runs], pool[:p])
            names = [", ".join(c.name for c in r) for r in runs]
            options = {f"{n} are the groups": i for i, n in enumerate(names[:2])}
            words = f"{' | '.join(names)} have equal sums. Which are the groups of people?"
            at = iv.ask("sides", words, options)
            return [(("sums",), runs[at], [r for r in runs if r is not runs[at]])]
    return []


def marked(columns: list[Column]) -> dict[str, list[Column]]:
    """Contests by headings, or by what names share: dem_2016, rep_2016; PRES20D; Garcia1."""
    heads = list(dict.fromkeys(c.head for c in columns))
    if len(heads) > 1 and all(heads):
        return {h: [c for c in columns if c.head == h] for h in heads}
    for place in (0, -1):
        marks: dict[str, list[Column]] = {}
        for c in columns:
            words = parts(c.name)
            code = place == 0 and next((m for p in WORDS["contest_codes"] if (m := re.fullmatch(p, c.name))), None)
            mark = code[1] if code else words[place] if len(words) > 1 else c.name
            marks.setdefault(mark, []).append(c)
        chosen = sum(any(has_word(m, w) for w in WORDS["outcome"]) for m in marks)  # what was chosen, and no contest
        if len(marks) > 1 and all(len(v) > 1 for v in marks.values()) and chosen < len(marks):
            return marks
    return {"": columns}


def is_apart(c: Column) -> bool:
    """Whether a column of numbers is no count of people: a place, an error, a number of a unit."""
    if (
        category(c) is None
        and not is_total(c)
        and (c.called("unused") or (c.called("unit") and not c.called("outcome")))
    ):
        return True
    error = c.called("unused") and not c.called("percent")
    if error and any(has_word(c.said, w) for w in ("moe", "sd", "se", "error*")):
        return True
    n = c.numbers
    return len(n) > 2 and not np.isnan(n).any() and bool((np.diff(n) == 1).all())
