"""A study of the shape of Criteo-AdKDD: 80 million rows to pairwise tables to a classifier, against one that sees rows.

Usage: python benchmarks/adkdd_study.py [--rows 80000000] [--sample 1000000] [--test 500000] [--rate 0.01]
                                        [--chains 1000000] [--steps 500] [--device cuda] [--json PATH]

Rows are `synthetic.rows(preset="adkdd")`: 19 features of 3 to 1,000 levels, strongly correlated, a rare label, pairwise
interactions. They are streamed through `aggregate`'s counter in chunks (and, where DuckDB is installed, the first ones
through `aggregate` itself, which must agree). The classifier sees the tables alone. The skyline is a logistic
regression on all cells of all pairs, with the same penalties, fitted by L-BFGS to the rows themselves: to a sample, and
to all. Penalties are the classifier's defaults; nothing is chosen on the test rows, which come after the training rows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np

from sumwise import NotConverged, Table, Tables, synthetic
from sumwise.aggregate.counters import Counter
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.metrics import auc, nllh

CHUNK = 2**20
PENALTIES = (1.0, 48.0)  # of one-way tables and of pairs


def chunk(spec: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Codes (D, m) and labels (m,) of some rows."""
    options, begin, end = spec
    codes, labels, _ = synthetic.rows(**options).take(begin, end)
    return np.ascontiguousarray(codes.T).astype(np.int16), labels.astype(np.int8)


def counted(data, options: dict, n: int, keep: int):
    """Tables of rows 0 to n, counted as they go by; the first `keep` rows' codes and labels; seconds."""
    begin, domain = time.perf_counter(), data.domain
    subsets = list(combinations(range(len(domain)), 2))
    counter = Counter(subsets, list(domain.shape))
    specs = [(options, b, min(n, b + CHUNK)) for b in range(0, n, CHUNK)]
    kept, counting = [], 0.0
    with multiprocessing.get_context("fork").Pool(max(1, (os.cpu_count() or 2) - 1)) as pool:
        for spec, (codes, labels) in zip(specs, pool.imap(chunk, specs)):
            start = time.perf_counter()
            counter.add(list(codes), labels)
            counting += time.perf_counter() - start
            if spec[1] < keep:
                kept.append((codes[:, : keep - spec[1]], labels[: keep - spec[1]]))
    names = domain.attributes
    cells = zip(subsets, counter.tables())
    found = [Table(tuple(names[a] for a in s), counts, label_sums=sums) for s, (counts, sums) in cells]
    tables = Tables(found, domain, label="label", classes=(0, 1))
    rows = tuple(np.concatenate(parts, axis=-1) for parts in zip(*kept))
    return tables, rows, {"seconds to draw and count": time.perf_counter() - begin, "of which counting": counting}


def agrees_with_aggregate(data, n: int) -> bool | None:
    """Whether `aggregate` on DuckDB counts the same, of the first n rows; None where DuckDB isn't installed."""
    if importlib.util.find_spec("duckdb") is None or importlib.util.find_spec("pyarrow") is None:
        return None
    from sumwise.aggregate import aggregate

    frame = next(data.chunks(n))
    names = list(data.domain.attributes)[:4]
    found = aggregate(frame, names, label="label")
    mine = Tables.from_frame(frame, names, label="label")
    return all(np.array_equal(found[t.attributes].counts, t.counts) for t in mine)


def skyline(domain, codes: np.ndarray, labels: np.ndarray, device: str, max_eval: int):
    """Logistic regression on all cells of all pairs, by L-BFGS on the rows; returns (codes) -> probabilities."""
    import torch

    from sumwise.maxent.kernels import contrastive_device, gibbs_device
    from sumwise.maxent.kernels.loglinear import layout

    d, n = codes.shape
    lay = layout(domain.shape, [*combinations(range(d), 2), *((a,) for a in range(d))])
    plan = gibbs_device.device_plan(lay, 2, 16, device)  # for its cells alone
    x, y = torch.as_tensor(codes, device=device), torch.as_tensor(labels, device=device).float()
    parts = [slice(b, min(n, b + 4 * CHUNK)) for b in range(0, n, 4 * CHUNK)]
    penalty = torch.full((lay.n_params,), PENALTIES[0], device=device)
    penalty[: lay.n_cells] = PENALTIES[1]
    sums = sum(gibbs_device.cell_sums(x[:, p], y[p, None], plan)[1].double() for p in parts)
    target = contrastive_device.project(lay, sums.float())[0]
    root = torch.cat([target.add(2 * penalty).sqrt(), y.sum()[None].sqrt()])
    u = torch.zeros(lay.n_params + 1, device=device)
    u[-1] = root[-1] * torch.log(y.mean() / (1 - y.mean()))
    u.requires_grad_(True)

    def closure():
        theta, offset = (u.detach() / root)[:-1], (u.detach() / root)[-1]
        cells = contrastive_device.spread(lay, theta[None])
        loss, expected, total = torch.zeros((), dtype=torch.float64, device=device), 0.0, 0.0
        for p in parts:
            z = gibbs_device.clique_sums(x[:, p], None, cells, plan)[:, 0] + offset
            loss += (torch.nn.functional.softplus(z) - y[p] * z).double().sum()
            share = torch.sigmoid(z)
            total += (share - y[p]).double().sum()
            expected = expected + gibbs_device.cell_sums(x[:, p], share[:, None], plan)[1]
        slope = contrastive_device.project(lay, expected)[0] - target + 2 * penalty * theta
        loss += (penalty * theta.square()).double().sum()
        u.grad = torch.cat([slope, total.float()[None]]) / root
        return loss

    options = {"max_iter": max_eval, "max_eval": max_eval, "history_size": 10, "line_search_fn": "strong_wolfe"}
    optimiser = torch.optim.LBFGS([u], tolerance_grad=1e-2, tolerance_change=1e-9, **options)
    optimiser.step(closure)
    final = u.detach() / root

    def probabilities(rows: np.ndarray) -> np.ndarray:
        cells = contrastive_device.spread(lay, final[None, :-1])
        z = gibbs_device.clique_sums(torch.as_tensor(rows, device=device), None, cells, plan)[:, 0] + final[-1]
        return torch.sigmoid(z.double()).cpu().numpy()

    return probabilities, optimiser.state[u]["func_evals"]


