"""Worlds of precincts: shares of each group over all precincts, by the default model and by King's."""

from __future__ import annotations

from functools import partial

import numpy as np

from coverage_contract.worlds import LEVEL, World, covers
from sumwise import Margins
from sumwise.ecological import EcologicalEM


def precincts(rng, n_units=120, size=800, dispersion=0.0, slope=0.0, curve=0.0):
    """Two groups and two choices; a group's share varies between precincts, or follows their composition."""
    x = rng.beta(1.5, 2.0, n_units)
    rows = rng.binomial(size, x)
    p = 0.25 + 0.5 * rng.random((2, 1)) + slope * rng.normal(size=(2, 1)) * (x - x.mean())
    p = p + curve * ((x - x.mean()) ** 2 - x.var())
    if dispersion:
        p = rng.beta(*(part * (1 / dispersion - 1) for part in (p.clip(0.02, 0.98), 1 - p.clip(0.02, 0.98))))
    p = p.clip(0, 1)
    cells = np.column_stack([rng.binomial(rows, p[0]), rng.binomial(size - rows, p[1])])
    yes = cells.sum(axis=1)
    margins = Margins(np.column_stack([rows, size - rows]), np.column_stack([yes, size - yes]))
    return margins, cells.sum(axis=0) / [rows.sum(), (size - rows).sum()]


def simulate(seed, **options):
    """Whether intervals cover the groups' shares and their difference."""
    margins, truth = precincts(np.random.default_rng(seed), **options)
    draws = EcologicalEM().fit(margins).draws(1000)
    low, high = draws.interval(LEVEL)
    gap = draws.map(lambda d: d[:, 0, 0] - d[:, 1, 0], labels=(), axes=())
    return {"shares": covers((low[:, 0], high[:, 0]), truth), "gap": covers(gap.interval(LEVEL), truth[0] - truth[1])}


BOTH = ("shares", "gap")
WORLDS = {
    "as the model": World(
        "well specified",
        "shares that are the same in every precinct",
        simulate,
        dict.fromkeys(BOTH, (0.87, 1.0)),
        cheap=8,
    ),
    "shares vary": World(
        "overdispersed",
        "shares vary between precincts with a beta distribution",
        partial(simulate, dispersion=0.05),
        dict.fromkeys(BOTH, (0.87, 1.0)),
    ),
    "composition matters": World(
        "contextual",
        "shares follow composition with slopes of deviation .15",
        partial(simulate, slope=0.15),
        dict.fromkeys(BOTH, (0.85, 1.0)),
    ),
    "a curve": World(
        "misspecified",
        "shares follow the square of composition",
        partial(simulate, curve=0.4),
        dict.fromkeys(BOTH, (0.8, 1.0)),
    ),
}
