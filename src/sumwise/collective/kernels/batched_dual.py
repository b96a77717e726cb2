"""Most likely counts of many chains at once: the dual of `dual_counts`, with a batch axis, on torch tensors.

Every array is (batch, times, states) and lives on one device; numbers that differ between chains (totals, step lengths,
gaps) are (batch,). Newton systems are solved by the sweeps of `path_sweeps`. A chain that has converged stays where it
is while the others go on. Exact counts make the blocks of a sweep singular: they are for `dual_counts`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sumwise.collective.kernels.dual_counts import first_multipliers

TINY = 1e-280  # a message below it may have lost terms to underflow: such a chain is not certified here
LEAST = 1e-4  # share of the promised gain that a step must bring
PRODUCTS = 80  # sweeps of a Newton step, at most
SHORT = (1.0, 0.3, 0.1)  # of a step that leaves its box, which parts are tried


@dataclass
class Batch:
    """Chains of equal shape: log-potentials, what was observed and sizes; times run along the path."""

    logs: Any  # (B, N, L) log-potentials with the zeros of Poisson counts; -inf forbids
    links: list[Any]  # per step: (K, before, after), log-potential before_i + after_j + log K_ij; K (L, L) or (B, L, L)
    total: Any  # (B,)
    gaussian: Any  # (B, N, L) bool, as the next two
    poisson: Any
    linear: Any
    y: Any
    var: Any  # 1 where not gaussian
    rate: Any  # 1 where not poisson
    low: Any  # least multipliers: -inf where there is no limit, 0 where nothing was observed
    high: Any
    first: Any  # multipliers to start from
    constant: Any  # (B,) added to the dual

    @property
    def seen(self):
        """Which cells have a multiplier."""
        return self.gaussian | self.poisson | self.linear


@dataclass
class Point:
    """Multipliers and what a pass at them leaves."""

    g: Any
    dual: Any  # (B,)
    gradient: Any  # of minus the dual
    curvature: Any  # of the conjugate losses
    cells: Any
    gap: Any  # (B,); infinite where a message underflowed
    log_z: Any
    nodes: Any  # log beliefs
    inner: Any  # (B, N - 1, L) log inputs of messages forth
    cavity: Any  # and back
    forth: Any  # (B, N - 1, L) weights and sums of messages, for derivatives
    forth_sum: Any
    back: Any
    back_sum: Any


def send(link: tuple[Any, ...], x: Any, back: bool):
    """A log message (B, L), its weights and its sums."""
    kernel, before, after = link
    into, out = (after, before) if back else (before, after)
    x = x + into
    top = x.amax(-1, keepdim=True)
    weights = (x - top).exp()
    sums = product(kernel, weights, back)
    return sums.log() + (top + out), weights, sums


def product(kernel: Any, v: Any, back: bool):
    """``v K`` or ``v K'`` of every chain."""
    if kernel.ndim == 2:
        return v @ (kernel.T if back else kernel)
    return (v[:, None, :] @ (kernel.transpose(-1, -2) if back else kernel))[:, 0]


def evaluate(batch: Batch, g: Any) -> Point:
    """One pass of belief propagation at multipliers `g`, with its proven gap."""
    logs = batch.logs - g
    n_times = logs.shape[1]
    acc, inner, forth, forth_sum = [logs[:, 0]], [], [], []
    for k in range(n_times - 1):
        message, weights, sums = send(batch.links[k], acc[k], back=False)
        inner.append(acc[k])
        forth.append(weights)
        forth_sum.append(sums)
        acc.append(logs[:, k + 1] + message)
    log_z = acc[-1].logsumexp(-1)
    cavity, back, back_sum, rest = [], [], [], logs[:, -1]
    for k in range(n_times - 2, -1, -1):
        message, weights, sums = send(batch.links[k], rest, back=True)
        cavity.append(rest)
        back.append(weights)
        back_sum.append(sums)
        acc[k] = acc[k] + message
        rest = logs[:, k] + message
    nodes = _stack(acc)
    cells = nodes.softmax(-1) * batch.total[:, None, None]
    forward, backward = _stack(forth_sum), _stack(back_sum[::-1])
    open_ = batch.logs > -np.inf
    lost = ((forward < TINY) & open_[:, 1:]) | ((backward < TINY) & open_[:, :-1])
    value, first, second = conjugate(batch, g)
    gap = fenchel(batch, g, cells)
    gap = gap.masked_fill(lost.flatten(1).any(1) | ~gap.isfinite(), np.inf)
    return Point(
        g,
        batch.constant - value - batch.total * log_z,
        _where(batch.seen, first - cells, 0.0),
        second,
        cells,
        gap,
        log_z,
        nodes,
        _stack(inner),
        _stack(cavity[::-1]),
        _stack(forth),
        _positive(forward),
        _stack(back[::-1]),
        _positive(backward),
    )


