"""Margins in the shapes that people keep them in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import public_data
from study_cases import votes
from sumwise.study.profile_file import profile_file
from sumwise.study.recognise.margins import guess


def guessed(tmp_path, *frames):
    profiles = []
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
        profiles.append(profile_file(tmp_path / f"{k}.csv"))
    return guess(profiles)


def test_counts_with_total_cells_and_a_unit_of_two_columns(tmp_path):
    frame = votes(30)
    frame = frame.assign(
        total=frame["young"] + frame["old"], county=["A", "B"] * 15, precinct=np.repeat(np.arange(15), 2)
    )
    frame = frame.assign(yy=frame["young"] - 1, yo=frame["old"], one=1)  # parts that add up to the total too
    found = guessed(tmp_path, frame[["county", "precinct", "total", "young", "old", "yes", "no", "yy", "yo", "one"]])
    assert found.columns == {
        "unit": ["county", "precinct"],
        "groups": ["young", "old"],
        "outcomes": ["yes", "no"],
        "total": "total",
    }


def test_sides_are_known_by_their_names(tmp_path):
    frame = votes(20)[["precinct", "yes", "no", "young", "old"]]
    assert guessed(tmp_path, frame).columns["groups"] == ["young", "old"]


def test_sides_that_differ_are_rescaled_in_the_open(tmp_path):
    frame = votes(20).assign(white=lambda f: f["young"] + 3, black=lambda f: f["old"]).drop(columns=["young", "old"])
    found = guessed(tmp_path, frame)
    assert found.data["mismatch"] == "no_vote"  # more people than votes everywhere
    assert "fewer votes" in found.ask[0]
    found = guessed(tmp_path, frame.assign(white=frame["white"] + np.tile([0, -6], 10)))
    assert found.data["mismatch"] == "rescale"
    assert "apart" in found.ask[0]


def test_shares_with_and_without_totals(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(20).round(3), "t": rng.random(20).round(3), "n": rng.integers(50, 90, 20)})
    found = guessed(tmp_path, frame)
    assert found.columns["total"] == "n"
    assert (found.columns["rest_group"], found.columns["rest_outcome"]) == ("all others", "none of these")
    assert guessed(tmp_path, frame.drop(columns="n")).columns["total"] == 1000


def test_two_files_with_the_same_units(tmp_path):
    frame = votes(20)
    found = guessed(tmp_path, frame[["precinct", "yes", "no"]], frame[["precinct", "young", "old"]])
    assert found.data == {"groups_file": str(tmp_path / "1.csv"), "outcomes_file": str(tmp_path / "0.csv")}
    assert found.columns["outcomes"] == ["yes", "no"]


def test_long_files(tmp_path):
    frame = pd.DataFrame({"unit": ["a", "a"], "side": ["row", "col"], "option": ["x", "y"], "votes": [3, 3]})
    assert guessed(tmp_path, frame).columns["row"] == "row"


def test_people_are_no_margins(tmp_path):
    frame = pd.DataFrame({"age": [31, 40, 50], "job": ["a", "b", "c"], "pay": [0.2, 5.0, 3.0]})
    assert guessed(tmp_path, frame) is None


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
@pytest.mark.parametrize(
    ("name", "groups", "outcomes"),
    [
        ("senc", ["white", "black", "natam"], ["dem", "rep", "non"]),
        ("king_RxCdata_notruth", ["white", "black", "hisp"], ["turnout", "noturnout"]),
        ("rxcecolinf_stlouis_notruth", ["bvap", "ovap"], ["Bosley", "Roberts", "Ribaudo", "Villa", "NoVote"]),
        ("king_matproii_registration_truth", ["x"], ["t"]),
        ("pyei_waterbury_notruth", ["White.Pct", "Black.Pct", "Hispanic.Pct"], ["Tom.Foley", "Dan.Malloy"]),
    ],
)
def test_public_files_are_recognised(name, groups, outcomes):
    found = guess([profile_file(public_data.folder() / "ei" / f"{name}.csv")])
    assert found.columns["groups"] == groups
    assert found.columns["outcomes"] == outcomes


def test_a_unit_that_repeats_is_named(tmp_path):
    frame = votes(20)
    found = guessed(tmp_path, frame.assign(precinct=[f"P{i // 2}" for i in range(20)]))
    assert "unit" not in found.columns
    assert found.ask[-1].startswith("precinct has 10 values in 20 rows")
