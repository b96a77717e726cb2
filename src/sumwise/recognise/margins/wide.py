"""One row per unit, with columns of groups and of outcomes: counts, shares or percents, of one contest or several.

Or groups in one file and outcomes in another, with a column of the same name for the units.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.recognise.guess import TOGETHER, Guess
from sumwise.recognise.margins import refusals, words
from sumwise.recognise.margins.reading import Reading, leave_out_repeated, leave_out_totals, left_out_key
from sumwise.recognise.margins.sides import ANOTHER_WAY, Side, Sides, find_sides, is_total, kind_of, relation, split
from sumwise.recognise.margins.sums import clean_rows, sums
from sumwise.recognise.margins.totals import (
    ask_of_whom,
    check_percents,
    find_total,
    has_rest,
    mismatch,
    people_per_unit,
    trusted_total,
)
from sumwise.recognise.profile_file import Column, FileProfile, is_called

BASES = re.compile(r"c?vap|citizens?|voting.?age|pop(ulation)?|reg(istered)?|voters?|[\W_\d]", re.IGNORECASE)
ENOUGH = 3000  # rows that show which columns add up
MOST_CODES = 12  # distinct numbers that may be codes


def guess_wide(profile: FileProfile) -> Guess | None:
    """The problem that a file with one row per unit suggests."""
    refusals.refuse_thousands(profile)
    sides = find_sides(_thinned(profile))
    if sides is None:
        return None
    sides = _one_base(_inhabited(_whole(sides, profile)))
    if len(sides.groups.columns) + (sides.groups.kind != "count" or not sides.groups.closed) < 2:
        raise DataError(
            f"{profile.path.name}: all people are in {sides.groups.names[0]!r}; the other groups have nobody "
            f"({', '.join(sides.unused)}).",
            hint="are these the right columns? Who chose what is known where there is one group.",
        )
    refusals.refuse_columns(profile, sides)
    reading = Reading(profile, sides)
    leave_out_totals(reading)
    refusals.refuse_several_rows(profile, sides, reading.keep)
    reading.columns |= _unit(reading)
    leave_out_repeated(reading)
    if "unit" not in reading.columns:
        refusals.refuse_nameless_copies(profile, sides, reading.keep)
    reading.columns |= _side_keys("groups", sides.groups) | _group_errors(reading)
    parts = [_contest(reading, side) for side in sides.contests]
    if len(parts) == 1:
        reading.data |= parts[0]["data"]
        reading.columns |= parts[0]["columns"]
    else:
        reading.contests = [
            {"name": name, **part["columns"], **part["data"]}
            for name, part in zip(_contest_names(sides.contests), parts)
        ]
        reading.ask.append(
            f"{len(parts)} contests were found, by columns that add up or by names: "
            f"{', '.join(c['name'] for c in reading.contests)}. {TOGETHER}"
        )
    return _finished(reading)


def _thinned(profile: FileProfile) -> FileProfile:
    step = -(-profile.n_rows // ENOUGH)
    if step <= 1:
        return profile
    some = slice(None, None, step)

    def thin(c: Column) -> Column:
        parts = {k: getattr(c, k)[some] for k in ("numbers", "doubtful") if getattr(c, k) is not None}
        return replace(c, **parts)

    columns = tuple(thin(c) for c in profile.columns)
    return replace(profile, columns=columns, n_rows=len(range(0, profile.n_rows, step)))


def _whole(sides: Sides, profile: FileProfile) -> Sides:
    """The sides with all rows of their columns."""

    def all_rows(side: Side) -> Side:
        total = None if side.total is None else profile[side.total.name]
        return replace(side, columns=[profile[name] for name in side.names], total=total)

    return replace(sides, groups=all_rows(sides.groups), contests=[all_rows(side) for side in sides.contests])


def _inhabited(sides: Sides) -> Sides:
    """The sides without groups that have nobody in any row, which no method can say anything of."""
    empty = [c.name for c in sides.groups.columns if not np.nansum(np.abs(c.amounts)) > 0]
    if not empty:
        return sides
    groups = replace(sides.groups, columns=[c for c in sides.groups.columns if c.name not in empty])
    return replace(sides, groups=groups, unused={**sides.unused, **dict.fromkeys(empty, "has nobody in any row")})


def _one_base(sides: Sides) -> Sides:
    """The sides without the same groups on another base, such as citizens beside all adults (BVAP, BCVAP)."""
    bare = {BASES.sub("", name) for name in sides.groups.names} - {""}
    found = [side for side in sides.contests if all(BASES.sub("", name) in bare for name in side.names)]
    found = found if len(found) < len(sides.contests) else []
    names = [name for side in found for name in side.names]
    names += [name for name, why in sides.unused.items() if BASES.sub("", name) in bare and why.startswith("no part")]
    unused = {**sides.unused, **dict.fromkeys(names, ANOTHER_WAY)}
    return replace(sides, contests=[side for side in sides.contests if side not in found], unused=unused)


def _unit(reading: Reading) -> dict[str, Any]:
    """The column, or the two, that name units."""
    profile, keep = reading.profile, reading.keep
    used = reading.sides.names
    n = int(keep.sum())
    free = [c for c in profile.columns if c.name not in used and not is_called(c, words.TOTALS)]
    free = [c for c in free if (c.doubtful is None or words.names_unit(c)) and (c.codes[keep] >= 0).all()]
    alone = [c for c in free if len(np.unique(c.codes[keep])) == n]
    named = [c for c in alone if words.names_unit(c)] or [c for c in alone if c.texts is not None]
    if named:
        return {"unit": named[0].name}
    free = [c for c in free if words.names_unit(c) or (c.texts is not None and c.distinct > 1)]
    free.sort(key=lambda c: not words.names_unit(c))
    for i, a in enumerate(free):
        for b in free[i + 1 :]:
            if len(set(zip(a.codes[keep].tolist(), b.codes[keep].tolist()))) == n:
                return {"unit": [a.name, b.name]}
    nearly = [c for c in profile.columns if c.name not in used and words.names_unit(c) and c.doubtful is None]
    nearly = [c for c in nearly if len(np.unique(c.codes[keep])) >= 0.9 * n]  # the reader names what is missing
    if nearly:
        return {"unit": nearly[0].name}
    reading.ask += [
        f"{c.name} has {c.distinct:,} values in {profile.n_rows:,} rows and doesn't identify units; rows get numbers."
        for c in free
        if words.names_unit(c) and 1 < c.distinct < profile.n_rows
    ]
    return {}


def _side_keys(key: str, side: Side) -> dict[str, Any]:
    keys: dict[str, Any] = {key: side.names}
    if side.kind != "count":
        keys[f"{key}_in"] = side.kind
    return keys


def _group_errors(reading: Reading) -> dict[str, Any]:
    """The key of standard errors or margins of error, where every group has such a column."""
    names = reading.sides.groups.names
    found = {}
    for column in reading.profile.columns:
        if column.amounts is not None and (error := words.stated_error(column, names)) is not None:
            found[error] = column.name
    for key in ("groups_sd", "groups_moe"):
        columns = [found.get((name, key)) for name in names]
        if None not in columns:
            reading.sides.unused = {k: why for k, why in reading.sides.unused.items() if k not in columns}
            what = "standard errors" if key == "groups_sd" else "90% margins of error"
            reading.comments["columns", key] = f"{what} of the groups, which intervals allow for"
            return {key: columns}
    return {}


def _contest(reading: Reading, side: Side) -> dict[str, dict[str, Any]]:
    """The keys of one contest: its outcomes, its total, a rest, and what to do where totals differ."""
    groups = reading.sides.groups
    columns, data = _side_keys("outcomes", side), {}
    total = trusted_total(reading, side, find_total(reading, side))
    check_percents(reading, side, total)
    ask_of_whom(reading, total)
    everybody = total.name if total is not None else people_per_unit(reading, side)
    columns |= {} if everybody is None else {"total": everybody}
    votes = side.kind == "count" and total is not None and is_called(total, words.ELECTORATE)
    rest = "no vote" if votes else "none of these"
    for name, part, key in (("all others", groups, "rest_group"), (rest, side, "rest_outcome")):
        if part is side and side.kind == groups.kind == "count" and (groups.closed or total is None):
            continue  # whoever is missing didn't vote
        if has_rest(part, total, reading.keep):
            columns[key] = name
            reading.comments["columns", key] = "a name for the rest of everybody"
            if part.kind == "count" and total is not None:
                listed = ", ".join(part.names[:4]) + (", ..." if len(part.names) > 4 else "")
                reading.ask.append(f"{listed} sum to less than {total.name}; the rest of it is called {name!r}.")
    if total is None and groups.kind == side.kind == "count" and "mismatch" not in reading.profile.given:
        refusals.refuse_overlap(reading.profile, reading.sides, side, reading.keep)
    if "rest_group" not in columns and "rest_outcome" not in columns:
        data |= mismatch(reading, side, relation(groups, side, reading.keep))
    return {"columns": columns, "data": data}


def _contest_names(contests: list[Side]) -> list[str]:
    named = [side.mark or words.heading(side.names) or " / ".join(side.names[:2]) for side in contests]
    return [name if named.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(named)]


def _finished(reading: Reading) -> Guess:
    profile, sides = reading.profile, reading.sides
    opening, comments = profile.opening()
    if sides.guessed:
        reading.ask.append("which side holds the groups was guessed from the order of the columns.")
    other = [name for name, why in sides.unused.items() if why.startswith("another way")]
    other = [name for name in other if kind_of(profile[name]) == sides.groups.kind and not is_total(profile[name])]
    if other:
        reading.ask.append(
            f"people are split into groups in two ways: {', '.join(sides.groups.names[:6])} are used, "
            f"{', '.join(other[:6])} are not; name those in groups (and their sum in total, if that is named) to use "
            "them instead."
        )
    reading.ask += [line for side in sides.contests for line in _same_candidate(side)]
    reading.ask += [
        f"column {c.name} is empty and isn't used; formulas of a workbook have values once it was saved there."
        for c in profile.columns
        if c.missing == profile.n_rows and (words.like_group(c) or words.like_outcome(c) or is_total(c))
    ]
    reading.comments["columns", "groups"] = "who they are; swap with outcomes if it is the other way round"
    reading.ask += _perhaps_in_the_rest(reading)
    left = left_out_key(reading)
    score = _score(sides)
    if sides.groups.kind != "count":
        closed = sides.groups.closed and sides.contests[0].closed
        score = 0.8 if reading.refusal is None else 0.6 if closed else 0.4
    totals = {reading.columns.get("total"), *(c.get("total") for c in reading.contests)}
    unit = reading.columns.get("unit", [])
    skip = {*totals, *([unit] if isinstance(unit, str) else unit)}
    return Guess(
        "ecological",
        score,
        f"one row per unit, groups and outcomes that add up: margins; {profile.n_rows:,} rows",
        {**opening, **reading.data, **left},
        reading.columns,
        comments={**comments, **reading.comments},
        ask=reading.ask,
        contests=reading.contests,
        unused={name: why for name, why in sides.unused.items() if name not in skip},
        keep=reading.keep,
        refusal=reading.refusal,
        unequal=relation(sides.groups, sides.contests[0]).word != "equal",
    )


def _perhaps_in_the_rest(reading: Reading) -> list[str]:
    """A note on columns that aren't used where a rest is made: they may be some of it."""
    made = [reading.columns, *reading.contests]
    rests = [c[key] for key in ("rest_group", "rest_outcome") for c in made if key in c]
    summed = {name for name, why in reading.sides.unused.items() if why.startswith("the sum of")}
    named = [name for name in reading.sides.unused if not is_total(reading.profile[name]) and name not in summed]
    named = [name for name in named if not words.names_unit(reading.profile[name])]
    named = [name for name in named if not is_called(reading.profile[name], words.PLACES)]
    if not rests or not named:
        return []
    shares = [c for name in named if (c := reading.profile[name]).amounts is not None and kind_of(c) != "count"]
    if len(shares) > 1 and _closed_among_some(shares):
        return [
            f"{', '.join(c.name for c in shares[:6])} add up to 100% and are not used: percentages of some people, "
            "such as those who voted. To use them, write how many chose each in every unit: the percentage times the "
            "number that it is a percentage of."
        ]
    return [
        f"{', '.join(named[:6])}{', ...' if named[6:] else ''} are not used; if they belong to a side, name them in "
        f"groups or outcomes: they are part of {' or '.join(map(repr, dict.fromkeys(rests)))} now."
    ]


