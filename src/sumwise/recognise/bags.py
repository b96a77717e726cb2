"""Individuals in bags: with a label whose counts are taken, a file of counts, or a response per bag."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.recognise.guess import Guess, refused
from sumwise.recognise.profile_file import Column, FileProfile, is_called, is_row_number, is_weight, not_features

BAGS = (
    "bag*", "puma*", "region*", "area*", "district*", "county*", "sample*", "molecule*", "patient*", "school*",
    "site*", "group*", "precinct*", "unit*", "plate*", "subject*", "ward*", "tract*", "cluster*",
)  # fmt: skip
LABELS = ("label*", "class", "target", "y", "vote*", "outcome*", "response*", "score", "click*", "income*")
COUNTED = ("votes", "count", "counts", "pct", "percent*", "flow", "abundance", "devices", "visitors")
TOTALS = ("total*", "n", "size", "fips", "x", "y", "pct*", "percent*", "share*", "lon*", "lat*")
FEWEST_BAGS, FEW_BAGS = 3, 10  # fewer than ten are a column of a person, such as the region, rather than bags
SIGNED = re.compile(r"[$€£¥]\s*\d[\d,. ]*|\d[\d,. ]*\s*[$€£¥]|\d[\d,. ]*\s+[A-Za-z]{1,8}")  # $41,200
LEAST_CROSSED = 0.3  # of all combinations of its keys that a design has; individuals have fewer
MOST_CODES = 12  # distinct whole numbers that are treated as codes


def guess(profiles: list[FileProfile]) -> list[Guess]:
    """All problems on bags that one file, or two that share their bags, may be."""
    if len(profiles) == 2:
        found = [_two(*profiles), _two(*reversed(profiles))]
    elif len(profiles) == 1:
        found = [_with_response(profiles[0]) or _by_structure(profiles[0]), _with_label(profiles[0])]
    else:
        found = []
    return [g for g in found if g is not None]


def bag_columns(profile: FileProfile) -> list[Column]:
    """Columns that may say which bag a row is in, likeliest first."""
    fit = [
        c
        for c in profile.columns
        if FEWEST_BAGS <= c.distinct <= profile.n_rows / 2 and c.missing == 0 and (c.numbers is None or c.whole)
    ]
    return sorted(fit, key=lambda c: (not is_called(c, BAGS), c.numbers is not None, -c.distinct))


def _same_within(column: Column, bag: Column) -> bool:
    codes = pd.Series(column.codes)
    return bool((codes == codes.groupby(bag.codes).transform("first")).all()) and 1 < column.distinct <= bag.distinct


def _with_response(profile: FileProfile) -> Guess | None:
    """A column that is the same in all rows of a bag, named like a response or standing at the edge."""
    if profile.n_rows < 20:
        return None
    edges = (profile.columns[0], profile.columns[-1])
    for bag in bag_columns(profile):
        if bag.distinct < 10 or (profile.header and not is_called(bag, BAGS)):
            continue
        for column in profile.columns:
            fits = is_called(column, LABELS) or (column in edges and (not profile.header or is_called(bag, BAGS)))
            if column is not bag and fits and not is_called(column, BAGS) and _same_within(column, bag):
                return _response(profile, bag, column)
    return None


def _by_structure(profile: FileProfile) -> Guess | None:
    """Samples of bags whose names are no known words: one column of numbers is the same in all rows of a bag.

    Only where the file leaves no doubt: texts name the bags, most bags have a number of their own in that column and
    in no other, and other columns hold measurements that differ within a bag.
    """
    for bag in bag_columns(profile) if profile.header else ():
        if bag.texts is None or bag.distinct < FEW_BAGS or profile.n_rows < 5 * bag.distinct:
            continue
        same = [c for c in profile.columns if c is not bag and _same_within(c, bag)]
        if len(same) != 1 or same[0].amounts is None or same[0].missing or is_called(same[0], TOTALS):
            continue
        measured = [c for c in profile.numeric if not c.whole and c is not same[0]]
        if same[0].distinct < 0.5 * bag.distinct or not measured or _is_crossed(profile, bag):
            continue
        ask = f"that {bag.name} names the bags was guessed: all rows of one have the same {same[0].name}."
        return replace(_response(profile, bag, same[0]), score=0.6, ask=[ask])
    return None


def _response(profile: FileProfile, bag: Column, column: Column) -> Guess:
    data, comments = profile.opening()
    columns: dict[str, Any] = {"bag": bag.name, "response": column.name}
    comments["columns", "response"] = "the same in all rows of a bag"
    unused = _common(profile, data, columns, comments, {bag.name, column.name})
    seen = f"{profile.n_rows:,} rows in {bag.distinct:,} bags, with one {column.name} per bag"
    return Guess("distribution", 0.85, seen, data, columns, comments=comments, unused=unused)


def _with_label(profile: FileProfile) -> Guess | None:
    """Rows in bags with a label of their own."""
    named = [c for c in bag_columns(profile) if is_called(c, BAGS)]
    if not named or profile.n_rows < 50 * FEWEST_BAGS:
        return None
    bag = named[0]
    if any(c.amounts is not None and is_called(c, COUNTED) for c in profile.columns):
        return None  # rows are counts or percents of many people, not individuals
    few = [c for c in profile.columns if 2 <= c.distinct <= MOST_CODES and c is not bag and not _same_within(c, bag)]
    if not few or _is_crossed(profile, bag):
        return None
    label = next((c for c in few if is_called(c, LABELS)), None) or next(
        (c for c in reversed(few) if c.distinct == 2), few[-1]
    )
    data, comments = profile.opening()
    columns: dict[str, Any] = {"bag": bag.name, "label": label.name}
    comments["columns", "label"] = "only its counts per bag are used; the labels themselves check the result"
    skip = {bag.name, label.name}
    unused = _common(profile, data, columns, comments, skip)
    ask = []
    if not is_called(label, LABELS):
        others = ", ".join(c.name for c in few if c is not label)
        ask.append(
            f"which column is the label was guessed; it may also be {others}." if others else "the label was guessed."
        )
    if bag.distinct < FEW_BAGS:
        ask.append(
            f"{bag.name} has {bag.distinct} values, so there are {bag.distinct} bags: few to learn from. If rows with "
            f"their {label.name} may be counted, --family maxent learns from tables of them."
        )
    seen = f"{profile.n_rows:,} individuals in {bag.distinct:,} bags by {bag.name}"
    last = label is profile.columns[-1] and (label.texts is not None or label.distinct == 2)  # else one of several
    known = is_called(label, LABELS) or last
    score = 0.45 if bag.distinct < FEW_BAGS and known else 0.75  # few bags answer little: such rows make tables
    return Guess("proportions", score, seen, data, columns, comments=comments, ask=ask, unused=unused)


def _is_crossed(profile: FileProfile, bag: Column) -> bool:
    """Whether rows are a design (every method on every data set, with scores), and no individuals of a bag.

    Then columns of few values identify a row, and nearly all of their combinations are there.
    """
    keys = [c for c in profile.columns if c.missing == 0 and (c.texts is not None or c.whole) and c.distinct > 1]
    keys = sorted((c for c in keys if c.distinct <= profile.n_rows / 4), key=lambda c: -c.distinct)[:8]
    scores = [c for c in profile.numeric if not c.whole]
    rows = pd.DataFrame({k: c.codes for k, c in enumerate(keys)})
    if bag not in keys or not scores or len(rows.drop_duplicates()) < profile.n_rows:
        return False
    for k in [k for k, c in enumerate(keys) if c is not bag]:  # drop what isn't needed to identify a row
        if rows.shape[1] > 1 and len(rows.drop(columns=k).drop_duplicates()) == profile.n_rows:
            rows = rows.drop(columns=k)
    full = float(np.prod([len(np.unique(rows[k])) for k in rows.columns], dtype=float))
    return rows.shape[1] > 1 and profile.n_rows >= LEAST_CROSSED * full


def _two(people: FileProfile, results: FileProfile) -> Guess | None:
    """Individuals in one file, and in the other one row per bag."""
    if people.n_rows <= 2 * results.n_rows:
        return None
    keys = [c for c in results.columns if c.distinct == results.n_rows and c.missing == 0]
    pairs = [(bag, key) for key in keys for bag in bag_columns(people)]
    for bag, key in sorted(pairs, key=lambda pair: (pair[0].name != pair[1].name, is_row_number(pair[1]))):
        ids = _texts(key)
        _refuse_zeros(people, results, bag, key)
        shared = len(ids & _texts(bag))
        if shared >= max(FEWEST_BAGS, 0.5 * len(ids)):
            return _joined(people, results, bag, key, shared < len(ids) or shared < bag.distinct)
    return _no_match(people, results)


def _refuse_zeros(people: FileProfile, results: FileProfile, bag: Column, key: Column) -> None:
    """Refuse bags that one file writes with zeros in front (007) and the other without: they would be left out."""
    mine, theirs = _texts(bag), _texts(key)
    lone = {name.lstrip("0") or "0": name for name in mine - theirs}
    found = [
        (lone[name.lstrip("0") or "0"], name) for name in sorted(theirs - mine) if (name.lstrip("0") or "0") in lone
    ]
    if found and len(mine & theirs) + len(found) >= 0.5 * len(theirs):
        raise DataError(
            f"{people.path.name} and {results.path.name} write {len(found)} of {len(theirs)} bags with other zeros in "
            f"front: {found[0][0]!r} in {bag.name!r} and {found[0][1]!r} in {key.name!r}.",
            hint="write them alike.",
        )


def _joined(people: FileProfile, results: FileProfile, bag: Column, key: Column, lone: bool) -> Guess | None:
    data, comments = people.opening()
    columns: dict[str, Any] = {"bag": bag.name}
    numbers = [c for c in results.columns if c is not key and c.amounts is not None]
    found = [c for c in numbers if c.whole and not is_called(c, TOTALS)]
    counts, whole = _without_sum(found)
    if not np.allclose(*_sums(bag, key, counts)):  # 0, 1, 2, ... may be a count, where the bags' sizes need it
        counts, whole = _without_sum([c for c in found if not is_row_number(c)])
    ask = []
    refusal = _refuse_results(results, bag, numbers, counts)
    if refusal is not None:
        return refusal
    if lone:
        only = sorted(_texts(key) - _texts(bag)) + sorted(_texts(bag) - _texts(key))
        ask.append(f"left out, since they are in only one file: {', '.join(only[:5])}{', ...' if only[5:] else ''}.")
        data["unmatched"] = "drop"
        comments["data", "unmatched"] = "some bags are in only one file; raise refuses them"
    out = _common(people, data, columns, comments, {bag.name})
    seen = f"{people.n_rows:,} individuals in {bag.distinct:,} bags, and {results.n_rows:,} results"
    if len(counts) >= 2:
        data["counts_file"] = str(results.path)
        columns |= {"counts": [c.name for c in counts]}
        if key.name != bag.name:
            columns["counts_bag"] = key.name
        comments["options", "totals"] = (
            "counts are scaled to the number of individuals; rest keeps those who were not counted as a class"
        )
        summed, sizes = _sums(bag, key, counts)
        if not np.allclose(summed, sizes):
            ask.append(
                f"counts of a bag add up to {np.median(summed / sizes):,.3g} times its individuals in "
                f"{people.path.name} (median): they are scaled to them (totals)."
            )
        why = "a total, a percent or a place, no count of a class"
        unused = out | {c.name: "the sum of the others" if c is whole else why for c in numbers if c not in counts}
        return Guess("proportions", 0.9, seen, data, columns, {"totals": "scale"}, comments, ask, unused=unused)
    rest = [c for c in results.columns if c is not key]
    if not rest:
        return None
    response = next((c for c in rest if is_called(c, LABELS)), rest[0])
    data["responses_file"] = str(results.path)
    columns["response"] = response.name
    if key.name != bag.name:
        columns["responses_bag"] = key.name
    others = {c.name: "not the response" for c in rest if c is not response}
    unused = out | others
    if others:
        ask.append(f"which column is the response was guessed; it may also be {', '.join(list(others)[:6])}.")
    ask += _maybe_a_count(bag, key, [c for c in counts if c is response])
    return Guess("distribution", 0.9, seen, data, columns, {}, comments, ask, unused=unused)


def _without_sum(counts: list[Column]) -> tuple[list[Column], Column | None]:
    """The counts without the one that is the sum of the others, and that one."""
    whole = next((c for c in counts if len(counts) > 2 and _is_sum(c, counts)), None)
    return [c for c in counts if c is not whole], whole


def _is_sum(column: Column, counts: list[Column]) -> bool:
    """Whether a column is the sum of all other counts."""
    rest = sum(c.amounts for c in counts if c is not column)
    return bool((np.abs(rest - column.amounts) <= 1e-6 * np.abs(column.amounts)).mean() > 0.8)


def _refuse_results(results: FileProfile, bag: Column, numbers: list[Column], counts: list[Column]) -> Guess | None:
    """A refusal of results of bags that can be read in two ways, or hold numbers with signs."""
    sizes = [c for c in numbers if c.whole and is_called(c, ("total*", "n", "size"))]
    if len(counts) == 1 and sizes and (counts[0].amounts <= sizes[0].amounts).mean() > 0.95:
        return refused(
            "proportions",
            0.9,
            f"{results.path.name}: {counts[0].name!r} counts some of {sizes[0].name!r}, and no column counts the rest.",
            hint=f"add a column with {sizes[0].name} less {counts[0].name}, so that each class has its count.",
        )
    shares = [c for c in numbers if c not in counts and c not in sizes]
    added = np.sum([c.amounts for c in shares], axis=0) if len(shares) > 1 else np.zeros(1)
    if len(counts) < 2 and any(np.allclose(added, whole, rtol=0.02) for whole in (1.0, 100.0)):
        return refused(
            "proportions",
            0.9,
            f"{results.path.name}: {', '.join(c.name for c in shares[:6])} sum to {added[0]:.0f} in every row: shares "
            "of classes. Learning from class counts takes counts.",
            hint=f"multiply them by the number of people in each {bag.name}.",
        )
    for c in results.columns:
        if c.amounts is None and c.distinct > 2 and SIGNED.fullmatch(str(c.texts.dropna().iloc[0])):
            first = c.texts.dropna().iloc[0]
            return refused(
                "proportions",
                0.9,
                f"{results.path.name}: column {c.name!r} holds values that aren't plain numbers, such as {first!r}.",
                hint="write its numbers without words and signs.",
            )
    return None


def _sums(bag: Column, key: Column, counts: list[Column]) -> tuple[np.ndarray, np.ndarray]:
    """The sum of counts of every bag that both files have, and its individuals."""
    sizes = pd.Series(bag.entries).value_counts()
    found = pd.Series(np.sum([c.amounts for c in counts], axis=0) if counts else 0.0, key.entries)
    both = [name for name in found.index if name in sizes.index]
    return np.asarray(found[both], dtype=float), np.asarray(sizes[both], dtype=float)


def _maybe_a_count(bag: Column, key: Column, response: list[Column]) -> list[str]:
    """A note on a response that may count the members of one class: whole numbers, none above the size of its bag."""
    found, sizes = _sums(bag, key, response)
    if not response or not len(found) or found.max() <= 1 or found.min() < 0 or (found > sizes).any():
        return []
    return [
        f"{response[0].name} is taken as a response of each {bag.name}. If it counts members of a class, add a column "
        "that counts the others: individuals are then classified from class counts."
    ]


def _no_match(people: FileProfile, results: FileProfile) -> Guess | None:
    """A refusal of two files whose columns of bags are called alike and don't match, or name a bag twice."""
    for key in results.columns:
        bag = next((c for c in bag_columns(people) if c.name == key.name), None)
        if bag is None:
            continue
        mine, theirs = _texts(bag), _texts(key)
        if len(mine & theirs) >= 0.5 * len(theirs) and 0.8 * results.n_rows < key.distinct < results.n_rows:
            again = pd.Series(key.codes).duplicated().to_numpy()
            i = int(np.argmax(again))
            return refused(
                "proportions",
                0.1,
                f"{results.path.name}: column {key.name!r} repeats a bag in {int(again.sum())} of {results.n_rows} "
                f"rows. First: {results.row(i)} ({key.value(i)}).",
                hint="give each bag one row.",
            )
        if len(mine & theirs) < 0.5 * len(theirs) and key.distinct > 2:
            return refused(
                "proportions",
                0.1,
                f"{people.path.name} and {results.path.name} write {key.name!r} in different ways: "
                f"{min(mine)!r} and {min(theirs)!r}; {len(mine & theirs)} of {len(theirs)} are in both.",
                hint="write them alike.",
            )
    return None


def _texts(column: Column) -> set[str]:
    return set(column.entries) - {""}


def _common(profile: FileProfile, data: dict, columns: dict, comments: dict, skip: set[str]) -> dict[str, str]:
    """Missing words and codes; identifiers and weights are left out of the features, and returned with the reason."""
    profile.state_blanks(data, comments)
    out = not_features(profile, skip)
    if out:
        columns["features"] = [c.name for c in profile.columns if c.name not in skip and c.name not in out]
        weights = [c.name for c in profile.columns if c.name in out and is_weight(c)]
        using = f'; weight = "{weights[0]}" would use that weight' if weights else ""
        comments["columns", "features"] = f"all but {', '.join(out)}{using}"
    codes = [c.name for c in profile.columns if c.numbers is not None and c.whole and 2 < c.distinct <= MOST_CODES]
    codes = [name for name in codes if name not in skip and name not in out]
    if codes:
        columns["categorical"] = codes
        comments["columns", "categorical"] = "few whole numbers: treated as codes"
    return out
