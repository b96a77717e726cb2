"""Margins in the shapes that people keep them in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import public_data
from study_cases import votes
from sumwise import Margins
from sumwise.ecological import Goodman, voting_patterns
from sumwise.errors import DataError
from sumwise.recognise.initialise import suggest_problem
from sumwise.recognise.margins import guess, words
from sumwise.recognise.margins.wide import guess_two
from sumwise.recognise.profile_file import profile_file
from sumwise.study import Problem, study_of
from wide_cases import guessed, public, real, suggested


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


def two_offices(sign):
    """Two contests whose votes together nearly make up all people, as at turnouts of about half."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"precinct": [f"{k:02d}" for k in range(40)]})
    frame[["black", "white"]] = rng.integers(200, 900, (40, 2))
    people = frame["black"] + frame["white"]
    frame[[f"Sheriff{sign}Ruiz", f"Sheriff{sign}Hale", f"Sheriff{sign}Boone"]] = rng.multinomial(
        people // 2, [0.5, 0.4, 0.1]
    )
    frame[[f"Clerk{sign}Ames", f"Clerk{sign}Voss"]] = rng.multinomial(people // 2 + 9, [0.6, 0.4])
    return frame.assign(total=people)


@pytest.mark.parametrize("sign", [": ", " - ", " ", "|"])
def test_offices_before_candidates_are_contests(tmp_path, sign):
    found = guessed(tmp_path, two_offices(sign))
    assert [contest["name"].lower() for contest in found.contests] == ["sheriff", "clerk"]
    assert [len(contest["outcomes"]) for contest in found.contests] == [3, 2]
    assert {contest["mismatch"] for contest in found.contests} == {"no_vote"}


def test_parties_before_candidates_are_no_contests():
    columns = [SimpleNamespace(name=name) for name in ("Dem: Ames", "Dem: Voss", "Rep: Hale", "Rep: Boone")]
    assert list(words.by_contest(columns)) == [""]
    columns = [SimpleNamespace(name=c.name.replace("Dem", "Sheriff").replace("Rep", "Clerk")) for c in columns]
    assert list(words.by_contest(columns)) == ["Sheriff", "Clerk"]


def electorate():
    """Groups, votes and those who didn't vote in 50 units, and how many people there are."""
    rng = np.random.default_rng(5)
    people = rng.integers(400, 2500, 50)
    rows = np.array([rng.multinomial(n, p) for n, p in zip(people, rng.dirichlet([2, 1, 3], 50))])
    return rows, rng.multinomial(people, [0.25, 0.3, 0.05, 0.4]), people


def test_percents_of_german_groups_and_counts_of_votes(tmp_path):
    rows, votes_, people = electorate()
    frame = pd.DataFrame({"Wahlbezirk": [f"{k:03d}" for k in range(50)], "Wahlberechtigte": people})
    frame[["jung (%)", "mittel (%)", "alt (%)"]] = (100 * rows / people[:, None]).round(2)
    frame["Wähler"] = votes_[:, :3].sum(axis=1)
    frame[["SPD", "CDU", "Sonstige"]] = votes_[:, :3]
    found = guessed(tmp_path, frame)
    assert found.columns["groups"] == ["jung (%)", "mittel (%)", "alt (%)"]
    assert found.columns["outcomes"] == ["SPD", "CDU", "Sonstige"]
    assert found.columns["rest_outcome"] == "no vote"
    assert not any("Wähler" in line for line in found.ask)


def test_percents_of_spanish_votes_are_no_groups(tmp_path):
    rows, votes_, people = electorate()
    frame = pd.DataFrame({"Sección": [f"S{k}" for k in range(50)], "Censo electoral": people})
    voted = votes_[:, :3].sum(axis=1)
    frame["Participación %"] = (100 * voted / people).round(2)
    frame[["Jóvenes", "Adultos", "Mayores"]] = rows
    frame[["PSOE %", "PP %", "Otros %"]] = (100 * votes_[:, :3] / voted[:, None]).round(2)
    with pytest.raises(DataError, match="percents of those who voted"):
        guessed(tmp_path, frame)


def test_sums_of_probabilities_are_rescaled_and_no_unit_is_lost(tmp_path):
    rows, votes_, people = electorate()
    shares = np.clip(rows + np.random.default_rng(0).normal(0, 3, rows.shape), 0.5, None)
    shares = (shares * (people / shares.sum(axis=1))[:, None]).round(3)
    frame = pd.DataFrame(shares, columns=["bisg_black", "bisg_hisp", "bisg_white"])
    frame[["votes_A", "votes_B", "votes_C", "NoVote"]] = votes_
    assert (frame.iloc[:, :3].sum(axis=1) != people).any()
    found = guessed(tmp_path, frame)
    assert found.data["mismatch"] == "rescale"
    assert "without" not in found.data


@pytest.mark.parametrize(("suffix", "key"), [("_moe", "groups_moe"), ("_se", "groups_sd"), (" MOE", "groups_moe")])
def test_errors_of_groups_are_used_where_every_group_has_one(tmp_path, suffix, key):
    frame = votes(20)
    frame[[f"young{suffix}", f"old{suffix}"]] = 0.1 * frame[["young", "old"]].to_numpy() + 1
    found = guessed(tmp_path, frame)
    assert found.columns["groups"] == ["young", "old"]
    assert found.columns[key] == [f"young{suffix}", f"old{suffix}"]
    assert not found.unused
    found = guessed(tmp_path, frame.drop(columns=f"old{suffix}"))
    assert key not in found.columns
    assert f"young{suffix}" in found.unused


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
        ("gwinnett_2018_turnout_by_race_notruth", ["white", "black", "hispanic", "other"], ["kemp", "abrams", "metz"]),
        ("redistrict_notruth", ["black", "white", "hispanic"], ["dem", "rep", "novote"]),
        ("wallace_1968_notruth", ["X"], ["Y"]),
    ],
)
def test_public_files_are_recognised(name, groups, outcomes):
    found = guess([profile_file(public_data.folder() / "ei" / f"{name}.csv")])
    assert found.columns["groups"] == groups
    assert found.columns["outcomes"] == outcomes


