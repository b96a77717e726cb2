"""Classifiers from contingency tables: the paper's tables and figures, speed, and the gap to rows.

Usage: python benchmarks/maxent.py [PART ...] with PART among toy, table4, splits, speed, table5, gibbs, rescale, steps,
triplets, nearest, hashed, xor (default: table4, speed, xor). Needs the public data sets (Adult, Bank) for table4 to
rescale. Prints tables, and writes benchmarks/results/maxent.json. CPU seconds are of one thread.

Preprocessing: "width" is ten bins of equal width with rounded edges, "deciles" ten bins of equal counts
(closed on the right), both learned on the training rows. Adult has its published split; Bank 80 to 20 at random, seed
0 unless said otherwise.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Domain, NotConverged, Tables, datasets, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Levels
from sumwise.maxent import (
    BestPair,
    MaxEntClassifier,
    NaiveBayesTables,
    SampledLogistic,
    SolverOptions,
    skyline,
    trainers,
)
from sumwise.maxent.fitted_model import Schema
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import log_weights, spread
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.training import StepOptions, by_steps, start
from sumwise.metrics import auc, nllh

RESULTS = Path(__file__).parent / "results" / "maxent.json"


class Task(NamedTuple):
    tables: Tables
    train: pd.DataFrame
    y_train: np.ndarray
    test: pd.DataFrame
    y_test: np.ndarray


def load(name: str, bins: str, seed: int = 0) -> Task:
    """Rows of a public data set, split, and the pairwise tables of the training part."""
    if name == "adult":
        data = datasets.adult()
        train, test = data.train.drop(columns="income"), data.test.drop(columns="income")
        y_train, y_test = data.y_train, data.y_test
    else:
        from sklearn.model_selection import train_test_split

        train, test = train_test_split(datasets.bank().frame, test_size=0.2, random_state=seed)
        y_train, y_test = ((part["y"] == "yes").to_numpy().astype(int) for part in (train, test))
        train, test = train.drop(columns="y"), test.drop(columns="y")
    return counted(train, y_train, test, y_test, bins)


def counted(train, y_train, test, y_test, bins: str) -> Task:
    spec = {c: _rule(train[c], bins) for c in train.columns}
    encoding = Encoding.fit(train, spec)
    rows = encoding.transform(train).assign(label=y_train)
    tables = Tables.from_frame(rows, list(encoding.attributes), label="label", domain=encoding.domain)
    tables = Tables(list(tables), tables.domain, label="label", classes=(0, 1), encoding=encoding)
    return Task(tables, train, y_train, test, y_test)


def _rule(column, bins: str):
    if not pd.api.types.is_numeric_dtype(column):
        return "levels"
    low, high = column.min(), column.max()
    if bins == "deciles":  # closed on the right, so that 0 and more than 0 stay apart where most are 0
        edges = np.unique(np.quantile(column, np.arange(1, 10) / 10))
        return np.nextafter(edges[edges < high], np.inf).tolist()
    return sorted({float(round(low + i * (high - low) / 10)) for i in range(1, 10)})


def fitted(model, task: Task, **options):
    """Fit quietly; return the model and the CPU seconds that it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        begin = time.process_time()
        model.fit(task.tables, **options)
        return model, time.process_time() - begin


def score(model, task: Task) -> float:
    return nllh(task.y_test, model.predict_proba(task.test))


def best_skyline(task: Task, penalties=(8.0, 16.0, 32.0, 64.0)) -> tuple[float, float, float]:
    """Best test score over penalties of the pairs (one-way tables at 1), its penalty, and one fit's CPU seconds."""
    found = []
    for penalty in penalties:
        begin = time.process_time()
        model = skyline(task.tables, task.train, task.y_train, (1.0, penalty))
        found.append((score(model, task), penalty, time.process_time() - begin))
    return max(found)