def _closed_among_some(shares: list[Column]) -> bool:
    """Whether shares or percentages add up to 1 or 100 in nearly every row, but for rounding."""
    whole = sums(shares)[clean_rows(shares)]
    near = np.abs(whole / (1.0 if np.median(whole) < 2 else 100.0) - 1) < 0.02
    return len(whole) > 0 and bool(near.mean() > 0.9)


def _same_candidate(side: Side) -> list[str]:
    """A note on outcomes whose names differ only in what is in brackets: one candidate of two parties, perhaps."""
    found: dict[str, list[str]] = {}
    for name in side.names:
        if bare := re.sub(r"\s*[(\[].*?[)\]]", "", name).strip().lower():
            found.setdefault(bare, []).append(name)
    return [
        f"{' and '.join(same)} are treated as different outcomes; if they are one candidate of several parties, add "
        "them up."
        for same in found.values()
        if len(same) > 1
    ]


def _score(sides: Sides) -> float:
    """How sure counts are margins: sums that are equal, or at least two groups of counts beside outcomes that fit."""
    word = relation(sides.groups, sides.contests[0]).word
    counted = sum(c.distinct > MOST_CODES for c in sides.groups.columns) > 1  # not codes of a person's age or race
    return {"equal": 0.9, "far": 0.6}.get(word, 0.8 if counted else 0.6)


