"""Exact inference over a bag given the sum of its members' outcome vectors: class counts, or any 0/1 vectors.

Member i takes outcome a, the integer vector ``outcomes[a]``, with probability softmax(log_potentials[i])_a; the
sum of the vectors is known. Class counts are the special case of unit vectors, one class left out as the zero
vector. As for a single count the posterior doesn't change when every log-potential is tilted by t . outcomes[a],
and all methods tilt the mean to the target first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_bags, writable
from sumwise.proportions.kernels.poisson_multinomial_dp import direct
from sumwise.proportions.kernels.poisson_multinomial_fourier import fourier, frequencies_needed
from sumwise.proportions.kernels.poisson_multinomial_linear import cholesky, dot, solve
from sumwise.proportions.kernels.poisson_multinomial_saddlepoint import saddlepoint
from sumwise.proportions.kernels.poisson_multinomial_tree import tree

VECTOR_METHODS = ("auto", "direct", "fourier", "tree", "saddlepoint")
_AUTO, _DIRECT, _FOURIER, _SADDLEPOINT, _TILT_ONLY = 0, 1, 2, 3, 4
_CODES = {"auto": _AUTO, "direct": _DIRECT, "fourier": _FOURIER, "saddlepoint": _SADDLEPOINT, "tree": _TILT_ONLY}
MEMORY = 2.0**25  # numbers that the direct programme may hold per bag
BUDGET = 4e9  # elementary steps per bag beyond which "auto" takes the saddlepoint approximation


class VectorPosterior(NamedTuple):
    """What `class_posterior` and `vector_posterior` return."""

    log_prob: np.ndarray  # (n_bags,)
    posterior: np.ndarray  # (n_rows, n_outcomes)
    error: np.ndarray  # (n_bags,) estimated error of the posterior: 0 where the method is exact up to rounding
    tilt: np.ndarray  # (n_bags, n_dims)


@njit(cache=True, error_model="numpy")
def _tilted(  # noqa: C901 (plain loops compile best)
    logs: np.ndarray, outcomes: np.ndarray, t: np.ndarray, sizes: np.ndarray, probs: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Fill probs with softmax(logs + outcomes . t); return sum of log normalisers, mean and covariance of the sum."""
    n, m = logs.shape
    d = outcomes.shape[1]
    mean = np.zeros(d)
    cov = np.zeros((d, d))
    shift = np.zeros(m)
    for a in range(m):
        shift[a] = dot(outcomes[a], t)
    total = 0.0
    mu = np.empty(d)
    for i in range(n):
        top = -np.inf
        for a in range(m):
            probs[i, a] = logs[i, a] + shift[a]
            top = max(top, probs[i, a])
        norm = 0.0
        for a in range(m):
            probs[i, a] = math.exp(probs[i, a] - top)
            norm += probs[i, a]
        total += sizes[i] * (top + math.log(norm))
        for j in range(d):
            mu[j] = 0.0
        for a in range(m):
            probs[i, a] /= norm
            for j in range(d):
                mu[j] += probs[i, a] * outcomes[a, j]
        for j in range(d):
            mean[j] += sizes[i] * mu[j]
            for k in range(j + 1):
                part = 0.0
                for a in range(m):
                    part += probs[i, a] * outcomes[a, j] * outcomes[a, k]
                cov[j, k] += sizes[i] * (part - mu[j] * mu[k])
    for j in range(d):
        for k in range(j):
            cov[k, j] = cov[j, k]
    return total, mean, cov


