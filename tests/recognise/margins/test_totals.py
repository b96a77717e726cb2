"""Totals of units, a rest besides the named columns, and sides that differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import votes
from sumwise.errors import DataError
from sumwise.recognise.initialise import suggest_problem
from wide_cases import guessed, suggested


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
    refusal = guessed(tmp_path, frame.drop(columns="n")).refusal
    assert "are shares, and no column says of how many people" in str(refusal)
    assert "--total 1000" in str(refusal)


def test_percents_without_their_sign_and_with_a_rest(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": 100 * rng.random(20).round(3), "t": 100 * rng.random(20).round(3), "n": 50 + np.arange(20)}
    )
    found = suggested(tmp_path, frame)
    assert (found.guess.columns["groups_in"], found.guess.columns["outcomes_in"]) == ("percent", "percent")
    assert np.isclose(found.read[0]["groups"]["x"], (frame["x"] * frame["n"]).sum() / 100)


def test_shares_without_any_total_are_refused_beside_counts(tmp_path):
    frame = votes(20)
    whole = frame["young"] + frame["old"]
    frame = frame.assign(yes=(frame["yes"] / whole).round(3), no=(frame["no"] / whole).round(3))
    with pytest.raises(DataError, match=r"the outcomes \(yes, no\) are shares, and no column says of how many people"):
        suggested(tmp_path, frame)


def test_a_total_is_no_outcome_though_sums_are_equal(tmp_path):
    frame = votes(30).rename(columns={"young": "white", "old": "black"})
    total = frame["white"] + frame["black"]
    frame = frame.assign(white=2 * frame["white"], black=2 * frame["black"], total=total, novote=0)
    frame = frame.assign(novote=frame["no"] // 2, no=frame["no"] - frame["no"] // 2)
    with pytest.raises(DataError, match="rows sum to 2 times the total|don't sum to the total"):
        suggested(tmp_path, frame[["precinct", "white", "black", "total", "yes", "no", "novote"]])


def test_columns_that_a_rest_may_swallow_are_named(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(5, 60, (30, 3, 3))
    white, black, _ = cells.sum(axis=2).T
    dem, rep, _ = cells.sum(axis=1).T
    frame = pd.DataFrame({"precinct": [f"P{k}" for k in range(30)], "total": cells.sum(axis=(1, 2))})
    frame = frame.assign(white=white, black=black, dem=dem, rep=rep, spoilt=rng.integers(1, 9, 30) / 2)
    found = guessed(tmp_path, frame)
    assert (found.columns["rest_group"], found.columns["rest_outcome"]) == ("all others", "none of these")
    line = next(line for line in found.ask if line.startswith("spoilt are not used; if they belong to a side"))
    assert line.endswith("they are part of 'all others' or 'none of these' now.")
    assert not any("are part of" in line for line in guessed(tmp_path, frame.drop(columns="spoilt")).ask)


def test_percentages_of_voters_are_no_part_of_everybody(tmp_path):
    frame, rng = votes(30), np.random.default_rng(0)
    size = frame["young"] + frame["old"]
    shares = pd.DataFrame({"% young": 100 * frame["young"] / size, "% old": 100 * frame["old"] / size})
    among = rng.uniform(30, 60, 30)
    shares = shares.assign(Registered=size, turnout_pct=rng.uniform(40, 70, 30), smith_pct=among, jones_pct=100 - among)
    found = guessed(tmp_path, shares.round(2))
    assert any("smith_pct, jones_pct add up to 100%" in line for line in found.ask)


def test_percentages_of_voters_beside_a_turnout_in_percent_are_refused(tmp_path):
    frame = votes(20)
    total = frame["young"] + frame["old"]
    shares = {f"pct_{name}": (100 * frame[name] / total).round(1) for name in ("young", "old", "yes", "no")}
    frame = frame[["precinct"]].assign(registered=total, turnout_pct=np.linspace(40, 70, 20).round(1), **shares)
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match="by turnout_pct 55% of registered voted in the median unit"):
        suggest_problem([path], tmp_path / "p.toml")
    found = suggest_problem([path], tmp_path / "p.toml", total="registered")
    assert found.guess.columns["total"] == "registered"
