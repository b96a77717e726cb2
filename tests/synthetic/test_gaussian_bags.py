import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError

VARIANCES = {1: (1, 1), 2: (1, 1), 3: (1, 10)}


@pytest.mark.parametrize("experiment", [1, 2, 3])
def test_sizes_and_variances(experiment):
    data = synthetic.gaussian(experiment, 100, random_state=0)
    size_a = np.add.reduceat(data.in_a.astype(int), data.bags.offsets[:-1])
    if experiment == 1:
        assert (data.bags.sizes == 1000).all()
        assert (size_a == 500).all()
    else:
        assert size_a.min() >= 250
        assert size_a.max() <= 500
        np.testing.assert_allclose(size_a.mean(), 375, atol=25)
    x = data.bags.values[:, :10]
    np.testing.assert_allclose(x[data.in_a].var(), VARIANCES[experiment][0], rtol=0.02)
    np.testing.assert_allclose(x[~data.in_a].var(), VARIANCES[experiment][1], rtol=0.02)
    np.testing.assert_array_equal(data.bags.values[:, 10], ~data.in_a)


def test_experiment_four_has_the_region_number_as_variance():
    data = synthetic.gaussian(4, 30, random_state=0)
    np.testing.assert_array_equal(data.variances[:, 0], np.arange(1, 31))
    got = [x[:, :10].var() for x in data.bags]
    np.testing.assert_allclose(got, np.arange(1, 31), rtol=0.12)


def test_responses_are_means_of_labels_and_subgroup_truth_matches_subset():
    data = synthetic.gaussian(3, 12, random_state=0)
    bag = data.bags.bag_index
    for i in range(12):
        here = bag == i
        np.testing.assert_allclose(data.response[i], data.labels[here].mean())
        np.testing.assert_allclose(data.response_a[i], data.labels[here & data.in_a].mean())
        np.testing.assert_allclose(data.response_b[i], data.labels[here & ~data.in_a].mean())
        np.testing.assert_allclose(data.expected_a[i], data.probabilities[here & data.in_a].mean())
    subset = data.bags.subset(data.in_a)
    assert len(subset) == 12
    assert (subset.values[:, 10] == 0).all()


def test_probabilities_are_logistic_and_calibrated():
    data = synthetic.gaussian(1, 200, random_state=0)
    logit = data.bags.values[:, :10] @ data.coefficients
    np.testing.assert_allclose(data.probabilities, 1 / (1 + np.exp(-logit)), rtol=1e-12)
    bins = np.digitize(data.probabilities, [0.1, 0.3, 0.5, 0.7, 0.9])
    for b in range(6):
        np.testing.assert_allclose(data.labels[bins == b].mean(), data.probabilities[bins == b].mean(), atol=0.01)
    error = np.mean((data.expected - data.response) ** 2)
    floor = np.mean(data.probabilities * (1 - data.probabilities)) / 1000
    np.testing.assert_allclose(error, floor, rtol=0.35)


def test_coefficients_are_uniform_or_reused():
    first = synthetic.gaussian(1, 2, random_state=0)
    assert ((first.coefficients > 0) & (first.coefficients < 1)).all()
    second = synthetic.gaussian(1, 2, coefficients=first.coefficients, random_state=1)
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    assert not np.array_equal(first.bags.values, second.bags.values)


def test_same_seed_same_regions_and_one_bag():
    a, b = (synthetic.gaussian(2, 1, n_features=1, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.bags.values, b.bags.values)
    assert a.response.shape == (1,)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"experiment": 5}, ("is-takes", "experiment", 5)),
        ({"experiment": "1"}, ("did-you-mean",)),
        ({"n_bags": 0}, ("must-least", "n_bags")),
        ({"n_features": 0}, ("must-least", "n_features")),
        ({"coefficients": [1.0]}, ("coefficients-entries-features", 1, 10)),
        ({"coefficients": [np.nan] * 10}, ("drop-fill-such", "coefficients")),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.gaussian(**bad)
