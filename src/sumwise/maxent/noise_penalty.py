"""How far the cells of noisy tables are trusted: the variance of noise against that of the counts themselves.

A count y of mean m has variance S + V, with S from the sampling of individuals and V from noise. Near its top the
likelihood of noisy tables is that of exact ones with the gradient m - y weighted by S / (S + V), so its penalised
optimum is that of exact tables whose penalty is multiplied by 1 + V / S, cell by cell.
"""

from __future__ import annotations

import numpy as np

from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["distrust", "ties"]

LEAST = 0.02  # of a cell's count under independence is left to it, whatever the noise says
MOST_RAISE = 8.0  # times that the penalty of a table's mu is raised at most
ROUNDS = 50  # of weighing the moments anew
EDGE = 0.01  # rates of labels are kept this far from 0 and 1


def distrust(found: Sufficient) -> Moments:
    """V / S of every count and label sum; 0 where tables are exact.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> from sumwise.maxent.noise_penalty import distrust
    >>> from sumwise.noise import Gaussian
    >>> table = Table("a", [100.0, 900.0], [50.0, 450.0], noise=Gaussian(10.0))
    >>> distrust(sufficient(Tables([table], Domain({"a": 2}), n=1000))).sums.round(2)
    array([[4.  , 0.44]])
    """
    if not found.noisy:
        return Moments(np.zeros_like(found.data.counts), np.zeros_like(found.data.sums))
    counts = sampling_counts(found)
    shares = found.shares[1:] if len(found.data.sums) == 1 else found.shares
    rates = np.clip(shares, EDGE, 1 - EDGE)[:, None]
    return Moments(found.noise.counts / counts, found.noise.sums / (counts * rates * (1 - rates)))


def sampling_counts(found: Sufficient) -> np.ndarray:
    """Counts (P,) of all cells with most of the noise taken out, all above zero.

    Each table is drawn towards the product of its margins by the factor of James and Stein: not at all where it is far
    from that product for its noise, all the way where noise explains the difference.
    """
    lay, n = found.layout, found.n
    margins = _margins(found)
    out = np.empty(lay.n_params)
    for t, term in enumerate(lay.terms):
        part = found.part(t)
        even = _independent(margins, term, n)
        kept = lay.listing(t)
        if kept is not None:
            even = np.append(even[kept], max(n - float(even[kept].sum()), 1.0))
        counts, noise, seen = found.data.counts[part], found.noise.counts[part], found.seen.counts[part]
        far = float(np.sum(seen * (counts - even) ** 2))
        near = 1.0 if far <= 0 else max(0.0, 1.0 - float(np.sum(seen * noise)) / far)
        out[part] = np.maximum(np.where(seen > 0, even + near * (counts - even), even), LEAST * even)
    return out


def ties(found: Sufficient) -> np.ndarray:
    """By how much (P,) the penalty of mu is raised where attributes of a noisy table hardly hang together.

    Where y counts a cell of which independence expects e, (y - e) / e has variance tau^2 + (V + e) / e^2. The tau^2 of
    a table is found by weighted moments, and 1 / (2 tau^2) is the penalty that such a variance asks for. It is taken as
    far as the noise of a table exceeds its sampling error: nearly all of it where there is little but noise, none where
    there is less noise. For ties that are told well, even weak ones, are better kept.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> from sumwise.maxent.noise_penalty import ties
    >>> from sumwise.noise import Gaussian
    >>> half = [[400.0, 100.0], [100.0, 400.0]]
    >>> tied, free = [[800.0, 200.0], [200.0, 800.0]], [[520.0, 480.0], [490.0, 510.0]]
    >>> made = [Table(["a", "b"], tied, noise=Gaussian(60.0)), Table(["a", "c"], free, half, noise=Gaussian(60.0))]
    >>> ties(sufficient(Tables(made, Domain({"a": 2, "b": 2, "c": 2}), n=2000))).round(1)[[0, 4, -1]]
    array([1.4, 7. , 1. ])
    """
    lay, n, out = found.layout, found.n, np.ones(found.layout.n_params)
    margins = _margins(found)
    for t, term in enumerate(lay.terms):
        at = found.part(t)
        if len(term) < 2 or not found.noise.counts[at].any() or lay.listing(t) is not None:
            continue
        even = _independent(margins, term, n)
        chance = (found.noise.counts[at] + even) / even**2
        far, size = ((found.data.counts[at] - even) / even) ** 2, 0.5
        for _ in range(ROUNDS):
            weight = found.seen.counts[at] / (chance + size) ** 2
            size = max(float(np.sum(weight * (far - chance)) / max(np.sum(weight), 1e-300)), 1e-6)
        mostly = max(0.0, 1.0 - float(even.sum() / found.noise.counts[at].sum()))
        out[at] = 1.0 + mostly * (np.clip(0.5 / size, 1.0, MOST_RAISE) - 1.0)
    return out


def _margins(found: Sufficient) -> list[np.ndarray]:
    """Shares of the levels of every attribute, none below 1 / n."""
    return [np.maximum(found.margin(a), 1.0 / found.n) for a in range(len(found.layout.sizes))]


def _independent(margins: list[np.ndarray], term: tuple[int, ...], n: float) -> np.ndarray:
    """Counts of a table's cells if its attributes were independent."""
    even = np.ones(1)
    for a in term:
        even = np.multiply.outer(even, margins[a]).ravel()
    return even * (n / even.sum())
