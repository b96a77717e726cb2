"""A look at a file: header or not, numbers or not, what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.study.profile_file import profile_file


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