def guess_two(one: FileProfile, two: FileProfile) -> Guess | None:
    """The problem that two files with the same units suggest."""
    shared = [c.name for c in one.columns if c.name in {d.name for d in two.columns} and c.distinct == one.n_rows]
    if not shared or abs(one.n_rows - two.n_rows) > 0.5 * max(one.n_rows, two.n_rows):
        return None
    unit = next((name for name in shared if words.names_unit(one[name])), shared[0])
    sides = [_numbers(profile, unit) for profile in (one, two)]
    if min(map(len, sides)) < 2:
        return None
    swap = words.leaning(sides[1]) > words.leaning(sides[0])
    first, second = (two, one) if swap else (one, two)
    groups, outcomes = (sides[1], sides[0]) if swap else sides
    columns = {"unit": unit, "groups": [c.name for c in groups], "outcomes": [c.name for c in outcomes]}
    files = {"groups_file": str(first.path), "outcomes_file": str(second.path)}
    found = Guess("ecological", 0.85, "two files with the same units: margins", files, columns)
    found.unused = {
        c.name: "a total that isn't needed" if is_total(c) else "no counts"
        for profile in (one, two)
        for c in profile.columns
        if c.amounts is not None and c.name != unit and c not in groups and c not in outcomes
    }
    parts = split(Side(outcomes, "count"))
    if len(parts) == 1:
        found.data |= _mismatch(found, first, second, groups, outcomes)
        return found
    del found.columns["outcomes"]
    for k, part in enumerate(parts, start=1):
        more = _mismatch(found, first, second, groups, part.columns)
        found.contests.append({"name": part.mark or f"contest {k}", "outcomes": part.names, **more})
    found.ask.append(f"{len(parts)} contests were found, by names or by sums. {TOGETHER}")
    return found


