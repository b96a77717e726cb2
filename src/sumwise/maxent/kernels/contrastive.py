"""One step of (persistent) contrastive divergence on a log-linear model: gradient, preconditioner, misfit.

The penalised objective is n log Z(mu, theta) - d.mu - c.theta + sum lambda_mu mu^2 + sum lambda_theta theta^2, with
counts d and label sums c (Gilotte et al. 2022, eqs. (4) and (5)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.maxent.kernels.loglinear import Layout, attributes_of

CROWD = 3.0  # tables that list their cells, at one attribute, whose steps add up without harm
LEAST_SHARE = 1e-6  # of counts in a curvature: below it a cell has a penalty alone
LONGEST = 2.0  # no parameter moves by more than this before the step size is applied


class Moments(NamedTuple):
    """Counts (P,) and label sums (C, P) of all terms, of the data or expected under the model."""

    counts: np.ndarray
    sums: np.ndarray


class Centring(NamedTuple):
    """For every axis of the cliques: which line along that axis a cell lies on, and how many lines there are.

    Cells of tables with one axis, or that list their cells, are on none (-1). speed (n_cells,): see `_speeds`.
    crossed: for every table over crossed features, its first parameter and the same of the cells that it applies to.
    """

    lines: list[np.ndarray]
    n_lines: list[int]
    speed: np.ndarray
    crossed: tuple[CrossedLines, ...] = ()


class CrossedLines(NamedTuple):
    """A table over crossed features: its parameters, which of them applies to each joint cell, and the cells' lines."""

    part: slice
    parameter: np.ndarray
    lines: list[np.ndarray]
    n_lines: list[int]


def centring(lay: Layout) -> Centring:
    """Find the lines of cells along each axis of each clique; cliques of fewer axes have lines of one cell."""
    deepest = max(len(c) for c in lay.cliques)
    lines, n_lines = [], []
    for axis in range(deepest if deepest > 1 else 0):
        parts, n = [], 0
        for c, clique in enumerate(lay.cliques):
            shape = lay.shape(clique)
            if axis >= len(shape) or len(shape) < 2 or lay.sparse_cells(c) is not None:
                line = np.full(int(lay.starts[c + 1] - lay.starts[c]), -1, dtype=np.int64)
            else:
                line = _lines_along(axis, shape)
            parts.append(np.where(line >= 0, n + line, -1))
            n += int(line.max()) + 1
        lines.append(np.concatenate(parts))
        n_lines.append(n)
    crossed = tuple(_crossed_lines(lay, t) for t in range(len(lay.terms)) if lay.is_crossed(t))
    return Centring(lines, n_lines, _speeds(lay), crossed)


