"""Linear logits on bags: the penalised likelihood, its gradient, and an optimiser in well-scaled coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, log_softmax

from sumwise import checks
from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.inference.kernels.minimise import minimise
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import Likelihood, Value

WIDE = 1500  # parameters per class from which only the diagonal of the information is used
ROUND = 60  # steps between new coordinates
# Log-odds of the standard logistic distribution have this deviation: prior probabilities are then about uniform.
LOGISTIC = np.pi / np.sqrt(3.0)
# Deviation of the half-normal prior of the deviation of bags' effects: its maximum likelihood, the root mean square of
# 14 deviations measured where labels of individuals are known (benchmarks/results/proportions.json, "effects").
TYPICAL_EFFECT = 0.54


@dataclass
class Solution:
    """Where the optimiser stopped."""

    theta: np.ndarray
    objective: float  # penalised log-likelihood
    change: float  # largest entry of the gradient in standard errors
    n_iter: int
    converged: bool
    history: list = field(default_factory=list)


class ShareLikelihood(Likelihood):
    """Cross-entropy of class shares, one row per bag: the likelihood behind the mean-embedding start."""

    def __init__(self, shares, weights):
        self.shares, self.weights = shares, weights
        self.offsets, self.powers, self.row_weights = np.arange(len(weights) + 1), weights, weights

    def evaluate(self, logits, _intercept_scale=None, /) -> Value:
        """Log-likelihood of the shares; as many independent labels as ``weights`` says are like each."""
        if logits.ndim == 1:
            prior, posterior = expit(logits), self.shares[:, 1]
            log_prob = posterior * logits - np.logaddexp(0.0, logits)
        else:
            logs = log_softmax(logits, axis=1)
            prior, posterior = np.exp(logs), self.shares
            log_prob = (self.shares * logs).sum(axis=1)
        return Value(log_prob, posterior, prior, np.zeros(len(log_prob)))


def reference_shape(values) -> np.ndarray:
    """The penalty of a prior under which logits vary by about one, whatever the features' units.

    Columns count per standard deviation, those of two values per step from one to the other: a rare level has to
    earn its coefficient.

    Returns
    -------
    (n_features,) array

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.linear import reference_shape
    >>> reference_shape(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 3.0], [1.0, -3.0]])).round(2)
    array([ 0.5, 18. ])
    """
    scale = centre_and_scale(values)[1]
    return scale**2 * max(float((values / scale).var(axis=0).sum()), 1e-12)


def default_penalty(values) -> np.ndarray:
    """The penalty of a prior under which log-odds vary as a logistic variable does, (n_features,)."""
    return reference_shape(values) / LOGISTIC**2


def check_penalty(penalty: Any) -> None:
    """Refuse a penalty that is neither "auto" nor a number from 0 on nor an array."""
    if isinstance(penalty, str):
        checks.choice(penalty, "penalty", ("auto",))
    elif np.ndim(penalty) == 0:
        checks.at_least(penalty, "penalty", 0.0, whole_number=False)


def as_penalty(given: Any, n_features: int) -> Any:
    """A number, or an array that fits the features and can be minimised."""
    if np.ndim(given) == 0:
        return float(given)
    array = checks.finite(given, "penalty")
    if array.shape not in ((n_features,), (n_features, n_features)):
        raise DataError(
            f"penalty has shape {array.shape}; there are {n_features} features.",
            hint="a number, one per feature, or a matrix of features by features.",
        )
    roots = array if array.ndim == 1 else np.linalg.eigvalsh(0.5 * (array + array.T))
    if roots.min() < -1e-9 * max(abs(roots.max()), 1e-300) or (array.ndim == 2 and not np.allclose(array, array.T)):
        raise DataError("penalty is not a symmetric matrix without negative directions.", hint="take P' P.")
    return array


class LinearProblem:
    """Maximise bag log-likelihood minus w' P w / 2 for the coefficients w (intercepts are free).

    Parameters
    ----------
    values : (n_rows, n_features) array, or `Rows`
    likelihood : BagLikelihood or ShareLikelihood
    penalty : float, (n_features,) or (n_features, n_features) array
        P: a multiple of the identity, its diagonal, or all of it.
    n_classes : int
        2 gives one logit, more give one per class.
    random_intercept : bool
        Whether bags have intercepts of their own, normal with a deviation whose log is the last parameter.
    intercept_scale : float or None
        Their deviation, if it is not a parameter.
    """

    def __init__(
        self,
        values: Any,
        likelihood: Any,
        penalty: Any,
        n_classes: int = 2,
        random_intercept: bool = False,
        intercept_scale: float | None = None,
    ):
        self.rows = Rows.of(values)
        self.values = self.rows.values
        self.likelihood: Likelihood = likelihood
        self.penalty = np.asarray(penalty, dtype=np.float64)
        self.n_classes, self.n_logits = n_classes, 1 if n_classes == 2 else n_classes
        self.random_intercept, self.intercept_scale = random_intercept, intercept_scale
        self.width = self.values.shape[1] + 1
        self.n_params = self.n_logits * self.width + int(random_intercept)

    def split(self, theta):
        """Coefficients (n_logits, n_features), intercepts (n_logits,), and the intercept's deviation or None."""
        table = theta[: self.n_logits * self.width].reshape(self.n_logits, self.width)
        scale = float(np.exp(theta[-1])) if self.random_intercept else self.intercept_scale
        return table[:, :-1], table[:, -1], scale

    def coefficients(self, theta):
        """Coefficients and intercepts alone, as one vector."""
        return theta[: self.n_logits * self.width]

    def settled(self, theta):
        """The same model with intercepts that sum to zero: softmax doesn't see what all classes share."""
        out = theta.copy()
        if self.n_logits > 1:
            table = out[: self.n_logits * self.width].reshape(self.n_logits, self.width)
            table[:, -1] -= table[:, -1].mean()
        return out

    def logits(self, theta):
        """Of every row."""
        coef, intercept, _ = self.split(theta)
        logits = self.rows.times(coef) + intercept
        return logits[:, 0] if self.n_logits == 1 else logits

    def pull(self, coef):
        """P w for the coefficients of each logit."""
        return coef @ self.penalty if self.penalty.ndim == 2 else self.penalty * coef

    @property
    def penalty_block(self):
        """P with a row and a column of zeros for the intercept: (width, width)."""
        block = np.zeros((self.width, self.width))
        inner = block[:-1, :-1]
        if self.penalty.ndim == 2:
            inner[:] = self.penalty
        else:
            inner[np.diag_indices(self.width - 1)] = self.penalty
        return block

    def counted(self, per_row):
        """Values of rows times the people that each stands for, where counts are of people."""
        people = getattr(getattr(self.likelihood, "observed", None), "multiplicity", None)
        return per_row if people is None else per_row * people

    def counted_columns(self, per_row):
        """The same for (n_rows, k) values."""
        people = getattr(getattr(self.likelihood, "observed", None), "multiplicity", None)
        return per_row if people is None else per_row * people[:, None]

    def value_and_gradient(self, theta):
        """The penalised total to maximise, and its gradient."""
        coef, _, scale = self.split(theta)
        value = self.likelihood.evaluate(self.logits(theta), scale)
        total, residual = self.likelihood.total_and_residual(value)
        gradient = np.empty(self.n_params)
        table = gradient[: self.n_logits * self.width].reshape(self.n_logits, self.width)
        table[:, :-1] = self.rows.summed(residual)
        pull = self.pull(coef)
        table[:, :-1] -= pull
        table[:, -1] = residual.sum(axis=0)
        if scale is not None:
            total += np.log(scale) - 0.5 * (scale / TYPICAL_EFFECT) ** 2
            if self.random_intercept:
                gradient[-1] = value.scale_slope + 1.0 - (scale / TYPICAL_EFFECT) ** 2
        return total - 0.5 * float((pull * coef).sum()), gradient

    def information(self, theta):
        """Blocks (n_logits) of the expected information of the counts, (width, width) each, penalty included."""
        logits = self.logits(theta)
        prior = expit(logits)[:, None] if self.n_logits == 1 else np.exp(log_softmax(logits, axis=1))
        scale = self.split(theta)[2]
        blocks = []
        for c in range(self.n_logits):
            spread = self.counted(prior[:, c] * (1.0 - prior[:, c]))
            block = self._block(spread, scale)
            block = block + self.penalty_block
            diagonal = np.diag(block)  # relative to each parameter, whatever the units of its feature
            block[np.diag_indices(self.width)] += 1e-10 * np.where(diagonal > 0.0, diagonal, 1.0)
            blocks.append(block)
        return blocks

    def _block(self, spread, scale):
        """The information of the counts about one logit's parameters, rows' variances given."""
        likelihood = self.likelihood
        alone = isinstance(likelihood, ShareLikelihood)  # every row is a bag of its own
        if alone and self.width <= WIDE:
            return self.rows.gram(spread * likelihood.weights)
        slopes = weighted_sums(self.values, likelihood.offsets, spread * likelihood.weights if alone else spread)
        variance = slopes[:, -1] + 1e-12
        if scale is not None:
            variance = variance * (1.0 + scale**2 * slopes[:, -1])
        power = getattr(likelihood, "temper", None)
        weight = (1.0 if power is None else power) / variance
        if self.width > WIDE:
            return np.diag((weight[:, None] * slopes**2).sum(axis=0))
        return slopes.T @ (weight[:, None] * slopes)


