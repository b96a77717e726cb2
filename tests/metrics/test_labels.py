"""Scores of probabilities, against scikit-learn and by hand; every refusal."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from messages import raises
from sumwise import DataError
from sumwise.metrics import auc, calibration, nllh


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 5000)
    return (rng.random(5000) < p).astype(int), p


def test_nllh_is_an_affine_log_loss(draws):
    y, p = draws
    q = y.mean()
    entropy = -(q * np.log(q) + (1 - q) * np.log(1 - q))
    assert nllh(y, p) == pytest.approx(1 - log_loss(y, p) / entropy)
    assert nllh(y, np.column_stack([1 - p, p])) == nllh(y, p)
    assert nllh(y, np.full(5000, q)) == pytest.approx(0)
    assert nllh(y, y.astype(float)) == pytest.approx(1)


def test_nllh_of_three_classes():
    assert nllh([0, 1, 2], np.full((3, 3), 1 / 3)) == pytest.approx(0)


def test_auc_equals_scikit_learn(draws):
    y, p = draws
    assert auc(y, p.round(2)) == pytest.approx(roc_auc_score(y, p.round(2)))


def test_calibration_of_true_probabilities_is_within_its_error(draws):
    found = calibration(*draws)
    assert found["n"].sum() == 5000
    assert (np.abs(found["predicted"] - found["observed"]) < 4 * found["error"]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nllh([1, 1], [0.5, 0.5]), ("all-labels-equal",)),
        (lambda: auc([1, 1], [0.5, 0.5]), ("all-labels-equal-positives",)),
        (lambda: auc([0, 1, 2], np.full((3, 3), 1 / 3)), ("area-under-curve", 3)),
        (lambda: nllh([0, 1], [0.5, 1.5]), ("probabilities-must-lie",)),
        (lambda: nllh([0, 2], [0.5, 0.5]), ("labels-go-up", 2)),
        (lambda: nllh([0, 1, 1], [0.5, 0.5]), ("lengths-differ-entry", 2)),
        (lambda: calibration([0, 1], [0.5, 0.5], bins=0), ("must-least", "bins", 0)),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with raises(DataError, *words):
        call()
