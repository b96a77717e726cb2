"""Mean embedding: a logistic regression on bag means, equal to scikit-learn's for bags of one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sumwise import Bags
from sumwise.proportions import MeanEmbeddingClassifier


def test_bags_of_one_are_a_logistic_regression():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 2))
    labels = (values[:, 0] + rng.normal(size=80) > 0).astype(int)
    clf = MeanEmbeddingClassifier(penalty=0.5, tol=1e-8).fit(Bags(values, np.arange(81)), labels)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(values, labels)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(clf.intercept_, theirs.intercept_, atol=1e-5)


def test_only_means_and_sizes_matter():
    means = np.array([[0.0], [1.0], [2.0]])
    apart = Bags.from_arrays([m + np.array([[-3.0], [3.0]]) for m in means])
    close = Bags.from_arrays([m + np.array([[-0.1], [0.1]]) for m in means])
    one, two = (MeanEmbeddingClassifier(penalty=1.0).fit(b, [0, 1, 2]) for b in (apart, close))
    assert one.coef_[0, 0] == pytest.approx(two.coef_[0, 0])
