"""Random trees with mixed observations, as the tests of this family need them."""

from __future__ import annotations

import numpy as np

from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson


def random_tree(seed, nodes=5, levels=4, keep=0.85):
    """A random tree or forest with node and edge potentials of several strengths."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(int(rng.integers(1, nodes + 1)))]
    domain = Domain({a: int(rng.integers(1, levels + 1)) for a in names})
    edges = [(names[rng.integers(0, i)], names[i]) for i in range(1, len(names)) if rng.random() < keep]
    edges = [e if rng.random() < 0.5 else e[::-1] for e in edges]
    weight = rng.choice([0.5, 2.0, 5.0])
    potentials = {e: weight * rng.normal(size=(domain[e[0]], domain[e[1]])) for e in edges}
    potentials |= {a: weight * rng.normal(size=domain[a]) for a in names if rng.random() < 0.5}
    return TreeModel(domain, edges, potentials)


def noises(rng, shape, exact):
    """One noise of each kind."""
    kinds = [
        Poisson(rng.uniform(0.2, 2.0, size=shape)),
        Gaussian(float(rng.uniform(0.5, 5.0))),
        Laplace(rng.uniform(0.5, 5.0, size=shape)),
        Geometric(float(rng.uniform(0.5, 5.0))),
    ]
    return [*kinds, Exact()] if exact else kinds


def random_evidence(model, seed, exact=False, groups=None, n=None):
    """Noisy, partly missing observations of some tables, some of them observed twice."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 100, 10_000])) if n is None else n
    truth = model.sample_tables(n, random_state=seed)
    groups = [(a,) for a in model.domain] + list(model.edges) if groups is None else groups
    tables = []
    for group in groups:
        for _ in range(int(rng.integers(0, 3))):
            true = np.asarray(truth.table(*group))
            kinds = noises(rng, true.shape, exact)
            noise = kinds[rng.integers(len(kinds))]
            seen = np.array(noise.sample(true, rng))
            if rng.random() < 0.3:
                seen[rng.random(seen.shape) < 0.3] = np.nan
            tables.append(Table(group, seen, noise=noise))
    if not tables:
        tables = [Table(groups[0], np.asarray(truth.table(*groups[0])), noise=Poisson())]
    return Tables(tables, model.domain, n=n)
