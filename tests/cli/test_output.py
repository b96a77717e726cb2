"""What is written, where, and that names from files can't do harm."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from sumwise.cli import output
from sumwise.cli.output import Stages
from sumwise.progress import Progress


def test_json_holds_arrays_and_no_nan(capsys):
    output.write_json({"a": np.arange(2), 1: (np.float64(0.5), np.nan, np.inf), "b": [np.bool_(True), None], "c": {1}})
    assert json.loads(capsys.readouterr().out) == {
        "a": [0, 1],
        "1": [0.5, None, None],
        "b": [True, None],
        "c": "{1}",
    }


def test_table_is_not_cut_off_in_a_pipe(capsys):
    long = "word " * 60 + "end"
    output.write_table(["name", ">n"], [[long, 1], ["[bold]x[/bold]", 20]])
    out = capsys.readouterr().out
    assert long in out
    assert "[bold]x[/bold]" in out
    assert out.splitlines()[-1].rstrip().endswith("20")


@pytest.mark.parametrize("put", [output.complain, output.warn])
def test_messages_go_to_standard_error_in_one_line(capsys, put):
    put("a\nb [red] \x1b[2J \x07" + "x" * 300)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "a b [red] \\x1b[2J \\x07xxx" in err


def test_write_takes_brackets_as_they_are(capsys):
    output.write("[b]")
    assert capsys.readouterr().out == "[b]\n"


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
