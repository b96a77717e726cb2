"""Files of a problem: trimmed, with missing values, joined by unit."""

from __future__ import annotations

import pandas as pd
import pytest

from messages import raises
from sumwise.cli.study import Problem
from sumwise.errors import DataError
from sumwise.io.formats.files import open_sheet
from sumwise.schema.opened import all_met, join, named_together, numbered_again, open_source

PLAIN = Problem.parse('family = "ecological"\n[data]\n')


def sheet(**columns):
    return open_sheet(pd.DataFrame(columns))


def test_text_is_trimmed_and_missing_words_are_missing(tmp_path):
    (tmp_path / "a.csv").write_text("1, x ,N\n2, ?,y\n")
    p = Problem.parse('family = "x"\n[data]\nheader = false\nmissing = ["?", "N"]')
    frame = open_source(p, tmp_path / "a.csv").frame
    assert frame.columns.tolist() == ["c1", "c2", "c3"]
    assert frame["c2"].iloc[0] == "x"
    assert frame.isna().to_numpy().tolist() == [[False, False, True], [False, True, False]]


def test_missing_column_points_at_the_problem_line(tmp_path):
    (tmp_path / "a.csv").write_text("white,black\n1,2\n")
    p = Problem.parse('family = "x"\n[data]\nfile = "a.csv"\n[columns]\ngroups = ["whte"]')
    with raises(DataError, "no-did-you", "column", "whte", "white"):
        open_source(p, tmp_path / "a.csv", ["whte"])


def test_join_follows_the_ids_not_the_order():
    joined = join(PLAIN, sheet(u=["a", "b"], x=[1, 2]), sheet(v=["b", "a"], x=[3, 4]), "u", "v")
    assert joined.frame.to_dict("list") == {"u": ["a", "b"], "x": [1, 2], "x (2)": [4, 3]}


def test_units_that_do_not_match_are_listed_five_a_side():
    one, two = sheet(u=[f"a{i}" for i in range(7)] + ["z"], x=range(8)), sheet(u=["z", "b"], y=[1, 2])
    with pytest.raises(DataError) as caught:
        join(PLAIN, one, two, "u")
    told = str(caught.value)
    assert told.startswith(
        "problem, line 2: The units of the two files don't match: "
        "7 only in the frame ('a0', 'a1', 'a2', 'a3', 'a4', ...)"
    )
    assert "1 only in the frame ('b')" in told
    assert 'unmatched = "drop"' in told


def test_unmatched_units_are_dropped_where_the_problem_says_so():
    p = Problem.parse('family = "x"\n[data]\nunmatched = "drop"')
    joined = join(p, sheet(u=["a", "z"], x=[1, 2]), sheet(u=["z", "b"], y=[3, 4]), "u")
    assert joined.frame.to_dict("list") == {"u": ["z"], "x": [2], "y": [3]}
    with raises(DataError, "no-common-write", "unit"):
        join(p, sheet(u=["a"], x=[1]), sheet(u=["b"], y=[1]), "u")


def test_join_refuses_a_unit_twice():
    with raises(DataError, "rows-first-each-row", "a"):
        join(PLAIN, sheet(u=["a", "a"], x=[1, 2]), sheet(u=["a"], y=[1]), "u")


def test_units_named_by_two_columns():
    both, name = named_together(sheet(c=["A", "B"], p=["1", "1"]), ["c", "p"])
    assert both.frame[name].tolist() == ["A / 1", "B / 1"]


