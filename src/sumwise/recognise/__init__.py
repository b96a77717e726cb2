"""From a data file to a problem file: what a file is (margins, bags, tables, counts over time), and what to ask of it.

One file per form in `FORMS` defines ``guess(profiles)``, which returns a `Guess` or None; the nearest wins. Where none
does, `nearest` says which form the files come nearest to.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np

from sumwise.errors import DataError, sentence
from sumwise.recognise import tables
from sumwise.recognise.guess import Guess
from sumwise.recognise.margins import words as names
from sumwise.recognise.nearest import nearest_form
from sumwise.recognise.profile_file import is_called

__all__ = ["Guess", "recognise"]

FORMS = ("bags", "counts_over_time", "margins", "tables")
NEARLY_BEST = 0.1  # a form whose score is this near to the best is named
# Rows are like people, not units, if there are so many of them, with so many columns of so few different texts
FEWEST_PEOPLE, FEWEST_CATEGORIES, MOST_CATEGORIES = 200, 3, 50
TIMED = r"((week|day|month|hour|year|time|t|w|d|h|m|q)[ _.-]?\d{1,4}|(19|20)\d{2}([-_.]\d{1,2}){0,2})"


def recognise(profiles: list[Any], family: str | None = None) -> Guess:
    """The likeliest problem for profiled files.

    Parameters
    ----------
    profiles : list of FileProfile
    family : str, optional
        Only of this family.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise import recognise
    >>> from sumwise.recognise.profile_file import profile_file
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = path.write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,80,30,60\\n")
    >>> recognise([profile_file(path)]).columns["groups"]
    ['young', 'old']
    """
    found: list[Any] = []
    refused: list[DataError] = []
    for name in FORMS:
        try:
            found.append(_named(profiles, importlib.import_module(f"sumwise.recognise.{name}").guess))
        except DataError as error:
            if family is None and not _like_people(profiles):
                raise
            refused.append(error)  # perhaps by a form of another family
    guesses = [g for group in found for g in (group if isinstance(group, list) else [group]) if g is not None]
    if family is not None:
        guesses = [g for g in guesses if g.family == family]
    elif _like_people(profiles) and any(g.family == "maxent" for g in guesses):
        guesses = [g for g in guesses if g.family != "ecological" or not g.unequal]
    if refused and not guesses:
        raise refused[0]
    if not guesses:
        raise _no_form(profiles, family)
    best = max(guesses, key=lambda g: g.score)
    if best.refusal is not None:
        raise best.refusal
    best.ask += [
        f"it may also be {g.seen}: --family {g.family} takes it so."
        for g in guesses
        if g.family != best.family and g.refusal is None and g.score > best.score - NEARLY_BEST
    ]
    best.ask += _doubts_about_files(profiles)
    return best


def _no_form(profiles: list[Any], family: str | None) -> DataError:
    """What to say of files that no form takes."""
    single = next((profile for profile in profiles if profile.n_rows == 1), None)
    if single is not None:
        return DataError(
            f"{single.path.name!r} has one row of data. Estimates come from how rows (units, individuals, cells, "
            "times and places) differ, so every form takes several.",
            hint="give a row for every unit; sumwise init --help lists the forms.",
        )
    names = ", ".join(repr(profile.path.name) for profile in profiles)
    what = "no form that is known" if family is None else f"no form that {family} takes"
    return DataError(
        f"{names} has {what}: margins, individuals in bags, cells of tables, or counts over time. "
        + " ".join([nearest_form(profiles, family), *_causes(profiles)])
        + _no_counts(profiles),
        hint="sumwise init --help lists the forms; sumwise docs from-files-to-findings shows a problem file.",
    )


def _doubts_about_files(profiles: list[Any]) -> list[str]:
    """What to check about how files were read, whatever their form."""
    out = [
        f"some rows of {profile.path.name} have too few or too many fields and are left out; is the file complete?"
        for profile in profiles
        if profile.ragged
    ]
    out += [
        f"the rows above the header of {profile.path.name} were treated as a title: {profile.title[:80]!r}."
        for profile in profiles
        if profile.title
    ]
    out += [line for profile in profiles for line in profile.remarks]
    return out + [f"in {profile.path.name}, 1.234 was read as 1234." for profile in profiles if profile.decimal]


def _like_people(profiles: list[Any]) -> bool:
    """Whether rows are more like people than like units: many of them, several categories, and no names of units."""
    if len(profiles) != 1 or profiles[0].n_rows < FEWEST_PEOPLE:
        return False
    columns = profiles[0].columns
    categories = [c for c in columns if c.amounts is None and 2 <= c.distinct <= MOST_CATEGORIES]
    return len(categories) >= FEWEST_CATEGORIES and not any(names.names_unit(c) for c in columns)


def _named(profiles: list[Any], guess: Any) -> Any:
    """What a form makes of the files; a refusal names the file where it doesn't yet."""
    try:
        return guess(profiles)
    except DataError as error:
        if any(profile.path.name in error.message for profile in profiles):
            raise
        names = ", ".join(profile.path.name for profile in profiles)
        raise type(error)(f"{names}: {error.message}", hint=error.hint) from error


