"""Models of tables as scikit-learn classifiers of rows."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss

from messages import raises
from sumwise import DataError, synthetic
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables


@pytest.mark.parametrize("kind", [MaxEntClassifier, NaiveBayesTables])
def test_displays_scores_and_probabilities_are_those_of_the_model(kind):
    example = synthetic.xor(2000, random_state=0)
    frame, y = example.frame(), example.labels
    model = kind().fit(example.tables)
    rows = model.individuals()
    assert is_classifier(rows)
    assert clone(rows).fit(frame, y) is rows
    assert rows.score(frame, y) == np.mean(model.predict(frame) == y)
    assert model.score(frame, y) == pytest.approx(-log_loss(y, model.predict_proba(frame)))
    drawn = CalibrationDisplay.from_estimator(rows, frame, y, n_bins=4)
    assert np.abs(drawn.prob_true - drawn.prob_pred).max() < 0.3


def test_labels_must_be_classes_one_for_each_row():
    example = synthetic.xor(200, random_state=0)
    model = NaiveBayesTables().fit(example.tables)
    with raises(DataError, "labels-rows-each", 1, 200):
        model.score(example.frame(), [0])
    with raises(DataError, "there-is-no", "class", 7):
        model.score(example.frame().head(1), [7])
