"""Features of many levels: two that nearly agree, and what sparse tables save.

Usage: python benchmarks/maxent_large.py [PART ...] with PART among memory, filled (default:
all); `filled:60000:5` is the last with so many rows and five seeds from the fifth on.
Rows come from `synthetic`, so nothing is downloaded. Prints tables, and writes benchmarks/results/maxent_large.json.
Scores are NLLH on as many fresh rows as were counted, which choose nothing. CPU seconds are of one thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from maxent import Task, fitted, score, show
from sumwise import Domain, Table, Tables, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.sparse_table import SparseTable

RESULTS = Path(__file__).parent / "results" / "maxent_large.json"
N, LEVELS = 100_000, 1_000
FILLED = {15_000: 260, 30_000: 260, 50_000: 260, 60_000: 520, 120_000: 520, 240_000: 520}  # rows, and levels of a pair
CHAINS = {
    "options": SolverOptions(n_chains=3_000, max_iter=150),
    "random_state": 0,
}  # a fifth of the work of the defaults


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


def kept(task: Task, names) -> Task:
    tables = [t for t in task.tables if set(t.attributes) <= set(names)]
    return Task(Tables(tables, task.tables.domain.project(names), classes=(0, 1)), *task[1:])


def peak(held: str) -> dict:
    """Memory of the tables, and of counting them and training, in a process of its own."""
    import resource

    task = twins(N, LEVELS)
    tables = task.tables
    if held == "full":
        tables = tables.with_tables([Table(t.attributes, t.counts, t.label_sums) for t in tables])
    sizes = [t.nbytes if hasattr(t, "nbytes") else t.counts.nbytes + t.label_sums.nbytes for t in tables]  # type: ignore[union-attr]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model, cpu = fitted(MaxEntClassifier(options=SolverOptions(max_iter=10), random_state=0), Task(tables, *task[1:]))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "held": held,
        "big x twin MB": sizes[-1] / 1e6,
        "all tables MB": sum(sizes) / 1e6,
        "parameters": int(model.mu_.size + model.theta_.size),
        "MiB before training": before,
        "MiB that training adds": after - before,
        "cpu_s of 10 steps": cpu,
    }


def memory() -> list[dict]:
    """The same data: tables held by their filled cells where they are mostly empty, against all in full."""
    out = []
    for held in ("sparse", "full"):
        here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
        code = f"{here}; import json, maxent_large as m; print(json.dumps(m.peak({held!r})))"
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        out.append(json.loads(done.stdout.splitlines()[-1]))
        show(out[-1:], head=len(out) == 1)
    return out


def filled(n_rows: str = "", first: str = "") -> list[dict]:
    """A pair of many levels by its filled cells, against all of its cells: what listing costs in NLLH."""
    known = json.loads(RESULTS.read_text()).get("filled", []) if RESULTS.exists() else []
    lines = {(line["rows"], line["correlation"], line["seed"]): line for line in known}
    seeds = range(int(first), int(first) + 5) if first else range(10)
    for case in [(n, c, s) for n in FILLED for c in (0.1, 0.5) for s in seeds if n_rows in ("", str(n))]:
        lines[case] = filled_case(*case)
        show([lines[case]])
        keep("filled", list(lines.values()))
        keep("filled_means", filled_means(list(lines.values())))
    return list(lines.values())


def filled_means(lines: list[dict]) -> list[dict]:
    """What listing gains in NLLH, by rows and correlation and then in all, with standard errors over the draws."""
    kinds = dict.fromkeys((line["rows"], line["correlation"]) for line in lines)
    out = []
    for kind in [*sorted(kinds), None]:
        some = [line for line in lines if kind in (None, (line["rows"], line["correlation"]))]
        gains, ratios = (np.array([f(line) for line in some]) for f in (_gain, _ratio))
        facts = {"rows": kind[0], "correlation": kind[1]} if kind else {}
        shares = [line["share filled"] for line in some]
        facts |= {"draws": len(some), "least share filled": min(shares), "largest share filled": max(shares)}
        error = float(gains.std(ddof=1) / len(some) ** 0.5) if len(some) > 1 else None
        out.append(facts | {"gain": float(gains.mean()), "error": error, "times as fast": float(np.median(ratios))})
    return out


def _gain(line: dict) -> float:
    return line["listed"] - line["full"]


def _ratio(line: dict) -> float:
    return line["full cpu_s"] / line["listed cpu_s"]


def filled_case(n: int, correlation: float, seed: int) -> dict:
    """One draw: the same tables held both ways."""
    levels = FILLED[n]
    made = synthetic.rows(2 * n, [levels, levels, 8, 8, 8], rate=0.2, correlation=correlation, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    train, test = frame.iloc[:n], frame.iloc[n:]
    tables = Tables.from_frame(train, names, label="label", domain=made.domain)
    share = float(np.mean(tables[names[0], names[1]].counts > 0))
    line: dict = {"rows": n, "levels": levels, "correlation": correlation, "seed": seed, "share filled": share}
    held = {"full": [Table(t.attributes, t.counts, t.label_sums) for t in tables]}
    held["listed"] = [by_filled_cells(t) for t in tables]
    for name, here in held.items():
        rows = (train[names], train["label"].to_numpy(), test[names], test["label"].to_numpy())
        task = Task(tables.with_tables(here), *rows)
        model, cpu = fitted(MaxEntClassifier(**CHAINS), task)
        line |= {name: score(model, task), f"{name} cpu_s": cpu, f"{name} steps": model.fit_.n_iter}
    return line


def by_filled_cells(table: Table) -> Table:
    """A large table by its filled cells, however many they are; a small one as it is."""
    if table.n_cells < 2**16:
        return table
    counts, sums = np.asarray(table.counts).ravel(), np.asarray(table.label_sums).ravel()
    cells = np.flatnonzero(counts)
    return SparseTable(table.attributes, table.shape, cells, counts[cells], sums[cells])


def encoded(frame, names: list, rule: dict, held_out) -> Tables:
    """Tables of the rows that aren't held out, the last feature by a rule of its own."""
    spec = {**dict.fromkeys(names[:-1], "levels"), names[-1]: rule}
    encoding = Encoding.fit(frame, spec, label="y", held_out=held_out)
    rest = frame if held_out is None else frame.drop(index=frame.index[held_out])
    return aggregate(rest, names, label="y", encoding=encoding)


PARTS = {"memory": memory, "filled": filled}


def keep(part: str, lines: list[dict]) -> None:
    """Write the lines of a part, other parts as they are."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**results, part: lines}, indent=1))


def main() -> None:
    for given in sys.argv[1:] or list(PARTS):
        name, *limits = given.split(":")
        print(f"\n{name}: {PARTS[name].__doc__}")
        keep(name, PARTS[name](*limits))


if __name__ == "__main__":
    main()