def _numbers(profile: FileProfile, unit: str) -> list[Column]:
    return [
        c
        for c in profile.columns
        if c.amounts is not None and c.name != unit and not is_total(c) and kind_of(c) == "count" and not _is_id(c)
    ]


def _is_id(column: Column) -> bool:
    return words.names_unit(column) and not (words.like_group(column) or words.like_outcome(column))


def _mismatch(
    found: Guess, first: FileProfile, second: FileProfile, groups: list[Column], outcomes: list[Column]
) -> dict[str, str]:
    """What to do where the sides differ, once the rows of the second file stand in the order of the first."""
    if "mismatch" in first.given:
        return {"mismatch": first.given["mismatch"]}
    unit = found.columns["unit"]
    ids = [profile[unit].entries for profile in (first, second)]
    place = {name: i for i, name in enumerate(ids[1])}
    both = [(i, place[name]) for i, name in enumerate(ids[0]) if name in place]
    if not both:
        return {}
    here, there = (np.array(rows) for rows in zip(*both))
    sides = [Side([_rows(c, rows) for c in columns], "count") for columns, rows in ((groups, here), (outcomes, there))]
    how = relation(sides[0], sides[1])
    if how.word in ("no_vote", "rescale") or how.out is not None:
        word = "drop" if how.word == "equal" else how.word
        found.comments["data", "mismatch"] = "raise refuses, rescale scales both sides, no_vote adds an outcome"
        found.ask.append(
            f"groups and outcomes don't add up to the same: they are {100 * how.apart:.1f}% apart in the median unit "
            f"(mismatch = {word!r})."
        )
        return {"mismatch": word}
    return {}


def _rows(column: Column, rows: np.ndarray) -> Column:
    return replace(column, numbers=column.amounts[rows])
