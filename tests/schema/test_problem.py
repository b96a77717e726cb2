"""The problem file: typos, wrong kinds and missing files are answered with their line and the remedy."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from messages import raises
from sumwise.cli import main
from sumwise.cli.study import Problem
from sumwise.errors import DataError, UnknownName
from sumwise.noise import Exact, Gaussian, Laplace, Poisson
from sumwise.schema.problem import key_lines, noise_of, value_line

TEXT = """# family = "not me"
family = "a"  # columns = 1
"odd key" = 1

[columns]  # [options]
groups = [
  "a = b",   # seed = 3
  "c]",
]
unit = "[x]"
deep.er = 2
inline = { a = 1, b = [2, 3] }

[ options . more ]
n = 1
"""

GOOD = """family = "ecological"
seed = 3
level = 0.9
[data]
file = "votes.csv"
[columns]
groups = ["a", "b"]
unit = "u"
"""


def test_values_and_defaults():
    p = Problem.parse(GOOD)
    assert (p.family, p.seed, p.level, p.method, p.title, p.sensitivity) == ("ecological", 3, 0.9, "auto", None, True)
    assert p.column_list("groups") == ["a", "b"]
    assert p.column_list("unit") == ["u"]
    assert p.column("weight") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('famly = "x"', "problem, line 1: There is no key 'famly'. Hint: did you mean 'family'?"),
        ("seed = 1", "problem: There is no family."),
        ('family = "x"\nseed = "3"', "problem, line 2: seed is '3'. Hint: give a whole number."),
        ('family = "x"\n\nlevel = 95', "problem, line 3: level is 95.0. Hint: give a number between 0 and 1"),
        ('family = "x"\nseed = true', "problem, line 2: seed is True."),
        ('family = "x"\ndata = "votes.csv"', "problem, line 2: data is 'votes.csv'. Hint: give a table."),
        ('family = "x"\nseed = = 3', "problem, line 2: this is not valid TOML"),
        ('family = "x"\ntitle = "open', "problem, line 2: this is not valid TOML"),
        ("family = ecological", "problem, line 1: this is not valid TOML"),
    ],
)
def test_errors_name_the_line_and_the_remedy(text, told):
    with pytest.raises(DataError) as caught:
        Problem.parse(text)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_gets_the_nearest(tmp_path):
    (tmp_path / "vote.csv").write_text("a\n1\n")
    (tmp_path / "p.toml").write_text(GOOD)
    with raises(DataError, "no-did-you", "file", "vote.csv"):
        Problem.from_file(tmp_path / "p.toml").file()


def test_files_are_found_beside_the_problem_with_a_byte_order_mark(tmp_path):
    (tmp_path / "votes.csv").write_text("a\n1\n")
    (tmp_path / "p.toml").write_text(GOOD, "utf-8-sig")
    assert Problem.from_file(tmp_path / "p.toml").file() == tmp_path / "votes.csv"


def test_errors_about_values_point_at_the_value_not_at_the_file():
    p = Problem.parse(GOOD)
    with pytest.raises(UnknownName, match=r"^problem, line 7: 'votes.csv': There is no column 'a'"), p.blamed():
        raise UnknownName("'votes.csv': There is no column 'a'.")
    with pytest.raises(DataError, match=r"^problem, line 5: 'votes.csv' is empty"), p.blamed():
        raise DataError("'votes.csv' is empty.")
    with pytest.raises(DataError, match=r"^problem: something"), p.blamed():
        raise DataError("something")


def test_columns_of_the_wrong_kind_are_refused():
    p = Problem.parse('family = "x"\n[columns]\nunit = 3\ngroups = [1]\n')
    with raises(DataError, "column-quotes"):
        p.column("unit")
    with raises(DataError, "list-columns-quotes"):
        p.column_list("groups")
    with raises(DataError, "such-first-second", "outcomes"):
        p.column_list("outcomes", needed=True)


def test_no_problem_file_is_told(tmp_path):
    with raises(DataError, "no-problem-file-sumwise"):
        Problem.from_file(tmp_path / "none.toml")


@pytest.mark.parametrize("command", ["init", "fit", "fit map", "fit a pipe", "aggregate", "release", "report"])
def test_no_command_waits_for_a_pipe(command, tmp_path, monkeypatch, capsys):
    if command == "release":
        pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    Path("rows.csv").write_text("p,a,b,y,n\n" + "".join(f"{k},{k + 5},9,8,{k + 6}\n" for k in range(12)))
    columns = '[columns]\nunit = "p"\ngroups = ["a", "b"]\noutcomes = ["y", "n"]\n'
    for name, file, more in (("data", "pipe.csv", ""), ("map", "rows.csv", '[map]\nfile = "pipe.csv"\nkey = "p"\n')):
        text = f'family = "ecological"\nmethod = "Bounds"\n[data]\nfile = "{file}"\n{columns}{more}'
        Path(f"{name}.toml").write_text(text)
    Path("result").mkdir()
    os.mkfifo("result/summary.json")
    arguments = {
        "init": ["init", "pipe.csv"],
        "fit": ["fit", "data.toml"],
        "fit map": ["fit", "map.toml"],
        "fit a pipe": ["fit", "pipe.csv"],
        "aggregate": ["aggregate", "rows.csv", "--encode", "pipe.csv", "--out", "tables"],
        "release": ["release", "--rows", "rows.csv", "--schema", "pipe.csv", "--out", "noisy"],
        "report": ["report", "result"],
    }
    if command.startswith("fit"):
        arguments[command] += ["--out", "fitted"]
    assert main(arguments[command]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err


def test_lines_of_all_keys():
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == {
        ("family",): 2,
        ("odd key",): 3,
        ("columns",): 5,
        ("columns", "groups"): 6,
        ("columns", "unit"): 10,
        ("columns", "deep", "er"): 11,
        ("columns", "inline"): 12,
        ("options", "more"): 14,
        ("options", "more", "n"): 15,
    }


def test_lines_of_keys_with_quotes_in_them():
    text = '[names]\n"dad\'s" = 1\n\'"x"\' = 2\n"y\'" = 3\nplain = 4\n'
    tomllib.loads(text)
    assert key_lines(text) == {
        ("names",): 1,
        ("names", "dad's"): 2,
        ("names", '"x"'): 3,
        ("names", "y'"): 4,
        ("names", "plain"): 5,
    }


@pytest.mark.parametrize(
    ("value", "start", "line"),
    [("a = b", 1, 7), ("c]", 1, 8), ("[x]", 1, 10), ("a", 1, 2), ("a", 3, None), ("zz", 1, None)],
)
def test_lines_of_values(value, start, line):
    assert value_line(TEXT, value, start) == line


def test_a_key_in_the_wrong_table_is_sent_to_the_right_one():
    from sumwise.cli.study import study_of

    text = 'family = "ecological"\n[data]\nfile = "v.csv"\n[columns]\nmismatch = "no_vote"'
    with raises(DataError, "belongs-under"):
        study_of(Problem.parse(text))
    text = 'family = "ecological"\n[data]\nfile = "v.csv"\ngroups = ["a"]'
    with raises(DataError, "belongs-under"):
        study_of(Problem.parse(text))


def test_kinds_have_their_parameters():
    assert noise_of({"rate": 0.5}) == Poisson(0.5)
    assert noise_of({"noise": "exact"}) == Exact()
    assert noise_of({"noise": "gaussian", "sd": 2.0}) == Gaussian(2.0)
    assert noise_of({"noise": "laplace", "sd": 2.0 * np.sqrt(2)}) == Laplace(2.0)
    assert noise_of({"noise": "relative"}) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": "poisson", "sd": 1.0}, ("noise-noise-no", "sd", "poisson")),
        ({"noise": "gaussian", "sd": -1}, ("not-above-zero-2", "sd")),
    ],
)
def test_wrong_parameters_are_refused(given, words):
    with raises(DataError, *words):
        noise_of(given)


def test_kinds_that_are_not_known_here_are_refused():
    with raises(DataError, "is-takes", "noise"):
        noise_of({"noise": "relative"}, ("exact",))
