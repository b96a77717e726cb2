"""A look at a file: header or not, numbers or not, what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sumwise.cli import main
from sumwise.errors import DataError
from sumwise.recognise.profile_file import not_features, profile_file

N = 400


def look(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return profile_file(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n", False),
        ("39, State-gov, <=50K\n50, Private, >50K\n", False),
        ("name,city\nAnn,Bern\nBob,Rome\n", True),
        ("x,y\nx,z\ny,z\nx,y\n", False),
        ("2008,2012\n3,4\nx,5\n", False),
        ("a,b\n", True),
        ("n,share\n?,12%\n7,15%\n", True),
    ],
)
def test_header_is_told_from_data(tmp_path, text, header):
    (tmp_path / "a.csv").write_text(text)
    if text.count("\n") == 1:
        with pytest.raises(DataError, match="no rows"):
            profile_file(tmp_path / "a.csv")
        return
    assert profile_file(tmp_path / "a.csv").header is header


def test_the_index_of_a_pandas_frame_is_no_column_unless_it_has_names(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [3, 2, 1]})
    for name, index in (("numbers", [0, 2, 5]), ("names", ["North", "South", "East"])):
        frame.set_axis(index).to_parquet(tmp_path / f"{name}.parquet")
    numbers, names = (profile_file(tmp_path / f"{n}.parquet") for n in ("numbers", "names"))
    assert [c.name for c in numbers.columns] == ["a", "b"]
    assert [c.name for c in names.columns] == ["a", "b", "__index_level_0__"]


def test_columns_are_read_as_people_wrote_them(tmp_path):
    found = look(tmp_path, 'id,votes,share,kind,gap\n001,"1,200",12%,a,N\n002,7,50%,b,3\n')
    assert found["id"].numbers is None  # a code, not a number
    assert found["votes"].numbers.tolist() == [1200, 7]
    assert found["share"].numbers.tolist() == [0.12, 0.5]
    assert found["share"].shares
    assert found["kind"].distinct == 2
    assert np.isnan(found["gap"].numbers[0])
    assert found["gap"].blanks == ("N",)
    assert found["gap"].missing == 1
    assert found["kind"].codes.tolist() == [0, 1]


def test_no_file_is_told(tmp_path):
    with pytest.raises(DataError, match="no file"):
        profile_file(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("votes", "decimal", "read"),
    [
        (["1.234", "879"], ",", [1234, 879]),
        (["1.234.567,5", "2"], ",", [1234567.5, 2]),
        (["1.234", "0.5"], None, [1.234, 0.5]),
        (["12,5", "3"], None, [12.5, 3]),
    ],
)
def test_points_separate_thousands_where_all_of_them_could(tmp_path, votes, decimal, read):
    found = look(tmp_path, f"id;votes\na;{votes[0]}\nb;{votes[1]}\n")
    assert found.decimal == decimal
    assert found.opening()[0].get("decimal") == decimal
    assert found["votes"].numbers.tolist() == read


def test_files_in_which_many_rows_have_other_fields_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match="every row has 3 fields, and the header names 2"):
        profile_file(path)
    path.write_text("a,b\n1,2,3\n4,5\n4,5,6,7\n")
    with pytest.raises(DataError, match="2 of 3 rows have too few or too many fields"):
        profile_file(path)


def test_encoding_and_separator_are_kept_for_the_problem_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("участок~n\nA~1\nB~2\n".encode("cp1251"))
    found = profile_file(path, encoding="cp1251", separator="~")
    assert found.opening()[0] == {"file": str(path), "encoding": "cp1251", "separator": "~"}
    assert [c.name for c in found.columns] == ["участок", "n"]


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person_id": [f"P{i:05d}" for i in rng.permutation(N)],
            "case": rng.permutation(N) + 7,
            "phone": rng.permutation(N) * 13 + 10**8,
            "age": rng.integers(18, 90, N),
            "income": rng.permutation(N) * 97 + 2000,  # whole, and no two alike: a measurement all the same
            "weight_kg": np.round(rng.normal(70, 9, N), 1),
            "change_in_weight": rng.normal(0, 1, N),
            "finalweight": np.round(rng.gamma(4, 30, N), 2),
            "ill": rng.integers(0, 2, N),
        }
    )


@pytest.fixture
def file(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    return "people.csv"


def test_identifiers_and_weights_are_known_from_measurements(file):
    found = not_features(profile_file(file), {"ill"})
    assert list(found) == ["person_id", "case", "phone", "finalweight"]
    assert found["case"] == "an identifier: no two rows have the same"


def test_nearly_unique_names_are_identifiers(people, tmp_path):
    people.loc[:9, "person_id"] = "P00000"
    people.to_csv(tmp_path / "a.csv", index=False)
    assert not_features(profile_file(tmp_path / "a.csv"), set())["person_id"].startswith("an identifier: 390 values")


def test_a_file_of_nothing_else_keeps_its_columns(tmp_path):
    pd.DataFrame({"id": range(50), "bag": np.arange(50) % 5}).to_csv(tmp_path / "a.csv", index=False)
    assert not_features(profile_file(tmp_path / "a.csv"), {"bag"}) == {}


def test_init_says_what_it_leaves_out_of_tables(file, capsys):
    assert main(["init", file, "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "not used: person_id: an identifier: no two rows have the same" in shown
    assert "not used: finalweight: looks like the weight of a survey" in shown
    assert 'attributes = ["age", "income", "weight_kg", "change_in_weight"]' in Path("problem.toml").read_text()


def test_init_says_what_it_leaves_out_of_bags(people, file, capsys):
    people.assign(bag=np.arange(N) % 40).to_csv("bags.csv", index=False)
    assert main(["init", "bags.csv", "--family", "proportions", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "not used: person_id: an identifier" in shown
    text = Path("problem.toml").read_text()
    assert 'features = ["age", "income", "weight_kg", "change_in_weight"]' in text
    assert 'weight = "finalweight" would use that weight' in text
