"""A step of persistent contrastive divergence on a torch device: as `contrastive`, on stacked tensors.

Row 0 of a tensor (1 + C, P) belongs to mu and counts, the others to theta and label sums; P are the parameters of all
terms, in single precision. Sums run in a fixed order, so the same chains give the same step.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.maxent.kernels.contrastive import LEAST_SHARE, LONGEST
from sumwise.maxent.kernels.loglinear import Layout

if TYPE_CHECKING:
    from torch import Tensor

LINES_PER_PROGRAM = 8  # lines across contiguous cells that one program takes: a sector of memory


class Lines(NamedTuple):
    """Lines of cells along one axis of all cliques that have it, a tile of neighbours per program.

    first, length, step, n_lines (T,): a tile's first cell, the cells of a line, their distance, and how many lines
    start side by side from there.
    """

    first: Tensor
    length: Tensor
    step: Tensor
    n_lines: Tensor
    longest: int
    together: int


class Problem(NamedTuple):
    """What a step compares the model with: data, seen, penalty and error (1 + C, P), shares (K,), population n.

    centre (1 + C, P): where penalties pull to; zero if None. noisy: whether penalties are raised where noise hides
    cells.
    """

    layout: Layout
    data: Tensor
    seen: Tensor
    penalty: Tensor
    error: Tensor
    shares: Tensor
    n: float
    lines: tuple[Lines, ...]
    kernels: Any
    centre: Tensor | None = None
    noisy: bool = False


class Pace(NamedTuple):
    """How long steps are; `precondition` as in `MaxEntClassifier`, `keep` and `late` as in training's running means."""

    step_mu: float
    step_theta: float
    size: float
    precondition: str | None
    rescale: bool
    keep: float
    first: bool
    share: float


class State:
    """Parameters, their mean over late steps, usual moments and running gradients by half, changed in place."""

    def __init__(
        self, params: Tensor, offsets: Tensor, mean: Tensor, mean_offsets: Tensor, usual: Tensor, running: list[Tensor]
    ) -> None:
        self.params, self.offsets, self.mean, self.mean_offsets = params, offsets, mean, mean_offsets
        self.usual, self.running = usual, running


def spread(lay: Layout, params: Tensor) -> Tensor:
    """Add up all terms on the cliques' cells: (R, P) to (R, n_cells)."""
    out = params[:, : lay.n_cells].clone()
    for t, home, axes in inner_terms(lay):
        shape = lay.shape(lay.cliques[home])
        part = out[:, lay.starts[home] : lay.starts[home + 1]].view(-1, *shape)
        along = [s if i in axes else 1 for i, s in enumerate(shape)]
        part += params[:, lay.term_starts[t] : lay.term_starts[t + 1]].reshape(-1, *along)
    return out


def project(lay: Layout, cells: Tensor) -> Tensor:
    """Sum the cliques' cells onto all terms: (R, n_cells) to (R, P)."""
    out = cells.new_empty((len(cells), lay.n_params))
    out[:, : lay.n_cells] = cells
    for t, home, axes in inner_terms(lay):
        shape = lay.shape(lay.cliques[home])
        part = cells[:, lay.starts[home] : lay.starts[home + 1]].view(-1, *shape)
        away = [i + 1 for i in range(len(shape)) if i not in axes]
        out[:, lay.term_starts[t] : lay.term_starts[t + 1]] = part.sum(dim=away).reshape(len(cells), -1)
    return out


def inner_terms(lay: Layout) -> list[tuple[int, int, tuple[int, ...]]]:
    """(term, clique that holds it, its axes in that clique) of the terms within others, as `layout` laid them out."""
    found = []
    for t in range(len(lay.cliques), len(lay.terms)):
        home = next(c for c, clique in enumerate(lay.cliques) if set(lay.terms[t]) <= set(clique))
        found.append((t, home, tuple(lay.cliques[home].index(a) for a in lay.terms[t])))
    return found


def centring_lines(lay: Layout, put: Callable[..., Any]) -> tuple[Lines, ...]:
    """The lines along each axis, as tiles; cliques of one attribute have none."""
    deepest = max(len(c) for c in lay.cliques)
    return tuple(_axis_lines(lay, axis, put) for axis in range(deepest if deepest > 1 else 0))


def _axis_lines(lay: Layout, axis: int, put: Callable[..., Any]) -> Lines:
    tiles, longest, last = [], 1, True
    for c, clique in enumerate(lay.cliques):
        shape = lay.shape(clique)
        if axis >= len(shape) or len(shape) == 1:
            continue
        inner, outer = math.prod(shape[axis + 1 :]), math.prod(shape[:axis])
        longest, last = max(longest, shape[axis]), last and inner == 1
        at = np.arange(outer)[:, None] * shape[axis] * inner + np.arange(0, inner, LINES_PER_PROGRAM)
        width = np.broadcast_to(np.minimum(LINES_PER_PROGRAM, inner - np.arange(0, inner, LINES_PER_PROGRAM)), at.shape)
        same = np.ones(at.size, dtype=np.int64)
        tiles.append(np.stack([lay.starts[c] + at.ravel(), shape[axis] * same, inner * same, width.ravel()]))
    columns = [put(column) for column in np.concatenate(tiles, axis=1)]
    return Lines(*columns, longest=longest, together=1 if last else LINES_PER_PROGRAM)


