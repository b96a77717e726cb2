"""Draws that several generators share: Dirichlet shares, discretised maps, tables of Markov chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import DataError


def float_dtype(given: Any) -> np.dtype:
    """Return the dtype asked for, float32 or float64; anything else is refused.

    Examples
    --------
    >>> from sumwise.synthetic.draws import float_dtype
    >>> float_dtype("float32")
    dtype('float32')
    """
    try:
        dtype = np.dtype(given)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in ("float32", "float64"):
        raise DataError(f"dtype is {given!r}.", hint="give float32 or float64.")
    return dtype


def logsumexp(logits: np.ndarray) -> np.ndarray:
    """Return log(sum(exp(logits))) over the last axis, kept as an axis of length one."""
    top = logits.max(axis=-1, keepdims=True)
    return top + np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))


def logistic(logits: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-logits)), accurate for small probabilities and without overflow."""
    return 1.0 / (1.0 + np.exp(-np.maximum(logits, -700.0)))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return exp(logits) normalised over the last axis; it sums to one as nearly as doubles allow."""
    out = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return out / out.sum(axis=-1, keepdims=True)


def dirichlet(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one Dirichlet vector per row of `alpha` (the last axis); works for any alpha > 0, however small.

    Uses log G(a) = log G(a + 1) + log(U) / a, which never underflows. An alpha of 0 gives a share of 0.
    """
    log_gamma = np.log(rng.standard_gamma(alpha + 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_gamma += np.log1p(-rng.random(alpha.shape)) / alpha
    return softmax(np.where(alpha > 0, log_gamma, -np.inf))


def scaled_dirichlet(mean: np.ndarray, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Draw shares with the given mean and Var = spread * mean * (1 - mean); spread 0 returns the mean itself.

    A Dirichlet with parameters A * mean has variance mean (1 - mean) / (A + 1), hence A = 1 / spread - 1.
    """
    if spread == 0:
        return np.array(mean, dtype=float)
    return dirichlet((1.0 / spread - 1.0) * mean, rng)


def multinomial(n: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw exact multinomial counts: `n` (...,) over `shares` (..., K), a row of zeros where n is 0."""
    n = np.asarray(n, dtype=np.int64)
    out = np.zeros((*n.shape, shares.shape[-1]), dtype=np.int64)
    positive = n > 0
    out[positive] = rng.multinomial(n[positive], np.broadcast_to(shares, out.shape)[positive])
    return out


def chain_tables(
    n: int, start: np.ndarray, step: Callable[[int], np.ndarray], n_steps: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Draw the node and edge counts of `n` independent walkers on a Markov chain, without simulating a walker.

    Parameters
    ----------
    n : int
        Number of walkers.
    start : (L,) array
        Distribution of the first state.
    step : callable
        `step(t)` gives the (L, L) transition matrix from time t to t + 1; its rows sum to one.
    n_steps : int
        Number of time points T.
    rng : numpy.random.Generator

    Returns
    -------
    nodes, edges
        T arrays (L,) and T - 1 arrays (L, L). The walkers are independent given their states, so the row of
        state i is Multinomial(nodes[t][i], step(t)[i]): the same distribution as counting n simulated walkers.
    """
    nodes, edges = [multinomial(np.asarray(n), start, rng)], []
    for t in range(n_steps - 1):
        edges.append(multinomial(nodes[t], step(t), rng))
        nodes.append(edges[t].sum(axis=0))
    return nodes, edges


def cell_centres(n_rows: int, n_cols: int) -> np.ndarray:
    """Return the centres (x, y) of the cells of a map, (n_rows * n_cols, 2), in cell widths.

    Cell k lies in column k % n_cols (x grows to the right) and row k // n_cols (y grows upwards; row 0 is the bottom).
    """
    row, col = np.divmod(np.arange(n_rows * n_cols), n_cols)
    return np.stack([col + 0.5, row + 0.5], axis=1)
