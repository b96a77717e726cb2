"""Maps: arrows, routes, values, outlines, a scale bar, and degrees that are as long as they should be."""

from __future__ import annotations

import numpy as np
import pytest

from flow_cases import OUTLINES, six_places
from sumwise import plots
from sumwise.collective import Counts
from sumwise.plots import flow_numbers, plot_flows, plot_places, plot_routes
from sumwise.plots.map_frame import rings, round_numbers

WHERE = np.array([[-90.0, 59.0], [-88.0, 61.0], [-80.0, 60.0]])
TABLE = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
SQUARE = [[[-91, 58], [-79, 58], [-79, 62], [-91, 62], [-91, 58]]]


def test_outlines_and_scale_bar_are_drawn_in_degrees_and_projected():
    flow = six_places()
    numbers = plots.flow_frames(flow)[0]
    ax = plot_flows(numbers, OUTLINES)
    assert len(ax.lines) == 3  # two outlines and the bar
    start, end = ax.lines[-1].get_xdata()
    middle = np.cos(np.radians(32.5))
    length = float(ax.texts[0].get_text().removesuffix(" km"))
    assert (end - start) * 111.195 * middle == pytest.approx(length, rel=1e-3)
    pytest.importorskip("pyproj")
    flat = plot_flows(numbers, OUTLINES, projection="EPSG:5070")
    assert flat.get_xlabel() == "east (km)"
    start, end = flat.lines[-1].get_xdata()
    assert (end - start) / 1000 == pytest.approx(float(flat.texts[0].get_text().removesuffix(" km").replace(",", "")))


def test_rings_leave_out_what_is_no_polygon():
    assert len(rings({"features": [{"geometry": {"type": "Point", "coordinates": [0, 0]}}, {"geometry": None}]})) == 0
    assert len(rings(OUTLINES)) == 2
    assert rings(None) == []


def test_outlines_arrows_and_the_scale_bar_are_drawn():
    import matplotlib.pyplot as plt

    numbers = flow_numbers(Counts({}, {("a", "b"): TABLE}, 8), ("a", "b"), WHERE)
    outlines = {"features": [{"geometry": {"type": "Polygon", "coordinates": SQUARE}}]}
    ax = plot_flows(numbers, outlines)
    arrows = next(c for c in ax.collections if type(c).__name__ == "Quiver")
    assert len(arrows.U) == 2
    assert len(ax.lines) == 2  # the outline and the bar
    bar = ax.lines[1].get_xdata()
    assert (bar[1] - bar[0]) * 111.195 * 0.5 == pytest.approx(100, rel=0.01)
    assert ax.get_aspect() == pytest.approx(2.0)
    plt.close(ax.figure)


def test_every_step_of_a_route_is_a_line():
    numbers = plots.route_numbers(six_places(), 3, random_state=0)
    ax = plot_routes(numbers, OUTLINES)
    assert len(ax.collections[1].get_paths()) == 6  # three routes of two steps


def test_widths_of_intervals_are_drawn():
    wide = plots.uncertainty_numbers(six_places(), 1)
    assert np.nanmin(wide["values"]) > 0
    assert plot_places(wide, OUTLINES).get_title() == "Uncertainty at 1"


def test_places_without_a_value_are_rings():
    numbers = {"positions": [[0.0, 0.0], [1.0, 1.0]], "values": [np.nan, 2.0], "label": "sd", "title": "t"}
    ax = plot_places(numbers)
    assert [len(c.get_offsets()) for c in ax.collections[:2]] == [1, 1]


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(2.5, 3.75, [500, 1000, 2000, 5000]), (0.0, 0.0, [1]), (-1, 1, [0.1, 1, 10])]
)
def test_colour_bars_haveround_numbers(low, high, expected):
    np.testing.assert_allclose(round_numbers(low, high), expected)


def test_few_places_are_named_where_names_touch_nothing():
    names = ["Gare de l'Est", "Old Port", "Lake"]
    numbers = {"positions": WHERE, "values": [1.0, 2.0, 3.0], "label": "width", "title": "May"}
    shown = [t.get_text() for t in plot_places({**numbers, "names": names}).texts]
    assert set(names) <= set(shown)
    assert not set(names) & {t.get_text() for t in plot_places(numbers).texts}
    same = [[-90.0, 59.0], [-89.999, 59.0], [-80.0, 60.0]]
    crowded = plot_places({**numbers, "positions": same, "names": ["first place", "second place", "third"]})
    boxes = [t.get_window_extent() for t in crowded.texts if t.get_text().endswith("place")]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_no_name_covers_the_scale_bar():
    low_left = [[-90.0, 59.0], [-89.2, 59.0], [-80.0, 62.0]]
    numbers = {"positions": low_left, "values": [1.0, 2.0, 3.0], "label": "width", "title": "May"}
    ax = plot_places({**numbers, "names": ["Pankow", "Wedding", "Mitte"]})
    ax.figure.canvas.draw()
    boxes = {t.get_text(): t.get_window_extent() for t in ax.texts}
    bar = next(box for text, box in boxes.items() if text.endswith("km"))
    assert not [name for name, box in boxes.items() if box is not bar and box.overlaps(bar)]


@pytest.mark.parametrize(
    ("positions", "bar"),
    [([[10.0, 50.0]], None), ([[10.0, 50.0], [10.0, 58.0]], "2 km"), ([[10.0, 50.0], [14.0, 50.0]], "50 km")],
)
def test_a_map_of_one_place_has_no_scale_bar(positions, bar):
    numbers = {"positions": positions, "values": np.ones(len(positions)), "label": "birds", "title": "week 1"}
    said = [text.get_text() for text in plot_places(numbers).texts]
    assert said == ([] if bar is None else [bar])


def test_maps_in_degrees_show_the_land_around_them():
    from sumwise.plots.land import land

    gulf = np.array([[-95.0, 25.0], [-80.0, 35.0]])
    found = land(gulf)
    coast = np.concatenate(found)
    assert len(found)
    assert np.nanmin(np.abs(coast - [-82.8, 27.8]).sum(axis=1)) < 1.5  # Tampa lies at the sea
    assert not land(np.array([[-150.0, -40.0]]))  # the South Pacific
    east, west = (np.sort(np.concatenate(land(np.array([[lon, -17.5]])))[:, 1]) for lon in (179.0, -181.0))
    np.testing.assert_allclose(east, west)  # Fiji, by either name of its meridian


def test_places_in_plain_coordinates_have_no_land():
    numbers = {"positions": [[0.0, 50.0], [5.0, 45.0]], "values": [1.0, 2.0], "title": "t", "label": "l"}
    with_land = plots.plot_places({**numbers, "lonlat": True})
    without = plots.plot_places({**numbers, "lonlat": False})
    assert len(with_land.lines) > len(without.lines)
