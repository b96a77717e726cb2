"""The maximum entropy classifier on one GPU: 1 million chains, 19 features, 500 iterations.

Usage: python benchmarks/gpu_maxent.py [--device cuda] [--chains 1000000] [--steps 500] [--rows 8000000]
                                       [--sizes 2,3,...] [--reference-chains 100000] [--json PATH]

Needs NumPy and torch (and Triton, which torch brings on a GPU) besides sumwise's own device modules. Builds its own
synthetic tables on the device: rows with skewed, correlated features and a rare label, counted over all pairs. Checks
the sampler and the training against float64 enumeration on a small problem, and that one seed gives one result. Times
stages by device events after a warm-up, and the whole training by the clock as well. Prints a table last.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from sumwise.maxent.kernels import contrastive, gibbs_device, loglinear
from sumwise.maxent.kernels import contrastive_device as steps

SIZES = (2, 3, 5, 8, 12, 18, 25, 35, 45, 55, 65, 100, *[900] * 7)  # 6,673 levels
PENALTIES = (1.0, 1.0, 48.0)  # of mu, of theta in one-way tables, of theta in pairs; all as the classifier's defaults


def drawn_rows(sizes, n: int, seed: int, device: str, rate: float = 0.1):
    """Codes (D, n) and labels (n,): skewed levels, half of them a function of an earlier feature, a logistic label."""
    rng, generator = np.random.default_rng(seed), torch.Generator(device=device).manual_seed(seed)
    kind = torch.int16 if max(sizes) < 2**15 else torch.int32
    codes = torch.empty((len(sizes), n), dtype=kind, device=device)
    logit = torch.full((n,), math.log(rate / (1 - rate)), device=device)
    for a, size in enumerate(sizes):
        share = (np.arange(size) + 1.0) ** -0.8
        cumulative = torch.as_tensor(np.cumsum(share / share.sum()), dtype=torch.float32, device=device)
        own = torch.searchsorted(cumulative, torch.rand(n, generator=generator, device=device)).clamp(max=size - 1)
        if a:
            parent = int(rng.integers(a))
            image = torch.as_tensor(rng.integers(0, size, sizes[parent]), device=device)
            follows = torch.rand(n, generator=generator, device=device) < 0.5
            own = torch.where(follows, image[codes[parent].long()], own)
        codes[a] = own.to(kind)
        effect = torch.as_tensor(rng.normal(0, 1 / math.sqrt(len(sizes)), size), dtype=torch.float32, device=device)
        logit += effect[own]
    labels = torch.rand(n, generator=generator, device=device) < torch.sigmoid(logit)
    return codes, labels.to(torch.int32)


def paces(lay) -> contrastive.Moments:
    """Steps of mu and of theta, as the classifier's defaults."""
    return contrastive.Moments(min(5.0 / lay.n_terms, 1.0 / len(lay.levels)), 1.0 / lay.n_terms)


class Training:
    """Tables of drawn rows, chains and parameters on a device: what `MaxEntClassifier(device=...)` trains."""

    def __init__(self, sizes, n_rows: int, n_chains: int, seed: int, device: str, half: bool = True):
        tables = [*combinations(range(len(sizes)), 2), *((a,) for a in range(len(sizes)))]
        self.layout = lay = loglinear.layout(sizes, tables)
        self.plan = gibbs_device.device_plan(lay, 2, n_chains, device, half=half)
        codes, labels = drawn_rows(sizes, n_rows, 0, device)
        counts, sums = gibbs_device.cell_sums(codes, labels[:, None].float(), self.plan)
        data = steps.project(lay, torch.cat([counts[None], sums]))
        rate = float(labels.float().mean())
        penalty = torch.empty_like(data)
        penalty[0], penalty[1, : lay.n_cells], penalty[1, lay.n_cells :] = PENALTIES[0], PENALTIES[2], PENALTIES[1]
        self.problem = steps.Problem(
            lay, data, torch.ones_like(data), penalty, data + 1.0, torch.tensor([1 - rate, rate], device=device),
            float(n_rows),
        )  # fmt: skip
        params = torch.zeros_like(data)
        log = torch.log(data[0, lay.n_cells :].clamp(min=0.5))
        params[0, lay.n_cells :] = log
        offsets = torch.tensor([0.0, math.log(rate / (1 - rate))], device=device)
        zero = [torch.zeros_like(data) for _ in range(2)]
        self.state = steps.State(params, offsets, params.clone(), offsets.clone(), data.clone(), zero)
        start, label = drawn_rows(sizes, n_chains, seed + 1, device)  # margins of the data, other rows
        shuffled = torch.stack([row[torch.randperm(n_chains, device=device)] for row in start])
        generator = torch.Generator(device=device).manual_seed(seed)
        self.chains = gibbs_device.DeviceChains(shuffled.contiguous(), label, generator)
        self.t, self.scores = 0, []

    def cells(self):
        return steps.spread(self.layout, self.state.params)

    def sweep(self, cells):
        weights = torch.cat([cells[:1], cells[:1] + cells[1:]])
        return gibbs_device.sweep_halves(self.chains, self.plan, weights, cells[1:], self.state.offsets)

    def step(self) -> None:
        """One iteration: sweep, expected tables, update."""
        halves = self.sweep(self.cells())
        pace = steps.Pace(*paces(self.layout), 1.0, True, keep=0.9, first=self.t == 0, share=9.0 / (9.0 + self.t))
        self.scores.append(steps.take_step(self.problem, self.state, halves, pace))
        self.t += 1


