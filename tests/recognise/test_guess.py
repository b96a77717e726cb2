"""A guess as a problem file."""

from __future__ import annotations

import tomllib

import pandas as pd

from nasty_names import NASTY_LEVELS
from sumwise.recognise import Guess, recognise
from sumwise.recognise.profile_file import profile_file
from sumwise.study import Problem
from sumwise.study.problem import value


def test_text_reads_back_whatever_the_names():
    columns = {"groups": NASTY_LEVELS, "unit": 'a "b" \\ \x7f #', "total": 1000}
    guess = Guess("ecological", 1.0, "seen", {"file": "a b.csv", "header": False}, columns, {"n": 0.5})
    guess.comments["columns", "unit"] = "two\nlines"
    guess.ask = ["profile"]
    text = guess.text()
    read = tomllib.loads(text)
    assert read["columns"] == columns
    assert read["data"] == guess.data
    assert read["options"] == {"n": 0.5}
    assert "# please check: profile" in text
    assert Problem.parse(text).family == "ecological"


def test_long_lists_stand_one_name_a_line():
    text = value([f"column {i}" for i in range(30)])
    assert text.count("\n") == 31
    assert tomllib.loads(f"a = {text}")["a"][29] == "column 29"


def test_a_surer_form_wins_over_the_refusal_of_another(tmp_path):
    units = [(u, side, k, 10) for u in range(4) for side in ("row", "col") for k in range(2)]
    pd.DataFrame(units, columns=["unit", "side", "k", "votes"]).to_csv(tmp_path / "units.csv", index=False)
    names = pd.DataFrame([(r, c, "AB"[r], "XY"[c], 7) for r in range(2) for c in range(2)])
    names.columns = ["row", "col", "row_name", "col_name", "votes"]
    names.to_csv(tmp_path / "names.csv", index=False)
    found = recognise([profile_file(tmp_path / name) for name in ("units.csv", "names.csv")])
    assert found.data["names_file"] == str(tmp_path / "names.csv")
