"""Contests: built from ids and margins, checked, copied and saved."""

import copy

import pytest

import sumwise
from messages import raises
from sumwise import Contests, Margins
from sumwise.errors import DataError, UnknownName

NORTH = Margins([[60, 40], [10, 90]], [[55, 45], [30, 70]], row_names=["a", "b"], col_names=["yes", "no"])
SOUTH = Margins([[20, 30, 5]], [[25, 30]], row_names=["a", "b", "c"], col_names=["Smith", "Jones"])


def test_contests_keep_ids_in_order_and_count_units():
    contests = Contests({"south": SOUTH, "north": NORTH}, elections={"south": 2020, "north": 2020})
    assert contests.ids == ("south", "north")
    assert list(contests) == ["south", "north"]
    assert contests.n_units == 3
    assert contests["north"] is NORTH
    assert contests.election_of("north") == 2020
    facts = contests.describe()
    assert facts["groups in all contests"] == ["a", "b"]
    assert facts["groups in some contests"] == ["c"]
    assert facts["elections"] == 1


def test_parties_by_outcome_are_put_in_the_order_of_columns():
    contests = Contests({"s": SOUTH}, parties={"s": {"Jones": "Green"}}, align="party")
    assert contests.parties == {"s": (None, "Green")}


def test_contests_survive_saving_and_copying(tmp_path):
    contests = Contests({"n": NORTH, "s": SOUTH}, parties={"s": ["Red", None]})
    sumwise.save(contests, tmp_path / "c.sumwise")
    assert sumwise.load(tmp_path / "c.sumwise") == contests
    assert copy.deepcopy(contests) == contests
    assert contests != Contests({"n": NORTH})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Contests([NORTH]), DataError, ("contests-take-mapping",)),
        (lambda: Contests({}), DataError, ("no-contests-least",)),
        (lambda: Contests({"n": 3}), DataError, ("contest-type-not", "n", "int")),
        (lambda: Contests({"n": NORTH}, align="magic"), DataError, ("is-takes", "align")),
        (lambda: Contests({"n": NORTH}, align="party"), DataError, ("align-party-no",)),
        (lambda: Contests({"n": NORTH}, parties={"m": ["a", "b"]}), UnknownName, ("names-contest-isnt", "m")),
        (lambda: Contests({"n": NORTH}, parties={"n": ["a"]}), DataError, ("contest-outcomes-parties", 2, 1)),
        (lambda: Contests({"n": NORTH}, parties={"n": ["a", "a"]}), DataError, ("contest-two-outcomes", "a")),
        (lambda: Contests({"n": NORTH}, parties={"n": {"maybe": "a"}}), UnknownName, ("parties-contest-name", "maybe")),
        (lambda: Contests({"n": NORTH, "s": SOUTH}, elections={"n": 1}), DataError, ("elections-no-entry", 1, 2)),
        (lambda: Contests({"n": NORTH}, elections=[1]), DataError, ("type-mapping-contest", "elections", "list")),
        (lambda: Contests({"n": NORTH})["x"], UnknownName, ("no-contest", "x")),
    ],
)
def test_bad_contests_are_refused_in_words(make, error, words):
    with raises(error, *words):
        make()