def has_gpu() -> bool:
    """Asked in a process of its own: one that has begun to use the GPU may not fork, and rows are drawn by forks."""
    code = "import torch; raise SystemExit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    gpu = has_gpu()
    if not gpu:
        print("No GPU here: few rows of few features on the CPU, unless options say otherwise.")
    full = {"rows": 80_000_000, "sample": 1_000_000, "test": 500_000, "chains": 1_000_000, "steps": 500}
    small = {"rows": 200_000, "sample": 50_000, "test": 50_000, "chains": 1000, "steps": 60}
    for name, default in (full if gpu else small).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--evaluations", type=int, default=70 if gpu else 15)
    parser.add_argument("--rate", type=float, default=0.01 if gpu else 0.1)
    parser.add_argument("--device", default="cuda" if gpu else "cpu:0")
    sizes = {"default": None if gpu else "3,5,8,10,12", "help": "levels of each feature, in place of the preset's"}
    parser.add_argument("--sizes", **sizes)
    parser.add_argument("--json", default=str(Path(__file__).parent / "results" / "adkdd_study.json"))
    given = parser.parse_args()
    sizes = None if given.sizes is None else [int(s) for s in given.sizes.split(",")]
    options = {"n": given.rows + given.test, "preset": "adkdd", "rate": given.rate, "random_state": 0, "sizes": sizes}
    data = synthetic.rows(**options)
    tables, (codes, labels), spent = counted(data, options, given.rows, given.rows)
    spent["first rows agree with aggregate"] = agrees_with_aggregate(data, min(given.rows, 100_000))
    test, y, truth = data.take(given.rows, given.rows + given.test)
    frame = {a: test[:, j] for j, a in enumerate(data.domain.attributes)}
    spent |= {"rows": given.rows, "cells": sum(t.counts.size for t in tables), "positives": float(labels.mean())}
    out = [score("true probabilities", y, truth, 0.0)]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        model = MaxEntClassifier(
            PENALTIES,
            engine="gibbs",
            options=SolverOptions(n_chains=given.chains, max_iter=given.steps),
            device=given.device,
            random_state=0,
        ).fit(tables)
    seconds = time.perf_counter() - begin
    spent |= {"steps": model.fit_.n_iter, "converged": bool(model.fit_.converged), "misfit": model.fit_.objective}
    out.append(score(f"maximum entropy, tables of {given.rows:,} rows", y, model.predict_proba(frame)[:, 1], seconds))
    for n in dict.fromkeys((given.sample, given.rows)):
        begin = time.perf_counter()
        predict, evaluations = skyline(data.domain, codes[:, :n], labels[:n], given.device, given.evaluations)
        p = predict(np.ascontiguousarray(test.T).astype(np.int16))
        out.append(score(f"logistic on {n:,} rows", y, p, time.perf_counter() - begin, evaluations))
    path = Path(given.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"data": spent, "scores": out}, indent=1))
    for name, value in spent.items():
        print(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
    print(f"{'':<44} {'NLLH':>8} {'AUC':>8} {'seconds':>8} {'passes':>7}")
    for row in out:
        print(f"{row['model']:<44} {row['NLLH']:8.5f} {row['AUC']:8.5f} {row['seconds']:8.1f} {row['passes']:7}")


def score(name: str, y: np.ndarray, p: np.ndarray, seconds: float, passes: int = 0) -> dict:
    return {"model": name, "NLLH": nllh(y, p), "AUC": auc(y, p), "seconds": seconds, "passes": passes}


if __name__ == "__main__":
    main()
