"""The oracle is scikit-learn's logistic regression on individual labels, and splits by bag."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import Oracle, label_bags


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 2))
    labels = np.argmax(values @ rng.normal(size=(2, 3)) + rng.gumbel(size=(120, 3)), axis=1)
    return Bags(values, np.arange(0, 121, 6)), labels


@pytest.mark.parametrize("n_classes", [2, 3])
def test_oracle_is_the_regression_on_labels(sample, n_classes):
    bags, labels = sample
    labels = np.minimum(labels, n_classes - 1)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(bags.values, labels)
    clf = Oracle(penalty=0.5, tol=1e-8).fit(bags, labels)
    np.testing.assert_allclose(clf.predict_proba(bags), theirs.predict_proba(bags.values), atol=1e-5)


def test_labels_by_bag_are_the_same_and_can_be_split(sample):
    bags, labels = sample
    ragged = label_bags(bags, labels)
    np.testing.assert_array_equal(Oracle().fit(bags, ragged).coef_, Oracle().fit(bags, labels).coef_)
    assert np.isfinite(cross_val_score(Oracle(), bags, ragged, cv=2)).all()
    counts = np.array([np.bincount(part, minlength=3) for part in ragged])
    clf = Oracle().fit(bags, labels)
    assert clf.score(bags, ragged) == pytest.approx(clf.score(bags, counts))


def test_weights_count_rows_more_than_once(sample):
    bags, labels = sample
    twice = np.concatenate([np.arange(120), np.arange(6)])
    weighted = Bags(bags.values, bags.offsets, np.r_[np.full(6, 2.0), np.ones(114)])
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(bags.values[twice], labels[twice])
    clf = Oracle(penalty=1.0, tol=1e-8).fit(weighted, labels)
    np.testing.assert_allclose(clf.predict_proba(bags.values), theirs.predict_proba(bags.values), atol=1e-5)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_change_nothing(sample, unit):
    bags, labels = sample
    other = Bags(bags.values * [unit, 1.0], bags.offsets)
    np.testing.assert_allclose(
        Oracle().fit(other, labels).predict_proba(other), Oracle().fit(bags, labels).predict_proba(bags), atol=1e-9
    )


def test_labels_that_do_not_fit_are_refused(sample):
    bags, labels = sample
    with raises(DataError, "rows-labels-class", 120, 119):
        Oracle().fit(bags, labels[1:])
    with raises(DataError, "rows-labels-class", 20):
        Oracle().fit(bags, np.ones(20))
    with raises(DataError, "class-no-member-among", 2, 3, 4, 120):
        Oracle().fit(bags, np.where(labels == 2, 11, labels))
    with raises(DataError, "class-no-member-among", 1, 120):
        Oracle().fit(bags, np.zeros(120))
    with raises(DataError, "bags-type-build", "ndarray"):
        Oracle().fit(bags.values, labels)
    with raises(DataError, "labels-doesnt-entry"):
        Oracle().fit(bags, label_bags(bags, labels)[::-1][:5])
