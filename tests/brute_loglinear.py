"""The slow, obvious way: every cell of a small log-linear model, one at a time."""

from __future__ import annotations

from itertools import product

import numpy as np


def joint(sizes, tables, weights, offsets):
    """p(x, y) as {(x, y): probability}; tables are tuples of attributes, weights[y][t] an array over table t."""
    mass = {}
    for x in product(*map(range, sizes)):
        for y, offset in enumerate(offsets):
            energy = offset + sum(w[tuple(x[a] for a in t)] for t, w in zip(tables, weights[y]))
            mass[x, y] = np.exp(energy)
    total = sum(mass.values())
    return {key: m / total for key, m in mass.items()}


def marginal(p, table, shape, n_classes):
    """P(x_table, y) as an array (n_classes, *shape)."""
    out = np.zeros((n_classes, *shape))
    for (x, y), mass in p.items():
        out[(y, *(x[a] for a in table))] += mass
    return out
