"""Collective models the slow way: the joint table of all attributes, every population, a general convex solver."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import sparse


def dense(table):
    """A potential as an array; what a sparse one doesn't store is forbidden."""
    if not sparse.issparse(table):
        return np.asarray(table, dtype=float)
    coo = sparse.coo_array(table)
    out = np.full(coo.shape, -np.inf)
    out[coo.row, coo.col] = coo.data
    return out


def joint_log_weights(domain, potentials):
    """Sum of all log-potentials over the full joint table."""
    names = list(domain)
    out = np.zeros(domain.shape)
    for given, value in potentials.items():
        key = (given,) if isinstance(given, str) else tuple(given)
        order = sorted(range(len(key)), key=lambda k: names.index(key[k]))
        turned = np.transpose(dense(value), order)
        out = out + turned.reshape([domain[a] if a in key else 1 for a in names])
    return out


def margin(joint, domain, attributes):
    """Sums of a joint table, axes in the order of `attributes`."""
    names = list(domain)
    summed = joint.sum(axis=tuple(i for i, a in enumerate(names) if a not in attributes))
    kept = [a for a in names if a in attributes]
    return np.transpose(summed, [kept.index(a) for a in attributes])


def log_partition(domain, potentials):
    w = joint_log_weights(domain, potentials)
    return float(np.log(np.exp(w - w.max()).sum()) + w.max())


def joint_probabilities(domain, potentials):
    w = joint_log_weights(domain, potentials)
    p = np.exp(w - w.max())
    return p / p.sum()


def population_distribution(domain, potentials, groups, n):
    """Probability of every value of the tables over `groups`, by going through all ordered populations of n."""
    p = joint_probabilities(domain, potentials)
    states = list(product(*(range(s) for s in domain.shape)))
    out: dict = {}
    for people in product(range(len(states)), repeat=n):
        chance = float(np.prod([p[states[i]] for i in people]))
        joint = np.zeros(domain.shape)
        for i in people:
            joint[states[i]] += 1
        key = tuple(tuple(margin(joint, domain, g).ravel()) for g in groups)
        out[key] = out.get(key, 0.0) + chance
    return out


def components(domain, groups):
    """Number of connected components of the graph whose cliques are `groups`."""
    label = {a: i for i, a in enumerate(domain)}
    for group in groups:
        for a in group:
            old, new = label[a], label[group[0]]
            label = {k: new if v == old else v for k, v in label.items()}
    return len(set(label.values()))


def convex_reference(domain, groups, potentials, tables, n):
    """Optimum of eq. (2.7) over the joint table, by an interior-point cone solver: (value, joint table).

    Over all joint tables with given margins the entropy is largest for the model's own structure, so this has
    the same optimum as the problem over the local polytope; forests have one more n log n per extra component.
    """
    import cvxpy as cp
    from scipy.special import gammaln

    from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson

    w = joint_log_weights(domain, potentials).ravel()
    allowed = np.flatnonzero(w > -np.inf)
    # In units of the population, so that the solver sees numbers of order one.
    q = cp.Variable(len(allowed), nonneg=True)
    cells = np.indices(domain.shape).reshape(len(domain), -1)[:, allowed]
    names = list(domain)
    loss = n * (-cp.sum(cp.entr(q)) - w[allowed] @ q) + n * np.log(n) * components(domain, groups)
    limits = [cp.sum(q) == 1]
    for t in tables:
        codes = np.ravel_multi_index([cells[names.index(a)] for a in t.attributes], t.shape)
        pick = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (t.counts.size, len(codes)))
        seen = ~np.isnan(t.counts.ravel())
        y, z = t.counts.ravel()[seen], (n * pick[seen]) @ q
        if isinstance(t.noise, Exact):
            limits.append(z == y)
        elif isinstance(t.noise, Poisson):
            rate = np.broadcast_to(t.noise.rate, t.shape).ravel()[seen]
            pos = y > 0
            loss += rate @ z + float((gammaln(y + 1) - y * np.log(rate) - y * np.log(n)).sum())
            if pos.any():
                loss -= y[pos] @ cp.log((pick[seen] @ q)[np.flatnonzero(pos)])
        elif isinstance(t.noise, Gaussian):
            s = np.broadcast_to(t.noise.scale, t.shape).ravel()[seen]
            loss += 0.5 * cp.sum_squares(cp.multiply(1 / s, z - y)) + float(np.log(s * np.sqrt(2 * np.pi)).sum())
        elif isinstance(t.noise, (Laplace, Geometric)):
            s = np.broadcast_to(t.noise.scale, t.shape).ravel()[seen]
            top = np.log(2 * s) if isinstance(t.noise, Laplace) else -np.log(np.tanh(0.5 / s))
            loss += cp.sum(cp.multiply(1 / s, cp.abs(z - y))) + float(top.sum())
        if t.bounds is not None:
            low, high = (b.ravel() for b in t.bounds)
            hidden = np.flatnonzero(~seen)
            for k in hidden:
                limits.append(n * (pick[[k]] @ q) >= low[k])
                if np.isfinite(high[k]):
                    limits.append(n * (pick[[k]] @ q) <= high[k])
    problem = cp.Problem(cp.Minimize(loss), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    joint = np.zeros(domain.size())
    joint[allowed] = n * q.value
    return float(problem.value), joint.reshape(domain.shape)


def bethe_free_energy(domain, edges, potentials, tables, n, counts):
    """Minus log-potentials, minus the Bethe entropy, minus the log-likelihood, by plain loops over all cells.

    counts: {(a,): array, (a, b): array} of every node and edge.
    """
    degree = {a: sum(a in e for e in edges) for a in domain}
    value = 0.0
    for name, table in counts.items():
        z = np.asarray(table, dtype=float)
        theta = np.asarray(potentials.get(name if len(name) > 1 else name[0], np.zeros(z.shape)), dtype=float)
        entropy = -sum(x * np.log(x) for x in z.ravel() if x > 0)
        value -= float((theta * z).sum()) + (1 - degree[name[0]] if len(name) == 1 else 1) * entropy
    for table in tables:
        value -= float(np.sum(table.noise.log_density(table.counts, counts[table.attributes])))
    return value


def feasible_directions(domain, edges):
    """Changes of all tables that keep margins and totals: (keys, null space of the constraints, one per column)."""
    keys = [*((a,) for a in domain), *edges]
    shapes = [tuple(domain[a] for a in k) for k in keys]
    starts = np.concatenate([[0], np.cumsum([int(np.prod(s)) for s in shapes])])
    place = {k: np.arange(starts[i], starts[i + 1]).reshape(shapes[i]) for i, k in enumerate(keys)}
    rows = []
    for a in domain:
        rows.append(np.isin(np.arange(starts[-1]), place[(a,)]).astype(float))
    for e in edges:
        for axis, a in enumerate(e):
            for level in range(domain[a]):
                row = np.zeros(starts[-1])
                row[np.take(place[e], level, axis=axis)] = 1.0
                row[place[(a,)][level]] = -1.0
                rows.append(row)
    _, values, axes = np.linalg.svd(np.array(rows))
    rank = int((values > 1e-10).sum())
    return place, axes[rank:].T
