"""Numbers as people write them: read where there is one reading, refused where there are two or none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises
from sumwise.errors import DataError
from sumwise.io.formats.numerals import STYLES, NotNumbers, is_withheld, parse_columns, styles_for


@pytest.mark.parametrize(
    ("texts", "separator", "values"),
    [
        (["1,234", "5"], ",", [1234, 5]),
        (["1,5", "5"], ";", [1.5, 5]),
        (["1.234,5", "5"], ";", [1234.5, 5]),
        (["0.234", "5.123"], ";", [0.234, 5.123]),
        (["1.234", "5"], ",", [1.234, 5]),
        (["12%", "5.5%"], ",", [0.12, 0.055]),
        (["1'234", "5.5"], ",", [1234, 5.5]),
        (["1\u202f234", "5,5"], ";", [1234, 5.5]),
        (["1e5", "-3", ".5", "5.", "+2", "007"], ",", [1e5, -3, 0.5, 5, 2, 7]),
        (["-1,234,567.5"], ",", [-1234567.5]),
    ],
)
def test_clear_numbers_are_read(texts, separator, values):
    np.testing.assert_array_equal(parse_columns({"a": texts}, separator=separator)["a"], values)


@pytest.mark.parametrize(
    ("texts", "separator", "text"),
    [
        (["1,234"], ";", "1,234"),
        (["1.234", "5"], ";", "1.234"),
        (["12%", "5"], ",", "5"),
        (["1 2"], ",", "1 2"),
        (["abc", "1,234"], ",", "abc"),
        (["1.5", "1,5"], ";", "1,5"),
        (["12,34"], ",", None),
        (["nan"], ",", "nan"),
        (["\u0661"], ",", "\u0661"),
        (["0x1"], ",", "0x1"),
        (["1_000"], ",", "1_000"),
        (["--1"], ",", "--1"),
        (["%"], ",", "%"),
    ],
)
def test_unclear_numbers_are_refused(texts, separator, text):
    if text is None:  # not grouped by three: a decimal comma
        assert parse_columns({"a": texts}, separator=separator)["a"].tolist() == [12.34]
        return
    with pytest.raises(NotNumbers) as caught:
        parse_columns({"a": texts}, separator=separator)
    assert (caught.value.column, caught.value.text) == ("a", text)


def test_columns_of_one_file_share_a_style():
    read = parse_columns({"votes": ["1,234"], "share": ["0.5"]}, separator=";")
    assert read["votes"].tolist() == [1234]


def test_a_decimal_sign_settles_it():
    assert parse_columns({"a": ["1.234"]}, decimal=",")["a"].tolist() == [1234]
    assert parse_columns({"a": ["1,234"]}, decimal=".", separator=";")["a"].tolist() == [1234]
    with raises(DataError, "decimal-leave-out", ";"):
        styles_for(";")


@given(st.integers(0, 10**9), st.integers(0, 99), st.sampled_from(STYLES))
def test_what_a_style_writes_it_reads(whole, cents, style):
    sign = style.thousands[0]
    text = f"{whole:,}".replace(",", sign) + f"{style.decimal}{cents:02d}"
    assert style.number(text) == pytest.approx(whole + cents / 100)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_is_read_to_the_bit(x):
    assert parse_columns({"a": [repr(x)]}, separator=",")["a"][0] == x


@pytest.mark.parametrize(
    ("text", "withheld"),
    [
        ("*", True),
        ("<10", True),
        ("≤ 5", True),
        ("(D)", True),
        ("s", True),
        ("12", False),
        ("n/a", False),
        ("x", False),
    ],
)
def test_marks_of_withheld_counts_are_known(text, withheld):
    assert is_withheld(text) is withheld
