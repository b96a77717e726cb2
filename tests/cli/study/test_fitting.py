"""A problem file to a result folder: all files, the same bytes again, killed and resumed."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import ecological, long_votes, votes
from sumwise import load, save
from sumwise.aggregate import aggregate
from sumwise.cli.study.families.ecological import Ecological
from sumwise.cli.study.fitting import fit_problem, predict_file, read_result, write_page
from sumwise.cli.study.initialise import suggest_problem
from sumwise.ecological import EcologicalEM, Goodman
from sumwise.errors import DataError
from sumwise.io.formats.tables_folder import write_tables_folder

FILES = [
    "estimates.csv",
    "estimates.parquet",
    "model.sumwise",
    "problem.toml",
    "provenance.json",
    "report.html",
    "summary.json",
    "units.csv",
    "units.parquet",
]
SAME = [name for name in FILES if name not in ("provenance.json", "report.html")]  # these two tell the time


def test_result_has_all_files_and_runs_again_to_the_same_bytes(tmp_path):
    path = ecological(tmp_path, method='"EcologicalEM"')
    told = fit_problem(path, tmp_path / "one", "sumwise fit problem.toml")
    assert told["files"] == FILES
    fit_problem(path, tmp_path / "two")
    for name in SAME:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    estimates = pd.read_csv(tmp_path / "one" / "estimates.csv", dtype={"share": str}).astype({"share": float})
    assert estimates["share"].tolist() == pd.read_parquet(tmp_path / "one" / "estimates.parquet")["share"].tolist()
    assert load(tmp_path / "one" / "model.sumwise").shares_.ravel().tolist() == estimates["share"].tolist()
    provenance = json.loads((tmp_path / "one" / "provenance.json").read_text())
    assert provenance["data"][0]["file"] == "votes.csv"
    assert len(provenance["data"][0]["sha256"]) == 64
    assert provenance["command"] == "sumwise fit problem.toml"


def test_interrupted_run_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    other_methods = importlib.import_module("sumwise.report.other_methods")
    path = ecological(tmp_path, sensitivity="true")
    monkeypatch.setattr(other_methods, "BY_FAMILY", {"ecological": ("EcologicalEM", "Goodman")})  # the quick ones
    fit_problem(path, tmp_path / "whole")
    calls = []

    def stopping(kind):
        whole = kind.fit

        def fit(self, margins, y=None):
            if len(margins) == 40:  # not the halves
                calls.append(kind.__name__)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return whole(self, margins, y)

        monkeypatch.setattr(kind, "fit", fit)

    stopping(EcologicalEM)
    stopping(Goodman)
    with pytest.raises(KeyboardInterrupt):
        fit_problem(path, tmp_path / "r")
    assert not (tmp_path / "r").exists()
    told = fit_problem(path, tmp_path / "r", resume=True)
    assert calls == ["Goodman", "EcologicalEM", "EcologicalEM"]  # what was done is not done again
    assert told["folder"] == str(tmp_path / "r")
    for name in SAME:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "r" / name).read_bytes(), name


@pytest.mark.check
def test_killed_run_leaves_no_half_result(tmp_path):
    path = ecological(tmp_path)
    code = (
        "import sys, time\nfrom sumwise.cli.study import fitting\n"
        "from sumwise.cli.study.families.ecological import Ecological\n"
        "def slow(self):\n    print('here', flush=True)\n    time.sleep(60)\n"
        "Ecological.report = slow\nfitting.fit_problem(sys.argv[1], sys.argv[2])"
    )
    command = [sys.executable, "-c", code, path, tmp_path / "r"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "r").exists()
    told = fit_problem(path, tmp_path / "r", resume=True)
    assert told["files"] == FILES
    assert read_result(tmp_path / "r")[1]["kept steps"] == ["fit Goodman"]


def test_changed_data_can_not_be_resumed(tmp_path, monkeypatch):
    path = ecological(tmp_path)
    monkeypatch.setattr(Ecological, "report", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fit_problem(path, tmp_path / "r")
    ecological(tmp_path, votes(41))
    with raises(DataError, "unfinished-run-another"):
        fit_problem(path, tmp_path / "r", resume=True)


def test_hostile_names_come_through_every_file(tmp_path):
    names = [
        "<script>alert(1)</script>",
        "=cmd|' /C calc'!A0",
        'a "b", c',
        "two\nlines",
        "$x_{",
        "@sum",
        "-3",
        *[f"P{i}" for i in range(33)],
    ]
    path = ecological(tmp_path, votes(40, names))
    fit_problem(path, tmp_path / "r")
    units = pd.read_parquet(tmp_path / "r" / "units.parquet")["unit"].unique().tolist()
    assert units == names
    told = pd.read_csv(tmp_path / "r" / "units.csv", dtype=str)["unit"].unique().tolist()
    assert told[1] == "'=cmd|' /C calc'!A0"
    assert told[5] == "'@sum"
    assert told[6] == "-3"
    text = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_page_is_made_again_from_the_summary(tmp_path):
    path = ecological(tmp_path, title='"First"')
    fit_problem(path, tmp_path / "r")
    before = (tmp_path / "r" / "report.html").read_bytes()
    assert write_page(tmp_path / "r").read_bytes() == before
    told = json.loads((tmp_path / "r" / "summary.json").read_text())
    (tmp_path / "r" / "summary.json").write_text(json.dumps({**told, "title": "Second"}))
    assert "<h1>Second</h1>" in write_page(tmp_path / "r", tmp_path / "else.html").read_text()
    (tmp_path / "r" / "summary.json").write_text("{")
    with raises(DataError, "result-damaged-fit"):
        read_result(tmp_path / "r")


def test_a_file_in_place_of_a_result_is_called_so(tmp_path):
    (tmp_path / "model.sumwise").touch()
    with raises(DataError, "file-folder-result"):
        read_result(tmp_path / "model.sumwise")


def test_expected_outcomes_of_other_units(tmp_path):
    fit_problem(ecological(tmp_path, method='"EcologicalEM"'), tmp_path / "r")
    others = votes(40).tail(5).drop(columns=["yes", "no"])
    others.to_csv(tmp_path / "others.csv", index=False)
    frame = predict_file(tmp_path / "r", tmp_path / "others.csv")
    model = load(tmp_path / "r" / "model.sumwise")
    expected = others[["young", "old"]].to_numpy() @ model.shares_
    np.testing.assert_allclose(frame["count"], expected.ravel())
    np.testing.assert_allclose(frame["share"] * np.repeat(expected.sum(axis=1), 2), frame["count"])
    np.testing.assert_allclose(frame["share_low"] * np.repeat(expected.sum(axis=1), 2), frame["count_low"])
    assert frame["unit"].unique().tolist() == others["precinct"].tolist()
    assert (frame["count_low"] < frame["count"]).all()
    assert (frame["count"] < frame["count_high"]).all()
    truth = votes(40).tail(5)[["yes", "no"]].to_numpy().ravel()
    assert ((frame["count_low"] <= truth) & (truth <= frame["count_high"])).mean() >= 0.8


def test_missing_files_and_columns_are_told(tmp_path):
    with raises(DataError, "no-result-sumwise"):
        predict_file(tmp_path, tmp_path / "x.csv")
    fit_problem(ecological(tmp_path), tmp_path / "r")
    with raises(DataError, "no-file-check"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")
    votes().rename(columns={"old": "olde"}).to_csv(tmp_path / "x.csv")
    with raises(DataError, "no-did-you", "column", "old", "olde"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")


@pytest.mark.parametrize("change", [lambda shares: shares.astype(str), lambda shares: None])
def test_a_model_whose_parts_do_not_fit_is_no_defect_of_ours(tmp_path, change):
    fit_problem(ecological(tmp_path, method='"Goodman"'), tmp_path / "r")
    model = load(tmp_path / "r" / "model.sumwise")
    model.shares_ = change(model.shares_)
    save(model, tmp_path / "r" / "model.sumwise")
    votes().to_csv(tmp_path / "x.csv", index=False)
    with raises(DataError, "no-save-object", "shares_"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")


def test_names_from_a_second_file_are_kept_for_prediction(tmp_path):
    frame = long_votes(votes(12), option="k").replace({"k": {"young": 0, "old": 1, "yes": 0, "no": 1}})
    frame.to_csv(tmp_path / "a.csv", index=False)
    names = pd.DataFrame({"row": [0, 1], "row_name": ["young", "old"], "col": [0, 1], "col_name": ["yes", "no"]})
    names.to_csv(tmp_path / "names.csv", index=False)
    suggest_problem([tmp_path / "a.csv", tmp_path / "names.csv"], tmp_path / "p.toml").write()
    text = (tmp_path / "p.toml").read_text()
    (tmp_path / "p.toml").write_text(text.replace('method = "auto"', 'method = "Goodman"'))
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    (tmp_path / "names.csv").unlink()
    assert predict_file(tmp_path / "r", tmp_path / "a.csv")["outcome"].unique().tolist() == ["yes", "no"]


def test_codes_beside_a_letter_are_levels_where_the_tables_have_them_as_texts(tmp_path):
    frame = pd.DataFrame({"code": ["1", "2", "N"] * 40, "sex": [1, 2] * 60, "ill": [0, 1, 1] * 40})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    write_tables_folder(aggregate(tmp_path / "rows.csv", ["code", "sex"], "ill"), tmp_path / "tables")
    lines = ['family = "maxent"', 'method = "NaiveBayesTables"', "[data]", 'file = "tables"', 'kind = "folder"']
    (tmp_path / "p.toml").write_text("\n".join(lines))
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    found = predict_file(tmp_path / "r", tmp_path / "rows.csv")["p(1)"].to_numpy()
    assert (found[1:3] > 0.9).all()
    assert found[0] < 0.1