class Coordinates:
    """theta = centre + L^-T u, so that the information is about the identity in u."""

    def __init__(self, problem: LinearProblem, centre, factors=None):
        self.problem, self.centre = problem, centre
        self.factors = factors or [cholesky(block, lower=True) for block in problem.information(centre)]

    def _apply(self, vector, function):
        out = vector.copy()
        for c, factor in enumerate(self.factors):
            part = slice(c * self.problem.width, (c + 1) * self.problem.width)
            out[part] = function(factor, vector[part])
        return out

    def theta(self, u):
        return self.centre + self._apply(u, lambda f, x: solve_triangular(f, x, lower=True, trans=1))

    def gradient(self, g):
        return self._apply(g, lambda f, x: solve_triangular(f, x, lower=True))


def maximise(problem: LinearProblem, theta, tol=1e-4, max_iter=500, factors=None) -> Solution:
    """Climb from ``theta`` by L-BFGS, in coordinates where one unit is about one standard error.

    It stops when no coordinate's gradient exceeds ``tol``, that is, about ``tol`` standard errors from a
    stationary point. ``factors`` are those of `Coordinates` of a problem much like this one, to begin with.
    """
    history: list[float] = []
    n_iter, change, objective, stalled = 0, np.inf, np.nan, 0
    while n_iter < max_iter and change > tol and stalled < 3:
        frame = Coordinates(problem, theta, factors)
        factors = None
        best: list = [np.inf, np.zeros(problem.n_params)]  # cost and point

        def cost(u, frame=frame, best=best):
            if not np.isfinite(u).all():  # some versions of SciPy's L-BFGS step there from flat ground
                raise FloatingPointError
            total, gradient = problem.value_and_gradient(frame.theta(u))
            if -total < best[0]:
                best[:] = -total, u.copy()
            return -total, -frame.gradient(gradient)

        steps = min(ROUND, max_iter - n_iter)
        options = {"maxiter": steps, "maxcor": 20, "gtol": tol, "ftol": 0.0, "maxls": 40, "maxfun": 4 * steps + 40}
        try:
            found = minimise(
                cost,
                np.zeros(problem.n_params),
                jac=True,
                method="L-BFGS-B",
                callback=lambda intermediate_result: history.append(-float(intermediate_result.fun)),
                options=options,
            )
        except FloatingPointError:
            return Solution(problem.settled(frame.theta(best[1])), -best[0], np.inf, n_iter + 1, False, history)
        theta = frame.theta(found.x)
        stalled = stalled + 1 if found.nit < 2 else 0
        change, objective = float(np.abs(found.jac).max()), -float(found.fun)
        n_iter += max(int(found.nit), 1)
    return Solution(problem.settled(theta), objective, change, n_iter, change <= tol, history)


