"""Rules: codes by hand, the fixed hashes, and every check."""

import hashlib
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises
from sumwise.encoding.rules import PRIME, Cross, Cuts, Hashed, Levels, Target, cross_cell, text_cell
from sumwise.errors import DataError


def slow_cross_cell(codes, cells, salt):
    """The documented formula in Python's own integers."""
    x = (69621 * salt + 1) % PRIME
    for c in codes:
        x = (1103515245 * x + c + 1) % PRIME
    return pow(x, 5, PRIME) % cells


@given(st.lists(st.integers(0, 2**31 - 2), min_size=1, max_size=4), st.integers(1, 10**6), st.integers(0, 1000))
def test_cross_cell_equals_formula_in_big_integers(codes, cells, salt):
    assert cross_cell([[c] for c in codes], cells, salt)[0] == slow_cross_cell(codes, cells, salt)


def test_cross_cell_spreads_evenly():
    a, b = np.meshgrid(np.arange(100), np.arange(100))
    filled = np.bincount(cross_cell([a.ravel(), b.ravel()], cells=50), minlength=50)
    chi2 = np.sum((filled - 200) ** 2 / 200)
    assert chi2 < 49 + 5 * np.sqrt(2 * 49)


def test_cross_cell_other_salt_other_hash():
    a = np.arange(1000)
    assert np.mean(cross_cell([a, a], 100) == cross_cell([a, a], 100, salt=1)) < 0.05


def test_text_cell_is_md5():
    expected = int(hashlib.md5("7:Zürich".encode()).hexdigest()[:8], 16) % 13
    assert text_cell("Zürich", 13, salt=7) == expected


def test_levels_codes_with_other_and_missing():
    rule = Levels("c", ("a", "b"), other="other", missing="missing")
    codes = rule.codes(pd.Series(["b", None, "z", "a", np.nan]))
    assert codes.tolist() == [1, 3, 2, 0, 3]
    assert rule.levels == ("a", "b", "other", "missing")


def test_levels_unseen_goes_to_missing_where_there_is_no_other():
    assert Levels("c", ("a",), missing="none").codes(pd.Series(["z", None])).tolist() == [1, 1]


def test_levels_missing_goes_to_other_where_there_is_no_missing():
    assert Levels("c", ("a",), other="rest").codes(pd.Series(["z", None])).tolist() == [1, 1]


def test_levels_without_extra_levels_give_minus_one():
    assert Levels("c", ("a",)).codes(pd.Series(["z", None, "a"])).tolist() == [-1, -1, 0]


@pytest.mark.parametrize(
    "raw",
    [
        pd.Series([3, 1, 3]),
        pd.Series([3.0, 1.0, 3.0]),
        pd.Series([3, 1, 3], dtype="Int64"),
        pd.Series([3, 1, 3], dtype="category"),
        pd.Series([3, 1, 3], dtype=object),
        pd.Series([3, 1, 3], dtype=np.uint8),
    ],
)
def test_levels_of_numbers_match_by_value_not_type(raw):
    assert Levels("c", (1, 3)).codes(raw).tolist() == [1, 0, 1]


def test_levels_true_is_not_one():
    assert Levels("c", (0, 1)).codes(pd.Series([True, False])).tolist() == [-1, -1]
    assert Levels("c", (False, True)).codes(pd.Series([True, False])).tolist() == [1, 0]


def test_levels_empty_column_gives_no_codes():
    assert Levels("c", ("a",)).codes(pd.Series([], dtype=object)).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", ("a",)), ("column-name-must",)),
        (("c", ("a", 1)), ("column-mixes-levels", "number and text")),
        (("c", ("a", "a")), ("column-level-twice", "a")),
        (("c", ("a", None)), ("level-missing-name",)),
        (("c", ("other",), "other"), ("column-already-level", "other")),
        (("c", ("a",), "x", "x"), ("column-already-level", "x")),
        (("c", ("a",), 3), ("name-extra-level",)),
        (("c", ()), ("column-no-level",)),
    ],
)
def test_levels_refuse(arguments, words):
    with raises(DataError, *words):
        Levels(*arguments)


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=20),
    st.lists(st.floats(-50, 50), unique=True, max_size=5),
)
def test_cuts_codes_lie_in_their_interval(values, edges):
    rule = Cuts("x", tuple(sorted(edges)))
    bounds = [-np.inf, *rule.edges, np.inf]
    for x, code in zip(values, rule.codes(pd.Series(values))):
        assert bounds[code] <= x < bounds[code + 1]
    assert len(set(rule.levels)) == len(edges) + 1


