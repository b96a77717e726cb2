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


def other_instance(seed):
    """Hard in other ways: gaps, noise of its own for every cell, counts of moves, two counts of a time, steep moves."""
    rng = np.random.default_rng([seed, 1])
    times, places = int(rng.choice([2, 3, 5, 9, 25])), int(rng.choice([2, 3, 6, 10]))
    n = float(rng.choice([1.0, 7.0, 300.0, 4e4, 1e7, 1e9]))
    names = [f"t{k}" for k in range(times)]
    domain = Domain(dict.fromkeys(names, places))
    edges = list(itertools.pairwise(names))
    logs = {e: 10 ** rng.uniform(-1, 1.7) * rng.normal(size=(places, places)) for e in edges}
    if rng.random() < 0.3:  # a ring that turns one way
        turn = np.where((np.subtract.outer(np.arange(places), np.arange(places)) % places) <= 1, 0.0, -np.inf).T
        logs = {e: v + turn for e, v in logs.items()}
    model = TreeModel(domain, edges, logs)
    start = rng.dirichlet(np.full(places, 10 ** rng.uniform(-1, 1)))
    shares = [start]
    for e in edges:  # counts are near what the moves allow, or anything at all
        moves = np.exp(logs[e] - logs[e].max(axis=1, keepdims=True))
        shares.append(shares[-1] @ (moves / moves.sum(axis=1, keepdims=True)))
    tables = [_other(rng, a, n * share) for a, share in zip(names, shares) if rng.random() < 0.8]
    tables += [_other(rng, names[0], n * start) for _ in range(int(rng.random() < 0.3))]
    if not tables or rng.random() < 0.4:
        moved = n * rng.dirichlet(np.ones(places**2)).reshape(places, places)
        tables.append(Table(edges[0], np.round(moved), noise=Poisson(1.0)))
    return model, Tables(tables, domain), n


def _other(rng, name, share):
    n = share.sum()
    counts = share if rng.random() < 0.5 else n * rng.dirichlet(np.full(len(share), 0.3)) * rng.choice([0.1, 1.0, 5.0])
    scale = max(n, 10.0) * 10 ** rng.uniform(-7, -1, size=len(share))
    kind = rng.integers(4)
    if kind == 0:
        noise, counts = Gaussian(scale), counts + scale * rng.normal(size=len(share))
    elif kind == 1:
        noise, counts = Laplace(scale), counts + scale * rng.laplace(size=len(share))
    elif kind == 2:
        noise, counts = Poisson(10 ** rng.uniform(-3, 2, size=len(share))), np.round(counts)
    else:
        noise = Gaussian(float(scale.min()))
    if rng.random() < 0.4:
        counts = np.where(rng.random(len(share)) < 0.3, np.nan, counts)
    return Table(name, counts, noise=noise)
