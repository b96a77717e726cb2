"""Stages say their name at once, how long they run only where that is long, and nothing when quiet."""

import threading

from sumwise.cli.stages import Stages
from sumwise.progress import Progress


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


def test_long_stages_say_how_long_they_will_take_where_steps_are_counted(monkeypatch):
    lines, seen = [], threading.Event()
    monkeypatch.setattr(Progress, "seconds_left", lambda self: 12.0)

    def write(line):
        lines.append(line)
        if "left" in line:
            seen.set()

    with Stages(write=write, first=0.0, between=0.01) as stages:
        stages("compare King")
        with Progress("Draws", 10) as work:
            work.step(4)
            assert seen.wait(60)
    assert any(line.endswith("so far, draws 4 of at most 10, about 12 s left") for line in lines)
