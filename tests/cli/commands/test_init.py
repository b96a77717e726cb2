"""The command init."""

from __future__ import annotations

import json

from study_cases import votes
from sumwise.cli import main


def test_init_writes_a_problem_and_says_what_comes_next(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes().to_csv("votes.csv", index=False)
    assert main(["init", "votes.csv"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("ecological: one row per unit")
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
