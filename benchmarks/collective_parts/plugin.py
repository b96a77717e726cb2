"""What the most likely tables do in the E step where means belong: rare flights are undercounted, and become rarer.

A cell that expects m flights and is counted with Poisson noise as y has the most likely number x of
``x log(x / m) - x + x - y log x``, that is ``log(x / m) = y / x - 1``. The first rows iterate x over all y (an E step)
and m := mean of x (an M step) to their end. The others measure the same on birds: at weights of 10 hardly any bird
stays in its cell, and few leave the destination; all that is known of the weight of `move` comes from those few.
"""

from __future__ import annotations

import numpy as np
from collective_parts.birds import LARGE, SEED, learner, timed, years_of
from scipy.optimize import brentq
from scipy.stats import poisson

from sumwise.collective import TreeModel, map_counts, sample_counts
from sumwise.collective.kernels.transition_softmax import fit_rows, row_log_probabilities

__all__ = ["plugin", "rare"]


def rare(_quick):
    """Rows of the example with one cell."""
    for m in (0.01, 0.1, 1.0, 3.0, 10.0):
        row = {"expected": m, "most likely if 1 is counted": _most_likely(1, m), "mean if 1 is counted": _mean(1, m)}
        for name, step in (("most likely", _most_likely), ("mean", _mean)):
            row[f"in the end by {name} / truth"] = _in_the_end(m, step) / m
        yield row


def plugin(quick):
    """Rows of birds: the weight of `move`, the slope of the log-likelihood along it, and the rare moves behind it."""
    side = 6 if quick else 10
    for seed in (SEED,) if quick else (SEED, SEED + 10):
        years = years_of(side, LARGE, seed)
        em, _ = timed(learner(years, max_iter=60).fit, [y.tables for y in years])
        parts = [(y.features, np.stack([y.edge_counts[e] for e in y.edges]), None) for y in years]
        seen = fit_rows(parts, np.array(LARGE), 0.0)
        common = {"side": side, "seed": seed}
        yield common | {"weights": "flights seen", "move": seen[3], **_counted(years, [y.edge_counts for y in years])}
        for name, weights in (("truth", np.array(LARGE)), ("EM", em.weights_)):
            models = _models(years, weights)
            likely = [timed(map_counts, m, y.tables)[0].edges for m, y in zip(models, years)]
            row = common | {"weights": name, "move": weights[3], **_counted(years, likely)}
            yield row | _means(years, models, 40 if quick else 100)


def _most_likely(y, m):
    if y == 0:
        return m / np.e
    return float(brentq(lambda x: np.log(x / m) + 1.0 - y / x, 1e-9, 100.0 + 10.0 * (y + m)))


def _mean(y, m):
    n = np.arange(200)
    weights = poisson.pmf(n, m) * poisson.pmf(y, n)
    return float(n @ weights / weights.sum())


def _in_the_end(truth, step):
    n, y = np.arange(150), np.arange(200)
    seen = poisson.pmf(n, truth) @ poisson.pmf(y[None], n[:, None])
    m = truth
    for _ in range(400):
        m, before = sum(p * step(k, m) for k, p in zip(y, seen) if p > 1e-12), m
        if abs(m - before) < 1e-7 * m:
            break
    return m


def _moves(year):
    """Weights that pick rare moves: to leave the destination (the last cell), and to stay in any other."""
    leave, stay = np.zeros((2, len(year.positions), len(year.positions)))
    leave[-1, :-1] = 1.0
    np.fill_diagonal(stay[:-1, :-1], 1.0)
    return {"leave": leave, "stay": stay}


def _counted(years, tables):
    pairs = [(y, t) for y, t in zip(years, tables)]
    return {
        name: float(sum((_moves(y)[name] * np.asarray(t[e])).sum() for y, t in pairs for e in y.edges))
        for name in ("leave", "stay")
    }


def _models(years, weights):
    start = years[0].log_potentials["t0"]
    logs = [row_log_probabilities(y.features, weights, None) for y in years]
    return [TreeModel(y.domain, y.edges, {"t0": start, **dict(zip(y.edges, x))}) for y, x in zip(years, logs)]


def _means(years, models, draws):
    """Posterior means of rare moves, and the slope of the log-likelihood along `move`.

    By Fisher's identity it is the mean of the slope that known flights would have, which is linear in the tables.
    """
    out = dict.fromkeys(("slope of log-likelihood", "leave, mean", "stay, mean"), 0.0)
    for r, (year, model) in enumerate(zip(years, models)):
        score = {}
        for t, e in enumerate(year.edges):
            moves = year.features[t, ..., 3]
            score[e] = moves - (np.exp(model.log_potentials[e]) * moves).sum(axis=1, keepdims=True)
        functions = {"slope": score, **{k: dict.fromkeys(year.edges, w) for k, w in _moves(year).items()}}
        sample, _ = timed(sample_counts, model, year.tables, draws=draws, functions=functions, random_state=r)
        for name, key in zip(out, ("slope", "leave", "stay")):
            out[name] += float(sample.functions[key].mean())
    return out
