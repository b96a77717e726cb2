"""Gamma bags of fixed and of variable size (Lemus Gonzalez, section 5.1.1), beside each draw's Bayes optimum."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from sumwise import synthetic
from sumwise.distribution import BagKernelRidge, DeepSets, WassersteinKernel

from .cells import Cell
from .methods import RawPyramid, as_printed, error, kernels, ridges

__all__ = ["gamma_cells", "variable_cells"]


def gamma_cells(options: Any) -> Iterator[Cell]:
    """Train on 1,000 bags, test on 1,000, ten seeds; a network also sees 500 validation bags."""
    seeds, size = (range(10), 1000) if options.full else (range(2), 200)
    for seed in seeds:
        for name in (*_fixed_methods(0), "DeepSets"):
            key = {"rows": size, "seed": seed, "method": name}
            yield Cell("gamma", key, lambda k=key: _gamma(k, options.device), name == "DeepSets")


def variable_cells(options: Any) -> Iterator[Cell]:
    """Bags of 5, 20, 100 and 1,000 rows; the share of bags of five grows."""
    for seed in range(10) if options.full else range(1):
        for small in (0.0, 0.25, 0.5):
            for name in (*_variable_methods(0), "DeepSets"):
                key = {"small": small, "seed": seed, "method": name}
                yield Cell("variable", key, lambda k=key: _variable(k, options.device), name == "DeepSets")


def _fixed_methods(seed: int) -> dict[str, Any]:
    product = BagKernelRidge(WassersteinKernel(combine="product"), random_state=seed)
    return {**ridges(seed), **kernels(seed), **as_printed(seed), "W2 product kernel": product}


def _variable_methods(seed: int) -> dict[str, Any]:
    names = ("moments", "quantiles", "Fourier", "marginal kernel", "pyramid kernel", "W1 kernel")
    methods = {**ridges(seed), **kernels(seed)}
    return {**{name: methods[name] for name in names}, "pyramid kernel, raw counts": RawPyramid()}


@lru_cache(maxsize=1)
def _draw(seed: int, size: int) -> Any:
    return synthetic.gamma(2500, size, random_state=seed)


@lru_cache(maxsize=1)
def _mixed(seed: int, small: float) -> Any:
    return synthetic.gamma(2000, small=small, random_state=seed)


def _gamma(key: dict, device: str) -> dict:
    data = _draw(key["seed"], key["rows"])
    train, held, test = ((data.bags[a:b], data.response[a:b]) for a, b in ((0, 1000), (1000, 1500), (1500, 2500)))
    best = float(np.mean((data.bayes() - data.response)[1500:] ** 2))
    if key["method"] == "DeepSets":
        net = DeepSets(device=device, random_state=key["seed"])
        return {**error(net, train, test, device, validation=held), "bayes": best}
    return {**error(_fixed_methods(key["seed"])[key["method"]], train, test), "bayes": best}


def _variable(key: dict, device: str) -> dict:
    data = _mixed(key["seed"], key["small"])
    train, test = ((data.bags[k], data.response[k]) for k in (slice(1000), slice(1000, 2000)))
    best = float(np.mean((data.bayes() - data.response)[1000:] ** 2))
    if key["method"] == "DeepSets":
        return {**error(DeepSets(device=device, random_state=key["seed"]), train, test, device), "bayes": best}
    return {**error(_variable_methods(key["seed"])[key["method"]], train, test), "bayes": best}
