import numpy as np
import pytest
from sklearn.base import clone

import brute_distribution as brute
from messages import raises, warns
from sumwise import Bags
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagLogistic,
    BagRidge,
    DeepSets,
    LinearEmbedding,
)
from sumwise.distribution.regressor import check_response, conformal_half_width, warn_remote
from sumwise.errors import DataError, ModelWarning


def line(n=20):
    x = np.linspace(0, 1, n)
    return Bags.from_arrays([[v - 0.01, v + 0.01] for v in x]), 3 * x + 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0] * 19, ("bags-responses-response-per", 20, 19)),
        (np.zeros((20, 1, 1)), ("y-shape-response",)),
        ([float("nan")] * 20, ("drop-fill-such", "y", 20)),
        (["a"] * 20, ("dtype-must-hold",)),
        (3.0, ("y-shape-response",)),
        (np.zeros((20, 0)), ("y-shape-response",)),
    ],
)
def test_responses_that_do_not_fit_are_refused(y, message):
    with raises(DataError, *message):
        check_response(line()[0], y)


def test_one_bag_is_refused():
    with raises(DataError, "bags-least-needed", 1, 3):
        BagRidge().fit(Bags.from_arrays([[1.0]]), [1.0])


def test_predictions_have_the_shape_of_the_response():
    bags, y = line()
    one = BagRidge(LinearEmbedding()).fit(bags, y)
    two = BagRidge(LinearEmbedding()).fit(bags, np.column_stack([y, -y]))
    assert one.predict(bags).shape == (20,)
    assert two.predict(bags).shape == (20, 2)
    assert BagRidge(LinearEmbedding()).fit(bags, y[:, None]).predict(bags).shape == (20, 1)
    assert np.allclose(two.predict(bags)[:, 0], one.predict(bags))


def test_score_is_r_squared():
    bags, y = line()
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    assert model.score(bags, y) == pytest.approx(1.0)
    shifted = y + 1
    assert model.score(bags, shifted) == pytest.approx(1 - 1 / y.var())
    with raises(DataError, "responses-all-same"):
        model.score(bags, np.ones(20))
    with raises(DataError, "y-outputs-training", 2):
        model.score(bags, np.ones((20, 2)))


def test_remote_bags_are_said_when_many_or_far():
    for near in (np.r_[9.0, np.zeros(19)], np.zeros(0), np.full(70, 1.9)):
        warn_remote(near)
    for far in (np.array([2.1]), np.r_[np.full(6, 2.1), np.zeros(94)]):
        with warns(ModelWarning, "bags-lie-more", len(far)):
            warn_remote(far)


def test_groups_are_left_out_together():
    bags, y = line()
    groups = np.repeat(list("abcde"), 4)
    model = BagRidge(LinearEmbedding(), penalty=0.1).fit(bags, y, groups=groups)
    features = model.embedding_.transform(bags)
    errors = brute.leave_one_out(features, y, 0.1 * ((features - features.mean()) ** 2).sum(), groups=groups)
    assert model.loo_error_[0] == pytest.approx(np.mean(errors**2))
    alone = BagRidge(LinearEmbedding(), penalty=0.1).fit(bags, y)
    assert BagRidge(LinearEmbedding(), penalty=0.1).fit(bags, y, groups=range(20)).loo_error_ == alone.loo_error_
    for bad, message in (
        ([0] * 20, ("groups-least-needed", 1)),
        ([0, 1], ("groups-shape-bags", "(2,)")),
        (3, ("is-give-a", "groups", 3)),
    ):
        with raises(DataError, *message):
            BagRidge().fit(bags, y, groups=bad)


