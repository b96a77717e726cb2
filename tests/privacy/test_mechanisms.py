"""Mechanisms: scale, wholeness and shape of the noise; tests fail by chance about once in a million runs."""

import numpy as np
import pytest
from scipy import stats

from messages import raises
from sumwise.errors import DataError
from sumwise.privacy.mechanisms import MECHANISMS, mechanism

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")
N = 8000
RARE = 1e-6


@pytest.mark.parametrize("name", MECHANISMS)
def test_scale_has_the_loss_asked_for(name):
    chosen = mechanism(name)
    for sensitivity, loss in [(1.0, 1.0), (2.0, 0.3), (1.5, 7.0), (np.sqrt(2), 0.01)]:
        scale = chosen.scale(sensitivity, loss)
        assert chosen.loss(sensitivity, scale) <= loss
        assert scale == pytest.approx(sensitivity / loss if chosen.pure else sensitivity / np.sqrt(2 * loss))


def test_geometric_noise_is_whole_and_has_its_distribution():
    scale = 3.0
    noise = mechanism("geometric").add(np.full(N, 7.0), scale) - 7
    assert np.array_equal(noise, np.floor(noise))
    k = np.arange(-12, 13)
    p = np.exp(-np.abs(k) / scale) * (1 - np.exp(-1 / scale)) / (1 + np.exp(-1 / scale))
    observed = np.array([np.sum(noise == i) for i in k])
    observed = np.append(observed, N - observed.sum())
    assert stats.chisquare(observed, N * np.append(p, 1 - p.sum())).pvalue > RARE


def test_laplace_noise_has_its_distribution_on_whole_and_broken_counts():
    for start in (7.0, 7.25):
        noise = mechanism("laplace").add(np.full(N // 2, start), 3.0) - start
        assert stats.kstest(noise, stats.laplace(scale=3.0).cdf).pvalue > RARE
        assert np.mean(noise == np.floor(noise)) < 0.01


def test_gaussian_noise_on_whole_counts_is_whole_and_has_its_distribution():
    noise = mechanism("gaussian").add(np.full(N, 7.0), 5.0) - 7
    assert np.array_equal(noise, np.floor(noise))
    k = np.arange(-14, 15)
    p = np.exp(-(k**2) / 50.0)
    p = p / np.exp(-(np.arange(-200, 201) ** 2) / 50.0).sum()
    observed = np.array([np.sum(noise == i) for i in k])
    observed = np.append(observed, N - observed.sum())
    assert stats.chisquare(observed, N * np.append(p, 1 - p.sum())).pvalue > RARE


def test_gaussian_noise_on_broken_counts_is_normal():
    noise = mechanism("gaussian").add(np.full(1000, 0.5), 2.0, whole=False) - 0.5
    assert stats.kstest(noise, stats.norm(scale=2.0).cdf).pvalue > RARE


def test_noise_is_independent_across_cells():
    noise = mechanism("geometric").add(np.zeros((N // 2, 2)), 2.0)
    for a, b in [(noise[:, 0], noise[:, 1]), (noise[:-1, 0], noise[1:, 0])]:
        assert stats.spearmanr(a, b).pvalue > RARE
        assert stats.spearmanr(np.abs(a), np.abs(b)).pvalue > RARE


def test_two_draws_differ():
    chosen = mechanism("geometric")
    assert not np.array_equal(chosen.add(np.zeros(200), 5.0), chosen.add(np.zeros(200), 5.0))


def test_noise_keeps_shape():
    assert mechanism("geometric").add(np.zeros((2, 0)), 1.0).shape == (2, 0)
    assert mechanism("laplace").add(np.zeros((2, 3)), 1.0).shape == (2, 3)


def test_geometric_refuses_broken_counts():
    with raises(DataError, "mechanism-needs-whole"):
        mechanism("geometric").add(np.array([0.5]), 1.0)


def test_unknown_mechanism_is_refused():
    with raises(DataError, "mechanism-takes", "gauss"):
        mechanism("gauss")


def test_gaussian_noise_on_weighted_rows_does_not_show_that_they_happen_to_be_whole():
    noisy = mechanism("gaussian").add(np.full(200, 7.0), 5.0, whole=False)
    assert np.mean(noisy == np.floor(noisy)) < 0.05


def test_counts_that_no_whole_number_of_64_bits_holds_are_refused():
    with raises(DataError, "mechanism-needs-whole"):
        mechanism("geometric").add(np.array([1e19]), 1.0)


@pytest.mark.parametrize(("name", "loss"), [("geometric", 1e-310), ("gaussian", 0.0), ("laplace", 1e-20)])
def test_loss_too_small_for_any_noise_is_refused(name, loss):
    with raises(DataError, "noise-table-would"):
        mechanism(name).scale(1.0, loss)
