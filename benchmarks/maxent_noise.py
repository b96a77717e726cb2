"""Classifiers from noisy tables: settings chosen without rows, noise, unlabelled rows.

Usage: python benchmarks/maxent_noise.py [PART ...] [--fresh] with PART among settings, noise, clipping, long, rows
(default: settings and rows). Needs the public data sets (Adult, Bank). Prints tables, and writes
benchmarks/results/maxent_noise.json as it goes: interrupted, all but rows go on where they were.
Scores are NLLH on test rows, which choose nothing but the column that says so. CPU seconds are of one thread.

Noise is drawn for simulation. "Laplace, epsilon" has the scale T / epsilon on counts and on label sums of each of T
tables, that is, a budget of epsilon for the counts and as much for the label sums.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from maxent import Task, fitted, load, score, show
from sumwise import Table, Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.noise import Gaussian, Geometric, Laplace

RESULTS = Path(__file__).parent / "results" / "maxent_noise.json"
GRID = (24.0, 48.0, 96.0)
WAYS = ("weighed", "as exact", "weighed, chosen", "as exact, chosen")


def settings() -> list[dict]:
    """Penalties chosen from tables alone, against the best of a grid on test rows."""
    out = earlier("settings", "data")
    for name, bins in (("adult", "width"), ("bank", "deciles"), ("bank", "width"), ("adult", "deciles")):
        if f"{name} {bins}" in {line["data"] for line in out}:
            continue
        task = load(name, bins)
        model, cpu = fitted(MaxEntClassifier("auto", random_state=0), task)
        on_rows = {p: score(fitted(MaxEntClassifier((1.0, p), random_state=0), task)[0], task) for p in GRID}
        best = max(on_rows, key=lambda p: on_rows[p])
        out.append(
            {
                "data": f"{name} {bins}",
                "from tables": score(model, task),
                "penalty 1": model.penalty_theta_[0],
                "penalty 2": model.penalty_theta_[1],
                "best on test rows": on_rows[best],
                "its penalty": best,
                "cpu_s": cpu,
            }
        )
        show(out[-1:], head=len(out) == 1)
        keep("settings", out)
    return out


def noisy(tables: Tables, noise, seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(made, tables.domain, label=tables.label, classes=tables.classes, encoding=tables.encoding)


def clipped(tables: Tables) -> Tables:
    """Counts from 0 up and label sums from 0 to the count: what people do who take noisy tables for exact ones."""
    made = []
    for t in tables:
        counts = np.maximum(t.counts, 0.0)
        made.append(Table(t.attributes, counts, np.clip(np.asarray(t.label_sums), 0.0, counts), Gaussian(1e6)))
    return Tables(made, tables.domain, label=tables.label, classes=tables.classes, encoding=tables.encoding)


def kinds(k: int) -> dict[str, tuple]:
    """Noise by name, and whether one-way tables are told besides pairs; k: number of pairs.

    "the peers'" is the calibration behind the figures .387 and .410 in the documentation: one-way and pair tables,
    counts and label sums all told, Gaussian for epsilon and delta = 1e-7 by the bound of arXiv 1911.12060.
    """
    out: dict[str, tuple] = {"Gaussian, sd 17": (Gaussian(17.0), False)}
    for e in (10.0, 1.0, 5.0, 0.1, 0.5):
        out[f"Laplace, epsilon {e:g}"] = (Laplace(k / e), False)
    for e in (10.0, 1.0, 5.0, 0.1, 0.5):
        out[f"geometric, epsilon {e:g}"] = (Geometric(k / e), False)
    out["Gaussian, sd 80 on 105 tables (the peers' epsilon 1)"] = (Gaussian(80.0), True)
    out["Gaussian, sd 17 on 105 tables (the peers' epsilon 5)"] = (Gaussian(17.0), True)
    return out


def with_singles(tables: Tables) -> Tables:
    """The pairs, and each attribute alone."""
    alone = []
    for a in tables.domain.attributes:
        home = next(t for t in tables if a in t.attributes)
        away = tuple(i for i, b in enumerate(home.attributes) if b != a)
        sums = np.asarray(home.label_sums).sum(axis=away)
        alone.append(Table(a, home.counts.sum(axis=away), sums))
    return tables.with_tables([*tables, *alone])


def noise(told: str = "noise", columns: Sequence[str] = WAYS) -> list[dict]:
    """Adult, equal width: noise weighed, or noisy tables taken for exact ones, at default penalties and chosen ones.

    "chosen": penalties from the tables alone, by the same rule on either side. Runs are short (3,000 chains, 100
    steps), about a minute of CPU for each line; scores that the results hold already are not measured again.
    """
    task, out = load("adult", "width"), earlier(told, "noise")
    lines, there = {line["noise"]: line for line in out}, kinds(len(task.tables))
    for name, column in [(n, c) for some in (columns[:2], columns[2:]) for n in there for c in some]:
        line = lines.setdefault(name, {"noise": name})
        if column in line:
            continue
        kind, singles = there[name]
        tables = noisy(with_singles(task.tables) if singles else task.tables, kind, 0)
        line |= _short(column, Task(clipped(tables) if "clipped" in column else tables, *task[1:]))
        show([{"column": column, **line}], head=True)
        keep(told, list(lines.values()))
    return list(lines.values())


def _short(column: str, task: Task) -> dict[str, float]:
    """The score of one short run, its CPU seconds and, where they are chosen, the penalties."""
    penalty = "auto" if "chosen" in column else 200.0 if "200" in column else None
    way = "aware" if "weighed" in column else "ignore"
    model, cpu = fitted(
        MaxEntClassifier(penalty, options=SolverOptions(noise=way, n_chains=3000, max_iter=100), random_state=0), task
    )
    out = {column: score(model, task), f"{column} cpu_s": cpu}
    if penalty == "auto":
        out |= {f"{column} penalty {k}": p for k, p in enumerate(model.penalty_theta_, start=1)}
    return out


def clipping() -> list[dict]:
    """The same on tables that were clipped to possible counts, at default penalties, chosen ones, and 200."""
    return noise("clipping", ("clipped", "clipped, chosen", "clipped, penalty 200"))


def long() -> list[dict]:
    """Adult, equal width, at the sampler's default settings: weighed, penalties chosen from the tables alone."""
    task, out = load("adult", "width"), earlier("long", "noise")
    for name, (kind, singles) in reversed(kinds(len(task.tables)).items()):
        if name in {line["noise"] for line in out}:
            continue
        tables = noisy(with_singles(task.tables) if singles else task.tables, kind, 0)
        model, cpu = fitted(MaxEntClassifier("auto", random_state=0), Task(tables, *task[1:]))
        one, two = model.penalty_theta_
        out.append({"noise": name, "NLLH": score(model, task), "penalty 1": one, "penalty 2": two, "cpu_s": cpu})
        show(out[-1:], head=len(out) == 1)
        keep("long", out)
    return out


