"""Margins: one row per unit with two sides, one row per unit, side and option, or two files with the same units."""

from __future__ import annotations

from sumwise.recognise.guess import Guess, refused
from sumwise.recognise.margins.long import guess_long, guess_named, outcomes_alone, refuse_half_long
from sumwise.recognise.margins.outcome_rows import guess_outcome_rows
from sumwise.recognise.margins.wide import guess_two, guess_wide
from sumwise.recognise.margins.words import transposed
from sumwise.recognise.profile_file import FileProfile


def guess(profiles: list[FileProfile]) -> Guess | None:
    """Margins in one file, long or wide, or in two files with the same units."""
    if len(profiles) == 2:
        found = guess_two(*profiles) or guess_named(*profiles) or guess_named(*reversed(profiles))
        found = found or guess_outcome_rows(*profiles) or guess_outcome_rows(*reversed(profiles))
        return found or outcomes_alone(profiles[0]) or outcomes_alone(profiles[1])
    if len(profiles) != 1:
        return None
    refuse_half_long(profiles[0])
    swapped = transposed(profiles[0]) if len(profiles[0].columns) > 20 else []
    if swapped:
        message, hint = f"{profiles[0].path.name}: {swapped[0]}", "swap rows and columns in a spreadsheet."
        return refused("ecological", 0.6, message, hint)
    return guess_long(profiles[0]) or guess_wide(profiles[0]) or outcomes_alone(profiles[0])
