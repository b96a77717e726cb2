"""The columns of long files: by names, by what adds up, and never where nothing does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError
from sumwise.recognise.initialise import suggest_problem
from sumwise.recognise.margins.long_columns import combined, long_columns, side_names
from sumwise.recognise.profile_file import profile_file
from sumwise.study.families import study_of
from sumwise.study.problem import Problem

WORDS = {
    "French": (["bureau", "marge", "code", "voix"], "ligne", "colonne"),
    "Spanish": (["casilla", "tipo", "partido", "votos"], "grupo", "candidato"),
    "German": (["Wahlbezirk", "Seite", "Merkmal", "Anzahl"], "Gruppe", "Partei"),
    "Portuguese": (["seção", "dimensão", "opção", "votos"], "raça", "voto"),
    "unknown": (["aa", "bb", "cc", "dd"], "x1", "x2"),
}


def long_frame(names, first, second, options=(("white", "black"), ("dem", "rep", "non")), seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(8):
        cells = rng.integers(5, 60, (len(options[0]), len(options[1])))
        sides = ((first, options[0], cells.sum(axis=1)), (second, options[1], cells.sum(axis=0)))
        lines += [(f"P{k}", side, str(o), v) for side, given, sums in sides for o, v in zip(given, sums.tolist())]
    return pd.DataFrame(lines, columns=names)


def read(problem):
    study = study_of(problem)
    study.read()
    return study.margins


@pytest.mark.parametrize("language", WORDS)
def test_a_long_file_is_known_whatever_its_headers(tmp_path, language):
    names, first, second = WORDS[language]
    frame = long_frame(names, first, second)
    frame[[names[3], names[2], names[0], names[1]]].sample(frac=1, random_state=1).to_csv(
        tmp_path / "a.csv", index=False
    )
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    margins = read(Problem.parse(found.text, found.path))
    sums = frame.groupby(names[2])[names[3]].sum()
    assert dict(zip(margins.row_names, margins.rows.sum(axis=0))) == {"white": sums["white"], "black": sums["black"]}
    assert set(margins.col_names) == {"dem", "rep", "non"}
    assert any(f"{names[0]} (unit), {names[1]} (side), {names[2]} (option)" in line for line in found.guess.ask)


def test_codes_of_both_sides_are_not_taken_for_units_by_what_adds_up(tmp_path):
    frame = long_frame(["aa", "bb", "cc", "dd"], "u", "v", (range(3), range(4)))
    frame["aa"] = frame["aa"].str[1:]
    frame.to_csv(tmp_path / "a.csv", index=False)
    found, by_sums = long_columns(profile_file(tmp_path / "a.csv"))
    assert [c.name for c in found] == ["aa", "bb", "cc", "dd"]
    assert by_sums
    assert side_names(found[1], found[2])[2] is False
    assert len(np.unique(combined([found[0], found[1]]))) == 16


def test_sides_that_do_not_add_up_are_no_long_file(tmp_path):
    frame = long_frame(["aa", "bb", "cc", "dd"], "u", "v")
    frame["dd"] = np.random.default_rng(0).integers(5, 60, len(frame))
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert long_columns(profile_file(tmp_path / "a.csv")) is None


def test_people_with_columns_that_are_mostly_zero_are_no_long_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"weight": rng.integers(0, 900, 300), "sex": rng.choice(["m", "f"], 300)})
    frame["gain"] = np.where(rng.random(300) < 0.05, rng.integers(1, 99, 300), 0)
    frame["loss"] = np.where(rng.random(300) < 0.05, rng.integers(1, 99, 300), 0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert long_columns(profile_file(tmp_path / "a.csv")) is None


def test_areas_with_the_same_options_are_part_of_the_unit(tmp_path):
    names = ["precinct", "side", "option", "votes"]
    frame = pd.concat(
        [long_frame(names, "group", "vote", seed=k).assign(county=f"C{k}") for k in range(2)], ignore_index=True
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
    assert found.guess.columns["unit"] == ["county", "precinct"]
    assert not found.guess.contests
    assert read(Problem.parse(found.text, found.path)).units.tolist()[8] == "C1 / P0"


def test_shares_in_place_of_votes_are_refused(tmp_path):
    frame = long_frame(["unit", "side", "option", "share"], "row", "col")
    frame["share"] /= frame.groupby(["unit", "side"])["share"].transform("sum")
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match="share of a unit and side sum to 1: shares, and no column says of how many"):
        suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
