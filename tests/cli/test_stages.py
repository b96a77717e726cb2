"""Stages say their name at once, how long they run only where that is long, and nothing when quiet."""

import threading

from sumwise.cli.stages import Stages


def test_quick_stages_say_their_name_alone():
    lines = []
    with Stages(write=lines.append, first=60.0) as stages:
        stages("read")
        stages("fit King")
    assert lines == ["read", "fit King"]


def test_long_stages_say_how_long_until_they_end():
    lines, seen = [], threading.Event()

    def write(line):
        lines.append(line)
        if "so far" in line:
            seen.set()

    with Stages(write=write, first=0.0, between=3600.0) as stages:
        stages("fit King")
        assert seen.wait(60)
    assert lines == ["fit King", "fit King: 0 s so far"]


def test_quiet_stages_say_nothing():
    lines = []
    with Stages(quiet=True, write=lines.append, first=0.0) as stages:
        stages("read")
    assert lines == []