@njit(cache=True, error_model="numpy")
def _tilt_to(
    logs: np.ndarray,
    outcomes: np.ndarray,
    target: np.ndarray,
    sizes: np.ndarray,
    start: np.ndarray,
    tol: float,
    probs: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray, bool]:
    """Damped Newton for the t whose mean is the target; True if it got there.

    It minimises the convex K(t) - t . target. On the edge of what is possible t grows until the distance is below
    ``tol`` deviations, or below a billionth of a member: where a sum is nearly certain, its deviation is smaller still.
    """
    rounding = 1e-13 * sizes.sum() + 1e-9
    d = outcomes.shape[1]
    t = start.copy()
    value, mean, cov = _tilted(logs, outcomes, t, sizes, probs)
    value -= dot(t, target)
    gap, new = np.empty(d), np.empty(d)
    for _ in range(100):
        trace = farthest = 0.0
        for j in range(d):
            gap[j] = mean[j] - target[j]
            farthest = max(farthest, abs(gap[j]))
            trace += cov[j, j]
        step = solve(cholesky(cov, 1e-12 + 1e-10 * trace), gap)
        decrement = dot(gap, step)
        if decrement <= tol * tol or farthest <= rounding:
            return t, value, cov, True
        length, new_value = 1.0, value
        for _half in range(40):
            for j in range(d):
                new[j] = t[j] - length * step[j]
            new_value, mean, cov = _tilted(logs, outcomes, new, sizes, probs)
            new_value -= dot(new, target)
            if new_value <= value - 1e-4 * length * decrement + 1e-12 * abs(value):
                break
            length *= 0.5
        for j in range(d):
            t[j] = new[j]
        value = new_value
    return t, value, cov, False


@njit(cache=True, error_model="numpy")
def _active(outcomes: np.ndarray, target: np.ndarray, onehot: bool) -> tuple[np.ndarray, np.ndarray]:
    """Which outcomes and dimensions are left once counts of zero are ruled out; one class left out for class
    counts."""
    m, d = outcomes.shape
    keep = np.empty(m, np.int64)
    n_keep = 0
    for a in range(m):
        possible = True
        for j in range(d):
            possible &= outcomes[a, j] == 0.0 or target[j] > 0.0
        if possible:
            keep[n_keep] = a
            n_keep += 1
    largest = -1
    if onehot:  # the most frequent class is left out
        for j in range(d):
            if target[j] > 0.0 and (largest < 0 or target[j] > target[largest]):
                largest = j
    dims = np.empty(d, np.int64)
    n_dims = 0
    for j in range(d):
        if target[j] > 0.0 and j != largest:
            dims[n_dims] = j
            n_dims += 1
    return keep[:n_keep], dims[:n_dims]


@njit(cache=True, error_model="numpy")
def _choose(n: int, m: int, target: np.ndarray, cov: np.ndarray, budget: float) -> int:
    frequencies = frequencies_needed(cov, n)
    box = 1.0
    for z in target:
        box *= z + 1.0
    by_box = 2.0 * n * box * m
    by_sum = 1.5 * n * frequencies * (m + 2.0)
    if by_box <= min(by_sum, budget) and n * box <= MEMORY:
        return _DIRECT
    return _FOURIER if by_sum <= budget else _SADDLEPOINT


