"""Individuals in bags: which column names the bag, and what is known of each bag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.io.formats.grid import NO_VALUE
from sumwise.schema.columns import WORDS, Column, Grid, is_constant
from sumwise.schema.declared import Schema
from sumwise.schema.questions import Interview
from sumwise.schema.relation import listed, names
from sumwise.schema.sides import AGREE

MOST_CLASSES = 12  # of a column of labels
FEWEST_ROWS, ROWS_PER_BAG, FEWEST_BAGS = 40, 4, 3


def bags_in_one_file(grid: Grid, iv: Interview, any_label: bool = False) -> Schema | None:
    """Individuals with a label, or with what is known of their bag in every row.

    `any_label`: whether a column may be the label whatever it is called.
    """
    named = [c for c in grid.columns if c.called("bag") and FEWEST_BAGS <= c.distinct <= len(grid) / ROWS_PER_BAG]
    named = [c for c in named if (c.numbers is None or c.is_whole) and not c.missing.any()]
    if not named or len(grid) < FEWEST_ROWS:
        return None
    words = "Which column says in which group a row is?"
    bag = named[0] if len(named) == 1 else iv.ask("bag", words, {c.name: c for c in named})
    others = [c for c in grid.columns if c is not bag]
    numeric = [c for c in others if c.numbers is not None and not np.isnan(c.numbers).any()]
    size = np.bincount(bag.codes)[bag.codes]
    fixed = [c for c in numeric if is_constant(c.numbers, bag.codes)]
    fixed = [c for c in fixed if c.distinct > 1 or np.array_equal(c.numbers, size)]
    if any(c.called("x") for c in fixed) and any(c.called("y") for c in fixed):
        others = [c for c in others if c not in fixed or not c.called("x", "y")]  # where the bag lies
        fixed = [c for c in fixed if c in others]
    per_bag = pd.Series(np.arange(len(grid))).groupby(bag.codes, sort=False).first().to_numpy()
    sizes = pd.Series(bag.codes).value_counts(sort=False).reindex(pd.unique(bag.codes)).to_numpy()
    labels = [c for c in others if 2 <= c.distinct <= MOST_CLASSES and c not in fixed]
    labels = labels if any_label and not fixed else [c for c in labels if c.called("label")]
    longish = any(c.numbers is not None and c.called("count") and c not in fixed for c in others)
    if longish or any(c.name in WORDS["long_names"] for c in others if c not in fixed) or not (fixed or labels):
        return None
    if not fixed:
        return _labelled(grid, bag, labels, iv, any_label)
    known = [c.keep(per_bag) for c in fixed]
    counted, target = _known_of_bags(known, sizes, labels, iv)
    if target is not None and target not in [c.name for c in fixed]:
        return _labelled(grid, bag, [grid[target]], iv)
    extra = [c.name for c in fixed]
    columns = {"bag": bag.name, **counted}
    return individuals(grid, iv, "proportions" if target is None else "distribution", columns, {bag.name, *extra})


def _labelled(grid: Grid, bag: Column, labels: list[Column], iv: Interview, any_label: bool = False) -> Schema:
    words = f"What is to be learnt of rows in each {bag.name}? Its counts are used."
    stop = f"{grid.name}: no name shows a label" if any_label else None
    label = labels[0]
    if len(labels) > 1 or any_label:
        label = iv.ask("target", words, {c.name: c for c in labels}, stop)
    return individuals(grid, iv, "proportions", {"bag": bag.name, "label": label.name}, {bag.name, label.name})


def bags_in_two_files(people: Grid, results: Grid, a: Column, b: Column, iv: Interview) -> Schema:
    """Individuals in one file, and what is known of their bags in another."""
    order = {text: i for i, text in enumerate(b.texts)}
    bags = pd.unique(np.array(a.texts, dtype=object))
    sizes = pd.Series(a.texts).value_counts().reindex(bags).to_numpy()
    at = np.array([order[str(bag)] for bag in bags])
    known = [c for c in results.columns if c is not b]
    weight = _weight(people, iv)
    if weight is not None:
        sizes = pd.Series(weight.numbers).groupby(np.array(a.texts, dtype=object)).agg("sum").reindex(bags).to_numpy()
    for c in known:
        if c.numbers is not None and c.is_whole:
            results.refuse(c, np.nan_to_num(c.numbers) < 0, "is negative", "counts start at 0.")
    numeric = [c.keep(at) for c in known if c.numbers is not None and not np.isnan(c.numbers).any()]
    if not numeric:
        texts = [c for c in known if 2 <= c.distinct <= MOST_CLASSES]
        if not texts:
            raise DataError(f"{results.name} contains nothing that could be known of a bag.", hint="add counts.")
        words = f"What is to be predicted of each {b.name}?"
        target = texts[0].name if len(texts) == 1 else iv.ask("target", words, {c.name: c.name for c in texts})
        counted: dict[str, Any] = {"response": target}
    else:
        counted, target = _known_of_bags(numeric, sizes, [], iv)
    family = "proportions" if target is None else "distribution"
    key = "counts" if target is None else "responses"
    columns: dict[str, Any] = {"bag": a.name, **counted}
    sample = "counts_total" in counted
    if b.name != a.name:
        columns[f"{key}_bag"] = b.name
    made = individuals(people, iv, family, columns, {a.name})
    options = {"totals": "scale"} if sample else {}
    data = {**made.data, f"{key}_file": results.path}
    return Schema(family, data, made.columns, options=options, unused=made.unused)


def _known_of_bags(
    known: list[Column], sizes: np.ndarray, labels: list[Column], iv: Interview
) -> tuple[dict[str, Any], str | None]:
    """Roles of the columns of bags, and the response, if there is one; counts are proved by the bags' sizes."""
    totals = [c for c in known if np.array_equal(c.numbers, sizes)]
    rest = [c for c in known if c not in totals]
    whole = [c for c in rest if c.is_whole and (c.numbers >= 0).all() and (c.numbers <= sizes).all()]
    for i in range(len(whole)):
        for j in range(i + 2, len(whole) + 1):
            if np.allclose(sum(c.numbers for c in whole[i:j]), sizes):
                return {"counts": [c.name for c in whole[i:j]]}, None
    if totals and len(rest) == 1 and rest == whole:
        return {"counts": [rest[0].name]}, None
    if not rest:
        raise DataError(
            f"{names(totals)} is the number of rows of each bag: nothing else is known of the bags.",
            hint="add counts of each class, or a response.",
        )
    return _ask_target(rest, whole, sizes, labels, iv)