@real
def test_overlapping_shares_of_waterbury_are_refused_by_init_and_fit(tmp_path):
    path = public_data.folder() / "ei" / "pyei_waterbury_notruth.csv"
    words = r"shares that overlap: White.Pct, Black.Pct, Hispanic.Pct sum to 1\.065 to 1\.396 of the total in 23 of 23"
    with pytest.raises(DataError, match=words):
        suggest_problem([path], tmp_path / "p.toml")
    guessed = guess([profile_file(path)])
    for mismatch in ("", "rescale", "no_vote"):
        guessed.data["mismatch"] = mismatch or "raise"
        study = study_of(Problem.parse(guessed.text(), tmp_path / "p.toml"))
        with pytest.raises(DataError, match=words):
            study.read()


@real
def test_one_negative_number_names_its_row(tmp_path):
    frame = public("senc").iloc[:, :9]
    frame.loc[17, "rep"] = -5
    with pytest.raises(DataError, match=r"column 'rep' is negative in 1 of 212 rows\. First: row 19"):
        suggested(tmp_path, frame)


@real
def test_adults_and_votes_offer_abstention(tmp_path):
    frame = public("rxcecolinf_stlouis_notruth").drop(columns="NoVote")
    found = suggested(tmp_path, frame)
    assert found.guess.data["mismatch"] == "no_vote"
    assert found.read[0]["outcomes"]["no vote"] == 204639


@real
def test_several_elections_and_race_columns_of_santa_clara(tmp_path):
    found = suggest_problem(
        [public_data.folder() / "ei" / "pyei_SantaClaraSampleData_notruth.csv"], tmp_path / "p.toml"
    )
    assert found.guess.columns["groups"] == ["pct_asian_vote", "pct_non_asian_vote"]
    assert [c["total"] for c in found.guess.contests] == ["total2", "total5", "total5", "total5"]
    assert found.read[0]["people"] == 19604
    assert "pct_ind_vote" in found.guess.unused


