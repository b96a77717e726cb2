"""Tracks: read from columns, cut by index, refused where they don't fit."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.flows import Tracks


def test_tracks_are_read_and_cut():
    frame = {"a": ["p", "q", "r"], "t": [1, 2, 1], "b": ["q", "q", "p"], "u": [2, 3, 3]}
    tracks = Tracks.from_frame(frame, "a", "t", "b", "u")
    assert len(tracks) == 3
    assert tracks[np.array([0, 2])].to_place == ("q", "p")
    assert tracks[1:].from_time == (2, 1)


def test_no_tracks_and_uneven_ones_are_refused():
    with pytest.raises(DataError, match="no tracks"):
        Tracks([], [], [], [])
    with pytest.raises(DataError, match="Lengths differ"):
        Tracks([1], [1, 2], [1], [1])
