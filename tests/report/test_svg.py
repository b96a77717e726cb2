"""Figures in the page: same bytes, text as text, ids apart."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

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
    with pytest.raises(DataError, match="no plot"):
        draw(name, {}, "c")


def test_lists_become_arrays_where_they_hold_numbers():
    read = arrays({"a": [[1, None]], "b": ["x"], "c": {"d": [1.5]}, "e": [[1], [1, 2]], "f": "t"})
    assert np.array_equal(read["a"], [[1, np.nan]], equal_nan=True)
    assert read["b"] == ["x"]
    assert read["c"]["d"].tolist() == [1.5]
    assert [part.tolist() for part in read["e"]] == [[1.0], [1.0, 2.0]]
    assert read["f"] == "t"