def toy() -> list[dict]:
    """Tables 1 and 2: the toy rows, counted, beside what the paper prints."""
    rows = pd.DataFrame(
        {"1": list("12121"), "2": list("BABBA"), "3": list("abbab"), "label": [1, 1, 0, 1, 0]}
    )  # fmt: skip
    printed = {
        "1A": (1, 0), "1B": (1, 1), "2A": (1, 1), "2B": (2, 1), "1a": (1, 1), "1b": (2, 0), "2a": (1, 0), "2b": (1, 1),
        "Ab": (2, 1), "Ba": (2, 2), "Bb": (1, 0),
    }  # fmt: skip
    out = []
    for table in (t for t in Tables.from_frame(rows, ["1", "2", "3"], label="label") if len(t.attributes) == 2):
        levels = [sorted(set(rows[a])) for a in table.attributes]
        for at in product(*map(range, table.counts.shape)):
            cell = "".join(each[k] for each, k in zip(levels, at))
            if table.counts[at]:
                found = int(table.counts[at]), int(table.label_sums[at])
                out.append(
                    {"features": " and ".join(table.attributes), "cell": cell, "count": found[0], "sum": found[1]}
                )
                out[-1] |= dict(zip(("count, paper", "sum, paper"), printed[cell])) | {"agrees": found == printed[cell]}
    show(out)
    return out


def table4() -> list[dict]:
    """Table 4: test NLLH of the model, its rivals and the skyline; penalties of baselines are picked on test rows."""
    out = []
    for name in ("adult", "bank"):
        for bins in ("width", "deciles"):
            task = load(name, bins)
            model, cpu = fitted(MaxEntClassifier(random_state=0), task)
            top, penalty, top_cpu = best_skyline(task)
            naive = max(score(NaiveBayesTables(penalty=p).fit(task.tables), task) for p in (16, 64, 256, 1024, 4096))
            pair = BestPair().fit(task.tables)
            drawn, _ = fitted(SampledLogistic(MaxEntClassifier(), random_state=0), task)
            out.append(
                {
                    "data": f"{name} {bins}",
                    "maxent": score(model, task),
                    "skyline": top,
                    "naive Bayes": naive,
                    "best pair": score(pair, task),
                    "drawn rows": score(drawn, task),
                    "AUC": auc(task.y_test, model.predict_proba(task.test)),
                    "steps": model.fit_.n_iter,
                    "misfit": model.fit_.history["misfit"][-1],
                    "converged": bool(model.fit_.converged),
                    "cpu_s": cpu,
                    "skyline_cpu_s": top_cpu,
                    "skyline penalty": penalty,
                }
            )
            show(out[-1:], head=len(out) == 1)
    return out


def splits() -> list[dict]:
    """Bank on five splits, the model against the skyline."""
    out = []
    for bins in ("width", "deciles"):
        for seed in range(5):
            task = load("bank", bins, seed)
            model, cpu = fitted(MaxEntClassifier(random_state=0), task)
            top, *_ = best_skyline(task, (32.0, 64.0))
            row = {"bins": bins, "seed": seed, "maxent": score(model, task), "skyline": top, "cpu_s": cpu}
            out.append(row)
            show([row], head=len(out) == 1)
        part = [r for r in out if r["bins"] == bins and r["seed"] != "mean"]
        mean = {k: float(np.mean([r[k] for r in part])) for k in ("maxent", "skyline", "cpu_s")}
        out.append({"bins": bins, "seed": "mean", **mean})
        show(out[-1:], head=False)
    return out


def speed() -> list[dict]:
    """One sweep and one training step on Adult with 10,000 chains, and the CPU time to .420."""
    task = load("adult", "width")
    found = sufficient_statistics(task.tables)
    rng = np.random.default_rng(0)
    chains = gibbs.draw_chains(10_000, [found.margin(a) for a in range(len(found.layout.sizes))], 2, rng)
    warm, _ = fitted(
        MaxEntClassifier(options=SolverOptions(max_iter=30), random_state=0), task
    )  # compiles, and gives weights worth sampling
    theta = spread(found.layout, warm.theta_)
    weights = log_weights(spread(found.layout, warm.mu_), theta)
    plan = gibbs.plan(found.layout)
    sweeps, steps = [], []
    for _ in range(20):
        begin = time.process_time()
        gibbs.sweep(chains, plan, weights, theta, warm.offsets_)
        sweeps.append(time.process_time() - begin)
    for n in (10, 60):
        _, cpu = fitted(MaxEntClassifier(options=SolverOptions(max_iter=n, tol=0.0), random_state=0), task)
        steps.append(cpu)
    model, cpu = fitted(
        MaxEntClassifier(options=SolverOptions(max_iter=150, tol=0.0), random_state=0),
        task,
        held_out=(task.test, task.y_test),
    )
    first = int(np.argmax(np.asarray(model.fit_.history["held_out"]) >= 0.420)) + 1
    per_step = (steps[1] - steps[0]) / 50
    begin = time.process_time()
    skyline(task.tables, task.train, task.y_train)
    one_skyline = time.process_time() - begin
    walls = []
    for jobs in (1, 2):
        start = time.perf_counter()
        fitted(MaxEntClassifier(options=SolverOptions(max_iter=60, tol=0.0), n_jobs=jobs, random_state=0), task)
        walls.append(time.perf_counter() - start)
    out = {
        "sweep_ms": 1000 * float(np.median(sweeps)),
        "sweep_ms_least": 1000 * min(sweeps),
        "step_ms": 1000 * per_step,
        "steps to .420": first,
        "cpu_s to .420": first * per_step,
        "skyline_cpu_s": one_skyline,
        "wall_s 60 steps, 1 thread": walls[0],
        "2 threads": walls[1],
    }
    show([out])
    return [out]


