import numpy as np
import pytest
from scipy import integrate, stats

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError


def test_moments_of_the_values():
    data = synthetic.gamma(200, 2000, random_state=0)
    y = np.repeat(data.response, 2000)
    x = data.bags.values
    np.testing.assert_allclose(x.mean(), 1, atol=0.003)
    np.testing.assert_allclose(((x - 1) ** 2).mean(), (2 / y + 1).mean(), rtol=0.01)
    assert data.response.min() >= 4
    assert data.response.max() <= 8
    np.testing.assert_allclose(data.response.mean(), 6, atol=0.3)


def test_noise_is_a_variance():
    data = synthetic.gamma(50, 2000, noise=0.25, random_state=0)
    spread = ((data.bags.values - 1) ** 2).mean() - (2 / data.response).mean()
    np.testing.assert_allclose(spread, 0.25, atol=0.02)


def test_values_are_scaled_chi_squared_without_noise():
    data = synthetic.gamma(3, 20_000, noise=0.0, n_features=1, random_state=1)
    for x, y in zip(data.bags, data.response, strict=True):
        assert stats.kstest(x[:, 0] * y, stats.chi2(y).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("small", "counts"), [(0.0, [0, 50, 50, 100]), (0.25, [50, 50, 50, 50]), (0.5, [100, 50, 50, 0])]
)
def test_variable_sizes_have_the_papers_shares(small, counts):
    data = synthetic.gamma(200, small=small, random_state=0)
    assert [(data.bags.sizes == size).sum() for size in (5, 20, 100, 1000)] == counts
    assert data.noise == 0
    assert len(set(data.bags.sizes[:20])) > 1  # in random order


def test_exact_posterior_mean_against_quadrature():
    data = synthetic.gamma(4, 5, noise=0.0, random_state=2)
    for x, got in zip(data.bags, data.bayes(), strict=True):

        def likelihood(y, x=x):
            return np.exp(stats.gamma.logpdf(x, y / 2, scale=2 / y).sum() + 20)

        total = integrate.quad(likelihood, 4, 8)[0]
        np.testing.assert_allclose(got, integrate.quad(lambda y: y * likelihood(y), 4, 8)[0] / total, rtol=1e-5)


@pytest.mark.parametrize("noise", [1.0, 0.04])
def test_noisy_posterior_mean_against_quadrature(noise):
    data = synthetic.gamma(3, 8, noise=noise, n_features=1, random_state=3)
    z = np.linspace(0, 16, 16_001)[1:]
    shapes = np.linspace(4, 8, 101)
    for x, got in zip(data.bags, data.bayes(), strict=True):
        kernel = stats.norm.pdf(x, loc=z, scale=np.sqrt(noise))  # (8, grid)
        log_likelihood = np.array([np.log(kernel @ stats.gamma.pdf(z, y / 2, scale=2 / y)).sum() for y in shapes])
        weight = np.exp(log_likelihood - log_likelihood.max())
        weight[[0, -1]] /= 2
        np.testing.assert_allclose(got, weight @ shapes / weight.sum(), rtol=1e-4)


@pytest.mark.check
def test_bayes_error_is_near_the_known_optimum():
    fixed = [synthetic.gamma(1000, random_state=seed).bayes_error for seed in range(2)]
    np.testing.assert_allclose(np.mean(fixed), 0.171, atol=0.012)
    for small, optimum in ((0.0, 0.134), (0.25, 0.348), (0.5, 0.555)):
        errors = [synthetic.gamma(1000, small=small, random_state=seed).bayes_error for seed in range(2)]
        np.testing.assert_allclose(np.mean(errors), optimum, atol=0.035)


def test_same_seed_same_bags():
    a, b, c = (synthetic.gamma(5, 10, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a.bags.values, b.bags.values)
    assert not np.array_equal(a.bags.values, c.bags.values)


def test_one_bag_of_one_row():
    data = synthetic.gamma(1, 1, n_features=1, random_state=0)
    assert data.bags.values.shape == (1, 1)
    assert 4 < data.bayes()[0] < 8


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_bags": 0}, ("must-least", "n_bags")),
        ({"bag_size": 0}, ("must-least", "bag_size")),
        ({"n_features": 0}, ("must-least", "n_features")),
        ({"small": 0.6}, ("small-must-most", "0.6")),
        ({"small": -0.1}, ("must-least", "small")),
        ({"noise": -1.0}, ("must-least", "noise")),
        ({"support": (8, 4)}, ("support-lowest-highest",)),
        ({"support": (0, 4)}, ("not-above-zero-2", "support")),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.gamma(**bad)
