"""Most likely counts of many chains at once: the dual of `dual_counts`, with a batch axis, on torch tensors.

Every array is (batch, times, states) and lives on one device; numbers that differ between chains (totals, step lengths,
gaps) are (batch,). Newton systems are solved by the sweeps of `path_sweeps`. A chain that has converged stays where it
is while the others go on. Exact counts make the blocks of a sweep singular: they are for `dual_counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.collective.kernels.dual_counts import first_multipliers

if TYPE_CHECKING:
    from torch import Tensor

    from sumwise.collective.kernels.count_problem import CountProblem

UNDERFLOW = 1e-280  # a message below it may have lost terms to underflow: such a chain is not certified here
SUFFICIENT_DECREASE = 1e-4  # share of the promised gain that a step must bring
PRODUCTS = 80  # sweeps of a Newton step, at most
STEP_FRACTIONS = (1.0, 0.3, 0.1)  # of a step that leaves its box, which parts are tried
CHAINS_LAST_BUT_ONE = ("weights", "inverse_sums")  # arrays of a point in which chains come last but one


@dataclass
class Batch:
    """Chains of equal shape: log-potentials, what was observed and sizes; times run along the path.

    Messages go both ways at once: at k, arrays of shape (N - 1, 2, ...) hold what belongs to the k-th message forth
    (over link k) and to the k-th message back (over link N - 2 - k).
    """

    logs: Any  # (B, N, L) log-potentials with the zeros of Poisson counts; -inf forbids
    links: list[Any]  # N - 1 kernels of both messages, (2, L, L) or one per chain, (2, B, L, L)
    into: Any  # (N - 1, 2, 1 or B, L) log factors of what is sent: log-potential into_i + out_j + log K_ij
    out: Any  # and of what is received
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
    def seen(self) -> Tensor:
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
    weights: Any  # (N - 1, 2, B, L) weights of messages, and one over their sums, for derivatives
    inverse_sums: Any


def both_ways(x: Tensor) -> Tensor:
    """(B, N, L) as (N, 2, B, L): forth, and back from the last time to the first."""
    import torch

    forth = x.transpose(0, 1)
    return torch.stack([forth, forth.flip(0)], 1)


def product(kernel: Tensor, v: Tensor) -> Tensor:
    """``v K`` of every chain, both ways: v is (2, B, L)."""
    if kernel.ndim == 3:
        return v @ kernel
    return (v[:, :, None, :] @ kernel)[:, :, 0]


def evaluate(batch: Batch, g: Tensor) -> Point:
    """One pass of belief propagation at multipliers `g`, with its proven gap.

    Messages forth and back don't need each other, so they are sent side by side. Each is normalised as it goes; its
    level is added up afterwards for all times at once, so that a step takes four operations.
    """
    logs = both_ways(batch.logs - g)
    x, n_links = logs.clone(), len(batch.links)
    x[:-1] += batch.into
    x[1:] += batch.out
    weights, sums = x.new_empty(x[:-1].shape), x.new_empty(x[:-1].shape)
    for k in range(n_links):
        weights[k] = x[k].softmax(-1)
        sums[k] = product(batch.links[k], weights[k])
        x[k + 1] += sums[k].log()
    level = x.logsumexp(-1)  # of the k-th message, given those before
    log_z = level[:, 0].sum(0)
    message = sums.log() + batch.out + level[:-1].cumsum(0)[..., None]
    forth, back = logs[:, 0], logs[:, 0].clone()
    forth[1:] += message[:, 0]
    back[:-1] += message[:, 1].flip(0)
    nodes = forth.clone()
    nodes[:-1] += message[:, 1].flip(0)
    nodes = nodes.transpose(0, 1).contiguous()
    cells = nodes.softmax(-1) * batch.total[:, None, None]
    lost = (sums < UNDERFLOW) & both_ways(batch.logs > -np.inf)[1:]
    value, first, second = conjugate(batch, g)
    gap = fenchel(batch, g, cells)
    gap = gap.masked_fill(lost.any(-1).any(0).any(0) | ~gap.isfinite(), np.inf)
    dual, gradient = batch.constant - value - batch.total * log_z, _where(batch.seen, first - cells, 0.0)
    inner, cavity = forth[:-1].transpose(0, 1), back[1:].transpose(0, 1)
    inverse = 1.0 / _positive(sums)
    return Point(g, dual, gradient, second, cells, gap, log_z, nodes, inner, cavity, weights, inverse)


def _where(mask: Tensor, x: Tensor, other: float) -> Tensor:
    return x.masked_fill(~mask, other)


def _positive(x: Tensor) -> Tensor:
    """Ones for zeros: what is divided by them is zero, too."""
    return x.masked_fill(x <= 0, 1.0)


def conjugate(batch: Batch, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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


def fenchel(batch: Batch, g: Tensor, cells: Tensor) -> Tensor:
    """Sum of ``l(n) + l*(g) - g n`` of every chain: its gap, never negative."""
    off = cells - batch.y
    gaussian = 0.5 * (off - batch.var * g) ** 2 / batch.var
    u = _where(batch.poisson, (batch.rate - g) * cells / _where(batch.poisson, batch.y, 1.0), 1.0)
    poisson = batch.y * (u - 1.0 - u.log()).clamp(min=0.0)
    end = batch.high.where(off > 0, batch.low)
    linear = ((_where(batch.linear, end, 0.0) - g) * off).clamp(min=0.0)
    both = _where(batch.gaussian, gaussian, 0.0) + _where(batch.poisson, poisson, 0.0)
    return _sum(both + _where(batch.linear, linear, 0.0))


def _sum(x: Tensor) -> Tensor:
    return x.flatten(1).sum(1)


def covariance_product(batch: Batch, direction: Tensor, cells: Tensor, weights: Tensor, inverse_sums: Tensor) -> Tensor:
    """``total * Cov(indicators) @ direction`` of every chain, by one pass of derivatives, both ways at once."""
    moved = weights * both_ways(direction)[:-1]
    passed = weights[1:] * inverse_sums[:-1]
    received = moved.new_empty(moved.shape)
    received[0] = product(batch.links[0], moved[0])
    for k in range(1, len(batch.links)):
        received[k] = product(batch.links[k], moved[k].addcmul(passed[k - 1], received[k - 1]))
    received *= inverse_sums
    total = direction.clone()
    total[:, 1:] += received[:, 0].transpose(0, 1)
    total[:, :-1] += received[:, 1].flip(0).transpose(0, 1)
    moved = _where(cells > 0, cells * total, 0.0)
    return moved - cells * (moved.sum(-1, keepdim=True) / batch.total[:, None, None])


class Sweeps:
    """``(curvature + covariance) x = r`` on the free cells of every chain (see `path_sweeps.PathSystem`)."""

    def __init__(self, batch: Batch, point: Point, curvature: Tensor, free: Tensor) -> None:
        self.diagonal = _where(free, curvature + point.cells, 0.0)
        self.inverse = _where(free, 1.0 / self.diagonal.clamp(min=1e-300), 0.0)
        self.n = _where(free, point.cells, 0.0)
        self.u = self.inverse * self.n
        used, total = (self.n * self.u).sum(-1), batch.total[:, None]
        self.whole = total.maximum(used + 1e-3 * total)
        self.rest = self.whole - used
        part, left = self.u * self.n, self.rest[..., None]
        mean = point.cells / total[..., None] * (1.0 + part.sum(-1, keepdim=True) / left) - part / left
        self.ways = [self._way(batch, point, mean, way) for way in (0, 1)]

    def tensors(self) -> list[Any]:
        """What depends on the point; kernels don't."""
        own = [self.diagonal, self.inverse, self.n, self.u, self.whole, self.rest]
        return own + [v for way in self.ways for name, v in way.items() if name != "kernels"]

    def _way(self, batch: Batch, point: Point, mean: Tensor, way: int) -> dict[str, Any]:
        """What the substitution of one way needs of every time, in its order (N, B, L)."""
        u, mean = (_ordered(v, way) for v in (self.u, mean))
        weights, over = (v[:, way].clone() for v in (point.weights, point.inverse_sums))
        alike = all(link is batch.links[0] for link in batch.links)
        kernels = [link[way] for link in batch.links[: 1 if alike else None]]
        return {
            "u": u,
            "over": over,
            "weights": weights,
            "kernels": kernels,
            "mean": (mean[1:] * over).unsqueeze(2),  # of what was received, as it comes, undivided
            "passed": weights[1:] * (1.0 - u[1:-1]) * over[:-1],
            "pulled": send_all(kernels, weights * u[:-1]),
        }

    def block(self, x: Tensor) -> Tensor:
        return self.diagonal * x - self.n * ((self.n * x).sum(-1, keepdim=True) / self.whole[..., None])

    def substitute(self, rhs: Tensor, down: bool) -> Tensor:
        """Solve with the lower (first time to last) or the upper triangle of blocks.

        With r what a node receives, its part is ``inverse rhs + u (k - r)``, where k is one number: the mean of r, and
        the rank that is taken off. All that doesn't depend on r is computed and sent for all times at once.
        """
        way = self.ways[int(down)]
        pull = ((self.u * rhs).sum(-1) / self.rest)[..., None]
        own = _ordered(self.inverse * rhs + self.u * pull, int(down))
        received = send_all(way["kernels"], way["weights"] * own[:-1])
        shift = received.new_empty((*received.shape[:2], 1))
        for k in range(len(received)):
            shift[k] = (way["mean"][k] @ received[k].unsqueeze(-1))[:, 0]
            if k + 1 < len(received):
                kernel = way["kernels"][k + 1 if len(way["kernels"]) > 1 else 0]
                _add_product(received[k + 1], way["passed"][k] * received[k], kernel)
                received[k + 1].addcmul_(way["pulled"][k + 1], shift[k])
        own[1:].addcmul_(way["u"][1:], shift - received * way["over"])
        return (own.flip(0) if down else own).transpose(0, 1)


