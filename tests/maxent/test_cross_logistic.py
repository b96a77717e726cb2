"""The skyline on rows, and logistic regression on drawn rows."""

import numpy as np

from messages import raises
from sumwise import DataError, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, SampledLogistic, skyline


def test_skyline_learns_the_truth_that_tables_hide():
    example = synthetic.xor(20_000, random_state=0)
    top = skyline(example.tables, example.frame(), example.labels, penalty_theta=0.1)
    found = top.predict_proba({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})[:, 1]
    np.testing.assert_allclose(found, [0.25, 0.75], atol=0.03)


def test_drawn_rows_repeat_what_the_model_says():
    example = synthetic.xor(20_000, random_state=0)
    baseline = SampledLogistic(MaxEntClassifier(0.1), penalty_theta=0.1, random_state=0).fit(example.tables)
    found = baseline.predict_proba({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})[:, 1]
    np.testing.assert_allclose(found, [0.1, 0.9], atol=0.03)


def test_rows_outside_the_tables_levels_are_refused():
    tables = Tables.from_frame({"a": [0, 1, 1], "y": [0, 1, 0]}, ["a"], label="y", order=1)
    with raises(DataError, "rows-level-no", 1, 2):
        skyline(tables, {"a": [0, 7]}, [0, 1])


def test_default_penalties_are_those_of_the_model():
    example = synthetic.rows(2000, sizes=[3, 2, 4], rate=0.3, random_state=0)
    tables, frame = example.tables(), example.frame()
    default, same, other = (skyline(tables, frame, frame["label"], p) for p in (None, (1.0, 6.0), (1.0, 48.0)))
    assert np.array_equal(default.theta_, same.theta_)
    assert not np.allclose(default.theta_, other.theta_)
    model = MaxEntClassifier().fit(tables)  # divided by the scale of effects, which is below 1 here
    np.testing.assert_allclose(np.array(model.penalty_theta_) * model.fit_.effect_scale, (1.0, 6.0))


def test_words_for_penalties_are_refused():
    example = synthetic.xor(1000, random_state=0)
    with raises(DataError, "must-least", "penalty_theta"):
        skyline(example.tables, example.frame(), example.labels, "auto")