def _ask_target(
    rest: list[Column], whole: list[Column], sizes: np.ndarray, labels: list[Column], iv: Interview
) -> tuple[dict[str, Any], str | None]:
    """What a column of bags is, where the sizes of bags don't show it."""
    options: dict[str, tuple[dict[str, Any], str | None]] = {}
    for c in rest:
        kind = "count" if c in whole else _share(c)
        if kind is not None:
            said = {"counts": [c.name], **({} if kind == "count" else {"counts_in": kind})}
            options[f"{c.name} is the {kind} of individuals with {c.name}"] = (said, None)
    for total in (c for c in rest if c.is_whole and c not in whole and (c.numbers >= sizes).all()):
        for c in (c for c in rest if c is not total and _is_part(c, total)):
            words = f"{c.name} of {total.name}, of which the individuals are a sample"
            options[words] = ({"counts": [c.name], "counts_total": total.name}, None)
    over = next((c for c in rest if c not in whole and _mostly_part(c, sizes)), None)
    only = len(rest) == 1 and not options and not labels and over is None
    options |= {f"{c.name} is a response of the whole bag": ({"response": c.name}, c.name) for c in rest}
    options |= {f"{c.name}, of individuals: its counts per bag": ({"label": c.name}, c.name) for c in labels}
    if only:
        return next(iter(options.values()))
    text = f"What is known of each bag, and to be learnt ({names(rest, 8)})? The sizes of bags don't show it."
    if over is None:
        return iv.ask("target", text, options)
    n = int((over.numbers > sizes).sum())
    stop = f"{over.name} exceeds the number of rows in {n} of {len(sizes)} bags: no count of individuals"
    return iv.ask("target", f"{text} {stop}.", options, stop)


def _share(c: Column) -> str | None:
    """Whether a column may hold shares or percents."""
    low, top = float(c.numbers.min()), float(c.numbers.max())
    if low >= 0 and top <= 1 and not c.is_whole:
        return "share"
    return "percent" if low >= 0 and top <= 100 and c.called("percent") else None


def _mostly_part(c: Column, sizes: np.ndarray) -> bool:
    """Whether a column reads like counts of individuals, but for mistakes in a few bags."""
    return c.is_whole and bool((c.numbers >= 0).all()) and AGREE <= (c.numbers <= sizes).mean() < 1


def _is_part(c: Column, total: Column) -> bool:
    return c.is_whole and bool((c.numbers >= 0).all() and (c.numbers <= total.numbers).all())


