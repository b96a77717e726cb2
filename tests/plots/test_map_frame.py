"""What all maps share: outlines, a scale bar, projections."""

from __future__ import annotations

import numpy as np
import pytest

from flow_cases import OUTLINES, six_places
from sumwise import diagnostics
from sumwise.plots import plot_map_flows
from sumwise.plots.map_frame import rings


def test_outlines_and_scale_bar_are_drawn_in_degrees_and_projected():
    flow = six_places()
    numbers = diagnostics.flow_frames(flow)[0]
    ax = plot_map_flows(numbers, OUTLINES)
    assert len(ax.lines) == 3  # two outlines and the bar
    start, end = ax.lines[-1].get_xdata()
    middle = np.cos(np.radians(32.5))
    length = float(ax.texts[0].get_text().removesuffix(" km"))
    assert (end - start) * 111.195 * middle == pytest.approx(length, rel=1e-3)
    pytest.importorskip("pyproj")
    flat = plot_map_flows(numbers, OUTLINES, projection="EPSG:5070")
    assert flat.get_xlabel() == "east (km)"
    start, end = flat.lines[-1].get_xdata()
    assert (end - start) / 1000 == pytest.approx(float(flat.texts[0].get_text().removesuffix(" km").replace(",", "")))


def test_rings_leave_out_what_is_no_polygon():
    assert len(rings({"features": [{"geometry": {"type": "Point", "coordinates": [0, 0]}}, {"geometry": None}]})) == 0
    assert len(rings(OUTLINES)) == 2
    assert rings(None) == []
