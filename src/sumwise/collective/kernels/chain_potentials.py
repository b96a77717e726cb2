"""Maximum likelihood of a chain with free potentials ``phi_1(x_1) prod_t psi(x_t, x_{t+1}) phi_T(x_T) / Z``.

Expected transitions summed over time are ``psi * sum_t outer(forward_t, backward_{t+1})``: one product of matrices of
width T - 1, so that a gradient costs hardly more than the pass itself.
"""

from __future__ import annotations

import numpy as np

from sumwise.collective.kernels.edges import log_sum_exp
from sumwise.inference.kernels.minimise import minimise


def split_chain(theta: np.ndarray, n_states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Potentials of the first and last state (L,) and of the moves (L, L), out of one vector of all."""
    first, last, moves = np.split(theta, [n_states, 2 * n_states])
    return first, last, moves.reshape(n_states, n_states)


def chain_moments(
    first: np.ndarray, last: np.ndarray, move: np.ndarray, n_steps: int
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """log Z, and the expected counts of one individual: of the first and last state (L,), of all moves (L, L)."""
    top = move.max()
    table = np.exp(move - top)
    ends = first.max(), last.max()
    ahead, behind = np.empty((2, n_steps, len(first)))
    ahead[0], behind[-1] = np.exp(first - ends[0]), np.exp(last - ends[1])
    log_z = top * (n_steps - 1) + ends[0] + ends[1]
    for t in range(1, n_steps):
        total = max(ahead[t - 1].sum(), 1e-300)
        ahead[t - 1] /= total
        log_z += np.log(total)
        ahead[t] = ahead[t - 1] @ table
    whole = float(ahead[-1] @ behind[-1])
    if not whole > 1e-250:  # potentials hundreds apart
        return _moments_in_logs(first, last, move, n_steps)
    weights = np.empty(n_steps - 1)
    for t in range(n_steps - 2, -1, -1):
        behind[t] = table @ behind[t + 1]
        weights[t] = 1.0 / float(ahead[t] @ behind[t])
        behind[t] *= weights[t]
    moves = table * ((ahead[:-1] * weights[:, None]).T @ behind[1:])
    return log_z + np.log(whole), ahead[0] * behind[0], ahead[-1] * behind[-1] / whole, moves


def _moments_in_logs(
    first: np.ndarray, last: np.ndarray, move: np.ndarray, n_steps: int
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The same, step by step in logs."""
    ahead, behind = [first], [last]
    for _ in range(n_steps - 1):
        ahead.append(log_sum_exp(ahead[-1][:, None] + move, axis=0))
        behind.append(log_sum_exp(move + behind[-1], axis=1))
    behind.reverse()
    log_z = float(log_sum_exp(ahead[-1] + last))
    moves = np.zeros_like(move)
    for t in range(n_steps - 1):
        moves += np.exp(ahead[t][:, None] + move + behind[t + 1] - log_z)
    return log_z, np.exp(first + behind[0] - log_z), np.exp(ahead[-1] + last - log_z), moves


def balanced(
    first: np.ndarray, last: np.ndarray, moves: np.ndarray, n_steps: int, tol: float = 1e-10, max_iter: int = 500
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Statistics near the given ones that some population can have.

    Whoever enters a state leaves it: with the first and the last state as ways in and out, row sums are column sums,
    and there are ``n_steps - 1`` moves per individual. Noisy sums don't keep to this, and the likelihood then has no
    maximum (it grows along potentials that change no probability). Rows and columns are scaled in turn, which keeps
    zeros; the result is nearest in relative entropy.

    Returns
    -------
    first, last, moves
    """
    size = len(first)
    flow = np.zeros((size + 1, size + 1))
    flow[0, 1:], flow[1:, 0], flow[1:, 1:] = first, last, moves
    for _ in range(max_iter):
        flow[0] *= (scale := flow[1:, 1:].sum() / ((n_steps - 1) * max(flow[0].sum(), 1e-300)))
        flow[:, 0] *= scale
        rows, cols = flow.sum(axis=1), flow.sum(axis=0)
        off = np.abs(rows - cols).sum() / rows.sum() + abs(scale - 1.0)
        turn = np.sqrt(np.where((rows > 0) & (cols > 0), cols / np.where(rows > 0, rows, 1.0), 1.0))
        flow = turn[:, None] * flow / np.where(turn > 0, turn, 1.0)
        if off < tol:
            break
    return flow[0, 1:], flow[1:, 0], flow[1:, 1:]


def fit_chain(
    start: np.ndarray,
    counts: list[np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray],
    n_steps: int,
    ridge: float,
    max_iter: int,
) -> np.ndarray:
    """Improve the potentials by L-BFGS on ``M log Z - <counts, theta> + ridge / 2 |theta|^2``.

    Parameters
    ----------
    start : array (2 L + L^2,)
        Log-potentials to start from; see `split_chain`.
    counts : (first (L,), last (L,), moves (L, L))
        Sufficient statistics of M individuals; the moves are summed over time.
    n_steps : int
        Number of time points.
    ridge : float
    max_iter : int

    Returns
    -------
    theta : array (2 L + L^2,)
    """
    given = np.concatenate([np.ravel(c) for c in counts])
    total = float(counts[2].sum()) / (n_steps - 1)
    scale = np.sqrt(total / (given + ridge + 1e-3 * given.mean()))  # the Hessian's diagonal is about one then

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        theta = u * scale
        log_z, *expected = chain_moments(*split_chain(theta, len(counts[0])), n_steps)
        value = total * log_z - float(given @ theta) + 0.5 * ridge * float(theta @ theta)
        slope = total * np.concatenate([e.ravel() for e in expected]) - given + ridge * theta
        return value / total, slope * scale / total

    options = {"maxiter": max_iter, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-10}
    result = minimise(loss, start / scale, jac=True, method="L-BFGS-B", options=options)
    return result.x * scale if result.fun <= loss(start / scale)[0] else start