class ShiftedProblem(LinearProblem):
    """A problem with a linear term added, ``slope @ theta``."""

    def __init__(self, problem: LinearProblem, slope):
        super().__init__(
            problem.rows,
            problem.likelihood,
            problem.penalty,
            problem.n_classes,
            problem.random_intercept,
            problem.intercept_scale,
        )
        self.slope = slope

    def value_and_gradient(self, theta):
        """Those of the problem and of the linear term."""
        total, gradient = super().value_and_gradient(theta)
        return total + float(self.slope @ theta), gradient + self.slope


def maximise_by_approximation(
    approximate: LinearProblem, problem: LinearProblem, theta, tol=1e-4, max_iter=500
) -> Solution:
    """As `maximise`, where an approximation of the problem is much cheaper than the problem itself.

    Defect correction: each round maximises the approximation plus the linear term that gives it the problem's gradient
    at ``theta``. A fixed point is a stationary point of the problem, by the same rule as in `maximise`, and a round
    evaluates the problem once. Where rounds don't halve the gradient, or lose, `maximise` goes on from the best point.
    """
    best, history = Solution(theta, -np.inf, np.inf, 0, False), []
    for n_iter in range(1, max_iter + 1):
        total, gradient = problem.value_and_gradient(theta)
        history.append(total)
        change = float(np.abs(Coordinates(problem, theta).gradient(gradient)).max())
        slow = change > 0.5 * best.change
        if total >= best.objective or change <= tol:
            best = Solution(problem.settled(theta), total, change, n_iter, change <= tol, history)
        if slow or change <= tol:
            break
        slope = gradient - approximate.value_and_gradient(theta)[1]
        try:
            theta = maximise(ShiftedProblem(approximate, slope), theta, max(0.1 * tol, 0.01 * change), max_iter).theta
        except DataError:  # it rises for ever, to logits at which some counts can't be
            break
    n_left = max_iter - len(history)
    if best.converged or n_left < 1:
        return best
    rest = maximise(problem, best.theta, tol, n_left)
    return replace(rest, n_iter=rest.n_iter + len(history), history=history + rest.history)


