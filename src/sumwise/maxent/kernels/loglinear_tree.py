"""Exact expectations of a log-linear model by message passing on a junction tree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.junction_tree import junction_tree
from sumwise.maxent.kernels.loglinear import Expectation, Layout, class_shares, log_sum

TREE_CELLS = 4_000_000  # cells of all tree cliques together beyond which the tree is refused


def tree_size(lay: Layout) -> float:
    """Number of cells of the junction tree's cliques."""
    cliques, _ = junction_tree(lay.cliques, lay.sizes)
    return float(sum(math.prod(map(float, lay.shape(c))) for c in cliques))


def tree_cells(lay: Layout, weights: np.ndarray, offsets: np.ndarray) -> Expectation:
    """Exact expectations, each class on its own tree; arguments and result as in `enumerate_cells`."""
    size = tree_size(lay) * len(weights)
    if size > TREE_CELLS:
        raise DataError(
            f"The junction tree of these tables has {size:.3g} cells, classes included; it takes up to {TREE_CELLS:,}.",
            hint="use engine='gibbs', or fewer tables.",
        )
    bags, links = junction_tree(lay.cliques, lay.sizes)
    homes = [next(b for b, bag in enumerate(bags) if set(c) <= set(bag)) for c in lay.cliques]
    order = _order(len(bags), links)
    cells, log_z = np.empty_like(weights), np.empty(len(weights))
    for k, w in enumerate(weights):
        beliefs, log_z[k] = _propagate(lay, w, bags, homes, order)
        for c, (clique, home) in enumerate(zip(lay.cliques, homes)):
            cells[k, lay.starts[c] : lay.starts[c + 1]] = _onto(beliefs[home], bags[home], clique).ravel()
    mass = class_shares(log_z + offsets)
    return Expectation(np.exp(cells) * mass[:, None], log_z)


def _order(n: int, links: list[tuple[int, int, tuple[int, ...]]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """(child, parent or -1, separator) from the roots outwards; one root per component."""
    around: dict[int, list[Any]] = {i: [] for i in range(n)}
    for i, j, shared in links:
        around[i].append((j, shared))
        around[j].append((i, shared))
    seen, order = set(), []
    for root in range(n):
        if root in seen:
            continue
        stack = [(root, -1, ())]
        while stack:
            here, parent, shared = stack.pop()
            seen.add(here)
            order.append((here, parent, shared))
            stack.extend((j, here, s) for j, s in around[here] if j not in seen)
    return order


def _propagate(
    lay: Layout,
    w: np.ndarray,
    bags: list[tuple[int, ...]],
    homes: list[int],
    order: list[tuple[int, int, tuple[()]] | tuple[int, int, tuple[int, ...]]],
) -> tuple[list[np.ndarray], float]:
    """Log-marginals of every tree clique and the log-normaliser."""
    logs = [np.zeros(lay.shape(bag)) for bag in bags]
    for c, (clique, home) in enumerate(zip(lay.cliques, homes)):
        part = w[lay.starts[c] : lay.starts[c + 1]].reshape(lay.shape(clique))
        logs[home] += _lifted(part, clique, bags[home])
    sent = {}
    log_z = 0.0
    for child, parent, shared in reversed(order):  # towards the roots
        message = _onto(logs[child], bags[child], shared)
        if parent < 0:
            log_z += float(message)
        else:
            sent[child] = message
            logs[parent] += _lifted(message, shared, bags[parent])
    for child, parent, shared in order:  # and back
        if parent < 0:
            logs[child] -= _onto(logs[child], bags[child], ())
        else:
            back = _onto(logs[parent], bags[parent], shared) - sent[child]
            logs[child] += _lifted(back, shared, bags[child])
    return logs, log_z


def _lifted(part: np.ndarray, of: tuple[int, ...], onto: tuple[int, ...]) -> np.ndarray:
    """Reshape a table over sorted attributes `of` to broadcast over sorted attributes `onto`."""
    shape = iter(part.shape)
    return part.reshape([next(shape) if a in of else 1 for a in onto])


def _onto(logs: np.ndarray, of: tuple[int, ...], onto: tuple[int, ...]) -> np.ndarray:
    away = tuple(i for i, a in enumerate(of) if a not in onto)
    return log_sum(logs, axis=away) if away else logs