def table5() -> list[dict]:
    """Table 5: penalties of mu and theta on Bank (width), settings of the paper otherwise."""
    task, out = load("bank", "width"), []
    for theta in (1.0, 4.0, 16.0, 64.0):
        row = {"penalty_theta": theta}
        for mu in (1.0, 4.0, 16.0, 64.0):
            model, _ = fitted(
                MaxEntClassifier(
                    (theta, theta),
                    options=SolverOptions(max_iter=150, tol=0.0, penalty_mu=mu),
                    random_state=0,
                ),
                task,
            )
            row[f"mu {mu:g}"] = score(model, task)
        out.append(row)
        show([row], head=len(out) == 1)
    return out


def gibbs_samples(names=("adult", "bank")) -> list[dict]:
    """Figure 1: test NLLH by number of chains, ten seeds."""
    out = []
    for name in names:
        task = load(name, "width")
        for n in (100, 300, 1_000, 3_000, 10_000):
            options, found = SolverOptions(n_chains=n, max_iter=150, tol=0.0), []
            for seed in range(10):
                model, cpu = fitted(MaxEntClassifier(options=options, random_state=seed), task)
                found.append(score(model, task))
            error = float(np.std(found, ddof=1) / np.sqrt(len(found)))
            out.append({"data": name, "chains": n, "NLLH": float(np.mean(found)), "se": error, "seeds": len(found)})
            out[-1]["cpu_s"] = cpu
            show(out[-1:], head=len(out) == 1)
    return out


def training_curves(settings: dict[str, dict], task_of, at=(25, 50, 100, 200), seeds=(0,)) -> list[dict]:
    """Test scores by step, means over seeds of the chains (and of `task_of`), with standard errors."""
    out = []
    for name, options in settings.items():
        held = np.array([training_numbers(options, task_of(seed), max(at), seed) for seed in seeds])
        mean, middle, error = held.mean(axis=0), np.median(held, axis=0), spread_of(held)  # a seed may diverge
        out.append({"setting": name, **{f"step {t}": float(mean[t - 1]) for t in at}})
        show(out[-1:], head=len(out) == 1)
        out[-1]["course"] = [[t, round(float(middle[t - 1]), 5)] for t in (1, 2, *range(5, max(at) + 1, 5))]
        if error is not None:
            out[-1] |= {"seeds": len(held), **{f"error {t}": float(error[t - 1]) for t in at}}
            out[-1] |= {f"median {t}": float(middle[t - 1]) for t in at}
            out[-1]["worse than a constant"] = int((held[:, max(at) - 1] < 0).sum())
            out[-1]["by seed"] = held[:, [t - 1 for t in at]].round(6).tolist()
    return out


def training_numbers(options: dict, task: Task, steps: int, seed: int) -> np.ndarray:
    """Test score after every step of one fit; options of the solver, or lengths of steps that are not averaged."""
    if "step_mu" in options:
        return plain_steps(options, task, steps, seed)
    given = MaxEntClassifier(random_state=seed, options=SolverOptions(max_iter=steps, tol=0.0, **options))
    model, _ = fitted(given, task, held_out=(task.test, task.y_test))
    return np.asarray(model.fit_.history["held_out"], dtype=float)


