import datetime
import decimal
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from messages import raises
from sumwise import checks
from sumwise.errors import DataError, UnknownName


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1.0, np.nan]], "NaN or infinite in 1 of 2 places. First: position (0, 1) has nan"),
        ([[1.0, np.inf]], "First: position (0, 1) has inf"),
        ([["a", "b"]], "dtype <U1"),
        ([[1, None]], "contains missing, first at position (0, 1)"),
        ([[1, "2"]], "dtype"),
        (np.array([[1, "2"]], dtype=object), "contains '2', no number"),
        ([[1, 2], [3]], "can't be read as an array"),
        ([[1 + 2j]], "complex"),
        ([[True, False]], "dtype bool"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        ([[2**53 + 1, 1]], "above 2**53, first at position (0, 0)"),
        ([[10**30, 1]], "above 2**53"),
        (np.array([[2**64 - 1]], dtype=np.uint64), "above 2**53"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[0, 1]]), "masked"),
        (np.array([[pd.NA]], dtype=object), "missing"),
        ([1.0, 2.0], "has 1 dimensions"),
    ],
)
def test_finite_says_what_and_where(value, words):
    with pytest.raises(DataError) as caught:
        checks.finite(value, "rows", ndim=2)
    assert words in str(caught.value)


def test_finite_names_the_place_by_labels():
    with raises(DataError, "drop-fill-such", "b", "dem"):
        checks.finite([[1.0], [np.nan]], "rows", labels=(["a", "b"], ["dem"]))


def test_finite_copies_and_widens():
    given = np.array([[1, 2]], dtype=np.int16)
    out = checks.finite(given, "x")
    assert out.dtype == np.float64
    out[0, 0] = 9
    assert given[0, 0] == 1
    assert checks.finite(np.ones(2, np.float32), "x", keep_float32=True).dtype == np.float32


def test_nan_passes_only_where_it_means_unobserved():
    assert np.isnan(checks.counts([np.nan, 1], "c", allow_nan=True)[0])
    with raises(DataError, "use-nan-cell"):
        checks.counts([np.inf, 1], "c", allow_nan=True)


@pytest.mark.parametrize(
    ("check", "value", "words"),
    [
        (checks.counts, [1, -2], ("negative-counts-start", 1, 2, -2)),
        (checks.whole, [1.5], ("not-whole-number",)),
        (checks.positive, [0.0], ("not-above-zero-2",)),
    ],
)
def test_number_checks_fire(check, value, words):
    with raises(DataError, *words):
        check(value, "x")


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=st.floats(width=64)))
def test_counts_accepts_exactly_finite_nonnegative(x):
    legal = np.isfinite(x).all() and (x >= 0).all() and (x <= checks.LARGEST_COUNT).all()
    if legal:
        assert np.array_equal(checks.counts(x, "x"), x)
    else:
        with pytest.raises(DataError):
            checks.counts(x, "x")


def test_same_totals_lists_first_unit():
    with raises(DataError, "row-column-totals", 1, 2, "b", 5, 4):
        checks.same_totals(np.array([[1.0], [5.0]]), np.array([[1.0], [4.0]]), ["a", "b"])
    checks.same_totals(np.array([[1e12]]), np.array([[1e12 + 1]]), ["a"])  # within a relative 1e-9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["a"], ("names-columns", 1, 2)),
        (["a", "a"], ("holds-duplicates-first",)),
        ("ab", ("list-names-list",)),
        (["a", None], ("holds-not-name",)),
        ([True, 1.5], ("holds-not-name",)),
    ],
)
def test_names_refuses(given, words):
    with raises(DataError, *words):
        checks.names(given, 2, "row_names", "row")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["a", "a"], ("holds-duplicates-first", "a")),
        (["a", None], ("missing-places-first", "1 of 2")),
        ([1.0, np.nan], ("missing-places-first", "1 of 2")),
        (["a"], ("entries-units", 1, 2)),
        ("ab", ("sequence-ids",)),
        ([["a"], ["b"]], ("holds-cant-id",)),
        (5, ("sequence-ids",)),
    ],
)
def test_identifiers_refuses(given, words):
    with raises(DataError, *words):
        checks.identifiers(given, 2, "units")


def test_identifiers_keep_kind():
    assert checks.identifiers([3, 1], 2, "u").dtype.kind == "i"
    assert checks.identifiers(["001", "1"], 2, "u").tolist() == ["001", "1"]
    assert checks.identifiers([1, "1"], 2, "u").tolist() == [1, "1"]
    assert checks.identifiers(pd.Series(["x", "y"]), 2, "u").tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="read-only"):
        checks.identifiers(None, 2, "u")[0] = 1


