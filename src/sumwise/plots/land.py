"""Outlines of the world's land for maps in longitude and latitude.

``land.json.gz`` has the countries of Natural Earth (1:110 million, public domain), merged and rounded; the package
pyogrio carries them in its tests.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.resources import files

import numpy as np

ROOM = 20.0  # degrees around the places up to which outlines are drawn: more than any margin of a map shows


@cache
def _world() -> tuple[np.ndarray, ...]:
    packed = files("sumwise.plots").joinpath("land.json.gz").read_bytes()
    return tuple(np.array(ring) for ring in json.loads(gzip.decompress(packed))["rings"])


def land(positions: np.ndarray) -> list[np.ndarray]:
    """Return outlines (n, 2) of the land around positions (L, 2) in degrees; NaN where they leave the surroundings."""
    low, high = np.min(positions, axis=0) - ROOM, np.max(positions, axis=0) + ROOM
    out = []
    for turn in (-360.0, 0.0, 360.0):  # places may lie on both sides of the 180th meridian
        for ring in _world():
            shifted = ring + np.array([turn, 0.0])
            inside = ((shifted >= low) & (shifted <= high)).all(axis=1)
            if inside.any():
                out.append(np.where(inside[:, None], shifted, np.nan))
    return out
