"""Approximate expectations of a log-linear model by belief propagation: loopy, or tree-reweighted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.maxent.kernels.loglinear import Expectation, Layout, class_shares, log_sum

MAX_ITER, TOL, DAMPING = 200, 1e-8, 0.5


class _Graph(NamedTuple):
    lay: Layout
    tables: list[np.ndarray]  # log-potential of each clique divided by its weight
    shares: np.ndarray  # how much of each clique counts: 1 for loopy, the appearance in spanning trees for TRW


def bp_cells(lay: Layout, weights: np.ndarray, offsets: np.ndarray) -> Expectation:
    """Loopy belief propagation, each class by itself: exact on trees, an approximation elsewhere.

    Arguments and result as in `enumerate_cells`; `log_z` is the Bethe approximation.
    """
    return _run(lay, weights, offsets, np.ones(len(lay.cliques)))


def trw_cells(lay: Layout, weights: np.ndarray, offsets: np.ndarray) -> Expectation:
    """Tree-reweighted belief propagation (Wainwright et al. 2005): convex, and `log_z` is an upper bound for pairs.

    A clique of m attributes counts by (D - components) / sum over cliques of (m - 1), the share of spanning trees
    that use it when all are alike; trees (share 1) give the exact answer.
    """
    joins = sum(len(c) - 1 for c in lay.cliques)
    share = (len(lay.sizes) - _components(lay)) / joins if joins else 1.0
    shares = np.array([share if len(c) > 1 else 1.0 for c in lay.cliques])
    return _run(lay, weights, offsets, shares)


def _components(lay: Layout) -> int:
    root = list(range(len(lay.sizes)))

    def find(a: int) -> int:
        while root[a] != a:
            a = root[a]
        return a

    for clique in lay.cliques:
        for a in clique[1:]:
            root[find(a)] = find(clique[0])
    return len({find(a) for a in range(len(root))})


def _run(lay: Layout, weights: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> Expectation:
    cells, log_z = np.empty_like(weights), np.empty(len(weights))
    for k, w in enumerate(weights):
        parts = np.split(w, lay.starts[1:-1])
        tables = [p.reshape(lay.shape(c)) / s for p, c, s in zip(parts, lay.cliques, shares)]
        cells[k], log_z[k] = _one_class(_Graph(lay, tables, shares))
    return Expectation(cells * class_shares(log_z + offsets)[:, None], log_z)


def _one_class(graph: _Graph) -> tuple[np.ndarray, float]:
    lay = graph.lay
    messages = [[np.zeros(lay.sizes[a]) for a in clique] for clique in lay.cliques]
    beliefs = _node_beliefs(graph, messages)
    for _ in range(MAX_ITER):
        change = 0.0
        for c, clique in enumerate(lay.cliques):
            joint = _joint(graph, c, messages[c], beliefs)
            for i, a in enumerate(clique):
                away = tuple(j for j in range(len(clique)) if j != i)
                new = log_sum(joint, axis=away) - (beliefs[a] - messages[c][i])
                new -= new.max()
                step = (1 - DAMPING) * (new - messages[c][i])
                messages[c][i] = messages[c][i] + step
                change = max(change, float(np.abs(step).max()))
        beliefs = _node_beliefs(graph, messages)
        if change < TOL:
            break
    return _collect(graph, messages, beliefs)


def _node_beliefs(graph: _Graph, messages: list[list[np.ndarray]]) -> list[np.ndarray]:
    beliefs = [np.zeros(s) for s in graph.lay.sizes]
    for c, clique in enumerate(graph.lay.cliques):
        for i, a in enumerate(clique):
            beliefs[a] = beliefs[a] + graph.shares[c] * messages[c][i]
    return [b - log_sum(b) for b in beliefs]


def _joint(graph: _Graph, c: int, messages: list[np.ndarray], beliefs: list[np.ndarray]) -> np.ndarray:
    """Unnormalised log-belief of clique c: its table and what every member hears from elsewhere."""
    clique, joint = graph.lay.cliques[c], graph.tables[c]
    for i, a in enumerate(clique):
        shape = [1] * len(clique)
        shape[i] = -1
        joint = joint + (beliefs[a] - messages[i]).reshape(shape)
    return joint


def _collect(graph: _Graph, messages: list[list[np.ndarray]], beliefs: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """Clique beliefs and the log-normaliser: energy, plus node entropies, less weighted mutual informations."""
    lay = graph.lay
    entropy = [float(-(np.exp(b) * b).sum()) for b in beliefs]
    total, parts = sum(entropy), []
    for c, clique in enumerate(lay.cliques):
        joint = _joint(graph, c, messages[c], beliefs)
        joint = joint - log_sum(joint)
        p = np.exp(joint)
        information = sum(entropy[a] for a in clique) + float((p * joint).sum())
        total += graph.shares[c] * (float((p * graph.tables[c]).sum()) - information)
        parts.append(p.ravel())
    return np.concatenate(parts), total
