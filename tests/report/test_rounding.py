"""Numbers as people read them."""

from __future__ import annotations

import pytest

from sumwise.report.rounding import cell, column_digits, finding_digits, span


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (0.5, "share", "50.0%"),
        (1234.4, "count", "1,234"),
        (0.4, "count", "0.4"),
        (3, "number", "3"),
        (1e-9, "number", "1e-09"),
        (0.0123456, "number", "0.01235"),
        (12345678.5, "number", "1.23e+07"),
        (None, "share", ""),
        ("a", "share", "a"),
        (0.0, "number", "0"),
    ],
)
def test_cells_read_well(value, kind, shown):
    assert cell(value, kind) == shown


@pytest.mark.parametrize(
    ("value", "kind", "digits", "shown"),
    [
        (0.4537, "share", 0, "45%"),
        (-0.0004, "points", 0, "0 points"),
        (0.116, "distance", None, "11.6 points"),
        (0.999, "chance", None, "> 99%"),
        (0.001, "chance", None, "< 1%"),
        (6.0791, "number", 1, "6.1"),
        (0.0004, "number", 1, "0.0004"),  # never rounded to nothing
    ],
)
def test_digits_and_kinds(value, kind, digits, shown):
    assert cell(value, kind, digits) == shown


def test_bounds_are_rounded_so_that_they_still_hold():
    assert span(0.4287, 0.6312, "share", 0, outward=True) == "42% to 64%"
    assert span(0.4287, 0.6312, "share", 0) == "43% to 63%"
    assert span(0.29, 0.57, "share", 0, outward=True) == "29% to 57%"  # floating point does not widen them


def test_findings_are_rounded_to_their_interval():
    assert finding_digits({"kind": "share", "low": 0.40, "high": 0.44}) == 1
    assert finding_digits({"kind": "number", "low": 4.082, "high": 8.076}) == 1
    assert finding_digits({"kind": "count", "low": 1.0, "high": 2.0}) is None


def test_columns_share_their_digits():
    columns = [{"name": n, "kind": k} for n, k in (("a", "text"), ("n", "number"), ("x", "number"), ("s", "share"))]
    rows = [["u", 3, 0.012345, 0.5], ["v", 40, -0.2, None], ["w", None, 0.03, 0.1]]
    assert column_digits(columns, rows) == [None, None, 4, None]
