"""Networks on sums: what is no linear function of the features, shared people, noise, counts, saving."""

import numpy as np
import pytest
from scipy import sparse

import sumwise
from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.proportions import AggregateRegressor
from sumwise.proportions.aggregate_network import SumData, _Run

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def curved(n_bags=200, size=6, seed=0):
    """Responses x0^2 - x1 with noise, in bags that differ."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    mean = values[:, 0] ** 2 - values[:, 1]
    return Bags(values, np.arange(n_bags + 1) * size), mean, mean + rng.normal(size=len(mean)), rng


def sums(bags, y):
    return np.add.reduceat(y, bags.offsets[:-1])


def error(model, bags, mean):
    return np.mean((model.predict(bags.values) - mean) ** 2) / mean.var()


@pytest.fixture(scope="module")
def fitted():
    bags, mean, y, _ = curved()
    return AggregateRegressor(hidden=(16,)).fit(bags, sums(bags, y)), bags, mean, y


@pytest.mark.check
def test_networks_learn_what_a_line_does_not(fitted, tmp_path):
    model, bags, mean, y = fitted
    assert error(AggregateRegressor().fit(bags, sums(bags, y)), bags, mean) > 0.5
    assert error(model, bags, mean) < 0.15
    assert model.gain_ > 0
    assert model.n_steps_ > 0
    sumwise.save(model, tmp_path / "model")
    assert np.array_equal(sumwise.load(tmp_path / "model").predict(bags), model.predict(bags))
    with raises(DataError, "networks-no-standard"):
        model.predict(bags, return_std=True)


def test_a_linear_response_keeps_its_line():
    bags, _, _, rng = curved(80)
    y = bags.values @ [2.0, -1.0] + rng.normal(size=bags.n_rows)
    line, networks = (AggregateRegressor(hidden=h).fit(bags, sums(bags, y)) for h in ((), (16,)))
    assert np.std(networks.predict(bags) - line.predict(bags)) < 0.15 * np.std(line.predict(bags))


@pytest.mark.check
def test_people_in_two_tables_and_noise_on_sums():
    bags, mean, y, rng = curved(120)
    other = rng.permutation(bags.n_rows)  # the same people, in other bags
    twice = Bags(
        np.vstack([bags.values, bags.values[other]]), np.concatenate([bags.offsets, bags.n_rows + bags.offsets[1:]])
    )
    given = np.concatenate([sums(bags, y), sums(bags, y[other])]) + rng.normal(0.0, 2.0, 240)
    who = np.concatenate([np.arange(bags.n_rows), other])
    model = AggregateRegressor(hidden=(16,), noise=Gaussian(2.0)).fit(twice, given, members=who)
    assert error(model, bags, mean) < 0.3


def test_counts_have_networks_on_the_log_scale():
    bags, _, _, rng = curved(150)
    mean = np.exp(0.5 * np.minimum(bags.values[:, 0] ** 2, 4.0) - 0.5)
    given = sums(bags, rng.poisson(mean))
    line, networks = (AggregateRegressor("poisson", hidden=h).fit(bags, given) for h in ((), (16,)))
    assert error(networks, bags, mean) < 0.5 * error(line, bags, mean)
    assert (networks.predict(bags) > 0).all()


def test_precision_is_the_inverse_covariance_of_the_sums_that_are_kept():
    matrix = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]))
    data = SumData(
        np.zeros((3, 1)),
        matrix,
        np.zeros(3),
        np.array([0.5, 1.0, 2.0]),
        np.array([1.0, 2.0, 3.0]),
        np.ones(3),
        "gaussian",
    )
    assert data.overlapping
    dense = matrix.toarray()
    covariance = 4.0 * dense @ np.diag([1.0, 2.0, 3.0]) @ dense.T + np.diag([0.5, 1.0, 2.0])
    kept = np.array([True, False, True])
    found = data.precision(kept, 4.0, np.zeros(3))
    np.testing.assert_allclose(found[np.ix_(kept, kept)], np.linalg.inv(covariance[np.ix_(kept, kept)]))
    assert not found[1].any()


def test_weights_of_bags_are_repetitions_in_the_loss():
    rng = np.random.default_rng(0)
    weights, times = np.array([2.0, 1.0, 1.0]), [0, 0, 1, 2]
    values, matrix = rng.normal(size=(3, 2)), sparse.csr_array(np.eye(3))
    one = SumData(values, matrix, np.array([1.0, 5.0, -2.0]), np.zeros(3), np.ones(3), weights, "gaussian")
    two = SumData(
        values[times],
        sparse.csr_array(np.eye(4)),
        one.totals[times],
        *np.array([[0.0], [1.0], [1.0]]).repeat(4, 1),
        "gaussian",
    )
    found = []
    for data in (one, two):
        n = len(data.totals)
        run = _Run(data, 1.0, [np.zeros(n)], [np.ones(n, dtype=bool)], (3,), np.random.default_rng(1))
        found.append(run.trained(5)[0])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, atol=1e-6)
