"""What Sun (2019), section 1.1, discusses: coarse grids, a mixture of species, flocks, small populations."""

from __future__ import annotations

import numpy as np
from collective_parts.birds import SEED, SMALL, learner, off, timed, years_of

from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import CollectiveEM, LogLinear
from sumwise.noise import Poisson

__all__ = ["sensitivity"]

TRIALS = 10


def sensitivity(quick):
    """Rows of relative errors: median and range over several draws of three years on 6 x 6."""
    cases = {
        "as the model says": (_learned, {}),
        "grid of 3 x 3 blocks": (_coarse, {}),
        "two species (against their mean)": (_two_species, {}),
        "flocks of 2": (_flocks, {"size": 2}),
        "flocks of 10": (_flocks, {"size": 10}),
        "M = 20": (_learned, {"n": 20}),
        "M = 100": (_learned, {"n": 100}),
        "M = 10000": (_learned, {"n": 10_000}),
    }
    for name, (case, options) in cases.items():
        found = [case(SEED + 10 * k, **options) for k in range(1 if quick else TRIALS)]
        errors = [off(w, truth) for w, truth in found]
        row = {"case": name, "relative error": float(np.median(errors))}
        row |= {"least": min(errors), "largest": max(errors)}
        middle = np.median([w for w, _ in found], axis=0)
        yield row | dict(zip(("distance", "wind", "destination", "move"), middle.tolist()))


def _learned(seed, n=1000):
    years = years_of(6, SMALL, seed, n=n, steps=12)
    em, _ = timed(learner(years, max_iter=60).fit, [y.tables for y in years])
    return em.weights_, np.array(SMALL)


def _coarse(seed):
    """The same counts in blocks of 2 x 2 cells; distances in widths of the fine cells."""
    years = years_of(6, SMALL, seed, steps=12)
    row, col = np.divmod(np.arange(36), 6)
    block = (row // 2) * 3 + col // 2
    tables, features = [], []
    for year in years:
        domain = Domain(dict.fromkeys(year.domain, 9))
        seen = [Table(t.attributes, np.bincount(block, t.counts, 9), noise=Poisson()) for t in year.tables]
        tables.append(Tables(seen, domain, n=1000))
        f = np.array(synthetic.birds(3, 12, 10, wind=year.wind, random_state=0).features)
        f[..., 0] *= 2.0
        features.append(f)
    start = np.log(np.bincount(block, np.exp(years[0].log_potentials["t0"]), 9))
    em, _ = timed(CollectiveEM(LogLinear(features, start=start), max_iter=60).fit, tables)
    return em.weights_, np.array(SMALL)


def _two_species(seed):
    """Two species in equal parts, one twice as decided as the other."""
    tables, features = [], []
    for y in range(3):
        one = synthetic.birds(6, 12, 500, weights=SMALL, random_state=seed + y)
        two = synthetic.birds(6, 12, 500, weights=2 * np.array(SMALL), wind=one.wind, random_state=seed + 500 + y)
        seen = [Table(a.attributes, a.counts + b.counts, noise=Poisson()) for a, b in zip(one.tables, two.tables)]
        tables.append(Tables(seen, one.domain, n=1000))
        features.append(one.features)
    em, _ = timed(CollectiveEM(LogLinear(features, start=one.log_potentials["t0"]), max_iter=60).fit, tables)
    return em.weights_, 1.5 * np.array(SMALL)


def _flocks(seed, size):
    """Birds that fly in flocks: 1000 / size independent movers, each counted `size` times."""
    years = years_of(6, SMALL, seed, n=1000 // size, steps=12)
    rng = np.random.default_rng(seed)
    tables = []
    for year in years:
        seen = [Table(a, rng.poisson(size * year.nodes[a]), noise=Poisson()) for a in year.domain]
        tables.append(Tables(seen, year.domain, n=1000))
    em, _ = timed(learner(years, max_iter=60).fit, tables)
    return em.weights_, np.array(SMALL)
