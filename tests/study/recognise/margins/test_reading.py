"""Reading: what is kept of a file, and what is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sumwise.study.recognise.margins.reading import Reading


def test_rows_that_are_left_out_are_not_kept():
    profile: Any = SimpleNamespace(n_rows=3)
    reading = Reading(profile, profile)
    assert reading.keep.tolist() == [True, True, True]
    reading.out[1] = "a line of totals"
    assert reading.keep.tolist() == [True, False, True]
