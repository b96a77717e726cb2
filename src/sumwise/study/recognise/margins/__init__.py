"""Margins: one row per unit with two sides, one row per unit, side and option, or two files with the same units."""

from __future__ import annotations

from sumwise.study.profile_file import FileProfile
from sumwise.study.recognise.guess import Guess
from sumwise.study.recognise.margins.long import guess_long, guess_named, refuse_half_long
from sumwise.study.recognise.margins.two_files import guess_two
from sumwise.study.recognise.margins.wide import guess_wide


def guess(profiles: list[FileProfile]) -> Guess | None:
    """Margins in one file, long or wide, or in two files with the same units."""
    if len(profiles) == 2:
        return guess_two(*profiles) or guess_named(*profiles) or guess_named(*reversed(profiles))
    if len(profiles) != 1:
        return None
    refuse_half_long(profiles[0])
    return guess_long(profiles[0]) or guess_wide(profiles[0])
