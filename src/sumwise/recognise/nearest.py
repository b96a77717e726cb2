"""The form that files come nearest to where none fits: which of its parts are there, and what is missing for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sumwise.recognise import bags, counts_over_time, tables
from sumwise.recognise.margins import words
from sumwise.recognise.margins.long_columns import SIDES, VOTES, combinations
from sumwise.recognise.profile_file import Column, FileProfile, is_called

FEWEST_ROWS = 100  # individuals from which on rows are counted or put into bags


@dataclass(frozen=True)
class Part:
    """A part of a form: what it is called, the columns that may be it, and what is missing if none is."""

    name: str
    columns: tuple[str, ...]
    lacking: str
    credit: float = 0.0  # how much speaks for it: 1 if it is there, half if a column has its name and isn't it


def nearest_form(profiles: list[FileProfile], family: str | None = None) -> str:
    """A note on the nearest form, its parts that were found, and what is missing for it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.profile_file import profile_file
    >>> from sumwise.recognise.nearest import nearest_form
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("week,count\\n1,12\\n2,15\\n3,9\\n")
    >>> nearest_form([profile_file(path)])
    "The nearest form is counts over time: 'week' may be the time, 'count' the count; missing: a column of places."
    """
    if len(profiles) > 1:
        return _several(profiles)
    forms = {name: parts for name, (kind, parts) in _forms(profiles[0]).items() if family in (None, kind)}
    name = max(forms, key=lambda form: sum(p.credit for p in forms[form]) / len(forms[form]))
    found = [p for p in forms[name] if p.columns]
    shown = ", ".join(
        f"{_listed(p.columns)} {'may be ' if k == 0 else ''}the {p.name}" for k, p in enumerate(found)
    )  # 'week' may be the time, 'count' the count
    lacking = "; ".join(p.lacking for p in forms[name] if not p.columns)
    return (
        f"The nearest form is {name}: {f'{shown}; ' if shown else ''}"
        f"{f'missing: {lacking}' if lacking else 'these columns do not add up or do not belong together'}."
    )


def _forms(profile: FileProfile) -> dict[str, tuple[str, list[Part]]]:
    numbers = profile.numeric
    return {
        "margins": ("ecological", _margins(numbers)),
        "margins in long form": ("ecological", _long(profile, numbers)),
        "counts over time": ("collective", _over_time(profile, numbers)),
        "individuals with a label": ("maxent", _individuals(profile)),
        "individuals in bags": ("proportions", _bags(profile)),
        "one value per bag of individuals": ("distribution", _bags(profile)),
        "cells of tables": ("maxent", _cells(profile, numbers)),
    }


def _margins(numbers: list[Column]) -> list[Part]:
    numbers = [c for c in numbers if len(c.name) > 1]  # x and y may be coordinates
    groups = [c for c in numbers if words.like_group(c)]
    outcomes = [c for c in numbers if words.like_outcome(c) and c not in groups]
    if len(groups) + len(outcomes) < 2:  # one column is no side: the age of a person, say
        groups = outcomes = []
    return [
        _part("groups", groups, "columns that count who people are, such as white and black, or young and old"),
        _part("outcomes", outcomes, "columns that count what people chose, such as dem and rep, or yes and no"),
    ]


def _long(profile: FileProfile, numbers: list[Column]) -> list[Part]:
    side = [c for c in profile.columns if c.distinct == 2 and is_called(c, SIDES)]
    units = [c for c in profile.columns if is_called(c, words.UNITS) and 1 < c.distinct < profile.n_rows]
    votes = [c for c in numbers if is_called(c, VOTES)]
    return [
        _part("unit", units, "a column of units, each in several rows"),
        _part("side", side, "a column called side with two values, groups and outcomes"),
        _part("votes", votes, "a column of votes"),
    ]


def _over_time(profile: FileProfile, numbers: list[Column]) -> list[Part]:
    called = [c for c in profile.columns if is_called(c, counts_over_time.TIMES)]
    times = [c for c in called if c.distinct > 1]
    places = [c for c in profile.columns if is_called(c, counts_over_time.PLACES) and c not in times]
    counts = [c for c in numbers if is_called(c, counts_over_time.COUNTS)]
    several = [c for c in places if c.distinct > 1]
    if times and several and combinations([times[0], several[0]]) < 0.5 * profile.n_rows:
        times = several = []  # individuals, of whom many have the same
    return [
        _part("time", times, _one_value(called, "times") or "a column of times", called),
        _part("place", several, _one_value(places, "places") or "a column of places", places),
        _part("count", counts, "a column of counts"),
    ]


def _bags(profile: FileProfile) -> list[Part]:
    called = [c for c in profile.columns if is_called(c, bags.BAGS)]
    held = [c for c in called if bags.FEWEST_BAGS <= c.distinct <= profile.n_rows / 2]
    labels = [c for c in profile.columns if is_called(c, bags.LABELS) and c not in called and c.distinct > 1]
    few = "" if profile.n_rows >= FEWEST_ROWS else f", and more than {profile.n_rows} rows"
    one_each = f"several rows for each {called[0].name!r}" if called else "a column that names the bag of each row"
    return [
        _part("bag", held, one_each + few, called),
        _part("label", labels, "a label or a response, or a second file with one row per bag"),
    ]


def _cells(profile: FileProfile, numbers: list[Column]) -> list[Part]:
    counts = [c for c in numbers if is_called(c, tables.COUNTS)]
    sums = [c for c in numbers if is_called(c, tables.SUMS)]
    levels = [c for c in profile.columns if c.texts is not None and c.amounts is None]
    return [
        _part("count", counts, "a column count"),
        _part("label sum", sums, "a column label_sum with how many of them have the label"),
        _part("attributes", levels, "columns of attributes"),
    ]


def _individuals(profile: FileProfile) -> list[Part]:
    called = [c for c in profile.columns if is_called(c, tables.LABELS)]
    few = [c for c in called if 2 <= c.distinct <= tables.MOST_CLASSES and c.missing == 0]
    rows = profile.columns if profile.n_rows >= FEWEST_ROWS else ()
    lacking = f"a column label with 2 to {tables.MOST_CLASSES} values"
    if called:
        values = "one value" if called[0].distinct == 1 else f"{called[0].distinct:,} values"
        lacking += f" in every row ({called[0].name!r} has {values}, and is missing in {called[0].missing:,} rows)"
    return [
        _part("label", few, lacking, called),
        _part("attributes", rows, f"{FEWEST_ROWS} rows or more (there are {profile.n_rows})"),
    ]


def _part(name: str, columns: Any, lacking: str, called: Any = ()) -> Part:
    there = 0.3 if name == "attributes" else 1.0  # any column may be one
    return Part(name, tuple(c.name for c in columns), lacking, there if columns else 0.5 * bool(called))


def _one_value(columns: list[Column], what: str) -> str | None:
    """A note on a column that has only one value."""
    return f"two {what} or more ({columns[0].name!r} has one value)" if columns else None


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if names[3:] else "")


def _several(profiles: list[FileProfile]) -> str:
    """A note on files that should share a column of units, bags or places."""
    if len(profiles) > 2:
        return f"There are {len(profiles)} files; a problem takes one or two."
    one, two = ({c.name: _values(c) for c in p.columns} for p in profiles)
    shared = [name for name in one if name in two]
    alike = [name for name in shared if one[name] & two[name]]
    names = [p.path.name for p in profiles]
    if alike:
        return (
            f"The nearest form is two files with the same units or bags: they share {alike[0]!r}; missing: groups in "
            "one file and outcomes in the other, or individuals in one and one row for each of their bags in the other."
        )
    held = f"{_listed(tuple(shared))} is in both, with other values" if shared else "no column is called alike in both"
    return (
        "The nearest form is two files that share a column of units, bags or places: in "
        f"{names[0]} and {names[1]}, {held}."
    )


def _values(column: Column) -> set[str]:
    return {column.value(i) for i in range(min(len(column.codes), 5000))} - {""}
