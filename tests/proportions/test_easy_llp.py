"""Debiased labels are right on average over random bags, and the model is a regression on them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sumwise import Bags
from sumwise.errors import ModelWarning
from sumwise.proportions import EasyLLP
from sumwise.proportions.easy_llp import debiased_labels
from sumwise.proportions.shares import bag_shares


def test_debiased_labels_average_to_the_truth_over_random_bags():
    rng = np.random.default_rng(0)
    labels = np.array([1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    total = np.zeros(12)
    for _ in range(1500):
        order = rng.permutation(12)
        bags = Bags(order[:, None].astype(float), np.array([0, 4, 8, 12]))
        soft = debiased_labels(bag_shares(bags, labels[order].reshape(3, 4).sum(axis=1)))
        total[order] += soft[:, 1]
    # drawn without replacement: others have the share of the remaining eleven, (3 - y) / 11 instead of 1 / 4
    expected = labels + 3 * ((3 - labels) / 11 - 0.25)
    np.testing.assert_allclose(total / 1500, expected, atol=0.1)


def test_bags_of_one_are_a_logistic_regression():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(90, 2))
    labels = (values[:, 0] + rng.normal(size=90) > 0).astype(int)
    clf = EasyLLP(penalty=0.5, tol=1e-8).fit(Bags(values, np.arange(91)), labels)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(values, labels)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, atol=1e-5)


def test_random_bags_are_learned():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3000, 2))
    labels = (rng.random(3000) < 1 / (1 + np.exp(-3 * values[:, 0]))).astype(int)
    clf = EasyLLP().fit(Bags(values, np.arange(0, 3001, 5)), labels.reshape(600, 5).sum(axis=1))
    assert np.mean(clf.predict(values) == labels) > 0.8


def test_pure_noise_is_worth_a_warning():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(2000, 5)), np.arange(0, 2001, 50))
    with pytest.warns(ModelWarning, match="no better than the overall shares"):
        EasyLLP(penalty=1.0).fit(bags, rng.binomial(50, 0.5, 40))


def test_a_clear_signal_is_not():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 1)) * 3
    labels = rng.random(2000) < 1 / (1 + np.exp(-values[:, 0]))
    EasyLLP(penalty=1.0).fit(Bags(values, np.arange(0, 2001, 10)), labels.reshape(200, 10).sum(axis=1))


def test_certainty_that_counts_contradict_is_worth_a_warning():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5000, 20)) + np.repeat(rng.normal(size=(100, 20)), 50, axis=0)
    labels = rng.random(5000) < 1 / (1 + np.exp(-values @ rng.normal(0, 0.7, 20)))
    with pytest.warns(ModelWarning, match=r"Counts of the bags vary [\d,.e+]+ times as much .* Hint: Cardinality"):
        clf = EasyLLP(penalty=1e-3).fit(Bags(values, np.arange(101) * 50), labels.reshape(100, 50).sum(axis=1))
    chances = clf.predict_proba(values)[:, 1]
    assert np.mean(np.minimum(chances, 1 - chances)) < 0.02  # it claims to know nearly every label
