"""What all bag classifiers answer: probabilities, counts, posteriors, score, and their refusals."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(200, 2)), np.arange(0, 201, 10))
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], size=20)
    return CardinalityClassifier(penalty=1.0).fit(bags, counts), bags, counts


def test_probabilities_counts_and_posteriors_add_up(fitted):
    clf, bags, counts = fitted
    probs = clf.predict_proba(bags.values)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.predict(bags), probs.argmax(axis=1))
    np.testing.assert_allclose(clf.predict_counts(bags), probs.reshape(20, 10, 3).sum(axis=1))
    np.testing.assert_allclose(clf.posterior(bags, counts).reshape(20, 10, 3).sum(axis=1), counts, atol=1e-9)
    assert clf.score(bags, counts) < 0


def test_counts_follow_weights_and_empty_bags(fitted):
    clf, _, _ = fitted
    bags = Bags(np.zeros((3, 2)), np.array([0, 0, 3]), np.array([1.0, 2.0, 3.0]))
    counts = clf.predict_counts(bags)
    np.testing.assert_array_equal(counts[0], 0.0)
    assert counts[1].sum() == pytest.approx(6.0)


def test_unfitted_and_mismatched_use_is_refused(fitted):
    clf, bags, counts = fitted
    with pytest.raises(NotFittedError):
        CardinalityClassifier().predict(np.zeros((1, 2)))
    with pytest.raises(DataError, match="X has 3 features; the classifier was fitted on 2"):
        clf.predict(np.zeros((1, 3)))
    with pytest.raises(DataError, match="NaN or infinite"):
        clf.predict([[np.nan, 1.0]])
    with pytest.raises(DataError, match=r"X has shape \(2,\)"):
        clf.predict([1.0, 2.0])
    with pytest.raises(DataError, match="The counts have 2 classes; the classifier was fitted on 3"):
        clf.score(bags, counts[:, 0])


def test_a_matrix_counts_as_one_bag(fitted):
    clf, bags, counts = fitted
    one, total = Bags(bags.values, np.array([0, 200])), counts.sum(axis=0, keepdims=True)
    np.testing.assert_array_equal(clf.predict_counts(bags.values), clf.predict_counts(one))
    np.testing.assert_array_equal(clf.posterior(bags.values, total), clf.posterior(one, total))
    assert clf.score(bags.values, total) == clf.score(one, total)
    with pytest.raises(NotFittedError):
        CardinalityClassifier().predict_counts(bags)