def _stack(parts: list[Any]):
    """Arrays of the times as one, times second."""
    joined = parts[0].new_empty((parts[0].shape[0], len(parts), parts[0].shape[1]))
    for k, part in enumerate(parts):
        joined[:, k] = part
    return joined


def _where(mask: Any, x: Any, other: float):
    return x.masked_fill(~mask, other)


def _positive(x: Any):
    """Ones for zeros: what is divided by them is zero, too."""
    return x.masked_fill(x <= 0, 1.0)


def conjugate(batch: Any, g: Any):
    """Sum of the conjugate losses of every chain, their slopes and curvatures (see `kernels.observations`)."""
    q = _where(batch.poisson, batch.rate - g, 1.0)
    y = _where(batch.poisson, batch.y, 1.0)
    square = g * batch.y + 0.5 * batch.var * g * g
    value = _where(batch.gaussian, square, 0.0) + _where(batch.poisson, y * ((y / q).log() - 1.0), 0.0)
    value = value + _where(batch.linear, g * batch.y, 0.0)
    first = _where(batch.gaussian, batch.y + batch.var * g, 0.0) + _where(batch.poisson, y / q, 0.0)
    first = first + _where(batch.linear, batch.y, 0.0)
    second = _where(batch.gaussian, batch.var, 0.0) + _where(batch.poisson, y / (q * q), 0.0)
    return _sum(value), first, second


def fenchel(batch: Any, g: Any, cells: Any):
    """Sum of ``l(n) + l*(g) - g n`` of every chain: its gap, never negative."""
    off = cells - batch.y
    gaussian = 0.5 * (off - batch.var * g) ** 2 / batch.var
    u = _where(batch.poisson, (batch.rate - g) * cells / _where(batch.poisson, batch.y, 1.0), 1.0)
    poisson = batch.y * (u - 1.0 - u.log()).clamp(min=0.0)
    end = batch.high.where(off > 0, batch.low)
    linear = ((_where(batch.linear, end, 0.0) - g) * off).clamp(min=0.0)
    both = _where(batch.gaussian, gaussian, 0.0) + _where(batch.poisson, poisson, 0.0)
    return _sum(both + _where(batch.linear, linear, 0.0))


def _sum(x: Any):
    return x.flatten(1).sum(1)


def covariance_product(batch: Any, point: Any, direction: Any):
    """``total * Cov(indicators) @ direction`` of every chain, by one pass of derivatives."""
    n_times = direction.shape[1]
    acc, up = [direction[:, 0]], []
    for k in range(n_times - 1):
        kernel = batch.links[k][0]
        up.append(product(kernel, point.forth[:, k] * acc[k], False) / point.forth_sum[:, k])
        acc.append(direction[:, k + 1] + up[k])
    into = direction[:, -1]
    for k in range(n_times - 2, -1, -1):
        moved = product(batch.links[k][0], point.back[:, k] * into, True) / point.back_sum[:, k]
        acc[k] = acc[k] + moved
        into = direction[:, k] + moved
    n = point.cells
    moved = _where(n > 0, n * _stack(acc), 0.0)
    return moved - n * (moved.sum(-1, keepdim=True) / batch.total[:, None, None])


