"""Worlds of bags with counts: coefficients, people, shares of subgroups and counts of new bags."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit, softmax
from scipy.stats import t as student

from coverage_contract.worlds import FEWER_DRAWS, LEVEL, World, covers
from sumwise import Bags
from sumwise.proportions import AggregateRegressor, CardinalityClassifier, subgroups
from sumwise.proportions.base import average_chance


def features(rng, n_bags, size, d, correlation=0.0, tails=np.inf):
    """Rows around means of bags; columns may be correlated, and have the tails of Student's t."""
    root = np.linalg.cholesky((1.0 - correlation) * np.eye(d) + correlation)
    rows = rng.normal(size=(n_bags * size, d))
    if np.isfinite(tails):
        rows /= np.sqrt(rng.chisquare(tails, (len(rows), 1)) / tails)
    return (rows + np.repeat(0.7 * rng.normal(size=(n_bags, d)), size, axis=0)) @ root.T


def probabilities(logits, link="logit"):
    """Probabilities of class 1, or of all classes where logits are a matrix."""
    if logits.ndim == 2:
        return softmax(logits, axis=1)
    return student.cdf(logits, 2) if link == "heavy tails" else expit(logits)


def drawn_labels(chance, luck):
    """Labels, by the class in which one uniform number falls."""
    edges = 1.0 - chance[:, None] if chance.ndim == 1 else np.cumsum(chance, axis=1)[:, :-1]
    return (luck[:, None] > edges).sum(axis=1)


def people(seed, n_bags=80, size=20, d=4, classes=2, coef=None, **world):
    """Bags, labels, counts and coefficients.

    A world has a rare class (``base``, a logit), effects of bags (``own``), labels that are copied (``shared``), a
    square (``square``), an effect of the bag's mean (``context``) or another ``link``.
    """
    rng = np.random.default_rng(seed)
    values = features(rng, n_bags, size, d, world.get("correlation", 0.0), world.get("tails", np.inf))
    width = () if classes == 2 else (classes,)
    coef = rng.normal(0, 0.7, (d, *width)) if coef is None else coef
    logits = values @ coef + world.get("base", 0.0)
    logits += np.repeat(world.get("own", 0.0) * rng.normal(size=(n_bags, *width)), size, axis=0)
    means = np.repeat(values[:, :1].reshape(n_bags, size).mean(axis=1), size).reshape(-1, *(1,) * len(width))
    logits += world.get("square", 0.0) * (values[:, :1].reshape(means.shape) ** 2 - 1.5)
    logits += world.get("context", 0.0) * means
    luck = rng.random(len(values))
    if shared := world.get("shared"):  # a part of each bag shares its luck, so that labels are correlated
        luck = np.where(rng.random(len(values)) < shared, np.repeat(rng.random(n_bags), size), luck)
    labels = drawn_labels(probabilities(logits, world.get("link", "logit")), luck)
    counts = np.stack([(labels == c).reshape(n_bags, size).sum(axis=1) for c in range(classes)], axis=1)
    return Bags(values, np.arange(0, len(values) + 1, size)), labels, counts[:, 1] if classes == 2 else counts, coef


def chances(logits, own=0.0, link="logit", **_world):
    """Probabilities of people of no bag, over its effect."""
    return average_chance(logits, own) if own and logits.ndim == 1 else probabilities(logits, link)


