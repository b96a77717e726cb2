"""Frequencies whose cosines and sines average to a Gaussian kernel: random, orthogonal, Fastfood's, by quadrature."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.fastfood import draw_fastfood

KINDS = ("orthogonal", "random", "fastfood", "quadrature")
ALIASES = {"structured": "fastfood"}  # what the theses call it


def draw_frequencies(kind: str, n_features: int, n: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (d, m) and their weights (m,) with sum_k a_k cos(w_k'(x - y)) near ``exp(-|x - y|^2 / 2)``.

    m = n, but for ``quadrature`` with a full grid, which takes the largest one of at most n frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.frequencies import draw_frequencies
    >>> frequencies, weights = draw_frequencies("quadrature", 1, 8, rng=np.random.default_rng(0))
    >>> bool(abs(np.cos(frequencies[0] * 0.5) @ weights - np.exp(-0.125)) < 1e-9)
    True
    """
    kind = ALIASES.get(kind, kind)
    if kind == "quadrature":
        return _quadrature(n_features, n, rng)
    if kind == "random":
        frequencies = rng.standard_normal((n_features, n))
    elif kind == "fastfood":
        frequencies = draw_fastfood(n_features, n, rng=rng).dense(n_features, n)
    else:
        frequencies = np.hstack([_orthogonal_block(n_features, rng) for _ in range(-(-n // n_features))])[:, :n]
    return frequencies, np.full(n, 1.0 / n)


def _orthogonal_block(d: int, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal directions with the lengths of normal vectors (Yu et al. 2016)."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return q * np.sign(np.diag(r)) * np.sqrt(rng.chisquare(d, d))


def _quadrature(d: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Hermite nodes: all of a product grid where it has at most n, else n drawn by weight (Dao et al. 2017).

    w and -w give the same cosine, so one of each pair is kept with twice the weight.
    """
    per_axis = min(256, int(np.floor((2 * n) ** (1 / d) + 1e-9)))  # exact up to 20 widths; more lose digits
    if per_axis < 8:
        nodes, weights = np.polynomial.hermite_e.hermegauss(16)
        drawn = rng.choice(len(nodes), size=(d, n), p=weights / weights.sum())
        return nodes[drawn], np.full(n, 1.0 / n)
    nodes, weights = np.polynomial.hermite_e.hermegauss(per_axis)
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij")).reshape(d, -1)
    mass = np.stack(np.meshgrid(*[weights / weights.sum()] * d, indexing="ij")).reshape(d, -1).prod(axis=0)
    half = len(mass) // 2  # the grid is symmetric: the second half mirrors the first
    frequencies, mass = grid[:, : len(mass) - half], mass[: len(mass) - half] * 2
    if len(nodes) ** d % 2:
        mass[-1] /= 2  # the origin is its own mirror
    return frequencies, mass
