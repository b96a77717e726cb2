import numpy as np
import pytest

from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, BagRidge, LinearEmbedding, SizeMatched
from sumwise.distribution.size_matched import subsampled
from sumwise.errors import DataError


def test_subsamples_are_disjoint_parts_of_their_bag():
    bags = Bags.from_arrays([np.arange(10.0), 100 + np.arange(4.0), [1000.0]])
    part, owner = subsampled(bags, 3, 2, 100, rng=np.random.default_rng(0))
    assert owner.tolist() == [0, 0, 1]
    for rows, i in zip(part, owner):
        assert set(rows[:, 0]) <= set(bags[int(i)][:, 0])
    assert len(np.unique(part.values)) == 9
    _few, owner = subsampled(bags, 1, 4, 3, rng=np.random.default_rng(0))
    assert owner.tolist() == [0, 1, 2]


def test_bags_go_to_the_model_of_their_size():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(size=n) for n in [2] * 10 + [50] * 10])
    model = SizeMatched(BagRidge(LinearEmbedding()), random_state=0).fit(bags, rng.normal(size=20))
    assert model.sizes_.tolist() == [2, 50]
    one = Bags.from_arrays([np.full(3, 0.01), np.full(40, 0.01)])
    parts = [model.models_[k].predict(one[[k]])[0, 0] for k in range(2)]
    assert np.allclose(model.predict(one), parts)


def test_many_sizes_become_a_grid_that_ends_where_bags_do():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(size=n) for n in range(3, 60)])
    model = SizeMatched(BagRidge(LinearEmbedding()), n_sizes=4, random_state=0).fit(bags, rng.normal(size=57))
    assert model.sizes_[0] == 3
    assert model.sizes_[-1] <= 57
    assert len(model.sizes_) == 4


@pytest.mark.check
def test_variable_sizes_gain_by_matching():
    train, test = (synthetic.gamma(200, 200, small=0.25, random_state=s) for s in (5, 6))
    errors = [
        np.mean((model.fit(train.bags, train.response).predict(test.bags) - test.response) ** 2)
        for model in (BagKernelRidge(), SizeMatched(n_copies=3, random_state=0))
    ]
    assert errors[1] < 0.95 * errors[0]
    assert errors[1] < 1.3 * test.bayes_error


@pytest.mark.check
def test_parts_of_a_bag_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    centres, sizes = rng.normal(0, 20, (45, 2)), [300] * 42 + [30] * 3
    bags = Bags.from_arrays([rng.normal(m, 1, (n, 2)) for m, n in zip(centres, sizes)])
    noise = rng.normal(size=45)  # nothing to learn: a bag is known again by its means, and its response with it
    part, owner = subsampled(bags, 30, 10, 8000, rng=rng)
    fooled = BagKernelRidge(random_state=0).fit(part, noise[owner])
    assert fooled.loo_error_[0] < 0.7 * noise.var()
    model = SizeMatched(random_state=0).fit(bags, noise)
    assert model.models_[0].loo_error_[0] > 0.9 * noise.var()
    joined = SizeMatched(random_state=0).fit(bags, noise, groups=np.arange(45) // 15)
    assert joined.models_[0].loo_error_[0] != model.models_[0].loo_error_[0]


def test_estimators_without_groups_are_fitted_too(weighted_bags):
    model = SizeMatched(BagGaussianProcess(), n_sizes=2, random_state=0).fit(weighted_bags, np.arange(12.0))
    assert np.isfinite(model.predict(weighted_bags)).all()


def test_bad_settings_are_refused(weighted_bags):
    with pytest.raises(DataError, match="n_copies is 0"):
        SizeMatched(n_copies=0).fit(weighted_bags, np.arange(12.0))
    with pytest.raises(DataError, match="regressor is of type LinearEmbedding"):
        SizeMatched(LinearEmbedding()).fit(weighted_bags, np.arange(12.0))


def test_sizes_that_too_few_groups_reach_are_not_learned_at():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(i, 1.0, (n, 1)) for i, n in enumerate([5] * 14 + [50] * 8)])
    groups = np.r_[np.arange(14), np.repeat([14, 15], 4)]
    assert SizeMatched(random_state=0).fit(bags, np.arange(22.0), groups=groups).sizes_.tolist() == [5]
    assert SizeMatched(random_state=0).fit(bags, np.arange(22.0)).sizes_.tolist() == [5, 50]


@pytest.mark.check
def test_sizes_that_vary_without_end_cost_nothing():
    """The largest bags are too few to learn from alone."""
    rng = np.random.default_rng(5)
    centre = rng.uniform(0, 1, 160)
    bags = Bags.from_arrays([rng.normal(c, 1.0, (int(n), 1)) for c, n in zip(centre, rng.integers(5, 300, 160))])
    train, test = np.arange(120), np.arange(120, 160)
    models = [SizeMatched(random_state=0), BagKernelRidge()]
    matched, plain = (
        np.mean((m.fit(bags[train], centre[train]).predict(bags[test]) - centre[test]) ** 2) for m in models
    )
    assert matched < 1.25 * plain
