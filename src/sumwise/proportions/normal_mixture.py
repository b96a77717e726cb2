"""The posterior of coefficients: normal under each width of the prior and of bags' effects, integrated over both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag, cho_factor, solve_triangular
from scipy.special import expit, softmax

from sumwise.inference.averaging import NEGLIGIBLE, evidence_weights
from sumwise.proportions.averaged import N_STEPS, ROUGH, STEP
from sumwise.proportions.base import NODE_WEIGHTS, NODES
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import TYPICAL_EFFECT, Coordinates, LinearProblem, maximise

# Deviation of the half-normal prior of the deviation of log-odds: intervals must not exclude what bags can't.
WIDE = 5.0
DIFFERENCE = 1e-2  # of gradients, in standard errors: finer ones show rounding
MOST_PARAMETERS = 700  # whose covariance is computed with the fit: it takes seconds beyond


def whitened(problem: LinearProblem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of expected counts and residuals of counts, both times Cov(count)^-1/2.

    Returns
    -------
    slopes, residuals : arrays of shape (n_bags, n_logits, n_logits * width) and (n_bags, n_logits)
    """
    n, likelihood, logits = problem.n_logits, problem.likelihood, problem.logits(theta)
    scale = problem.split(theta)[2]
    value = likelihood.evaluate(logits)
    if scale is not None:
        slopes, expected, variance = _with_effects(problem, logits, scale)
        counts = np.add.reduceat(problem.counted(value.posterior), likelihood.offsets[:-1])
        return slopes / np.sqrt(variance)[:, None, None], ((counts - expected) / np.sqrt(variance))[:, None]
    chance = expit(logits)[:, None] if n == 1 else softmax(logits, axis=1)
    pairs = [chance[:, c] * ((c == d) - chance[:, d]) for c in range(n) for d in range(n)]
    slopes = np.stack([weighted_sums(problem.values, likelihood.offsets, problem.counted(w)) for w in pairs], axis=1)
    variance = slopes[:, :, -1].reshape(-1, n, n)
    roots, vectors = np.linalg.eigh(variance)
    possible = roots > 1e-12 * np.maximum(roots[:, -1:], 1e-300)  # counts of all classes add up: one root is zero
    half = np.where(possible, 1.0 / np.sqrt(np.where(possible, roots, 1.0)), 0.0)[:, None, :] * vectors
    half = np.swapaxes(half, 1, 2)
    off = (value.posterior - expit(logits))[:, None] if n == 1 else value.posterior - value.prior
    residuals = np.add.reduceat(problem.counted_columns(off), likelihood.offsets[:-1])
    return half @ slopes.reshape(len(slopes), n, n * problem.width), (half @ residuals[:, :, None])[:, :, 0]


def _with_effects(problem: LinearProblem, logits: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    """Derivatives (n_bags, 1, width) of the expected counts, these (n_bags,) and the variances of the counts, over
    members' labels and normal effects of bags."""
    offsets, slope = problem.likelihood.offsets, np.zeros(len(logits))
    first, second, within = np.zeros((3, len(offsets) - 1))
    for node, weight in zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum()):
        chance = expit(logits + scale * node)
        spread = weight * chance * (1.0 - chance)
        expected = np.add.reduceat(problem.counted(chance), offsets[:-1])
        first, second = first + weight * expected, second + weight * expected**2
        within += np.add.reduceat(problem.counted(spread), offsets[:-1])
        slope += spread
    slopes = weighted_sums(problem.values, offsets, problem.counted(slope))
    return slopes[:, None], first, np.maximum(within + second - first**2, 1e-12 * (1.0 + first))


