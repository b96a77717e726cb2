"""A small fitted FlowModel on a map, and outlines for it."""

from __future__ import annotations

from functools import cache

import numpy as np

from sumwise.flows import FlowModel, Movement, Places

RING = [[-100, 30], [-90, 30], [-90, 40], [-100, 30]]
OUTLINES = {
    "features": [
        {"geometry": {"type": "Polygon", "coordinates": [RING]}},
        {"geometry": {"type": "MultiPolygon", "coordinates": [[RING]]}},
    ]
}


@cache
def six_places() -> FlowModel:
    """Three weeks on six places in longitude and latitude."""
    lon, lat = np.meshgrid([-100.0, -95.0, -90.0], [30.0, 35.0])
    counts = np.array([[50, 30, 20, 0, 0, 0], [20, 30, 20, 20, 5, 5], [0, 10, 10, 40, 20, 20]])
    return FlowModel(Places(lon=lon.ravel(), lat=lat.ravel()), Movement(1.0, 300.0)).fit(counts)


LINE = Places(x=np.arange(5.0), y=np.zeros(5), names=list("abcde"))
NEAR = Movement(stay=1.0, scale=0.8)


def population(n=3000, times=6, seed=0, first=(0.6, 0.2, 0.1, 0.05, 0.05)):
    """True counts (T, L) and flows (T - 1, L, L) of a population that drifts to the right."""
    rng = np.random.default_rng(seed)
    logs = NEAR.log_moves(LINE) + 0.8 * np.sign(np.subtract.outer(np.arange(5), np.arange(5)).T)
    moves = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    here, counts, flows = rng.multinomial(n, first), [], []
    for _ in range(times):
        counts.append(here)
        table = np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)])
        flows.append(table)
        here = table.sum(axis=0)
    return np.array(counts, dtype=float), np.array(flows[:-1], dtype=float)
