"""How often 95% intervals of classifiers from tables hold the truth: of predictions, effects and coefficients.

Usage: python benchmarks/maxent_coverage.py [CASE ...] [--draws 8] [--first 0] [--minutes 8] [--fresh] [--out FILE]
       [--merge FILE ... --earlier FILE ... --commit C] [--left-out FILE]
CASE: a word of its name, as "auto" or "Gaussian". Prints a table, and writes benchmarks/results/maxent_coverage.json
draw by draw: interrupted, or stopped by --minutes, it goes on where it was. --merge takes the "released" cases out of
several such files, made from other first draws, and writes their means to maxent_released_coverage.json; of files under
--earlier, made before the intervals of effects and coefficients changed, only predictions and queries count.
--left-out writes what two rules of the bootstrap add to coverage, each left out alone, paired by draw.

Each draw has a model of its own: a maximum entropy model fitted to 200,000 rows of `synthetic`, from which 8,000 people
are drawn (20,000 of the eight attributes) and counted. Penalties are the default ones, or chosen from the tables
("auto"); nothing else is set but 20 refits, and 3,000 chains for eight attributes. "triples" are cases in which the
model doesn't hold: people come from `synthetic` directly, with effects of three attributes at a time (standard
deviation 0.5 of log-odds), which no table of pairs shows. The truth is then the generator's P(label | x), and there are
no true effects. "released" are tables as `sumwise.privacy.release` makes them (delta 1e-6), noise by cell and class
being drawn here by seed; in each draw all of them count the same people. "queries of 2" are the counts that the model
expects of pairs of attributes by class (`expected`), of one and of three likewise; "levels", "pairs" and "coefficients"
are effects on the label. The standard error is that of the mean over draws.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from run_record import run_record
from simulated_release import simulated_release

from sumwise import NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, bootstrap
from sumwise.maxent.effects import effect_terms, effects_of
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.noise import Gaussian, Laplace

RESULTS = Path(__file__).parent / "results" / "maxent_coverage.json"
RELEASED = RESULTS.with_name("maxent_released_coverage.json")
FOUR, EIGHT = [4, 3, 5, 4], [5, 6, 7, 8, 9, 10, 5, 6]
NOISE = {"exact": None, "Gaussian 17": Gaussian(17.0), "Laplace 10": Laplace(10.0), "Laplace 40": Laplace(40.0)}
FIRST = 300  # seed of the first model; the rule of the intervals was settled on seeds 100 to 107 and 200 to 207
COLUMNS = ("predictions", "levels", "pairs", "coefficients", "queries of 1", "queries of 2", "queries of 3")


def cases() -> dict[str, dict[str, Any]]:
    out = {}
    for noise in NOISE:
        for penalty in ("default", "auto"):
            out[f"four, {noise}, {penalty}"] = {"sizes": FOUR, "noise": noise, "penalty": penalty}
    for noise, penalty in (("exact", "default"), ("Gaussian 17", "default"), ("Gaussian 17", "auto")):
        out[f"triples, {noise}, {penalty}"] = {"sizes": FOUR, "noise": noise, "penalty": penalty, "higher": 0.5}
    out["released, exact"] = {"sizes": FOUR, "noise": "exact", "penalty": "default"}
    for mechanism in ("gaussian", "geometric"):
        for epsilon in (0.3, 1.0, 5.0):
            noise = f"{mechanism} at epsilon {epsilon:g}"
            out[f"released, {noise}"] = {"sizes": FOUR, "noise": (mechanism, epsilon), "penalty": "default"}
    for noise in ("exact", "Gaussian 17"):
        out[f"eight, {noise}, default"] = {"sizes": EIGHT, "noise": noise, "penalty": "default"}
    return out


class People(NamedTuple):
    """People counted in tables, others whose probabilities are judged, those, and the model they come from."""

    exact: Tables
    judged: pd.DataFrame
    probabilities: np.ndarray
    truth: MaxEntClassifier | None


@lru_cache(maxsize=1)
def people(sizes: tuple[int, ...], higher: float, seed: int) -> People:
    """The people of one draw; the model is none where no maximum entropy model holds."""
    base = synthetic.rows(200_000, sizes=sizes, rate=0.3, correlation=0.4, higher=higher, random_state=FIRST + seed)
    counted, truth = base.tables(), None
    names = list(counted.domain.attributes)
    if higher:
        every = base.frame()
        rows, judged = every.iloc[: number(sizes)], every.iloc[-1000:]
        real = base.model.probability(judged[names].to_numpy().T)
    else:
        truth = MaxEntClassifier(0.5, random_state=seed, **options(sizes)).fit(counted)
        rows, judged = truth.sample(number(sizes), random_state=seed), truth.sample(1000, random_state=1000 + seed)
        real = truth.predict_proba(judged)[:, 1]
    exact = Tables.from_frame(rows, names, label=counted.label, domain=counted.domain)
    return People(exact, judged, real, truth)


def number(sizes: Sequence[int]) -> int:
    return 20_000 if len(sizes) > 4 else 8_000


def options(sizes: Sequence[int]) -> dict[str, Any]:
    return {"options": SolverOptions(n_chains=3_000)} if len(sizes) > 4 else {}


def drawn(case: dict[str, Any], seed: int) -> dict[str, float]:
    """Shares of intervals of one draw that hold the truth, and the mean width of those of predictions."""
    sizes, noise = tuple(case["sizes"]), case["noise"]
    exact, judged, real, truth = people(sizes, case.get("higher", 0.0), seed)
    if isinstance(noise, tuple):
        tables = simulated_release(exact, noise[1], noise[0], seed)
    else:
        tables = noisy(exact, NOISE[noise], seed)
    penalty = None if case["penalty"] == "default" else case["penalty"]
    model = MaxEntClassifier(penalty, random_state=seed, **options(sizes)).fit(tables)
    low, high = (end[:, 1] for end in model.bootstrap(tables, n=20, random_state=seed).predict_interval(judged))
    out = {"predictions": np.mean((low <= real) & (real <= high)), "width": np.mean(high - low)}
    out |= {"error": np.sqrt(np.mean((model.predict_proba(judged)[:, 1] - real) ** 2))}
    out |= {} if truth is None else coefficients(model, truth) | queries(model, truth, number(sizes))
    return {k: float(v) for k, v in out.items()}


def coefficients(model: Any, truth: Any) -> dict[str, float]:
    """Shares of intervals of effects and coefficients that hold the truth."""
    lay = model.model_.layout
    shares = np.split(model.replicates_["shares"], np.cumsum(lay.sizes)[:-1])
    real = np.concatenate([e[0] for e in effects_of(lay, truth.theta_, shares)])
    order = np.concatenate([[len(t)] * int(np.prod(lay.shape(t))) for t in effect_terms(lay)])
    found = model.effect_intervals()
    held = ((found["low"] <= real) & (real <= found["high"])).to_numpy()
    out = {"levels": held[order == 1].mean(), "pairs": held[order == 2].mean()}
    if truth.domain_.size() < 10_000:
        found, real = model.coefficient_intervals(), as_penalised(model, truth)
        out["coefficients"] = ((found["low"] <= real) & (real <= found["high"])).mean()
    return out


def queries(model: Any, truth: Any, n: int) -> dict[str, float]:
    """Shares of intervals of expected counts that hold those of the true model, by how many attributes are asked for.

    Intervals are of what is expected of a population of the size that the tables show.
    """
    if truth.domain_.size() >= 10_000:
        return {}
    names, out = list(truth.domain_.attributes), {}
    for order in (1, 2, 3):
        found = [
            np.mean(model.expected(asked).covers(truth.expected(asked).values * (n / truth.n_)))
            for asked in combinations(names, order)
        ]
        out[f"queries of {order}"] = float(np.mean(found))
    return out


def as_penalised(model: Any, truth: Any) -> np.ndarray:
    """The true coefficients, split between tables so that the model's penalties are smallest."""
    lay = model.model_.layout
    every = np.indices(lay.sizes).reshape(len(lay.sizes), -1).T
    design = cell_design(lay, every).toarray()
    orders = np.repeat([len(t) for t in lay.terms], np.diff(lay.term_starts))
    root = np.sqrt(np.asarray(model.penalty_theta_, dtype=float)[np.minimum(orders, 2) - 1])
    centred = design - design.mean(axis=0)  # the intercept takes the mean
    return np.linalg.lstsq(centred / root, centred @ truth.theta_[0], rcond=1e-10)[0] / root