def test_cuts_close_edges_have_distinct_names():
    assert len(set(Cuts("x", (1.0000001, 1.0000002, 1.0000003)).levels)) == 4


def test_cuts_take_numbers_written_as_text():
    assert Cuts("x", (2,)).codes(pd.Series(["1", "3"])).tolist() == [0, 1]


def test_cuts_refuse_text_with_row():
    with raises(DataError, "column-values-not", 1, 3, "ten"):
        Cuts("x", (2,)).codes(pd.Series(["1", "ten", None]))


def test_cuts_refuse_complex_numbers():
    with raises(DataError, "column-holds-complex"):
        Cuts("x", (2,)).codes(pd.Series([1j]))


def test_values_that_cannot_be_hashed_are_no_levels():
    with raises(DataError, "column-holds-values-cant", "c"):
        Levels("c", ("a",)).codes(pd.Series([[1], [2]], name="c"))


def test_cuts_refuse_dates():
    with raises(DataError, "column-holds-dates"):
        Cuts("x", (2,)).codes(pd.Series(pd.to_datetime(["2020-01-01"])))


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ((2, 1), ("cut-points-must-increase",)),
        ((1, 1), ("cut-points-must-increase",)),
        ((np.inf,), ("cut-points-must",)),
        (("a",), ("cut-points-must-numbers",)),
        (3, ("cut-points-must-numbers",)),
    ],
)
def test_cuts_refuse(edges, words):
    with raises(DataError, *words):
        Cuts("x", edges)


def test_hashed_equals_text_cell_and_ignores_storage():
    whole = Hashed("x", 97, salt=3)
    expected = [text_cell("5", 97, 3), text_cell("12", 97, 3)]
    for raw in (pd.Series([5, 12]), pd.Series([5.0, 12.0]), pd.Series(["5", "12"])):
        assert whole.codes(raw).tolist() == expected


def test_hashed_missing_has_its_cell():
    assert Hashed("x", 10, missing="missing").codes(pd.Series([None, "a"]))[0] == 10
    assert Hashed("x", 10).codes(pd.Series([None, "a"]))[0] == -1


def test_hashed_refuses_fractions():
    with raises(DataError, "column-cant-hashed", "0.5"):
        Hashed("x", 10).codes(pd.Series([0.5]))


@pytest.mark.parametrize("cells", [0, -1, 2.5, True, 2**31])
def test_hashed_and_cross_refuse_cells(cells):
    with raises(DataError, "must-whole-number"):
        Hashed("x", cells)
    with raises(DataError, "must-whole-number"):
        Cross(("a", "b"), cells)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"values": ("a", "a")}, ("raw-levels-must",)),
        ({"cells": (0,)}, ("column-raw-levels", 2, 1)),
        ({"cells": (0, 5)}, ("cells-must", 1)),
        ({"names": ("x", "x")}, ("merged-levels-must",)),
        ({"unseen": "x"}, ("column-already-level", "x")),
        ({"cells": "qq"}, ("must-whole-number", "c")),
        ({"cells": (0.5, 1)}, ("must-whole-number", "c")),
    ],
)
def test_target_refuses(options, words):
    with raises(DataError, *words):
        Target(**{"column": "c", "values": ("a", "b"), "cells": (0, 1), "names": ("x", "y"), **options})


def test_target_missing_is_unseen_or_its_own():
    given_rule = {"column": "c", "values": ("a",), "cells": (0,), "names": ("x",)}
    assert Target(**given_rule).codes(pd.Series([None, "q"])).tolist() == [1, 1]
    assert Target(**given_rule, missing="missing").codes(pd.Series([None, "q"])).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("of", "words"),
    [("ab", ("cross-needs-two",)), (("a",), ("cross-needs-two",)), (("a", "a"), ("cross-names-attribute",))],
)
def test_cross_refuses(of, words):
    with raises(DataError, *words):
        Cross(of, 10)


def test_rules_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Cuts("x", (1,)).edges = ()
