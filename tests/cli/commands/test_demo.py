"""The command demo: stories on the screen and as JSON."""

from __future__ import annotations

import json

import pytest

import sumwise.demo
from sumwise.cli import main
from sumwise.demo import Finding, Story


def run(say):
    say("[We] hold 10 coins.")
    return [
        Finding("heads", 0.6, truth=0.5, low=0.3, high=0.9),
        Finding("tails", 0.4, truth=0.5, low=0.3, high=0.45),
    ]


@pytest.fixture
def coins(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sumwise.demo, "stories", lambda: [Story("Ten coins", "coins", run), Story("More", "more", run)])


def test_demo_tells_stories_with_their_findings(coins, capsys, tmp_path):
    assert main(["demo", "coins"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Ten coins (coins)", "  [We] hold 10 coins."]
    assert lines[2] == "  heads: estimated 0.6 (0.3 to 0.9), truth 0.5, interval covers: yes"
    assert lines[3].endswith("interval covers: no")
    assert "1 story in" in lines[-3]
    assert lines[-2] == "All of it as a page: demo/report.html"
    assert lines[-1].startswith("Next: ")
    assert "Ten coins" in (tmp_path / "demo" / "report.html").read_text()


def test_demo_speaks_json(coins, capsys):
    assert main(["demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [story["family"] for story in told["stories"]] == ["coins", "more"]
    assert told["stories"][0]["findings"][1] == {
        "what": "tails", "estimated": 0.4, "truth": 0.5, "low": 0.3, "high": 0.45, "kind": "number", "level": 0.95,
        "covers": False,
    }  # fmt: skip


def test_demo_refuses_an_unknown_family(coins, capsys):
    assert main(["demo", "birds"]) == 2
    assert capsys.readouterr().err == "There is no story of 'birds'. Hint: one of coins, more.\n"


def test_demo_names_another_folder_where_it_can_not_write(coins, capsys, tmp_path):
    (tmp_path / "file").touch()
    assert main(["demo", "coins", "--out", "file"]) == 2
    assert "Hint: name another with --out." in capsys.readouterr().err
    assert main(["demo", "coins", "--out", "else", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == "else/report.html"
