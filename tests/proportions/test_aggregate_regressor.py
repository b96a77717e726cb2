"""Regression of individuals from sums and means of bags."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.noise import Gaussian, Geometric, Laplace, Poisson
from sumwise.proportions import AggregateRegressor
from sumwise.proportions.kernels.aggregate_likelihood import independent_sums


def incomes(n_bags=150, size=8, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    mean = 1.0 + values @ [2.0, -1.0]
    return Bags(values, np.arange(n_bags + 1) * size), mean, mean + rng.normal(size=len(mean)), rng


def sums(bags, y):
    return np.add.reduceat(y, bags.offsets[:-1])


@pytest.mark.check
def test_coefficients_are_found_and_intervals_hold_them():
    inside = []
    for seed in range(40):
        bags, _, y, _ = incomes(40, 5, seed)
        model = AggregateRegressor().fit(bags, sums(bags, y))
        found = model.intervals(0.9)
        inside.append((found["low"] <= [2.0, -1.0, 1.0]) & (found["high"] >= [2.0, -1.0, 1.0]))
    assert 0.83 < np.mean(inside) < 0.96


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
@pytest.mark.parametrize("noise", [None, Gaussian(2.0)])
def test_weights_of_bags_are_repetitions(likelihood, noise):
    bags, mean, y, rng = incomes(30, 5)
    given = sums(bags, y if likelihood == "gaussian" else rng.poisson(np.exp(0.3 * mean)))
    weights = np.tile([2.0, 1.0, 0.0], 10)
    index = np.repeat(np.arange(30), weights.astype(int))
    model = AggregateRegressor(likelihood, penalty=1.0, noise=noise)
    weighted = model.fit(bags, given, sample_weight=weights)
    found = np.append(weighted.coef_, weighted.intercept_), weighted.covariance_, weighted.variance_
    score = weighted.score(bags, given, sample_weight=weights)
    repeated = model.fit(bags[index], given[index])
    for one, other in zip(
        found, (np.append(repeated.coef_, repeated.intercept_), repeated.covariance_, repeated.variance_)
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert score == pytest.approx(repeated.score(bags[index], given[index]), abs=1e-4)
    with raises(DataError, "bags-share-members"):
        model.fit(bags, given, members=np.arange(bags.n_rows), sample_weight=weights)


def test_means_are_sums_over_sizes():
    bags, _, y, _ = incomes()
    by_sum = AggregateRegressor().fit(bags, sums(bags, y))
    by_mean = AggregateRegressor(statistic="mean").fit(bags, sums(bags, y) / bags.sizes)
    np.testing.assert_allclose(by_mean.coef_, by_sum.coef_, rtol=1e-3)
    np.testing.assert_allclose(by_mean.predict_sums(bags) * bags.sizes, by_sum.predict_sums(bags), rtol=1e-2, atol=0.05)
    assert by_sum.score(bags, sums(bags, y)) > 0.9


def test_a_weight_of_three_is_three_people():
    bags, _, y, _ = incomes(40, 4)
    weights = np.tile([1.0, 3.0, 1.0, 2.0], 40)
    y = sums(bags, y * weights)
    weighted = AggregateRegressor(penalty=1.0).fit(Bags(bags.values, bags.offsets, weights), y)
    rows = np.repeat(np.arange(160), weights.astype(int))
    offsets = np.concatenate([[0], np.cumsum(weights.reshape(40, 4).sum(axis=1).astype(int))])
    repeated = AggregateRegressor(penalty=1.0).fit(Bags(bags.values[rows], offsets), y)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4)
    np.testing.assert_allclose(weighted.variance_, repeated.variance_, rtol=1e-3)


def test_noise_on_sums_is_separated_from_that_of_people():
    bags, _, y, rng = incomes(400, 4)
    noisy = sums(bags, y) + rng.normal(0, 6.0, 400)
    blind, informed = AggregateRegressor().fit(bags, noisy), AggregateRegressor(noise=Gaussian(6.0)).fit(bags, noisy)
    assert blind.variance_ > 5.0
    assert informed.variance_ < 3.0
    assert AggregateRegressor(noise=Laplace(3.0))._noise_variance() == 18.0
    assert AggregateRegressor(noise=Geometric(2.0))._noise_variance() == pytest.approx(2 * 4 - 1 / 6, abs=0.02)
    with raises(DataError, "noise-gaussian-laplace"):
        AggregateRegressor(noise=Poisson()).fit(bags, noisy)


def test_people_in_several_bags_are_counted_once():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 1))
    y = 3.0 * values[:, 0] + rng.normal(size=60)
    who = np.array([rng.choice(60, 6, replace=False) for _ in range(40)]).ravel()
    bags = Bags(values[who], np.arange(0, 241, 6))
    model = AggregateRegressor().fit(bags, sums(bags, y[who]), members=who)
    apart = AggregateRegressor().fit(bags, sums(bags, y[who]))
    assert abs(model.coef_[0] - 3.0) < 0.5
    assert np.sqrt(model.covariance_[0, 0]) != pytest.approx(np.sqrt(apart.covariance_[0, 0]), rel=0.05)
    with raises(DataError, "rows-other-features"):
        AggregateRegressor().fit(Bags(rng.normal(size=(240, 1)), bags.offsets), sums(bags, y[who]), members=who)


def test_counts_have_a_log_link():
    bags, _, _, rng = incomes(200, 5)
    rates = np.exp(0.5 + bags.values @ [0.5, -0.3])
    totals = sums(bags, rng.poisson(rates))
    model = AggregateRegressor("poisson").fit(bags, totals)
    np.testing.assert_allclose(model.coef_, [0.5, -0.3], atol=0.08)
    mean, error = model.predict(bags.values, return_std=True)
    assert np.mean(np.abs(mean - rates) < 3 * error + 1e-9) > 0.9
    with raises(DataError, "counts-cant-negative", 0):
        AggregateRegressor("poisson").fit(bags, -totals - 1)


def test_text_gaps_and_an_index_are_taken_care_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.permutation(np.repeat([f"a{i}" for i in range(60)], 5))})
    frame["job"] = rng.choice(["x", "y", "z"], 300)
    frame["age"] = np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300))
    frame["income"] = 2.0 * (frame["job"] == "y") + rng.normal(size=300)
    bags = Bags.from_frame(frame, bag="area", features=["job", "age"])
    model = AggregateRegressor(statistic="mean").fit(bags, frame.groupby("area")["income"].mean())
    found = dict(zip(model.features_.names, model.coef_))
    assert found["job=y"] - found["job=x"] > 1.0
    assert np.isfinite(model.predict(frame)).all()


def test_units_change_nothing():
    bags, _, y, _ = incomes()
    units = np.array([1e12, 1e-12])
    plain = AggregateRegressor().fit(bags, sums(bags, y))
    scaled = AggregateRegressor().fit(Bags(bags.values * units, bags.offsets), 1e9 * sums(bags, y))
    np.testing.assert_allclose(scaled.coef_ * units / 1e9, plain.coef_, rtol=1e-3)


def test_bad_use_is_refused():
    bags, _, y, _ = incomes(4, 2)
    with raises(DataError, "is-takes", "likelihood", "gamma"):
        AggregateRegressor("gamma").fit(bags, sums(bags, y))
    with raises(DataError, "lengths-differ-entry", 3):
        AggregateRegressor().fit(bags, sums(bags, y)[:3])
    with raises(DataError, "penalty-shape-number", 2):
        AggregateRegressor(penalty=[1.0, 2.0, 3.0]).fit(bags, sums(bags, y))
    with warns(ModelWarning, "bags-too-few-estimate", 2):
        AggregateRegressor(penalty=1.0).fit(bags[:2], sums(bags, y)[:2])


def test_responses_that_are_all_the_same_are_refused():
    bags = Bags.from_arrays([np.random.default_rng(i).normal(size=(5, 2)) for i in range(8)])
    with raises(DataError, "all-bags-same", 8, 3):
        AggregateRegressor().fit(bags, np.full(8, 15.0))


@pytest.mark.filterwarnings("ignore")  # of few bags
def test_fewer_bags_than_coefficients_have_a_fit():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 10)) + np.repeat(rng.normal(0, 0.5, (6, 10)), 100, axis=0)
    model = AggregateRegressor().fit(Bags(values, np.arange(0, 601, 100)), rng.integers(30, 70, 6))
    assert np.isfinite(model.coef_).all()


def test_bags_that_share_members_have_no_weights():
    bags, _, y, _ = incomes(5, 4)
    with raises(DataError, "bags-share-members"):
        AggregateRegressor().fit(bags, sums(bags, y), members=np.arange(20), sample_weight=np.ones(5))


@pytest.fixture
def two_tables():
    """Everybody once in a table by area and once in one by age: both have the same grand total."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = 1.0 + X @ [1.0, -0.5] + rng.normal(size=400)
    tables = [np.argsort(np.argsort(X[:, k] + rng.normal(size=400))) // 20 for k in (0, 1)]
    members = np.concatenate([np.argsort(table, kind="stable") for table in tables])
    return Bags(X[members], np.arange(41) * 20), y[members].reshape(40, 20).sum(axis=1), members


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_a_sum_that_others_imply_changes_nothing(two_tables, likelihood):
    bags, sums, members = two_tables
    sums = np.abs(sums).round() if likelihood == "poisson" else sums
    sums[-1] = sums[:20].sum() - sums[20:-1].sum()
    model = AggregateRegressor(likelihood=likelihood, penalty=1.0).fit(bags, sums, members=members)
    one_less = AggregateRegressor(likelihood=likelihood, penalty=1.0)
    one_less.fit(bags[:-1], sums[:-1], members=members[: 39 * 20])
    np.testing.assert_allclose(model.coef_, one_less.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.covariance_, one_less.covariance_, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_of_totals_do_not_decide_which_sums_are_implied(two_tables, unit):
    bags, sums, members = two_tables
    kept, usual = (AggregateRegressor().fit(bags, factor * sums, members=members).coef_ for factor in (unit, 1.0))
    np.testing.assert_allclose(kept / unit, usual, rtol=1e-6)
    with raises(DataError, "totals-contradict-those", 40):
        AggregateRegressor().fit(bags, unit * (sums + np.eye(40)[-1]), members=members)


def test_a_small_bag_beside_large_ones_is_not_implied_and_its_contradiction_is_seen():
    """Ten people of weight 1e-6 in a bag of their own, and among those of weight 1 in another."""
    weights = np.concatenate([np.full(10, 1e-6), np.ones(10), np.full(10, 1e-6)])
    members = sparse.csr_array((weights, (np.repeat([0, 1, 1], 10), [*range(10), *range(10, 20), *range(10)])))
    kept, _, _ = independent_sums(members, np.array([3e-6, 8.0]))
    np.testing.assert_array_equal(kept, [0, 1])
    twice = sparse.csr_array(np.vstack([members.toarray(), members.toarray()[:1]]))
    kept, implied, largest = independent_sums(twice, np.array([3e-6, 8.0, 4e-6]))
    assert len(kept) == 2
    np.testing.assert_allclose(np.abs([3e-6, 8.0, 4e-6] - implied).max(), 1e-6, rtol=1e-6)
    assert largest.max() == 8.0


def test_totals_that_contradict_each_other_are_refused(two_tables):
    bags, sums, members = two_tables
    with raises(DataError, "totals-contradict-those", 40):
        AggregateRegressor().fit(bags, sums + np.eye(40)[3], members=members)
    rounded = AggregateRegressor(noise=Gaussian(0.3)).fit(bags, sums.round(), members=members)
    assert np.abs(rounded.coef_ - [1.0, -0.5]).max() < 0.3


def test_coefficients_have_the_names_of_columns_and_levels():
    rng = np.random.default_rng(0)
    job = np.where(rng.random(200) < 0.5, "clerk", "nurse")
    people = pd.DataFrame({"area": np.repeat(np.arange(40), 5), "age": rng.normal(size=200), "job": job})
    people.loc[::20, "age"] = np.nan
    model = AggregateRegressor(penalty=1.0).fit(
        Bags.from_frame(people, bag="area", features=["age", "job"]), rng.normal(size=40)
    )
    assert model.get_feature_names_out().tolist() == ["age", "age=missing", "job=clerk", "job=nurse"]
    assert model.coef_.shape == (4,)


def test_intervals_of_single_rows_without_a_penalty_are_those_of_least_squares():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2)) * [1.0, 100.0]
    y = 1.0 + X @ [0.5, -0.02] + rng.normal(size=40)
    model = AggregateRegressor(penalty=0.0).fit(Bags(X, np.arange(41)), y)
    design = np.column_stack([X, np.ones(40)])
    estimate, squares = np.linalg.lstsq(design, y)[:2]
    errors = np.sqrt(squares / 37 * np.diag(np.linalg.inv(design.T @ design)))
    reach = stats.t.ppf(0.95, 37) * errors
    found = model.intervals(0.9)
    np.testing.assert_allclose(found["low"], estimate - reach, rtol=1e-3)
    np.testing.assert_allclose(found["high"], estimate + reach, rtol=1e-3)
    low, high = model.predict_interval(X[:3], 0.9)
    np.testing.assert_allclose(0.5 * (low + high), design[:3] @ estimate, rtol=1e-6)
    error = np.sqrt(squares / 37 * np.diag(design[:3] @ np.linalg.inv(design.T @ design) @ design[:3].T))
    np.testing.assert_allclose(high - low, 2 * stats.t.ppf(0.95, 37) * error, rtol=1e-3)


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_intervals_hold_what_a_strong_penalty_took(likelihood):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 1)) + np.repeat(rng.normal(size=(60, 1)), 15, axis=0)
    y = 0.5 * X[:, 0] + 0.3 * rng.normal(size=900) if likelihood == "gaussian" else rng.poisson(np.exp(0.5 * X[:, 0]))
    bags, totals = Bags(X, np.arange(0, 901, 15)), y.reshape(60, 15).sum(axis=1)
    model = AggregateRegressor(likelihood, penalty=2000.0).fit(bags, totals)
    row = model.intervals(0.95).iloc[0]
    assert row["coefficient"] < 0.45
    assert row["coefficient"] == row["low"] <= 0.5 <= row["high"]  # begins at the fitted coefficient
    low, high = model.predict_interval([[1.0]])
    assert low[0] <= (0.5 if likelihood == "gaussian" else np.exp(0.5)) <= high[0]


