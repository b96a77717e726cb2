"""Figures in the page: same bytes, text as text, ids apart."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.report.svg import arrays, draw

NUMBERS = {"names": ["<a>&", "b"], "values": [[1.0, 2.0], [2.0, 3.0]], "what": "$x_{"}


def test_names_are_text_in_well_formed_xml():
    root = ET.fromstring(draw("training_curve", NUMBERS, 'say "no" <b>'))
    texts = "".join(root.itertext())
    assert "<a>&" in texts
    assert "$x_{" in texts
    assert root.attrib["aria-label"] == 'say "no" <b>'
    assert "width" not in root.attrib  # the page scales it


def test_drawing_twice_gives_the_same_bytes_and_other_figures_other_ids():
    assert draw("training_curve", NUMBERS, "c", 1) == draw("training_curve", NUMBERS, "c", 1)
    assert draw("training_curve", NUMBERS, "c", 1) != draw("training_curve", NUMBERS, "c", 2)


@pytest.mark.parametrize("name", ["nothing", "../course", "Course", "os.path", ""])
def test_unknown_plots_are_refused(name):
    with raises(DataError, "no-plot-summary"):
        draw(name, {}, "c")


def test_lists_become_arrays_where_they_hold_numbers():
    read = arrays({"a": [[1, None]], "b": ["x"], "c": {"d": [1.5]}, "e": [[1], [1, 2]], "f": "t"})
    assert np.array_equal(read["a"], [[1, np.nan]], equal_nan=True)
    assert read["b"] == ["x"]
    assert read["c"]["d"].tolist() == [1.5]
    assert [part.tolist() for part in read["e"]] == [[1.0], [1.0, 2.0]]
    assert read["f"] == "t"


def test_marks_carry_their_values_as_titles():
    numbers = {"actual": [1.0, 2.0, 3.0], "predicted": [1.5, 2.5, 2.0], "what": "age"}
    picture = draw("predicted", numbers, "c")
    root = ET.fromstring(picture)
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["actual 1, predicted 1.5", "actual 2, predicted 2.5", "actual 3, predicted 2"]


def test_hostile_names_in_tips_are_text():
    names = {"methods": ["<b>", "x"], "groups": ["</g><script>"], "outcomes": ["a&b", "c"], "level": 0.95}
    shares = {"shares": [[[0.2, 0.8]], [[1.3, -0.3]]], "low": [[0.1, 0.7]], "high": [[0.3, 0.9]]}
    picture = draw("methods", {**names, **shares}, "c")
    assert "<script>" not in picture
    root = ET.fromstring(picture)
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "<b>, </g><script>: a&b: 20.0%"
    assert len(titles) == 4  # every marker is inside the axes, 130% and -30% too


def test_black_follows_the_page_and_nothing_hides_its_background():
    picture = draw("training_curve", NUMBERS, "c")
    assert "#000000" not in picture
    assert "currentColor" in picture
    assert "fill: #ffffff" not in picture


def test_letters_have_the_size_of_the_page_on_phones_and_desktops():
    for width, box in (("wide", (500, 900)), ("narrow", (250, 380))):
        root = ET.fromstring(draw("training_curve", NUMBERS, "c", width=width))
        assert box[0] < float(root.attrib["viewBox"].split()[2]) < box[1]


def test_maps_taller_than_wide_keep_room_for_their_labels():
    at = np.array([[lon, lat] for lon in np.arange(-100, -82, 2.5) for lat in np.arange(30, 46, 2.0)])
    moves = np.column_stack([-90 - at[:, 0], 38 - at[:, 1]]) / 3
    numbers = {"positions": at, "starts": at, "moves": moves, "counts": np.arange(1.0, len(at) + 1), "title": "week 1"}
    layout: list = []
    draw("flows", numbers, "Flows", 1, "wide", layout)
    left, _, width, height = layout[0]
    assert left > 0.08  # for the latitudes
    assert width > 0.5
    assert height > 0.5


def test_labels_are_broken_where_the_picture_is_narrow():
    numbers = {"gap": [0.2], "low": [0.1], "high": [0.3], "labels": ["a"], "level": 0.95}
    words = "group less all others (percentage points)"
    assert words in draw("polarisation", numbers, "Gaps")
    assert words not in draw("polarisation", numbers, "Gaps", width="narrow")


def test_a_list_of_many_outcomes_may_fill_a_page_on_paper():
    numbers = {"share": [[0.025] * 40] * 2, "groups": ["a", "b"], "outcomes": [f"c{k}" for k in range(40)]}
    assert 'class="tall"' in draw("share_heatmap", numbers, "Shares")
