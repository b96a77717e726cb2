"""Coverage as a contract: each family declares worlds, and what its 90% intervals are promised to cover in each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

FAMILIES = ("proportions", "distribution", "ecological", "flows", "maxent")
LEVEL = 0.9
DRAWS = 200  # of a world, in `make check`
FEWER_DRAWS = 60  # of a world with fits of about a second: three standard errors are .12 at .9
DOUBT = 3.0  # standard errors of a simulated coverage, by which a promise has to be missed


@dataclass(frozen=True)
class World:
    """A way in which data come about, and the promised coverage of the quantities that are estimated from them.

    Parameters
    ----------
    kind : {"well specified", "overdispersed", "contextual", "misspecified"}
        How the data differ from the model.
    what : str
        In words, for docs.
    simulate : callable
        Takes a seed; returns for each quantity whether its intervals cover, an array of bool of any shape.
    promised : dict
        For each quantity the least and the largest coverage.
    cheap : int
        Draws that `make test` takes; 0 leaves the world to `make check` or `make long`.
    draws : int
        Draws that `make check` or `make long` takes; fewer than 200 if one takes about a second.
    """

    kind: str
    what: str
    simulate: Callable[[int], dict[str, Any]]
    promised: dict[str, tuple[float, float]]
    cheap: int = 0
    draws: int = DRAWS


@dataclass(frozen=True)
class Coverage:
    """A share of intervals that cover, over simulations, and its standard error."""

    share: float
    error: float

    def keeps(self, promise: tuple[float, float]) -> bool:
        """Whether the coverage is within a promise, or outside by no more than chance explains."""
        least, most = promise
        return least - DOUBT * self.error <= self.share <= most + DOUBT * self.error


def measure(world: World, seeds: Iterable[int]) -> dict[str, Coverage]:
    """The coverage of each quantity of a world, over simulations."""
    found: dict[str, list[float]] = {name: [] for name in world.promised}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            covered = world.simulate(seed)
            for name, each in found.items():  # what is not promised is not measured
                each.append(float(np.mean(covered[name])))
    return {name: _coverage(np.array(each)) for name, each in found.items()}


def _coverage(each: np.ndarray) -> Coverage:
    share = float(each.mean())
    # A run without a miss shows no spread: no error is below that of one interval more that misses.
    least = np.sqrt(max(share * (1 - share), 1 / len(each)) / len(each)) / 3
    return Coverage(share, float(max(each.std(ddof=1) / np.sqrt(len(each)), least)))


def covers(interval: tuple[Any, Any], truth: Any) -> np.ndarray:
    """Whether each interval covers; rounding is no miss."""
    low, high = (np.asarray(end) for end in interval)
    return (low <= np.asarray(truth) + 1e-9) & (np.asarray(truth) - 1e-9 <= high)


def worlds(family: str) -> dict[str, World]:
    """The worlds that a family declares, by name."""
    return import_module(f"coverage_contract.{family}").WORLDS
