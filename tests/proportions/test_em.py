"""EM: the same stationary point as the direct solver; foreign classifiers as M step."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions.counts import observe
from sumwise.proportions.em import em_classifier, log_probabilities
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, maximise


def problem(n_classes=2, seed=0, n_bags=60):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * 5, 2))
    logits = values @ rng.normal(size=(2, n_classes)) * 1.5
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    counts = np.array([np.bincount(part, minlength=n_classes) for part in labels.reshape(-1, 5)])
    bags = Bags(values, np.arange(0, len(values) + 1, 5))
    likelihood = BagLikelihood(bags.offsets, observe(bags, counts))
    return LinearProblem(values, likelihood, 1.0, n_classes), labels


@pytest.mark.parametrize("n_classes", [2, 3])
def test_em_and_direct_reach_the_same_point(n_classes):
    p, _ = problem(n_classes)
    direct = maximise(p, np.zeros(p.n_params), tol=1e-6)
    logistic = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    fitted, found = em_classifier(logistic, p.values, p.likelihood, 0.0 * p.logits(direct.theta), 1e-10, 500)
    theirs = np.exp(log_softmax(np.column_stack([0 * p.values[:, 0], p.logits(direct.theta)]), axis=1))
    theirs = theirs if n_classes == 2 else softmax(p.logits(direct.theta), axis=1)
    np.testing.assert_allclose(fitted.predict_proba(p.values), theirs, atol=2e-4)
    assert np.all(np.diff(found.history) > -1e-4)  # the penalised likelihood rises; this one is without the penalty


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
def test_any_classifier_with_sample_weights_is_an_m_step(wrap):
    p, labels = problem(3, seed=1, n_bags=100)
    model = wrap(DecisionTreeClassifier(max_depth=3, random_state=0))
    start = p.logits(maximise(p, np.zeros(p.n_params), tol=1e-2).theta)
    fitted, found = em_classifier(model, p.values, p.likelihood, start, tol=1e-3, max_iter=20)
    assert found.objective == max(found.history)
    assert np.mean(log_probabilities(fitted, p.values).argmax(axis=1) == labels) > 0.5


def test_classifier_without_sample_weights_is_refused():
    p, _ = problem()
    with raises(DataError, "takes-no-sample", "KNeighborsClassifier"):
        em_classifier(KNeighborsClassifier(), p.values, p.likelihood, np.zeros(len(p.values)))
