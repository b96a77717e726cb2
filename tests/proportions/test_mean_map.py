"""Mean maps: with bags of one they are a logistic regression; moments, gradient, refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.proportions import MeanMap
from sumwise.proportions.linear import default_penalty
from sumwise.proportions.mean_map import MomentProblem, mean_map
from sumwise.proportions.shares import bag_shares


def test_known_class_means_give_the_logistic_regression():
    """Quadrianto et al., section 2: the labels enter through class means only, and pure bags show those."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(90, 2))
    labels = (values[:, 0] + rng.normal(size=90) > 0).astype(int)
    clf = MeanMap(penalty=0.5, tol=1e-8).fit(Bags(values, np.arange(91)), labels)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(values, labels)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, atol=1e-5)


def test_three_classes_give_the_softmax_regression():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 2))
    labels = np.argmax(values @ rng.normal(size=(2, 3)) + rng.gumbel(size=(120, 3)), axis=1)
    clf = MeanMap(penalty=0.5, tol=1e-7).fit(Bags(values, np.arange(121)), np.eye(3)[labels])
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(values, labels)
    np.testing.assert_allclose(clf.predict_proba(values), theirs.predict_proba(values), atol=1e-5)


def test_moments_of_exact_mixtures_are_the_true_ones():
    rng = np.random.default_rng(2)
    parts = [np.array([[0.0, 1.0]] * int(k) + [[5.0, -2.0]] * int(10 - k)) for k in rng.integers(1, 9, 8)]
    counts = [int((p[:, 0] == 5).sum()) for p in parts]
    data = bag_shares(Bags.from_arrays(parts), counts)
    total = sum(counts)
    truth = [[0.0, 80 - total, 80 - total], [5.0 * total, -2.0 * total, total]]
    np.testing.assert_allclose(mean_map(data), truth, atol=1e-8)
    np.testing.assert_allclose(mean_map(data, laplacian=True, smoothness=1e4), truth, atol=1e-2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_matches_differences(n_classes):
    rng = np.random.default_rng(3)
    problem = MomentProblem(rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30), rng.normal(size=(n_classes, 3)), 0.3)
    theta = rng.normal(size=problem.n_params)
    _, gradient = problem.value_and_gradient(theta)
    for j in range(problem.n_params):
        step = np.zeros(problem.n_params)
        step[j] = 1e-6
        up, down = problem.value_and_gradient(theta + step)[0], problem.value_and_gradient(theta - step)[0]
        assert (up - down) / 2e-6 == pytest.approx(gradient[j], abs=1e-5)


def test_equal_shares_are_refused_by_name():
    bags = Bags(np.arange(12.0).reshape(6, 2), np.array([0, 2, 4, 6]))
    with raises(DataError, "class-shares-rank", 1, 2):
        MeanMap(penalty=1.0).fit(bags, [1, 1, 1])
    assert MeanMap(laplacian=True, penalty=1.0).fit(bags, [1, 1, 1]).coef_.shape == (1, 2)


def test_the_penalty_of_labels_is_that_of_counts_times_the_members():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(80, 2)), np.arange(5) * 20)
    counts = np.array([[8, 6, 6], [8, 6, 6], [2, 12, 6], [4, 4, 12]])
    clf = MeanMap().fit(bags, counts)
    np.testing.assert_allclose(clf.penalty_, 20 * default_penalty(bags.values))
    with raises(DataError, "class-shares-rank", 2, 3):
        MeanMap().fit(bags, counts[[0, 1, 2, 2]])
    with raises(DataError, "not-above-zero-2", "smoothness"):
        MeanMap(laplacian=True, smoothness=0.0).fit(bags, counts)


def test_a_penalty_that_does_not_fit_the_features_is_refused():
    bags = Bags(np.random.default_rng(0).normal(size=(80, 2)), np.arange(5) * 20)
    with raises(DataError, "penalty-shape-features"):
        MeanMap(penalty=[1.0, 2.0, 3.0]).fit(bags, [3, 8, 12, 17])


def test_certainty_that_counts_contradict_is_worth_a_warning():
    rng = np.random.default_rng(0)
    shares = rng.beta(4, 4, 12)
    labels = rng.random(1200) < np.repeat(shares, 100)
    values = 0.1 * rng.normal(size=(1200, 2)) + np.repeat(shares + 0.05 * rng.normal(size=12), 100)[:, None]
    with warns(ModelWarning, "counts-bags-vary"):
        clf = MeanMap(penalty=1e-3).fit(Bags(values, np.arange(13) * 100), labels.reshape(12, 100).sum(axis=1))
    assert log_loss(labels, clf.predict_proba(values)) > np.log(2)  # worse than not to know


def test_features_that_depend_on_the_class_alone_are_not():
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < np.repeat(rng.beta(2, 2, 20), 100)
    values = rng.normal(size=(2000, 3)) + labels[:, None]
    MeanMap().fit(Bags(values, np.arange(21) * 100), labels.reshape(20, 100).sum(axis=1))