def _causes(profiles: list[Any]) -> list[str]:
    """A note on what may keep a file from being recognised: numbers that were read as text, sheets, rows as columns."""
    found = []
    for profile in profiles:
        odd = [(c.name, text) for c in profile.columns if c.amounts is None and (text := _like_number(c)) is not None]
        if odd:
            listed = ", ".join(f"{name!r} ({text!r})" for name, text in odd[:4])
            found.append(f"These columns were read as text, not as numbers: {listed}{', ...' if odd[4:] else ''}.")
        if len(odd) > 1 and all(text.startswith("0") for _, text in odd):
            found.append("Numbers that begin with 0 are treated as codes: write counts without zeros in front.")
        found += [sentence(line) for line in profile.remarks]
        found += _wide_times(profile) + _unlabelled(profile)
        found += names.cumulative(profile) + names.transposed(profile) + names.group_of_everybody(profile)
    return found + (names.one_sided(profiles[0]) if len(profiles) == 1 else [])


def _wide_times(profile: Any) -> list[str]:
    """A note on counts with a column for every time: week01, week02."""
    named = [c.name for c in profile.numeric if re.fullmatch(TIMED, c.name, re.IGNORECASE)]
    if len(named) < 3 or len(named) < 0.5 * len(profile.columns):
        return []
    return [
        f"{named[0]!r} to {named[-1]!r} read like times: counts over time have a row for each time and place, and one "
        "column of counts."
    ]


def _unlabelled(profile: Any) -> list[str]:
    """A note on cells without label sums, and on labels that are missing."""
    count = next((c for c in profile.numeric if is_called(c, tables.COUNTS)), None)
    texts = [c for c in profile.columns if c.texts is not None]
    if count is not None and texts and len(texts) == len(profile.columns) - 1:
        return [
            f"Cells with {count.name!r} alone say nothing about a label: add a column label_sum with how many of them "
            "have it."
        ]
    edge = profile.columns[-1]
    if edge.missing and 2 <= edge.distinct <= tables.MOST_CLASSES and profile.n_rows >= 100:
        return [f"{edge.name!r} may be a label, and is missing in {edge.missing:,} of {profile.n_rows:,} rows."]
    return []


def _like_number(column: Any) -> str | None:
    """The first entry of a column of texts where most entries hold digits and no letters."""
    texts = column.words[:200]
    plain = [
        t for t in texts if re.fullmatch(r"[\d\s.,'\"()*\[\]$€£~<>+\-\u2212]*\d[\d\s.,'\"()*\[\]$€£~<>+\-\u2212]*", t)
    ]
    return plain[0] if len(plain) > 0.8 * len(texts) > 1 else None


def _no_counts(profiles: list[Any]) -> str:
    """A note on columns of numbers that can't be counts, since some are missing, negative or no numbers."""
    found = []
    for profile in profiles:
        for column in profile.columns:
            if column.amounts is None or column.counts:
                continue
            missing, below = np.isnan(column.amounts), column.amounts < 0
            shown = f" ({', '.join(map(repr, column.odd))})" if column.odd else ""
            for bad, words in ((missing, f"is missing or no number{shown}"), (below, "is negative")):
                if bad.any():
                    first = profile.row(int(np.argmax(bad)))
                    found.append(f"{column.name!r} {words} in {int(bad.sum()):,} rows (first: {first})")
    if not found:
        return ""
    return f" Counts can't be missing or negative: {'; '.join(found[:3])}{'; ...' if found[3:] else ''}."
