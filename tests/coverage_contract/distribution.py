"""Worlds of bags with a response: responses of new bags, under a process and under conformal intervals."""

from __future__ import annotations

from functools import partial

import numpy as np

from coverage_contract.worlds import FEWER_DRAWS, LEVEL, World, covers
from sumwise import Bags
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, BagRidge, BagStacking, MomentEmbedding

MODELS = {
    "process": BagGaussianProcess(),
    "kernel ridge": BagKernelRidge(),
    "ridge": BagRidge(MomentEmbedding(2)),
}


def samples(rng, n_bags, sizes=(60, 61), heavy=False, counts=False, uneven_noise=False, extra=0):
    """Bags of normal rows, whose response follows their mean and deviation, and noise."""
    mean, spread = rng.normal(size=n_bags), rng.uniform(0.5, 2.0, n_bags)
    sizes = rng.integers(*sizes, n_bags)
    rows = [rng.normal(m, s, (n, 2)) for m, s, n in zip(mean, spread, sizes)]
    bags = Bags.from_arrays([np.hstack([part, rng.normal(size=(len(part), extra))]) for part in rows])
    if counts:
        return bags, rng.poisson(np.exp(1.0 + 0.8 * mean))
    noise = rng.standard_t(3, n_bags) if heavy else rng.normal(size=n_bags)
    scale = 0.2 * spread**2 if uneven_noise else 0.3
    return bags, np.sin(2 * mean) + spread + scale * noise


def simulate(seed, n_bags=80, models=MODELS, **options):
    """Whether intervals of each model cover the responses of forty new bags."""
    rng = np.random.default_rng(seed)
    (bags, y), (others, truth) = samples(rng, n_bags, **options), samples(rng, 40, **options)
    return {name: covers(model.fit(bags, y).predict_interval(others, LEVEL), truth) for name, model in models.items()}


AVERAGE = {"average": BagStacking()}


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
        partial(simulate, sizes=(2, 120)),
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
    "bags of 2 to 6 rows": World(
        "overdispersed",
        "tiny bags say little about their distribution",
        partial(simulate, sizes=(2, 7), n_bags=200),
        dict.fromkeys(MODELS, (0.86, 0.95)),
    ),
    "twenty bags": World(
        "well specified",
        "twenty bags to learn from",
        partial(simulate, n_bags=20),
        dict.fromkeys(MODELS, (0.85, 0.97)),
    ),
    "noise that varies": World(
        "misspecified",
        "the deviation of the noise grows with the square of the bag's, 16-fold",
        partial(simulate, uneven_noise=True),
        dict.fromkeys(MODELS, (0.85, 0.96)),
    ),
    "eight more columns": World(
        "misspecified",
        "eight columns that say nothing of the response",
        partial(simulate, extra=8),
        dict.fromkeys(MODELS, (0.85, 0.96)),
    ),
}
AVERAGES = {
    "average": ("well specified", "the default, on the first world", {}),
    "average, twenty bags": ("well specified", "the default, on twenty bags", {"n_bags": 20}),
    "average, noise that varies": ("misspecified", "the default, where noise varies 16-fold", {"uneven_noise": True}),
    "average, bags of 2 to 6 rows": ("overdispersed", "the default, on 80 tiny bags", {"sizes": (2, 7)}),
    "average, counts": ("misspecified", "the default, on Poisson counts", {"counts": True}),
}
WORLDS |= {
    name: World(kind, what, partial(simulate, models=AVERAGE, **options), {"average": (0.85, 0.96)}, draws=FEWER_DRAWS)
    for name, (kind, what, options) in AVERAGES.items()
}
