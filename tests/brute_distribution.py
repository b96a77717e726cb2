"""Slow, obvious versions of what `sumwise.distribution` computes: loops over bags, rows and left-out units."""

from __future__ import annotations

import numpy as np

from sumwise import Bags


def mean_features(bags, feature):
    """Weighted mean of `feature(row)` over the rows of each bag, by loops."""
    out = []
    for i in range(len(bags)):
        rows = bags[i]
        weights = bags.weights[bags.offsets[i] : bags.offsets[i + 1]]
        total = sum(w * feature(np.asarray(x, dtype=float)) for x, w in zip(rows, weights))
        out.append(total / weights.sum())
    return np.array(out)


def ridge(features, y, penalty, weights=None):
    """Coefficients and intercept of weighted ridge with a free intercept, by the normal equations."""
    weights = np.ones(len(y)) if weights is None else weights * len(y) / weights.sum()
    design = np.column_stack([features, np.ones(len(features))])
    system = (design * weights[:, None]).T @ design
    system[:-1, :-1] += penalty * np.eye(features.shape[1])
    solution = np.linalg.solve(system, (design * weights[:, None]).T @ y)
    return solution[:-1], solution[-1]


def leave_one_out(features, y, penalty, weights=None, groups=None):
    """Errors of each unit predicted by a fit to all others (of other groups); the others' weights stay as they are."""
    groups = np.arange(len(y)) if groups is None else groups
    weights = np.ones(len(y)) if weights is None else weights * len(y) / weights.sum()
    errors = []
    for i in range(len(y)):
        others = groups != groups[i]
        w = weights[others]
        design = np.column_stack([features[others], np.ones(others.sum())])
        system = (design * w[:, None]).T @ design
        system[:-1, :-1] += penalty * np.eye(features.shape[1])
        solution = np.linalg.solve(system, (design * w[:, None]).T @ y[others])
        errors.append(y[i] - features[i] @ solution[:-1] - solution[-1])
    return np.array(errors)


def replicated(bags: Bags) -> Bags:
    """Return bags with each row as often as its whole weight says, without weights."""
    counts = bags.weights.astype(int)
    parts = [np.repeat(x, counts[a:b], axis=0) for x, a, b in zip(bags, bags.offsets[:-1], bags.offsets[1:])]
    return Bags(np.concatenate(parts), np.concatenate([[0], np.cumsum([len(p) for p in parts])]), ids=bags.ids)
