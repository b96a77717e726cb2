"""CountLoss on a GPU and on the CPU: seconds of one loss with its gradient in the logits.

    python benchmarks/gpu_counts.py

Bags of two classes, normal logits in single precision that are where they are used, counts and sizes as arrays. The CPU
takes as many threads as Numba does by default; `cpu_s` are its seconds over all threads. `error` is the largest
difference of the GPU's gradient to the CPU's from the same logits, relative to the largest entry. `step` is a step of
training a network of two hidden layers of 64 on 20 features under this loss, by Adam.
Writes benchmarks/results/gpu_counts.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from run_record import run_record

from sumwise.proportions import CountLoss

RESULTS = Path(__file__).parent / "results" / "gpu_counts.json"
SHAPES = [(10_000, 100), (100, 10_000), (1, 1_000_000)]
REPEATS = 7


def timed(work, device):
    """Least seconds by the clock and over all threads, after a first call."""
    work()
    clock, cpu = [], []
    for _ in range(REPEATS):
        begin = time.perf_counter(), time.process_time()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        clock.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
    return min(clock), min(cpu)


def loss(logits, counts, sizes):
    """One loss and its gradient."""
    logits.grad = None
    CountLoss()(logits, counts, sizes).backward()
    return logits.grad


def training(values, counts, sizes):
    """A step of training a network."""
    layers = [
        torch.nn.Linear(20, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    ]
    network = torch.nn.Sequential(*layers).to(values.device)
    optimiser = torch.optim.Adam(network.parameters())

    def step():
        optimiser.zero_grad()
        CountLoss()(network(values), counts, sizes).backward()
        optimiser.step()

    return step


def measured(n_bags, size, device):
    """Seconds on the CPU and on the device, and how far gradients are apart."""
    rng = np.random.default_rng(0)
    drawn = torch.as_tensor(rng.normal(size=n_bags * size).astype(np.float32))
    values = torch.as_tensor(rng.normal(size=(n_bags * size, 20)).astype(np.float32))
    counts, sizes = rng.binomial(size, 0.4, n_bags), np.full(n_bags, size)
    row, gradients = {"bags": n_bags, "size": size}, {}
    for name, place in (("cpu", "cpu"), ("gpu", device)):
        logits = drawn.to(place).detach().clone().requires_grad_()
        seconds, cpu = timed(lambda x=logits: loss(x, counts, sizes), place)
        gradients[name] = loss(logits, counts, sizes).cpu().numpy()
        row[f"{name}_wall_s"] = seconds
        if name == "cpu":
            row["cpu_s"] = cpu
        row[f"{name}_step_wall_s"] = timed(training(values.to(place), counts, sizes), place)[0]
    apart = np.abs(gradients["cpu"] - gradients["gpu"]).max() / np.abs(gradients["cpu"]).max()
    return row | {"ratio": row["cpu_wall_s"] / row["gpu_wall_s"], "one_core_ratio": row["cpu_s"] / row["gpu_wall_s"],
                  "step_ratio": row["cpu_step_wall_s"] / row["gpu_step_wall_s"], "error": float(apart)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bags", type=int, help="of 100, in place of the three shapes")
    args = parser.parse_args()
    rows = []
    for shape in [(args.bags, 100)] if args.bags else SHAPES:
        rows.append(measured(*shape, args.device))
        print(rows[-1], flush=True)
    kind = torch.cuda.get_device_name() if args.device == "cuda" else args.device
    threads = {"torch": torch.get_num_threads()}
    RESULTS.write_text(
        json.dumps({**run_record(seeds=[0]), "device": kind, "threads": threads, "rows": rows}, indent=1)
    )


if __name__ == "__main__":
    main()
