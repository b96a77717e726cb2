"""Training on a torch device: chains, expected tables and steps stay there, and only scores come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.maxent.engines import Parameters, strong_trees
from sumwise.maxent.kernels import contrastive_device as steps
from sumwise.maxent.kernels import gibbs_device
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.sufficient_statistics import Sufficient
from sumwise.maxent.training import MEMORY, RECENT, Course, Rule, look

__all__ = ["DeviceCourse", "DeviceGibbs", "by_steps", "check_memory"]

TOGETHER = 10  # steps between two looks at the scores: the device needn't wait for each


def check_memory(lay: Layout, n_classes: int, n_chains: int, n_scores: int, free: int) -> None:
    """Refuse work that `free` bytes don't hold, naming what takes most."""
    needed = gibbs_device.bytes_needed(lay, n_classes, n_chains, n_scores)
    total = sum(needed.values())
    if total > free:
        most = max(needed, key=lambda k: needed[k])
        hint = "fewer chains." if most == "chains" else "fewer levels: hash or merge them; or leave large pairs out."
        raise DataError(
            f"Training needs about {total / 2**30:.3g} GiB on the device; {free / 2**30:.3g} are free. Most is "
            f"{most}: {needed[most] / 2**30:.3g} GiB for {lay.n_cells:,} cells and {n_chains:,} chains.",
            hint=hint,
        )


class DeviceGibbs:
    """Chains on a device, under the signature of `engines.Gibbs`."""

    def __init__(self, found: Sufficient, chains: Any, blocks: Any, device: str, marginal: bool, seed: int):
        self.device, self.blocks, self.marginal, self.layout = device, blocks, marginal, found.layout
        n, n_classes = len(chains.labels), len(found.shares)
        torch = require("torch", extra="torch")
        if str(device).startswith("cuda"):
            free = torch.cuda.mem_get_info(torch.device(device))[0]
            check_memory(found.layout, n_classes, n, len(found.data.sums), free)
        moves = {"blocks": blocks, "jumps": strong_trees(found)}
        self.plan = gibbs_device.device_plan(found.layout, n_classes, n, device, **moves)
        self.moved = gibbs_device.to_device(chains.codes, chains.labels, found.layout.sizes, device, seed)

    def state(self) -> list[np.ndarray]:
        """Codes (n, D), labels (n,) and the generator's state, for a checkpoint."""
        codes, labels, generator = self.moved
        return [
            np.ascontiguousarray(codes.cpu().numpy().T).astype(np.uint32),
            labels.cpu().numpy().astype(np.uint8 if labels.max() < 256 else np.uint32),
            generator.get_state().numpy(),
        ]

    def restore(self, arrays: list) -> None:
        """Go on from a state."""
        codes, labels, generator = (np.array(a) for a in arrays)
        self.moved = gibbs_device.to_device(codes, labels, self.layout.sizes, self.device, 0)
        self.moved.generator.set_state(require("torch", extra="torch").from_numpy(generator))

    def named(self) -> dict[str, np.ndarray]:
        """Codes and labels, as a fitted model keeps them."""
        return dict(zip(("codes", "labels"), self.state()))

    def close(self) -> None:
        """Memory goes with the engine."""

    def halves(self, cells: Any, offsets: Any) -> list:
        """Sweep once under parameters summed on cells (1 + C, n_cells); expected sums by half."""
        mu, theta = cells[:1], cells[1:]
        weights = require("torch", extra="torch").cat([mu, mu + theta]) if len(theta) == 1 else mu + theta
        return gibbs_device.sweep_halves(self.moved, self.plan, weights, theta, offsets, self.marginal)


