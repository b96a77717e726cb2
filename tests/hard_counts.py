"""Random hard instances of most likely counts: tight noise, totals that contradict each other, zeros, far Poisson."""

from __future__ import annotations

import itertools

import numpy as np

from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson


def hard_instance(seed):
    """A model, tables and the size of the population."""
    rng = np.random.default_rng(seed)
    times, places = int(rng.integers(2, 13)), int(rng.integers(2, 13))
    n = float(10 ** rng.integers(2, 6))
    names = [f"t{k}" for k in range(times)]
    domain = Domain(dict.fromkeys(names, places))
    edges = list(itertools.pairwise(names))
    where = 5 * rng.random((places, 2))
    far = np.sqrt(((where[:, None] - where[None]) ** 2).sum(axis=2)) / 10 ** rng.uniform(-1, 1)
    if rng.random() < 0.3:  # local moves only
        far = np.where(np.abs(np.subtract.outer(np.arange(places), np.arange(places))) <= 1, far, np.inf)
    model = TreeModel(domain, edges, dict.fromkeys(edges, -far))
    tables = [Table(a, *_observation(rng, n, places)) for a in names if rng.random() < 0.9]
    return model, Tables(tables, domain), n


def _observation(rng, n, places):
    counts = n * rng.dirichlet(np.full(places, 10 ** rng.uniform(-1, 1)))
    if rng.random() < 0.4:
        counts = np.where(rng.random(places) < 0.5, 0.0, counts)  # banded zeros: nobody seen in half of the places
    if rng.random() < 0.5:
        counts = counts * rng.choice([0.8, 1.2, 3.0, 0.01])  # totals that contradict n
    kind = rng.integers(5)
    scale = 10 ** rng.uniform(-4, 1)
    if kind == 0:
        return counts, None, Gaussian(scale)
    if kind == 1:
        return counts, None, Laplace(scale)
    if kind == 2:
        return np.round(counts), None, Geometric(max(scale, 0.02))
    if kind == 3:
        return np.round(counts * rng.choice([1, 100])), None, Poisson(float(rng.choice([1.0, 0.01, 1.0])))
    total = counts.sum()
    exact = counts * (n / total) if total > 0 else np.full(places, n / places)
    return exact, None, Exact()