def mean_embedding_start(values, offsets, shares, penalty, n_classes=2) -> np.ndarray:
    """Parameters of a logistic regression of shares on bag means: the start of every method in Sun et al. 2017."""
    sizes = np.diff(offsets)
    means = weighted_sums(values, offsets, np.ones(len(values)))[:, :-1] / np.maximum(sizes, 1)[:, None]
    floor = np.maximum(penalty, 1e-3) if np.ndim(penalty) == 0 else np.asarray(penalty)
    # a mean of n members is as informative as one label per unit of variance among means, not as n of them
    problem = LinearProblem(means, ShareLikelihood(shares, np.ones(len(sizes))), floor / sizes.mean(), n_classes)
    start = constant_table((shares * sizes[:, None]).sum(axis=0) / sizes.sum(), problem.width)
    return maximise(problem, start.ravel(), tol=1e-3, max_iter=100).theta


def constant_table(shares: np.ndarray, width: int) -> np.ndarray:
    """Parameters (n_logits, width) that give every row these shares: coefficients of zero, and as intercept the
    log-odds of the second of two classes, else one logit per class around 0."""
    logs = np.log(np.maximum(shares, 1e-12))
    logits = logs[1:] - logs[:1] if logs.size == 2 else logs - logs.mean()
    return np.column_stack([np.zeros((logits.size, width - 1)), logits])