class Sweeps:
    """``(curvature + covariance) x = r`` on the free cells of every chain (see `path_sweeps.PathSystem`)."""

    def __init__(self, batch: Any, point: Any, curvature: Any, free: Any):
        self.batch, self.point = batch, point
        self.diagonal = _where(free, curvature + point.cells, 0.0)
        self.inverse = _where(free, 1.0 / self.diagonal.clamp(min=1e-300), 0.0)
        self.n = _where(free, point.cells, 0.0)
        self.u = self.inverse * self.n
        used, total = (self.n * self.u).sum(-1), batch.total[:, None]
        self.whole = total.maximum(used + 1e-3 * total)
        self.rest = self.whole - used
        part, left = self.u * self.n, self.rest[..., None]
        self.mean = point.cells / total[..., None] * (1.0 + part.sum(-1, keepdim=True) / left) - part / left

    def block(self, x: Any):
        return self.diagonal * x - self.n * ((self.n * x).sum(-1, keepdim=True) / self.whole[..., None])

    def substitute(self, rhs: Any, down: bool):
        """Solve with the lower (first time to last) or the upper triangle of blocks.

        With r what a node receives, its part is ``inverse rhs + u (k - r)``, where k is one number: the mean of r, and
        the rank that is taken off. All that doesn't depend on r is computed for all times at once.
        """
        point, n_times = self.point, rhs.shape[1]
        weights, sums = (point.back, point.back_sum) if down else (point.forth, point.forth_sum)
        own = self.inverse * rhs
        pull = ((self.u * rhs).sum(-1) / self.rest)[..., None]
        x, received = rhs.new_empty(rhs.shape), None
        for j in range(n_times):
            t = n_times - 1 - j if down else j
            if received is None:
                here = own[:, t].addcmul(self.u[:, t], pull[:, t])
            else:
                shift = (self.mean[:, t] * received).sum(-1, keepdim=True) + pull[:, t]
                here = own[:, t].addcmul(self.u[:, t], shift - received)
            x[:, t] = here
            if j < n_times - 1:
                k = t - 1 if down else t
                sent = here if received is None else received + here
                received = product(self.batch.links[k][0], weights[:, k] * sent, down) / sums[:, k]
        return x

    def solve(self, rhs: Any, forcing: Any, active: Any):
        """Conjugate gradients until every active chain has its residual at `forcing` (B,) of the first."""
        x = rhs.new_zeros(rhs.shape)
        residual = self.substitute(rhs, down=False)
        p = self.block(residual)
        size = _sum(residual * p)
        first = size
        for _ in range(PRODUCTS):
            active = active & (size > forcing**2 * first) & (size > 0)
            if not bool(active.any()):
                break
            t = self.substitute(p, down=True)
            w = t + self.substitute(p - self.block(t), down=False)
            steep = _sum(p * w)
            active = active & (steep > 0)
            length = _where(active, size / _where(steep > 0, steep, 1.0), 0.0)[:, None, None]
            x = x + length * t
            residual = residual - length * w
            moved = self.block(residual)
            new = _sum(residual * moved)
            p = moved + p * _where(active, new / _where(size > 0, size, 1.0), 0.0)[:, None, None]
            size = size.where(~active, new)
        return x


def maximise_batch(batch: Batch, tol: float, max_iter: int) -> tuple[Point, Any, Any]:
    """Newton's method on all chains; the best points, which of them are certified to `tol`, and steps of each."""
    point = evaluate(batch, batch.first)
    start = point.dual + point.gap
    reach, last = batch.total.new_full(batch.total.shape, 10.0), None
    done = _enough(point, start, tol, batch.total)
    steps = batch.total.new_zeros(batch.total.shape)
    for _ in range(max_iter):
        active = ~done & (reach > 1e-10)
        if not bool(active.any()):
            break
        steps += active
        step, promised, last = _newton(batch, point, reach, last, active)
        new = evaluate(batch, point.g + step)
        noise = 1e-14 * point.dual.abs()
        ratio = (new.dual - point.dual + noise) / (promised + noise)
        ratio = _where(new.dual.isfinite() & (promised >= 0), ratio, -1.0).nan_to_num(nan=-1.0)
        factor = reach.new_full(reach.shape, 0.2).masked_fill(ratio > 0.1, 1.0).masked_fill(ratio > 0.5, 2.0)
        reach = _where(active, reach * factor, 0.0) + _where(~active, reach, 0.0)
        point = _choose(active & (ratio > LEAST), new, point)
        start = start.where(start.isfinite(), point.dual + point.gap)
        done = done | _enough(point, start, tol, batch.total)
    return point, done, steps


def _enough(point: Any, start: Any, tol: Any, total: Any):
    """Whether the gap is below `tol` of the objective, and of what it has dropped since the start."""
    objective = point.dual + point.gap
    size = objective.abs()
    scale = size.minimum((start - objective).maximum(1e-4 * size))
    return (point.gap <= (tol * scale).maximum(1e-13 * (total + size))) & point.gap.isfinite()


def _choose(mask: Any, new: Any, old: Any):
    """The new point of some chains, the old one of the others."""
    made = {}
    for f in fields(Point):
        a, b = getattr(new, f.name), getattr(old, f.name)
        made[f.name] = a.where(mask.reshape(-1, *[1] * (a.ndim - 1)), b)
    return Point(**made)


