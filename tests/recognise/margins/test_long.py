"""Long files: columns by any name, several contests, options without a row."""

import pandas as pd
import pytest

import public_data
import study_cases
from study_cases import votes
from sumwise.recognise.initialise import suggest_problem
from sumwise.recognise.margins.long import guess_long
from sumwise.recognise.profile_file import profile_file
from sumwise.study.contests import contest_problems
from sumwise.study.families import study_of
from sumwise.study.problem import Problem


def long_votes(n=12, **names):
    return study_cases.long_votes(votes(n), **names)


def guessed(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return guess_long(profile_file(tmp_path / "a.csv"))


def test_columns_may_have_other_names(tmp_path):
    frame = long_votes(unit="precinct", side="margin", option="category", votes="count")
    found = guessed(tmp_path, frame.replace({"row": "outcome side", "col": "group"}))
    assert found.columns["unit"] == "precinct"
    assert (found.columns["row"], found.columns["col"]) == ("group", "outcome side")
    assert guessed(tmp_path, frame.assign(margin="row")) is None


def test_contests_become_entries_and_fit_reads_each(tmp_path):
    frame = pd.concat([long_votes().assign(race="A"), long_votes(9).assign(race="B")])
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    assert [c["only"] for c in found.guess.contests] == [{"race": "A"}, {"race": "B"}]
    assert [r["units"] for r in found.read] == [12, 9]


def test_options_without_a_row_are_zeros_in_the_open(tmp_path):
    found = guessed(tmp_path, long_votes().drop(index=[3]))
    assert found.data["absent"] == "zero"
    assert "no row in some units" in found.ask[0]


def test_options_that_are_numbers_keep_their_side(tmp_path):
    frame = long_votes(option="k").replace({"k": {"young": 0, "old": 1, "yes": 0, "no": 1}})
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    assert list(found.read[0]["groups"]) == ["row 0", "row 1"]
    assert list(found.read[0]["outcomes"]) == ["col 0", "col 1"]


def test_names_of_options_come_from_a_second_file(tmp_path):
    frame = long_votes(option="k").replace({"k": {"young": 0, "old": 1, "yes": 0, "no": 1}})
    frame.to_csv(tmp_path / "a.csv", index=False)
    names = [(0, "young", 0, "yes"), (1, "old", 1, "no")]
    pd.DataFrame(names, columns=["row", "row_name", "col", "col_name"]).to_csv(tmp_path / "names.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv", tmp_path / "names.csv"], tmp_path / "p.toml")
    assert found.guess.data["names_file"] == "names.csv"
    assert list(found.read[0]["groups"]) == ["young", "old"]


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_raw_results_of_new_zealand_can_be_fitted(tmp_path):
    raw = pd.read_csv(public_data.folder() / "ei" / "nz_sco_raw_units.csv.gz", nrows=6000)
    raw = raw[raw["district"].isin(raw["district"].unique()[:2])]
    raw.to_csv(tmp_path / "nz.csv", index=False)
    found = suggest_problem([tmp_path / "nz.csv"], tmp_path / "p.toml")
    assert len(found.guess.contests) == 2
    found.write()
    for one in contest_problems(Problem.from_file(tmp_path / "p.toml")).values():
        study = study_of(one)
        study.read()
        assert study.margins.row_names[10] == "row 10"
