"""Expected counts by group given noisy ones: loops, errors-in-variables regression, and edges."""

import numpy as np
import pytest

from sumwise.ecological.kernels.measurement_error import calibrated_rows, noise_covariances


def noisy(rng, n=40, n_rows=3, relative=0.2):
    sizes = rng.integers(100, 900, n)
    rows = np.array([rng.multinomial(s, p) for s, p in zip(sizes, rng.dirichlet([2] * n_rows, n))], float)
    return rows, relative * rows.mean() * rng.uniform(0.5, 1.0, rows.shape)


def by_loops(rows, sd, weight, covariates):
    """The same prediction, unit by unit, in the first R - 1 shares, which have a covariance of full rank."""
    n, n_rows = rows.shape
    total = rows.sum(axis=1)
    shares = rows / total[:, None]
    design = np.column_stack([np.ones(n), covariates])
    w = weight * total / (weight @ total)
    root = np.sqrt(w)[:, None]
    mean = design @ np.linalg.lstsq(root * design, root * shares, rcond=None)[0]
    noise = []
    for i in range(n):
        change = np.eye(n_rows) - np.outer(shares[i], np.ones(n_rows))
        noise.append(change @ np.diag((sd[i] / total[i]) ** 2) @ change.T)
    observed = sum(w[i] * np.outer(shares[i] - mean[i], shares[i] - mean[i]) for i in range(n))
    real = observed - sum(w[i] * noise[i] for i in range(n))
    expected, k = np.empty_like(shares), n_rows - 1
    for i in range(n):
        gain = real[:k, :k] @ np.linalg.inv(real[:k, :k] + noise[i][:k, :k])
        expected[i, :k] = mean[i, :k] + gain @ (shares[i] - mean[i])[:k]
        expected[i, k] = 1 - expected[i, :k].sum()
    return expected * total[:, None]


@pytest.mark.parametrize("seed", range(5))
def test_predictions_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    rows, sd = noisy(rng, n_rows=2 + seed % 3)
    weight, z = rng.uniform(0.5, 2.0, len(rows)), rng.standard_normal((len(rows), 1))
    expected = by_loops(rows, sd, weight, z)
    assert expected.min() > 0  # else the package sets such counts to 0
    np.testing.assert_allclose(calibrated_rows(rows, sd, weight, z).rows, expected, rtol=1e-6)


def test_regression_on_expected_counts_is_that_of_errors_in_variables():
    rng = np.random.default_rng(1)  # units of one size and one noise: Fuller's moment estimator (1987), exactly
    true = rng.beta(2, 2, 400)
    w = true + 0.1 * rng.standard_normal(400)
    y = 0.2 + 0.5 * true + 0.02 * rng.standard_normal(400)
    sd = np.full((400, 2), 0.1 / np.sqrt(2)) * 1000
    shares = np.stack([w, 1 - w], 1)
    rows = 1000 * np.clip(shares, 0.01, 0.99)
    rows = rows / rows.sum(axis=1, keepdims=True) * 1000
    x = rows[:, 0] / 1000
    error = np.mean([c[0, 0] for c in noise_covariances(rows / 1000, sd / 1000)])
    moments = np.cov(x, y, bias=True)
    expected = calibrated_rows(rows, sd, np.ones(400)).rows[:, 0] / 1000
    slope = np.polyfit(expected, y, 1)[0]
    assert slope == pytest.approx(moments[0, 1] / (moments[0, 0] - error), rel=0.02)
    assert abs(slope - 0.5) < abs(np.polyfit(x, y, 1)[0] - 0.5)


def test_counts_without_noise_stay_and_totals_are_kept():
    rng = np.random.default_rng(2)
    rows, sd = noisy(rng)
    sd[:5] = 0.0
    rows[7], sd[7] = 0.0, 0.0
    done = calibrated_rows(rows, sd, np.ones(len(rows)))
    np.testing.assert_array_equal(done.rows[:5], rows[:5])
    np.testing.assert_allclose(done.rows.sum(axis=1), rows.sum(axis=1))
    assert (done.rows >= 0).all()
    assert ((done.reliability > 0) & (done.reliability < 1)).all()


def test_counts_that_are_all_noise_become_nearly_the_mean():
    rng = np.random.default_rng(3)
    rows = np.array([rng.multinomial(500, [0.5, 0.5]) for _ in range(50)], float)
    done = calibrated_rows(rows, np.full(rows.shape, 200.0), np.ones(50))
    assert done.reliability.max() < 0
    assert np.ptp(done.rows[:, 0]) < 0.1 * np.ptp(rows[:, 0])
