"""A guess as a problem file."""

from __future__ import annotations

import tomllib

from nasty_names import NASTY_LEVELS
from sumwise.study import Problem
from sumwise.study.recognise import Guess
from sumwise.study.recognise.guess import value


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
