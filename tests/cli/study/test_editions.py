"""The court edition of a result folder, with its exports."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from messages import raises, warns
from study_cases import votes
from sumwise.cli import app
from sumwise.cli.study.editions import has_case, write_edition
from sumwise.cli.study.fitting import fit_problem
from sumwise.errors import DataError

TEXT = """
family = "ecological"
method = "Bounds"
sensitivity = false
[data]
file = "v.csv"
[columns]
unit = "precinct"
groups = ["young", "old"]
outcomes = ["yes", "no"]
[names]
young = "Voters under 40"
[court]
case = "Doe v. Roe"
"""


def test_edition_has_the_case_the_names_and_the_exports(tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("docx")
    votes(12).to_csv(tmp_path / "v.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT.replace("Bounds", "EcologicalEM"))  # which has a training curve
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    assert has_case(tmp_path / "r")
    names = [path.name for path in write_edition(tmp_path / "r")]
    assert names[:4] == ["court.html", "tables.tex", "tables.xlsx", "tables.docx"]
    assert {name.rpartition(".")[2] for name in names[4:]} == {"svg", "pdf"}
    assert not any("training" in name for name in names)
    page = (tmp_path / "r" / "court.html").read_text("utf-8")
    assert "Doe v. Roe" in page
    assert "Voters under 40" in page
    assert "SHA-256" in page
    with raises(DataError, "is-takes", "edition"):
        write_edition(tmp_path / "r", "gilded")


def test_files_that_need_an_extra_are_missed_aloud(tmp_path, monkeypatch):
    votes(12).to_csv(tmp_path / "v.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT)
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setitem(sys.modules, "docx", None)
    with warns(UserWarning, "needs-package-isnt") as said:
        names = [path.name for path in write_edition(tmp_path / "r")]
    assert len(said) == 2
    assert "tables.tex" in names
    assert not {"tables.xlsx", "tables.docx"} & set(names)


def test_fit_writes_the_edition_into_a_relative_folder(tmp_path, monkeypatch):
    votes(12).to_csv(tmp_path / "v.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app.build(), ["fit", "p.toml", "--out", "r", "--json"], catch_exceptions=False)
    assert {"court.html", "figures"} <= set(json.loads(done.stdout)["files"])


def test_names_and_cover_are_checked(tmp_path):
    votes(12).to_csv(tmp_path / "v.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT.replace("young =", "yung ="))
    with raises(DataError, "names-not-column", "yung"):
        fit_problem(tmp_path / "p.toml", tmp_path / "r")
    (tmp_path / "p.toml").write_text(TEXT.replace("Voters under 40", "old"))
    with raises(DataError, "each-name-own"):
        fit_problem(tmp_path / "p.toml", tmp_path / "r")
    (tmp_path / "p.toml").write_text(TEXT.replace("case =", "cas ="))
    with raises(DataError, "no-did-you", "case"):
        fit_problem(tmp_path / "p.toml", tmp_path / "r")