def matched(sheets: list[Grid], iv: Interview) -> tuple[Grid, Grid, Column, Column]:
    """The larger and the smaller of two files, and the columns by which they belong together."""
    big, small = sorted(sheets, key=lambda s: -len(s))
    pairs = [
        (a, b)
        for a in big.columns
        for b in small.columns
        if b.distinct == len(small) and {*a.words} & {*b.words} - {""}
    ]
    pairs = [(a, b) for a, b in pairs if _is_key(a) and _is_key(b)]
    if not pairs:
        _refuse_padded(big, small)
        raise DataError(
            f"{big.name} and {small.name} share no column that names units.",
            hint="are names written alike (007 and 7)?",
        )

    def overlap(pair: tuple[Column, Column]) -> tuple:
        one, two = ({*c.words} - {""} for c in pair)
        return len(one & two) / len(one | two), pair[0].name == pair[1].name, pair[1].called("unit", "bag", "place")

    a, b = max(pairs, key=overlap)
    one, two = ({c.words[k] for k in np.unique(c.codes)} - {""} for c in (a, b))
    alone = sorted(one ^ two)
    if alone:
        _refuse_padded(big, small)
        words = (
            f"The units of the two files don't match: {len(one - two)} only in {big.name}, {len(two - one)} only in "
            f"{small.name} ({listed(alone)})"
        )
        iv.ask("unmatched", f"{words}.", {"leave them out": "drop"}, stop=f"{words}. Write them alike.")
        big, small = (
            g.keep(np.isin(np.array(c.texts, dtype=object), list(one & two))) for g, c in ((big, a), (small, b))
        )
        a, b = big[a.name], small[b.name]
    return big, small, a, b


def _is_key(c: Column) -> bool:
    return not c.missing.any() and (c.numbers is None or c.is_whole)


def _refuse_padded(big: Grid, small: Grid) -> None:
    """Refuse names that differ by zeros in front alone."""
    for a in big.columns:
        for b in small.columns:
            one, two = ({c.words[k] for k in np.unique(c.codes)} - {""} for c in (a, b))
            bare = {w.lstrip("0") or "0": w for w in two}
            other = [
                (w, bare[w.lstrip("0") or "0"]) for w in sorted(one) if w not in two and (w.lstrip("0") or "0") in bare
            ]
            if other and b.distinct == len(small) and len(other) > 0.5 * len(one - two):
                raise DataError(
                    f"{big.name} and {small.name} write {len(other)} of {len(one)} bags with other zeros in front: "
                    f"{other[0][0]!r} in {a.name!r} and {other[0][1]!r} in {b.name!r}.",
                    hint="write them alike.",
                )


def _weight(grid: Grid, iv: Interview) -> Column | None:
    """The column of people that a row stands for, by a person's word."""
    for c in grid.columns:
        if c.numbers is None or not c.called("weight") or c.called("unused") or not (c.numbers > 0).all():
            continue
        options = {"yes, a weight": True, "no, a feature": False}
        if iv.ask("weight", f"Is {c.name} the number of people that a row stands for?", options):
            return c
    return None


def individuals(grid: Grid, iv: Interview, family: str, columns: dict[str, Any], taken: set[str]) -> Schema:
    """A schema whose features are what is left, without names of persons and columns that never vary."""
    unused: dict[str, str] = {}
    weight = _weight(grid, iv)
    if weight is not None:
        columns["weight"] = weight.name
    for c in grid.columns:
        if c.name in taken or c.name in columns.values():
            continue
        if c.distinct < 2:
            unused[c.name] = "the same in every row"
        elif c.distinct == len(grid) and (c.numbers is None or c.called("id") or (c.is_whole and c.called("unit"))):
            unused[c.name] = "names rows"
    features = [c for c in grid.columns if c.name not in taken and c.name not in unused and c is not weight]
    if not features:
        raise DataError(f"{grid.name}: no column is left for features of individuals.", hint="add some.")
    columns["features"] = [c.name for c in features]
    data: dict[str, Any] = {}
    blanks = {w for c in features for w in c.blanks}
    if "label" in columns:
        blanks |= unlabelled(grid, grid[columns["label"]], iv)
    if blanks:
        data["missing"] = sorted(blanks)
    return Schema(family, data, columns, unused=unused)


def unlabelled(grid: Grid, label: Column, iv: Interview) -> set[str]:
    """Words of a label that stand for no label: those for missing values among numbers; else a person says so."""
    there = [label.words[code] for code in np.unique(label.codes)]
    blank = {w for w in there if w and (w.lower() in NO_VALUE or w == "?")}
    words = blank | {*label.odd.values()}
    if not words or (label.numbers is not None and not label.odd):
        return words
    rows = np.isin(np.array(label.texts, dtype=object), list(words))
    what = f"{label.name} is {', '.join(map(repr, sorted(words)))} in {int(rows.sum()):,} of {len(grid):,} rows"
    options = {"yes: leave them out": words, "no: a class like others": set()}
    return iv.ask("unlabelled", f"{grid.name}: {what}. Is their label unknown?", options)