@pytest.mark.parametrize(
    "model",
    [
        BagRidge(LinearEmbedding()),
        BagKernelRidge(),
        BagGaussianProcess(),
        BagLogistic(LinearEmbedding(), random_state=0),
        DeepSets(max_epochs=2),
        DeepSets(task="classification", max_epochs=2),
    ],
    ids=lambda model: type(model).__name__ + str(getattr(model, "task", "")),
)
def test_bags_count_as_much_as_their_weights(model):
    """Weights of 1 change nothing, bags of weight 0 are left out, and other weights change the answer."""
    if isinstance(model, DeepSets):
        pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
    rng = np.random.default_rng(0)
    bags, y = line(24)
    y = (y > 2.5).astype(int) if getattr(model, "task", "") == "classification" or "Logistic" in str(model) else y
    y = y + (rng.normal(size=24) if y.dtype == float else rng.permutation(np.arange(24) < 4)) % 2
    weights = np.where(np.arange(24) % 5 == 1, 0.0, 1.0 + np.arange(24))
    kept = weights > 0

    def said(*given, **options):
        fitted = clone(model).fit(*given, **options)
        return (fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.predict)(bags)

    plain = said(bags, y)
    np.testing.assert_array_equal(plain, said(bags, y, sample_weight=np.ones(24)))
    weighted = said(bags, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted, said(bags[kept], y[kept], sample_weight=weights[kept]))
    assert np.abs(weighted - said(bags[kept], y[kept])).max() > 1e-6
    with raises(DataError, "all-bags-sample"):
        clone(model).fit(bags, y, sample_weight=np.zeros(24))


@pytest.mark.parametrize("model", [BagRidge(), BagKernelRidge(), BagGaussianProcess()], ids=lambda m: type(m).__name__)
def test_counts_stay_at_zero_or_above(model):
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (30, 2)) for m in np.linspace(-2, 2, 60)]
    y = np.round(np.exp(2 * np.array([part[:, 0].mean() for part in parts])))
    bags = Bags.from_arrays(parts)
    model.fit(bags, y)
    said, (low, high) = model.predict(bags), model.predict_interval(bags)
    assert min(said.min(), low.min()) == 0.0
    assert ((low <= said) & (said <= high)).all()
    assert model.predict_interval(bags, bounds=(-np.inf, np.inf))[0].min() < 0
    assert model.fit(bags, y - 0.5).predict_interval(bags)[0].min() < -0.5  # these aren't counts


def test_two_fits_without_a_seed_agree():
    bags, y = line()
    assert np.array_equal(BagRidge().fit(bags, y).predict(bags), BagRidge().fit(bags, y).predict(bags))


def test_predictions_far_beyond_the_responses_are_worth_a_warning():
    bags = Bags.from_arrays([[float(k)] for k in range(10)])
    model = BagRidge(LinearEmbedding()).fit(bags, np.arange(10.0))
    with warns(ModelWarning, "predictions-lie-farther", 1, 30, 0, 40, 9):
        model.predict(Bags.from_arrays([[40.0], *([5.0] for _ in range(29))]))


def test_copies_of_bags_are_worth_a_warning_unless_they_are_left_out_together():
    rng = np.random.default_rng(0)
    parts, y = list(rng.normal(size=(12, 4, 1))), rng.normal(size=12)
    twice = np.tile(np.arange(12), 2)
    bags = Bags.from_arrays([parts[k] for k in twice])
    with warns(ModelWarning, "bags-copies-others", 12, 24):
        BagRidge(LinearEmbedding()).fit(bags, y[twice])
    grouped = BagRidge(LinearEmbedding()).fit(bags, y[twice], groups=twice)
    once = BagRidge(LinearEmbedding()).fit(bags[np.arange(12)], y)
    np.testing.assert_allclose(np.sort(grouped.residuals_[:12, 0]), np.sort(once.residuals_[:, 0]), atol=1e-9)


def test_conformal_widths_cover_new_errors_as_often_as_promised():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        errors = rng.normal(size=(40, 1))
        covered.append(abs(errors[0, 0]) <= conformal_half_width(errors[1:], 0.9)[0])
    assert np.mean(covered) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize("n", [1, 2, 6, 13, 19, 48])
def test_conformal_levels_go_up_to_n_of_n_plus_1(n):
    """Above it, no width is large enough; at it, the largest error is."""
    errors = np.arange(1.0, n + 1)[:, None]
    assert conformal_half_width(errors, n / (n + 1))[0] == n
    with raises(DataError, "bags-left-out"):
        conformal_half_width(errors, n / (n + 1) + 0.01)
