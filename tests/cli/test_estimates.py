"""The table of estimates in a terminal."""

from __future__ import annotations

import json

import numpy as np

from study_cases import ecological
from sumwise.cli import main
from sumwise.cli.estimates import WIDTH, bar, estimates_table, share_rows


def test_a_bar_has_its_marks_in_place():
    shown = bar((0, 1), 0.5, (0.25, 0.75), (0.0, 1.0))
    assert (len(shown), shown.index("●")) == (WIDTH, round(0.5 * (WIDTH - 1)))
    assert (shown.index("─"), shown.rindex("─")) == (round(0.25 * (WIDTH - 1)), round(0.75 * (WIDTH - 1)))
    assert set(shown) == {"·", "─", "●"}
    assert bar((0, 1), 7.0)[-1] == "●"  # outside of the ends: at the end


def test_what_is_no_finding_has_no_estimate():
    share = np.array([[0.7, 0.3]])
    numbers = {"share": share, "low": share - 0.1, "high": share + 0.1, "groups": ["a"], "outcomes": ["x", "y"]}
    numbers |= {"lower_bound": share - 0.2, "upper_bound": share + 0.2, "withheld": [[True, False]]}
    first, second = share_rows(numbers)
    assert first[1] == "no finding"
    assert "●" not in first[3]
    assert second[1] == "30%"
    assert "●" in second[3]


def test_findings_of_several_contests_are_the_table():
    found = {"what": "Governor: Share of white voters who chose Kemp", "value": 0.72, "low": 0.61, "high": 0.83}
    columns, rows = estimates_table({"findings": [found | {"kind": "share", "level": 0.9}]})
    assert columns[2] == ">90% interval"
    assert rows[0][:3] == [found["what"], "72%", "61% to 83%"]


def test_fit_shows_estimates_first_and_last(tmp_path, capsys):
    path = ecological(tmp_path)
    path.write_text(path.read_text().replace("sensitivity = false", "sensitivity = true"))
    assert main(["fit", str(path), "--out", str(tmp_path / "r")]) == 0
    told = capsys.readouterr()
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    columns, rows = estimates_table(summary)
    assert columns[0] in told.out
    assert all(row[3].rstrip() in told.out for row in rows)
    if "compare" in told.err:  # the first numbers stand before what checks them
        assert told.err.index("●") < told.err.index("compare")


def test_an_example_is_one_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for family, file in (("flows", "weeks.csv"), ("proportions", "people.csv")):
        assert main(["init", "--example", "--family", family, "--yes", "--replace"]) == 0
        assert (tmp_path / file).exists()
        assert "Next: sumwise fit problem.toml" in capsys.readouterr().out
    (tmp_path / "county.csv").write_text("mine")
    assert main(["init", "--example", "--yes"]) == 2
    assert "another file 'county.csv'" in capsys.readouterr().err
    assert (tmp_path / "county.csv").read_text() == "mine"
    assert main(["init"]) == 2
    assert "sumwise init --example" in capsys.readouterr().err
