"""Words that all reports share."""

import pytest

from sumwise.fit import Fit
from sumwise.report.context import Context, _curve, listed, plural


@pytest.mark.parametrize(
    ("names", "words"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c"), (list("abcde"), "a, b and 3 others")],
)
def test_names_become_a_phrase(names, words):
    assert listed(names) == words


def test_numbers_take_their_noun():
    assert plural(1, "unit") == "1 unit"
    assert plural(1200, "person", "people") == "1,200 people"


@pytest.mark.parametrize(("values", "words"), [([3.0, 1.0], "lower is better"), ([1.0, 3.0], "higher is better")])
def test_an_objective_has_a_direction(values, words):
    curve = _curve(Fit(history={"objective": values}))
    assert curve is not None
    assert words in curve[0]
    assert _curve(Fit(history={"objective": [1.0]})) is None


def test_features_are_called_by_their_display_names():
    names = {"age_grp": "age group", "age_grp = 55+": "55 and over", "bmi": "body mass index"}
    context = Context(None, None, names=names)
    columns = ["age_grp", "bmi", "a=b"]
    shown = [context.feature_name(name, columns) for name in ("bmi", "age_grp=55+", "age_grp=18-34", "a=b", "a=b=c")]
    assert shown == ["body mass index", "age group = 55 and over", "age group = 18-34", "a=b", "a=b = c"]
