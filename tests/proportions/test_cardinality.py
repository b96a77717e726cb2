"""CardinalityClassifier: recovery, the ordinary regression as a special case, contracts and refusals."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.tree import DecisionTreeClassifier

import sumwise
from messages import raises, warns
from sumwise import Bags, synthetic
from sumwise.errors import DataError, NotConverged
from sumwise.noise import Gaussian, Geometric, Laplace, Poisson
from sumwise.proportions import BagKFold, CardinalityClassifier, at_least_one, cardinality, intervals

COEF = np.array([1.5, -1.0])


def people(n_bags=150, size=20, seed=0, spread=1.0, own=0.0):
    """Bags whose means differ, labels by COEF, and by an intercept of the bag's own."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(spread * rng.normal(size=(n_bags, 2)), size, axis=0)
    values = rng.normal(size=(n_bags * size, 2)) + centres
    logits = values @ COEF + np.repeat(own * rng.normal(size=n_bags), size)
    labels = (rng.random(len(values)) < 1 / (1 + np.exp(-logits))).astype(int)
    return Bags(values, np.arange(0, len(values) + 1, size)), labels, labels.reshape(n_bags, size).sum(axis=1)


def test_coefficients_are_recovered():
    bags, _, counts = people(400)
    clf = CardinalityClassifier(penalty=0.1).fit(bags, counts)
    np.testing.assert_allclose(clf.coef_[0], COEF, atol=0.2)
    assert clf.fit_.converged
    assert clf.fit_.objective == pytest.approx(clf.fit_.history["objective"][-1])


