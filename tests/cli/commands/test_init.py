"""The command init."""

from __future__ import annotations

import io
import json
import re
import tomllib

import numpy as np
import pandas as pd
import pytest

from study_cases import votes
from sumwise import Domain, Table, Tables
from sumwise.cli import main
from sumwise.cli.commands import init
from sumwise.io.formats.tables_folder import write_tables_folder
from sumwise.noise import Laplace


def test_init_writes_a_problem_and_says_what_comes_next(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes().to_csv("votes.csv", index=False)
    assert main(["init", "votes.csv"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("ecological")
    assert "Next: sumwise fit problem.toml" in told
    assert 'file = "votes.csv"' in (tmp_path / "problem.toml").read_text()
    assert main(["init", "votes.csv"]) == 2
    assert "already" in capsys.readouterr().err


def test_init_speaks_json(tmp_path, capsys):
    votes().to_csv(tmp_path / "votes.csv", index=False)
    assert main(["init", str(tmp_path / "votes.csv"), "--out", str(tmp_path / "p.toml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["family"] == "ecological"
    assert told["columns"]["unit"] == "precinct"


def test_init_shows_its_reading_and_what_is_not_used(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes(12).assign(income=range(12)).to_csv("votes.csv", index=False)
    assert main(["init", "votes.csv"]) == 0
    shown = capsys.readouterr().out
    total = votes(12)["young"].sum()
    assert re.search(rf"groups +young .* {total:,.0f}", shown)
    assert "12 units" in shown


@pytest.mark.parametrize(("answer", "code", "written"), [("n\n", 1, False), ("y\n", 0, True)])
def test_init_asks_on_a_terminal(tmp_path, capsys, monkeypatch, answer, code, written):
    monkeypatch.chdir(tmp_path)
    votes(12).to_csv("votes.csv", index=False)
    monkeypatch.setattr(init, "_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert main(["init", "votes.csv"]) == code
    assert (tmp_path / "problem.toml").exists() is written
    assert ("Nothing was written" in capsys.readouterr().out) is not written


def test_init_leaves_questions_in_the_problem_file_and_takes_answers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = votes(12)
    frame.assign(no=frame["no"] // 2).to_csv("votes.csv", index=False)
    assert main(["init", "votes.csv", "--yes"]) == 2
    assert '# fewer = "they did not vote"' in (tmp_path / "problem.toml").read_text()
    assert "--answer 'fewer=they did not vote'" in capsys.readouterr().out
    assert main(["fit", "problem.toml", "--out", "result"]) == 2
    assert "questions are open (confirm, fewer)" in capsys.readouterr().err
    text = (tmp_path / "problem.toml").read_text()
    answered = text.replace('# confirm = "yes"', 'confirm = "yes"').replace('# fewer = "they did', 'fewer = "they did')
    (tmp_path / "problem.toml").write_text(answered)
    assert main(["fit", "problem.toml", "--out", "result"]) == 0
    assert 'mismatch = "no_vote"' in (tmp_path / "result" / "problem.toml").read_text()
    given = ["init", "votes.csv", "--replace", "--answer", "confirm=yes", "--answer"]
    assert main([*given, "fewer=they did not vote"]) == 0
    assert main([*given, "fewer=perhaps"]) == 2
    assert main([*given, "fewer=they did not vote", "--answer", "fewr=yes"]) == 2


def test_init_asks_questions_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = votes(12)
    frame.assign(no=frame["no"] // 2).to_csv("votes.csv", index=False)
    monkeypatch.setattr(init, "_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("7\n2\n2\ny\n"))
    assert main(["init", "votes.csv"]) == 0
    assert 'mismatch = "no_vote"' in (tmp_path / "problem.toml").read_text()


def test_init_does_not_ask_with_yes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes(12).to_csv("votes.csv", index=False)
    monkeypatch.setattr(init, "_terminal", lambda: True)
    assert main(["init", "votes.csv", "--yes"]) == 0


def test_init_takes_a_sheet(tmp_path, monkeypatch, capsys):
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    with pd.ExcelWriter("a.xlsx") as book:
        pd.DataFrame({"note": ["see the other sheet", "it has the votes"]}).to_excel(
            book, sheet_name="Read me", index=False
        )
        votes(12).to_excel(book, sheet_name="Votes", index=False)
    assert main(["init", "a.xlsx", "--sheet", "Votes"]) == 0
    assert 'sheet = "Votes"' in (tmp_path / "problem.toml").read_text()
    assert main(["init", "a.xlsx", "--replace"]) == 2
    assert "no form that is known" in capsys.readouterr().err


def test_released_tables_without_n_can_be_fitted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    domain = Domain({"age": ["young", "old"], "sex": ["f", "m"]})
    counts = rng.integers(200, 400, (2, 2)) + rng.laplace(0, 3, (2, 2))
    noisy = Table(("age", "sex"), counts, 0.4 * counts + rng.laplace(0, 3, (2, 2)), noise=Laplace(3.0))
    write_tables_folder(Tables([noisy], domain), "noisy")
    assert main(["init", "noisy"]) == 0
    problem = (tmp_path / "problem.toml").read_text().replace('"auto"', '"NaiveBayesTables"\nsensitivity = false')
    (tmp_path / "problem.toml").write_text(problem)
    assert main(["fit", "problem.toml", "--out", "result"]) == 0


def test_names_move_no_cursor_and_the_problem_file_stays_toml(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step, signs = np.arange(12), set("\u202e\x1b\x07\u2066\x9b")
    sides = {"white\u202egnp": step * 10 + 60, "black\x1b[31mred\x07": 40 - step}
    sides |= {"smith\u2066x": step * 4 + 55, "jones\x9b31m": step * 5 + 45}
    pd.DataFrame({"precinct": step, **sides}).to_csv("v.csv", index=False)
    assert main(["init", "v.csv"]) == 2  # which are the groups?
    said, text = capsys.readouterr(), (tmp_path / "problem.toml").read_text()
    assert not signs & set(said.out + said.err)
    assert "\\u202e" in said.out
    assert not signs & {c for line in text.splitlines() if " = " not in line for c in line}
    tomllib.loads(text)
