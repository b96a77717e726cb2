"""The noise of a release, drawn by seed and without OpenDP, for simulations that have to be repeatable.

Scales are those of `sumwise.privacy.plan_release` up to the last digits that OpenDP rounds; nothing made here protects
anybody. Not a benchmark by itself.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sumwise import Table, Tables
from sumwise.noise import Gaussian, Geometric, Laplace, Summed
from sumwise.privacy.accounting import mu_of_epsilon

ONES = {"gaussian": Gaussian, "geometric": Geometric, "laplace": Laplace}


def simulated_release(tables: Tables, epsilon: float, mechanism: str, seed: int, delta: float = 1e-6) -> Tables:
    """Tables of one row a person, with noise by cell and class as `release` adds it."""
    loss = mu_of_epsilon(epsilon, delta) / math.sqrt(len(tables)) if mechanism == "gaussian" else epsilon / len(tables)
    one, rng, made = ONES[mechanism](1.0 / loss), np.random.default_rng(seed), []
    for t in tables:
        binary = t.label_sums.ndim == t.counts.ndim
        classes = np.stack([t.counts - t.label_sums, t.label_sums], axis=-1) if binary else t.label_sums
        noisy, k = one.sample(classes, rng), classes.shape[-1]
        whole = Gaussian(one.scale * math.sqrt(k)) if mechanism == "gaussian" else Summed(one, k)
        sums = noisy[..., 1] if binary else noisy
        made.append(Table(t.attributes, noisy.sum(axis=-1), sums, whole, label_noise=one))
    return replace(tables, tables=tuple(made), n=None)