@real
def test_not_voting_is_no_candidate_of_choice():
    frame = public("rxcecolinf_stlouis_notruth")
    margins = Margins.from_frame(frame, ["bvap", "ovap"], ["Bosley", "Roberts", "Ribaudo", "Villa", "NoVote"])
    chosen = voting_patterns(Goodman(constrained=True).fit(margins)).choice
    assert chosen["candidate"].tolist() == ["Bosley", "Villa"]
    assert "NoVote" not in chosen["runner_up"].tolist()


def test_turnout_alone_is_an_outcome(tmp_path):
    frame = votes(20).rename(columns={"young": "white", "old": "black"})
    frame = frame.assign(turnout=(frame["white"] * 0.3 + frame["black"] * 0.5).round()).drop(columns=["yes", "no"])
    found = suggested(tmp_path, frame)
    assert list(found.read[0]["outcomes"]) == ["turnout", "no vote"]


def test_contests_that_share_a_column_of_numbers_stay_apart(tmp_path):
    frame = votes(30).assign(novote=7)
    frame["old"] += 7
    frame = frame.assign(Clay=frame["yes"] + 1, Lee=frame["no"] - 1, novote_too=7)
    found = suggested(tmp_path, frame[["precinct", "young", "old", "yes", "no", "novote", "Clay", "Lee", "novote_too"]])
    assert [c["outcomes"] for c in found.guess.contests] == [["yes", "no", "novote"], ["Clay", "Lee", "novote_too"]]


def test_candidates_in_one_block_with_known_outcomes_are_not_left_out(tmp_path):
    frame = votes(30).rename(columns={"young": "white", "old": "black"})
    part = {"Orr": (frame["yes"] * 0.4).round(), "C2": (frame["no"] * 0.3).round(), "BLANK.VOTES": 1, "NULL.VOTES": 2}
    frame = frame.drop(columns=["yes", "no"]).assign(**part, households=(frame["white"] * 0.1).round())
    found = suggested(tmp_path, frame[["precinct", "households", "white", "black", *part]])
    assert found.guess.columns["outcomes"] == ["Orr", "C2", "BLANK.VOTES", "NULL.VOTES"]
    assert "households" in found.guess.unused


def test_a_group_without_anybody_is_named_and_not_used(tmp_path):
    frame = votes(20)
    found = guessed(tmp_path, frame.assign(martians=0)[["precinct", "young", "old", "martians", "yes", "no"]])
    assert found.columns["groups"] == ["young", "old"]
    assert "martians" in found.unused


def test_groups_on_another_base_are_named(tmp_path):
    frame = votes(30)
    adults = frame[["young", "old"]].rename(columns={"young": "YVAP", "old": "OVAP"})
    citizens = (0.9 * adults).astype(int).rename(columns={"YVAP": "YCVAP", "OVAP": "OCVAP"})
    counted = pd.concat([adults, adults.sum(axis=1).rename("VAP"), citizens, frame[["yes", "no"]]], axis=1)
    found = guessed(tmp_path, counted)
    assert found.columns["groups"] == ["YVAP", "OVAP"]
    assert any("YVAP, OVAP are used, YCVAP, OCVAP are not" in line for line in found.ask)


def test_spanish_names_show_which_side_is_which(tmp_path):
    frame = votes(20)
    names = {"precinct": "Sección", "young": "Población indígena", "old": "Población mestiza"}
    frame = frame.rename(columns=names | {"yes": "Votos PAN", "no": "Votos nulos"})
    path = tmp_path / "votos.csv"
    path.write_bytes(frame.iloc[:, [0, 3, 4, 1, 2]].to_csv(index=False, sep=";").encode("latin-1"))
    found = suggest_problem([path], tmp_path / "p.toml")
    assert found.guess.columns["groups"] == ["Población indígena", "Población mestiza"]
    assert not any("guessed from the order" in line for line in found.guess.ask)


def test_a_second_office_is_a_contest_of_its_own(tmp_path):
    frame = votes(20)
    frame = frame[["precinct", "young", "old"]].assign(
        GOV_D=frame["yes"] // 2, GOV_R=frame["no"] // 2, HSE_D=frame["yes"] // 3, HSE_R=frame["no"] // 3
    )
    frame.to_csv(tmp_path / "votes.csv", index=False)
    found = suggest_problem([tmp_path / "votes.csv"], tmp_path / "p.toml")
    assert [c["name"] for c in found.guess.contests] == ["gov", "hse"]


