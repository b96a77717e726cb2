"""The alternating mean map: its loss falls, its labels keep the counts, and every start works."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sumwise import Bags
from sumwise.proportions import AlternatingMeanMap
from sumwise.proportions.kernels.label_assignment import top_labels


def sample(seed=0, n_bags=40, size=8):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    labels = (rng.random(len(values)) < 1 / (1 + np.exp(-3 * values[:, 0]))).astype(int)
    return Bags(values, np.arange(0, len(values) + 1, size)), labels.reshape(n_bags, size).sum(axis=1), labels


@pytest.mark.parametrize("start", ["mean embedding", "mean map", "laplacian"])
def test_loss_never_rises_from_any_start(start):
    bags, counts, labels = sample()
    clf = AlternatingMeanMap(start=start, penalty=1.0).fit(bags, counts)
    assert np.all(np.diff(clf.fit_.history["objective"]) > -1e-3)
    assert clf.fit_.converged
    assert np.mean(clf.predict(bags.values) == labels) > 0.8


def test_answer_is_the_regression_on_its_own_labels():
    """A fixed point of Patrini et al.'s Algorithm 1."""
    bags, counts, _ = sample()
    clf = AlternatingMeanMap(penalty=1.0, tol=1e-9).fit(bags, counts)
    labels = top_labels(clf._logits(bags), bags.offsets, counts)
    theirs = LogisticRegression(C=1.0, tol=1e-8).fit(bags.values, labels)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, rtol=5e-3)


def test_the_worst_labels_give_a_more_careful_model():
    bags, counts, _ = sample()
    best, worst = (AlternatingMeanMap(variant=v, penalty=1.0).fit(bags, counts) for v in ("min", "max"))
    assert np.abs(worst.coef_).max() < np.abs(best.coef_).max()
    assert worst.fit_.objective < best.fit_.objective


def test_bags_of_one_are_a_logistic_regression():
    bags, _, labels = sample()
    single = Bags(bags.values, np.arange(bags.n_rows + 1))
    clf = AlternatingMeanMap(penalty=1.0).fit(single, labels)
    theirs = LogisticRegression(C=1.0, tol=1e-8).fit(bags.values, labels)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, rtol=5e-3)
