"""Worlds of bags with counts: coefficients, people, shares of subgroups and counts of new bags."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit

from coverage_contract.worlds import FEWER_DRAWS, LEVEL, World, covers
from sumwise import Bags
from sumwise.proportions import CardinalityClassifier, subgroups


def people(seed, n_bags=80, size=20, d=4, own=0.0, shared=0.0, square=0.0, coef=None):
    """Rows, labels, counts and coefficients; bags may have effects of their own, or labels that are copied."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, d)) + np.repeat(0.7 * rng.normal(size=(n_bags, d)), size, axis=0)
    coef = rng.normal(0, 0.7, d) if coef is None else coef
    logits = values @ coef + np.repeat(own * rng.normal(size=n_bags), size) + square * (values[:, 0] ** 2 - 1.5)
    luck = rng.random(len(values))
    if shared:  # a part of each bag shares its luck, so that labels are correlated
        common = np.repeat(rng.random(n_bags), size)
        luck = np.where(rng.random(len(values)) < shared, common, luck)
    labels = luck < expit(logits)
    bags = Bags(values, np.arange(0, len(values) + 1, size))
    return bags, labels, labels.reshape(n_bags, size).sum(axis=1), coef


def simulate(seed, model="linear", own_intercepts=False, **options):
    """Whether intervals cover coefficients, people's probabilities, subgroup shares and counts of new bags."""
    bags, labels, counts, coef = people(seed, **options)
    clf = CardinalityClassifier(model, random_intercept=own_intercepts).fit(bags, counts)
    group = bags.values[:, 1] > 0.5
    shares = subgroups(clf, bags, {"group": group}, counts=counts, n_draws=200).draws
    out = {
        "subgroup shares": covers(
            [side[:, 1] for side in shares.interval(LEVEL)], [labels[~group].mean(), labels[group].mean()]
        ),
        "difference of subgroups": covers(
            shares.map(lambda d: d[:, 1, 1] - d[:, 0, 1], labels=(), axes=()).interval(LEVEL),
            labels[group].mean() - labels[~group].mean(),
        ),
    }
    other, _, more, _ = people(10_000 + seed, coef=coef, **options)
    ends = clf.count_draws(other, 200).interval(LEVEL)
    out["counts of new bags"] = covers([side[:, 1] for side in ends], more)
    if model == "linear":
        new = np.random.default_rng([1, seed]).normal(size=(200, bags.n_features))
        out["coefficients"] = covers(np.array(clf.draws().interval(LEVEL))[:, 0], np.append(coef, 0.0))
        out["people"] = covers(clf.predict_interval(new, LEVEL), expit(new @ coef))
    return out


ALL = ("coefficients", "people", "subgroup shares", "difference of subgroups", "counts of new bags")
SHARES = ALL[2:]

WORLDS = {
    "as the model": World(
        "well specified",
        "4 features, 80 bags of 20",
        simulate,
        dict.fromkeys(ALL, (0.87, 0.95)),
        cheap=8,
    ),
    "15 features": World(
        "well specified",
        "15 features, 80 bags of 20",
        partial(simulate, d=15),
        dict.fromkeys(ALL, (0.85, 0.95)),
    ),
    "bag effects": World(
        "overdispersed",
        "logits of a bag share a normal effect of deviation .6",
        partial(simulate, own=0.6),
        dict.fromkeys(ALL, (0.85, 0.95)),
    ),
    "bag effects, modelled": World(
        "well specified",
        "the same, with random_intercept=True",
        partial(simulate, own=0.6, own_intercepts=True),
        dict.fromkeys(ALL, (0.84, 0.95)),
        draws=FEWER_DRAWS,
    ),
    "correlated labels": World(
        "overdispersed",
        "a tenth of the labels of a bag are copied",
        partial(simulate, shared=0.1),
        dict.fromkeys(ALL, (0.86, 0.96)),
    ),
    "quadratic": World(
        "misspecified",
        "logits have a square; the default model",
        partial(simulate, model="auto", square=0.5),
        dict.fromkeys(SHARES, (0.8, 0.97)),
        draws=FEWER_DRAWS,
    ),
}
