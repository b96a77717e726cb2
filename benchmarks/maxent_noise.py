"""Classifiers from noisy tables: settings chosen without rows, noise, unlabelled rows.

Usage: python benchmarks/maxent_noise.py [PART ...] [--fresh] with PART among settings, noise, long, coverage, rows
(default: settings and rows). Needs the public data sets (Adult, Bank) for all but coverage. Prints tables, and writes
benchmarks/results/maxent_noise.json line by line: interrupted, settings, noise, long and coverage go on where they
were.
Scores are NLLH on test rows, which choose nothing but the column that says so. CPU seconds are of one thread.

Noise is drawn for simulation. "Laplace, epsilon" has the scale T / epsilon on counts and on label sums of each of T
tables, that is, a budget of epsilon for the counts and as much for the label sums.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from maxent import Task, fitted, load, score, show
from sumwise import NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, can_support
from sumwise.noise import Gaussian, Geometric, Laplace

RESULTS = Path(__file__).parent / "results" / "maxent_noise.json"
GRID = (24.0, 48.0, 96.0)


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
    out: dict[str, tuple] = {"Gaussian, sd 80 on 105 tables (the peers' epsilon 1)": (Gaussian(80.0), True)}
    out["Gaussian, sd 17 on 105 tables (the peers' epsilon 5)"] = (Gaussian(17.0), True)
    out["Gaussian, sd 17"] = (Gaussian(17.0), False)
    for e in (1.0, 5.0, 0.1, 10.0, 0.5):
        out[f"Laplace, epsilon {e:g}"] = (Laplace(k / e), False)
    for e in (1.0, 5.0, 0.1, 10.0, 0.5):
        out[f"geometric, epsilon {e:g}"] = (Geometric(k / e), False)
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


def noise() -> list[dict]:
    """Adult, equal width: noise weighed, or noisy tables taken for exact ones, as told or clipped.

    "chosen": penalties from the tables alone, by the same rule on either side. Runs are short (3,000 chains, 100
    steps); cells that the results hold already are not run again.
    """
    task, out = load("adult", "width"), earlier("noise", "noise")
    quick: dict[str, Any] = {"n_chains": 3000, "max_iter": 100, "random_state": 0}
    for name, (kind, singles) in kinds(len(task.tables)).items():
        if name in {line["noise"] for line in out}:
            continue
        tables = noisy(with_singles(task.tables) if singles else task.tables, kind, 0)
        here, cut = Task(tables, *task[1:]), Task(clipped(tables), *task[1:])
        naive = {**quick, "noise": "ignore"}
        chosen, cpu = fitted(MaxEntClassifier("auto", **quick), here)
        out.append(
            {
                "noise": name,
                "weighed, chosen": score(chosen, task),
                "as exact, chosen": score(fitted(MaxEntClassifier("auto", **naive), here)[0], task),
                "clipped, chosen": score(fitted(MaxEntClassifier("auto", **naive), cut)[0], task),
                "clipped, penalty 200": score(fitted(MaxEntClassifier(200.0, **naive), cut)[0], task),
                "weighed": score(fitted(MaxEntClassifier(**quick), here)[0], task),
                "as exact": score(fitted(MaxEntClassifier(**naive), here)[0], task),
                "penalty 1": chosen.penalty_theta_[0],
                "penalty 2": chosen.penalty_theta_[1],
                "noise of levels": can_support(tables).noise_one_way,
                "cpu_s": cpu,
            }
        )
        show(out[-1:], head=len(out) == 1)
        keep("noise", out)
    return out


def long() -> list[dict]:
    """Adult, equal width, at the sampler's default settings: weighed, penalties chosen from the tables alone."""
    task, out = load("adult", "width"), earlier("long", "noise")
    for name, (kind, singles) in list(kinds(len(task.tables)).items())[:5]:
        if name in {line["noise"] for line in out}:
            continue
        tables = noisy(with_singles(task.tables) if singles else task.tables, kind, 0)
        model, cpu = fitted(MaxEntClassifier("auto", random_state=0), Task(tables, *task[1:]))
        one, two = model.penalty_theta_
        out.append({"noise": name, "NLLH": score(model, task), "penalty 1": one, "penalty 2": two, "cpu_s": cpu})
        show(out[-1:], head=len(out) == 1)
        keep("long", out)
    return out


def coverage() -> list[dict]:
    """95% intervals on a larger model, eight features of 5 to 10 levels, 20,000 people: how often they hold the truth.

    Rows are drawn from a known model of pairs, the truth is its P(label | x). Penalties are small, since intervals
    don't cover what penalties take away, except in the lines that say default.
    """
    out = earlier("coverage", "case")
    base = synthetic.rows(20_000, sizes=COVERED, rate=0.3, correlation=0.4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        truth = MaxEntClassifier(n_chains=4000, max_iter=120, random_state=0).fit(base.tables())
        for case, (penalty, kind) in CASES.items():
            if case in {line["case"] for line in out}:
                continue
            found = [_covered(truth, penalty, kind, seed) for seed in range(3)]
            line = {k: float(np.mean([f[k] for f in found])) for k in found[0]}
            out.append({"case": case, **line})
            show(out[-1:], head=len(out) == 1)
            keep("coverage", out)
    return out


COVERED = [5, 6, 7, 8, 9, 10, 5, 6]
CASES = {
    "exact, small penalties": ((0.1, 1.0), None),
    "exact, default penalties": (None, None),
    "Gaussian 20, small penalties": ((0.1, 1.0), Gaussian(20.0)),
    "Gaussian 20, default penalties": (None, Gaussian(20.0)),
}


def _covered(truth, penalty, kind, seed: int) -> dict[str, float]:
    """Share of 2,000 people, drawn from the truth, whose probability is within its interval; of main effects too."""
    names = list(truth.domain_.attributes)
    frame = truth.sample(20_000, random_state=seed)
    label = next(c for c in frame.columns if c not in names)
    tables = Tables.from_frame(frame, names, label=label, domain=truth.domain_)
    tables = tables if kind is None else noisy(tables, kind, seed)
    people = truth.sample(2_000, random_state=100 + seed)[names]
    model = MaxEntClassifier(penalty, n_chains=4000, max_iter=120, random_state=seed).fit(tables)
    model.bootstrap(tables, n=20, random_state=seed)
    low, high = model.predict_interval(people)
    real = truth.predict_proba(people)[:, 1]
    inside = (low[:, 1] <= real) & (real <= high[:, 1])
    return {"covered": float(inside.mean()), "width": float(np.mean(high[:, 1] - low[:, 1]))}


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


PARTS = {"settings": settings, "noise": noise, "long": long, "coverage": coverage, "rows": rows}


def main() -> None:
    for name in [a for a in sys.argv[1:] if a != "--fresh"] or ["settings", "rows"]:
        print(f"\n{name}: {PARTS[name].__doc__}")
        keep(name, PARTS[name]())


if __name__ == "__main__":
    main()
