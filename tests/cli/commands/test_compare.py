"""The command compare."""

import json

from study_cases import ecological, votes
from sumwise.cli import main
from sumwise.cli.study.fitting import fit_problem


def test_two_results_are_compared_on_a_page_and_in_a_table(tmp_path, capsys):
    for name, n in (("one", 40), ("two", 36)):
        (tmp_path / name).mkdir()
        fit_problem(ecological(tmp_path / name, votes(n)), tmp_path / f"r-{name}")
    arguments = ["compare", str(tmp_path / "r-one"), str(tmp_path / "r-two"), "--out", str(tmp_path / "c")]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "r-one and r-two" in said
    assert "4 estimates are in both results" in said
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["comparison.csv", "report.html", "summary.json"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("r-one and r-two compared (")


def test_a_folder_that_holds_other_files_is_left_alone(tmp_path, capsys):
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "There is no result in" in capsys.readouterr().err
