"""Histories of fits as numbers."""

from sumwise.diagnostics import training_curve
from sumwise.fit import Fit


def test_course_takes_the_entry_asked_for():
    numbers = training_curve({"a": Fit(history={"gap": [2, 1]}), "b": Fit(history={"gap": [5]})}, "gap")
    assert numbers["names"] == ["a", "b"]
    assert [v.tolist() for v in numbers["values"]] == [[2.0, 1.0], [5.0]]
