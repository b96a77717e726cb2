"""Whether several Markov chains agree: split R-hat and effective sample sizes."""

from __future__ import annotations

import numpy as np

__all__ = ["effective_size", "split_r_hat"]


def split_r_hat(chains: np.ndarray) -> np.ndarray:
    """Split R-hat (Gelman et al. 2013) of draws (n_chains, n_draws, ...); 1 where nothing varies.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.kernels.chain_diagnostics import split_r_hat
    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> float(split_r_hat(x)) < 1.02, float(split_r_hat(x + np.arange(4)[:, None])) > 1.5
    (True, True)
    """
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)
    return np.sqrt((half - 1) / half + ratio)


def effective_size(chains: np.ndarray) -> np.ndarray:
    """Effective number of independent draws, by Geyer's initial positive sequence over all chains.

    chains (n_chains, n_draws, ...); at most the number of draws.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.kernels.chain_diagnostics import effective_size
    >>> 1500 < float(effective_size(np.random.default_rng(0).normal(size=(4, 500)))) <= 2000
    True
    """
    n_chains, n = chains.shape[:2]
    centred = chains - chains.mean(axis=1, keepdims=True)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.fft.rfft(centred, size, axis=1)
    autocov = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n].mean(axis=0) / n
    between = chains.mean(axis=1).var(axis=0, ddof=1) if n_chains > 1 else 0.0
    variance = autocov[0] + between
    safe = np.where(variance > 0, variance, 1.0)
    rho = 1 - (autocov[0] - autocov) / safe
    pairs = rho[0 : 2 * (n // 2) : 2] + rho[1 : 2 * (n // 2) : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    time = np.maximum(2 * np.where(positive, pairs, 0.0).sum(axis=0) - 1, 1.0)
    return np.where(variance > 0, n_chains * n / time, n_chains * n)
