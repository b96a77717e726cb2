"""A season as an animated picture."""

from __future__ import annotations

import pytest
from PIL import Image

from flow_cases import OUTLINES, six_places
from sumwise import plots
from sumwise.errors import DataError
from sumwise.plots import animate_flows


def test_an_animation_has_a_picture_per_step(tmp_path):
    frames = plots.flow_frames(six_places())
    path = animate_flows(frames, tmp_path / "season.gif", outlines=OUTLINES, dpi=30)
    with Image.open(path) as picture:
        assert picture.n_frames == 2
    with pytest.raises(DataError, match="no frames"):
        animate_flows([], tmp_path / "none.gif")
    with pytest.raises(DataError, match="written as GIF"):
        animate_flows(frames, tmp_path / "season.png")