@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_bags_of_one_are_logistic_regression(penalty):
    bags, labels, _ = people(30)
    one = Bags(bags.values, np.arange(bags.n_rows + 1))
    ours = CardinalityClassifier(penalty=penalty, tol=1e-8).fit(one, labels)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(bags.values, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_bags_of_one_are_softmax_regression():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300, 2))
    labels = (values @ rng.normal(size=(2, 3)) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    ours = CardinalityClassifier(penalty=1.0, tol=1e-7).fit(Bags(values, np.arange(301)), np.eye(3, dtype=int)[labels])
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(values, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(values), theirs.predict_proba(values), atol=1e-6)


@pytest.mark.parametrize("noise", [Gaussian(2.0), Poisson(1.0), Geometric(1.5), Laplace(1.5)])
def test_noisy_counts_still_show_the_way(noise):
    bags, _, counts = people(300)
    clf = CardinalityClassifier(penalty=0.1, noise=noise).fit(bags, noise.sample(counts, 0))
    np.testing.assert_allclose(clf.coef_[0], COEF, atol=0.5)


def test_ranges_of_counts_and_multiple_instances():
    bags, labels, counts = people(300)
    low, high = np.maximum(counts - 2, 0), np.minimum(counts + 2, 20)
    clf = CardinalityClassifier(penalty=0.1).fit(bags, intervals(low, high))
    np.testing.assert_allclose(clf.coef_[0], COEF, atol=0.4)
    few = Bags(bags.values, np.arange(0, bags.n_rows + 1, 4))
    any_ = labels.reshape(-1, 4).max(axis=1)
    clf = CardinalityClassifier(penalty=0.1).fit(few, at_least_one(any_, few.sizes))
    np.testing.assert_allclose(clf.coef_[0], COEF, atol=0.3)


def test_weights_and_scaled_totals_are_about_the_same_as_rows():
    bags, _, counts = people(200)
    plain = CardinalityClassifier(penalty=0.1).fit(bags, counts)
    weighted = Bags(bags.values, bags.offsets, np.full(bags.n_rows, 7.0))
    by_weight = CardinalityClassifier(penalty=0.1).fit(weighted, 7.0 * counts)
    np.testing.assert_allclose(by_weight.coef_, plain.coef_, atol=0.02)
    scaled = CardinalityClassifier(penalty=0.1, totals="scale").fit(bags, np.column_stack([20 - counts, counts]) * 11)
    np.testing.assert_allclose(scaled.coef_, plain.coef_, atol=1e-6)


def test_random_intercept_finds_its_scale():
    bags, _, counts = people(300, size=50, own=0.7)
    clf = CardinalityClassifier(penalty=0.1, random_intercept=True).fit(bags, counts)
    assert clf.intercept_scale_ == pytest.approx(0.7, abs=0.12)
    plain = CardinalityClassifier(penalty=0.1).fit(bags, counts)
    assert clf.score(bags, counts) > plain.score(bags, counts) + 0.1
    np.testing.assert_allclose(clf.coef_[0], COEF, atol=0.2)
    probs = clf.predict_proba(bags.values)[:, 1]
    assert np.abs(probs - 0.5).mean() < np.abs(1 / (1 + np.exp(-clf._logits(bags))) - 0.5).mean()


@pytest.mark.parametrize("multiclass", ["exact", "ovr"])
def test_several_classes(multiclass, monkeypatch):
    monkeypatch.setattr(cardinality, "ROUGH_ERROR", -1.0 if multiclass == "ovr" else 1.0)
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2000, 2)) + np.repeat(rng.normal(size=(200, 2)), 10, axis=0)
    labels = (values @ np.array([[2.0, 0, -1], [0, 2.0, -1]]) + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    counts = np.array([np.bincount(part, minlength=3) for part in labels.reshape(200, 10)])
    bags = Bags(values, np.arange(0, 2001, 10))
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    assert np.mean(clf.predict(values) == labels) > 0.72
    assert clf.coef_.shape == (3, 2)
    assert clf.multiclass_ == multiclass
    assert clf.error_ == 0.0
    if multiclass == "ovr":  # each class against the rest, then shares of what they say
        each = 1 / (1 + np.exp(-values @ clf.coef_.T - clf.intercept_))
        np.testing.assert_allclose(clf.predict_proba(values), each / each.sum(axis=1, keepdims=True))


def test_weighted_class_counts_of_a_survey():
    data = synthetic.election(60, 50, n_classes=3, n_categorical=2, n_test=2000, random_state=0)
    clf = CardinalityClassifier(penalty=10.0).fit(data.bags, data.totals)
    accuracy = np.mean(clf.predict(data.test_values) == data.test_labels)
    assert accuracy > np.bincount(data.test_labels).max() / 2000 + 0.03
    np.testing.assert_allclose(clf.predict_counts(data.bags).sum(axis=1), data.totals.sum(axis=1))


def test_turnout_leaves_a_class_of_non_voters():
    rng = np.random.default_rng(3)
    bags = Bags(rng.normal(size=(400, 2)), np.arange(0, 401, 20))
    votes = rng.multinomial(20, [0.3, 0.3, 0.4], size=20)[:, :2]
    clf = CardinalityClassifier(totals="rest", penalty=1.0).fit(bags, votes)
    assert clf.predict_proba(bags.values).shape == (400, 3)


def test_automatic_penalty_does_not_depend_on_units():
    bags, _, counts = people(60)
    units = np.array([1000.0, 1.0, 0.01])[: bags.n_features]
    other = Bags(bags.values * units + 5.0, bags.offsets)
    one, two = CardinalityClassifier().fit(bags, counts), CardinalityClassifier().fit(other, counts)
    np.testing.assert_allclose(two.predict_proba(other), one.predict_proba(bags), atol=5e-3)


def test_a_penalty_matrix_is_a_change_of_coordinates():
    bags, _, counts = people(40)
    d = bags.n_features
    turn = np.random.default_rng(5).normal(size=(d, d))
    plain = CardinalityClassifier(penalty=2.0, tol=1e-6).fit(Bags(bags.values @ turn, bags.offsets), counts)
    inverse = np.linalg.inv(turn)
    clf = CardinalityClassifier(penalty=2.0 * inverse.T @ inverse, tol=1e-6).fit(bags, counts)
    np.testing.assert_allclose(clf.coef_, plain.coef_ @ turn.T, rtol=1e-4)
    each = CardinalityClassifier(penalty=np.full(d, 2.0), tol=1e-6).fit(bags, counts)
    np.testing.assert_allclose(each.coef_, CardinalityClassifier(penalty=2.0, tol=1e-6).fit(bags, counts).coef_)
    with raises(DataError, "penalty-shape-features", "(7,)"):
        CardinalityClassifier(penalty=np.ones(7)).fit(bags, counts)
    with raises(DataError, "penalty-not-symmetric"):
        CardinalityClassifier(penalty=-np.eye(d)).fit(bags, counts)
    with raises(DataError, "is-takes", "penalty", "best"):
        CardinalityClassifier(penalty="best").fit(bags, counts)


def test_foreign_classifier_learns_and_is_scored():
    bags, labels, counts = people(150, size=5)
    clf = CardinalityClassifier(DecisionTreeClassifier(max_depth=4, random_state=0)).fit(bags, counts)
    assert np.mean(clf.predict(bags) == labels) > 0.7
    assert np.isfinite(clf.score(bags, counts))
    with raises(DataError, "penalty-linear-model"):
        CardinalityClassifier(DecisionTreeClassifier(), penalty=1.0).fit(bags, counts)
    with raises(DataError, "random-intercept-fitted"):
        CardinalityClassifier(DecisionTreeClassifier(), random_intercept=True).fit(bags, counts)


def test_contract_of_scikit_learn(tmp_path):
    bags, _, counts = people(40)
    clf = CardinalityClassifier(penalty=1.0)
    assert clone(clf).get_params() == clf.get_params()
    scores = cross_validate(clf, bags, counts, cv=4)["test_score"]
    assert np.isfinite(scores).all()
    search = GridSearchCV(clf, {"penalty": [0.1, 1000.0]}, cv=3).fit(bags, counts)
    assert search.best_params_ == {"penalty": 0.1}
    fitted = clf.fit(bags, counts)
    sumwise.save(fitted, tmp_path / "model.sumwise")
    loaded = sumwise.load(tmp_path / "model.sumwise")
    np.testing.assert_array_equal(loaded.predict_proba(bags), fitted.predict_proba(bags))
    assert loaded.score(bags, counts) == fitted.score(bags, counts)


def test_early_stop_warns():
    bags, _, counts = people(40)
    with warns(NotConverged, "stopped-after-steps", 1):
        CardinalityClassifier(penalty=1.0, max_iter=1, tol=1e-9).fit(bags, counts)


def test_empty_bags_are_skipped_with_a_warning():
    bags, _, counts = people(20)
    holes = Bags(bags.values, np.r_[bags.offsets, bags.offsets[-1]])
    with warns(UserWarning, "bags-empty-left", 1, 21):
        clf = CardinalityClassifier(penalty=1.0).fit(holes, np.r_[counts, 0])
    np.testing.assert_array_equal(clf.coef_, CardinalityClassifier(penalty=1.0).fit(bags, counts).coef_)


def test_constant_feature_warns_or_is_refused():
    bags, _, counts = people(20)
    flat = bags.with_values(np.column_stack([bags.values, np.ones(bags.n_rows)]))
    with warns(UserWarning, "features-same-every", 1, 3, "x2"):
        clf = CardinalityClassifier(penalty=1.0).fit(flat, counts)
    assert clf.coef_[0, 2] == pytest.approx(0.0, abs=1e-3)
    with raises(DataError, "features-same-every-row"):
        CardinalityClassifier(penalty=0.0).fit(flat, counts)


def test_separable_bags_are_named():
    values = np.r_[np.full(10, -1.0), np.full(10, 1.0)][:, None] + np.linspace(0, 0.1, 20)[:, None]
    bags = Bags(values, np.arange(0, 21, 5))
    with raises(DataError, "bags-separable-some"):
        CardinalityClassifier(penalty=0.0).fit(bags, [0, 0, 5, 5])
    assert CardinalityClassifier(penalty=0.1).fit(bags, [0, 0, 5, 5]).coef_[0, 0] > 1


@pytest.mark.parametrize(
    ("params", "counts", "words"),
    [
        ({"classifier": "quadratic"}, None, ("is-takes", "classifier", "quadratic")),
        ({"classifier": None}, None, ("classifier-none-scikit",)),
        ({"classifier": "fourier"}, None, ("penalty-linear-model",)),
        ({"penalty": -1.0}, None, ("must-least", "penalty", "-1.0")),
        ({"tol": 0.0}, None, ("not-above-zero-2", "tol")),
        ({"random_intercept": True, "noise": Gaussian(1.0)}, None, ("random-intercept-needs",)),
        ({}, np.zeros(5), ("class-no-member", 1, 5)),
        ({}, np.full(5, 20), ("class-no-member", 0)),
        ({}, np.tile([10, 0, 10], (5, 1)), ("class-no-member", 1)),
    ],
)
def test_bad_parameters_and_absent_classes_are_refused(params, counts, words):
    bags, _, good = people(5)
    with raises(DataError, *words):
        CardinalityClassifier(**{"penalty": 1.0, **params}).fit(bags, good if counts is None else counts)


def test_sample_weight_counts_a_bag_as_often():
    bags, _, counts = people(60)
    weights = np.r_[np.full(20, 2.0), np.ones(30), np.zeros(10)]
    order = np.r_[np.arange(20), np.arange(50)]
    twice = CardinalityClassifier(penalty=1.0).fit(bags[order], counts[order])
    weighted = CardinalityClassifier(penalty=1.0).fit(bags, counts, sample_weight=weights)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=1e-3)
    score = weighted.score(bags, counts, sample_weight=weights)
    assert score == pytest.approx(weighted.score(bags[order], counts[order]))
    with raises(DataError, "negative-counts-start"):
        CardinalityClassifier().fit(bags, counts, sample_weight=-weights)
    with raises(DataError, "fit-no-posterior", "bags have a sample_weight"):
        weighted.draws()
    with raises(DataError, "all-bags-sample"):
        CardinalityClassifier().fit(bags, counts, sample_weight=0 * weights)


