"""Plane geometry of maps: which moves cross a line, and centroids of polygons."""

from __future__ import annotations

from typing import Any

import numpy as np


def crossings(begin: np.ndarray, finish: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which moves from `begin` to `finish` (..., 2) cross the segment from `a` to `b`: 1 from its left, -1, or 0."""
    left, then = _turn(a, b, begin) > 0, _turn(a, b, finish) > 0
    first, second = (_turn(begin, finish, p) for p in (a, b))
    inside = (first > 0) != (second > 0)
    return np.where((left != then) & inside, np.where(left, 1, -1), 0)


def _turn(a: np.ndarray, b: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Twice the signed area of the triangle a, b, p."""
    return (b[..., 0] - a[..., 0]) * (p[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (p[..., 0] - a[..., 0])


def rings(geometry: dict[str, Any]) -> list[list[np.ndarray]]:
    """Outer and inner rings of a GeoJSON polygon or multipolygon, as arrays of points."""
    parts = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return [[np.asarray(ring, dtype=float)[:, :2] for ring in part] for part in parts]


def centroid_and_area(geometry: dict[str, Any]) -> tuple[np.ndarray, float]:
    """Centroid (x, y) and area of a GeoJSON point, polygon or multipolygon, in its own units; holes are taken off."""
    if geometry["type"] == "Point":
        return np.asarray(geometry["coordinates"], dtype=float)[:2], 0.0
    total, moment = 0.0, np.zeros(2)
    for part in rings(geometry):
        for k, ring in enumerate(part):
            p, q = ring[:-1], ring[1:]
            cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
            sign = np.sign(cross.sum()) * (1.0 if k == 0 else -1.0)
            total += 0.5 * sign * cross.sum()
            moment += sign * ((p + q) * cross[:, None]).sum(axis=0) / 6.0
    return moment / total, float(total)
