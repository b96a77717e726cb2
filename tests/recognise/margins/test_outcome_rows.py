"""Groups of units in one file; votes by unit, office, candidate and way of voting in another."""

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError
from sumwise.recognise.initialise import suggest_problem
from sumwise.study.fitting import fit_problem

SHARES = {"Senate": {"SMITH": (0.2, 0.9), "JONES": (0.8, 0.1)}, "Sheriff": {"GARCIA": (0.3, 0.8), "LEE": (0.7, 0.2)}}


def people(n=24):
    rng = np.random.default_rng(0)
    names = [f"P{i:02d}" for i in range(n)]
    return pd.DataFrame({"precinct": names, "white": rng.integers(50, 900, n), "black": rng.integers(50, 900, n)})


def results(groups, modes=("day", "mail")):
    lines = []
    for office, candidates in SHARES.items():
        for name, (of_white, of_black) in candidates.items():
            cast = (0.6 * (groups["white"] * of_white + groups["black"] * of_black)).round().astype(int)
            for k, mode in enumerate(modes):
                part = cast // 3 if k else cast - cast // 3 * (len(modes) - 1)
                lines.append(groups[["precinct"]].assign(office=office, candidate=name, mode=mode, votes=part))
    return pd.concat(lines, ignore_index=True)


def suggested(tmp_path, groups, votes):
    groups.to_csv(tmp_path / "vap.csv", index=False)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    return suggest_problem([tmp_path / "votes.csv", tmp_path / "vap.csv"], tmp_path / "p.toml")


def test_offices_are_contests_and_ways_of_voting_are_added_up(tmp_path):
    groups = people()
    votes = results(groups)
    found = suggested(tmp_path, groups, votes)
    assert [c["name"] for c in found.guess.contests] == ["Senate", "Sheriff"]
    smith = votes.loc[votes["candidate"] == "SMITH", "votes"].sum()
    assert found.read[0]["outcomes"]["SMITH"] == smith
    assert list(found.read[0]["outcomes"]) == ["SMITH", "JONES", "no vote"]
    assert any("they differ in mode (day, mail)" in line for line in found.guess.ask)
    assert any("people who didn't vote" in line for line in found.guess.ask)


def test_the_problem_is_fitted_as_it_was_read(tmp_path):
    found = suggested(tmp_path, people(), results(people()))
    fit_problem(found.write(), tmp_path / "result")
    made = pd.read_parquet(tmp_path / "result" / "estimates.parquet")
    smith = made[(made["outcome"] == "SMITH") & (made["group"] == "black")]["share"]
    assert smith.iloc[0] == pytest.approx(0.54, abs=0.03)


def test_totals_and_counts_of_everybody_are_left_out(tmp_path):
    groups = people()
    votes = results(groups)
    total = votes.groupby(["precinct", "office", "candidate"], as_index=False)["votes"].sum().assign(mode="TOTAL")
    voters = groups[["precinct"]].assign(office="Registered Voters", candidate="", mode="day", votes=groups["white"])
    found = suggested(tmp_path, groups, pd.concat([votes, total, voters], ignore_index=True))
    assert found.read[0]["outcomes"]["SMITH"] == votes.loc[votes["candidate"] == "SMITH", "votes"].sum()
    assert len(found.guess.contests) == 2
    assert any("mode = TOTAL" in line for line in found.guess.ask)


def test_totals_that_are_not_sums_are_refused(tmp_path):
    groups = people()
    votes = results(groups)
    total = votes.groupby(["precinct", "office", "candidate"], as_index=False)["votes"].sum().assign(mode="TOTAL")
    total.loc[0, "votes"] += 7
    with pytest.raises(DataError, match="mode 'TOTAL' reads like a total, and isn't the sum"):
        suggested(tmp_path, groups, pd.concat([votes, total], ignore_index=True))


def test_lines_that_nothing_distinguishes_are_refused(tmp_path):
    groups = people()
    votes = results(groups, ("day",)).drop(columns="mode")
    with pytest.raises(DataError, match="1 rows repeat a unit and candidate, and nothing distinguishes them"):
        suggested(tmp_path, groups, pd.concat([votes, votes.iloc[[3]]], ignore_index=True))


def test_an_office_of_some_units_leaves_the_others_out_in_the_open(tmp_path):
    groups = people()
    votes = results(groups)
    found = suggested(tmp_path, groups, votes[(votes["office"] == "Senate") | (votes["precinct"] < "P15")])
    assert found.guess.contests[1]["unmatched"] == "drop"
    assert found.read[1]["units"] == 15
    assert any("Sheriff: 9 of 24 units have groups and no votes" in line for line in found.guess.ask)


def test_a_candidate_called_like_a_group_is_refused(tmp_path):
    groups = people()
    votes = results(groups).replace({"candidate": {"LEE": "white"}})
    with pytest.raises(DataError, match="'white' is an outcome, and a column of the groups"):
        suggested(tmp_path, groups, votes)
