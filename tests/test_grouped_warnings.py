"""Warnings of many fits in one line each."""

import warnings

import pytest

from sumwise.errors import ModelWarning, NotConverged
from sumwise.grouped_warnings import group_warnings


def test_each_kind_is_issued_once_with_its_number():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with group_warnings():
            for left in (3, 2, 1):
                warnings.warn(f"{left} left", NotConverged, stacklevel=1)
            warnings.warn("few units", ModelWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["3 left (and 2 more like it)", "few units"]


def test_errors_pass_through():
    with pytest.raises(ZeroDivisionError), group_warnings():
        _ = 1 / 0
