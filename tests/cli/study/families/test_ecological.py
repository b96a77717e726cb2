"""Problems on margins: every shape of file, what is told, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import study_cases
from messages import raises
from study_cases import ecological, long_votes, votes
from sumwise import synthetic
from sumwise.cli.study import Problem, study_of
from sumwise.errors import DataError
from sumwise.io.formats import write_margins


def study(folder, text, run=False):
    (folder / "p.toml").write_text(text)
    made = study_of(Problem.from_file(folder / "p.toml"))
    made.read()
    if run:
        made.fit()
    return made


HEAD = 'family = "ecological"\nmethod = "Goodman"\nsensitivity = false\n[data]\n'


def test_wide_and_long_files_give_the_same_margins(tmp_path):
    m = synthetic.precincts(30, 2, 3, random_state=0).margins
    write_margins(m, tmp_path / "long.csv")
    write_margins(m, tmp_path / "wide.csv", shape="wide")
    long = study(tmp_path, HEAD + 'file = "long.csv"').margins
    names = 'groups = ["group 1", "group 2"]\noutcomes = ["A", "B", "C"]'
    wide = study(tmp_path, HEAD + f'file = "wide.csv"\n[columns]\nunit = "unit"\n{names}').margins
    np.testing.assert_array_equal(long.cols, m.cols)
    np.testing.assert_array_equal(wide.rows, m.rows)
    np.testing.assert_array_equal(wide.cols, m.cols)


def test_two_files_are_joined_by_unit(tmp_path):
    frame = votes()
    frame[["precinct", "young", "old"]].to_csv(tmp_path / "people.csv", index=False)
    frame[["precinct", "yes", "no"]].sample(frac=1, random_state=0).to_csv(
        tmp_path / "results.csv", sep=";", index=False
    )
    files = 'groups_file = "people.csv"\noutcomes_file = "results.csv"\n'
    names = '[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]'
    m = study(tmp_path, HEAD + files + names).margins
    np.testing.assert_array_equal(m.cols, frame[["yes", "no"]].to_numpy())
    frame[["precinct", "yes", "no"]].tail(39).to_csv(tmp_path / "results.csv", index=False)
    with raises(DataError, "two-files-dont", 1, "P000", 0):
        study(tmp_path, HEAD + files + names)


def test_shares_with_rests_and_no_total_count_units_alike(tmp_path):
    (tmp_path / "s.csv").write_text("x,t\n0.2,0.5\n60%,0.4\n".replace("60%", "0.6"))
    names = '[columns]\ngroups = ["x"]\nrest_group = "others"\noutcomes = ["t"]\nrest_outcome = "none"\ntotal = 1000'
    made = study(tmp_path, HEAD + f'file = "s.csv"\n{names}')
    assert made.margins.rows.tolist() == [[200, 800], [600, 400]]
    assert "units of 1,000 people each" in " ".join(made.cautions)
    made.fit()
    page = made.report()
    assert page.summary["record"]["people"] is None
    assert "people)" not in page.summary["lead"][0]
    assert not {"count", "people"} & set(page.frames["estimates"].columns) | (
        {"count"} & set(page.frames["units"].columns)
    )


@pytest.mark.parametrize(
    ("data", "names", "told"),
    [
        (
            "a,b,y,n\n5,5,5,4\n1,2,1,2\n",
            'groups = ["a", "b"]\noutcomes = ["y", "n"]',
            ("units-first-unit", "total", 1, 2),
        ),
        (
            "a,b,y,n\n5,5,5,5\n",
            'groups = ["a", "bb"]\noutcomes = ["y", "n"]',
            ("no-did-you", "column", "bb", "b"),
        ),
        (
            "a,b,y,n\n5,x,5,5\n",
            'groups = ["a", "b"]\noutcomes = ["y", "n"]',
            ("column-rows-first-correct", "b", "is not a number", 2, "x"),
        ),
        (
            "a,b,y,n\n5,5,5,5\n",
            'groups = ["a"]\nrest_group = "r"\noutcomes = ["y"]',
            ("name-column-everybody",),
        ),
        (
            "a,b,y,n\n5,5,5,5\n",
            'unit = "u"\ngroups = ["a", "b"]\noutcomes = ["y", "n"]',
            ("there-is-no", "column", "u"),
        ),
        ("", 'groups = ["a", "b"]\noutcomes = ["y", "n"]', ("empty-file-header",)),
        ("a,b,y,n\n", 'groups = ["a", "b"]\noutcomes = ["y", "n"]', ("columns-no-rows",)),
        ("a,b,y,n\n1,2,3\n", 'groups = ["a", "b"]\noutcomes = ["y", "n"]', ("rows-too-few", 2, 3)),
        ("a,b,y,n\n5,5,5,5\n", 'outcomes = ["y", "n"]', ("such-first-second", "groups")),
        ("a,b,y,n\n5,5,5,5\n", "", ("columns-names-no-groups",)),
    ],
)
def test_bad_input_is_answered_in_one_line(tmp_path, data, names, told):
    (tmp_path / "v.csv").write_text(data)
    with raises(DataError, *told) as caught:
        study(tmp_path, HEAD + f'file = "v.csv"\n[columns]\n{names}')
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "encoding"),
    [
        ("p;a;b;y;n\nZürich;1.200;800,0;1.500;500\nB;10;20;15;15\n", "latin-1"),
        ('p,a,b,y,n\nZürich,"1,200",800,"1,500",500\nB,10,20,15,15\n', "utf-8-sig"),
        ("p\ta\tb\ty\tn\nZürich\t1200\t800\t1500\t500\nB\t10\t20\t15\t15\n", "utf-16"),
    ],
)
def test_files_as_people_keep_them(tmp_path, written, encoding):
    (tmp_path / "v.csv").write_bytes(written.encode(encoding))
    made = study(tmp_path, HEAD + 'file = "v.csv"\n[columns]\nunit = "p"\ngroups = ["a", "b"]\noutcomes = ["y", "n"]')
    assert made.margins.rows.tolist() == [[1200, 800], [10, 20]]
    assert made.margins.units.tolist() == ["Zürich", "B"]


def test_auto_is_bounds_where_nothing_can_be_fitted(tmp_path):
    (tmp_path / "v.csv").write_text("a,b,y,n\n60,40,80,20\n")
    text = 'family = "ecological"\n[data]\nfile = "v.csv"\n[columns]\ngroups = ["a", "b"]\noutcomes = ["y", "n"]'
    made = study(tmp_path, text, run=True)
    assert made.chosen == "Bounds"
    told = made.report()
    assert "Share of people in “a” who chose y: 66.6% to 100.0%, whatever the model." in told.findings
    assert "single unit" in str(told.summary)


def test_the_report_says_what_an_opponent_would_ask(tmp_path):
    path = ecological(tmp_path, method='"auto"', sensitivity="true")
    made = study_of(Problem.from_file(path))
    made.read()
    made.fit()
    told = made.report().summary
    assert told["method"] == "EcologicalEM"
    sections = {section["key"]: str(section["blocks"]) for section in told["sections"]}
    assert list(sections) == ["found", "estimates", "certainty", "assumptions", "appendix", "provenance"]
    for words in (
        "Other methods on the same data",
        "two random halves of the units",
        "Tests of whether behaviour varies with composition",
        "converged",
        "95% intervals covered",
        "tomography",
        "whatever the model",
        "Goodman",
        "King",
        "MultinomialDirichlet",
    ):
        assert words in sections["certainty"] + sections["found"] + sections["appendix"], words
    assert "Aggregation bias" in sections["assumptions"]
    assert "polarisation" in sections["estimates"]
    low, high = np.array(told["record"]["low"]), np.array(told["record"]["high"])
    assert (low <= np.array(told["record"]["shares"])).all()
    assert (np.array(told["record"]["shares"]) <= high).all()


def test_rescaled_totals_are_a_caution(tmp_path):
    text = HEAD + 'file = "votes.csv"\nmismatch = "rescale"\n'
    text += '[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]\n'
    frame = votes(40)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    assert study(tmp_path, text).cautions == []
    frame.loc[3, "yes"] += 20
    frame.to_csv(tmp_path / "votes.csv", index=False)
    made = study(tmp_path, text, run=True)
    assert "differ in 1 of 40 units" in made.cautions[0]
    lead = made.report().summary["lead"]
    assert "if the model of Goodman is right, and for nothing else" in lead[1]
    assert lead[2] == made.cautions[0]


def test_prediction_takes_the_long_file_that_was_fitted(tmp_path):
    text = 'family = "ecological"\nmethod = "Goodman"\n[data]\nfile = "data.csv"\n'
    made = study_cases.study(tmp_path, long_votes(votes(20)), text)
    found = made.predict(made.model, tmp_path / "data.csv")
    assert len(found) == 40
    groups = long_votes(votes(20)).query("side == 'row'")
    groups.to_csv(tmp_path / "groups.csv", index=False)
    pd.testing.assert_frame_equal(made.predict(made.model, tmp_path / "groups.csv"), found)
    groups.iloc[1:].to_csv(tmp_path / "gap.csv", index=False)
    with raises(DataError, "votes-no-row", 1, 40, 2):
        made.predict(made.model, tmp_path / "gap.csv")
    groups.assign(option="middle").to_csv(tmp_path / "other.csv", index=False)
    with raises(DataError, "there-is-no", "group", "middle"):
        made.predict(made.model, tmp_path / "other.csv")


def test_prediction_needs_no_total_that_the_groups_give(tmp_path):
    frame = votes(20).assign(total=lambda f: f["young"] + f["old"])
    text = 'family = "ecological"\nmethod = "Goodman"\n[data]\nfile = "data.csv"\n[columns]\nunit = "precinct"\n'
    text += 'groups = ["young", "old"]\noutcomes = ["yes", "no"]\ntotal = "total"\n'
    made = study_cases.study(tmp_path, frame, text)
    frame[["precinct", "young", "old"]].to_csv(tmp_path / "new.csv", index=False)
    assert len(made.predict(made.model, tmp_path / "new.csv")) == 40


def test_a_rest_that_is_everybody_is_refused(tmp_path):
    frame = votes(20)
    total = frame["young"] + frame["old"]
    frame = frame.assign(n=total, few=frame["young"] / total, some=(0.03 * total).round())
    frame.to_csv(tmp_path / "v.csv", index=False)
    columns = 'unit = "precinct"\ntotal = "n"\noutcomes = ["yes", "no"]\nrest_group = "others"\n'
    head = HEAD + 'file = "v.csv"\n[columns]\n' + columns
    with raises(DataError, "almost-all-rest", "others"):
        study(tmp_path, head + 'groups = ["few"]\ngroups_in = "count"')
    made = study(tmp_path, head + 'groups = ["some"]')
    assert any("'others', the rest of everybody, is 97% of all people" in line for line in made.cautions)


def test_a_map_gives_shapes_by_the_names_of_units(tmp_path):
    import json

    frame = votes(12)
    frame.to_csv(tmp_path / "v.csv", index=False)
    ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
    features = [
        {"properties": {"name": p}, "geometry": {"type": "Polygon", "coordinates": [ring]}} for p in frame["precinct"]
    ]
    (tmp_path / "m.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    columns = '[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]\n'
    head = HEAD + f'file = "v.csv"\n{columns}[map]\nfile = "m.geojson"\n'
    assert len(study(tmp_path, head + 'key = "name"').details["shapes"]) == 12
    with raises(DataError, "feature-map-no", "nam"):
        study(tmp_path, head + 'key = "nam"')
    with raises(DataError, "such-file-precincts"):
        study(tmp_path, head)
    (tmp_path / "m.geojson").write_text("{")
    with raises(DataError, "cant-read-geojson"):
        study(tmp_path, head + 'key = "name"')


@pytest.mark.parametrize(("mismatch", "words"), [("no_vote", "who didn't vote"), ("rescale", "are like those")])
def test_what_a_mismatch_assumes_is_said(tmp_path, mismatch, words):
    lines = [f"{k},{50 + 3 * k},{90 - k},{40 + k},{60 - k}" for k in range(12)]
    (tmp_path / "votes.csv").write_text("\n".join(["p,a,b,x,y", *lines]), encoding="utf-8")
    text = (
        HEAD + f'file = "votes.csv"\nmismatch = "{mismatch}"\n[columns]\ngroups = ["a", "b"]\noutcomes = ["x", "y"]\n'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = study(tmp_path, text).notes
    assert any(words in note for note in notes)


def test_outcomes_in_rows_that_are_numbers_keep_their_names(tmp_path):
    people = votes(20)[["precinct", "young", "old"]]
    people.to_csv(tmp_path / "people.csv", index=False)
    rows = votes(20).melt("precinct", ["yes", "no"], "candidate", "votes").replace({"yes": 1, "no": 2})
    rows.to_csv(tmp_path / "results.csv", index=False)
    text = HEAD + 'groups_file = "people.csv"\noutcomes_file = "results.csv"\n'
    text += '[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noption = "candidate"\nvotes = "votes"\n'
    assert study(tmp_path, text).margins.col_names == ("1", "2")
    rows.replace({"candidate": {1: "precinct"}}).to_csv(tmp_path / "results.csv", index=False)
    with raises(DataError, "column-units"):
        study(tmp_path, text)
    rows.iloc[1:].to_csv(tmp_path / "results.csv", index=False)
    with raises(DataError, "votes-no-row", 1, 40, "P000"):
        study(tmp_path, text)
