"""The command predict."""

from __future__ import annotations

import io
import json

import pandas as pd

from study_cases import ecological
from sumwise.cli import main
from sumwise.cli.study.fitting import fit_problem


def test_predict_writes_to_the_screen_to_a_file_and_json(tmp_path, capsys):
    fit_problem(ecological(tmp_path), tmp_path / "r")
    arguments = ["predict", str(tmp_path / "r"), str(tmp_path / "votes.csv")]
    assert main(arguments) == 0
    frame = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(frame) == 80
    assert main([*arguments, "--out", str(tmp_path / "p.csv")]) == 0
    assert "80 rows" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "p.csv")) == 80
    assert main([*arguments, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 80


def test_predict_without_a_result_is_refused(tmp_path, capsys):
    assert main(["predict", str(tmp_path), "x.csv"]) == 2
    assert "There is no result in" in capsys.readouterr().err


def test_predictions_are_no_formulas(tmp_path, capsys):
    problem = ecological(tmp_path)
    fit_problem(problem, tmp_path / "r")
    votes = pd.read_csv(tmp_path / "votes.csv")
    unit = votes.columns[0]
    votes[unit] = [f"=cmd|{i}" for i in range(len(votes))]
    votes.to_csv(tmp_path / "votes.csv", index=False)
    arguments = ["predict", str(tmp_path / "r"), str(tmp_path / "votes.csv")]
    for ending in ("csv", "tsv", "CSV.gz", "parquet"):
        assert main([*arguments, "--out", str(tmp_path / f"p.{ending}")]) == 0
    capsys.readouterr()
    assert main(arguments) == 0
    screen = capsys.readouterr().out
    assert "\n=" not in screen
    assert "'=cmd|0" in screen
    for ending in ("csv", "tsv"):
        assert "'=cmd|0" in (tmp_path / f"p.{ending}").read_text()
        assert "\n=" not in (tmp_path / f"p.{ending}").read_text()
    assert pd.read_parquet(tmp_path / "p.parquet")["unit"][0] == "=cmd|0"
