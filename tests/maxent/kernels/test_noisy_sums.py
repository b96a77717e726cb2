"""Logistic regression on noisy label sums: what it finds without noise, and what it leaves alone."""

import numpy as np
import pytest
from scipy.special import expit

from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.kernels.noisy_sums import NoisySums, fit_noisy_sums
from sumwise.maxent.kernels.table_logistic import cell_design

LAYOUT = layout((3, 4), [(0,), (1,)])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 4000)
    second = np.where(rng.random(4000) < 0.7, first, rng.integers(0, 4, 4000))
    return cell_design(LAYOUT, np.column_stack([first, second]))


def told(design, p, variance, rng=None, spread=0.0):
    """Label sums of rows with these chances, with noise of this spread, and what is said of its variance."""
    sums = (design.T @ p).T
    sums = sums + spread * rng.standard_normal(sums.shape) if rng is not None else sums
    shares = np.append(1 - p.sum(axis=1).mean(), p.mean(axis=0)) if p.shape[1] == 1 else p.mean(axis=0)
    ones = np.ones(design.shape[1])
    return NoisySums(sums, np.full(sums.shape, variance), ones, float(len(p)), shares, lambda v: v)


def test_without_noise_the_truth_is_found(rows):
    theta = np.array([1.0, -1.0, 0.0, 0.5, -0.5, 1.0, -1.0])
    p = expit(rows @ theta - 0.5)[:, None]
    found, offsets, _, _, success = fit_noisy_sums(rows, np.ones(4000), told(rows, p, 1e-6), np.full((1, 7), 1e-6))
    assert success
    np.testing.assert_allclose(expit(rows @ found[0] + offsets[1]), p[:, 0], atol=0.01)


def test_three_classes_sum_to_one_and_are_found(rows):
    theta = np.random.default_rng(1).normal(size=(3, 7))
    z = np.exp(rows @ theta.T)
    p = z / z.sum(axis=1, keepdims=True)
    found, offsets, *_ = fit_noisy_sums(rows, np.ones(4000), told(rows, p, 1e-6), np.full((3, 7), 1e-6))
    z = np.exp(rows @ found.T + offsets)
    np.testing.assert_allclose(z / z.sum(axis=1, keepdims=True), p, atol=0.02)


def test_unknown_sums_and_heavy_penalties_leave_the_share_of_the_label(rows):
    p = np.full((4000, 1), 0.3)
    for variance, penalty in ((np.inf, 1.0), (1.0, 1e9)):
        found, offsets, *_ = fit_noisy_sums(rows, np.ones(4000), told(rows, p, variance), np.full((1, 7), penalty))
        np.testing.assert_allclose(found, 0.0, atol=1e-4)
        np.testing.assert_allclose(expit(offsets[1]), 0.3, atol=1e-4)


def test_rows_taken_together_count_as_their_weight(rows):
    p = expit(rows @ np.array([1.0, -1.0, 0.0, 0.5, -0.5, 1.0, -1.0]))[:, None]
    goal, penalty = told(rows, p, 25.0), np.full((1, 7), 0.5)
    dense, counts = np.unique(rows.toarray(), axis=0, return_counts=True)
    grouped = type(rows)(dense)
    whole, *_ = fit_noisy_sums(rows, np.ones(4000), goal, penalty)
    apart, *_ = fit_noisy_sums(grouped, counts.astype(float), goal, penalty)
    np.testing.assert_allclose(apart, whole, atol=0.02)


def test_the_end_does_not_depend_on_the_beginning():
    """Many pairs of cells, much noise: a fit that stops when one step gains little ends anywhere."""
    rng = np.random.default_rng(3)
    sizes = (8, 9, 10, 11)
    terms = [(i, j) for i in range(4) for j in range(i)]
    codes = np.column_stack([rng.integers(0, k, 5000) for k in sizes])
    design = cell_design(layout(sizes, terms), codes)
    theta = 0.5 * rng.standard_normal((1, design.shape[1]))
    p = expit(design @ theta[0] - 1.0)[:, None]
    goal, penalty = told(design, p, 25.0, rng, 5.0), np.ones_like(theta)
    begins = [(np.zeros_like(theta), np.array([0.0, -1.0])), (theta * 1.5, np.array([0.0, 0.5]))]
    losses = [fit_noisy_sums(design, np.ones(5000), goal, penalty, begin)[2] for begin in begins]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
