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
from sumwise.maxent.redundancy import Redundancy
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.training import MEMORY, StepOptions, TrainingState

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

    def __init__(self, stats: SufficientStatistics, chains: Any, blocks: Any, device: str, seed: int):
        self.device, self.blocks, self.layout, self.n = device, blocks, stats.layout, stats.n
        n, n_classes = len(chains.labels), len(stats.shares)
        torch = require("torch", extra="torch")
        if str(device).startswith("cuda"):
            free = torch.cuda.mem_get_info(torch.device(device))[0]
            check_memory(stats.layout, n_classes, n, len(stats.data.sums), free)
        moves = {"blocks": blocks, "jumps": strong_trees(stats)}
        self.plan = gibbs_device.device_plan(stats.layout, n_classes, n, device, **moves)
        self.moved = gibbs_device.to_device(chains.codes, chains.labels, stats.layout.sizes, device, seed)

    def state(self) -> list[np.ndarray]:
        """Codes (n, D), labels (n,) and the generator's state, for a checkpoint."""
        codes, labels, generator = self.moved
        return [
            np.ascontiguousarray(codes.cpu().numpy().T).astype(np.uint32),
            labels.cpu().numpy().astype(np.uint8 if labels.max() < 256 else np.uint32),
            generator.get_state().numpy(),
        ]

    def restore(self, arrays: list, expanded: bool = False) -> None:  # noqa: ARG002 - all chains are always swept
        """Go on from a state."""
        codes, labels, generator = (np.array(a) for a in arrays)
        self.moved = gibbs_device.to_device(codes, labels, self.layout.sizes, self.device, 0)
        self.moved.generator.set_state(require("torch", extra="torch").from_numpy(generator))

    def expand(self) -> None:
        """Nothing to add: all chains move from the beginning."""

    def named(self) -> dict[str, np.ndarray]:
        """Codes and labels, as a fitted model keeps them."""
        return dict(zip(("codes", "labels"), self.state()))

    def close(self) -> None:
        """Memory goes with the engine."""

    def moments(self, parameters: Parameters) -> tuple[Moments, Moments]:
        """Expected moments after one sweep, by each half of the chains."""
        torch = require("torch", extra="torch")
        rows = np.concatenate([parameters.mu[None], parameters.theta]).astype(np.float32)
        params, offsets = (
            torch.as_tensor(a, device=self.device) for a in (rows, parameters.offsets.astype(np.float32))
        )
        halves = self.halves(steps.spread(self.layout, params), offsets)
        sums = [(steps.project(self.layout, torch.cat([c[None], s])) * (self.n / m)) for c, s, m in halves]
        return tuple(Moments(*_rows(s)) for s in sums)  # type: ignore[return-value]

    def halves(self, cells: Any, offsets: Any) -> list:
        """Sweep once under parameters summed on cells (1 + C, n_cells); expected sums by half."""
        mu, theta = cells[:1], cells[1:]
        weights = require("torch", extra="torch").cat([mu, mu + theta]) if len(theta) == 1 else mu + theta
        return gibbs_device.sweep_halves(self.moved, self.plan, weights, theta, offsets)


class DeviceState:
    """A training state whose tensors are on the device."""

    def __init__(
        self, start: TrainingState, stats: SufficientStatistics, options: StepOptions, engine: DeviceGibbs
    ) -> None:
        torch = require("torch", extra="torch")

        def put(array: Any) -> Any:
            return torch.as_tensor(np.ascontiguousarray(array, dtype=np.float32), device=engine.device)

        def stacked(pair: Any) -> Any:
            return put(np.concatenate([pair[0][None], pair[1]]))

        self.put, self.stacked, self.redundancy = put, stacked, Redundancy(stats, options.penalties)
        data = stacked(stats.data)
        self.problem = steps.Problem(
            stats.layout, data, stacked(stats.seen), stacked(options.penalties),
            data.clamp(min=0.0) + 1.0 + stacked(stats.noise),
            put(stats.shares), stats.n,
        )  # fmt: skip
        now, mean = start.parameters, start.mean
        offsets = (put(p.offsets) for p in (now, mean))
        running = [stacked(m) for m in start.running]
        parts = (stacked(now), next(offsets), stacked(mean), next(offsets), stacked(start.usual), running)
        self.tensors = steps.State(*parts)

    def pull(self, state: TrainingState) -> None:
        """Bring parameters, means and moments here, into a training state; send back parameters with less penalty."""
        t = self.tensors
        state.parameters = self.redundancy.cheapest(Parameters(*_rows(t.params), _here(t.offsets)))
        t.params, t.offsets = self.stacked(state.parameters), self.put(state.parameters.offsets)
        state.mean = Parameters(*_rows(t.mean), _here(t.mean_offsets))
        state.running = [Moments(*_rows(r)) for r in t.running]
        state.usual = Moments(*_rows(t.usual))


def _here(tensor: Any) -> np.ndarray:
    return tensor.cpu().numpy().astype(float)


def _rows(tensor: Any) -> tuple[np.ndarray, np.ndarray]:
    return _here(tensor[0]), _here(tensor[1:])


def by_steps(
    stats: SufficientStatistics,
    engine: DeviceGibbs,
    options: StepOptions,
    state: TrainingState,
    until: int,
    after: Callable[[TrainingState], None],
    held_out: Callable[[Parameters], float] | None = None,
) -> None:
    """As `training.by_steps`, with a look at the scores every few steps."""
    torch, there = require("torch", extra="torch"), DeviceState(state, stats, options, engine)
    while state.n_iter < until:
        end, scores = min(until, state.n_iter + TOGETHER - state.n_iter % TOGETHER), []
        for _ in range(state.n_iter, end):
            halves = engine.halves(steps.spread(stats.layout, there.tensors.params), there.tensors.offsets)
            pace = steps.Pace(options.step_mu, options.step_theta, state.weight, MEMORY)
            scores.append(steps.take_step(there.problem, there.tensors, halves, pace))
            state.n_iter += 1
        scores_here = torch.stack(scores).cpu().numpy().astype(float)
        if not np.isfinite(scores_here).all() or not torch.isfinite(there.tensors.params).all():
            raise DataError(f"Training diverged within {end} steps.", hint="raise the penalties.")
        there.pull(state)
        last = float("nan") if held_out is None else held_out(state.mean)
        state.history["misfit"].extend(scores_here[:, 0].tolist())
        state.history["moment_error"].extend(scores_here[:, 1].tolist())
        state.history["held_out"].extend([float("nan")] * (len(scores) - 1) + [last])
        after(state)
