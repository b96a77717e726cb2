"""Indices of segregation against their definitions."""

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import segregation
from sumwise.errors import DataError


def test_indices_follow_their_definitions():
    rows = np.array([[30.0, 70], [80, 20], [10, 10]])
    found = segregation(Margins(rows, rows)).set_index("group")
    a, b = rows[:, 0], rows[:, 1]
    assert found.loc["row0", "dissimilarity"] == pytest.approx(0.5 * np.abs(a / 120 - b / 100).sum())
    assert found.loc["row0", "isolation"] == pytest.approx(np.sum(a / 120 * a / rows.sum(axis=1)))
    entropy = lambda p: -(p * np.log(p) + (1 - p) * np.log(1 - p))  # noqa: E731
    inside = np.sum(rows.sum(axis=1) * entropy(a / rows.sum(axis=1))) / 220
    assert found.loc["all groups", "theil_h"] == pytest.approx(1 - inside / entropy(120 / 220))
    assert found.loc["row0", "theil_h"] == pytest.approx(found.loc["all groups", "theil_h"])


def test_even_units_have_no_segregation_and_empty_ones_are_refused():
    even = segregation(Margins([[10, 10], [20, 20]], [[10, 10], [20, 20]]))
    np.testing.assert_allclose(even["theil_h"], 0.0, atol=1e-12)
    with raises(DataError, "all-units-empty"):
        segregation(Margins([[0, 0]], [[0, 0]]))
