"""Figures of fitted models, with their data and without."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Bags, Margins, Tables
from sumwise.collective import FlowModel, Movement, Places
from sumwise.distribution import BagRidge
from sumwise.ecological import Bounds
from sumwise.errors import DataError
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.proportions import MeanMap
from sumwise.report.model_figure import plot_model

WALK = np.array([[90, 10, 0], [88, 12, 0], [20, 50, 30]])


def bags(n=8):
    rng = np.random.default_rng(0)
    return Bags.from_arrays([rng.normal(k / n, 1.0, size=(6, 2)) for k in range(n)])


def test_shares_flows_and_coefficients_are_drawn_without_data():
    margins = Margins([[60, 40], [10, 90], [50, 50]], [[80, 20], [30, 70], [60, 40]])
    assert Bounds().fit(margins).plot().get_xlabel() == "share of the group"
    few = MeanMap().fit(bags(), [0, 1, 2, 3, 3, 4, 5, 6])
    assert few.plot().get_xlabel() == "coefficient of class 1 (log-odds)"
    frame = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "y": [0, 1, 1, 0] * 10}
    tables = Tables.from_frame(frame, ["a", "b"], label="y", order=1)
    assert "coefficient" in MaxEntClassifier().fit(tables).plot().get_xlabel()


def test_flows_are_a_map_or_a_matrix_of_the_step_with_most_moves():
    on_map = FlowModel(Places(lon=[0, 1, 2], lat=[50, 50, 50]), Movement(1.0)).fit(WALK)
    assert on_map.plot().get_xlabel() == "longitude"
    apart = FlowModel(Places(distances=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]), Movement(1.0)).fit(WALK)
    ax = apart.plot()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("to", "from", "1 to 2")


def test_a_model_that_has_nothing_to_draw_asks_for_its_data():
    y = np.arange(8.0)
    model = BagRidge().fit(bags(), y)
    with pytest.raises(DataError, match="BagRidge needs its data"):
        plot_model(model)


def test_a_model_whose_report_has_no_figure_shows_its_data():
    frame = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "y": [0, 1, 1, 0] * 10}
    tables = Tables.from_frame(frame, ["a", "b"], label="y", order=1)
    ax = tables.plot()
    assert NaiveBayesTables().fit(tables).plot(tables).get_xlabel() == ax.get_xlabel()


def test_a_frame_that_can_draw_itself_is_not_taken_for_the_data_of_the_fit():
    other = pd.DataFrame({"a": [1.0, 2.0]})
    frame = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "y": [0, 1, 1, 0] * 10}
    model = NaiveBayesTables().fit(Tables.from_frame(frame, ["a", "b"], label="y", order=1))
    with pytest.raises(DataError, match=r"needs its tables.*Hint: give the Tables"):
        plot_model(model, other)
    with pytest.raises(DataError, match=r"needs its margins.*Hint: give the Margins"):
        plot_model(Bounds().fit(Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])), other)