def without_means(own: Tensor, weight: Tensor, problem: Problem) -> None:
    """Take the weighted means along every axis out of each clique's cells (R, n_cells), in place."""
    n_axes = len(problem.lines)
    for axis in (*range(n_axes), *range(n_axes - 2, -1, -1)):
        if problem.kernels is not None:
            problem.kernels.without_means(own, weight, problem.lines[axis])
            continue
        lay = problem.layout
        for c, clique in enumerate(lay.cliques):
            if 1 < len(clique) > axis:
                place, shape = slice(lay.starts[c], lay.starts[c + 1]), lay.shape(clique)
                value, h = own[:, place].view(-1, *shape), weight[:, place].reshape(-1, *shape)
                total = h.sum(dim=axis + 1, keepdim=True).clamp(min=1e-30)
                value -= (value * h).sum(dim=axis + 1, keepdim=True) / total


def gradient(problem: Problem, model: Tensor, pull: Tensor, rescale: bool) -> Tensor:
    """Model minus data plus the penalty's pull; label sums per count where `rescale` (see `contrastive.gradients`)."""
    out = model - problem.data
    if rescale:
        ratio = (problem.data[0].clamp(min=0.0) + 1.0) / (model[0] + 1.0)
        out[1:] = model[1:] * ratio.clamp(max=1.0) - problem.data[1:] * ratio.reciprocal().clamp(max=1.0)
    return out.mul_(problem.seen).add_(pull)


def take_step(problem: Problem, state: State, halves: list[tuple[Tensor, Tensor, int]], pace: Pace) -> Tensor:
    """Move parameters by the moments of two halves of the chains, each (counts, label sums, chains); all in place.

    Returns misfit and moment error (2,), on the device.
    """
    torch = importlib.import_module("torch")
    lay = problem.layout
    moments = [project(lay, torch.cat([counts[None], sums])).mul_(problem.n / m) for counts, sums, m in halves]
    model = (moments[0] + moments[1]).mul_(0.5)
    off = state.params if problem.centre is None else state.params - problem.centre
    pull = (2.0 * problem.penalty).mul_(off)
    _move(problem, state, gradient(problem, model, pull, pace.rescale), pace)
    _move_offsets(problem, state.offsets, model, pace.step_theta * pace.size)
    state.mean.lerp_(state.params, pace.share)
    state.mean_offsets.lerp_(state.offsets, pace.share)
    state.usual.lerp_(model, 1.0 - pace.keep)
    for running, half in zip(state.running, moments):
        running.lerp_(gradient(problem, half, pull, pace.rescale), 1.0 if pace.first else 1.0 - pace.keep)
    product = (state.running[0] * state.running[1]).div_(problem.error)
    distance = 0.5 * (product[0].mean() + product[1:].mean())
    n_cells = lay.n_cells
    error = (model[0, :n_cells] - problem.data[0, :n_cells]).abs_().sum() / (problem.n * len(lay.cliques))
    return torch.stack([distance.clamp(min=0.0).sqrt(), error])


def _move(problem: Problem, state: State, slope: Tensor, pace: Pace) -> None:
    lay = problem.layout
    if pace.precondition is None:
        slope /= max(float(problem.data[0].max()), 1.0)
    else:
        weight = (problem.data.clamp(min=0.0) + state.usual).mul_(0.5).add_(problem.penalty, alpha=2.0).clamp_(min=1e-9)
        slope.div_(weight).clamp_(-LONGEST, LONGEST)
    fast = (pace.step_mu, *[pace.step_theta] * (len(slope) - 1))
    if pace.precondition == "effects":
        counts = weight[:, : lay.n_cells]  # pyright: ignore[reportPossiblyUnboundVariable]
        counted = (counts - 2.0 * problem.penalty[:, : lay.n_cells]).div_(counts).clamp_(min=LEAST_SHARE)
        own = slope[:, : lay.n_cells].clone()
        if problem.noisy:  # as `contrastive.preconditioned` does
            own /= counted
            without_means(own, counts * counted * counted, problem)
            own *= counted
        else:
            without_means(own, counts, problem)
        for row, part, share, quick in zip(slope, own, counted, fast):  # the pace of `contrastive.shared_pace`
            slow = (1.0 / (quick * len(lay.terms))) / share
            row[: lay.n_cells].sub_(part).mul_(slow.clamp_(max=1.0)).add_(part)
    for row, now, quick in zip(slope, state.params, fast):
        now.sub_(row, alpha=pace.size * quick)


def _move_offsets(problem: Problem, offsets: Tensor, model: Tensor, size: float) -> None:
    """Pull the classes' shares under the model towards those of the data; class 0 stays the reference."""
    expected = model[1:, : problem.layout.starts[1]].sum(dim=1) / problem.n
    p = problem.shares
    if len(expected) == 1:
        expected = expected.repeat(2)
        expected[0] = 1.0 - expected[0]
    offsets.add_(size * (p - expected) / (p * (1 - p)))
    offsets.sub_(offsets[0].clone())