def simulate(seed, model="linear", own_intercepts=False, **options):
    """Whether intervals cover coefficients, people's probabilities, subgroup shares and counts of new bags."""
    bags, labels, counts, coef = people(seed, **options)
    clf = CardinalityClassifier(model, random_intercept=own_intercepts).fit(bags, counts)
    group, classes = bags.values[:, 1] > 0.5, clf.n_classes_
    shares = subgroups(clf, bags, {"group": group}, counts=counts, n_draws=200).draws
    real = np.stack([np.bincount(labels[part], minlength=classes) / part.sum() for part in (~group, group)])
    out = {
        "subgroup shares": covers([side[:, 1:] for side in shares.interval(LEVEL)], real[:, 1:]),
        "difference of subgroups": covers(
            shares.map(lambda d: d[:, 1, 1:] - d[:, 0, 1:]).interval(LEVEL), real[1, 1:] - real[0, 1:]
        ),
    }
    other, _, more, _ = people(10_000 + seed, coef=coef, **options)
    ends = clf.count_draws(other, 200).interval(LEVEL)
    out["counts of new bags"] = covers([side[:, 1] for side in ends] if classes == 2 else ends, more)
    if model == "linear":
        new = np.random.default_rng([1, seed]).normal(size=(200, bags.n_features))
        chance = chances(new @ coef + options.get("base", 0.0), **options)
        out["people"] = covers(clf.predict_interval(new, LEVEL), chance)
        draws = clf.draws()
        table = np.vstack([coef.reshape(len(coef), -1), np.full((1, coef[0].size), options.get("base", 0.0))])
        table = table if classes == 2 else table[:, 1:] - table[:, :1]
        out["coefficients"] = covers(draws.interval(LEVEL), table.T.reshape(draws.shape))
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
    "few large bags": World(
        "well specified",
        "4 features, 16 bags of 500",
        partial(simulate, n_bags=16, size=500),
        dict.fromkeys(ALL, (0.85, 0.97)),
    ),
    "many tiny bags": World(
        "well specified",
        "4 features, 600 bags of 3",
        partial(simulate, n_bags=600, size=3),
        {**dict.fromkeys(ALL, (0.85, 0.97)), "counts of new bags": (0.85, 1.0)},  # whole numbers from 0 to 3
    ),
    "correlated features": World(
        "well specified",
        "4 features with correlations of .9",
        partial(simulate, correlation=0.9),
        dict.fromkeys(ALL, (0.85, 0.97)),
    ),
    "one in a hundred": World(
        "well specified",
        "a class of about 1 to 3% of the rows, 80 bags of 100",
        partial(simulate, base=-5.0, size=100),
        {**dict.fromkeys(ALL, (0.85, 0.97)), "counts of new bags": (0.85, 1.0)},  # mostly 0 to 5
    ),
    "five classes": World(
        "well specified",
        "3 features, 80 bags of 20, five classes",
        partial(simulate, d=3, classes=5),
        dict.fromkeys(ALL, (0.85, 0.97)),
        draws=FEWER_DRAWS,
    ),
    "heavy-tailed features": World(
        "well specified",
        "features of Student's t with three degrees of freedom",
        partial(simulate, tails=3.0),
        dict.fromkeys(ALL, (0.85, 0.97)),
    ),
    "another link": World(
        "misspecified",
        "probabilities by the distribution of Student's t with two degrees of freedom",
        partial(simulate, link="heavy tails"),
        dict.fromkeys(("people", *SHARES), (0.85, 0.97)),
    ),
    "composition matters": World(
        "contextual",
        "the bag's mean of a feature has an effect of .5, too, which counts can't separate from that of people",
        partial(simulate, context=0.5),
        dict.fromkeys(SHARES, (0.8, 0.97)),
    ),
    "few large bags with effects": World(
        "overdispersed",
        "16 bags of 500, with effects of deviation .3",
        partial(simulate, n_bags=16, size=500, own=0.3),
        dict.fromkeys(ALL, (0.85, 0.97)),
    ),
    "five classes with effects": World(
        "overdispersed",
        "3 features, 80 bags of 20, five classes, effects of deviation .6 of each class",
        partial(simulate, d=3, classes=5, own=0.6),
        dict.fromkeys(ALL, (0.6, 0.97)),  # no promise worth the name: the fit warns
        draws=FEWER_DRAWS,
    ),
}


def sums(seed, likelihood="gaussian", n_bags=80, own=0.0, tails=np.inf, uneven=False, d=4):
    """Whether intervals cover coefficients and people's expectations where sums of responses are known."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 60, n_bags) if uneven else np.full(n_bags, 20)
    values = features(rng, n_bags, 60, d)[: sizes.sum()] + np.repeat(0.7 * rng.normal(size=(n_bags, d)), sizes, axis=0)
    scale = 0.3 if likelihood == "poisson" else 1.0
    coef, effect = scale * rng.normal(size=d), np.repeat(own * rng.normal(size=n_bags), sizes)
    eta = values @ coef + effect
    errors = rng.standard_t(tails, len(eta)) if np.isfinite(tails) else rng.normal(size=len(eta))
    y = rng.poisson(np.exp(eta)) if likelihood == "poisson" else eta + errors
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    model = AggregateRegressor(likelihood).fit(Bags(values, offsets), np.add.reduceat(y, offsets[:-1]))
    table, new = model.intervals(LEVEL), np.random.default_rng([1, seed]).normal(size=(200, d))
    shift = own**2 / 2 if likelihood == "poisson" else 0.0  # of the mean of a log-normal effect
    expected = new @ coef if likelihood == "gaussian" else np.exp(new @ coef + shift)
    return {
        "coefficients": covers((table["low"], table["high"]), np.append(coef, shift)),
        "people": covers(model.predict_interval(new, LEVEL), expected),
    }


OF_SUMS = ("coefficients", "people")
WORLDS |= {
    "sums": World(
        "well specified",
        "sums of 4 features' linear function, 80 bags of 20",
        sums,
        dict.fromkeys(OF_SUMS, (0.86, 0.95)),
    ),
    "sums, uneven bags with effects": World(
        "overdispersed",
        "bags of 2 to 59, with effects of deviation .5",
        partial(sums, own=0.5, uneven=True),
        dict.fromkeys(OF_SUMS, (0.85, 0.95)),
    ),
    "sums, heavy tails": World(
        "misspecified",
        "responses with Student's t of 2.5 degrees of freedom, 20 bags",
        partial(sums, tails=2.5, n_bags=20),
        dict.fromkeys(OF_SUMS, (0.85, 0.95)),
    ),
    "sums of counts": World(
        "well specified",
        "sums of Poisson counts",
        partial(sums, likelihood="poisson"),
        dict.fromkeys(OF_SUMS, (0.85, 0.95)),
    ),
    "sums of counts, uneven bags with effects": World(
        "overdispersed",
        "sums of Poisson counts, bags of 2 to 59 with effects of deviation .5",
        partial(sums, likelihood="poisson", own=0.5, uneven=True),
        dict.fromkeys(OF_SUMS, (0.85, 0.95)),
    ),
}