def information(problem: LinearProblem, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Information of the counts and of the prior, over all logits, and the dispersion of counts.

    Of exact counts it is the expected one, sum_b D_b' Cov(count_b)^-1 D_b + P, where D_b are the derivatives of the
    expected counts of bag b; of noisy counts and ranges it is the curvature. The dispersion is how many times as much
    counts vary as the model says, each bag weighted by its leverage, at least 1 (MacKinnon and White 1985, HC2).
    """
    size, likelihood = problem.n_logits * problem.width, problem.likelihood
    assert isinstance(likelihood, BagLikelihood)
    prior = np.kron(np.eye(problem.n_logits), problem.penalty_block)
    ends = np.arange(problem.n_logits) * problem.width + problem.width - 1
    exact = likelihood.observed.exact
    slopes, residuals = whitened(problem, theta)
    rows = slopes.reshape(-1, size)
    expected = rows.T @ rows
    tiny = 1e-10 * float(np.trace(expected + prior)) / size
    if problem.n_logits > 1:  # softmax doesn't see what all intercepts share
        prior[np.ix_(ends, ends)] += float(np.trace(expected)) / size
    matrix = (expected if exact else _curvature(problem, theta)) + prior + tiny * np.eye(size)
    if not exact:
        return matrix, 1.0
    solved = np.linalg.solve(matrix, rows.T).T.reshape(slopes.shape)
    leverage = np.einsum("bcp,bdp->bcd", slopes, solved)
    spent = np.trace(leverage, axis1=1, axis2=2)
    left = np.maximum(1.0 - spent / max(problem.n_logits - 1, 1), 0.1)
    squares = np.einsum("bc,bcd,bd->b", residuals, leverage, residuals) / left
    return matrix, max(1.0, float(squares.sum() / max(spent.sum(), 1e-12)))


def _curvature(problem: LinearProblem, theta: np.ndarray) -> np.ndarray:
    """Minus the second derivatives of the log-likelihood, by differences of its gradient; negative roots are zero."""
    size, frame = problem.n_logits * problem.width, Coordinates(problem, theta)
    moves = np.zeros(problem.n_params)
    out = np.empty((size, size))
    for j in range(size):
        sides = []
        for step in (DIFFERENCE, -DIFFERENCE):
            moves[j] = step
            sides.append(frame.gradient(problem.value_and_gradient(frame.theta(moves))[1])[:size])
        moves[j] = 0.0
        out[j] = (sides[1] - sides[0]) / (2.0 * DIFFERENCE)
    lower = np.asarray(block_diag(*frame.factors))
    known = lower @ (0.5 * (out + out.T)) @ lower.T - np.kron(np.eye(problem.n_logits), problem.penalty_block)
    roots, vectors = np.linalg.eigh(known)
    return (vectors * np.clip(roots, 0.0, None)) @ vectors.T


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal approximation of the posterior under one prior and one deviation of bags' effects."""

    mean: np.ndarray
    root: np.ndarray  # of the inverse of the information
    evidence: float  # Laplace's, its logarithm
    dispersion: float

    @classmethod
    def around(cls, problem: LinearProblem, theta: np.ndarray) -> Normal:
        """Climb from `theta`, and take the curvature at the top."""
        solution = maximise(problem, theta, ROUGH, 300)
        matrix, dispersion = information(problem, solution.theta)
        lower, _ = cho_factor(matrix, lower=True)
        root = solve_triangular(np.tril(lower), np.eye(len(lower)), lower=True, trans=1)
        evidence = solution.objective - float(np.log(np.diag(lower)).sum())
        return cls(problem.coefficients(solution.theta), root, evidence, dispersion)


def log_scale_error(problem: LinearProblem, theta: np.ndarray) -> float:
    """Standard error of the log of the deviation of bags' effects, the last parameter.

    A count whose members have the variance v varies by v + scale^2 v^2, nearly; the information of a normal variable
    about its variance s is (ds)^2 / (2 s^2).
    """
    chance, scale = expit(problem.logits(theta)), np.exp(theta[-1])
    variance = np.add.reduceat(problem.counted(chance * (1.0 - chance)), problem.likelihood.offsets[:-1])
    relative = scale**2 * variance / (1.0 + scale**2 * variance)
    return float((2.0 * (relative**2).sum() + 2.0 * (scale / TYPICAL_EFFECT) ** 2) ** -0.5)


def normal_mixture(
    make: Callable[..., LinearProblem], theta: np.ndarray, deviation: float | None, effects: bool
) -> list[dict[str, Any]]:
    """Normal components and their weights; none where there are too many parameters.

    They lie on an even grid of the logarithms of the prior's deviation and of that of bags' effects, from its middle
    on until no neighbour matters. Effects are in steps of two standard errors: a sum over such a grid misses 1% of the
    integral of a normal density.

    Parameters
    ----------
    make : callable
        ``make(deviation, random_intercept=..., intercept_scale=...)`` is the problem to maximise.
    theta : array
        Coefficients to begin with.
    deviation : float or None
        Of log-odds under the prior in the middle; None where the prior is given.
    effects : bool
        Whether bags have effects.
    """
    if theta.size > MOST_PARAMETERS:
        return []
    grid = _Grid(make, theta, deviation, effects)
    grid.explore()
    shares = {key: w for key, w in grid.weights().items() if w >= NEGLIGIBLE}
    total, dispersion = sum(shares.values()), grid.fits[MIDDLE].dispersion
    return [
        {"weight": w / total, "mean": grid.fits[key].mean, "root": np.sqrt(dispersion) * grid.fits[key].root}
        | {"dispersion": dispersion, "effects": grid.scale(key) or 0.0}
        for key, w in shares.items()
    ]


MIDDLE = (0, 0)


class _Grid:
    """Fits by their steps from the middle, in the prior's deviation and in that of bags' effects."""

    def __init__(
        self, make: Callable[..., LinearProblem], theta: np.ndarray, deviation: float | None, effects: bool
    ) -> None:
        self.make, self.deviation, self.effects = make, deviation, effects
        self.middle, self.step = 0.0, 0.0
        if effects:
            free = make(deviation, random_intercept=True)
            theta = maximise(free, np.append(theta, 0.0), ROUGH, 300).theta
            self.middle, self.step, theta = theta[-1], 2.0 * log_scale_error(free, theta), theta[:-1]
        first = make(deviation, intercept_scale=self.scale(MIDDLE))
        self.n_coefs = first.n_logits * (first.width - 1)
        self.fits: dict[tuple[int, int], Normal] = {MIDDLE: Normal.around(first, theta)}

    def prior(self, key: tuple[int, int]) -> float | None:
        """The deviation of log-odds under the prior; None where the prior is given."""
        return None if self.deviation is None else self.deviation * float(np.exp(STEP * key[0]))

    def scale(self, key: tuple[int, int]) -> float | None:
        """The deviation of bags' effects; None where they have none."""
        return float(np.exp(self.middle + self.step * key[1])) if self.effects else None

    def weights(self) -> dict[tuple[int, int], float]:
        """Laplace's evidence, tempered by the dispersion, times the prior of widths; 1 for the greatest."""
        dispersion = self.fits[MIDDLE].dispersion
        logs = np.array([fit.evidence / dispersion for fit in self.fits.values()])
        if self.deviation is not None:
            s = np.array([self.prior(key) for key in self.fits])
            logs += np.log(s) - 0.5 * (s / WIDE) ** 2 - self.n_coefs * np.log(s) / dispersion
        weights = evidence_weights(logs)
        return dict(zip(self.fits, weights / weights.max()))

    def explore(self) -> None:
        """Fit neighbours of what matters."""
        frontier: list[tuple[int, int]] = [MIDDLE]
        while frontier:
            i, j = key = frontier.pop(0)
            if self.weights()[key] < NEGLIGIBLE:
                continue
            near = [(i + 1, j), (i - 1, j)] if self.deviation is not None else []
            near += [(i, j + 1), (i, j - 1)] if self.effects else []
            for other in near:
                if other not in self.fits and abs(other[0]) <= 2 * N_STEPS:
                    problem = self.make(self.prior(other), intercept_scale=self.scale(other))
                    self.fits[other] = Normal.around(problem, self.fits[key].mean)
                    frontier.append(other)
