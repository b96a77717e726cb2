"""Worlds of counts over time and place: flows between halves of the map, all who stay, and single places."""

from __future__ import annotations

from functools import partial

import numpy as np

from coverage_contract.worlds import FEWER_DRAWS, LEVEL, World, covers
from sumwise.flows import FlowModel, Places

SIDE, TIMES, SIZE = 3, 6, 2000
X, Y = (axis.ravel().astype(float) for axis in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
PLACES = Places(x=X, y=Y)
EAST = np.outer(X < 1, X >= 1).astype(float)


def moves(stay, scale, drift=0.0):
    """Probabilities of one step (L, L)."""
    scores = -stay * (1 - np.eye(len(X))) - PLACES.moves() / scale + drift * (X[None] - X[:, None])
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def population(rng, season=False, types=False):
    """True counts (T, L) and flows (S, L, L)."""
    stay, scale = rng.uniform(1.0, 2.5), rng.uniform(0.6, 1.2)
    waves = np.sin(2 * np.pi * np.arange(TIMES - 1) / (TIMES - 1)) if season else np.zeros(TIMES - 1)
    kinds = [(2 / 3, 5.0, 0.0), (1 / 3, 0.5, 0.4)] if types else [(1.0, stay, 0.0)]
    flows, first = np.zeros((TIMES - 1, len(X), len(X))), rng.dirichlet(np.full(len(X), 1.5))
    for share, cost, drift in kinds:
        here = rng.multinomial(round(share * SIZE), first)
        for k, wave in enumerate(waves):
            p = moves(cost + 1.5 * wave, scale, drift + 0.7 * wave)
            table = np.stack([rng.multinomial(n, q) for n, q in zip(here, p)])
            flows[k] += table
            here = table.sum(axis=0)
    return np.vstack([flows.sum(axis=2), flows[-1].sum(axis=0)]), flows


def simulate(seed, **options):
    """Whether intervals cover flows to the east, those who stay, and counts of places."""
    rng = np.random.default_rng(seed)
    counts, flows = population(rng, **options)
    model = FlowModel(PLACES).fit(rng.poisson(counts).astype(float))
    asked, truth = {}, []
    for k in range(TIMES - 1):
        for kind, table in (("to the east", EAST), ("staying", np.eye(len(X)))):
            asked[f"{kind} {k}"] = {(k, k + 1): table}
            truth.append((flows[k] * table).sum())
        asked[f"place {k}"] = {k: np.eye(len(X))[k]}
        truth.append(counts[k, k])
    found = model.interval(asked, LEVEL)
    inside = covers((found.low, found.high), truth).reshape(-1, 3)
    return dict(zip(("to the east", "staying", "places"), inside.T))


ALL = ("to the east", "staying", "places")
WORLDS = {
    "as the model": World(
        "well specified",
        "one cost of leaving and one scale of distance",
        simulate,
        dict.fromkeys(ALL, (0.84, 0.98)),
        cheap=2,
        draws=FEWER_DRAWS,
    ),
    "a season": World(
        "overdispersed",
        "a wave of leaving and of drift",
        partial(simulate, season=True),
        dict.fromkeys(ALL, (0.75, 0.98)),
        draws=FEWER_DRAWS,
    ),
    "two types": World(
        "misspecified",
        "a third of the individuals move fast and east, the others hardly move",
        partial(simulate, types=True),
        {"to the east": (0.5, 0.98), "staying": (0.2, 0.98), "places": (0.84, 0.98)},  # no promise worth the name
        draws=FEWER_DRAWS,
    ),
}
