"""Newton steps to the fixed point of the raking EM, for many units.

Some thousand units suffice to see how the EM map M responds to its argument: with J its Jacobian there, the step
(I - J)^-1 (M(p) - p) on all units ends in a few passes where plain or extrapolated EM takes a hundred. Broyden's
update (1965) adapts the inverse to what the passes over all units show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sumwise.ecological.kernels.entropic_em import RakingProblem, SharesSolution, em_step, normalised

SMALL = 0.01  # cells with a smaller share take EM steps: their logs are far from linear
TILT_STEPS = 50.0  # at most, of Newton's method for a unit's tilt
LONGEST = 0.5  # the largest Newton step of a log share
MOST = 15  # passes: an EM that is as slow as that takes a hundred

Step = Callable[..., tuple[np.ndarray, float]]


def _stepper(problem: RakingProblem) -> tuple[Step, np.ndarray]:
    """One EM step by the log shares (R, C) and the Newton steps for every unit's tilt; divergences that it updates."""
    units = problem.units()

    def em(point: np.ndarray, tol: float = 1e-6) -> tuple[np.ndarray, float]:
        return em_step(units, point, np.array([problem.gamma, TILT_STEPS, tol]), problem.alpha)

    return em, units.divergence


def newton_inverse(problem: RakingProblem, log_shares: np.ndarray) -> np.ndarray:
    """(I - J)^-1 of the EM map at `log_shares` (R, C), (R C, R C), by differences; the identity for small cells.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.entropic_em import RakingProblem
    >>> from sumwise.ecological.kernels.newton_em import newton_inverse
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> cols = rows @ np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> newton_inverse(RakingProblem(rows, cols, np.ones(4)), np.log([[0.9, 0.1], [0.3, 0.7]])).shape
    (4, 4)
    """
    em, _ = _stepper(problem)
    em(log_shares, tol=1e-9)
    base, _ = em(log_shares, tol=1e-9)
    active = np.flatnonzero(np.exp(log_shares).ravel() > SMALL)
    jacobian, small = np.zeros((len(active), len(active))), 1e-3
    for k, cell in enumerate(active):
        moved = log_shares.copy()
        moved.flat[cell] += small
        jacobian[:, k] = (em(moved, tol=1e-9)[0] - base).ravel()[active] / small
    inverse = np.eye(log_shares.size)
    inverse[np.ix_(active, active)] = np.linalg.pinv(np.eye(len(active)) - jacobian)
    return inverse


def newton_shares(problem: RakingProblem, start: np.ndarray, inverse: np.ndarray, tol: float = 1e-4) -> SharesSolution:
    """The fixed point that `entropic_em.common_shares` looks for, from shares `start`, with a given `newton_inverse`.

    It stops when a Newton step, which estimates the distance to the fixed point, would move no share by more than
    5 `tol`, or after 15 passes without success; then it returns the point whose EM step was the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.entropic_em import RakingProblem
    >>> from sumwise.ecological.kernels.newton_em import newton_inverse, newton_shares
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> problem = RakingProblem(rows, rows @ np.array([[0.9, 0.1], [0.3, 0.7]]), np.ones(4), gamma=0.0)
    >>> start = np.array([[0.85, 0.15], [0.35, 0.65]])
    >>> done = newton_shares(problem, start, newton_inverse(problem, np.log(start)), tol=1e-6)
    >>> np.exp(done.log_shares).round(3), done.converged
    (array([[0.9, 0.1], [0.3, 0.7]]), True)
    """
    em, divergence = _stepper(problem)
    inverse = inverse.copy()
    active = (inverse != np.eye(len(inverse))).any(axis=1)
    here = best = normalised(np.log(np.maximum(start, 1e-7)))
    least, before, objectives, changes, converged = np.inf, None, [], [], False
    for _ in range(MOST):
        there, value = em(here)
        residual = (there - here).ravel()
        change = float(np.abs(np.exp(there) - np.exp(here)).max())
        objectives.append(value)
        changes.append(change)
        if change < least:
            least, best = change, here
        if before is not None:
            _broyden(inverse, active, here.ravel() - before[0], before[1] - residual)
        before = here.ravel(), residual
        gone = np.flatnonzero(active & (np.exp(here).ravel() < SMALL))  # they take no Newton steps any more
        inverse[gone], inverse[:, gone] = 0.0, 0.0
        inverse[gone, gone] = 1.0
        active = active & ~np.isin(np.arange(len(active)), gone)
        step = np.where(active, np.clip(inverse @ residual, -LONGEST, LONGEST), residual)
        here = normalised(here + step.reshape(here.shape))
        if np.abs(np.exp(here.ravel()) - np.exp(before[0])).max() < 5 * tol:
            best, converged = here, True
            break
    em(best, tol=1e-9)
    return SharesSolution(best, divergence, np.asarray(objectives), np.asarray(changes), converged)


def _broyden(inverse: np.ndarray, active: np.ndarray, moved: np.ndarray, fell: np.ndarray) -> None:
    """Adapt the inverse, in place, to a residual that fell by `fell` where the point moved by `moved`."""
    moved, fell = np.where(active, moved, 0.0), np.where(active, fell, 0.0)
    predicted = inverse @ fell
    scale = float(moved @ predicted)
    if abs(scale) > 0.1 * float(moved @ moved):
        inverse += np.outer(moved - predicted, np.where(active, moved @ inverse, 0.0)) / scale