def test_a_bag_of_weight_zero_is_held_out_nowhere():
    bags, _, counts = people(40)
    usual = CardinalityClassifier().fit(bags[10:], counts[10:])
    weighted = CardinalityClassifier().fit(bags, counts, sample_weight=np.r_[np.zeros(10), np.ones(30)])
    np.testing.assert_array_equal(weighted.penalty_, usual.penalty_)
    np.testing.assert_allclose(weighted.coef_, usual.coef_, rtol=1e-9)


def test_sample_weight_is_routed():
    bags, _, counts = people(60)
    weights = np.r_[np.ones(30), np.full(30, 3.0)]
    with config_context(enable_metadata_routing=True):
        clf = CardinalityClassifier(penalty=1.0).set_fit_request(sample_weight=True)
        clf = clf.set_score_request(sample_weight=True)
        found = cross_validate(clf, bags, counts, cv=BagKFold(3), params={"sample_weight": weights})
    train, test = next(BagKFold(3).split(bags))
    one = CardinalityClassifier(penalty=1.0).fit(bags[train], counts[train], sample_weight=weights[train])
    assert found["test_score"][0] == pytest.approx(one.score(bags[test], counts[test], sample_weight=weights[test]))


@pytest.mark.parametrize(("size", "wanted"), [(30, 0), (100, 1)])
def test_the_saddlepoint_leads_an_exact_fit_where_exact_inference_is_costly(size, wanted, monkeypatch):
    led, lead = [], cardinality.maximise_by_approximation
    monkeypatch.setattr(cardinality, "maximise_by_approximation", lambda *given: led.append(1) or lead(*given))
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6 * size, 1)) + np.repeat(rng.normal(size=(6, 1)), size, axis=0)
    labels = np.digitize(values[:, 0] + rng.logistic(size=6 * size), [-1.0, 1.0])
    counts = np.eye(3, dtype=int)[labels].reshape(6, size, 3).sum(axis=1)
    bags = Bags(values, np.arange(0, 6 * size + 1, size))
    CardinalityClassifier(penalty=0.5).fit(bags, counts)
    assert len(led) == wanted


def test_the_default_looks_for_models_that_are_not_linear_beyond_one_prior():
    from sklearn.datasets import load_digits
    from sklearn.metrics import roc_auc_score

    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    values, labels = digits.data[order], (digits.target[order] >= 5).astype(int)
    varying = values[:1200].std(axis=0) > 0
    bags = Bags(values[:1200, varying], np.arange(0, 1201, 10))
    clf = CardinalityClassifier().fit(bags, labels[:1200].reshape(-1, 10).sum(axis=1))
    assert {c["model"] for c in clf.candidates_} == {"fourier"}  # its first prior predicts worse than a linear model
    assert roc_auc_score(labels[1200:], clf.predict_proba(values[1200:, varying])[:, 1]) > 0.955  # linear: .948