def tenure(names, *, registered=False):
    """People of three groups, of whom four in ten don't vote, in numbered sections."""
    rng = np.random.default_rng(0)
    groups = rng.integers(40, 600, (40, 3))
    voted = rng.binomial(groups.sum(axis=1), 0.6)
    garza = rng.binomial(voted, 0.45)
    frame = pd.DataFrame({"Sección": np.arange(1, 41), **dict(zip(names, groups.T))})
    frame["Garza"], frame["Molina"] = garza, voted - garza
    return frame.assign(Registered=groups.sum(axis=1)) if registered else frame


def test_renters_owners_and_students_are_groups_beside_those_who_did_not_vote(tmp_path):
    found = guessed(tmp_path, tenure(("Renters", "Owners", "Students")))
    assert found.columns == {
        "unit": "Sección",
        "groups": ["Renters", "Owners", "Students"],
        "outcomes": ["Garza", "Molina"],
    }
    assert found.data["mismatch"] == "no_vote"


def test_groups_of_any_name_are_known_by_the_electorate_that_they_sum_to(tmp_path):
    found = guessed(tmp_path, tenure(("Aymara", "Quechua", "Guarani"), registered=True))
    assert found.columns["groups"] == ["Aymara", "Quechua", "Guarani"]
    assert found.columns["outcomes"] == ["Garza", "Molina"]


def test_names_and_sums_that_say_nothing_are_refused(tmp_path):
    with pytest.raises(DataError, match="The nearest form is margins"):
        suggested(tmp_path, tenure(("Aymara", "Quechua", "Guarani")))


def test_contests_whose_votes_add_up_are_called_by_their_office(tmp_path):
    rng = np.random.default_rng(1)
    groups = rng.integers(40, 600, (30, 2))
    frame = pd.DataFrame({"ward": [f"W{k}" for k in range(30)], "black": groups[:, 0], "white": groups[:, 1]})
    for office in ("Mayor", "Sheriff"):
        first = rng.binomial(groups.sum(axis=1), 0.4)
        frame[f"{office} - Ames"], frame[f"{office} - Voss"] = first, groups.sum(axis=1) - first
    assert [contest["name"] for contest in guessed(tmp_path, frame).contests] == ["Mayor", "Sheriff"]


def written(tmp_path, *frames):
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
    return [tmp_path / f"{k}.csv" for k in range(len(frames))]


def test_sums_are_compared_unit_by_unit_whatever_the_order(tmp_path):
    frame = votes(20)
    paths = written(tmp_path, frame[["precinct", "yes", "no"]], frame[["precinct", "young", "old"]].iloc[::-1])
    found = guess_two(*map(profile_file, paths))
    assert "mismatch" not in found.data
    assert found.data["groups_file"] == str(tmp_path / "1.csv")


def test_fewer_votes_than_people_offer_abstention(tmp_path):
    frame = votes(20)
    half = (frame[["yes", "no"]] * 0.5).round()
    paths = written(tmp_path, frame[["precinct", "young", "old"]], half.assign(precinct=frame["precinct"], total=5))
    found = suggest_problem(paths, tmp_path / "p.toml")
    assert found.guess.data["mismatch"] == "no_vote"
    assert found.guess.unused == {"total": "a total that isn't needed"}
    assert list(found.read[0]["outcomes"]) == ["yes", "no", "no vote"]


def test_contests_of_the_second_file_are_found(tmp_path):
    frame = votes(20)
    other = frame[["precinct"]].assign(dem_16=frame["yes"], rep_16=frame["no"], dem_20=frame["no"], rep_20=frame["yes"])
    found = suggest_problem(written(tmp_path, frame[["precinct", "young", "old"]], other), tmp_path / "p.toml")
    assert [c["name"] for c in found.guess.contests] == ["16", "20"]
    assert found.read[1]["outcomes"]["dem 20"] == frame["no"].sum()
