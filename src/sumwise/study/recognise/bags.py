"""Individuals in bags: with a label whose counts are taken, a file of counts, or a response per bag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.study.profile_file import Column, FileProfile
from sumwise.study.recognise.guess import Guess

BAGS = (
    "bag*",
    "puma*",
    "region*",
    "area*",
    "district*",
    "county*",
    "sample*",
    "molecule*",
    "patient*",
    "school*",
    "site*",
    "group*",
    "precinct*",
    "unit*",
    "plate*",
    "subject*",
    "ward*",
    "tract*",
    "cluster*",
)
LABELS = ("label*", "class", "target", "y", "vote*", "outcome*", "response*", "score", "click*", "income*")
WEIGHTS = ("weight*", "pwgtp", "wgtp", "fnlwgt", "wt")
FEWEST_BAGS = 3
MOST_CODES = 12  # distinct whole numbers that are taken for codes
PROPORTIONS = ("CardinalityClassifier", "MeanMap", "AlternatingMeanMap", "MeanEmbeddingClassifier", "EasyLLP")
DISTRIBUTION = ("means", "moments", "quantiles", "fourier", "wasserstein", "DeepSets")


def guess(profiles: list[FileProfile]) -> list[Guess]:
    """All problems on bags that one file, or two that share their bags, may be."""
    if len(profiles) == 2:
        found = [_two(*profiles), _two(*reversed(profiles))]
    elif len(profiles) == 1:
        found = [_with_response(profiles[0]), _with_label(profiles[0])]
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
    return sorted(fit, key=lambda c: (not profile.is_called(c, BAGS), c.numbers is not None, -c.distinct))


def _same_within(column: Column, bag: Column) -> bool:
    codes = pd.Series(column.codes)
    return bool((codes == codes.groupby(bag.codes).transform("first")).all()) and 1 < column.distinct <= bag.distinct


def _with_response(profile: FileProfile) -> Guess | None:
    """A column that is the same in all rows of a bag, named like a response or standing at the edge."""
    if profile.n_rows < 20:
        return None
    edges = (profile.columns[0], profile.columns[-1])
    for bag in bag_columns(profile):
        if bag.distinct < 10 or (profile.header and not profile.is_called(bag, BAGS)):
            continue
        for column in profile.columns:
            fits = profile.is_called(column, LABELS) or (
                column in edges and (not profile.header or profile.is_called(bag, BAGS))
            )
            if column is not bag and fits and not profile.is_called(column, BAGS) and _same_within(column, bag):
                return _response(profile, bag, column)
    return None


def _response(profile: FileProfile, bag: Column, column: Column) -> Guess:
    data, comments = profile.opening()
    columns: dict[str, Any] = {"bag": bag.name, "response": column.name}
    comments["columns", "response"] = "the same in all rows of a bag"
    _common(profile, data, columns, comments, {bag.name, column.name})
    seen = f"{profile.n_rows:,} rows in {bag.distinct:,} bags, with one {column.name} per bag"
    return Guess("distribution", 0.85, seen, data, columns, comments=comments, methods=DISTRIBUTION)


def _with_label(profile: FileProfile) -> Guess | None:
    """Rows in bags with a label of their own."""
    named = [c for c in bag_columns(profile) if profile.is_called(c, BAGS)]
    if not named or profile.n_rows < 50 * FEWEST_BAGS:
        return None
    bag = named[0]
    few = [c for c in profile.columns if 2 <= c.distinct <= MOST_CODES and c is not bag and not _same_within(c, bag)]
    if not few:
        return None
    label = next((c for c in few if profile.is_called(c, LABELS)), None) or next(
        (c for c in reversed(few) if c.distinct == 2), few[-1]
    )
    data, comments = profile.opening()
    columns: dict[str, Any] = {"bag": bag.name, "label": label.name}
    comments["columns", "label"] = "only its counts per bag are used; the labels themselves check the result"
    skip = {bag.name, label.name}
    _common(profile, data, columns, comments, skip)
    ask = []
    if not profile.is_called(label, LABELS):
        others = ", ".join(c.name for c in few if c is not label)
        ask.append(
            f"which column is the label was guessed; it may also be {others}." if others else "the label was guessed."
        )
    seen = f"{profile.n_rows:,} individuals in {bag.distinct:,} bags by {bag.name}"
    return Guess("proportions", 0.75, seen, data, columns, comments=comments, ask=ask, methods=PROPORTIONS)


def _two(people: FileProfile, results: FileProfile) -> Guess | None:
    """Individuals in one file, and in the other one row per bag."""
    if people.n_rows <= 2 * results.n_rows:
        return None
    for key in (c for c in results.columns if c.distinct == results.n_rows and c.missing == 0):
        ids = _texts(key)
        for bag in bag_columns(people):
            shared = len(ids & _texts(bag))
            if shared >= max(FEWEST_BAGS, 0.5 * len(ids)):
                return _joined(people, results, bag, key, shared < len(ids) or shared < bag.distinct)
    return None


def _joined(people: FileProfile, results: FileProfile, bag: Column, key: Column, lone: bool) -> Guess | None:
    data, comments = people.opening()
    columns: dict[str, Any] = {"bag": bag.name}
    numbers = [c for c in results.columns if c is not key and c.amounts is not None]
    counts = [c for c in numbers if c.whole and not results.is_called(c, ("total*", "n", "fips", "x", "y"))]
    ask = []
    if lone:
        only = sorted(_texts(key) - _texts(bag)) + sorted(_texts(bag) - _texts(key))
        ask.append(f"left out, since they are in one file only: {', '.join(only[:5])}{', ...' if only[5:] else ''}.")
        data["unmatched"] = "drop"
        comments["data", "unmatched"] = "some bags are in one file only; raise refuses them"
    _common(people, data, columns, comments, {bag.name})
    seen = f"{people.n_rows:,} individuals in {bag.distinct:,} bags, and {results.n_rows:,} results"
    if len(counts) >= 2:
        data["counts_file"] = str(results.path)
        columns |= {"counts": [c.name for c in counts]}
        if key.name != bag.name:
            columns["counts_bag"] = key.name
        options = {"totals": "scale"}
        comments["options", "totals"] = (
            "counts are scaled to the number of individuals; rest keeps those who were not counted as a class"
        )
        return Guess("proportions", 0.9, seen, data, columns, options, comments, ask, methods=PROPORTIONS)
    rest = [c for c in results.columns if c is not key]
    if not rest:
        return None
    data["responses_file"] = str(results.path)
    columns["response"] = rest[0].name
    if key.name != bag.name:
        columns["responses_bag"] = key.name
    return Guess("distribution", 0.9, seen, data, columns, comments=comments, ask=ask, methods=DISTRIBUTION)


def _texts(column: Column) -> set[str]:
    if column.numbers is None:
        return set(column.texts.dropna().tolist())
    return {f"{x:.15g}" for x in np.unique(column.numbers[~np.isnan(column.numbers)])}


def _common(profile: FileProfile, data: dict, columns: dict, comments: dict, skip: set[str]) -> None:
    """Missing words, codes and weights; weights are left out of the features."""
    words = sorted({word for c in profile.columns for word in c.blanks})
    if words:
        data["missing"] = words
        comments["data", "missing"] = "these stand for missing values"
    weights = [c for c in profile.columns if profile.is_called(c, WEIGHTS)]
    if weights:
        used = [c.name for c in profile.columns if c.name not in skip and c not in weights]
        columns["features"] = used
        comments["columns", "features"] = (
            f'{", ".join(c.name for c in weights)} profile like weights; weight = "{weights[0].name}" would use one'
        )
    codes = [c.name for c in profile.columns if c.numbers is not None and c.whole and 2 < c.distinct <= MOST_CODES]
    codes = [name for name in codes if name not in skip and profile[name] not in weights]
    if codes:
        columns["categorical"] = codes
        comments["columns", "categorical"] = "few whole numbers: taken for codes"