def _lines_along(axis: int, shape: tuple[int, ...]) -> np.ndarray:
    """The number of the line along an axis that each cell of a table lies on."""
    flat = np.arange(int(np.prod(shape)) // shape[axis]).reshape(*shape[:axis], 1, *shape[axis + 1 :])
    return np.broadcast_to(flat, shape).ravel()


def _crossed_lines(lay: Layout, t: int) -> CrossedLines:
    """The lines of the joint cells of the attributes that term `t` depends on."""
    term, d = lay.terms[t], len(lay.sizes)
    of = attributes_of(term, d, lay.crossed)
    shape = lay.shape(of)
    at = dict(zip(of, np.indices(shape).reshape(len(of), -1)))
    index = [at[a] if a < d else lay.crossed[a - d].values[tuple(at[b] for b in lay.crossed[a - d].of)] for a in term]
    part = slice(int(lay.term_starts[t]), int(lay.term_starts[t + 1]))
    lines, n_lines = (
        [_lines_along(axis, shape) for axis in range(len(shape))],
        [int(np.prod(shape)) // s for s in shape],
    )
    return CrossedLines(part, np.ravel_multi_index(tuple(index), lay.shape(term)), lines, n_lines)


def _speeds(lay: Layout) -> np.ndarray:
    """How fast each cell may go at what is its own: less where an attribute is in many tables that list their cells.

    Such a table is taken for its own altogether: what its listed cells have in common is how far they outweigh the
    others, which nothing else determines. But a level's main effect is in there too, once per table.
    """
    speed, listing = np.ones(lay.n_cells), lay.sparse_terms()
    for c, clique in enumerate(lay.cliques):
        if clique in listing:
            most = max(sum(a in other for other in listing) for a in clique)
            speed[lay.starts[c] : lay.starts[c + 1]] = min(1.0, CROWD / most)
    return speed


def gradients(data: Moments, model: Moments, rescale: bool) -> Moments:
    """Gradient of the loss without penalty: model minus data.

    With `rescale` the label sums are compared per count, c_hat d / d_hat against c (eq. (6)), so that theta moves only
    where the share of labels is off. One is added to both counts, and the smaller side is scaled down rather than
    the larger one up, so that empty cells are no trouble.
    """
    mu = model.counts - data.counts
    if not rescale:
        return Moments(mu, model.sums - data.sums)
    ratio = (np.maximum(data.counts, 0.0) + 1.0) / (model.counts + 1.0)
    down, up = np.minimum(ratio, 1.0), np.minimum(1.0 / ratio, 1.0)
    return Moments(mu, model.sums * down - data.sums * up)


def steps(gradient: Moments, data: Moments, model: Moments, penalties: Moments, precondition: bool) -> Moments:
    """Divide a gradient (penalty included) by the diagonal of the Hessian, taken half at the data, half at the model.

    Without preconditioning every entry is divided by the total count instead.
    """
    if not precondition:
        total = max(float(data.counts.max()), 1.0)
        return Moments(gradient.counts / total, gradient.sums / total)
    hessian = curvature(data, model, penalties)
    return Moments(
        np.clip(gradient.counts / hessian.counts, -LONGEST, LONGEST),
        np.clip(gradient.sums / hessian.sums, -LONGEST, LONGEST),
    )


def curvature(data: Moments, model: Moments, penalties: Moments) -> Moments:
    """Diagonal of the Hessian: expected counts and twice the penalty (appendix C, rare cells)."""
    counts = 0.5 * (np.maximum(data.counts, 0.0) + model.counts) + 2 * penalties.counts
    sums = 0.5 * (np.maximum(data.sums, 0.0) + model.sums) + 2 * penalties.sums
    return Moments(np.maximum(counts, 1e-9), np.maximum(sums, 1e-9))


def preconditioned(
    lay: Layout,
    lines: Centring,
    step: np.ndarray,
    weight: np.ndarray,
    slow: np.ndarray | float,
    fast: float,
    counted: np.ndarray,
) -> np.ndarray:
    """Scale a step (P,) so that what tables have in common moves slowly and what is their own fast.

    A level's main effect appears in every table that holds its attribute, so a step on it is taken as often as there
    are tables: it must be divided by their number (`slow`). What is left of a table once the (weighted) means along
    its axes are taken out belongs to it alone, nearly: it can take a step of `fast`. Tables within others, whose
    parameters are few, move at `fast`. The operator is symmetric and positive in the metric of `weight`. Of tables over
    crossed features the means are taken along the attributes that they depend on, a parameter's weight being shared
    evenly among the cells that it applies to.

    counted (P,): the share of each weight that is counts, the rest being the penalty. A main effect changes the counts
    of cells and so moves steps in proportion to it; where noise raises the penalties of rare cells by orders of
    magnitude, plain means would leave most of a main effect in what passes for a table's own.
    """
    n = lay.n_cells
    part = np.maximum(counted[:n], LEAST_SHARE)
    own, h = step[:n] / part, weight[:n] * part**2
    for axis in (*range(len(lines.lines)), *range(len(lines.lines) - 2, -1, -1)):
        own = _without_means(own, h, lines.lines[axis], lines.n_lines[axis])
    out, own = fast * step, own * part
    slow = np.broadcast_to(slow, step.shape)
    out[:n] = slow[:n] * step[:n] + (fast - slow[:n]) * lines.speed * own
    for table in lines.crossed:
        pace = slow[table.part]
        out[table.part] = pace * step[table.part] + (fast - pace) * _own_part(table, step[table.part], weight)
    return out


def _own_part(table: CrossedLines, step: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """What is left of a step (cells of a table over crossed features,) without means along the attributes below."""
    at = table.parameter
    cells = np.bincount(at, minlength=len(step))
    h = (weight[table.part] / np.maximum(cells, 1))[at]
    own, last = step[at], len(table.lines) - 2
    for axis in (*range(len(table.lines)), *range(last, -1, -1)):
        own = _without_means(own, h, table.lines[axis], table.n_lines[axis])
    return np.bincount(at, weights=own, minlength=len(step)) / np.maximum(cells, 1)


def shared_pace(weight: np.ndarray, penalty: np.ndarray, n_terms: int, fast: float) -> np.ndarray:
    """How fast each parameter may move along what tables have in common.

    Counts of a level are in up to `n_terms` terms at once, its penalty is in one: 1 / n_terms where counts make up the
    curvature, up to `fast` where the penalty does. Steps stay stable: the tables' Hessian is at most n_terms times its
    diagonal.
    """
    return np.minimum(fast, 1.0 / (n_terms * np.maximum(counted_share(weight, penalty), 1e-12)))


def counted_share(weight: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """The share of a curvature that counts make up, the rest being the penalty."""
    return np.maximum(weight - 2 * penalty, 0.0) / weight


def _without_means(values: np.ndarray, weight: np.ndarray, lines: np.ndarray, n_lines: int) -> np.ndarray:
    inside = lines >= 0
    if not inside.all():
        out = values.copy()
        out[inside] = _without_means(values[inside], weight[inside], lines[inside], n_lines)
        return out
    total = np.bincount(lines, weights=values * weight, minlength=n_lines)
    return values - (total / np.maximum(np.bincount(lines, weights=weight, minlength=n_lines), 1e-300))[lines]


def misfit(first: Moments, second: Moments, data: Moments, noise: Moments | None = None) -> float:
    """How far the moments are off, in standard errors of the data, Monte Carlo error taken out.

    first and second are the same gradient estimated by two independent halves of the chains: the mean over cells of
    first * second / (count + 1) estimates the squared distance, for errors of the two halves don't correlate. noise:
    the variances of noisy counts and label sums, which add to the standard errors.
    """
    noise = Moments(np.zeros(1), np.zeros(1)) if noise is None else noise
    counts = np.mean(first.counts * second.counts / (np.maximum(data.counts, 0.0) + 1.0 + noise.counts))
    sums = np.mean(first.sums * second.sums / (np.maximum(data.sums, 0.0) + 1.0 + noise.sums))
    return float(np.sqrt(max(0.5 * (counts + sums), 0.0)))