def test_levels_of_a_category_have_no_intervals_of_their_own_and_people_have():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"bag": np.repeat(np.arange(60), 10), "age": rng.normal(size=600)})
    frame["region"] = np.array(["a", "b", "c"])[(3 * rng.random(600) ** (1 + rng.random(60)[frame["bag"]])).astype(int)]
    y = frame["age"] + (frame["region"] == "b") + rng.normal(size=600)
    bags = Bags.from_frame(frame, bag="bag", features=["age", "region"])
    model = AggregateRegressor().fit(bags, y.groupby(frame["bag"]).sum())
    found = model.intervals()
    assert np.isfinite(found.loc["age", "low"])
    assert found.drop(index="age")["low"].isna().all()
    low, high = model.predict_interval(pd.DataFrame({"age": [0.0, 0.0], "region": ["a", "b"]}))
    assert np.all((low <= [0.0, 1.0]) & (high >= [0.0, 1.0]))


def test_too_few_bags_have_no_intervals():
    rng = np.random.default_rng(6)
    bags = Bags(rng.normal(size=(90, 5)), np.arange(0, 91, 10))
    model = AggregateRegressor().fit(bags, rng.normal(size=9))
    with warns(ModelWarning, "bags-too-few", 9, 6):
        assert model.intervals()["low"][["x0", "intercept"]].isna().all()
    with warns(ModelWarning, "bags-too-few"):
        assert np.isnan(model.predict_interval(np.zeros((2, 5)))[0]).all()


def test_coefficients_that_run_away_have_no_intervals():
    X = np.column_stack([np.repeat([0.0, 1.0], 30), np.random.default_rng(7).normal(size=60)])
    model = AggregateRegressor("poisson").fit(Bags(X, np.arange(0, 61, 3)), np.repeat([0.0, 6.0], 10))
    assert model.intervals()["low"][["x0", "intercept"]].isna().all()


def test_a_model_of_a_version_without_intervals_says_so():
    model = AggregateRegressor().fit(Bags(np.arange(8.0)[:, None], np.arange(9)), np.arange(8.0) ** 2)
    for name in ("alone_", "alone_covariance_", "unknown_", "freedom_"):
        delattr(model, name)
    for ask in (model.intervals, lambda: model.predict_interval([[1.0]])):
        with raises(DataError, "model-saved-version"):
            ask()
