"""Refusals name the nearest form and what is missing for it."""

from __future__ import annotations

import pandas as pd
import pytest

from study_cases import flocks, people, votes
from sumwise.errors import DataError
from sumwise.recognise import recognise
from sumwise.recognise.profile_file import profile_file


def refusal(tmp_path, *frames, family=None):
    profiles = []
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
        profiles.append(profile_file(tmp_path / f"{k}.csv"))
    with pytest.raises(DataError) as caught:
        recognise(profiles, family)
    return str(caught.value)


def numbered(n):
    return pd.DataFrame({"a": range(n), "b": range(n)})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (
            votes(9)[["precinct", "young", "old"]],
            "margins: 'young', 'old' may be the groups; missing: columns that coun",
        ),
        (
            flocks()[["week", "birds"]],
            "counts over time: 'week' may be the time, 'birds' the count; missing: a column of",
        ),
        (people(9, 9)[["area", "age"]], "individuals in bags: 'area' may be the bag; missing: a label or a response"),
        (people(1, 200)[["age", "sex"]].assign(income="low"), "individuals with a label: .*'income' has one value"),
        (numbered(3), "missing: "),
        (numbered(300), "missing: "),
    ],
)
def test_the_nearest_form_and_what_it_lacks_are_named(tmp_path, frame, words):
    assert pd.Series([refusal(tmp_path, frame)]).str.contains(words).all()


def test_two_files_without_a_common_column_say_so(tmp_path):
    assert "no column is called alike in both" in refusal(tmp_path, flocks()[["week", "birds"]], votes(9)[["young"]])
    other = pd.DataFrame({"precinct": ["x", "y"], "remark": ["a", "b"]})
    assert "'precinct' is in both, with other values" in refusal(tmp_path, votes(9)[["precinct", "young"]], other)


def test_a_family_that_was_asked_for_is_the_one_that_is_named(tmp_path):
    assert "The nearest form is counts over time: " in refusal(tmp_path, votes(9), family="collective")


def test_a_single_row_is_the_reason_and_no_other(tmp_path):
    path = tmp_path / "one.csv"
    votes().head(1).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"^'one.csv' has one row of data\.") as refused:
        recognise([profile_file(path)])
    assert "reads like" not in str(refused.value)
