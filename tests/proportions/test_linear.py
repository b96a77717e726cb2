"""The linear problem: gradient, coordinates, and the start."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions import linear
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import (
    Coordinates,
    LinearProblem,
    maximise,
    maximise_by_approximation,
    mean_embedding_start,
)


def make(n_classes=2, random_intercept=False, penalty=0.7, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    bags = Bags(values, np.arange(0, 201, 10))
    if n_classes == 2:
        counts = rng.binomial(10, 0.4, size=20)
    else:
        counts = rng.multinomial(10, np.ones(n_classes) / n_classes, size=20)
    likelihood = BagLikelihood(bags.offsets, observe(bags, counts))
    return LinearProblem(values, likelihood, penalty, n_classes, random_intercept)


@pytest.mark.parametrize(("n_classes", "random_intercept"), [(2, False), (2, True), (3, False)])
def test_gradient_matches_differences(n_classes, random_intercept):
    problem = make(n_classes, random_intercept)
    theta = 0.1 * np.random.default_rng(1).normal(size=problem.n_params)
    _, gradient = problem.value_and_gradient(theta)
    for j in range(problem.n_params):
        step = np.zeros(problem.n_params)
        step[j] = 1e-5
        up, down = problem.value_and_gradient(theta + step)[0], problem.value_and_gradient(theta - step)[0]
        assert (up - down) / 2e-5 == pytest.approx(gradient[j], abs=2e-4)


def test_information_of_single_rows_is_the_hessian():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(50, 2))
    bags = Bags(values, np.arange(51))
    problem = LinearProblem(values, BagLikelihood(bags.offsets, observe(bags, rng.integers(0, 2, 50))), 0.5)
    theta = rng.normal(size=3)
    (information,) = problem.information(theta)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-5
        column = (problem.value_and_gradient(theta - step)[1] - problem.value_and_gradient(theta + step)[1]) / 2e-5
        np.testing.assert_allclose(information[:, j], column, rtol=1e-5, atol=1e-6)


def test_coordinates_turn_gradients_with_parameters():
    problem = make()
    frame = Coordinates(problem, np.zeros(4))
    u, g = np.random.default_rng(3).normal(size=(2, 4))
    assert (frame.theta(u) - frame.theta(np.zeros(4))) @ g == pytest.approx(u @ frame.gradient(g))


def test_maximise_ends_where_the_gradient_vanishes_and_records_ascent():
    problem = make(3)
    found = maximise(problem, np.zeros(problem.n_params), tol=1e-6)
    assert found.converged
    assert np.abs(problem.value_and_gradient(found.theta)[1]).max() < 1e-3
    assert found.history[-1] == pytest.approx(found.objective)
    assert np.all(np.diff(found.history) > -1e-9)


class Counted(LinearProblem):
    """A problem that counts its evaluations."""

    n_evaluations = 0

    def value_and_gradient(self, theta):
        self.n_evaluations += 1
        return super().value_and_gradient(theta)


def exact_and_saddlepoint(wrong=1.0):
    """Class counts of 40 bags of 30 with the exact likelihood, and with the saddlepoint's times a factor."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(1200, 2)) + np.repeat(rng.normal(size=(40, 2)), 30, axis=0)
    chances = np.exp(values @ rng.normal(size=(2, 3)))
    labels = (rng.random((1200, 1)) > np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    bags, counts = Bags(values, np.arange(0, 1201, 30)), np.eye(3, dtype=int)[labels].reshape(40, 30, 3).sum(axis=1)
    kinds = {
        "direct": BagLikelihood(bags.offsets, observe(bags, counts), "direct"),
        "saddlepoint": BagLikelihood(bags.offsets, observe(bags, counts), "saddlepoint", np.full(40, wrong)),
    }
    return [Counted(values, likelihood, 0.7, 3) for likelihood in kinds.values()]


def test_a_fit_by_approximation_ends_at_the_same_point_with_few_evaluations():
    problem, approximate = exact_and_saddlepoint()
    plain = maximise(problem, np.zeros(problem.n_params), tol=1e-6)
    n_plain, problem.n_evaluations = problem.n_evaluations, 0
    found = maximise_by_approximation(approximate, problem, np.zeros(problem.n_params), tol=1e-6)
    assert found.converged
    assert problem.n_evaluations == found.n_iter <= n_plain / 2
    np.testing.assert_allclose(found.theta, plain.theta, atol=1e-6)
    assert found.objective == pytest.approx(plain.objective, abs=1e-9)


@pytest.mark.parametrize("wrong", [0.05, 0.4])  # it rises for ever, or steps are too long
def test_a_useless_approximation_is_left_for_the_problem_itself(wrong):
    problem, approximate = exact_and_saddlepoint(wrong)
    plain = maximise(problem, np.zeros(problem.n_params), tol=1e-6)
    found = maximise_by_approximation(approximate, problem, np.zeros(problem.n_params), tol=1e-6)
    assert found.converged
    np.testing.assert_allclose(found.theta, plain.theta, atol=1e-6)


def test_a_fit_by_approximation_owns_up_to_an_early_stop():
    problem, approximate = exact_and_saddlepoint()
    found = maximise_by_approximation(approximate, problem, np.zeros(problem.n_params), tol=1e-12, max_iter=2)
    assert not found.converged
    assert found.n_iter == 2


def test_early_stop_is_owned_up():
    problem = make()
    found = maximise(problem, np.zeros(4), tol=1e-9, max_iter=2)
    assert not found.converged
    assert found.change > 1e-9


def test_a_step_to_nowhere_ends_the_fit_at_the_best_point(monkeypatch):
    problem, seen = make(), []

    def lost(cost, start, **_):
        seen.append(cost(start + 0.1)[0])
        cost(start + np.nan)

    monkeypatch.setattr(linear, "minimise", lost)
    found = maximise(problem, np.zeros(problem.n_params))
    assert not found.converged
    assert found.objective == -seen[0] == pytest.approx(problem.value_and_gradient(found.theta)[0])


def test_mean_embedding_start_points_the_right_way():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(4000, 2)) + np.repeat(rng.normal(size=(200, 2)), 20, axis=0)
    labels = rng.random(4000) < 1 / (1 + np.exp(-values @ [2.0, -1.0]))
    shares = labels.reshape(200, 20).mean(axis=1)
    theta = mean_embedding_start(values, np.arange(0, 4001, 20), np.column_stack([1 - shares, shares]), 1.0)
    assert theta[0] > 0.3
    assert theta[1] < -0.1