def milliseconds(work, device: str, repeats: int = 5) -> float:
    """Mean time of `work` after a warm-up; by device events on a GPU."""
    work()
    if not device.startswith("cuda"):
        begin = time.perf_counter()
        for _ in range(repeats):
            work()
        return 1e3 * (time.perf_counter() - begin) / repeats
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def stages(training: Training, device: str) -> dict[str, float]:
    """Milliseconds of each part of an iteration."""
    cells = training.cells()
    weights = torch.cat([cells[:1], cells[:1] + cells[1:]])
    codes, labels, _ = training.chains
    plan, u = training.plan, torch.rand(len(labels), device=device)
    share = torch.rand((len(labels), 1), device=device)
    return {
        "parameters to cells": milliseconds(training.cells, device),
        "rows of the tables": milliseconds(
            lambda: [gibbs_device.fill_rows(s, weights, plan.kernels) for s in plan.sites], device
        ),
        "redraw of all features": milliseconds(
            lambda: [gibbs_device.redraw(s, codes, labels, u, plan.kernels) for s in plan.sites], device
        ),
        "label scores": milliseconds(lambda: gibbs_device.clique_sums(codes, None, cells[1:], plan), device),
        "expected tables": milliseconds(lambda: gibbs_device.cell_sums(codes, share, plan), device),
        "whole sweep": milliseconds(lambda: training.sweep(cells), device),
        "whole iteration": milliseconds(training.step, device),
    }


def reference(device: str, n_chains: int, seed: int = 0) -> dict[str, float]:
    """A small problem against float64 enumeration: theta after training, and expected cells under its parameters."""
    sizes, n_rows, n_steps, n_sweeps = (4, 3, 5, 6), 200_000, 400, 100
    found, exact = {}, None
    for half in (True, False):
        runs = [Training(sizes, n_rows, n_chains, s, device, half) for s in (seed, seed + 1)]
        lay, problem = runs[0].layout, runs[0].problem
        for run in runs:
            for _ in range(n_steps):
                run.step()
        exact = exact_course(lay, problem, n_steps) if exact is None else exact
        theta = [run.state.mean[1].double().cpu().numpy() for run in runs]
        apart = np.sqrt(np.mean((theta[0] - theta[1]) ** 2) / 2)
        name = "half" if half else "single"
        found[f"theta, rms error, {name}"] = float(np.sqrt(np.mean((0.5 * (theta[0] + theta[1]) - exact) ** 2)))
        found[f"theta, Monte Carlo rms, {name}"] = float(apart / math.sqrt(2))
        cells = runs[0].cells()
        sums, total = 0.0, 0
        for _ in range(n_sweeps):
            for counts, _, m in runs[0].sweep(cells):
                sums, total = sums + counts.double().cpu().numpy(), total + m
        w = cells.double().cpu().numpy()
        log_w = loglinear.log_weights(w[0], w[1:])
        expected = loglinear.enumerate_cells(lay, log_w, runs[0].state.offsets.double().cpu().numpy()).cells.sum(axis=0)
        found[f"cells, largest error, {name}"] = float(np.abs(sums / total - expected).max())
        found[f"cells, standard error, {name}"] = float(np.sqrt(0.25 / total))
    return found