class DeviceCourse(Course):
    """A course whose tensors are on the device; `state` and `pull` bring them here."""

    problem: steps.Problem
    tensors: steps.State

    @classmethod
    def of(cls, course: Course, found: Sufficient, rule: Rule, engine: DeviceGibbs) -> DeviceCourse:
        """Put a course, and what it is compared with, on the engine's device."""
        self = cls(**{name: getattr(course, name) for name in course.__dataclass_fields__})
        torch = require("torch", extra="torch")

        def put(array: Any) -> Any:
            return torch.as_tensor(np.ascontiguousarray(array), device=engine.device)

        def stacked(pair: Any) -> Any:
            return put(np.concatenate([pair[0][None], pair[1]]).astype(np.float32))

        data = stacked(found.data)
        lines = steps.centring_lines(found.layout, put)
        self.problem = steps.Problem(
            found.layout, data, stacked(found.seen), stacked(rule.penalties),
            data.clamp(min=0.0) + 1.0 + stacked(found.noise),
            put(found.shares.astype(np.float32)), found.n, lines, engine.plan.kernels,
            None if found.centre is None else stacked(found.centre),
        )  # fmt: skip
        now, mean = course.parameters, course.mean
        offsets = (put(p.offsets.astype(np.float32)) for p in (now, mean))
        running = [stacked(m) for m in course.running]
        parts = (stacked(now), next(offsets), stacked(mean), next(offsets), stacked(course.usual), running)
        self.tensors = steps.State(*parts)
        return self

    def pull(self) -> None:
        """Bring parameters, means and moments here."""
        t = self.tensors
        self.parameters = Parameters(*_rows(t.params), _here(t.offsets))
        self.mean = Parameters(*_rows(t.mean), _here(t.mean_offsets))
        self.running = [Moments(*_rows(r)) for r in t.running]
        self.usual = Moments(*_rows(t.usual))

    def state(self) -> dict[str, Any]:
        """As `Course.state`, of what is on the device now."""
        self.pull()
        return super().state()


def _here(tensor: Any) -> np.ndarray:
    return tensor.cpu().numpy().astype(float)


def _rows(tensor: Any) -> tuple[np.ndarray, np.ndarray]:
    return _here(tensor[0]), _here(tensor[1:])


def by_steps(
    _: Sufficient,
    engine: DeviceGibbs,
    rule: Rule,
    course: DeviceCourse,
    after: Callable[[Course], bool],
    held_out: Callable[[Parameters], float] | None = None,
    max_iter: int = 500,
) -> bool:
    """As `training.by_steps`, with a look at the scores every few steps, so a fit may take a few more."""
    torch = require("torch", extra="torch")
    while True:
        begin = course.n_iter
        end = min(max_iter, begin + TOGETHER - begin % TOGETHER)
        scores = [_step(engine, rule, course, t) for t in range(begin, end)]
        found = torch.stack(scores).cpu().numpy().astype(float)
        if not np.isfinite(found).all() or not torch.isfinite(course.tensors.params).all():
            raise DataError(f"Training diverged within {end} steps.", hint="lower step, or raise penalty_mu.")
        last = float("nan")
        if held_out is not None:
            course.pull()
            last = held_out(course.mean)
        stop = False
        for i, (distance, error) in enumerate(found, start=1):
            course.n_iter += 1
            course.history["misfit"].append(float(distance))
            course.history["moment_error"].append(float(error))
            course.history["held_out"].append(last if i == len(found) else float("nan"))
            enough = look(course, float(distance), rule.tol)
            stop = after(course) or enough or stop
        if stop:
            course.pull()
            return course.agreed > 0


def _step(engine: DeviceGibbs, rule: Rule, course: DeviceCourse, t: int) -> Any:
    state, problem = course.tensors, course.problem
    halves = engine.halves(steps.spread(problem.layout, state.params), state.offsets)
    share = (RECENT + 1) / (RECENT + t + 1) if rule.average else 1.0
    pace = steps.Pace(
        rule.step_mu, rule.step_theta, 1.0 / (1.0 + rule.decay * t), rule.precondition, rule.rescale,
        keep=MEMORY, first=t == 0, share=share,
    )  # fmt: skip
    return steps.take_step(problem, state, halves, pace)