def plain_steps(lengths: dict, task: Task, steps: int, seed: int) -> np.ndarray:
    """Test score of the last parameters after every step of these lengths."""
    stats, settings, out = sufficient_statistics(task.tables), trainers.Settings(random_state=seed), []
    penalties = trainers.penalties_for(stats, settings, usual_penalties(len(stats.layout.sizes)))
    problem = trainers.Problem(stats, Schema.of(task.tables), penalties, "gibbs")
    score_now = trainers._scorer(problem, (task.test, task.y_test))
    engine = trainers._engine(problem, settings, None)
    how = StepOptions(penalties, **lengths)
    by_steps(stats, engine, how, start(stats), steps, lambda now: out.append(score_now(now.parameters)))
    return np.array(out)


def spread_of(draws: np.ndarray) -> np.ndarray | None:
    """Standard errors of means over draws (first axis)."""
    return draws.std(axis=0, ddof=1) / np.sqrt(len(draws)) if len(draws) > 1 else None


def rescale(seeds=range(10)) -> list[dict]:
    """Figure 2: the rescaled gradient on Adult, with the paper's steps; ten seeds of the chains."""
    settings = {"paper, rescaled": {"preset": "paper"}, "paper, plain": {"preset": "plain"}}
    task = load("adult", "width")
    return gains_by_rescaling(training_curves(settings, lambda _: task, seeds=list(seeds)))


def gains_by_rescaling(out: list[dict]) -> list[dict]:
    """The same rows, with what rescaling gains, paired by seed."""
    for rescaled, plain in zip(out[::2], out[1::2]):
        gain = np.array(rescaled["by seed"]) - np.array(plain["by seed"])  # paired: the same seed
        times = [int(k.split()[1]) for k in plain if k.startswith("step ")]
        for k, t in enumerate(times):
            rescaled[f"gain {t}"] = float(gain[:, k].mean())
            rescaled[f"gain {t} error"] = float(gain[:, k].std(ddof=1) / np.sqrt(len(gain)))
    return out


def ad_shape(seed: int) -> Task:
    """Rows of the challenge's shape, smaller: many levels, strong correlations, rare positives."""
    return halves(
        synthetic.rows(200_000, sizes=[5, 8, 20, 40, 60, 100, 15, 30], rate=0.1, correlation=0.6, random_state=seed)
    )


def small_features() -> Task:
    """Rows with the challenge's twelve features of fewer than 100 levels."""
    sizes = sorted(synthetic.rows(1, preset="adkdd").domain.shape)[:12]
    return halves(synthetic.rows(40_000, sizes=sizes, preset="adkdd", random_state=0))


