"""Margins: one row per unit with two sides, one row per unit, side and option, or two files with the same units."""

from __future__ import annotations

from sumwise.errors import DataError
from sumwise.study.profile_file import FileProfile
from sumwise.study.recognise.guess import Guess
from sumwise.study.recognise.margins.long import guess_long, guess_named, refuse_half_long, refuse_outcomes_alone
from sumwise.study.recognise.margins.two_files import guess_two
from sumwise.study.recognise.margins.wide import guess_wide
from sumwise.study.recognise.margins.words import transposed


def guess(profiles: list[FileProfile]) -> Guess | None:
    """Margins in one file, long or wide, or in two files with the same units."""
    if len(profiles) == 2:
        found = guess_two(*profiles) or guess_named(*profiles) or guess_named(*reversed(profiles))
        for profile in profiles if found is None else ():
            refuse_outcomes_alone(profile)
        return found
    if len(profiles) != 1:
        return None
    refuse_half_long(profiles[0])
    if (swapped := transposed(profiles[0])) and len(profiles[0].columns) > 20:
        raise DataError(f"{profiles[0].path.name}: {swapped[0]}", hint="swap rows and columns in a spreadsheet.")
    found = guess_long(profiles[0]) or guess_wide(profiles[0])
    if found is None:
        refuse_outcomes_alone(profiles[0])
    return found
