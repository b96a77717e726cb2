"""Schrödinger bridges with a learned reference, written from Shen, Berlinghieri and Broderick (2024, arXiv 2408.06277).

On places in place of their continuous space: given shares of a population at every time and a reference, a Markov
chain of a family, the bridge is the chain with these shares that is nearest to the reference. Then the reference is the
member of its family that is nearest to the bridge, and so on in turn. Two families: a random walk with normal steps,
whose width is learned, and one in which an individual also rests with a probability that is learned.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

ROUNDS, TOLERANCE = 100, 1e-4
LEAST = np.log(1e-200)  # of the log-probability of a step, so that every table is possible


def reference(squares: np.ndarray, width: float, rest: float) -> np.ndarray:
    """Log-probabilities of a step: rest, or a normal step of this width to one of the places."""
    walk = -squares / (2 * width**2)
    walk -= np.logaddexp.reduce(walk, axis=1, keepdims=True)
    if rest == 0:
        return walk
    return np.logaddexp(walk + np.log1p(-rest), np.where(np.eye(len(walk)) > 0, np.log(rest), -np.inf))


def bridge(step: np.ndarray, first: np.ndarray, second: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The nearest table to ``step`` with these two margins, by Sinkhorn's iterations; `scale` of rows is updated."""
    for _ in range(2000):
        across = second / (scale @ step)
        down = step @ across
        if np.abs(scale * down - first).sum() < 1e-6:
            break
        scale[:] = first / down
    table = scale[:, None] * step * across
    if not np.isfinite(table).all():
        raise FloatingPointError("Sinkhorn's iterations left the range of numbers.")
    return table


def refined(shares: np.ndarray, squares: np.ndarray, may_rest: bool) -> tuple[list[np.ndarray], dict]:
    """Tables of every step of a cycle of times, and what was learned of the reference."""
    width, rest, scales = float(np.sqrt(np.median(squares))), 0.5 * may_rest, np.ones_like(shares)
    pairs = list(zip(shares, np.roll(shares, -1, axis=0)))
    for rounds in range(1, ROUNDS + 1):  # noqa: B007 - the number of rounds is returned
        step = np.exp(np.maximum(reference(squares, width, rest), LEAST))
        tables = [bridge(step, a, b, scale) for (a, b), scale in zip(pairs, scales)]
        moves, before = sum(tables), (width, rest)
        if may_rest:  # whoever stays has rested, or has taken a step of length zero
            walked = np.exp(reference(squares, width, 0.0).diagonal()) * (1 - rest)
            resting = moves.diagonal() * rest / (rest + walked)
            rest, moves = float(resting.sum() / moves.sum()), moves - np.diag(resting)
        width = _best_width(squares, moves, width)
        if abs(np.log(width / before[0])) < TOLERANCE and abs(rest - before[1]) < TOLERANCE:
            break
    return tables, {"width": width, "rest": rest, "rounds": rounds}


def _best_width(squares: np.ndarray, moves: np.ndarray, width: float) -> float:
    """The width under which these moves are most likely, within a factor of two of the last one."""
    seen = moves > 0

    def loss(log_width: float) -> float:
        return -float((moves[seen] * reference(squares, np.exp(log_width), 0.0)[seen]).sum())

    near = (np.log(width / 2), np.log(width * 2))
    return float(np.exp(minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": 1e-6}).x))
