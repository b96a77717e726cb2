import numpy as np
from scipy.stats import norm

from brute_distribution import mean_features
from messages import raises
from sumwise.distribution import FisherVector
from sumwise.errors import DataError


def test_vectors_are_mean_gradients_of_the_log_likelihood(weighted_bags):
    embedding = FisherVector(3, power=False, normalize=False, random_state=0).fit(weighted_bags)
    columns, shares, means, deviations = embedding.columns_, embedding.shares_, embedding.means_, embedding.deviations_

    def log_likelihood(x, means, deviations):
        return np.log(np.sum(shares * norm.pdf(x, means, deviations).prod(axis=1)))

    def gradient(x):
        x, step, out = columns.numbers(x[None])[0], 1e-6, []
        for which, factor in ((0, 1.0), (1, np.sqrt(0.5))):
            for k, j in np.ndindex(means.shape):
                shift = np.zeros_like(means)
                shift[k, j] = step
                by = shift * (1 - which), shift * which
                up, down = (log_likelihood(x, means + s * by[0], deviations + s * by[1]) for s in (1, -1))
                slope = (up - down) / (2 * step)
                out.append(slope * deviations[k, j] * factor / np.sqrt(shares[k]))
        return np.array(out)

    assert np.allclose(embedding.transform(weighted_bags)[:, 3:], mean_features(weighted_bags, gradient), atol=1e-6)


def test_power_and_length(weighted_bags):
    plain = FisherVector(3, power=False, normalize=False, random_state=0).fit_transform(weighted_bags)
    rooted = FisherVector(3, normalize=False, random_state=0).fit_transform(weighted_bags)
    assert np.allclose(rooted, np.sign(plain) * np.sqrt(np.abs(plain)))
    whole = FisherVector(3, random_state=0).fit_transform(weighted_bags)
    assert np.allclose(np.linalg.norm(whole, axis=1), 1)


def test_bad_settings_are_refused(weighted_bags):
    with raises(DataError, "must-least", "n_components", 0):
        FisherVector(0).fit(weighted_bags)


def test_without_shares_only_the_gradients_by_means_and_variances_are_left(weighted_bags):
    options = {"power": False, "normalize": False, "random_state": 0}
    whole = FisherVector(3, **options).fit_transform(weighted_bags)
    less = FisherVector(3, shares=False, **options).fit_transform(weighted_bags)
    assert less.shape[1] == 2 * 3 * weighted_bags.values.shape[1]
    np.testing.assert_allclose(less, whole[:, 3:])
