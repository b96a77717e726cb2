"""Classifiers from noisy tables: settings chosen without rows, noise, unlabelled rows, large features.

Usage: python benchmarks/maxent_noise.py [PART ...] with PART among settings, noise, rows, large (default: settings and
rows). Needs the public data sets (Adult, Bank) for all but large. Prints tables, and writes
benchmarks/results/maxent_noise.json.
Scores are NLLH on test rows, which choose nothing but the column that says so. CPU seconds are of one thread.

Noise is drawn for simulation. "Laplace, epsilon" has the scale T / epsilon on counts and on label sums of each of T
tables, that is, a budget of epsilon for the counts and as much for the label sums.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from maxent import Task, fitted, load, score, show
from sumwise import Domain, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, can_support, drop_tied
from sumwise.noise import Gaussian, Geometric, Laplace

RESULTS = Path(__file__).parent / "results" / "maxent_noise.json"
GRID = (12.0, 24.0, 48.0, 96.0)


def settings() -> list[dict]:
    """Penalties chosen from tables alone, against the best of a grid on test rows."""
    out = []
    for name, bins in (("adult", "width"), ("bank", "deciles"), ("bank", "width"), ("adult", "deciles")):
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
        made.append(Table(t.attributes, counts, np.clip(t.label_sums, 0.0, counts), Gaussian(1e6)))
    return Tables(made, tables.domain, label=tables.label, classes=tables.classes, encoding=tables.encoding)


def noise() -> list[dict]:
    """Adult, equal width: noise weighed, ignored, or clipped; default penalties, and chosen without rows."""
    task, out = load("adult", "width"), []
    k = len(task.tables)
    kinds = {f"Laplace, epsilon {e:g}": Laplace(k / e) for e in (0.1, 1.0, 5.0, 10.0)}
    kinds |= {"geometric, epsilon 1": Geometric(k), "Gaussian, sd 17": Gaussian(17.0)}
    quick = {"n_chains": 5000, "max_iter": 150, "random_state": 0}
    for name, kind in kinds.items():
        tables = noisy(task.tables, kind, 0)
        here = Task(tables, *task[1:])
        cut = Task(clipped(tables), *task[1:])
        chosen, cpu = fitted(MaxEntClassifier("auto", **quick), here)
        out.append(
            {
                "noise": name,
                "aware": score(fitted(MaxEntClassifier(**quick), here)[0], task),
                "ignored": score(fitted(MaxEntClassifier(noise="ignore", **quick), here)[0], task),
                "clipped": score(fitted(MaxEntClassifier(noise="ignore", **quick), cut)[0], task),
                "clipped, penalty 200": score(fitted(MaxEntClassifier(200.0, noise="ignore", **quick), cut)[0], task),
                "aware, chosen": score(chosen, task),
                "penalty 1": chosen.penalty_theta_[0],
                "penalty 2": chosen.penalty_theta_[1],
                "noise of levels": can_support(tables).noise_one_way,
                "cpu_s": cpu,
            }
        )
        show(out[-1:], head=len(out) == 1)
    return out


def rows() -> list[dict]:
    """Adult, equal width: unlabelled rows in place of the model of x."""
    task, out = load("adult", "width"), []
    order = np.random.default_rng(0).permutation(len(task.train))
    for m in (500, 2_000, 8_000, 32_000):
        model, cpu = fitted(MaxEntClassifier(), task, rows=task.train.iloc[order[:m]])
        out.append({"rows": m, "NLLH": score(model, task), "cpu_s": cpu})
        show(out[-1:], head=len(out) == 1)
    return out


def twins(n: int, levels: int, seed: int = 0) -> Task:
    """Twelve features, and two of many levels that agree up to names in 95% of rows; the label depends on one."""
    made = synthetic.rows(2 * n, sizes=[*[4, 6, 8] * 4, levels], rate=0.2, correlation=0.3, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    rng = np.random.default_rng(seed)
    big = frame[names[-1]].to_numpy()
    same = rng.random(len(big)) < 0.95
    frame["twin"] = np.where(same, rng.permutation(levels)[big], rng.permutation(levels)[rng.permutation(big)])
    names.append("twin")
    domain = Domain({**{a: made.domain[a] for a in names[:-1]}, "twin": levels})
    train, test = frame.iloc[:n], frame.iloc[n:]
    tables = Tables.from_frame(train, names, label=label, domain=domain)
    return Task(tables, train[names], train[label].to_numpy(), test[names], test[label].to_numpy())


def large() -> list[dict]:
    """Two features of 1,000 levels that nearly agree, among twelve others: with none, one, both, and by `drop_tied`."""
    task, out = twins(100_000, 1_000), []
    names = list(task.tables.domain.attributes)
    chosen = list(drop_tied(task.tables).domain.attributes)
    for kept, told in ((names[:-2], "neither"), (names[:-1], "one"), (chosen, "drop_tied"), (names, "both")):
        tables = [t for t in task.tables if set(t.attributes) <= set(kept)]
        part = Tables(tables, task.tables.domain.project(kept), classes=(0, 1))
        model, cpu = fitted(MaxEntClassifier(n_chains=5000, max_iter=150, random_state=0), Task(part, *task[1:]))
        out.append({"features": told, "NLLH": score(model, task), "steps": model.fit_.n_iter, "cpu_s": cpu})
        show(out[-1:], head=len(out) == 1)
    return out


PARTS = {"settings": settings, "noise": noise, "rows": rows, "large": large}


def main() -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or ["settings", "rows"]:
        print(f"\n{name}: {PARTS[name].__doc__}")
        results[name] = PARTS[name]()
        RESULTS.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
