"""The covariance of coefficients: against enumeration, against logistic regression, and by coverage."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from drawn_bags import people
from sumwise import Bags, synthetic
from sumwise.errors import DataError, ModelWarning
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier, covariance
from sumwise.proportions.information import FisherInformation
from sumwise.proportions.uncertainty import _problems


def test_bags_of_one_give_the_errors_of_logistic_regression():
    bags, _ = people(200, 1)
    labels = people(200, 1)[1]
    clf = CardinalityClassifier(penalty=0.0, tol=1e-8).fit(bags, labels)
    p = clf.predict_proba(bags)[:, 1]
    design = np.column_stack([bags.values, np.ones(200)])
    inverse = np.linalg.inv(design.T @ ((p * (1 - p))[:, None] * design))
    for kind in ("observed", "expected"):
        np.testing.assert_allclose(covariance(clf, bags, labels, kind).matrix, inverse, rtol=1e-5)


@pytest.mark.parametrize("settings", [{"multiclass": "exact"}, {"multiclass": "ovr"}, {"random_intercept": True}])
def test_kinds_agree_where_the_model_holds(settings):
    n_classes = 2 if "random_intercept" in settings else 3
    bags, counts = people(250, 8, n_classes, own=0.4 if n_classes == 2 else 0.0)
    clf = CardinalityClassifier(penalty=1.0, **settings).fit(bags, counts)
    errors = {}
    for kind in ("observed", "expected", "sandwich"):
        matrix = covariance(clf, bags, counts, kind).matrix
        assert np.linalg.eigvalsh(matrix)[0] > -1e-6
        contrast = np.zeros(len(matrix))
        contrast[0] = 1.0
        contrast[3 * (len(clf.theta_) - 1)] -= len(clf.theta_) > 1
        errors[kind] = np.sqrt(contrast @ matrix @ contrast)
    np.testing.assert_allclose(list(errors.values()), errors["observed"], rtol=0.35)  # expected: from means alone


def test_intervals_of_coefficients_cover():
    inside = []
    for seed in range(60):
        data = synthetic.election(
            60, 10, n_categorical=0, n_continuous=2, mean_weight=1, weight_spread=0, n_test=1, random_state=seed
        )
        clf = CardinalityClassifier(penalty=1.0, tol=1e-3).fit(data.bags, data.counts[:, 1])
        sure = covariance(clf, data.bags, data.counts[:, 1]).to_frame()
        true = np.append(data.coefficients[:, 1], data.intercepts[1])
        inside.append((sure["low"] <= true) & (true <= sure["high"]))
    assert 0.90 < np.mean(inside) < 0.99


def test_drawn_models_spread_as_the_matrix_says():
    bags, counts = people(60)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    sure = covariance(clf, bags, counts)
    drawn = np.array([m.coef_[0] for m in sure.models(np.random.default_rng(0))])
    np.testing.assert_allclose(drawn.std(axis=0), sure.standard_errors[0, :2], rtol=0.15)
    assert clf.coef_.shape == (1, 2)


def test_follow_warns_and_asks_the_drawn_models():
    bags, counts = people(60)
    found = covariance(CardinalityClassifier(penalty=0.1).fit(bags, counts), bags, counts)
    with pytest.warns(DeprecationWarning, match="use models"):
        answers = found.follow(lambda model: model.theta_, np.random.default_rng(0))
    np.testing.assert_array_equal(answers, [m.theta_ for m in found.models(np.random.default_rng(0))])


def test_few_regions_that_tell_unequally_leave_few_degrees_of_freedom():
    bags, counts = people(60, 5)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    even = FisherInformation(*_problems(clf, bags, counts)[0], "observed", np.arange(60) % 12)
    uneven = FisherInformation(
        *_problems(clf, bags, counts)[0], "observed", np.where(np.arange(60) < 44, 0, np.arange(60) % 12)
    )
    assert 0.5 < even.evenness() <= 1.0
    assert uneven.evenness() < 0.5 * even.evenness()
    assert even.degrees() == pytest.approx(even.left * even.evenness())


def test_what_has_no_information_is_refused():
    bags, counts = people(40)
    with pytest.raises(DataError, match="leave 1 of 3 directions"):
        flat = Bags(np.column_stack([bags.values[:, 0], bags.values[:, 0]]), bags.offsets)
        covariance(CardinalityClassifier(penalty=0.0).fit(flat, counts[:, 1]), flat, counts[:, 1])
    tree = CardinalityClassifier(DecisionTreeClassifier(max_depth=2)).fit(bags, counts[:, 1])
    with pytest.raises(DataError, match="DecisionTreeClassifier"):
        covariance(tree, bags, counts[:, 1])
    with pytest.raises(DataError, match="MeanEmbeddingClassifier"):
        covariance(MeanEmbeddingClassifier().fit(bags, counts[:, 1]), bags, counts[:, 1])
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    with pytest.raises(DataError, match="3 bags"):
        covariance(clf, bags[:3], counts[:3], "sandwich")
    with pytest.raises(DataError, match="3 classes"):
        covariance(clf, bags, np.column_stack([counts, 0 * counts[:, 0]]))
    with pytest.raises(DataError, match="group is missing for 2 of 40 bags. First: bag 38"):
        covariance(clf, bags, counts, groups=[*range(38), np.nan, None])


def test_a_penalty_matrix_is_a_change_of_coordinates():
    bags, counts = people(60)[:2]
    d = bags.n_features
    turn = np.random.default_rng(5).normal(size=(d, d)) + 2 * np.eye(d)
    turned = Bags(bags.values @ turn, bags.offsets)
    plain = CardinalityClassifier(penalty=2.0, tol=1e-7).fit(turned, counts)
    inverse = np.linalg.inv(turn)
    clf = CardinalityClassifier(penalty=2.0 * inverse.T @ inverse, tol=1e-7).fit(bags, counts)
    full = np.eye(d + 1)
    full[:d, :d] = turn
    expected = full @ covariance(plain, turned, counts).matrix @ full.T
    # but for the second guess of how coefficients spread, which is per deviation of a feature
    np.testing.assert_allclose(covariance(clf, bags, counts).matrix, expected, rtol=0.1, atol=1e-4)


def test_counts_that_vary_more_than_the_model_says_widen_intervals_and_warn():
    bags, counts = people(120, 10, own=1.5)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    with pytest.warns(UserWarning, match=r"Counts vary \d\.\d times.*random_intercept=True"):
        wide = covariance(clf, bags, counts)
    narrow = FisherInformation(*_problems(clf, bags, counts)[0], "observed")
    narrow.dispersion = 1.0
    assert wide.dispersion > 1.5
    # what the penalty took is the same, so the ratio stays below that of the noise
    ratio = wide.standard_errors.ravel() / np.sqrt(np.diag(narrow.matrix()))
    assert ((ratio > 1.1) & (ratio <= np.sqrt(wide.dispersion) + 1e-9)).all()


def test_bags_of_one_region_are_one_observation():
    bags, counts = people(60, 5, own=0.0)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    alone = covariance(clf, bags, counts, "sandwich")
    named = covariance(clf, bags, counts, groups=[f"bag {i}" for i in range(60)])
    np.testing.assert_allclose(named.matrix, alone.matrix)
    # every bag twice, as one region: as sure as once, but for how coefficients spread, guessed from a doubled penalty
    twice, both = bags[np.repeat(np.arange(60), 2)], np.repeat(counts, 2, axis=0)
    double = CardinalityClassifier(penalty=2.0, tol=1e-7).fit(twice, both)
    once = CardinalityClassifier(penalty=1.0, tol=1e-7).fit(bags, counts)
    paired = covariance(double, twice, both, groups=np.repeat(np.arange(60), 2))
    single = covariance(once, bags, counts, "sandwich")
    np.testing.assert_allclose(paired.matrix, single.matrix, rtol=0.05, atol=1e-4)
    assert paired.freedom == pytest.approx(single.freedom, rel=1e-3)
    with pytest.raises(DataError, match="2 groups of bags can't show"):
        covariance(clf, bags, counts, groups=np.arange(60) % 2)
    with pytest.raises(DataError, match="groups"):
        covariance(clf, bags, counts, groups=np.arange(59))


@pytest.mark.parametrize("own", [False, True])
def test_bags_of_one_region_that_follow_each_other_are_noticed(own):
    bags, counts = people(30, 60, own=1.0)
    parts = Bags(bags.values, np.arange(0, 1801, 20))  # three bags of each region
    share = np.repeat(counts[:, 1] / 60, 60)
    labels = np.random.default_rng(0).random(1800) < share
    third = np.add.reduceat(labels.astype(int), parts.offsets[:-1])
    clf = CardinalityClassifier(penalty=1.0, random_intercept=own, tol=1e-3).fit(parts, third)
    with pytest.warns(UserWarning, match=r"errors of consecutive bags are correlated \(0\.\d\d\).*groups=regions"):
        covariance(clf, parts, third)
    covariance(clf, parts, third, groups=np.repeat(np.arange(30), 3))  # nothing more to say


def test_few_bags_give_longer_tails():
    bags, counts = people(12, 10)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    sure = covariance(clf, bags, counts)
    assert 2.0 <= sure.freedom < 12
    draws = np.array([m.theta_[0] for m in replace(sure, n_draws=4000).models(np.random.default_rng(0))])
    reach = np.quantile(np.abs(draws - clf.theta_[0]), 0.95, axis=0)
    assert (reach > 2.05 * sure.standard_errors[0]).all()  # 1.96 for many


def test_intervals_of_coefficients_lie_where_counts_alone_put_them():
    bags, counts = people(80, 10)
    free = CardinalityClassifier(penalty=0.0).fit(bags, counts)
    pulled = CardinalityClassifier(penalty=3.0).fit(bags, counts)
    frame = covariance(pulled, bags, counts).to_frame(0.9)
    assert np.abs(pulled.coef_).sum() < 0.97 * np.abs(free.coef_).sum()
    middle = 0.5 * (frame["low"] + frame["high"])
    error = covariance(free, bags, counts).to_frame(0.9)["standard_error"]
    np.testing.assert_allclose(middle, free.theta_[0], atol=0.1 * error.max())
    np.testing.assert_allclose(frame["standard_error"], error, rtol=0.15)


def test_fewer_than_four_bags_per_coefficient_have_no_intervals_and_say_so():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(200, 12)), np.arange(0, 201, 10))
    counts = rng.binomial(10, 0.5, 20)
    sure = covariance(CardinalityClassifier(penalty=1.0).fit(bags, counts), bags, counts)
    with pytest.warns(ModelWarning, match="20 bags or groups are too few for valid intervals of 13 coefficients"):
        frame = sure.to_frame()
    assert frame["low"].isna().all()
    assert frame["coefficient"].notna().all()


def test_three_classes_have_intervals_of_their_coefficients():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 2)) + np.repeat(rng.normal(size=(60, 2)), 10, axis=0)
    truth = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.2], [-0.5, 1.0, -0.2]])
    labels = np.argmax(values @ truth[:, :2].T + truth[:, 2] + rng.gumbel(size=(600, 3)), axis=1)
    counts = np.eye(3)[labels].reshape(60, 10, 3).sum(axis=1)
    bags = Bags(values, np.arange(0, 601, 10))
    frame = covariance(CardinalityClassifier(multiclass="exact").fit(bags, counts), bags, counts).to_frame(0.99)
    low, high = (frame[side].to_numpy().reshape(3, 3) for side in ("low", "high"))
    centred = truth - truth.mean(axis=0)
    assert np.isfinite(low).all()
    assert ((low < centred + 0.2) & (centred - 0.2 < high)).all()


def test_no_interval_of_three_classes_is_lost_to_rounding():
    rng = np.random.default_rng([40025, 60, 2])  # differences of gradients left 3 of 9 without one here
    values = rng.normal(size=(360, 2)) + np.repeat(rng.normal(size=(60, 2)), 6, axis=0)
    values[:, 0] = values[:, 0] > 0.8
    truth = np.column_stack([rng.normal(0, 0.7, (3, 2)), rng.normal(0, 0.3, 3)])
    labels = np.argmax(values @ truth[:, :-1].T + truth[:, -1] + rng.gumbel(size=(360, 3)), axis=1)
    counts = np.eye(3)[labels].reshape(60, 6, 3).sum(axis=1)
    bags = Bags(values, np.arange(61) * 6)
    found = covariance(CardinalityClassifier(multiclass="exact").fit(bags, counts), bags, counts).to_frame(0.9)
    assert np.isfinite(found[["low", "high"]].to_numpy()).all()


def test_features_that_are_nearly_alike_leave_the_intervals_of_others_as_they_are():
    """Counts can't tell two such effects apart: their intervals are wide, not missing, and hold the truth."""
    rng, truth = np.random.default_rng(0), np.array([0.8, -0.5, 0.4, 0.6])
    values = rng.normal(size=(1200, 4)) + np.repeat(rng.normal(size=(60, 4)), 20, axis=0)
    values[:, 2] = values[:, 1] + 0.01 * rng.normal(size=1200)
    counts = (rng.random(1200) < 1 / (1 + np.exp(-values @ truth))).reshape(60, 20).sum(axis=1)
    frames = []
    for columns in ([0, 1, 2, 3], [0, 1, 3]):
        bags = Bags(values[:, columns], np.arange(61) * 20)
        frames.append(covariance(CardinalityClassifier(penalty=1.0).fit(bags, counts), bags, counts).to_frame(0.9))
    width = [(frame["high"] - frame["low"]).to_numpy() for frame in frames]
    assert width[0][[0, 3, 4]] == pytest.approx(width[1][[0, 2, 3]], rel=0.1)
    assert (width[0][1:3] > 10 * width[1][1]).all()
    assert ((frames[0]["low"][:4] <= truth) & (truth <= frames[0]["high"][:4])).all()


@pytest.mark.parametrize("kind", ["observed", "expected", "sandwich"])
@pytest.mark.parametrize(("far", "penalty"), [(0.0, 1e-5), (1000.0, 1.0)])
def test_effects_that_counts_can_not_tell_apart_have_no_intervals(kind, far, penalty):
    """The third column follows from the others, however far from zero all lie and however weak the penalty."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1200, 3)) + np.repeat(rng.normal(size=(60, 3)), 20, axis=0)
    values[:, 2] = values[:, 0] - values[:, 1]
    counts = (rng.random(1200) < 1 / (1 + np.exp(-values[:, 0]))).reshape(60, 20).sum(axis=1)
    bags = Bags(np.column_stack([values + far, rng.normal(size=1200)]), np.arange(61) * 20)
    found = covariance(CardinalityClassifier(penalty=penalty).fit(bags, counts), bags, counts, kind).to_frame()
    assert found["standard_error"][:3].isna().all()
    assert np.isfinite(found["standard_error"][3])