def noisy(tables: Tables, noise: Any, seed: int) -> Tables:
    if noise is None:
        return tables
    rng = np.random.default_rng(seed)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(made, tables.domain, label=tables.label, classes=tables.classes)


LEFT_OUT = {
    "scale of effects at its 84% quantile, against the median": {"UPPER": 0.5},
    "levels and larger tables in turn, four times against once": {"ROUNDS": 1},
}


def left_out(wanted: list[str], draws: range, target: Path) -> None:
    """Coverage with each rule less that without it, as the draws come."""
    found: dict[str, dict[str, dict[str, list]]] = {rule: {} for rule in LEFT_OUT}
    for seed in draws:
        for name in wanted:
            usual = drawn(cases()[name], seed)
            for rule, changes in LEFT_OUT.items():
                kept = {key: getattr(bootstrap, key) for key in changes}
                vars(bootstrap).update(changes)
                other = drawn(cases()[name], seed)
                vars(bootstrap).update(kept)
                for column in usual:
                    pair = [usual[column], usual[column] - other[column]]
                    found[rule].setdefault(name, {}).setdefault(column, []).append(pair)
            rows = {
                rule: {name: {c: gained(pairs) for c, pairs in by.items()} for name, by in part.items()}
                for rule, part in found.items()
            }
            facts = run_record(first_draw=draws[0], seed=FIRST)
            target.write_text(json.dumps(facts | {"left out": rows, "pairs": found}) + "\n")


