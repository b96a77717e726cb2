"""Histories of fits as numbers."""

from sumwise.fit import Fit
from sumwise.plots import training_numbers


def test_course_takes_the_entry_asked_for():
    numbers = training_numbers({"a": Fit(history={"gap": [2, 1]}), "b": Fit(history={"gap": [5]})}, "gap")
    assert numbers["names"] == ["a", "b"]
    assert [v.tolist() for v in numbers["values"]] == [[2.0, 1.0], [5.0]]
