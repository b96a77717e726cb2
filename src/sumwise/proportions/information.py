"""The information of bags' counts about the coefficients of a linear classifier, their scores and covariance."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, null_space, solve_triangular
from scipy.special import expit, softmax

from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.progress import Progress
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import Coordinates, LinearProblem

STEP = 1e-2  # of the differences of gradients, in standard errors: finer ones show rounding
FLAT = 1e-6  # information, relative to what was expected, below which a direction counts as unknown
# Three thresholds that were not tuned. Of the values MOST .9 and .99, CLEAR 2 and 4, SEEN ten times more and less, all
# variants but one were tried: no coverage changed by more than .007 in 60 simulations each of "few bags" and "many
# features" (benchmarks/proportions_coverage.py).
# SEEN: information, relative to a prior's, from which a direction is informative about the spread of coefficients.
SEEN = 1e-2
MOST = 0.95  # of the information along a direction that one unit may hold
CLEAR = 3.0  # standard errors by which residuals of consecutive bags are correlated before that counts
# DISPERSED: standard errors, if the model holds, by which the counts' dispersion exceeds one before it counts. Of 60
# fits each to 50 generated bags of 20, none without effects of bags exceeds it, 82% with effects of deviation .6, all
# with deviation 1 (benchmarks/proportions_coverage.py --noticed).
DISPERSED = 2.5


class FisherInformation:
    """One likelihood at its parameters: its information in coordinates where what was expected is one.

    Parameters
    ----------
    problem : LinearProblem
    theta : array
    kind : {"observed", "expected", "sandwich"}
    groups : array of shape (n_bags,), optional
        Group of each bag, as a position. Bags of a group share what the model leaves out, so their gradients are
        added before the variance is estimated, whatever the kind.
    verbose : int
    """

    def __init__(self, problem: LinearProblem, theta: np.ndarray, kind: str, groups=None, verbose: int = 0):
        self.problem, self.theta, self.groups, self.kind = problem, theta, groups, kind
        self.size = problem.n_logits * problem.width
        self.robust = kind == "sandwich" or groups is not None
        self.n_units = len(problem.likelihood.offsets) - 1 if groups is None else int(groups.max()) + 1
        self.frame = Coordinates(problem, theta)
        self.lower = np.asarray(block_diag(*self.frame.factors))
        self.block = np.kron(np.eye(problem.n_logits), problem.penalty_block)
        self.information = self._expected() if kind == "expected" else self._curvature(verbose)
        self.known = self.information - self.prior()

    @cached_property
    def inverse(self) -> np.ndarray:
        """Inverse of the information, along the directions that the counts are informative about."""
        return self._inverted(self.information)

    @cached_property
    def spent(self) -> float:
        """How many coefficients the counts, and not the penalty, decided."""
        return float(np.trace(self.inverse @ self.known))

    @cached_property
    def residuals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Counts minus expected counts; see `_residuals`."""
        return _residuals(self.problem, self.theta)

    @cached_property
    def alike(self) -> float:
        """Correlation of the residuals of consecutive bags, where it is clear."""
        return 0.0 if self.residuals is None else _following(self.residuals[0])

    @cached_property
    def run_length(self) -> float:
        """How many consecutive bags are worth one, where their residuals are correlated: the integrated
        autocorrelation time. For bags of one region in a row, with correlation r, it is 1 + (n - 1) r."""
        if self.robust or self.residuals is None or not self.alike:
            return 1.0
        return _autocorrelation_time(self.residuals[0])

    @property
    def inflation(self) -> float:
        """How many times as much gradients vary as the model says, for the noise of counts and for runs of bags."""
        return self.dispersion * self.run_length

    def _curvature(self, verbose: int) -> np.ndarray:
        """Minus the second derivatives, by central differences of the gradient."""
        out = np.empty((self.size, self.size))
        u = np.zeros(self.problem.n_params)
        with Progress("Information", self.size, verbose) as progress:
            for j in range(self.size):
                sides = []
                for step in (STEP, -STEP):
                    u[j] = step
                    gradient = self.problem.value_and_gradient(self.frame.theta(u))[1]
                    sides.append(self.frame.gradient(gradient)[: self.size])
                u[j] = 0.0
                out[j] = (sides[1] - sides[0]) / (2.0 * STEP)
                progress.step()
        return 0.5 * (out + out.T)

    def _expected(self) -> np.ndarray:
        """D' Cov(count)^-1 D over bags, D the derivative of a bag's expected counts, and the penalty's part."""
        rows = self._rows().reshape(-1, self.size)
        return rows.T @ rows + self.prior()

    def _rows(self) -> np.ndarray:
        """Cov(count)^-1/2 D of each bag, (n_bags, n_logits, size), in these coordinates: their squares add up to the
        expected information of the counts."""
        p, n = self.problem, self.problem.n_logits
        logits = p.logits(self.theta)
        chance = expit(logits)[:, None] if n == 1 else softmax(logits, axis=1)
        pairs = [(chance[:, c] * ((c == d) - chance[:, d])) for c in range(n) for d in range(n)]
        slopes = np.stack([weighted_sums(p.values, p.likelihood.offsets, p.counted(w)) for w in pairs], axis=1)
        variance, scale = slopes[:, :, -1].reshape(-1, n, n), p.split(self.theta)[2]
        if scale is not None:
            variance = variance + scale**2 * variance @ variance
        power = getattr(p.likelihood, "temper", None)
        variance = variance if power is None else variance / np.maximum(power, 1e-12)[:, None, None]
        roots, vectors = np.linalg.eigh(variance)
        open_ = roots > 1e-12 * np.maximum(roots[:, -1:], 1e-300)
        half = np.where(open_, 1.0 / np.sqrt(np.where(open_, roots, 1.0)), 0.0)[:, None, :] * vectors
        found = np.swapaxes(half, 1, 2) @ slopes.reshape(len(slopes), n, n * p.width)
        flat = solve_triangular(self.lower, found.reshape(-1, self.size).T, lower=True).T
        return flat.reshape(found.shape)

    def evenness(self) -> float:
        """How many units, of those there are, a coefficient's spread really rests on: 1 where all weigh alike.

        A unit's part in the variance of a coefficient is v; squares that are summed with such weights have
        (sum v)^2 / sum v^2 degrees of freedom (Satterthwaite), here averaged over coefficients by their variance.
        """
        parts = ((self._rows() @ self.inverse) ** 2).sum(axis=1)
        if self.groups is not None:
            each = np.zeros((self.n_units, self.size))
            np.add.at(each, self.groups, parts)
            parts = each
        total = parts.sum(axis=0)
        return float((total**3 / np.maximum((parts**2).sum(axis=0), 1e-300)).sum() / total.sum() / len(parts))

    def inside(self, matrix: np.ndarray) -> np.ndarray:
        """L^-1 matrix L^-T: an information, in these coordinates."""
        left = solve_triangular(self.lower, matrix, lower=True)
        return solve_triangular(self.lower, left.T, lower=True)

    def basis(self, penalised: bool) -> np.ndarray:
        """Directions that the model sees, (size, k), orthonormal: of a softmax, all but what its classes share.

        Where coefficients are penalised, only intercepts are free to move together.
        """
        if self.problem.n_logits == 1:
            return np.eye(self.size)
        width = self.problem.width
        free = [width - 1] if penalised else range(width)
        table = np.zeros((len(free), self.problem.n_logits, width))
        for k, j in enumerate(free):
            table[k, :, j] = 1.0
        shared = np.linalg.qr(self.lower.T @ table.reshape(len(free), -1).T)[0]
        return np.asarray(null_space(shared.T))

    def _inverted(self, information: np.ndarray) -> np.ndarray:
        seen = self.basis(bool(self.problem.penalty.any()))
        roots, vectors = np.linalg.eigh(seen.T @ information @ seen)
        if roots[0] < FLAT:
            n = int((roots < FLAT).sum())
            raise DataError(
                f"The counts leave {n} of {len(roots)} directions of the coefficients open (least relative information "
                f"{roots[0]:.1e}).",
                hint="fit with a penalty, or to a smaller tol; bootstrap needs no information matrix.",
            )
        basis = seen @ vectors
        return (basis / roots) @ basis.T

    def scores(self) -> np.ndarray:
        """Gradient of the log-likelihood of each bag, or group of bags, in these coordinates: (n_units, size).

        The fit gave way to every unit, so each is taken as it would be without that: (I - A H^-1)^-1 of its gradient,
        with A the expected information of the unit and H that of all (the jackknife; Mancl and DeRouen 2001).
        """
        p = self.problem
        value = p.likelihood.evaluate(p.logits(self.theta), p.split(self.theta)[2])
        residual = p.likelihood.total_and_residual(value)[1].reshape(len(p.values), -1)
        parts = [weighted_sums(p.values, p.likelihood.offsets, residual[:, c]) for c in range(p.n_logits)]
        found = solve_triangular(self.lower, np.hstack(parts).T, lower=True).T
        rows = self._rows()
        if self.groups is None:
            return np.stack([self._alone(one, own) for one, own in zip(found, rows)])
        order = np.argsort(self.groups, kind="stable")
        units = np.split(order, np.cumsum(np.bincount(self.groups))[:-1])
        return np.stack([self._alone(found[k].sum(axis=0), rows[k].reshape(-1, self.size)) for k in units])

    def _alone(self, score: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """A unit's gradient had it not been fitted; rows' squares add up to its information."""
        share, vectors = np.linalg.eigh(rows @ self.inverse @ rows.T)
        share = np.clip(share, 0.0, MOST)
        along = vectors.T @ (rows @ self.inverse @ score)
        return score + rows.T @ (vectors @ (along / (1.0 - share)))

    @cached_property
    def dispersion(self) -> float:
        """How many times as much the gradients vary as the model says, at least 1.

        Of bags on their own it is what their counts show (Pearson's statistic over its degrees of freedom), if that is
        clearly above 1. Bags whose counts are nearly certain weigh less: their squared residuals are almost always 0,
        and so large else that a single such bag would leave nothing clear.
        """
        if self.robust:
            ratio = np.trace(self.inverse @ spread(self.scores())) / max(self.spent, 1e-12)
            return max(1.0, float(ratio))
        if self.residuals is None or self.problem.random_intercept:
            return 1.0
        _, squares, spreads = self.residuals
        if len(squares) < self.spent + 2.0:
            return 1.0
        dimension = max(self.problem.n_logits - 1, 1)
        weights = 1.0 / np.maximum(spreads, 2.0 / dimension)  # that of a normal count at most
        left = 1.0 - self.spent / (dimension * len(squares))
        found = float(np.average(squares, weights=weights)) / left
        clear = found - 1.0 > DISPERSED * np.sqrt(weights**2 @ spreads) / weights.sum()
        return found if clear else 1.0

    def prior(self) -> np.ndarray:
        """The penalty's part of the information, in these coordinates."""
        return self.inside(self.block)

    def out(self, left: np.ndarray) -> np.ndarray:
        """L^-T times a matrix: from these coordinates to the coefficients."""
        return solve_triangular(self.lower, left, lower=True, trans=1)

    @cached_property
    def pull(self) -> np.ndarray:
        """P T^1/2 in these coordinates: its square is the variance of what the penalty P took, for coefficients of
        covariance T.

        The penalty need not be how coefficients are spread, and the counts are seldom informative about that. There are
        two guesses, each scaled as the fit suggests: a multiple, at least one, of what the penalty supposes, and
        coefficients that are alike per deviation of their feature. T is their mean: the larger of them in every
        direction makes intervals of shares too wide (benchmarks/proportions_coverage.py).
        """
        p, block = self.problem, self.block
        if not p.penalty.any():
            return np.zeros_like(block)
        coefficient = np.ones((p.n_logits, p.width), bool)
        coefficient[:, -1] = False
        of, rest = coefficient.ravel(), ~coefficient.ravel()
        known = self.lower @ self.information @ self.lower.T - block
        free = known[np.ix_(of, rest)]
        inner = known[np.ix_(of, of)] - free @ np.linalg.pinv(known[np.ix_(rest, rest)], hermitian=True) @ free.T
        gradient = (inner + block[np.ix_(of, of)]) @ self.theta[: self.size][of]
        prior, axes = np.linalg.eigh(p.penalty_block[:-1, :-1])
        deviations = centre_and_scale(p.values)[1] * np.sqrt(p.width - 1)
        guesses = []
        steep = axes / np.sqrt(np.maximum(prior, 1e-12 * prior.max()))
        for half, least in ((steep, 0.0), (np.diag(1.0 / deviations), -7.0)):
            x = np.kron(_contrasts(p.n_logits), half)
            scaled = (x.T @ inner @ x / self.dispersion, x.T @ gradient / self.dispersion)
            guesses.append(_suggested(*scaled, least) * half @ half.T)
        plausible = np.zeros_like(block)
        plausible[np.ix_(of, of)] = np.kron(np.eye(p.n_logits), _root(0.5 * (guesses[0] + guesses[1])))
        return solve_triangular(self.lower, block @ plausible, lower=True)

    def matrix(self) -> np.ndarray:
        """The covariance of the coefficients; of a softmax, around their mean over classes, which it doesn't see."""
        return self._centred(self.out(self.out(self.inner(self.scores() if self.robust else None)).T))

    def inner(self, scores: np.ndarray | None) -> np.ndarray:
        """The same in these coordinates: the counts' noise, and what the penalty took from the coefficients."""
        noise = self.inflation * self.known if scores is None else spread(scores)
        return self.inverse @ (self.freedom() * noise + self.pull @ self.pull.T) @ self.inverse

    def without_shrinkage(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients as the counts alone suggest them, and their covariance: infinite along unknown directions.

        The covariance comes from the information at these coefficients: at the shrunk ones probabilities are nearer to
        one half, and counts look more informative than they are. Of groups of bags it is widened by n / (n - p) for n
        groups and p coefficients, since fits to few groups are too close to them; of bags on their own that makes
        intervals too wide. See benchmarks/results/proportions_coverage.json for how often they hold.
        """
        middle = self._unpenalised_step()
        there = (
            self
            if np.array_equal(middle, self.theta)
            else FisherInformation(self.problem, middle, self.kind, self.groups)
        )
        inverse, lost = there.known_inverse()
        if self.robust:
            noise = there.inside(self.lower @ spread(self.scores()) @ self.lower.T)
        else:
            noise = self.inflation * there.known
        covariance = self._centred(there.out(there.out(inverse @ (self.freedom() * noise) @ inverse).T))
        unknown = np.abs(there.out(lost)).sum(axis=1) > 1e-6 * np.abs(there.out(np.eye(self.size))).sum(axis=1)
        n_params = self.problem.width * max(self.problem.n_logits - 1, 1)
        few = self.n_units <= n_params
        if self.robust and not few:
            covariance = covariance * (self.n_units / (self.n_units - n_params))
        covariance[np.diag_indices(self.size)] += np.where(unknown | few, np.inf, 0.0)
        return middle[: self.size], covariance

    def known_inverse(self) -> tuple[np.ndarray, np.ndarray]:
        """Inverse of what the counts say, and the directions, (size, k), of which they say nothing.

        What a softmax doesn't see is set aside first: its information is zero up to rounding, and directions that
        mix it with others by that rounding would count as unknown.
        """
        basis = self.basis(penalised=False)
        roots, vectors = np.linalg.eigh(basis.T @ self.known @ basis)
        vectors, seen = basis @ vectors, roots > FLAT
        return (vectors[:, seen] / roots[seen]) @ vectors[:, seen].T, vectors[:, ~seen]

    def _unpenalised_step(self) -> np.ndarray:
        """The parameters one Newton step without the penalty away: at the fit the gradient of the log-likelihood is
        P w, P the penalty. Half of it, and so on, where the likelihood would fall."""
        pull = solve_triangular(self.lower, self.block @ self.theta[: self.size], lower=True)
        step = np.zeros_like(self.theta)
        step[: self.size] = self.out(self.known_inverse()[0] @ pull)
        at_fit = self._log_likelihood(self.theta)
        for _ in range(6):
            if self._log_likelihood(self.theta + step) >= at_fit:
                return self.theta + step
            step = 0.5 * step
        return self.theta

    def _log_likelihood(self, theta: np.ndarray) -> float:
        value = self.problem.likelihood.evaluate(self.problem.logits(theta), self.problem.split(theta)[2])
        return self.problem.likelihood.total_and_residual(value)[0]

    def _centred(self, matrix: np.ndarray) -> np.ndarray:
        """A covariance of a softmax's parameters around their mean over classes, which it doesn't see."""
        n = self.problem.n_logits
        if n == 1:
            return matrix
        centre = np.kron(np.eye(n) - 1.0 / n, np.eye(self.problem.width))
        return centre @ matrix @ centre

    @property
    def left(self) -> float:
        """Bags, or groups of them, less the coefficients spent on them."""
        return self.n_units - self.spent

    def degrees(self) -> float:
        """Degrees of freedom of Student's t: what is left, and less where few units decide how much they spread."""
        return self.left * self.evenness() if self.robust else self.left / self.run_length

    def freedom(self) -> float:
        """Bags over what is left of them, where the deviation of their intercepts was learned from the same fit."""
        if self.robust or not self.problem.random_intercept:
            return 1.0
        return self.n_units / max(self.left, 1.0)


def _residuals(problem: LinearProblem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Counts minus expected counts, in standard deviations, (n_bags, n_classes or 1); their squared distance over its
    dimension, (n_bags,), and the variance that this has if the model holds.

    That variance is 2 over the dimension plus the excess kurtosis of the counts, sum p q (1 - 6 p q) / (sum p q)^2 of a
    Poisson binomial count; of several classes their mean. The spread of the squares themselves would be larger where
    the model fails, and hide that it does. None where counts are not known exactly.
    """
    likelihood = problem.likelihood
    assert isinstance(likelihood, BagLikelihood)
    observed, edges = likelihood.observed, likelihood.offsets[:-1]
    if not observed.exact:
        return None
    members = np.ones(len(problem.values)) if observed.multiplicity is None else observed.multiplicity
    logits = problem.logits(theta)
    if problem.n_logits == 1:
        assert observed.observations is not None
        chance = expit(logits)
        off = observed.observations.low - np.add.reduceat(members * chance, edges)
        each = chance * (1.0 - chance)
        variance = np.maximum(np.add.reduceat(members * each, edges), 1e-12)
        excess = np.add.reduceat(members * each * (1.0 - 6.0 * each), edges) / variance**2
        scale = problem.split(theta)[2]
        variance = variance if scale is None else variance * (1.0 + scale**2 * variance)
        return (off / np.sqrt(variance))[:, None], off**2 / variance, 2.0 + excess
    chance = softmax(logits, axis=1)
    off = observed.counts - np.add.reduceat(members[:, None] * chance, edges, axis=0)
    products = chance[:, :, None] * (np.eye(problem.n_logits) - chance[:, None, :])
    variance = np.add.reduceat(members[:, None, None] * products, edges, axis=0)
    own = np.maximum(np.diagonal(variance, axis1=1, axis2=2), 1e-12)
    each = chance * (1.0 - chance)
    excess = np.add.reduceat(members[:, None] * each * (1.0 - 6.0 * each), edges, axis=0) / own**2
    inverse, dimension = np.linalg.pinv(variance, hermitian=True), problem.n_logits - 1
    squares = np.einsum("bc,bcd,bd->b", off, inverse, off) / dimension
    return off / np.sqrt(own), squares, (2.0 + excess.mean(axis=1)) / dimension


def _following(residuals: np.ndarray) -> float:
    """Correlation of the residuals of consecutive bags; 0 unless it is clearly above that."""
    n = len(residuals)
    total = float((residuals**2).sum())
    if n < 3 or total <= 0.0:
        return 0.0
    found = float((residuals[1:] * residuals[:-1]).sum()) / total
    return found if found > CLEAR / np.sqrt(n) else 0.0


def _autocorrelation_time(residuals: np.ndarray) -> float:
    """1 + 2 sum of the correlations of residuals at all lags up to the first that isn't clear, at least 1."""
    n, total = len(residuals), 1.0
    square = float((residuals**2).sum())
    for lag in range(1, n // 4 + 1):
        found = float((residuals[lag:] * residuals[:-lag]).sum()) / square
        if found < 1.0 / np.sqrt(n):
            break
        total += 2.0 * found
    return total


def _contrasts(n: int) -> np.ndarray:
    """Orthonormal differences of n classes, (n, n - 1): what a softmax sees. Of a single logit, itself."""
    return np.eye(1) if n == 1 else np.asarray(null_space(np.ones((1, n))))


def _root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric square root of a covariance."""
    roots, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(roots, 0.0, None))) @ vectors.T


def _suggested(information: np.ndarray, gradient: np.ndarray, least: float) -> float:
    """Mean of tau^2, from exp(least) on, for coefficients of variance tau^2 in these coordinates.

    Along an eigenvector of the information, h its value, the gradient at zero is normal with variance h + tau^2 h^2.
    The prior of tau is half-Cauchy: the most likely value alone would leave out that tau isn't known either.
    """
    roots, vectors = np.linalg.eigh(0.5 * (information + information.T))
    seen = roots > SEEN
    h, squares = roots[seen], (vectors.T @ gradient)[seen] ** 2 / roots[seen]
    steps = np.linspace(least, 14.0, 421)
    shrunk = 1.0 + np.exp(steps)[:, None] * h
    prior = 0.5 * steps - np.log1p(np.exp(steps))
    return float(softmax(prior - 0.5 * (np.log(shrunk) + squares / shrunk).sum(axis=1)) @ np.exp(steps))


def spread(scores: np.ndarray) -> np.ndarray:
    """Sum of squares of the bags' gradients around their mean, scaled for the mean."""
    centred = scores - scores.mean(axis=0)
    return len(scores) / max(len(scores) - 1, 1) * centred.T @ centred


def joined(parts: list[FisherInformation]) -> np.ndarray:
    """Covariance over the classes of one-vs-rest: their fits share the data, so their errors are correlated.

    The covariance of the gradients of classes c and d is that of the units' gradients, or what the counts' covariance
    -sum p_c p_d implies. What penalties took is correlated, too: a feature that speaks for a class speaks against the
    others, so that effects on n classes correlate by -1 / (n - 1).
    """
    size, robust = parts[0].size, parts[0].robust
    scores = [p.scores() if robust else _expected_scores(p) for p in parts]
    out = np.empty((len(parts) * size, len(parts) * size))
    for c, one in enumerate(parts):
        for d, other in enumerate(parts):
            if c == d:
                inner = one.inner(scores[c] if robust else None)
            else:
                if robust:
                    both = spread(np.hstack([scores[c], scores[d]]))[:size, size:]
                else:
                    overlap = -np.sqrt(one.inflation * other.inflation) * _overlap(one, other)
                    both = scores[c].T @ (overlap[:, None] * scores[d])
                inner = one.inverse @ (both - one.pull @ other.pull.T / (len(parts) - 1)) @ other.inverse
            out[c * size : (c + 1) * size, d * size : (d + 1) * size] = one.out(other.out(inner.T).T)
    roots, vectors = np.linalg.eigh(0.5 * (out + out.T))
    return (vectors * np.clip(roots, 0.0, None)) @ vectors.T  # rounding, and approximate correlations


def _expected_scores(part: FisherInformation) -> np.ndarray:
    """Derivative of each bag's expected count over its variance: what multiplies count minus expectation."""
    p = part.problem
    chance = expit(p.logits(part.theta))
    slopes = weighted_sums(p.values, p.likelihood.offsets, p.counted(chance * (1.0 - chance)))
    scale = p.split(part.theta)[2]
    variance = slopes[:, -1] + 1e-12
    if scale is not None:
        variance = variance * (1.0 + scale**2 * slopes[:, -1])
    return solve_triangular(part.lower, (slopes / variance[:, None]).T, lower=True).T


def _overlap(one: FisherInformation, other: FisherInformation) -> np.ndarray:
    """sum_i p_c p_d over the people of each bag."""
    a, b = (expit(p.problem.logits(p.theta)) for p in (one, other))
    edges = one.problem.likelihood.offsets[:-1]
    return np.add.reduceat(one.problem.counted(a * b), edges)