def is_recorded(tensor: Tensor) -> bool:
    """Whether calls with such a tensor are recorded."""
    return tensor.is_cuda


def record(function: Callable[[], Any]) -> tuple[Any, Any]:
    """What plays the call of a function again, and the tensors that its results are written to."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function()
    return graph.replay, out


class Recorded:
    """A function of tensors; on a GPU its second call is recorded and later ones played: one launch for hundreds.

    What a played call returns is overwritten by the next one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.given: Any = None
        self.replay: Any = None
        self.out: Any = None

    def __call__(self, *args: Any) -> Any:
        if not is_recorded(args[0]):
            return self.function(*args)
        if self.given is None:  # the first call loads what can't be loaded while recording
            self.given = [a.clone() for a in args]
            return self.function(*args)
        if self.replay is None:
            self.replay, self.out = record(lambda: self.function(*self.given))
        for held, a in zip(self.given, args):
            held.copy_(a)
        self.replay()
        return self.out


class ConjugateGradients:
    """Solves the systems of all Newton steps of a batch; its steps are recorded once."""

    def __init__(self) -> None:
        held: list[Any] = []  # the system, known to what is recorded without a reference to this object
        self.held = held
        self.begin = Recorded(lambda rhs: held[0].substitute(rhs, down=False))
        self.step = Recorded(lambda *state: ConjugateGradients._step(held[0], *state))

    @staticmethod
    def _step(
        system: Sweeps, x: Tensor, residual: Tensor, p: Tensor, size: Tensor, active: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        t = system.substitute(p, down=True)
        w = t + system.substitute(p - system.block(t), down=False)
        steep = _sum(p * w)
        active = active & (steep > 0)
        length = _where(active, size / _where(steep > 0, steep, 1.0), 0.0)[:, None, None]
        x = x + length * t
        residual = residual - length * w
        moved = system.block(residual)
        new = _sum(residual * moved)
        p = moved + p * _where(active, new / _where(size > 0, size, 1.0), 0.0)[:, None, None]
        return x, residual, p, size.where(~active, new), active

    def solve(self, system: Sweeps, rhs: Tensor, forcing: Tensor, active: Tensor) -> Tensor:
        """Conjugate gradients until every active chain has its residual at `forcing` (B,) of the first."""
        if self.held and is_recorded(rhs):  # what was recorded reads the tensors of the first system
            for old, new in zip(self.held[0].tensors(), system.tensors()):
                old.copy_(new)
        else:
            self.held[:] = [system]
        residual = self.begin(rhs).clone()
        p = system.block(residual)
        x, size = rhs.new_zeros(rhs.shape), _sum(residual * p)
        first = size.clone()
        for _ in range(PRODUCTS):
            active = active & (size > forcing**2 * first) & (size > 0)
            if not bool(active.any()):
                break
            x, residual, p, size, active = self.step(x, residual, p, size, active)
        return x


class Passes:
    """Passes, products with the covariance and Newton systems of one batch, each recorded on a GPU."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.gradients = batch, ConjugateGradients()
        self.at = Recorded(lambda g: evaluate(batch, g))
        self.moved = Recorded(lambda *given: covariance_product(batch, *given))

    def covariance(self, point: Point, direction: Tensor) -> Tensor:
        return self.moved(direction, point.cells, point.weights, point.inverse_sums)


def maximise_batch(batch: Batch, tol: float, max_iter: int) -> tuple[Point, Any, Any]:
    """Newton's method on all chains; the best points, which of them are certified to `tol`, and steps of each."""
    passes = Passes(batch)
    point = passes.at(batch.first)
    start = point.dual + point.gap
    reach, last = batch.total.new_full(batch.total.shape, 10.0), None
    done = _enough(point, start, tol, batch.total)
    steps = batch.total.new_zeros(batch.total.shape)
    for _ in range(max_iter):
        active = ~done & (reach > 1e-10)
        if not bool(active.any()):
            break
        steps += active
        step, promised, last = _newton(passes, point, reach, last, active)
        new = passes.at(point.g + step)
        noise = 1e-14 * point.dual.abs()
        ratio = (new.dual - point.dual + noise) / (promised + noise)
        ratio = _where(new.dual.isfinite() & (promised >= 0), ratio, -1.0).nan_to_num(nan=-1.0)
        factor = reach.new_full(reach.shape, 0.2).masked_fill(ratio > 0.1, 1.0).masked_fill(ratio > 0.5, 2.0)
        reach = _where(active, reach * factor, 0.0) + _where(~active, reach, 0.0)
        point = _choose(active & (ratio > SUFFICIENT_DECREASE), new, point)
        start = start.where(start.isfinite(), point.dual + point.gap)
        done = done | _enough(point, start, tol, batch.total)
    return point, done, steps


def _enough(point: Point, start: Tensor, tol: float, total: Tensor) -> Tensor:
    """Whether the gap is below `tol` of the objective, and of what it has dropped since the start."""
    objective = point.dual + point.gap
    size = objective.abs()
    scale = size.minimum((start - objective).maximum(1e-4 * size))
    return (point.gap <= (tol * scale).maximum(1e-13 * (total + size))) & point.gap.isfinite()


def _choose(mask: Tensor, new: Point, old: Point) -> Point:
    """The new point of some chains, the old one of the others."""
    made = {}
    for f in fields(Point):
        a, b = getattr(new, f.name), getattr(old, f.name)
        own = mask[:, None] if f.name in CHAINS_LAST_BUT_ONE else mask.reshape(-1, *[1] * (a.ndim - 1))
        made[f.name] = a.where(own, b)
    return Point(**made)


def _newton(
    passes: Passes, point: Point, reach: Tensor, last: Tensor | None, active: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A step inside the box of every chain, what it promises, and the size of the preconditioned gradient."""
    batch = passes.batch
    foot, top = batch.low - point.g, batch.high - point.g
    top = top.where(~batch.poisson, 0.99 * top)
    room = (batch.high - batch.low).minimum(reach[:, None, None])
    curvature = point.curvature + _where(batch.seen, point.gradient.abs() / room.clamp(min=1e-300), 0.0)
    stuck = ((foot >= 0) & (point.gradient > 0)) | ((top <= 0) & (point.gradient < 0))
    free = batch.seen & (batch.logs > -np.inf) & ~stuck
    rhs = _where(free, -point.gradient, 0.0)
    system = Sweeps(batch, point, curvature, free)
    pull = (system.u * rhs).sum(-1, keepdim=True) / system.rest[..., None]
    first = _sum(rhs * (system.inverse * rhs + system.u * pull))
    forcing = first.new_full(first.shape, 0.5)
    if last is not None:
        forcing = (0.9 * first / _positive(last)).clamp(min=1e-3, max=0.5)
    x = passes.gradients.solve(system, rhs, forcing, active)

    def promise(v: Tensor) -> Tensor:
        v = _where(batch.seen, v, 0.0)
        curved = curvature * v + _where(batch.seen, passes.covariance(point, v), 0.0)
        return -_sum(v * (point.gradient + 0.5 * curved))

    wanted = promise(x)
    step, promised = _where(active[:, None, None], x, 0.0), wanted
    outside = ((x < foot) | (x > top)).flatten(1).any(1) & active
    if bool(outside.any()):
        step = step.where(~outside[:, None, None], step.new_zeros(step.shape))
        promised = _where(~outside, promised, -1.0)  # no part is good: a shorter reach is tried next
        for part in STEP_FRACTIONS:
            inside = (part * x).clamp(min=foot, max=top)
            gain = promise(inside)
            good = outside & (gain > 0.1 * part * (2.0 - part) * wanted)
            step, promised = inside.where(good[:, None, None], step), gain.where(good, promised)
            outside = outside & ~good
    return step, promised, first


def _ordered(x: Tensor, way: int) -> Tensor:
    """(B, N, L) as (N, B, L), in the order of messages forth (0) or back (1)."""
    forth = x.transpose(0, 1)
    return forth.flip(0) if way else forth.contiguous()


def send_all(kernels: list[Tensor], v: Tensor) -> Tensor:
    """``v K`` of every time, (N - 1, B, L): in one product where all times share their kernel, given once."""
    if len(kernels) == 1:
        shared = kernels[0].ndim == 2
        return v @ kernels[0] if shared else (v.transpose(0, 1) @ kernels[0]).transpose(0, 1).contiguous()
    out = v.new_empty(v.shape)
    for k, kernel in enumerate(kernels):
        out[k] = v[k] @ kernel if kernel.ndim == 2 else (v[k][:, None] @ kernel)[:, 0]
    return out


def _add_product(x: Tensor, v: Tensor, kernel: Tensor) -> None:
    """Add ``v K`` of every chain to x, in place."""
    if kernel.ndim == 2:
        x.addmm_(v, kernel)
    else:
        x.unsqueeze(1).baddbmm_(v.unsqueeze(1), kernel)


def gather_batch(problems: list[CountProblem], device: str) -> Batch:
    """One `Batch` on a device from `CountProblem`s on single paths of equal shape (checked by the caller)."""
    import torch

    first = problems[0]
    order, links = (first.paths or [])[0]
    shape = len(problems), len(order), first.forest.sizes[0]
    arrays = {name: np.zeros(shape) for name in ("logs", "y", "low", "high", "first", "kind")}
    arrays |= {"var": np.ones(shape), "rate": np.ones(shape)}
    for b, problem in enumerate(problems):
        for name, values in _cellwise(problem).items():
            arrays[name][b] = values.reshape(len(order), -1)[order]
    kinds = arrays.pop("kind")
    made: dict[str, Any] = {name: torch.as_tensor(a, device=device) for name, a in arrays.items()}
    made |= {name: torch.as_tensor(kinds == k, device=device) for k, name in enumerate(KINDS, 1)}
    numbers = {
        "total": [p.total for p in problems],
        "constant": [p.constant + p.observations.constant for p in problems],
    }
    made |= {k: torch.tensor(v, dtype=torch.float64, device=device) for k, v in numbers.items()}
    return Batch(**_links(problems, links, device), **made)


KINDS = ("gaussian", "poisson", "linear")


def _cellwise(problem: CountProblem) -> dict[str, np.ndarray]:
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


def _links(problems: list[CountProblem], steps: list[int], device: str) -> dict[str, Any]:
    """Scaled potentials along the path, both ways: one tensor where all chains share theirs, each copied once."""
    import torch

    held: dict[Any, Any] = {}
    forth = []
    for k in steps:
        each = [(p.forest.edges[p.forest.steps[k][2]][2], p.forest.steps[k][3]) for p in problems]
        some = each if len({id(op.theta) for op, _ in each}) > 1 else each[:1]
        key = tuple((id(op.theta), back) for op, back in some)
        if key not in held:
            turned = [(op.scaled.T, op.cols, op.rows) if back else (op.scaled, op.rows, op.cols) for op, back in some]
            held[key] = tuple(torch.as_tensor(np.stack(part), device=device) for part in zip(*turned))
        forth.append(held[key])
    width = max(len(kernel) for kernel, _, _ in forth)
    pairs: dict[Any, Any] = {}
    links, into, out = [], [], []
    for (kernel, sent, received), (other, to, of) in zip(forth, reversed(forth)):
        if (id(kernel), id(other)) not in pairs:
            both = torch.stack(torch.broadcast_tensors(kernel, other.transpose(-1, -2)))
            pairs[id(kernel), id(other)] = both[:, 0] if both.shape[1] == 1 else both
        links.append(pairs[id(kernel), id(other)])
        into.append(torch.stack([v.expand(width, -1) for v in (sent, of)]))
        out.append(torch.stack([v.expand(width, -1) for v in (received, to)]))
    return {"links": links, "into": torch.stack(into), "out": torch.stack(out)}
