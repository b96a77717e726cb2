import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from messages import raises
from sumwise import Bags
from sumwise.distribution import GaussianKernel, mixture_similarity
from sumwise.errors import DataError

TWO = ([0.3, 0.7], [[0.0, 1.0], [2.0, -1.0]], [[[1.0, 0.3], [0.3, 0.5]], [[0.4, 0.0], [0.0, 2.0]]])
ONE = ([1.0], [[0.5, 0.5]], [[[0.7, -0.2], [-0.2, 0.9]]])


def drawn(mixture, n, rng):
    weights, means, covariances = (np.asarray(x) for x in mixture)
    kinds = rng.choice(len(weights), n, p=weights)
    return np.stack([rng.multivariate_normal(means[k], covariances[k]) for k in kinds])


def test_it_is_the_mean_over_pairs_of_draws():
    rng = np.random.default_rng(0)
    x, y = drawn(TWO, 1500, rng), drawn(ONE, 1500, rng)
    squares = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    for width in (0.5, 1.0, 3.0):
        assert abs(np.exp(-squares / (2 * width**2)).mean() - mixture_similarity(TWO, ONE, width)) < 0.01
    assert mixture_similarity(TWO, ONE) == pytest.approx(mixture_similarity(ONE, TWO))


def test_points_are_mixtures_without_spread():
    bags = Bags.from_arrays([[0.0, 1.0], [1.0, 4.0]])
    kernel = GaussianKernel(method="exact", random_state=0).fit(bags)
    width = float(kernel.width_ * kernel.columns_.scale[0])
    parts = [(np.full(2, 0.5), x[:, 0], np.zeros(2)) for x in bags]
    assert kernel.gram(bags)[0, 1] == pytest.approx(mixture_similarity(*parts, width))


def test_a_mixture_of_scikit_learn_is_taken():
    rows = drawn(TWO, 300, np.random.default_rng(1))
    fitted = GaussianMixture(2, random_state=0).fit(rows)
    by_hand = (fitted.weights_, fitted.means_, fitted.covariances_)
    assert mixture_similarity(fitted, ONE) == mixture_similarity(by_hand, ONE)
    with raises(DataError, "covariances-type-covariance", "diag"):
        mixture_similarity(GaussianMixture(2, covariance_type="diag").fit(rows), ONE)


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        (([0.5, 0.6], [0.0, 1.0], [1.0, 1.0]), ("weights-sum-shares", "1.1")),
        (([1.0], [0.0], [1.0, 1.0]), ("weights-means-shape",)),
        (([1.0], [[0.0, 1.0]], [[[1.0, 2.0], [2.0, 1.0]]]), ("covariance-negative-eigenvalue",)),
        (([1.0], [[0.0, 1.0]], [[[1.0, 0.0], [0.5, 1.0]]]), ("covariance-not-symmetric",)),
        ("mixture", ("not-mixture-weights",)),
        (([1.0], [0.0], [1.0]), ("mixtures-columns-compare", 1, 2)),
    ],
)
def test_what_is_no_mixture_is_refused(mixture, message):
    with raises(DataError, *message):
        mixture_similarity(mixture, ONE)
