"""Worlds of bags with a response: responses of new bags, under a process and under conformal intervals."""

from __future__ import annotations

from functools import partial

import numpy as np

from coverage_contract.worlds import LEVEL, World, covers
from sumwise import Bags
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, BagRidge, MomentEmbedding

MODELS = {
    "process": BagGaussianProcess(),
    "kernel ridge": BagKernelRidge(),
    "ridge": BagRidge(MomentEmbedding(2)),
}


def samples(rng, n_bags, uneven=False, heavy=False, counts=False):
    """Bags of normal rows, whose response follows their mean and deviation, and noise."""
    mean, spread = rng.normal(size=n_bags), rng.uniform(0.5, 2.0, n_bags)
    sizes = rng.integers(2, 120, n_bags) if uneven else np.full(n_bags, 60)
    bags = Bags.from_arrays([rng.normal(m, s, (n, 2)) for m, s, n in zip(mean, spread, sizes)])
    if counts:
        return bags, rng.poisson(np.exp(1.0 + 0.8 * mean))
    noise = rng.standard_t(3, n_bags) if heavy else rng.normal(size=n_bags)
    return bags, np.sin(2 * mean) + spread + 0.3 * noise


def simulate(seed, **options):
    """Whether intervals of each model cover the responses of forty new bags."""
    rng = np.random.default_rng(seed)
    (bags, y), (others, truth) = samples(rng, 80, **options), samples(rng, 40, **options)
    return {name: covers(model.fit(bags, y).predict_interval(others, LEVEL), truth) for name, model in MODELS.items()}


WORLDS = {
    "as the process": World(
        "well specified",
        "a smooth response of the mean and deviation, normal noise, 80 bags of 60 rows",
        simulate,
        dict.fromkeys(MODELS, (0.86, 0.95)),
        cheap=6,
    ),
    "bags of 2 to 120 rows": World(
        "overdispersed",
        "small bags say less about their distribution",
        partial(simulate, uneven=True),
        dict.fromkeys(MODELS, (0.86, 0.95)),
    ),
    "heavy tails": World(
        "misspecified",
        "noise of Student's t with three degrees of freedom",
        partial(simulate, heavy=True),
        dict.fromkeys(MODELS, (0.86, 0.96)),
    ),
    "counts": World(
        "misspecified",
        "Poisson counts, whose variance grows with their mean",
        partial(simulate, counts=True),
        dict.fromkeys(MODELS, (0.86, 0.96)),
    ),
}
