"""The command fit: what it says, as text and as JSON, and its exit codes."""

from __future__ import annotations

import json

from study_cases import ecological
from sumwise.cli import main
from sumwise.cli.study.families.ecological import Ecological


def test_fit_says_what_was_found_and_where_to_look(tmp_path, capsys):
    path = ecological(tmp_path)
    assert main(["fit", str(path), "--out", str(tmp_path / "r")]) == 0
    told = capsys.readouterr()
    assert "of young people chose no (95% interval" in told.out
    assert "These intervals allow for chance if the model of Goodman is right, and for nothing else; so do probabilities." in told.out
    assert "95% intervals of Goodman covered" in told.out
    assert f"The report: {tmp_path / 'r' / 'report.html'}" in told.out
    assert "fit Goodman" in told.err


def test_fit_speaks_json_and_refuses_a_second_result(tmp_path, capsys):
    path = ecological(tmp_path)
    arguments = ["fit", str(path), "--out", str(tmp_path / "r")]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["family"] == "ecological"
    assert "report.html" in told["files"]
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith("already. Hint: add --replace, or name another folder by --out.\n")
    assert main([*arguments, "--replace"]) == 0


def test_ctrl_c_keeps_what_is_done(tmp_path, capsys, monkeypatch):
    path = ecological(tmp_path)

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ecological, "report", interrupt)
        assert main(["fit", str(path), "--out", str(tmp_path / "r")]) == 130
    assert "--resume goes on" in capsys.readouterr().err
    assert main(["fit", str(path), "--out", str(tmp_path / "r"), "--resume"]) == 0
    assert "fit Goodman: done before" in capsys.readouterr().err


def test_errors_are_one_line_with_the_problem_line(tmp_path, capsys):
    path = ecological(tmp_path)
    path.write_text(path.read_text().replace('"young"', '"yong"'))
    assert main(["fit", str(path), "--out", str(tmp_path / "r")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("problem.toml, line 8: ")
    assert told.endswith("There is no column 'yong'. Hint: did you mean 'young'?\n")
    assert told.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_quiet_writes_the_report_alone(tmp_path, capsys):
    assert main(["fit", str(ecological(tmp_path)), "--out", str(tmp_path / "r"), "--quiet"]) == 0
    told = capsys.readouterr()
    assert told.out.strip() == str(tmp_path / "r" / "report.html")
    assert told.err == ""
