"""Sums of individuals' responses: linear models fitted by the likelihood of the sums alone.

``members`` is a sparse (n_bags, n_people) matrix: how many times a bag's sum holds a person's response, 0 or 1 mostly.
A person in two bags makes their sums correlated.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from scipy import linalg, optimize, sparse

LEAST_KNOWN = np.sqrt(
    np.finfo(float).eps
)  # of the largest root of an information matrix, below which a direction is unknown
FLAT_PRECISION = np.sqrt(
    np.finfo(float).eps
)  # prior precision of Poisson coefficients per deviation of their feature that is as good as none


class SumFit(NamedTuple):
    """A linear model of sums."""

    theta: np.ndarray  # (d + 1,) coefficients, then the intercept
    covariance: np.ndarray  # (d + 1, d + 1) of the posterior
    variance: float  # of one response around its mean; of Poisson counts their dispersion
    precision: float  # what multiplies the prior precision of the coefficients
    objective: float
    n_iter: int
    converged: bool
    degrees: float  # coefficients spent, the intercept included
    alone: np.ndarray  # (d + 1,) as theta, without the prior
    alone_covariance: np.ndarray  # (d + 1, d + 1)
    unknown: np.ndarray  # (d + 1, k) directions that the sums alone leave open


def shared_members(members: sparse.csr_array, variances: np.ndarray) -> np.ndarray:
    """Covariance of the sums of independent responses: M diag(v) M', (n_bags, n_bags); its diagonal if bags are apart.

    Returns
    -------
    (n_bags,) array where no person is in two bags, else (n_bags, n_bags)
    """
    scaled = members.multiply(np.sqrt(variances)[None, :]).tocsr()
    present: Any = members != 0
    if (np.asarray(present.sum(axis=0)).ravel() <= 1).all():
        return np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
    return (scaled @ scaled.T).toarray()


def independent_sums(members: sparse.csr_array, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bags whose sums imply those of all others, and what they imply.

    Where everybody is in one bag of two tables, both tables have the same grand total: one sum of exact ones is
    redundant, and their covariance is singular. The rank is that of the correlations of M M', whatever the bags' sizes
    and weights, by Cholesky's factors with pivoting.

    Returns
    -------
    kept : (rank,) array
        Ascending; every bag where no person is in two of them.
    implied : (n_bags,) array
        The totals themselves for bags that are kept.
    largest : (n_bags,) array
        The largest of the numbers that were added, from which rounding follows.
    """
    shared = shared_members(members, np.ones(cast(Any, members.shape)[1]))
    everyone, implied, largest = np.arange(len(totals)), totals.copy(), np.abs(totals)
    if shared.ndim == 1:
        return everyone, implied, largest
    root = np.sqrt(np.diag(shared))
    root[root == 0] = 1.0  # a bag without members is implied by none at all: its sum is 0
    correlated = shared / np.outer(root, root)
    factorised: Any = linalg.get_lapack_funcs("pstrf", (correlated,))
    pivots, rank = factorised(correlated, lower=1, tol=1e-9)[1:3]
    kept = np.sort(pivots[:rank] - 1)
    left = np.setdiff1d(everyone, kept)
    weights = linalg.solve(correlated[np.ix_(kept, kept)], correlated[np.ix_(kept, left)], assume_a="pos").T
    added = root[left, None] * weights * (totals / root)[kept]
    implied[left] = added.sum(axis=1)
    largest[left] = np.maximum(np.abs(added).max(axis=1, initial=0.0), largest[left])
    return kept, implied, largest


def _whiten(covariance: np.ndarray, weights: np.ndarray, *arrays: np.ndarray) -> tuple[list[np.ndarray], float]:
    """L^-1 of arrays for covariance LL', and log|LL'|; bags that are independent count as much as weights say."""
    if covariance.ndim == 1:
        root = np.sqrt(covariance / weights)
        return [(a.T / root).T for a in arrays], float(weights @ np.log(covariance))
    factor = linalg.cholesky(covariance, lower=True)
    logs = 2.0 * float(np.log(np.diag(factor)).sum())
    return [np.asarray(linalg.solve_triangular(factor, a, lower=True)) for a in arrays], logs


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix^-1 right for an information matrix, made safely positive."""
    lifted = matrix + 1e-12 * np.diag(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(linalg.solve(lifted, right, assume_a="pos", check_finite=False))


def _factor(matrix: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor; where fewer bags than coefficients leave it singular to rounding, of one lifted."""
    try:
        return linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError:
        return linalg.cholesky(matrix + 1e-10 * np.diag(np.diag(matrix)), lower=True)