def test_ragged_rows_are_dropped_only_when_asked_and_told(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3\n4,5\n6,7,8\n")
    with raises(DataError, "rows-too-few", 3, 1):
        open_source(PLAIN, tmp_path / "a.csv")
    p = Problem.parse('family = "x"\n[data]\nragged = "drop"')
    found = open_source(p, tmp_path / "a.csv")
    assert found.frame.to_numpy().tolist() == [[1, 2], [4, 5]]
    assert found.row(1) == "row 4"
    assert p.remarks[0].startswith("2 of 4 rows of a.csv are left out")


def test_only_some_rows_are_used():
    p = Problem.parse('family = "x"\n[data]\nonly = {state = "Ohio", year = 2020}')
    rows = pd.DataFrame({"state": ["Ohio", "Ohio", "Utah"], "year": [2020, 2016, 2020], "v": [1, 2, 3]})
    assert open_source(p, rows).frame["v"].tolist() == [1]
    with raises(DataError, "check-values"):
        open_source(p, rows.tail(2))


@pytest.mark.parametrize(
    ("only", "left"),
    [
        ('{state = ["Ohio", "Utah"]}', [1, 2, 4]),
        ('{state = ["Ohio", "Utah"], year = [2016, 2020]}', [1, 2]),
        ('{state = ["Utah", ""]}', [4, 5]),  # an empty text is a missing entry
        ('{state = ["Ohio", "nowhere"]}', [1, 2]),
    ],
)
def test_rows_with_one_of_several_values_are_used(only, left):
    p = Problem.parse(f'family = "x"\n[data]\nonly = {only}')
    rows = pd.DataFrame(
        {
            "state": ["Ohio", "Ohio", "Iowa", "Utah", None],
            "year": [2020, 2016, 2020, 2012, 2012],
            "v": [1, 2, 3, 4, 5],
        }
    )
    assert open_source(p, rows).frame["v"].tolist() == left


@pytest.mark.parametrize("only", ["{state = []}", '{state = ["nowhere"]}'])
def test_values_that_no_row_has_are_refused(only):
    p = Problem.parse(f'family = "x"\n[data]\nonly = {only}')
    with raises(DataError, "check-values"):
        open_source(p, pd.DataFrame({"state": ["Ohio", "Utah"], "v": [1, 2]}))


def test_a_list_of_columns_that_no_file_has_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("state,v\nOhio,1\nUtah,2\n")
    p = Problem.parse('family = "x"\n[data]\nfile = "a.csv"\nonly = {stat = ["Ohio", "Utah"]}', tmp_path / "p.toml")
    with raises(DataError, "no-did-you", "column", "stat", "state"):
        open_source(p, p.file())


def test_rows_by_a_column_that_the_only_file_lacks_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("state,v\nOhio,1\nUtah,2\n")
    p = Problem.parse('family = "x"\n[data]\nfile = "a.csv"\nonly = {stat = "Ohio"}', tmp_path / "p.toml")
    with raises(DataError, "no-did-you", "column", "stat", "state"):
        open_source(p, p.file())


def test_rows_by_a_column_that_no_file_has_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("area,x\nn,1\nn,2\ns,3\ns,4\n")
    (tmp_path / "b.csv").write_text("area,yes,no,state\nn,1,1,Ohio\ns,1,1,Ohio\n")
    text = 'family = "x"\n[data]\nfile = "a.csv"\ncounts_file = "b.csv"\nonly = {state = "Ohio"}'
    for line, met in ((text, True), (text.replace("state =", "stat ="), False)):
        p = Problem.parse(line, tmp_path / "p.toml")
        open_source(p, p.file())
        open_source(p, p.file("counts_file"), ["yes", "no"])
        if met:
            all_met(p)
            continue
        with raises(DataError, "no-did-you", "column", "stat", "state"):
            all_met(p)


def test_rows_are_told_by_columns_that_are_not_loaded(tmp_path):
    (tmp_path / "a.csv").write_text("state,v\nOhio,1\nUtah,2\n")
    p = Problem.parse('family = "x"\n[data]\ncounts_file = "a.csv"\nonly = {state = "Utah"}', tmp_path / "p.toml")
    assert open_source(p, p.file("counts_file"), ["v"]).frame["v"].tolist() == [2]


def test_another_file_is_opened_where_the_problems_own_is_gone(tmp_path):
    (tmp_path / "b.csv").write_text("v\n1\n2\n")
    p = Problem.parse('family = "x"\n[data]\nfile = "a.csv"\nonly = {state = "Ohio"}', tmp_path / "p.toml")
    assert open_source(p, tmp_path / "b.csv").frame["v"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("without", "left"),
    [
        ('{unit = "TOTAL"}', ["a", "b", None]),
        ('{unit = ["TOTAL", "a"]}', ["b", None]),
        ('{unit = ""}', ["a", "b", "TOTAL"]),
        ('[{unit = "a", n = 1}, {unit = "b", n = 7}]', ["b", None, "TOTAL"]),
    ],
)
def test_rows_are_left_out_by_their_values_and_named(without, left):
    problem = Problem.parse(f'family = "ecological"\n[data]\nwithout = {without}')
    frame = pd.DataFrame({"unit": ["a", "b", None, "TOTAL"], "n": [1, 2, 3, 6]})
    sheet = open_source(problem, frame)
    assert [None if pd.isna(x) else x for x in sheet.frame["unit"]] == left
    assert "left out, as the problem file asks: row" in problem.remarks[0]


def test_rows_to_leave_out_are_checked(tmp_path):
    frame = pd.DataFrame({"unit": ["a", "a"], "n": [1, 2]})
    with raises(DataError, "without-leaves-no"):
        open_source(Problem.parse('family = "ecological"\n[data]\nwithout = {unit = "a"}'), frame)
    with raises(DataError, "columns-values-precinct"):
        open_source(Problem.parse('family = "ecological"\n[data]\nwithout = 3'), frame)
    problem = Problem.parse('family = "ecological"\n[data]\nwithout = {unt = "a"}')
    open_source(problem, frame)
    with raises(DataError, "no-did-you", "column", "unt", "unit"):
        all_met(problem)
    frame.to_csv(tmp_path / "v.csv", index=False)
    problem = Problem.parse(
        'family = "ecological"\n[data]\nfile = "v.csv"\nwithout = {unit = "z"}', tmp_path / "p.toml"
    )
    assert len(open_source(problem, tmp_path / "v.csv")) == 2
    assert "No row of" in problem.remarks[0]


def test_names_that_repeat_get_numbers():
    sheet = open_sheet(pd.DataFrame({"u": ["A", "B", "A", "A (2)", "A"]}))
    assert numbered_again(sheet, "u").frame["u"].tolist() == ["A", "B", "A (2)'", "A (2)", "A (3)"]


def test_a_file_that_changed_is_opened_again(tmp_path):
    problem = Problem.parse('family = "ecological"')
    for rows in (2, 3):
        pd.DataFrame({"a": range(rows)}).to_csv(tmp_path / "a.csv", index=False)
        assert len(open_source(problem, tmp_path / "a.csv")) == rows


def test_rows_of_texts_as_written_are_those_of_trimmed_ones():
    """A file with blanks before its texts is asked for trimmed values; predictions join both readings by row."""
    p = Problem.parse('family = "maxent"\n[data]\nonly = {state = "Ohio"}\nwithout = {kind = "total"}\n')
    frame = pd.DataFrame({"state": [" Ohio", "Iowa", " Ohio"], "kind": [" total", "x", "x"], "a": [" u", " v", " w"]})
    assert open_source(p, frame).frame["a"].tolist() == ["w"]
    assert open_source(p, frame, trimmed=False).frame["a"].tolist() == [" w"]
