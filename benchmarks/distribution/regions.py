"""Gaussian regions of two categories (Lemus Gonzalez, section 5.1.2): learn from regions, predict category A alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from sumwise import synthetic
from sumwise.distribution import BagLogistic, DeepSets, FourierEmbedding, LinearEmbedding

from .cells import Cell
from .methods import RawPyramid, as_printed, error, kernels, ridges

__all__ = ["gaussian_cells"]


def gaussian_cells(options: Any) -> Iterator[Cell]:
    """Four experiments; errors on the shares of category A in the training regions, as in the thesis."""
    for seed, number in product(range(10 if options.full else 1), (1, 2, 3, 4)):
        for name in (*_methods(), "DeepSets", "DeepSets, sigmoid"):
            key = {"experiment": number, "bags": 1000 if options.full else 300, "seed": seed, "method": name}
            yield Cell("gaussian", key, lambda k=key: _judge(k, options.device), name.startswith("DeepSets"))


def _methods() -> dict[str, Any]:
    return {
        **ridges(),
        **kernels(),
        **as_printed(),
        "pyramid kernel, raw counts": RawPyramid(),
        "means, sigmoid": BagLogistic(LinearEmbedding(), target="proportions", random_state=0),
        "Fourier, sigmoid": BagLogistic(FourierEmbedding(), target="proportions", random_state=0),
    }


@lru_cache(maxsize=1)
def _draw(number: int, bags: int, seed: int) -> Any:
    return synthetic.gaussian(number, bags, random_state=seed)


def _judge(key: dict, device: str) -> dict:
    data, name = _draw(key["experiment"], key["bags"], key["seed"]), key["method"]
    part = data.bags.subset(data.in_a), data.response_a
    if name.startswith("DeepSets"):
        task = "share" if "sigmoid" in name else "regression"
        model: Any = DeepSets(device=device, random_state=key["seed"], task=task)
    else:
        model = _methods()[name]
    found = error(model, (data.bags, data.response), part, device if name.startswith("DeepSets") else "cpu")
    best = float(np.mean((data.expected_a - data.response_a) ** 2))
    return {**found, "best": best, "half": float(np.mean((0.5 - data.response_a) ** 2))}
