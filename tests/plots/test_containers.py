"""Every container and estimate draws itself, on given axes too."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from messages import raises
from sumwise import Bags, Estimate, Margins, Tables
from sumwise.ecological import Bounds
from sumwise.errors import DataError
from sumwise.flows import CountsOverTime
from sumwise.plots import plot_containers

RNG = np.random.default_rng(0)
ROWS = {"a": [0, 1, 1], "b": [0, 0, 1], "y": [0, 1, 1]}
DATA = {
    "tomography": Margins([[80, 20], [30, 70]], [[70, 30], [40, 60]]),
    "scatter": Margins([[80, 20], [30, 70]], [[50, 30, 20], [40, 40, 20]]),
    "bags": Bags.from_arrays([RNG.normal(size=(5, 2)) for _ in range(4)]),
    "tables": Tables.from_frame(ROWS, ["a", "b"], label="y"),
    "counts": CountsOverTime([[9, 1], [4, 6], [2, 8]], places=["north", "south"]),
}


@pytest.mark.parametrize("name", list(DATA))
def test_data_plot_draws_on_the_axes_it_is_given(name):
    figure, ax = plt.subplots()
    assert DATA[name].plot(ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    plt.close(figure)


def test_options_choose_group_and_features():
    assert DATA["tomography"].plot(row=1, col=0).get_xlabel() == "share of row1 in the unit"
    assert "x1" in DATA["bags"].plot(x=0, y=1).get_ylabel() or "1" in DATA["bags"].plot(x=0, y=1).get_ylabel()
    with raises(DataError, "no-figure-margins", "list"):
        plot_containers([1])


def test_estimates_draw_intervals_with_and_without_bounds():
    flat = Estimate([0.5, 0.2], [0.4, 0.1], [0.6, 0.3], 0.95, labels=[["f", "m"]], axes=["sex"], name="share")
    assert [t.get_text() for t in flat.plot().get_yticklabels()] == ["f", "m"]
    assert Bounds().fit(DATA["scatter"]).plot().get_xlabel() == "share of the group"
    with raises(DataError, "estimate-axes-no", 3):
        Estimate(np.zeros((2, 2, 2))).plot()


def test_models_draw_the_main_figure_of_their_report():
    m = DATA["tomography"]
    figure, ax = plt.subplots()
    assert Bounds().fit(m).plot(m, ax=ax) is ax
    plt.close(figure)
