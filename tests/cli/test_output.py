"""What is written, where, and that names from files can't do harm."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sumwise.cli import output


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
