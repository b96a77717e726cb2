"""Files as the fields have them: census tables, precinct returns, checklists of birds, reports of advertisers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import Contests, Schema
from sumwise.errors import DataError

N = 12
CVAP = ("Asian Alone", "Black or African American Alone", "White Alone", "Hispanic or Latino")
P4 = {"005": "nh white vap", "006": "nh black vap", "008": "nh asian vap", "011": "nh multi vap"}


@pytest.fixture
def people():
    """Adults by race, and votes for two candidates, of every unit."""
    rng = np.random.default_rng(3)
    races = rng.integers(20, 300, (N, 4))
    turnout = rng.binomial(races.sum(axis=1), 0.6)
    first = rng.binomial(turnout, 0.5)
    return races, np.column_stack([first, turnout - first])


def write(folder, name, frame, **options):
    path = folder / name
    frame.to_csv(path, index=False, **options)
    return path


def votes_by_unit(folder, people, unit="GEO_ID"):
    columns = {unit: [f"700000US{k:04d}" for k in range(N)], "Biden": people[1][:, 0], "Trump": people[1][:, 1]}
    return write(folder, "votes.csv", pd.DataFrame(columns))


def check(margins, people, rows=None):
    np.testing.assert_array_equal(margins.rows, people[0] if rows is None else rows)
    np.testing.assert_array_equal(margins.cols[:, :2], people[1])
    assert margins.col_names[-1] == "no vote"


def redistricting(people, name):
    """The table of adults by Hispanic origin and race, as the census calls its columns."""
    races = people[0]
    hispanic, others = races[:, 3], races[:, [0, 1, 2]]
    columns = {"001": races.sum(axis=1), "002": hispanic, "003": others.sum(axis=1), "004": others.sum(axis=1)}
    columns |= dict(zip(("005", "006", "008"), others.T))
    return {name(code): column for code, column in columns.items()}


def test_redistricting_table_of_the_census_site_is_read_with_votes(tmp_path, people):
    units = {"GEO_ID": [f"700000US{k:04d}" for k in range(N)]}
    table = pd.DataFrame({**units, **redistricting(people, lambda code: f"P4_{code}N")})
    labels = pd.DataFrame([{c: f" !!Total:!!{c}" for c in table}])
    path = write(tmp_path, "DECENNIALPL2020.P4-Data.csv", pd.concat([labels, table]))
    sources = [path, votes_by_unit(tmp_path, people)]
    schema = Schema.infer(sources)
    assert [q.key for q in schema.questions] == ["confirm"]
    assert "P4_005N (nh white vap)" in schema.questions[0].text
    margins = Schema.infer(sources, {"confirm": "yes"}).read(sources)
    check(margins, people)
    assert margins.row_names == ("nh white vap", "nh black vap", "nh asian vap", "hispanic vap")


def test_votes_beside_a_redistricting_table_are_contests(people):
    frame = pd.DataFrame(redistricting(people, lambda code: f"P0040{code}"))
    frame = frame.assign(G20PREDBID=people[1][:, 0], G20PRERTRU=people[1][:, 1])
    frame = frame.assign(G20USSDOSS=people[1][:, 0] - 3, G20USSRPER=people[1][:, 1] - 2)
    read = Schema.infer(frame, {"confirm": "yes", "contests": "yes"}).read(frame)
    assert isinstance(read, Contests)
    check(next(iter(read.contests.values())), people)


@pytest.mark.parametrize("turned", [False, True])
def test_cvap_has_a_row_per_group(tmp_path, people, turned):
    races = people[0]
    sums = {"Total": races.sum(axis=1), "Not Hispanic or Latino": races[:, :3].sum(axis=1)}
    columns = {**sums, "Asian and White": np.zeros(N, dtype=int), **dict(zip(CVAP, races.T))}
    rows = [
        (f"District {k}", title, f"700000US{k:04d}", i, column[k], 40 + i)
        for k in range(N)
        for i, (title, column) in enumerate(columns.items(), 1)
    ]
    names = ["geoname", "lntitle", "geoid", "lnnumber", "cvap_est", "cvap_moe"]
    cvap = write(tmp_path, "BlockGr.csv", pd.DataFrame(rows, columns=names), encoding="latin-1")
    sources = [cvap, votes_by_unit(tmp_path, people, "geoid")][:: -1 if turned else 1]
    answers = {"confirm": "yes", "fewer": "they did not vote"}
    margins = Schema.infer(sources, answers).read(sources)
    check(margins, people)
    assert margins.row_names == CVAP
    np.testing.assert_allclose(margins.row_sd[0], [(40 + i) / 1.645 for i in (4, 5, 6, 7)])


@pytest.mark.parametrize("name", ["{}_cvap_moe", "moe_{}_cvap", "{}_cvap_se"])
def test_stated_errors_beside_groups_are_used(people, name):
    races = [f"{race}_cvap" for race in ("white", "black", "asian", "other")]
    frame = pd.DataFrame({"precinct": [f"P{k}" for k in range(N)], **dict(zip(races, people[0].T))})
    for k, race in enumerate(("white", "black", "asian", "other")):
        frame[name.format(race)] = 10.0 + k
    frame = frame.assign(Biden=people[1][:, 0], Trump=people[1][:, 1])
    schema = Schema.infer(frame, {"confirm": "yes"})
    assert any("white_cvap" in remark and "for intervals" in remark for remark in schema.remarks)
    found = schema.read(frame)
    check(found, people)
    np.testing.assert_allclose(found.row_sd[0], np.arange(10.0, 14.0) / (1 if "se" in name[-2:] else 1.645))


def test_errors_of_some_groups_alone_are_not_used(people):
    races = [f"{race}_cvap" for race in ("white", "black", "asian", "other")]
    frame = pd.DataFrame({"precinct": [f"P{k}" for k in range(N)], **dict(zip(races, people[0].T))})
    frame = frame.assign(white_cvap_moe=10.0, Biden=people[1][:, 0], Trump=people[1][:, 1])
    assert Schema.infer(frame, {"confirm": "yes"}).read(frame).row_sd is None


def returns(people, columns):
    """Precinct returns of two offices, with lines that are no contests."""
    rows = []
    for k in range(N):
        rows.append(("Appling", f"P{k}", "Ballots Cast", "", "", "", int(people[1][k].sum())))
        for office, less in (("President", 0), ("U.S. House", 5)):
            for name, party, n in (("Joe Biden", "DEM", people[1][k, 0]), ("Donald Trump", "REP", people[1][k, 1])):
                rows.append(("Appling", f"P{k}", office, "1" if less else "", name, party, int(n) - less))
    return pd.DataFrame(rows, columns=columns)


def groups(folder, people):
    names = ["white", "black", "asian", "other"]
    frame = pd.DataFrame({"county": "Appling", "precinct": [f"P{k}" for k in range(N)]})
    return write(folder, "groups.csv", frame.join(pd.DataFrame(people[0], columns=names)))


ANSWERS = {"confirm": "yes", "fewer": "they did not vote"}


def test_openelections_asks_for_the_contest(tmp_path, people):
    columns = ["county", "precinct", "office", "district", "candidate", "party", "votes"]
    path = write(tmp_path, "20201103__ga__general__precinct.csv", returns(people, columns))
    sources = [groups(tmp_path, people), path]
    asked = {q.key: q for q in Schema.infer(sources).questions}
    assert asked["contest"].options[:3] == ("President", "U.S. House", "all 2 contests")
    check(Schema.infer(sources, {**ANSWERS, "contest": "President"}).read(sources), people)
    every = Schema.infer(sources, {**ANSWERS, "contest": "all 2"}).read(sources)
    check(every["President"], people)
    assert every["U.S. House"].cols[:, 0].sum() == people[1][:, 0].sum() - 5 * N


def test_medsl_adds_modes_up_if_a_person_says_so(tmp_path, people):
    columns = ["county_name", "precinct", "office", "district", "candidate", "party_detailed", "votes"]
    frame = returns(people, columns)
    frame = frame[frame["office"] == "President"].assign(office="US PRESIDENT", year=2020, writein="FALSE")
    early = frame.assign(mode="EARLY", votes=frame["votes"] // 3)
    both = pd.concat([early, frame.assign(mode="ELECTION DAY", votes=frame["votes"] - early["votes"])])
    sources = [groups(tmp_path, people), write(tmp_path, "medsl.csv", both)]
    assert "several_rows" in [q.key for q in Schema.infer(sources).questions]
    check(Schema.infer(sources, {**ANSWERS, "several_rows": "add"}).read(sources), people)
    total = frame.assign(mode="TOTAL")
    sources[1] = write(tmp_path, "with_totals.csv", pd.concat([both, total]))
    check(Schema.infer(sources, {**ANSWERS, "several_rows": "add"}).read(sources), people)


def test_an_observation_count_is_the_count_where_localities_and_dates_repeat():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "SAMPLING EVENT IDENTIFIER": [f"S{k}" for k in range(200)],
            "OBSERVATION COUNT": rng.integers(0, 9, 200),
            "LOCALITY ID": [f"L{k}" for k in rng.integers(0, 6, 200)],
            "OBSERVATION DATE": [f"2022-05-{d:02d}" for d in 7 * rng.integers(0, 4, 200) + 1],
            "DURATION MINUTES": rng.choice([15, 60, 120], 200),
            "ALL SPECIES REPORTED": rng.integers(0, 2, 200),
        }
    )
    found = Schema.infer(frame).columns
    assert (found["time"], found["count"]) == ("OBSERVATION DATE", "OBSERVATION COUNT")
    assert found["effort"] == "DURATION MINUTES"


def test_ebird_counts_have_an_effort_and_x_is_not_counted():
    rng = np.random.default_rng(1)
    n = 60
    frame = pd.DataFrame(
        {
            "SCIENTIFIC NAME": "Setophaga petechia",
            "OBSERVATION COUNT": ["X", *rng.integers(1, 9, n - 1).astype(str)],
            "LOCALITY ID": [f"L{k % 6}" for k in range(n)],
            "LATITUDE": [40 + k % 6 for k in range(n)],
            "LONGITUDE": [-76 - k % 6 for k in range(n)],
            "OBSERVATION DATE": [f"2020-05-{1 + k % 10:02d}" for k in range(n)],
            "DURATION MINUTES": rng.integers(5, 200, n),
            "NUMBER OBSERVERS": rng.integers(1, 4, n),
        }
    )
    answers = {"several_counts": "several", "not_counted": "yes", "absent": "not", "effort": "yes"}
    schema = Schema.infer(frame, answers)
    roles = {"time": "OBSERVATION DATE", "place": "LOCALITY ID", "count": "OBSERVATION COUNT"}
    assert {k: schema.columns[k] for k in roles} == roles
    assert schema.columns["effort"] == "DURATION MINUTES"
    assert schema.read(frame)["count"].sum() == pd.to_numeric(frame["OBSERVATION COUNT"], errors="coerce").sum()


def test_other_sums_of_a_report_are_no_attributes():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame([(a, d) for a in range(4) for d in range(5)], columns=["campaign", "device"])
    frame["impressions"] = rng.integers(100, 900, 20)
    frame["clicks"] = rng.binomial(frame["impressions"], 0.1)
    frame["conversions"] = rng.binomial(frame["clicks"], 0.3)
    schema = Schema.infer(frame, {"cells": "impressions, and clicks"})
    assert schema.columns["attributes"] == ["campaign", "device"]
    assert schema.read(frame)["campaign", "device"].label_sums.sum() == frame["clicks"].sum()


def test_kings_shares_and_total_have_a_way_in():
    rng = np.random.default_rng(4)
    n = rng.integers(100, 900, N)
    black, turnout = rng.integers(5, 80, N), rng.integers(5, 80, N)
    frame = pd.DataFrame({"x": black / n, "t": turnout / n, "n": n})
    assert [q.key for q in Schema.infer(frame).questions] == ["unknown"]
    margins = Schema.infer(frame, {"columns.groups": "x", "columns.outcomes": "t", "columns.total": "n"}).read(frame)
    np.testing.assert_allclose(margins.rows[:, 0], black)
    np.testing.assert_allclose(margins.cols[:, 0], turnout)


@pytest.mark.parametrize("key", ["columns.groups", "columns.outcomes"])
def test_a_side_of_no_columns_is_refused(key):
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [2, 3], "d": [2, 3]})
    with raises(DataError, "answer-names-no"):
        Schema.infer(frame, {"columns.groups": "a,b", "columns.outcomes": "c,d", key: []})
