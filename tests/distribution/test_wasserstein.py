import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from messages import raises
from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, WassersteinKernel
from sumwise.errors import DataError


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return [rng.normal(m, 1, (20, 2)) for m in (0, 1, 3, 3.5)]


def test_sum_and_product_over_columns(parts):
    bags = Bags.from_arrays(parts)
    options = {"n_quantiles": 20, "gamma": 0.7}
    total, product = (WassersteinKernel(1, combine=c, **options).fit(bags) for c in ("sum", "product"))
    x, y = (total.columns_.numbers(p) for p in (parts[0], parts[2]))
    pair = [wasserstein_distance(x[:, j], y[:, j]) for j in range(2)]
    assert total.gram(bags)[0, 2] == pytest.approx(np.mean(np.exp(-0.7 * np.array(pair))))
    assert product.gram(bags)[0, 2] == pytest.approx(np.exp(-0.7 * np.mean(pair)))


@pytest.mark.parametrize("order", [1, 2])
def test_spreads_are_compared_by_their_logarithms(parts, order):
    parts[1] = parts[1] * 3
    bags = Bags.from_arrays(parts)
    options = {"n_quantiles": 20, "gamma": 0.7}
    plain, kernel = (WassersteinKernel(order, spread=spread, **options).fit(bags) for spread in (False, True))
    spreads = np.log([kernel.columns_.numbers(p).std(axis=0) + 1e-6 for p in parts])
    similar = np.exp(-0.7 * np.abs(spreads[:, None] - spreads) ** order).mean(axis=2)
    assert np.allclose(kernel.gram(bags), (plain.gram(bags) + similar) / 2)
    assert np.linalg.eigvalsh(kernel.gram(bags))[0] > 0


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("combine", ["sum", "product"])
def test_the_variant_without_extra_slices_is_the_kernel_without_them(mixed_bags, spread, combine):
    options = {"spread": spread, "combine": combine, "gamma": "median" if combine == "sum" else 0.5}
    plain = WassersteinKernel(**options).fit(mixed_bags)
    whole = WassersteinKernel(extra_slices=4, **options).fit(mixed_bags)
    assert len(whole.gram(mixed_bags)) == 10
    (first, kept), (second, _) = whole.variants(whole.represent(mixed_bags))
    assert second is whole
    assert first.directions_.shape == (2, 2)
    assert whole.directions_.shape == (2, 6)
    assert np.allclose(first.gram(mixed_bags), plain.gram(mixed_bags))
    assert np.allclose(kept, first.represent(mixed_bags))
    assert not np.allclose(whole.gram(mixed_bags), plain.gram(mixed_bags))


def test_extra_slices_are_kept_where_they_help():
    rng = np.random.default_rng(0)
    y = rng.uniform(-0.9, 0.9, 120)
    together = Bags.from_arrays([rng.multivariate_normal([0, 0], [[1, r], [r, 1]], 60) for r in y])
    for model in (BagKernelRidge(), BagGaussianProcess()):
        assert model.fit(together[:80], y[:80]).score(together[80:], y[80:]) > 0.9
        assert model.kernel_.n_extra_ == 10
    apart = Bags.from_arrays([rng.normal(r, 1, (60, 2)) for r in y])
    assert BagKernelRidge().fit(apart, y).kernel_.n_extra_ == 0


def test_bags_of_one_row_have_spreads_too():
    bags = Bags.from_arrays([[0.0], [1.0], [0.0, 2.0], [5.0, 5.0]])
    assert np.isfinite(WassersteinKernel(spread=True).fit(bags).gram(bags)).all()


@pytest.mark.parametrize("seed", [1, 10])  # variances of the axes have ratios of 34 and 3,200
def test_the_entropy_of_rotated_bags_is_found_by_default(seed):
    base = synthetic.statistics("rotation", 1, random_state=seed).base
    train, test = (synthetic.statistics("rotation", n, base=base, random_state=n) for n in (128, 256))
    said = BagKernelRidge().fit(train.bags, train.response).predict(test.bags)
    assert np.mean((said - test.response) ** 2) < 0.001


@pytest.mark.parametrize("order", [1, 2])
def test_exact_transport_is_that_of_the_best_matching(parts, order):
    pytest.importorskip("ot")
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    bags = Bags.from_arrays(parts)
    kernel = WassersteinKernel(order, None, gamma=0.3).fit(bags)
    x, y = (kernel.columns_.numbers(p) for p in parts[:2])
    cost = cdist(x, y) ** order
    best = cost[linear_sum_assignment(cost)].mean()
    assert kernel.gram(bags)[0, 1] == pytest.approx(np.exp(-0.3 * best))
    assert kernel.gram(bags[:2], bags[2:]).shape == (2, 2)
    assert not kernel.definite


def test_exact_transport_on_a_line_is_that_of_sorted_rows():
    pytest.importorskip("ot")
    bags = Bags.from_arrays([[0.0, 1.0, 5.0], [2.0, 2.5, 3.0], [9.0, 1.0, 4.0]])
    grams = [WassersteinKernel(1, n, gamma=1.0).fit(bags).gram(bags) for n in (3, None)]
    assert np.allclose(*grams)


def test_slices_tell_correlation_apart():
    x = np.random.default_rng(0).normal(size=(3000, 2))
    one, other = x @ [[1, 0.9], [0, 0.4359]], x @ [[1, -0.9], [0, 0.4359]]
    bags = Bags.from_arrays([one, other, one + 0.5])
    plain, sliced = (WassersteinKernel(slices=s, gamma=1.0, random_state=0).fit(bags).gram(bags) for s in (0, 20))
    assert plain[0, 1] > 0.99
    assert sliced[0, 1] < 0.95


def test_bad_settings_are_refused(parts, mixed_bags):
    bags = Bags.from_arrays(parts)
    for settings, message in (
        ({"order": 3}, ("is-takes", "order", 3)),
        ({"n_quantiles": 0}, ("must-least", "n_quantiles", 0)),
        ({"slices": -1}, ("must-least", "slices", -1)),
        ({"extra_slices": -1}, ("must-least", "extra_slices", -1)),
        ({"combine": "max"}, ("is-takes", "combine", "max")),
    ):
        with raises(DataError, *message):
            WassersteinKernel(**settings).fit(bags)
    with raises(DataError, "exact-transport-needs"):
        WassersteinKernel(n_quantiles=None).fit(mixed_bags)
    with raises(DataError, "exact-transport-doesnt"):
        WassersteinKernel(n_quantiles=None, spread=True).fit(bags)
