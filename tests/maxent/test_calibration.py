"""Calibration by a few labelled rows."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from messages import raises
from sumwise import DataError, synthetic
from sumwise.io.formats.connection import connect
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.calibration import fit_calibration


@pytest.fixture(scope="module")
def shifted():
    """A model, and people among whom the label is far more common than among those counted."""
    made = synthetic.rows(30_000, sizes=[4, 3, 5], rate=0.2, correlation=0.3, random_state=1)
    frame = made.frame()
    model = MaxEntClassifier(random_state=0).fit(made.tables())
    kept = np.random.default_rng(0).random(len(frame)) < np.where(frame["label"] == 1, 1.0, 0.2)
    return model, frame[kept].iloc[:300], frame[kept].iloc[300:]


def loss(model, frame):
    p = model.predict_proba(frame)[np.arange(len(frame)), frame["label"].to_numpy()]
    return -np.mean(np.log(p))


def test_a_few_rows_correct_how_common_the_label_is(shifted):
    model, few, rest = shifted
    better = model.calibrate(few, few["label"])
    assert loss(better, rest) < loss(model, rest) - 0.1
    assert better.calibration_[2] == pytest.approx(np.log(5.0), abs=0.4)
    assert better.predict_proba(rest)[:, 1].mean() == pytest.approx(rest["label"].mean(), abs=0.04)
    order = np.argsort(model.predict_proba(rest)[:, 1])
    assert (np.diff(better.predict_proba(rest)[order, 1]) >= -1e-12).all()
    with connect() as database:
        database.register("people", rest.head(50))
        found = database.execute(better.to_sql("people")).fetchnumpy()["probability_1"]
    assert np.abs(found - better.predict_proba(rest.head(50))[:, 1]).max() < 1e-9
    with raises(DataError, "calibrated-classifier-no"):
        better.sample(10)


def test_no_row_says_little_and_none_is_refused():
    scores = np.array([[0.0, 1.0]])
    slope, shifts = fit_calibration(scores, np.array([1]))
    assert abs(slope - 1) < 0.3
    assert abs(shifts[1]) < 0.4
    with raises(DataError, "no-rows-calibrate"):
        fit_calibration(np.zeros((0, 2)), np.zeros(0, int))


def test_scikit_learn_calibrates_the_rows_classifier(shifted):
    model, few, rest = shifted
    names = list(model.domain_.attributes)
    other = CalibratedClassifierCV(FrozenEstimator(model.individuals()), method="sigmoid").fit(few[names], few["label"])
    assert other.predict_proba(rest[names])[:, 1].mean() == pytest.approx(rest["label"].mean(), abs=0.06)
