"""Several contests in one problem file."""

import pandas as pd
import pytest

from messages import raises
from study_cases import votes
from sumwise.cli.study.contests import fit_together, folder_names
from sumwise.cli.study.fitting import compare_folders, fit_problem, read_result, write_page
from sumwise.errors import DataError
from sumwise.io.checkpoint import CachedSteps
from sumwise.schema.problem import Problem
from sumwise.schema.reading.contests import contest_problems

TEXT = """
family = "ecological"
method = "Bounds"
sensitivity = false
[data]
file = "v.csv"
[columns]
unit = "precinct"
groups = ["young", "old"]
[[contest]]
name = "first / 1"
outcomes = ["yes", "no"]
[[contest]]
name = "first ? 1"
outcomes = ["no", "yes"]
"""


@pytest.fixture
def problem(tmp_path):
    votes(12).to_csv(tmp_path / "v.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT)
    return tmp_path / "p.toml"


def test_contests_are_fitted_in_turn_and_put_together(problem, tmp_path):
    result = fit_problem(problem, tmp_path / "r")
    assert result["contests"] == ["first / 1", "first ? 1"]
    kept = ["contests.csv", "contests.json", "estimates.csv", "estimates.parquet"]
    assert result["files"] == [*kept, "first_1", "first_1_2", "problem.toml", "report.html"]
    assert (tmp_path / "r" / "problem.toml").read_text() == TEXT
    both = pd.read_parquet(tmp_path / "r" / "estimates.parquet")
    assert both.groupby("contest")["outcome"].first().tolist() == ["yes", "no"]
    assert (tmp_path / "r" / "first_1" / "report.html").exists()
    assert "groups" in (tmp_path / "r" / "first_1" / "problem.toml").read_text()
    with raises(DataError, "result-already-add"):
        fit_problem(problem, tmp_path / "r")
    assert fit_problem(problem, tmp_path / "r", resume=True)["contests"] == result["contests"]
    problem.write_text(TEXT.replace("sensitivity = false", "sensitivity = false\nlevel = 0.5"))
    with raises(DataError, "result-already-add"):  # of another problem: neither kept nor overwritten
        fit_problem(problem, tmp_path / "r", resume=True)
    fit_problem(problem, tmp_path / "r", resume=True, restart=True, replace=True)
    assert "level = 0.5" in (tmp_path / "r" / "first_1" / "problem.toml").read_text()


def test_bad_entries_are_named():
    with raises(DataError, "no-did-you", "key", "outcome", "outcomes"):
        contest_problems(Problem.parse(TEXT.replace('outcomes = ["no"', 'outcome = ["no"')))
    with raises(DataError, "each-name-own"):
        contest_problems(Problem.parse(TEXT.replace("first ?", "first /")))
    with pytest.raises(DataError, match="contest is 3"):
        Problem.parse('family = "ecological"\ncontest = 3')


def test_folders_differ_on_every_system():
    assert folder_names(["A/B", "a b", "..", ""]) == {"A/B": "A_B", "a b": "a_b_2", "..": "contest", "": "contest_4"}


def test_folders_with_other_files_stay(problem, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "mine.txt").write_text("")
    with raises(DataError, "folder-contains-other"):
        fit_problem(problem, tmp_path / "r")


def test_a_folder_of_contests_is_no_single_result(problem, tmp_path):
    fit_problem(problem, tmp_path / "r")
    with raises(DataError, "several-contests-name", "first_1, first_1_2"):
        read_result(tmp_path / "r")


def test_contests_with_the_same_groups_are_fitted_together(tmp_path):
    frame = votes(24)
    frame["for"], frame["against"] = frame["yes"], frame["no"]
    frame.to_csv(tmp_path / "v.csv", index=False)
    text = TEXT.replace("Bounds", "EcologicalEM").replace('["no", "yes"]', '["for", "against"]')
    (tmp_path / "p.toml").write_text(text)
    problem = Problem.from_file(tmp_path / "p.toml")
    fits = fit_together(problem, contest_problems(problem), CachedSteps())
    assert list(fits) == ["first / 1", "first ? 1"]
    assert all(fit.pooling_ in ("alone", "pooled") for fit in fits.values())
    fit_problem(problem, tmp_path / "r")
    table = pd.read_csv(tmp_path / "r" / "contests.csv")
    assert table["contest"].tolist() == ["first / 1"] * 2 + ["first ? 1"] * 2
    assert table["units"].eq(24).all()
    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "All contests" in page
    assert "The report of each contest" in page
    apart = Problem.parse("pool = false\n" + text, tmp_path / "p.toml")
    assert fit_together(apart, contest_problems(apart), CachedSteps()) == {}
    other = Problem.parse(text.replace('outcomes = ["for"', 'groups = ["yes", "no"]\noutcomes = ["for"'), problem.path)
    assert fit_together(other, contest_problems(other), CachedSteps()) == {}


def test_the_problem_of_a_contest_is_toml_whatever_names_it_has():
    text = TEXT + '\n[names]\n"Black CVAP (2020)" = "Black \\"citizens\\""\nplain = "x"\n'
    for problem in contest_problems(Problem.parse(text)).values():
        assert Problem.parse(problem.text).values == problem.values


def test_pages_of_contests_are_made_again_alone_or_in_one_document(problem, tmp_path):
    fit_problem(problem, tmp_path / "r")
    pages = [tmp_path / "r" / "report.html", tmp_path / "r" / "first_1" / "report.html"]
    before = [page.read_text("utf-8") for page in pages]
    for page in pages:
        page.unlink()
    write_page(tmp_path / "r")
    again = [page.read_text("utf-8") for page in pages]
    assert again[0] == before[0]
    assert "Data and reproducibility" in again[0]
    assert "<h1>first / 1" in again[1]
    together = write_page(tmp_path / "r", tmp_path / "all.html").read_text("utf-8")
    assert together.count("<article") == 3
    for damaged, because in (("{", ""), ("{}", "summary.json has no title"), ("[]", "summary.json has no title")):
        (tmp_path / "r" / "first_1" / "summary.json").write_text(damaged)
        with raises(DataError, "result-damaged-fit", because):
            write_page(tmp_path / "r")
    (tmp_path / "r" / "first_1" / "summary.json").unlink()
    with raises(DataError, "contest-no-complete", "first / 1"):
        write_page(tmp_path / "r")


def test_comparisons_are_made_again(problem, tmp_path):
    fit_problem(problem, tmp_path / "r")
    compare_folders([tmp_path / "r" / "first_1", tmp_path / "r" / "first_1_2"], tmp_path / "c")
    before = (tmp_path / "c" / "report.html").read_text("utf-8")
    assert write_page(tmp_path / "c").read_text("utf-8") == before
