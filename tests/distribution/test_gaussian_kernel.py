import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution import GaussianKernel, MarginalKernel
from sumwise.errors import DataError


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    return Bags.from_arrays([rng.normal(m, 1, (25, 2)) for m in (0, 0.5, 1, 3)])


@pytest.mark.parametrize("level", ["linear", "gaussian"])
def test_features_come_close_to_all_pairs(bags, level):
    exact = GaussianKernel(method="exact", level=level, random_state=0).fit(bags).gram(bags)
    close = GaussianKernel(level=level, n_frequencies=8192, random_state=0).fit(bags).gram(bags)
    assert np.allclose(close, exact, atol=0.03)


def test_gaussian_level_is_the_exponential_of_the_mean_discrepancy(bags):
    linear = GaussianKernel(method="exact", random_state=0).fit(bags).gram(bags)
    own = np.diag(linear)
    expected = np.exp(-2.0 * (own[:, None] + own - 2 * linear))
    gram = GaussianKernel(method="exact", level="gaussian", gamma=2.0, random_state=0).fit(bags).gram(bags)
    assert np.allclose(gram, expected)


def test_normal_bags_have_the_closed_form():
    # Over N(m, s^2) and N(n, t^2) the mean of exp(-(x - y)^2 / 2h^2) is h / v exp(-(m - n)^2 / 2v^2) with
    # v^2 = h^2 + s^2 + t^2.
    rng = np.random.default_rng(1)
    bags = Bags.from_arrays([rng.normal(m, s, 3000) for m, s in ((0, 1), (1, 2))])
    kernel = GaussianKernel(method="exact", random_state=0).fit(bags)
    width = kernel.width_ * kernel.columns_.scale[0]
    total = width**2 + 1 + 4
    assert kernel.gram(bags)[0, 1] == pytest.approx(width / np.sqrt(total) * np.exp(-0.5 / total), rel=0.03)


def test_the_marginal_kernel_is_the_mean_over_columns(bags):
    kernel = MarginalKernel().fit(bags)
    unit = kernel.embedding_.unit_ * kernel.columns_.scale
    parts = [part[:, kernel.columns_.numeric] for part in bags]
    for i, j in ((0, 0), (0, 3), (1, 2)):
        pair = [np.exp(-((parts[i][:, [c]] - parts[j][:, c]) ** 2) / (2 * unit[c] ** 2)).mean() for c in range(2)]
        assert kernel.gram(bags)[i, j] == pytest.approx(np.mean(pair), abs=1e-8)


def test_every_column_of_the_marginal_kernel_has_its_own_width():
    rng = np.random.default_rng(0)
    heavy = rng.standard_t(1.5, (40, 30))
    bags = Bags.from_arrays([np.column_stack([rng.normal(size=30), h]) for h in heavy])
    kernel = MarginalKernel().fit(bags)
    rows = kernel.columns_.numbers(bags.values)
    medians = [np.median(np.abs(c[:, None] - c)[np.triu_indices(len(c), 1)]) for c in rows.T]
    assert np.allclose(kernel.embedding_.unit_, medians, rtol=0.1)
    assert max(medians) > 2 * min(medians)


def test_bad_settings_are_refused(bags):
    for settings, message in (
        ({"width": 0.0}, ("not-above-zero-2", "width")),
        ({"method": "fast"}, ("is-takes", "method", "fast")),
        ({"level": "cubic"}, ("is-takes", "level", "cubic")),
    ):
        with raises(DataError, *message):
            GaussianKernel(**settings).fit(bags)
    with raises(DataError, "must-least", "n_nodes", 2):
        MarginalKernel(n_nodes=2).fit(bags)
