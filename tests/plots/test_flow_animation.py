"""A season as an animated picture."""

from __future__ import annotations

from PIL import Image

from flow_cases import OUTLINES, six_places
from messages import raises
from sumwise import plots
from sumwise.errors import DataError
from sumwise.plots import animate_flows


def test_an_animation_has_a_picture_per_step(tmp_path):
    frames = plots.flow_frames(six_places())
    path = animate_flows(frames, tmp_path / "season.gif", outlines=OUTLINES, dpi=30)
    with Image.open(path) as picture:
        assert picture.n_frames == 2
    with raises(DataError, "no-frames-animate"):
        animate_flows([], tmp_path / "none.gif")
    with raises(DataError, "animation-written-gif"):
        animate_flows(frames, tmp_path / "season.png")
