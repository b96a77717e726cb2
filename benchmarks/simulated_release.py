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
from sumwise.privacy.accounting import loose_rho, mu_of_epsilon

ONES = {"gaussian": Gaussian, "geometric": Geometric, "laplace": Laplace}


def simulated_release(
    tables: Tables,
    epsilon: float,
    mechanism: str,
    seed: int | list[int],
    delta: float = 1e-6,
    part: float = 1.0,
) -> Tables:
    """Tables of one row a person, with noise by cell and class as `release` adds it.

    part: of the budget (of mu squared, or of epsilon) that is spent here.
    """
    rng, made = np.random.default_rng(seed), []
    share = part / len(tables)
    for t in tables:
        loss = mu_of_epsilon(epsilon, delta) * math.sqrt(share) if mechanism == "gaussian" else epsilon * share
        one = ONES[mechanism](1.0 / loss)
        binary = t.label_sums.ndim == t.counts.ndim
        classes = np.stack([t.counts - t.label_sums, t.label_sums], axis=-1) if binary else t.label_sums
        noisy, k = one.sample(classes, rng), classes.shape[-1]
        whole = Gaussian(one.scale * math.sqrt(k)) if mechanism == "gaussian" else Summed(one, k)
        sums = noisy[..., 1] if binary else noisy
        made.append(Table(t.attributes, noisy.sum(axis=-1), sums, whole, label_noise=one))
    return replace(tables, tables=tuple(made), n=None)


def rho_by_formula(epsilon: float, delta: float) -> float:
    """The rho of zCDP that implies (epsilon, delta) by proposition 12 of Canonne, Kamath and Steinke (2020)."""
    orders = 1.0 + np.exp(np.linspace(math.log(1e-3), math.log(1e6), 20_000))
    constant = (orders * np.log1p(-1 / orders) - np.log(orders - 1) - math.log(delta)) / (orders - 1)
    low, high = loose_rho(epsilon, delta), mu_of_epsilon(epsilon, delta) ** 2 / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.min(middle * orders + constant) <= epsilon else (low, middle)
    return low
