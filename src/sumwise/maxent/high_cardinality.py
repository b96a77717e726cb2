"""Attributes of many levels: how much their effects vary beyond chance, and which of them say the same."""

from __future__ import annotations

import numpy as np

from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["LARGE", "TIED", "copies", "effect_variance", "large_penalties", "tied_groups"]

LARGE = 100  # levels beyond which an attribute is large
TIED = 0.6  # mutual information over the smaller entropy, from which two large attributes are tied


def large_penalties(found: Sufficient, penalties: np.ndarray, most: float) -> np.ndarray:
    """Penalties of theta (C, P) with those of large attributes raised to what the tables themselves suggest.

    The log-odds of an attribute's levels are taken for draws from a normal distribution, whose variance v the one-way
    table tells. The penalty that goes with it is 1 / (2 v); it is used where it lies above the one given, and never
    beyond `most`. Where g large attributes are tied, they share one effect, and g of them would be penalised for it as
    little as 1 / g of it: all penalties of their tables are multiplied by g.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent.high_cardinality import large_penalties
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> rng = np.random.default_rng(0)
    >>> rows = {"site": rng.integers(0, 500, 9000), "click": rng.integers(0, 2, 9000)}  # clicks don't depend on it
    >>> found = sufficient(Tables.from_frame(rows, ["site"], label="click", order=1))
    >>> large_penalties(found, np.ones((1, 500)), most=48.0)[0, :3]
    array([48., 48., 48.])
    """
    lay, out = found.layout, np.array(penalties, dtype=float)
    for t, term in enumerate(lay.terms):
        if len(term) == 1 and lay.sizes[term[0]] > LARGE:
            wanted = np.minimum(1.0 / np.maximum(2.0 * effect_variance(found, t), 1e-9), most)
            out[:, found.part(t)] = np.maximum(out[:, found.part(t)], wanted[:, None])
    return out * copies(found)


def effect_variance(found: Sufficient, t: int) -> np.ndarray:
    """Variance (C,) of the log-odds of the levels of one-way term `t`, sampling and noise taken out; 0 or more.

    By moments of the rates (DerSimonian and Laird 1986), on the scale of log-odds at the mean rate.
    """
    at = found.part(t)
    n = np.maximum(found.data.counts[at], 0.0) * found.seen.counts[at]
    used, total = n > 0, float(n.sum())
    spare = total - float(np.sum(n**2)) / max(total, 1e-300)
    out = np.zeros(len(found.data.sums))
    for k, (sums, noise) in enumerate(zip(found.data.sums[:, at], found.noise.sums[:, at])):
        rate = float(np.clip(sums[used].sum() / max(total, 1e-300), 1e-6, 1 - 1e-6))
        chance = rate * (1 - rate)
        spread = float(np.sum((sums[used] - rate * n[used]) ** 2 / n[used]))
        by_chance = (int(used.sum()) - 1) * chance + float(np.sum(noise[used] / n[used]))
        out[k] = max(spread - by_chance, 0.0) / max(spare, 1e-300) / chance**2
    return out


def tied_groups(found: Sufficient) -> list[set[int]]:
    """Groups of two or more large attributes that nearly determine each other."""
    lay, groups = found.layout, {a: {a} for a, size in enumerate(found.layout.sizes) if size > LARGE}
    for t, term in enumerate(lay.terms):
        if len(term) == 2 and all(a in groups for a in term) and found.tie(t) > TIED:
            joined = groups[term[0]] | groups[term[1]]
            for a in joined:
                groups[a] = joined
    return [g for i, g in enumerate(groups.values()) if len(g) > 1 and g not in list(groups.values())[:i]]


def copies(found: Sufficient) -> np.ndarray:
    """How many tied attributes a parameter's effect is told by (P,); 1 for most."""
    lay, out = found.layout, np.ones(found.layout.n_params)
    for group in tied_groups(found):
        for t, term in enumerate(lay.terms):
            if group & set(term):
                out[found.part(t)] *= len(group)
    return out
