"""From files to problem files that can be fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks, people, votes
from sumwise.ecological import Bounds
from sumwise.errors import DataError
from sumwise.recognise.initialise import suggest_problem, write_problem
from sumwise.study.families import study_of
from sumwise.study.fitting import fit_problem
from sumwise.study.problem import Problem


def test_problem_is_written_beside_the_data_and_fits(tmp_path):
    votes().to_csv(tmp_path / "votes.csv", index=False)
    guess, path = write_problem([tmp_path / "votes.csv"], tmp_path / "p.toml")
    assert guess.data == {"file": "votes.csv"}
    assert guess.columns == {"unit": "precinct", "groups": ["young", "old"], "outcomes": ["yes", "no"]}
    text = path.read_text().replace('method = "auto"', 'method = "Goodman"\nsensitivity = false')
    path.write_text(text)
    assert "Goodman" in fit_problem(path, tmp_path / "r")["method"]


def test_earlier_problems_stay(tmp_path):
    votes().to_csv(tmp_path / "votes.csv", index=False)
    (tmp_path / "p.toml").write_text("mine")
    with pytest.raises(DataError, match="already. Hint: add --replace"):
        write_problem([tmp_path / "votes.csv"], tmp_path / "p.toml")
    write_problem([tmp_path / "votes.csv"], tmp_path / "p.toml", replace=True)
    assert "ecological" in (tmp_path / "p.toml").read_text()


def test_files_elsewhere_are_named_in_full(tmp_path):
    (tmp_path / "here").mkdir()
    votes().to_csv(tmp_path / "votes.csv", index=False)
    guess, _ = write_problem([tmp_path / "votes.csv"], tmp_path / "here" / "p.toml")
    assert guess.data["file"] == str(tmp_path / "votes.csv")


def test_what_has_no_known_form_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("name,remark\nAnn,hello\nBob,bye\n")
    with pytest.raises(DataError, match="'a.csv' has no form that is known"):
        write_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    with pytest.raises(DataError, match="no family 'eco'"):
        write_problem([tmp_path / "a.csv"], tmp_path / "p.toml", family="eco")
    assert not (tmp_path / "p.toml").exists()


def test_numbers_that_cannot_be_counts_are_named(tmp_path):
    frame = votes().astype({"young": float})
    frame.loc[3, "young"] = None
    frame.loc[4, "old"] = -5
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match=r"column 'young' is missing in 1 of 40 rows\. First: row 5"):
        write_problem([tmp_path / "a.csv"], tmp_path / "p.toml")


def test_preview_shows_used_rows_alone(tmp_path):
    frame = votes(12)
    total = {"precinct": "TOTAL", **frame.drop(columns="precinct").sum()}
    pd.concat([pd.DataFrame([total]), frame]).to_csv(tmp_path / "a.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    young = next(c for c in found.columns if c["column"] == "young")
    assert young["sum"] == frame["young"].sum()
    assert young["first"] == [f"{x:g}" for x in frame["young"][:3]]
    assert found.to_dict()["read"][0]["units"] == 12
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.parametrize("make", [people, flocks])
def test_what_other_forms_suggest_is_read_as_well(tmp_path, make):
    make().to_csv(tmp_path / "a.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    assert found.guess.family in ("proportions", "collective")
    assert {c["part"] for c in found.columns} >= ({"bag", "label"} if make is people else {"time", "place", "count"})


def test_a_person_answers_what_a_file_leaves_open(tmp_path):
    rng = np.random.default_rng(0)
    people = rng.integers(200, 400, (20, 2))
    frame = pd.DataFrame({"precinct": [f"p{k}" for k in range(20)], "white": people[:, 0], "black": people[:, 1]})
    yes = (0.5 * people.sum(axis=1) * 0.9).astype(int)
    frame = frame.assign(yes=yes, no=(0.9 * people.sum(axis=1)).astype(int) - yes)
    frame.to_csv(tmp_path / "v.csv", index=False)
    with pytest.raises(DataError, match="some people didn't vote, or the groups overlap"):
        suggest_problem([tmp_path / "v.csv"], tmp_path / "p.toml")
    found = suggest_problem([tmp_path / "v.csv"], tmp_path / "p.toml", mismatch="no_vote")
    assert found.guess.data["mismatch"] == "no_vote"
    assert "no vote" in found.read[0]["outcomes"]
    with pytest.raises(DataError, match="mismatch"):
        suggest_problem([tmp_path / "v.csv"], tmp_path / "p.toml", mismatch="guess")
    percents = pd.DataFrame({"white": [60, 10, 30], "black": [40, 90, 70], "yes": [55, 30, 41], "no": [45, 70, 59]})
    percents.to_csv(tmp_path / "q.csv", index=False)
    for total in ("100", "1000"):
        found = suggest_problem([tmp_path / "q.csv"], tmp_path / "p.toml", total=total)
        assert found.guess.columns["total"] == float(total)
        assert found.read[0]["people"] is None
        assert found.read[0]["groups"]["white"] == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="no column 'nobody'"):
        suggest_problem([tmp_path / "q.csv"], tmp_path / "p.toml", total="nobody")


def test_a_problem_file_takes_the_place_of_no_other_file(tmp_path):
    data = tmp_path / "votes.csv"
    data.write_text("precinct,young,old,yes,no\nA,60,40,55,45\nB,10,80,30,60\n")
    (tmp_path / "data.toml").symlink_to(data)
    (tmp_path / "rc.toml").symlink_to(tmp_path / "rc")  # nothing there yet
    (tmp_path / "linked.toml").symlink_to(tmp_path / "real.toml")
    (tmp_path / "real.toml").write_text("old")
    (tmp_path / "real.toml").chmod(0o600)
    for name in ("votes.csv", "data.toml"):
        with pytest.raises(DataError, match="is the data; it would be lost"):
            write_problem([data], tmp_path / name, replace=True)
    with pytest.raises(DataError, match="already"):
        write_problem([data], tmp_path / "rc.toml")
    with pytest.raises(DataError, match="is a link to"):
        write_problem([data], tmp_path / "rc.toml", replace=True)
    write_problem([data], tmp_path / "linked.toml", replace=True)
    assert (tmp_path / "linked.toml").is_symlink()
    assert 'family = "ecological"' in (tmp_path / "real.toml").read_text()
    assert (tmp_path / "real.toml").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_labels_of_columns_are_read_and_shown(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = votes().set_axis(["q1", "v1", "v2", "v3", "v4"], axis=1)
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), column_labels=["Precinct", "Yes", "Against", "White", "Black"])
    found = suggest_problem([tmp_path / "a.sav"], tmp_path / "p.toml")
    assert found.guess.columns == {"unit": "q1", "groups": ["v3", "v4"], "outcomes": ["v1", "v2"]}
    assert list(found.read[0]["groups"]) == ["White", "Black"]
    assert found.guess.names["v3"] == "White"


def test_names_to_show_are_suggested_where_columns_give_them(tmp_path):
    frame = votes().set_axis(["precinct", "pct_young", "pct_old", "yes_votes", "no_votes"], axis=1)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    found = suggest_problem([tmp_path / "votes.csv"], tmp_path / "p.toml")
    assert found.guess.names == {"pct_young": "young", "pct_old": "old", "yes_votes": "yes", "no_votes": "no"}
    assert Problem.parse(found.text).names == found.guess.names
    assert found.to_dict()["names"] == found.guess.names
    assert found.guess.columns["groups"] == ["pct_young", "pct_old"]
    assert list(found.read[0]["groups"]) == ["young", "old"]


def test_names_of_features_do_not_depend_on_the_order_of_files(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"clinic": np.repeat([f"c{k}" for k in range(12)], 20), "age_grp": rng.choice(["a", "b"], 240)}
    )
    frame["body_weight_kg"] = rng.normal(70, 9, 240).round(1)
    ill = rng.integers(2, 18, 12)
    counts = pd.DataFrame({"clinic": [f"c{k}" for k in range(12)], "ill": ill, "well": 20 - ill})
    frame.to_csv(tmp_path / "people.csv", index=False)
    counts.to_csv(tmp_path / "counts.csv", index=False)
    for files in (("people.csv", "counts.csv"), ("counts.csv", "people.csv")):
        found = suggest_problem([tmp_path / name for name in files], tmp_path / "p.toml", family="proportions")
        assert found.guess.names == {"age_grp": "age grp", "body_weight_kg": "body weight (kg)"}


def test_places_without_counts_are_named_and_not_used(tmp_path):
    frame = flocks()
    sites = frame[["site", "x", "y"]].drop_duplicates()
    sites.loc[len(frame)] = ["elsewhere", 50.0, 50.0]
    sites.to_csv(tmp_path / "sites.csv", index=False)
    frame.drop(columns=["x", "y"]).to_csv(tmp_path / "counts.csv", index=False)
    found = suggest_problem([tmp_path / "counts.csv", tmp_path / "sites.csv"], tmp_path / "p.toml")
    assert found.read[0]["remarks"] == [f"1 of {len(sites)} places of sites.csv have no counts and are not used."]


def made_up(seed):
    """A file of one row per unit with some of what people do to such files, drawn by a seed."""
    rng = np.random.default_rng(seed)
    n, g, o = 12, int(rng.integers(1, 4)), int(rng.integers(2, 5))
    cells = rng.integers(0, 80, (n, max(g, 2), o))
    groups = dict(zip(rng.permutation(["white", "black", "hispanic", "men", "x", "old"])[:g], cells.sum(axis=2).T))
    outcomes = dict(
        zip(rng.permutation(["dem", "rep", "Lee", "novote", "C1", "yes", "other"])[:o], cells.sum(axis=1).T)
    )
    total = {"total": cells.sum(axis=(1, 2))} if rng.random() < 0.6 else {}
    sides = [list(total.items()), list(groups.items()), list(outcomes.items())]
    columns = dict(item for k in rng.permutation(3) for item in sides[k])
    frame = pd.DataFrame(columns).astype(float)
    if rng.random() < 0.4:
        digits, whole = int(rng.integers(1, 5)), float(rng.choice([1, 100]))
        shares = [c for c in frame if c != "total"]
        frame[shares] = (whole * frame[shares].div(np.maximum(cells.sum(axis=(1, 2)), 1), axis=0)).round(digits)
    if rng.random() < 0.3:
        frame.iloc[int(rng.integers(n)), int(rng.integers(frame.shape[1]))] = rng.choice([np.nan, -1.0, 1e6])
    if rng.random() < 0.7:
        frame.insert(0, "precinct", [f"P{k}" for k in range(n)])
    if rng.random() < 0.3:
        frame = pd.concat([frame, frame.sum(numeric_only=True).to_frame().T.assign(precinct="Total")])
    return frame.sample(frac=1, axis=1, random_state=seed) if rng.random() < 0.3 else frame


@pytest.mark.check
def test_fit_accepts_whatever_init_writes(tmp_path):
    written = 0
    for seed in range(24):
        made_up(seed).to_csv(tmp_path / "a.csv", index=False)
        try:
            found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml", replace=True)
        except DataError:
            continue  # it names its cause, as the corpus checks
        study = study_of(Problem.from_file(found.write()))
        study.read()
        study.fit(Bounds().fit(study.margins))
        assert (study.model.lower_bound_ <= study.model.upper_bound_ + 1e-9).all(), seed
        written += 1
    assert written >= 8


def test_coordinates_have_no_sum(tmp_path):
    flocks(4).to_csv(tmp_path / "flocks.csv", index=False)
    sums = {c["part"]: c["sum"] for c in suggest_problem([tmp_path / "flocks.csv"]).columns}
    assert sums["count"] == flocks(4)["birds"].sum()
    assert sums["time"] is None
    assert sums["x"] is None
