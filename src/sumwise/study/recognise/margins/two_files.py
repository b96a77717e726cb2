"""Groups in one file and outcomes in another, with a column of the same name for the units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sumwise.study.profile_file import Column, FileProfile
from sumwise.study.recognise.guess import TOGETHER, Guess
from sumwise.study.recognise.margins import words
from sumwise.study.recognise.margins.sides import Side, is_total, kind_of, relation, split


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
    ids = [[profile[unit].value(i) for i in range(profile.n_rows)] for profile in (first, second)]
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