def earlier(part: str, key: str) -> list[dict]:
    """Lines of a part that earlier runs left; `--fresh` forgets them."""
    if "--fresh" in sys.argv or not RESULTS.exists():
        return []
    out = [line for line in json.loads(RESULTS.read_text()).get(part, []) if key in line]
    show(out, head=True) if out else None
    return out


def keep(part: str, lines: list[dict]) -> None:
    """Write the lines of a part, other parts as they are."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**results, part: lines}, indent=1))


def rows() -> list[dict]:
    """Adult, equal width: unlabelled rows in place of the model of x."""
    task, out = load("adult", "width"), []
    order = np.random.default_rng(0).permutation(len(task.train))
    for m in (500, 2_000, 8_000, 32_000):
        model, cpu = fitted(MaxEntClassifier(), task, rows=task.train.iloc[order[:m]])
        out.append({"rows": m, "NLLH": score(model, task), "cpu_s": cpu})
        show(out[-1:], head=len(out) == 1)
    return out


PARTS = {"settings": settings, "noise": noise, "clipping": clipping, "long": long, "rows": rows}


def main() -> None:
    for name in [a for a in sys.argv[1:] if a != "--fresh"] or ["settings", "rows"]:
        print(f"\n{name}: {PARTS[name].__doc__}")
        keep(name, PARTS[name]())


if __name__ == "__main__":
    main()
