"""The largest coefficients: order, names, and how many are left out."""

import pandas as pd

from sumwise.plots import plot_coefficients


def test_the_largest_come_first_and_the_rest_are_counted():
    frame = pd.DataFrame({"class": 1, "feature": [f"x{k}" for k in range(30)], "coefficient": range(-10, 20)})
    ax = plot_coefficients(frame)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert (len(names), names[0]) == (24, "x29")
    assert ax.get_title() == "the 24 largest of 30 coefficients"


def test_classes_that_are_numbers_are_called_classes():
    frame = pd.DataFrame({"class": [0, 1], "feature": ["a", "a"], "coefficient": [0.5, -1.0]})
    assert [label.get_text() for label in plot_coefficients(frame).get_yticklabels()] == ["class 1: a", "class 0: a"]
    tables = pd.DataFrame({"table": [("a", "b")], "levels": [("x", "y")], "class": ["yes"], "coefficient": [0.5]})
    assert plot_coefficients(tables).get_yticklabels()[0].get_text() == "a, b: x, y"
