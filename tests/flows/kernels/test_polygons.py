"""Plane geometry, against cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.flows.kernels.polygons import centroid_and_area, crossings


def test_a_segment_is_crossed_from_either_side_and_not_beyond_its_ends():
    a, b = np.array([0.0, 0.0]), np.array([0.0, 1.0])
    begin = np.array([[-1.0, 0.5], [1.0, 0.5], [-1.0, 2.0], [-2.0, 0.5]])
    finish = np.array([[1.0, 0.5], [-1.0, 0.5], [1.0, 2.0], [-1.0, 0.5]])
    assert crossings(begin, finish, a, b).tolist() == [1, -1, 0, 0]


def test_centroids_weigh_parts_by_area_whatever_their_orientation():
    unit = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    wide = [[x + 3.0, 2.0 * y] for x, y in unit][::-1]
    centre, area = centroid_and_area({"type": "MultiPolygon", "coordinates": [[unit], [wide]]})
    assert area == pytest.approx(3.0)
    np.testing.assert_allclose(centre, [(0.5 + 2 * 3.5) / 3, (0.5 + 2 * 1.0) / 3])
    assert centroid_and_area({"type": "Point", "coordinates": [1.0, 2.0]})[1] == 0.0
