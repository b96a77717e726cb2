"""Intervals of every regressor on two tasks on which nothing was chosen: coverage of new bags, and counts in range."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from sumwise import Bags
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, BagRidge, BagStacking, DeepSets

from .cells import Cell
from .methods import quietly

__all__ = ["intervals_cells"]

TASKS = ("weight of a mixture", "counts")
LEVEL, TRAIN, TEST = 0.9, 200, 500


def intervals_cells(options: Any) -> Iterator[Cell]:
    """Bags of 5 to 200 rows; the weight of one of two normals with noise, or a Poisson count with a log-linear mean."""
    for seed in range(10) if options.full else range(1):
        for task in TASKS:
            for name in (*_methods(seed), "DeepSets"):
                key = {"task": task, "seed": seed, "method": name}
                yield Cell("intervals", key, lambda k=key: _judge(k), name == "DeepSets")


def _methods(seed: int) -> dict[str, Any]:
    kinds = (BagRidge, BagKernelRidge, BagGaussianProcess, BagStacking)
    return {kind.__name__: kind(random_state=seed) for kind in kinds}


@lru_cache(maxsize=1)
def _draw(task: str, seed: int) -> tuple[Bags, np.ndarray]:
    rng = np.random.default_rng([seed, TASKS.index(task)])
    sizes = np.exp(rng.uniform(np.log(5), np.log(200), TRAIN + TEST)).astype(int)
    if task == "counts":
        means = rng.normal(size=(len(sizes), 2))
        parts = [rng.normal(mean, 1.0, (n, 2)) for mean, n in zip(means, sizes)]
        return Bags.from_arrays(parts), rng.poisson(np.exp(0.5 + means[:, 0])).astype(float)
    weights = rng.random(len(sizes))
    parts = [rng.normal(0.0, 1.0, (n, 2)) + 2.0 * (rng.random((n, 1)) < w) for w, n in zip(weights, sizes)]
    return Bags.from_arrays(parts), weights + 0.1 * rng.normal(size=len(sizes))


def _judge(key: dict) -> dict:
    bags, y = _draw(key["task"], key["seed"])
    model = DeepSets(random_state=key["seed"]) if key["method"] == "DeepSets" else _methods(key["seed"])[key["method"]]
    _, spent = quietly(lambda: model.fit(bags[:TRAIN], y[:TRAIN]))
    (low, high), _ = quietly(lambda: model.predict_interval(bags[TRAIN:], LEVEL))
    truth = y[TRAIN:]
    return {
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.mean(high - low)),
        "least": float(low.min()),
        "mse": float(np.mean((model.predict(bags[TRAIN:]) - truth) ** 2)),
        "seconds": spent,
    }