def halves(made) -> Task:
    """Generated rows: tables of the first half, tested on the second."""
    frame = made.frame()
    names = list(made.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    half = len(frame) // 2
    train, test = frame.iloc[:half], frame.iloc[half:]
    tables = Tables.from_frame(train, names, label=label, domain=made.domain)
    return Task(tables, train[names], train[label].to_numpy(), test[names], test[label].to_numpy())


def steps(seeds=range(10)) -> list[dict]:
    """Figure 3: a larger step on mu, on ten sets of synthetic rows of the challenge's shape."""
    k = 36
    settings = {
        "both 1/K": {"step_theta": 1 / k, "step_mu": 1 / k},
        "mu 5/K": {"step_theta": 1 / k, "step_mu": 5 / k},
        "both 5/K": {"step_theta": 5 / k, "step_mu": 5 / k},
        "ours": {},
    }
    return gains_by_steps(training_curves(settings, ad_shape, at=(25, 50, 100), seeds=list(seeds)))


def gains_by_steps(out: list[dict]) -> list[dict]:
    """The same rows, with what each setting gains over equal steps, paired by data set."""
    equal, *others = out
    for row in others if equal.get("seeds", 1) > 1 else ():
        less = np.array(row["by seed"]) - np.array(equal["by seed"])
        row |= {"gain 25": float(less[:, 0].mean()), "gain 100": float(less[:, -1].mean())}
        row |= {f"gain {t} error": float(e) for t, e in zip((25, 50, 100), spread_of(less)) if t != 50}
    return out


def triplets(first=0) -> list[dict]:
    """Figure 4: model, skyline and naive Bayes on all 220 triplets of twelve features with fewer than 100 levels."""
    task, gaps = small_features(), []
    for triplet in list(combinations(task.tables.domain.attributes, 3))[first:]:
        rows = task.train[list(triplet)].assign(label=task.y_train)
        tables = Tables.from_frame(rows, list(triplet), label="label", domain=task.tables.domain.project(triplet))
        small = Task(tables, task.train[list(triplet)], task.y_train, task.test[list(triplet)], task.y_test)
        model, _ = fitted(MaxEntClassifier((1.0, 4.0)), small)
        top = skyline(tables, small.train, small.y_train, (1.0, 4.0))
        naive = NaiveBayesTables().fit(tables)
        gaps.append([score(m, small) for m in (model, top, naive)])
        if len(gaps) % 20 == 0:
            out = gaps_of(np.array(gaps))
            keep("triplets", [out])
            show([{k: v for k, v in out.items() if k != "points"}], head=len(gaps) == 20)
    return [out]


def gaps_of(found: np.ndarray) -> dict:
    """What Figure 4 shows, of model, rows and naive Bayes."""
    return {
        "triplets": len(found),
        "largest gap to the skyline": float((found[:, 1] - found[:, 0]).max()),
        "mean gap": float((found[:, 1] - found[:, 0]).mean()),
        "largest gap of naive Bayes": float((found[:, 1] - found[:, 2]).max()),
        "points": [dict(zip(("maxent", "rows", "naive Bayes"), map(float, np.round(g, 5)))) for g in found],
    }


NEAREST = {
    "attribution": ([675, 70, 51, 30, 21, 9], {"rate": 0.05, "correlation": 0.3}),
    "raw": ([4, 8, 15, 30, 60, 150, 300], {"preset": "adkdd"}),
    "target encodings": ([4, 8, 15, 30, 60, 150, 300], {"preset": "adkdd"}),
}


OLD = "8ac0552"  # of draws that name no commit


def nearest(seeds=range(10), kinds=tuple(NEAREST)) -> list[dict]:
    """Table 4's rows on Criteo's data, on generated rows: many levels as they are, and as target encodings."""
    for kind, seed in product(kinds, seeds):
        before = json.loads(RESULTS.read_text()).get("nearest draws", []) if RESULTS.exists() else []
        others = [r for r in before if (r["data"], r["seed"]) != (kind, seed)]
        keep("nearest draws", [*others, nearest_draw(kind, seed)])
    return nearest_means(json.loads(RESULTS.read_text())["nearest draws"])


def nearest_draw(kind: str, seed: int) -> dict:
    """The four scores of one generated data set: 60,000 rows to train, 20,000 for encodings, 40,000 to test."""
    sizes, shape = NEAREST[kind]
    made = synthetic.rows(120_000, sizes, **shape, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    train, other, test = frame.iloc[:60_000], frame.iloc[60_000:80_000], frame.iloc[80_000:]
    spec = dict.fromkeys(names, "levels")
    if kind == "target encodings":
        coarse = {"kind": "target", "count_bins": 5, "rate_bins": 10}
        spec |= {a: coarse for a in names if made.domain[a] >= 100}
    encoding = Encoding.fit(frame[[*names, "label"]], spec, label="label", held_out=other)
    rows = encoding.transform(train[names]).assign(label=train["label"].to_numpy())
    tables = Tables.from_frame(rows, names, label="label", domain=encoding.domain)
    tables = Tables(list(tables), tables.domain, label="label", classes=(0, 1), encoding=encoding)
    task = Task(tables, train[names], train["label"].to_numpy(), test[names], test["label"].to_numpy())
    model, cpu = fitted(MaxEntClassifier(random_state=0), task)
    top, penalty, top_cpu = best_skyline(task, (4.0, 16.0, 64.0))
    naive = max(score(NaiveBayesTables(penalty=p).fit(tables), task) for p in (16, 64, 256, 1024))
    row = {"data": kind, "seed": seed, "skyline": top, "maxent": score(model, task), "naive Bayes": naive}
    row |= {"best pair": score(BestPair().fit(tables), task), "cells": sum(t.counts.size for t in tables)}
    row |= {"cpu_s": cpu, "skyline_cpu_s": top_cpu, "skyline penalty": penalty}
    show([row])
    return row | {"commit": run_record()["commit"]}


def nearest_means(draws: list[dict]) -> list[dict]:
    """Means over data sets, and the gap between rows and tables with its standard error."""
    out = []
    for kind in NEAREST:
        here = [r for r in draws if r["data"] == kind]
        row = {"data": kind, "draws": len(here)}
        row |= {
            n: float(np.mean([r[n] for r in here])) for n in ("skyline", "maxent", "naive Bayes", "best pair", "cpu_s")
        }
        gap = np.array([r["skyline"] - r["maxent"] for r in here])
        error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None
        out.append(row | {"gap": float(gap.mean()), "gap error": error})
    return out


HASHED = (4096, 1024, 256, 64)


def hashed(seeds=range(10)) -> list[dict]:
    """Section 4.3: the cross of two features of 40 levels, whole, hashed into fewer cells, and left out; ten seeds."""
    found: dict[str, list] = {}
    for seed in seeds:
        made = synthetic.rows(60_000, [40, 40, 4, 6], rate=0.2, correlation=0.3, random_state=seed)
        frame, names = made.frame(), list(made.domain.attributes)
        train, test, (a, b) = frame.iloc[:30_000], frame.iloc[30_000:], names[:2]
        plain = {n: Levels(n, tuple(range(made.domain[n]))) for n in names}
        whole = aggregate(train, names, label="label", encoding=Encoding(plain))
        rest = [t for t in whole if set(t.attributes) != {a, b}]
        kinds = {
            "all 1,600 cells": whole,
            "no cross": Tables(rest, whole.domain, label="label", encoding=Encoding(plain)),
        }
        for cells in HASHED:
            encoding = Encoding({**plain, "cross": Cross((a, b), cells, 0)})
            cross = aggregate(train, ["cross"], label="label", order=1, encoding=encoding)
            domain = Domain({**{n: made.domain[n] for n in names}, "cross": cells})
            kinds[f"hashed into {cells:,}"] = Tables([*rest, *cross], domain, label="label", encoding=encoding)
        for name, tables in kinds.items():
            task = Task(tables, train[names], train["label"].to_numpy(), test[names], test["label"].to_numpy())
            model, cpu = fitted(MaxEntClassifier(random_state=0), task)
            found.setdefault(name, []).append((score(model, task), cpu))
    out = []
    for name, each in found.items():
        scores, cpu = np.array(each).T
        less = scores - np.array(found["all 1,600 cells"])[:, 0]
        row = {"cross": name, "NLLH": float(scores.mean()), "less than whole": float(less.mean())}
        row |= {"error": float(less.std(ddof=1) / np.sqrt(len(less))), "cpu_s": float(cpu.mean()), "seeds": len(less)}
        out.append(row)
    show(out)
    return out


def xor() -> list[dict]:
    """Section 4.2: predictions for x3 = 0 and x3 = 1; the paper predicts 0.1 and 0.9, the truth is 0.25 and 0.75."""
    example, out = synthetic.xor(100_000, random_state=0), []
    grid = {"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]}
    for engine in ("exact", "gibbs"):
        model = MaxEntClassifier(1e-3, engine=engine, random_state=0).fit(example.tables)
        low, high = model.predict_proba(grid)[:, 1]
        out.append({"engine": engine, "x3 = 0": float(low), "x3 = 1": float(high)})
    top = skyline(example.tables, example.frame(), example.labels, 1e-3).predict_proba(grid)[:, 1]
    out.append({"engine": "rows", "x3 = 0": float(top[0]), "x3 = 1": float(top[1])})
    show(out)
    return out


def show(rows: list[dict], head: bool = True) -> None:
    if head:
        print("  ".join(f"{k:>12}" for k in rows[0]))
    for row in rows:
        cells = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()]
        print("  ".join(f"{c:>{max(12, len(k))}}" for c, k in zip(cells, row)), flush=True)


PARTS = {
    "toy": toy,
    "table4": table4,
    "splits": splits,
    "speed": speed,
    "table5": table5,
    "gibbs": gibbs_samples,
    "rescale": rescale,
    "steps": steps,
    "triplets": triplets,
    "nearest": nearest,
    "hashed": hashed,
    "xor": xor,
}


def keep(name: str, rows: list[dict], made: dict | None = None) -> None:
    """Write the rows of a part and how they were made; what other runs wrote stays."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = rows
    results.setdefault("runs", {})[name] = made or run_record()
    RESULTS.write_text(json.dumps(results, indent=1))


def joined_curves(parts: list[list[dict]]) -> list[dict]:
    """Training curves of other seeds of the same settings, put together."""
    out = []
    for setting in dict.fromkeys(r["setting"] for rows in parts for r in rows):
        rows = [r for part in parts for r in part if r["setting"] == setting]
        by_seed, sizes = np.vstack([r["by seed"] for r in rows]), [r["seeds"] for r in rows]
        times = [int(k.split()[1]) for k in rows[0] if k.startswith("step ")]
        error = spread_of(by_seed)
        course = np.average([[x for _, x in r["course"]] for r in rows], axis=0, weights=sizes)
        row = {"setting": setting} | {f"step {t}": float(x) for t, x in zip(times, by_seed.mean(axis=0))}
        row["course"] = [[t, round(float(x), 5)] for (t, _), x in zip(rows[0]["course"], course)]
        row |= {"seeds": len(by_seed), **{f"error {t}": float(e) for t, e in zip(times, error)}}
        row |= {f"median {t}": float(x) for t, x in zip(times, np.median(by_seed, axis=0))}
        row["worse than a constant"] = int((by_seed[:, -1] < 0).sum())
        out.append(row | {"by seed": by_seed.tolist()})
    return out


def joined_record(runs: list[dict], seeds: int) -> dict:
    """How parts of one result were made."""
    parts = [dict.fromkeys(run[k] for run in runs) for k in ("command", "commit")]
    return {"command": "; ".join(parts[0]), "commit": ", ".join(parts[1]), "seeds": f"0 to {seeds - 1}"}


def merge(paths: list[Path]) -> None:
    """Add the data sets of `nearest`, the seeds of `rescale` and `steps`, and the parts that other machines made."""
    held = json.loads(RESULTS.read_text())
    files = [json.loads(path.read_text()) for path in paths]
    for name, gains in (("rescale", gains_by_rescaling), ("steps", gains_by_steps)):
        parts = [f for f in files if name in f]
        if parts:
            rows = gains(joined_curves([f[name] for f in parts]))
            keep(name, rows, joined_record([f["runs"][name] for f in parts], rows[0]["seeds"]))
    parts = [f for f in files if "gibbs" in f]
    if parts:
        rows = {(r["data"], r["chains"]): r for f in parts for r in f["gibbs"]}
        keep("gibbs", list(rows.values()), joined_record([f["runs"]["gibbs"] for f in parts], 10))
    for found, name in ((f, n) for f in files for n in ("toy", "table4", "table5", "splits", "hashed") if n in f):
        keep(name, found[name], found["runs"][name])
    parts = [f for f in files if "triplets" in f]
    if parts:
        points = [list(p.values()) for f in parts for p in f["triplets"][0]["points"]]
        keep(
            "triplets",
            [gaps_of(np.array(points))],
            joined_record([f["runs"]["triplets"] for f in parts], 1) | {"seeds": "0"},
        )
    if not any("nearest draws" in f for f in files):
        return
    found = {(r["data"], r["seed"]): {"commit": OLD} | r for r in held.get("nearest draws", [])}
    for part in (f for f in files if "nearest draws" in f):
        made = {"commit": part["runs"]["nearest draws"]["commit"]}
        found |= {(r["data"], r["seed"]): made | r for r in part["nearest draws"]}
    draws = [found[key] for key in sorted(found)]
    seeds = sorted({r["seed"] for r in draws})
    made = {"command": "python benchmarks/maxent.py nearest", "seeds": f"{seeds[0]} to {seeds[-1]}"}
    made["commit"] = ", ".join(sorted({r["commit"] for r in draws}))
    keep("nearest draws", draws, made)
    keep("nearest", nearest_means(draws), made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[], metavar="PART")
    parser.add_argument("--seeds", nargs="*", type=int, default=range(10), help="of nearest, hashed, rescale, steps")
    parser.add_argument("--data", nargs="*", default=("adult", "bank"), help="of gibbs")
    parser.add_argument("--kinds", nargs="*", choices=list(NEAREST), default=list(NEAREST), help="of nearest")
    parser.add_argument("--first", type=int, default=0, help="of triplets: those before it are of another run")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="files of other machines; measures nothing")
    given = parser.parse_args()
    if given.merge:
        merge(given.merge)
        return
    for name in given.parts or ["table4", "speed", "xor"]:
        print(f"\n{name}: {PARTS[name].__doc__}")
        if name == "rescale":
            keep(name, rescale(given.seeds))
        elif name == "gibbs":
            keep(name, gibbs_samples(given.data))
        elif name == "nearest":
            keep(name, nearest(given.seeds, given.kinds))
        elif name == "triplets":
            keep(name, triplets(given.first))
        else:
            keep(name, PARTS[name](given.seeds) if name in ("hashed", "steps") else PARTS[name]())


if __name__ == "__main__":
    main()