def gained(pairs: list[list[float]]) -> dict[str, float]:
    """Mean with a rule, what it adds, and the standard error of that."""
    mean, error = _mean_and_error([gain for _, gain in pairs])
    out = {"with": np.mean([pair[0] for pair in pairs]), "gain": mean, "error": error}
    return {k: round(float(v), 5) for k, v in out.items()} | {"draws": len(pairs)}


def show(results: dict[str, dict[str, dict]]) -> None:
    print(f"| {'case':32} | draws | " + " | ".join(f"{c:13}" for c in COLUMNS) + " | width | error |")
    for name, draws in results.items():
        lines = list(draws.values())
        columns = [[d[c] for d in lines if c in d] for c in COLUMNS]
        cells = ["{:.3f} +- {:.3f}".format(*_mean_and_error(v)) if v else "-" for v in columns]
        rest = [f"{np.mean([d[c] for d in lines]):.3f}" for c in ("width", "error")]
        print(f"| {name:32} | {len(lines):5} | " + " | ".join(f"{c:13}" for c in cells) + f" | {' | '.join(rest)} |")


def merge(parts: list[Path], earlier: list[Path], commit: str, target: Path) -> None:
    """Means and their errors over the draws of all parts, by kind of release."""
    results: dict[str, dict[str, dict]] = {}
    for path in [*parts, *earlier]:
        dropped = ("levels", "pairs", "coefficients") if path in earlier else ()
        for name, draws in json.loads(path.read_text()).items():
            kept = {seed: {k: v for k, v in d.items() if k not in dropped} for seed, d in draws.items()}
            if name.startswith("released, "):
                results.setdefault(name, {}).update(kept)
    show(results)
    rows = {}
    for name, draws in results.items():
        row: dict[str, Any] = {"draws": len(draws)}
        for column in (*COLUMNS, "width", "error"):
            values = [d[column] for d in draws.values() if column in d]
            mean, error = np.round(_mean_and_error(values), 4).tolist()
            row[column] = {"mean": mean, "error": error, "draws": len(values)}
        rows[name.removeprefix("released, ")] = row
    seeds = sorted({int(seed) for draws in results.values() for seed in draws})
    facts = {
        "command": "python benchmarks/maxent_coverage.py released, by --first and --draws, and --merge of the parts",
        "commit": commit,
        "seed": f"{FIRST} + the draw for models, the draw for people and noise; draws {seeds[0]} to {seeds[-1]}",
    }
    target.write_text(json.dumps(facts | {"rows": rows}, indent=1) + "\n")


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="words that names of cases hold; all of them are wanted")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first draw")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after the draw that ends later")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--merge", type=Path, nargs="+", help="files of such runs")
    parser.add_argument("--earlier", type=Path, nargs="+", default=[], help="with --merge: files of earlier runs")
    parser.add_argument("--commit", default="", help="with --merge: of the runs")
    parser.add_argument("--left-out", type=Path, help="leave rules out alone, and nothing else")
    asked = parser.parse_args()
    if asked.left_out:
        warnings.simplefilter("ignore", NotConverged)
        wanted = [name for name in cases() if name in asked.case] or list(cases())
        left_out(wanted, range(asked.first, asked.first + asked.draws), asked.left_out)
        return
    if asked.merge:
        merge(asked.merge, asked.earlier, asked.commit, RELEASED if asked.out == RESULTS else asked.out)
        return
    results = json.loads(asked.out.read_text()) if asked.out.exists() and not asked.fresh else {}
    asked.out.parent.mkdir(exist_ok=True)
    begin = time.monotonic()
    warnings.simplefilter("ignore", NotConverged)
    for seed in range(asked.first, asked.first + asked.draws):
        for name, case in cases().items():
            late = time.monotonic() - begin > 60 * asked.minutes
            if late or str(seed) in results.get(name, {}) or not all(word in name for word in asked.case):
                continue
            results.setdefault(name, {})[str(seed)] = found = drawn(case, seed)
            print(name, seed, {k: round(v, 3) for k, v in found.items()}, flush=True)
            asked.out.write_text(json.dumps(results, indent=1))
    show(results)


if __name__ == "__main__":
    main()
