"""Energy: names and a function."""

from __future__ import annotations

from messages import raises
from sumwise import DataError
from sumwise.collective import Energy


def test_attributes_become_a_tuple():
    assert Energy("a", lambda z: (0.0, z)).attributes == ("a",)
    assert Energy(["a", "b"], lambda z: (0.0, z)).attributes == ("a", "b")


def test_what_is_no_function_is_refused():
    with raises(DataError, "function-energy-counts", 3):
        Energy("a", 3)
