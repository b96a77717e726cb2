"""A step of persistent contrastive divergence on a torch device: as `contrastive`, on stacked tensors.

Row 0 of a tensor (1 + C, P) belongs to mu and counts, the others to theta and label sums; P are the parameters of all
terms, in single precision. Sums run in a fixed order, so the same chains give the same step.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from sumwise.maxent.kernels.loglinear import Layout

if TYPE_CHECKING:
    from torch import Tensor


class Problem(NamedTuple):
    """What a step compares the model with: data, seen, penalty and error (1 + C, P), shares (K,), population n."""

    layout: Layout
    data: Tensor
    seen: Tensor
    penalty: Tensor
    error: Tensor
    shares: Tensor
    n: float


class Pace(NamedTuple):
    """How long steps are; the weight of the next step in the means of its round, and memory of the usual moments."""

    step_mu: float
    step_theta: float
    weight: float
    keep: float


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


def gradient(problem: Problem, model: Tensor, pull: Tensor) -> Tensor:
    """Model minus data plus the penalty's pull; label sums per count (see `contrastive.gradients`)."""
    out = model - problem.data
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
    pull = (2.0 * problem.penalty).mul_(state.params)
    if len(state.params) == 2:  # of two classes, penalty_mu is on mu + rate * theta
        pull[0].add_(problem.penalty[0] * state.params[1], alpha=2.0 * float(problem.shares[1]))
    _move(problem, state, gradient(problem, model, pull), pace)
    _move_offsets(problem, state.offsets, model, pace.step_theta)
    state.mean.lerp_(state.params, pace.weight)
    state.mean_offsets.lerp_(state.offsets, pace.weight)
    state.usual.lerp_(model, 1.0 - pace.keep)
    for running, half in zip(state.running, moments):
        running.lerp_(gradient(problem, half, pull), pace.weight)
    product = (state.running[0] * state.running[1]).div_(problem.error)
    distance = 0.5 * (product[0].mean() + product[1:].mean())
    n_cells = lay.n_cells
    error = (model[0, :n_cells] - problem.data[0, :n_cells]).abs_().sum() / (problem.n * len(lay.cliques))
    return torch.stack([distance.clamp(min=0.0).sqrt(), error])


def _move(problem: Problem, state: State, slope: Tensor, pace: Pace) -> None:
    counts = (problem.data.clamp(min=0.0) + state.usual).mul_(0.5)
    each = (pace.step_mu, *[pace.step_theta] * (len(slope) - 1))
    for row, now, count, penalty, step in zip(slope, state.params, counts, problem.penalty, each):
        now.sub_(row / count.add_(penalty, alpha=2.0 * step).clamp_(min=1e-9), alpha=step)


def _move_offsets(problem: Problem, offsets: Tensor, model: Tensor, size: float) -> None:
    """Pull the classes' shares under the model towards those of the data; class 0 stays the reference."""
    expected = model[1:, : problem.layout.starts[1]].sum(dim=1) / problem.n
    p = problem.shares
    if len(expected) == 1:
        expected = expected.repeat(2)
        expected[0] = 1.0 - expected[0]
    offsets.add_(size * (p - expected) / (p * (1 - p)))
    offsets.sub_(offsets[0].clone())