@njit(cache=True, error_model="numpy")
def _restrict(
    logs: np.ndarray,
    outcomes: np.ndarray,
    target: np.ndarray,
    sizes: np.ndarray,
    keep: np.ndarray,
    dims: np.ndarray,
    start: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """The bag's problem in what is left; also minus the log normalisers of all outcomes."""
    n, m = logs.shape
    sub, vecs = np.empty((n, keep.size)), np.empty((keep.size, dims.size))
    goal, first = np.empty(dims.size), np.zeros(dims.size)
    base = 0.0
    for i in range(n):
        top = -np.inf
        for a in range(m):
            top = max(top, logs[i, a])
        norm = 0.0
        for a in range(m):
            norm += math.exp(logs[i, a] - top)
        base -= sizes[i] * (top + math.log(norm))
        for a in range(keep.size):
            sub[i, a] = logs[i, keep[a]]
    for j in range(dims.size):
        goal[j] = target[dims[j]]
        if math.isfinite(start[dims[j]]):
            first[j] = start[dims[j]]
        for a in range(keep.size):
            vecs[a, j] = outcomes[keep[a], dims[j]]
    return sub, vecs, goal, first, base


@njit(cache=True, error_model="numpy")
def _near(logs: np.ndarray, vecs: np.ndarray, goal: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The tilt for class counts if all members had the mean logits."""
    middle, rest, total = np.zeros(logs.shape[1]), -1, 0.0
    for i in range(logs.shape[0]):
        total += sizes[i]
        for a in range(logs.shape[1]):
            middle[a] += sizes[i] * logs[i, a]
    for a in range(logs.shape[1]):
        if vecs[a].sum() == 0.0:
            rest = a  # the class that is left out
    t, left = np.zeros(goal.size), max(total - goal.sum(), 1e-300)
    for j in range(goal.size):
        for a in range(logs.shape[1]):
            if vecs[a, j] == 1.0 and rest >= 0:
                t[j] = math.log(max(goal[j], 1e-300) / left) - (middle[a] - middle[rest]) / total
    return t


@njit(cache=True, error_model="numpy")
def _clear(posterior: np.ndarray, tilt: np.ndarray) -> None:
    for i in range(posterior.shape[0]):
        for a in range(posterior.shape[1]):
            posterior[i, a] = 0.0
    for j in range(tilt.size):
        tilt[j] = np.nan


@njit(cache=True, error_model="numpy", nogil=True)
def _bags(  # noqa: C901
    start_bag: int,
    end_bag: int,
    data: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    outcomes: np.ndarray,
    onehot: bool,
    start: np.ndarray,
    code: int,
    budget: float,
    log_prob: np.ndarray,
    posterior: np.ndarray,
    error: np.ndarray,
    tilt: np.ndarray,
    fine: np.ndarray,
) -> None:
    logs, offsets, targets, sizes = data
    for b in range(start_bag, end_bag):
        begin, end = offsets[b], offsets[b + 1]
        n = end - begin
        out = posterior[begin:end]
        m = sizes[begin:end]
        _clear(out, tilt[b])
        keep, dims = _active(outcomes, targets[b], onehot)
        log_prob[b] = 0.0
        error[b] = 0.0
        if n == 0 or keep.size == 0:
            fine[b] = n == 0 and targets[b].sum() == 0.0
            continue
        sub, vecs, goal, t, base = _restrict(logs[begin:end], outcomes, targets[b], m, keep, dims, start[b])
        q = np.empty(sub.shape)
        how = code
        rough = 1e-9 if code == _SADDLEPOINT else 1e-2
        while True:
            t, factor, cov, fine[b] = _tilt_to(sub, vecs, goal, m, t, rough, q)
            if not fine[b] and onehot:  # far from every member's own logits a step has no slope to go by
                t, factor, cov, fine[b] = _tilt_to(sub, vecs, goal, m, _near(sub, vecs, goal, m), rough, q)
            if how == _AUTO:
                how = _choose(n, keep.size, goal, cov, budget)
            if how != _SADDLEPOINT or rough < 1e-2:
                break
            rough = 1e-9  # the approximation wants the exact tilt
        log_prob[b] = base + factor
        if dims.size > 0 and how == _DIRECT:
            total, q = direct(q, vecs, goal)
            log_prob[b] += total
        elif dims.size > 0 and how == _FOURIER:
            total, q = fourier(q, vecs, goal, cov)
            log_prob[b] += total
        elif dims.size > 0 and how == _SADDLEPOINT:
            total, q, error[b] = saddlepoint(q, vecs, cov, m)
            log_prob[b] += total
        for i in range(n):
            for a in range(keep.size):
                out[i, keep[a]] = q[i, a]
        for j in range(dims.size):
            tilt[b, dims[j]] = t[j]


def _run(
    logs: np.ndarray,
    offsets: np.ndarray | list[int],
    outcomes: np.ndarray,
    targets: np.ndarray,
    onehot: bool,
    method: str,
    start: np.ndarray | None,
    multiplicity: np.ndarray | None,
    budget: float = BUDGET,
) -> VectorPosterior:
    if method not in VECTOR_METHODS:
        raise DataError(f"Unknown method {method!r}.", hint=f"one of {', '.join(VECTOR_METHODS)}.")
    logs, offsets = writable(logs), np.array(offsets, dtype=np.int64)
    targets, outcomes = np.array(targets, dtype=np.float64), np.array(outcomes, dtype=np.float64)
    if not np.isfinite(logs).all():
        raise DataError(f"{int((~np.isfinite(logs)).sum())} of {logs.size} log-potentials aren't finite.")
    n_bags = offsets.size - 1
    start = np.full(targets.shape, np.nan) if start is None else np.array(start, dtype=np.float64)
    sizes = np.ones(logs.shape[0]) if multiplicity is None else writable(multiplicity)
    code = _SADDLEPOINT if multiplicity is not None else _CODES[method]
    log_prob, error, fine = np.empty(n_bags), np.empty(n_bags), np.empty(n_bags, dtype=np.bool_)
    tilt, posterior = np.empty(targets.shape), np.empty(logs.shape)
    data = (logs, offsets, targets, sizes)
    over_bags(
        lambda i, j: _bags(i, j, data, outcomes, onehot, start, code, budget, log_prob, posterior, error, tilt, fine),
        offsets,
    )
    if code == _TILT_ONLY:
        for b in range(n_bags):
            begin, end = offsets[b], offsets[b + 1]
            dims = np.isfinite(tilt[b])
            if begin == end or not dims.any():
                continue
            total, posterior[begin:end] = tree(posterior[begin:end], outcomes[:, dims], targets[b][dims])
            log_prob[b] += total
    if not (fine.all() and np.isfinite(log_prob).all()):
        bad = ~(fine & np.isfinite(log_prob))
        b = int(np.argmax(bad))
        raise DataError(
            f"{int(bad.sum())} of {n_bags} bags have a sum that no outcomes of their members reach. First: bag {b} of "
            f"{offsets[b + 1] - offsets[b]} members with {targets[b].tolist()}."
        )
    return VectorPosterior(log_prob, posterior, error, tilt)


def class_posterior(
    logits: np.ndarray,
    offsets: np.ndarray | list[int],
    counts: np.ndarray | list[list[int]],
    *,
    method: str = "auto",
    start: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
    budget: float = BUDGET,
) -> VectorPosterior:
    """Log-probability of each bag's class counts and each member's posterior over classes.

    Parameters
    ----------
    logits : (n_rows, n_classes) array
        Log-potentials; class probabilities are their softmax.
    offsets : (n_bags + 1,) array of int
        Bag b holds rows ``offsets[b]:offsets[b + 1]``.
    counts : (n_bags, n_classes) array
        Class counts, summing to the bag's size (to the sum of its multiplicities).
    method : {"auto", "direct", "fourier", "tree", "saddlepoint"}
        ``"auto"`` takes the cheaper of the two first, which are exact, and the saddlepoint approximation when both
        are out of reach.
    start : (n_bags, n_classes) array, optional
        First guesses of the tilts, from an earlier call; NaN for none.
    multiplicity : (n_rows,) array, optional
        How many members each row stands for; needs (and takes) the saddlepoint approximation.
    budget : float
        Elementary steps per bag beyond which ``"auto"`` takes the saddlepoint approximation.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> class_posterior(logits, np.array([0, 3]), np.array([[1, 1, 1]])).posterior.round(3)
    array([[0.06 , 0.112, 0.828],
           [0.253, 0.635, 0.112],
           [0.687, 0.253, 0.06 ]])
    """
    counts = np.asarray(counts)
    return _run(logits, offsets, np.eye(counts.shape[1]), counts, True, method, start, multiplicity, budget)


def vector_posterior(
    log_potentials: np.ndarray,
    offsets: np.ndarray,
    outcomes: np.ndarray,
    targets: np.ndarray,
    *,
    method: str = "auto",
    start: np.ndarray | None = None,
) -> VectorPosterior:
    """As `class_posterior`, for outcomes that are any vectors of zeros and ones (Sun et al. 2017, footnote 1).

    Parameters
    ----------
    log_potentials : (n_rows, n_outcomes) array
        Of each member for each outcome.
    outcomes : (n_outcomes, n_dims) array of 0 and 1
        The vectors.
    targets : (n_bags, n_dims) array of int
        Their sum over each bag.

    Examples
    --------
    >>> import numpy as np
    >>> outcomes = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])  # two traits that may come together
    >>> result = vector_posterior(np.zeros((2, 4)), np.array([0, 2]), outcomes, np.array([[1, 1]]))
    >>> result.posterior.round(3)
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])
    """
    return _run(log_potentials, offsets, outcomes, targets, False, method, start, None)
