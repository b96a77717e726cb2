"""The command report."""

from __future__ import annotations

import json

from study_cases import ecological
from sumwise.cli import main
from sumwise.cli.study.fitting import fit_problem


def test_report_makes_the_page_again(tmp_path, capsys):
    fit_problem(ecological(tmp_path), tmp_path / "r")
    first = (tmp_path / "r" / "report.html").read_text("utf-8")
    (tmp_path / "r" / "report.html").unlink()
    assert main(["report", str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out == f"The report: {tmp_path / 'r' / 'report.html'}\n"
    assert main(["report", str(tmp_path / "r"), "--out", str(tmp_path / "x.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "x.html").stat().st_size
    assert (tmp_path / "r" / "report.html").read_text("utf-8") == first
    link = '<a href="estimates.csv">'
    assert link in first
    assert link not in (tmp_path / "x.html").read_text("utf-8")  # the file is not beside that page
