"""Chains with free potentials: moments against enumeration, and maximum likelihood."""

from itertools import product

import numpy as np
import pytest

from sumwise.collective.kernels.chain_potentials import balanced, chain_moments, fit_chain, split_chain


def brute(first, last, move, n_steps):
    size = len(first)
    paths = np.array(list(product(range(size), repeat=n_steps)))
    logs = first[paths[:, 0]] + last[paths[:, -1]] + sum(move[a, b] for a, b in zip(paths.T[:-1], paths.T[1:]))
    z = np.log(np.exp(logs - logs.max()).sum()) + logs.max()
    p = np.exp(logs - z)
    moves = np.zeros((size, size))
    for a, b in zip(paths.T[:-1], paths.T[1:]):
        np.add.at(moves, (a, b), p)
    return z, np.bincount(paths[:, 0], p, size), np.bincount(paths[:, -1], p, size), moves


@pytest.mark.parametrize("strength", [0.5, 3.0, 400.0])
@pytest.mark.parametrize("n_steps", [2, 5])
def test_moments_are_those_of_the_enumeration(strength, n_steps):
    rng = np.random.default_rng(0)
    given = strength * rng.normal(size=3), strength * rng.normal(size=3), strength * rng.normal(size=(3, 3)), n_steps
    for ours, theirs in zip(chain_moments(*given), brute(*given)):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_fit_reproduces_its_counts():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    counts = [1000 * c for c in chain_moments(*truth, 6)[1:]]
    found = fit_chain(np.zeros(15), counts, 6, 1e-9, max_iter=500)
    for ours, theirs in zip(chain_moments(*split_chain(found, 3), 6)[1:], counts):
        assert np.allclose(1000 * ours, theirs, rtol=1e-3, atol=0.01)


def test_a_penalty_draws_to_zero_and_a_step_never_makes_it_worse():
    counts = np.array([5.0, 5.0]), np.array([5.0, 5.0]), np.array([[50.0, 0.0], [0.0, 50.0]])
    fits = [fit_chain(np.zeros(8), counts, 11, ridge, max_iter=200) for ridge in (0.01, 10.0)]
    weak, strong = (split_chain(theta, 2)[2] for theta in fits)
    assert weak[0, 0] - weak[0, 1] > strong[0, 0] - strong[0, 1] > 0
    assert np.isfinite(weak).all()


def test_balanced_statistics_are_those_of_some_population():
    rng = np.random.default_rng(2)
    given = rng.random(4), rng.random(4), rng.random((4, 4)) * (rng.random((4, 4)) < 0.7)
    first, last, moves = balanced(*given, 5)
    assert np.allclose(first + moves.sum(axis=0), last + moves.sum(axis=1))
    assert first.sum() == pytest.approx(moves.sum() / 4)
    assert ((moves == 0) == (given[2] == 0)).all()
    again = balanced(first, last, moves, 5)
    assert all(np.allclose(a, b) for a, b in zip(again, (first, last, moves)))
