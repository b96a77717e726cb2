"""Columns that are not features of people: identifiers, and weights of a survey."""

from __future__ import annotations

import re

import numpy as np

from sumwise.recognise.profile_file import Column, FileProfile

UNIQUE = 0.9  # distinct values per row from which nearly every row has its own
IDS = (
    "id", "ids", "uuid", "guid", "key", "serial*", "seqn", "caseid", "case", "respondent*", "nr", "no", "number",
    "ssn",
)  # fmt: skip
DIGITS = 7  # of whole numbers that are all of one length and all different: nobody measures so
WEIGHT = re.compile(r"weight|wgt|(?<![a-z])p?wts?(?![a-z])|(final|per|hh|person|house)wt", re.IGNORECASE)
MEASURED = re.compile(r"birth|body|kg|lbs?(?![a-z])|gram|pound|ounce|tonne", re.IGNORECASE)  # weights of things


def not_features(profile: FileProfile, skip: set[str]) -> dict[str, str]:
    """Columns that say nothing about people, besides those to skip, each with the reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.profile_file import profile_file
    >>> from sumwise.recognise.not_features import not_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("name,age,perwt\\n" + "".join(f"P{i},{i % 9},{1.5 + i % 7}\\n" for i in range(99)))
    >>> not_features(profile_file(path), set())
    {'name': 'an identifier: no two rows have the same', 'perwt': 'looks like the weight of a survey'}
    """
    found = {}
    for c in (c for c in profile.columns if c.name not in skip):
        if is_identifier(profile, c):
            unique = c.distinct == profile.n_rows - c.missing
            shown = "no two rows have the same" if unique else f"{c.distinct:,} values in {profile.n_rows:,} rows"
            found[c.name] = f"an identifier: {shown}"
        elif is_weight(c):
            found[c.name] = "looks like the weight of a survey"
    return found if len(found) + len(skip) < len(profile.columns) else {}


def is_identifier(profile: FileProfile, column: Column) -> bool:
    """Whether nearly every row has its own text, or whole number that is called or written like an identifier's."""
    if column.distinct <= UNIQUE * profile.n_rows:
        return False
    if column.amounts is None:
        return True
    return column.whole and (profile.is_called(column, IDS) or is_row_number(column) or _is_long_code(column))


def is_weight(column: Column) -> bool:
    """Whether a column is called like the weight of a survey, and holds numbers of 0 or more."""
    called = WEIGHT.search(column.name) and not MEASURED.search(column.name)
    return bool(called) and column.amounts is not None and not bool((column.amounts < 0).any())


def is_row_number(column: Column) -> bool:
    """Whether a column numbers the rows, as an index does that pandas wrote."""
    return column.numbers is not None and len(column.numbers) > 2 and bool((np.diff(column.numbers) == 1).all())


def _is_long_code(column: Column) -> bool:
    values = column.amounts[~np.isnan(column.amounts)]
    if column.distinct < len(values) or not len(values) or values.min() < 10 ** (DIGITS - 1):
        return False
    return len(f"{values.min():.0f}") == len(f"{values.max():.0f}")