def _newton(batch: Any, point: Any, reach: Any, last: Any, active: Any):
    """A step inside the box of every chain, what it promises, and the size of the preconditioned gradient."""
    foot, top = batch.low - point.g, batch.high - point.g
    top = top.where(~batch.poisson, 0.99 * top)
    room = (batch.high - batch.low).minimum(reach[:, None, None])
    curvature = point.curvature + _where(batch.seen, point.gradient.abs() / room.clamp(min=1e-300), 0.0)
    stuck = ((foot >= 0) & (point.gradient > 0)) | ((top <= 0) & (point.gradient < 0))
    free = batch.seen & (batch.logs > -np.inf) & ~stuck
    rhs = _where(free, -point.gradient, 0.0)
    system = Sweeps(batch, point, curvature, free)
    first = _sum(rhs * _own_blocks(system, rhs))
    forcing = first.new_full(first.shape, 0.5)
    if last is not None:
        forcing = (0.9 * first / _positive(last)).clamp(min=1e-3, max=0.5)
    x = system.solve(rhs, forcing, active)

    def promise(v: Any):
        v = _where(batch.seen, v, 0.0)
        curved = curvature * v + _where(batch.seen, covariance_product(batch, point, v), 0.0)
        return -_sum(v * (point.gradient + 0.5 * curved))

    wanted = promise(x)
    step, promised = _where(active[:, None, None], x, 0.0), wanted
    outside = ((x < foot) | (x > top)).flatten(1).any(1) & active
    if bool(outside.any()):
        step = step.where(~outside[:, None, None], step.new_zeros(step.shape))
        promised = _where(~outside, promised, -1.0)  # no part is good: a shorter reach is tried next
        for part in SHORT:
            inside = (part * x).clamp(min=foot, max=top)
            gain = promise(inside)
            good = outside & (gain > 0.1 * part * (2.0 - part) * wanted)
            step, promised = inside.where(good[:, None, None], step), gain.where(good, promised)
            outside = outside & ~good
    return step, promised, first


def _own_blocks(system: Any, rhs: Any):
    """Each node's own block solved for."""
    pull = (system.u * rhs).sum(-1, keepdim=True) / system.rest[..., None]
    return system.inverse * rhs + system.u * pull


def gather_batch(problems: list[Any], device: str) -> Batch:
    """One `Batch` on a device from `CountProblem`s on single paths of equal shape (checked by the caller)."""
    import torch

    first = problems[0]
    order, links = first.paths[0]
    shape = len(problems), len(order), first.forest.sizes[0]
    arrays = {name: np.zeros(shape) for name in ("logs", "y", "low", "high", "first", "kind")}
    arrays |= {"var": np.ones(shape), "rate": np.ones(shape)}
    for b, problem in enumerate(problems):
        for name, values in _cellwise(problem).items():
            arrays[name][b] = values.reshape(len(order), -1)[order]
    kinds = arrays.pop("kind")
    made = {name: torch.as_tensor(a, device=device) for name, a in arrays.items()}
    made |= {name: torch.as_tensor(kinds == k, device=device) for k, name in enumerate(KINDS, 1)}
    numbers = {
        "total": [p.total for p in problems],
        "constant": [p.constant + p.observations.constant for p in problems],
    }
    made |= {k: torch.tensor(v, dtype=torch.float64, device=device) for k, v in numbers.items()}
    return Batch(links=_links(problems, links, device), **made)


KINDS = ("gaussian", "poisson", "linear")


def _cellwise(problem: Any):
    """Flat arrays over all cells of one problem."""
    seen = problem.observations
    s, p, e = seen.slices()
    out = {"logs": problem.shifted}
    for name, values, default in (
        ("y", seen.y, 0.0),
        ("low", seen.lower, 0.0),
        ("high", seen.upper, 0.0),
        ("first", first_multipliers(problem, None, seen), 0.0),
        ("kind", np.concatenate([np.full(x.stop - x.start, k) for k, x in enumerate((s, p, e), 1)]), 0.0),
        ("var", np.concatenate([seen.var, np.ones(seen.size - seen.n_gaussian)]), 1.0),
        ("rate", np.concatenate([np.ones(seen.n_gaussian), seen.rate, np.ones(len(seen.low))]), 1.0),
    ):
        out[name] = np.full(problem.n_cells, default)
        out[name][seen.index] = values
    return out


def _links(problems: list[Any], steps: list[Any], device: str):
    """Scaled potentials along the path: one tensor where all chains share theirs, each copied once."""
    import torch

    held, out = {}, []
    for k in steps:
        operators = []
        for problem in problems:
            _, _, e, back = problem.forest.steps[k]
            operators.append((problem.forest.edges[e][2], back))
        alike = {id(op.theta) for op, _ in operators}
        key = (*((id(op.theta), back) for op, back in operators),) if len(alike) > 1 else (*alike, operators[0][1])
        if key not in held:
            some = operators if len(alike) > 1 else operators[:1]
            turned = [(op.scaled.T, op.cols, op.rows) if back else (op.scaled, op.rows, op.cols) for op, back in some]
            each = [torch.as_tensor(np.stack(part), device=device) for part in zip(*turned)]
            held[key] = tuple(each) if len(alike) > 1 else tuple(part[0] for part in each)
        out.append(held[key])
    return out