def exact_course(lay, problem, n_steps: int) -> np.ndarray:
    """Theta after the same steps on enumerated moments, in float64 on the CPU."""
    data, penalty = (x.double().cpu().numpy() for x in (problem.data, problem.penalty))
    shares, n, pace = problem.shares.double().cpu().numpy(), problem.n, paces(lay)
    target, cost = contrastive.Moments(data[0], data[1:]), contrastive.Moments(penalty[0], penalty[1:])
    mu, theta, offset = np.zeros(lay.n_params), np.zeros((1, lay.n_params)), np.log(shares[1] / shares[0])
    mu[lay.n_cells :] = np.log(np.maximum(data[0, lay.n_cells :], 0.5))
    mean, usual = theta.copy(), target
    for t in range(n_steps):
        cells = [loglinear.spread(lay, x) for x in (mu, theta)]
        p = loglinear.enumerate_cells(lay, loglinear.log_weights(*cells), np.array([0.0, offset])).cells
        model = contrastive.Moments(n * loglinear.project(lay, p.sum(axis=0)), n * loglinear.project(lay, p[1:]))
        raw = contrastive.gradients(target, model, True)
        slope = contrastive.Moments(raw.counts + 2 * cost.counts * mu, raw.sums + 2 * cost.sums * theta)
        move = contrastive.steps(slope, target, usual, cost, pace)
        mu, theta = mu - move.counts, theta - move.sums
        expected = model.sums[0, : lay.starts[1]].sum() / n
        offset += pace.sums * (shares[1] - expected) / (shares[0] * shares[1]) * 2
        mean += 9.0 / (9.0 + t) * (theta - mean)
        usual = contrastive.Moments(*(0.9 * u + 0.1 * m for u, m in zip(usual, model)))
    return mean[0]


def trained(sizes, options, device: str) -> dict[str, float]:
    """The whole training, timed; and twice a short one, which must be equal."""
    short = []
    for _ in range(2):
        run = Training(sizes, options.rows, options.chains, 3, device)
        for _ in range(5):
            run.step()
        short.append(run.state.params.cpu())
        del run
    found: dict[str, float] = {"same seed, same bits": float(torch.equal(*short))}
    run = Training(sizes, options.rows, options.chains, 1, device)
    found.update({f"ms: {k}": v for k, v in stages(run, device).items()})
    del run
    run = Training(sizes, options.rows, options.chains, 2, device)
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(options.steps):
        run.step()
    scores = torch.stack(run.scores).cpu().numpy()  # waits for the device
    found["seconds of training"] = time.perf_counter() - begin
    found["ms an iteration"] = 1e3 * found["seconds of training"] / options.steps
    if device.startswith("cuda"):
        found["GiB at most"] = torch.cuda.max_memory_allocated() / 2**30
    for t in (0, options.steps // 2, options.steps - 1):
        found[f"misfit at {t + 1}"], found[f"moment error at {t + 1}"] = map(float, scores[t])
    del run
    found |= to_convergence(sizes, options, device, float(scores[-20:, 1].mean()))
    return found


def to_convergence(sizes, options, device: str, settled: float) -> dict[str, float]:
    """Train until the moment error is within 2% of what the fixed number of steps ends with, looking every ten steps.

    The moment error of converged chains is their sampling error, so a training that reaches it has moments that agree.
    """
    run = Training(sizes, options.rows, options.chains, 4, device)
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    begin = time.perf_counter()
    while run.t < options.steps:
        run.step()
        if run.t % 10 == 0 and float(torch.stack(run.scores[-10:])[:, 1].mean()) <= 1.02 * settled:
            break
    seconds = time.perf_counter() - begin
    return {
        "steps to convergence": run.t,
        "seconds to convergence": seconds,
        "moment error there": float(run.scores[-1][1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    gpu = torch.cuda.is_available()
    if not gpu:
        print("No GPU here: a small problem by plain torch operations on the CPU, unless options say otherwise.")
    parser.add_argument("--device", default="cuda" if gpu else "cpu:0")
    parser.add_argument("--chains", type=int, default=1_000_000 if gpu else 500)
    parser.add_argument("--reference-chains", type=int, default=100_000 if gpu else 1000)
    parser.add_argument("--steps", type=int, default=500 if gpu else 30)
    parser.add_argument("--rows", type=int, default=8_000_000 if gpu else 20_000)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES if gpu else (2, 5, 30, 40))))
    parser.add_argument("--json", default=str(Path(__file__).parent / "results" / "gpu_maxent.json"))
    options = parser.parse_args()
    sizes = tuple(int(s) for s in options.sizes.split(","))
    device = options.device
    named = torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"
    found = {"device": named, "torch": torch.__version__, "chains": options.chains, "features": len(sizes)}
    found |= {"levels": sum(sizes), "cells": loglinear.layout(sizes, list(combinations(range(len(sizes)), 2))).n_cells}
    begin = time.perf_counter()
    found |= reference(device, options.reference_chains)
    found["seconds of the reference"] = time.perf_counter() - begin
    found |= trained(sizes, options, device)
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
    wide = max(map(len, found))
    for name, value in found.items():
        print(f"{name:<{wide}}  {value:.4g}" if isinstance(value, float) else f"{name:<{wide}}  {value}")


if __name__ == "__main__":
    main()