def _known(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of an information matrix in the directions that have any, and the others, (d + 1, k)."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    roots, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    seen = roots > LEAST_KNOWN * max(float(roots[-1]), 1e-300)
    inner, unknown = vectors[:, seen] / scale[:, None], vectors[:, ~seen]
    unknown = np.where(np.abs(unknown) > 1e-7, unknown, 0.0) / scale[:, None]
    return (inner / roots[seen]) @ inner.T, unknown


def _plus_noise(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return covariance + (noise if covariance.ndim == 1 else np.diag(noise))


def gaussian_sums(
    features: np.ndarray,
    totals: np.ndarray,
    members: sparse.csr_array,
    noise: np.ndarray,
    prior: np.ndarray,
    relative: np.ndarray,
    fixed: bool = False,
    weights: np.ndarray | None = None,
) -> SumFit:
    """Responses y_i = x_i'w + b + e_i with normal errors, of which only sums over bags (plus noise) are observed.

    The sums are normal with mean M X w + M 1 b and covariance s^2 M M' + diag(noise). With w ~ N(0, diag(1 / (c
    prior))) and a flat prior of b, s^2 and c maximise the restricted marginal likelihood; w and b are the posterior
    mean. Exact, bags that share people included.

    Parameters
    ----------
    features : (n_people, d) array
    totals : (n_bags,) array
    members : (n_bags, n_people) sparse array
    noise : (n_bags,) array
        Known variance of the noise on each sum.
    prior : (d,) array
        Precision of each coefficient, up to the multiple c.
    relative : (n_people,) array
        Variance of a row's response, times s^2: 1, or 1 / k for the mean of k people.
    fixed : bool
        Whether c is 1.
    weights : (n_bags,) array, optional
        Powers of the bags' likelihoods, where they share nobody.
    """
    powers = np.ones(len(totals)) if weights is None else weights
    sums = np.asarray(members @ features)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    shared = shared_members(members, relative)
    spread = max(float(np.var(totals / np.maximum(sizes, 1e-300)) * np.median(sizes)), 1e-300)

    def parts(log_variance: float, log_multiple: float) -> tuple[np.ndarray, Any, np.ndarray, float]:
        covariance = _plus_noise(np.exp(log_variance) * shared, noise)
        (a, n, y), logs = _whiten(covariance, powers, sums, sizes, totals)
        design = np.column_stack([a, n])
        inner = design.T @ design
        inner[np.diag_indices(len(prior))] += np.exp(log_multiple) * prior
        factor = _factor(inner)
        theta = linalg.cho_solve((factor, True), design.T @ y)
        fit = float(y @ y - (design.T @ y) @ theta)
        logs += 2.0 * float(np.log(np.diag(factor)).sum()) - float(np.log(prior).sum()) - len(prior) * log_multiple
        return theta, factor, design, -0.5 * (logs + fit)

    def cost(x: np.ndarray) -> float:
        return -parts(x[0], 0.0 if fixed else x[1])[3]

    starts = [np.array([np.log(spread), c]) for c in ((0.0,) if fixed else (-4.0, 0.0, 4.0))]
    found = min(
        (optimize.minimize(cost, x, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6}) for x in starts),
        key=lambda r: r.fun,
    )
    log_multiple = 0.0 if fixed else float(found.x[1])
    theta, factor, design, objective = parts(found.x[0], log_multiple)
    information = design.T @ design
    variance, multiple = float(np.exp(found.x[0])), float(np.exp(log_multiple))
    covariance = linalg.cho_solve((factor, True), np.eye(len(theta)))
    degrees = float(np.trace(covariance @ information))
    inverse, unknown = _known(information)
    alone = theta + inverse @ (np.append(multiple * prior, 0.0) * theta)
    ended = int(found.nit), bool(found.success)
    return SumFit(theta, covariance, variance, multiple, objective, *ended, degrees, alone, inverse, unknown)


def poisson_sums(
    features: np.ndarray,
    totals: np.ndarray,
    members: sparse.csr_array,
    noise: np.ndarray,
    prior: np.ndarray,
    relative: np.ndarray,
    start: np.ndarray | None = None,
    max_iter: int = 100,
    weights: np.ndarray | None = None,
    errors: bool = True,
) -> SumFit:
    """Counts y_i ~ Poisson(exp(x_i'w + b)), of which only sums over bags (plus noise) are observed.

    Sums of bags that share nobody are Poisson: the fit is the posterior mode. With shared people or noise the
    likelihood has no closed form; the estimating equations D' V^-1 (totals - mean) = prior w, V the exact covariance
    of the sums, are solved in its place (generalised estimating equations), which are the same where both exist.

    Parameters
    ----------
    features, totals, members, noise, relative : as in `gaussian_sums`
    prior : (d,) array
        Precision of each coefficient.
    start : (d + 1,) array, optional
        Coefficients and intercept to begin with.
    weights : as in `gaussian_sums`
    errors : bool
        Whether to fit without the prior, too, as intervals need; else ``alone`` is ``theta``.
    """
    powers = np.ones(len(totals)) if weights is None else weights
    theta = np.zeros(features.shape[1] + 1) if start is None else start.copy()
    if start is None:
        theta[-1] = np.log(max(float(totals.sum() / members.sum()), 1e-12))
    data = (features, totals, members, noise, relative, powers)
    found = _poisson_mode(*data, np.append(prior, 0.0), theta, max_iter)
    covariance: Any = linalg.pinvh(found.information + np.diag(found.pull))
    degrees = float(np.trace(covariance @ found.information))
    dispersion = max(found.squares / max(powers.sum() - degrees, 1.0), 1.0)
    free = _poisson_mode(*data, np.full(len(theta), FLAT_PRECISION), found.theta, max_iter) if errors else found
    inverse, unknown = _known(free.information)
    if not free.converged:  # some counts are 0 whatever the rates: coefficients run away
        free, unknown = found, np.eye(len(theta))
    ended = found.n_iter, found.converged
    robust = dispersion * inverse if free.whitened is None else _robust(*free.whitened, powers, inverse)
    alone = free.theta, robust, unknown
    return SumFit(found.theta, dispersion * covariance, dispersion, 1.0, found.objective, *ended, degrees, *alone)


def _robust(slopes: np.ndarray, residuals: np.ndarray, powers: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Covariance of coefficients whatever the variances of independent sums (MacKinnon and White 1985, HC3).

    slopes (n, p) and residuals (n,) are whitened by the Poisson variance and times root `powers`. Bags that differ by
    more than chance have sums whose variance grows with the square of their size.
    """
    leverage = np.einsum("ij,jk,ik->i", slopes, inverse, slopes) / np.maximum(powers, 1e-300)
    left = np.maximum(1.0 - leverage, np.sqrt(np.finfo(float).eps))
    scores = slopes * (residuals / left / np.sqrt(np.maximum(powers, 1e-300)))[:, None]
    return inverse @ (scores.T @ scores) @ inverse


class _Mode(NamedTuple):
    """Where a Poisson fit ended."""

    theta: np.ndarray
    pull: np.ndarray
    information: np.ndarray  # of the sums, without the prior
    squares: float  # sum of squared residuals in standard deviations
    objective: float
    n_iter: int
    converged: bool
    whitened: tuple[np.ndarray, np.ndarray] | None  # slopes and residuals of bags; None if they share people


def _poisson_mode(
    features: np.ndarray,
    totals: np.ndarray,
    members: sparse.csr_array,
    noise: np.ndarray,
    relative: np.ndarray,
    powers: np.ndarray,
    pull: np.ndarray,
    theta: np.ndarray,
    max_iter: int,
) -> _Mode:
    """Fisher's scoring from ``theta`` with the prior precision ``pull``, intercept included."""
    design = np.column_stack([features, np.ones(len(features))])
    exact = shared_members(members, relative).ndim == 1 and not noise.any()
    scale = np.asarray(
        cast(Any, members.multiply(relative[None, :])).max(axis=1).toarray()
    ).ravel()  # a sum's variance over mean

    def step(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], bool]:
        rates = np.exp(np.clip(design @ theta, -700.0, 50.0))
        means = np.asarray(members @ rates)
        slopes = np.asarray(members @ (rates[:, None] * design))
        if exact and (relative == 1.0).all():
            covariance = np.maximum(means, 1e-300)
        else:
            covariance = _plus_noise(shared_members(members, relative * rates), noise)
        (d, off), _ = _whiten(covariance, powers, slopes, totals - means)
        gradient, information = d.T @ off - pull * theta, d.T @ d + np.diag(pull)
        if exact:
            logs = totals * np.log(np.maximum(means, 1e-300)) - means
            value = float(powers @ (logs / scale) - 0.5 * pull @ theta**2)
        else:
            value = -float(gradient @ _solved(information, gradient))
        return value, gradient, information, (d, off), covariance.ndim == 1

    n_iter, size, now = 0, np.inf, step(theta)
    while n_iter < max_iter and size > 1e-7:
        move = _solved(now[2], now[1])
        size = float(np.abs(move).max())
        move *= min(1.0, 2.0 / max(float(np.abs(design @ move).max()), 1e-300))  # rates change by e^2 at most
        trial, halved = step(theta + move), 0
        while trial[0] < now[0] and halved < 8:
            move, halved = 0.5 * move, halved + 1
            trial = step(theta + move)
        n_iter += 1
        if trial[0] < now[0]:
            break  # rounding: no shorter step is better
        theta, now = theta + move, trial
    (_, off), apart = now[3:]
    ended = now[0], n_iter, size <= 1e-4
    return _Mode(theta, pull, now[2] - np.diag(pull), float(off @ off), *ended, now[3] if apart else None)
