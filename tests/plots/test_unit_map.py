"""Maps of units."""

from __future__ import annotations

from messages import raises
from sumwise import synthetic
from sumwise.ecological import EcologicalEM
from sumwise.errors import DataError
from sumwise.plots import plot_unit_map
from sumwise.report import report

SHAPES = [[[[k, 0], [k + 1, 0], [k + 1, 1], [k, 1], [k, 0]]] for k in range(29)]
SHAPES.append([[[29, 0], [30, 0], [30, 1], [29, 0]], [[31, 0], [32, 0], [31, 1], [31, 0]]])  # two triangles


def test_colours_are_even_around_zero_and_missing_is_grey():
    import matplotlib.pyplot as plt

    numbers = {"shapes": SHAPES[:3], "values": [-0.1, None, 0.3], "units": ["a", "$b", "c"], "label": "x"}
    ax = plot_unit_map({**numbers, "what": "residual"})
    drawn = ax.collections[0]
    assert drawn.get_clim() == (-0.3, 0.3)
    assert drawn.get_array().mask.tolist() == [False, True, False]
    plt.close(ax.figure)


def test_report_has_maps_where_shapes_are_given():
    m = synthetic.precincts(30, 2, 2, random_state=0).margins
    found = report(EcologicalEM().fit(m), m, shapes=SHAPES)
    maps = [f for f in found.figures if f.plot == "unit_map"]
    assert [f.numbers["what"] for f in maps] == ["share", "share", "uncertainty", "residual"]
    assert maps[0].svg().startswith("<svg")
    with raises(DataError, "shapes-units-use", 3, 30):
        report(EcologicalEM().fit(m), m, shapes=SHAPES[:3])
