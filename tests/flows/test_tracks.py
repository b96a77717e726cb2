"""Tracks: read from columns, cut by index, refused where they don't fit."""

from __future__ import annotations

import numpy as np

from messages import raises
from sumwise.errors import DataError
from sumwise.flows import Tracks


def test_tracks_are_read_and_cut():
    frame = {"a": ["p", "q", "r"], "t": [1, 2, 1], "b": ["q", "q", "p"], "u": [2, 3, 3]}
    tracks = Tracks.from_frame(frame, "a", "t", "b", "u")
    assert len(tracks) == 3
    assert tracks[np.array([0, 2])].to_place == ("q", "p")
    assert tracks[1:].from_time == (2, 1)


def test_no_tracks_and_uneven_ones_are_refused():
    with raises(DataError, "no-tracks"):
        Tracks([], [], [], [])
    with raises(DataError, "lengths-differ-entry"):
        Tracks([1], [1, 2], [1], [1])
