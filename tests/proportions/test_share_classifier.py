"""What the linear methods for shares have in common: weights, several classes, refusals; one test runs them all."""

# pyright: reportAttributeAccessIssue=false
# clone is typed as if it could return any container
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import (
    AlternatingMeanMap,
    MeanEmbeddingClassifier,
    MeanMap,
    Oracle,
    label_bags,
)

RIVALS = {
    "mean embedding": MeanEmbeddingClassifier(),
    "mean map": MeanMap(),
    "Laplacian mean map": MeanMap(laplacian=True),
    "AMM min": AlternatingMeanMap(),
    "AMM max": AlternatingMeanMap(variant="max"),
}


def sample(n_bags=60, size=10, n_classes=2, seed=0):
    """Bags that differ, and labels that a line tells apart well."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    scores = 3 * values @ np.array([np.cos(angles), np.sin(angles)])
    labels = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    bags = Bags(values, np.arange(0, n_bags * size + 1, size))
    counts = np.array([np.bincount(part, minlength=n_classes) for part in labels.reshape(n_bags, size)])
    return bags, counts, labels


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged", "ignore:Counts of the bags vary")
@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rivals_learn_what_can_be_learned(name, n_classes):
    bags, counts, labels = sample(n_classes=n_classes)
    clf = RIVALS[name].fit(bags, counts)
    floor = 0.6 if name == "AMM max" else 0.75  # labels of the greatest loss teach less
    assert np.mean(clf.predict(bags.values) == labels) > (floor if n_classes == 2 else floor - 0.1)
    np.testing.assert_allclose(clf.predict_proba(bags.values).sum(axis=1), 1.0)
    np.testing.assert_allclose(clf.posterior(bags, counts).reshape(len(bags), -1, n_classes).sum(axis=1), counts)


def test_two_columns_equal_one_count():
    bags, counts, _ = sample(20)
    one, two = (MeanEmbeddingClassifier().fit(bags, c) for c in (counts[:, 1], counts))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    assert one.predict_counts(bags).shape == (20,)
    assert two.predict_counts(bags).shape == (20, 2)


def test_empty_bags_are_left_out_with_a_warning():
    bags = Bags(np.arange(4.0)[:, None], np.array([0, 2, 2, 4]))
    with warns(UserWarning, "bags-empty-left", 1, 3):
        clf = MeanEmbeddingClassifier(penalty=1.0).fit(bags, [0, 0, 2])
    assert clf.coef_[0, 0] > 0


@pytest.mark.parametrize("kind", [MeanEmbeddingClassifier, MeanMap, AlternatingMeanMap])
def test_bad_settings_and_counts_are_refused(kind):
    bags, counts, _ = sample(5)
    with raises(DataError, "must-least", "penalty", -1):
        kind(penalty=-1).fit(bags, counts)
    with raises(DataError, "must-least", "max_iter", 0):
        kind(max_iter=0).fit(bags, counts)
    with raises(DataError, "count-above-bags", "rows"):
        kind().fit(bags, counts[:, 1] + 100)


def test_a_fit_that_stops_early_says_so():
    bags, counts, _ = sample(20)
    with warns(NotConverged, "stopped-after-steps"):
        MeanEmbeddingClassifier(penalty=1e-3, max_iter=1, tol=1e-9).fit(bags, counts)


WEIGHTED = [
    MeanEmbeddingClassifier(penalty=1.0, tol=1e-6),
    MeanMap(penalty=1.0, tol=1e-6),
    AlternatingMeanMap(penalty=1.0),
    AlternatingMeanMap(penalty=1.0, variant="max"),
    Oracle(penalty=1.0),
]


@pytest.mark.parametrize("model", WEIGHTED, ids=repr)
@pytest.mark.filterwarnings("ignore:Debiased labels", "ignore:Counts of the bags vary")
def test_weights_of_bags_are_repetitions(model):
    bags, counts, labels = sample(n_bags=20)
    given = label_bags(bags, labels) if isinstance(model, Oracle) else counts[:, 1]
    weights = np.tile([2.0, 1.0, 0.0, 1.0], 5)
    index = np.repeat(np.arange(20), weights.astype(int))
    weighted = clone(model).fit(bags, given, sample_weight=weights)
    repeated = clone(model).fit(bags[index], given[index])
    assert np.allclose(weighted.theta_, repeated.theta_, rtol=1e-3, atol=1e-3)
    assert not np.allclose(weighted.theta_, clone(model).fit(bags, given).theta_, atol=1e-2)
    with raises(DataError, "all-bags-sample"):
        clone(model).fit(bags, given, sample_weight=np.zeros(20))


@pytest.mark.filterwarnings("ignore:Counts of the bags vary:sumwise.errors.ModelWarning")
def test_weights_in_a_graph_of_bags_are_pairs():
    bags, counts, _ = sample(n_bags=12)
    model = MeanMap(laplacian=True, smoothness=10.0, penalty=1.0, tol=1e-6)
    plain = clone(model).fit(bags, counts[:, 1]).theta_
    assert np.allclose(clone(model).fit(bags, counts[:, 1], sample_weight=np.full(12, 1.0)).theta_, plain, atol=1e-4)
    weights = np.tile([2.0, 1.0], 6)
    weighted = clone(model).fit(bags, counts[:, 1], sample_weight=weights).theta_
    index = np.repeat(np.arange(12), weights.astype(int))
    repeated = clone(model).fit(bags[index], counts[index, 1]).theta_
    assert np.abs(weighted - repeated).max() < 0.3 * np.abs(plain - repeated).max()  # but for the graph's scale


def test_weights_are_routed_through_a_search():
    bags, counts, _ = sample(n_bags=20)
    with config_context(enable_metadata_routing=True):
        model = MeanEmbeddingClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"penalty": [0.1, 10.0]}, cv=2)
        search.fit(bags, counts[:, 1], sample_weight=np.linspace(1.0, 2.0, 20))
    assert search.best_params_["penalty"] in (0.1, 10.0)