def test_known_suggests_the_nearest():
    with raises(UnknownName, "no-did-you", "voters"):
        checks.known("voter", ["voters", "age"], "column")


def test_choice_suggests_the_nearest():
    with raises(DataError, "did-you-mean", "rescale"):
        checks.choice("rescal", "mismatch", ("raise", "rescale"))
    assert checks.choice(None, "x", (None, 1)) is None
    with pytest.raises(DataError):
        checks.choice(True, "x", (0, 1))


@pytest.mark.parametrize("value", [0, 1.5, True, "3", None, float("nan")])
def test_at_least_refuses(value):
    with raises(DataError, "must-least", 1):
        checks.at_least(value, "order", 1)


@pytest.mark.parametrize("value", [0, 1, 95, True, "0.9", None])
def test_fraction_refuses(value):
    with raises(DataError, "must-lie-between"):
        checks.fraction(value, "level")


def test_generator_takes_seeds_and_generators():
    assert checks.generator(7).random() == checks.generator(np.int64(7)).random()
    rng = np.random.default_rng(0)
    assert checks.generator(rng) is rng
    assert isinstance(checks.generator(None), np.random.Generator)
    assert checks.generator(np.random.RandomState(1)).random() == checks.generator(np.random.RandomState(1)).random()
    for bad in (-1, 1.5, "seed", True):
        with raises(DataError, "random-state-whole"):
            checks.generator(bad)


def test_same_length_tells_all_lengths():
    with raises(DataError, "lengths-differ-entry", 2, 3):
        checks.same_length(rows=[1, 2], cols=[1, 2, 3], none=None)


@pytest.mark.parametrize(
    ("index", "chosen"),
    [
        (1, 1),
        (-1, 2),
        (np.uint8(2), 2),
        (np.array(1), 1),
        ([2, 0, 0], [2, 0, 0]),
        ([-1], [2]),
        ([], []),
        (np.zeros(0), []),
        ([True, False, True], [0, 2]),
        (([0, 1], ...), [0, 1]),
        (([0, 1], slice(None)), [0, 1]),
    ],
)
def test_unit_index(index, chosen):
    assert np.array_equal(checks.unit_index(index, 3), chosen)


@pytest.mark.parametrize("index", [3, -4, [0, 3], [-4], (3, ...), np.array(7)])
def test_unit_index_out_of_range(index):
    with pytest.raises(IndexError, match="There are 3 units"):
        checks.unit_index(index, 3)


@pytest.mark.parametrize(
    "index",
    [None, True, np.True_, 1.0, "a", [0.0], ["a"], [[0, 1]], [[0], [0, 1]], [True], (), (0, 1), ([0], 0), slice("a"),
     {0}, slice(0, 2, 0)],
)  # fmt: skip
def test_unit_index_that_chooses_no_units(index):
    with raises(DataError, "units-cant-chosen|units-cant-chosen-position"):
        checks.unit_index(index, 3)


def test_names_are_distinct_as_text():
    with raises(DataError, "holds-duplicates-first", 1):
        checks.names(["1", 1], 2, "features", "x")


def test_dates_as_ids_and_decimals_as_numbers():
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    assert checks.identifiers(days, 2, "units").dtype == "datetime64[D]"
    assert checks.finite([decimal.Decimal("1.5")], "x").tolist() == [1.5]
    with raises(DataError, "holds-whole-numbers"):
        checks.finite([decimal.Decimal(2**53 + 1)], "x")
    with raises(DataError, "drop-fill-such"):
        checks.finite([decimal.Decimal("NaN")], "x")


def test_pipes_and_devices_are_refused_and_files_folders_and_nothing_pass(tmp_path):
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    for refused in (pipe, "/dev/zero"):
        with raises(DataError, "pipe-device-copy"):
            checks.ordinary_file(refused)
    for passed in (file, tmp_path, tmp_path / "none"):
        checks.ordinary_file(passed)


def test_nowhere_counts_what_is_bad_and_names_the_first_by_its_place():
    checks.nowhere(np.zeros(3, dtype=bool), "{} bags are empty", lambda i: f"bag {i}")
    bad = np.zeros((40, 50), dtype=bool)
    bad[1:, 2] = True
    with pytest.raises(DataError) as caught:
        checks.nowhere(bad, "Column 'a{b' is odd in {} cells", lambda i, j: f"row {i}, column {j}", "look.")
    assert str(caught.value) == "Column 'a{b' is odd in 39 of 2,000 cells. First: row 1, column 2. Hint: look."
    with pytest.raises(DataError, match=r"^Column '{}' is odd in 39 of 2,000 cells\. First: row 1\."):
        checks.nowhere(bad, "Column '{}' is odd in {} cells", lambda i, _: f"row {i}")
