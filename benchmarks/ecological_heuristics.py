"""What each heuristic of EcologicalEM is worth on data it was not chosen on.

    python benchmarks/ecological_heuristics.py                       # every rule; about ten minutes
    python benchmarks/ecological_heuristics.py slopes edge           # rules whose name has one of these words
    python benchmarks/ecological_heuristics.py --merge PART.json ...

Constants were chosen on the contests of New Zealand 2005 and 2011 and Scotland 2007 (sumwise.ecological.calibration)
unless the page of heuristics says otherwise. Each is left out alone on three sets or more that it was not chosen on:
contests of New Zealand 2002, 2008 and 2014 as they are, merged to small tables, with units merged, or with noise added
to the groups; halves of the units of two files with known cells (King's registration file, illiteracy in 1930); tables
of areas of a survey; and simulated units, whose shares vary around one table. Figures are means over tables, paired:
percent of people in a wrong cell, coverage, width and interval score (Gneiting and Raftery 2007; smaller is better) of
95% intervals, and CPU seconds, without the rule less with it.
Writes benchmarks/results/ecological_heuristics.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from ecological_few_units import merged
from ecological_intervals import census_tables, folded, with_rest
from ecological_simulated import SHAPES, usual
from run_record import run_record
from scipy import stats

from ecological import COVARIATE_SHAPES, with_bias
from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM, calibration, em, error_index
from sumwise.ecological.kernels import measurement_error

RESULTS = Path(__file__).parent / "results" / "ecological_heuristics.json"
ELECTIONS = ("NZ_2002", "NZ_2008", "NZ_2014")
N_DRAWS, EVERY, SEED = 24, 3, 40


class Case(NamedTuple):
    """One table: margins and the true cells (R, C), or (n, R, C) where those of units are asked for."""

    margins: Margins
    truth: np.ndarray


def elections(change: Callable[[Any, int], list[tuple[Margins, np.ndarray]]], every: int = EVERY) -> dict[str, list]:
    """Contests of three elections, each as `change` makes tables of it."""
    out: dict[str, list] = {name: [] for name in ELECTIONS}
    for i, contest in enumerate(datasets.contests()):
        if contest.dataset in out:
            out[contest.dataset].append((i, contest))
    return {
        name: [Case(*table) for i, contest in some[::every] for table in change(contest, i)]
        for name, some in out.items()
    }


def as_they_are(contest, _i):
    return [(contest.margins, contest.total)]


def small_and_merged(contest, i):
    """Two groups and three outcomes, a dozen units in one."""
    margins, total = next((m, t) for name, m, t in folded(contest, i) if name == "2 x 3")
    return [(merged(margins, 12, np.random.default_rng(i)), total)]


def merged_units(contest, i):
    """A dozen units in one, groups and outcomes as they are."""
    return [(merged(contest.margins, 12, np.random.default_rng(i)), contest.total)]


def noisy_groups(contest, i):
    """Counts by group with noise of 0.1 of their mean."""
    rng, rows = np.random.default_rng(i), contest.margins.rows
    sd = 0.1 * rows.mean() * np.ones(rows.shape)
    given = np.maximum(rows + sd * rng.standard_normal(rows.shape), 0.0) + 1e-6
    given *= (contest.margins.totals / given.sum(axis=1))[:, None]
    return [(Margins(given, contest.margins.cols, row_sd=sd), contest.total)]


def with_covariates(contest, i):
    return [(m, total) for _, m, total in with_rest(contest, i)]


def halves(election, n: int = N_DRAWS, by_unit: bool = False) -> list[Case]:
    """Random halves of the units of a file with known cells."""
    out = []
    for seed in range(n):
        some = np.random.default_rng(SEED + seed).permutation(len(election.margins))[: len(election.margins) // 2]
        out.append(Case(election.margins[some], election.cells[some] if by_unit else election.cells[some].sum(axis=0)))
    return out


def simulated(*shape: int, n: int = N_DRAWS, by_unit: bool = False, **how: Any) -> list[Case]:
    """Units whose shares vary around one table, whatever their composition; `shape`: units, groups, outcomes."""
    out = []
    for seed in range(n):
        cells = usual(*shape, **how)(np.random.default_rng(SEED + seed))
        out.append(Case(Margins(cells.sum(axis=2), cells.sum(axis=1)), cells if by_unit else cells.sum(axis=0)))
    return out


def alike() -> dict[str, list[Case]]:
    """Sets whose units have similar composition."""
    sets = {"1930, halves": halves(datasets.foreign_illiteracy_1930())}
    return sets | {f"alike, {r} x {c}": simulated(60, r, c, alike=20) for r, c in ((5, 5), (4, 6))}


def varied() -> dict[str, list[Case]]:
    """Sets of other kinds."""
    return {"census": [Case(m, t) for _, m, t in census_tables()], "registration, halves": halves(datasets.matproii())}


def starts() -> dict[str, list[Case]]:
    return elections(as_they_are) | alike() | varied()


def known_units() -> dict[str, list[Case]]:
    """Sets of which every unit's cells are known."""
    files = {"registration, halves": datasets.matproii(), "1930, halves": datasets.foreign_illiteracy_1930()}
    return {name: halves(file, by_unit=True) for name, file in files.items()} | {
        "simulated, 4 x 3": simulated(60, 4, 3, by_unit=True)
    }


def right_model() -> dict[str, list[Case]]:
    return {
        f"simulated, {n} units, {r} x {c}": simulated(n, r, c) for n, r, c in ((60, 3, 3), (150, 2, 2), (100, 4, 3))
    }


def explained() -> dict[str, list[Case]]:
    """Simulations whose covariate explains all of the aggregation bias: odd seeds, which no width was chosen on."""
    seeds = range(1, 134, 2)
    return {
        f"covariate of strength {bias:g}": [Case(*with_bias(s, bias, *COVARIATE_SHAPES[s // 2 % 3])) for s in seeds]
        for bias in (0.0, 0.5, 1.0)
    }


def many_units(size: int, n: int = 10) -> dict[str, list[Case]]:
    return {f"simulated, {size:,} units, {r} x {c}": simulated(size, r, c, n=n) for r, c in ((3, 3), (4, 4), (5, 3))}


def chile(size: int, near: int = em.N_NEAR, n: int = 10) -> dict[str, list[Case]]:
    """Random parts of Chile's ballot boxes, whose cells nobody knows.

    For these a fit stands for the truth: to 1e-4, after as many as `near` EM steps on some of the units.
    """
    whole, kept = datasets.chile_2021(mismatch="rescale").margins, em.N_NEAR
    some = [whole[np.random.default_rng(SEED + k).permutation(len(whole))[:size]] for k in range(n)]
    em.N_NEAR = near
    fits = [EcologicalEM(n_groups=0).fit(part).total_ for part in some]
    em.N_NEAR = kept
    return {f"Chile 2021, {size:,} units": [Case(*pair) for pair in zip(some, fits)]}


def few_and_rare() -> dict[str, list[Case]]:
    """Tables with small groups and rare outcomes: contests with a dozen units in one, and simulated units."""
    found = elections(merged_units)
    for shape in ("candidate below 0.6%", "group in 3 of 60 units"):
        tables = [SHAPES[shape](np.random.default_rng(SEED + seed)) for seed in range(N_DRAWS)]
        found[shape] = [Case(Margins(t.sum(axis=2), t.sum(axis=1)), t.sum(axis=0)) for t in tables]
    return found


def beta_alone(shares, sd, level, lower, upper):
    """Quantiles of beta distributions, near 0 and 1 as elsewhere."""
    low, high = (
        np.clip(calibration._beta(shares, sd).ppf(q), lower, upper) for q in ((1 - level) / 2, (1 + level) / 2)
    )
    return np.minimum(low, shares), np.maximum(high, shares)


class Rule(NamedTuple):
    """How to leave a rule out, the sets to do so on, and how fits are made with it and without it.

    options: of the estimator without the rule, or a function that gives them for a case.
    """

    sets: Callable[[], dict[str, list[Case]]]
    options: Any = MappingProxyType({})
    modules: Mapping[tuple[Any, str], Any] = MappingProxyType({})
    common: Mapping[str, Any] = MappingProxyType({})


def with_scotland() -> dict[str, list[Case]]:
    """Every third contest of the three elections, and of Scotland, which the weight was chosen on."""
    scotland = [c for c in datasets.contests() if c.dataset == "SCO_2007"]
    return elections(as_they_are) | {"SCO_2007": [Case(c.margins, c.total) for c in scotland[::EVERY]]}


def by_overdispersion(case: Case, power: float = 1.0) -> dict[str, float]:
    """The weight of the determinant in a likelihood of units that vary this much more than multinomial draws."""
    rho = EcologicalEM(n_groups=0).fit(case.margins).overdispersion_
    return {"determinant": float((1 + rho * (case.margins.totals.mean() - 1)) ** power)}


POINT = {"common": {"n_groups": 0}}
RULES = {
    "pseudo-count": Rule(partial(elections, as_they_are, 1), {"prior": 0.0}, **POINT),
    "overdispersion": Rule(partial(elections, as_they_are, 1), {"dispersion": 0.0}, **POINT),
    "determinant": Rule(partial(elections, as_they_are, 1), {"determinant": 0.0}, **POINT),
    "first fit: the determinant's full weight": Rule(starts, {}, {(em, "FIRST_WEIGHT"): 10.0}, **POINT),
    "first fit: no overdispersion": Rule(starts, {}, {(em, "GUESS"): 0.0}, **POINT),
    "all three: the multinomial EM": Rule(partial(elections, as_they_are, 1), {"method": "multinomial"}, **POINT),
    "determinant's weight, elections": Rule(partial(elections, as_they_are, 1), {"determinant": 1.0}, **POINT),
    "determinant's weight, units alike": Rule(alike, {"determinant": 1.0}, **POINT),
    "determinant's weight, other sets": Rule(varied, {"determinant": 1.0}, **POINT),
    "weight derived: overdispersion": Rule(with_scotland, by_overdispersion, **POINT),
    "weight derived: its root": Rule(with_scotland, partial(by_overdispersion, power=0.5), **POINT),
    "weight 1 and a smaller pseudo-count": Rule(with_scotland, {"determinant": 1.0, "prior": 0.6}, **POINT),
    "regression with at most three groups": Rule(
        partial(elections, small_and_merged), {}, {(calibration, "REGRESSED"): 0}
    ),
    "narrower with covariates": Rule(
        partial(elections, with_covariates), {}, {(calibration, "COVARIATES"): 1.0}, {"covariates": "all"}
    ),
    "doubt about noisy groups": Rule(partial(elections, noisy_groups), {}, {(em, "DOUBT"): 0.0}),
    "least real variance of noisy groups": Rule(
        partial(elections, noisy_groups, 1), {}, {(measurement_error, "LEAST"): 1e-9}, {"n_groups": 0}
    ),
    "edge: as uncertain as at 0.01": Rule(
        partial(elections, as_they_are), {}, {(calibration, "EDGE"): 1e-5}
    ),
    "edge: normal intervals there": Rule(with_scotland, {}, {(em, "beta_interval"): beta_alone}),
    "edge: normal intervals there, few and rare": Rule(few_and_rare, {}, {(em, "beta_interval"): beta_alone}),
    "edge: the largest variance": Rule(
        partial(elections, small_and_merged), {}, {(calibration, "WIDEST"): 0.999}
    ),
    "edge: the largest variance, few and rare": Rule(few_and_rare, {}, {(calibration, "WIDEST"): 0.999}),
    "model only: chance": Rule(right_model, {}, {(calibration, "MODEL_CHANCE"): 1.0}, {"calibrated": False}),
    "model only: least": Rule(right_model, {}, {(calibration, "MODEL_LEAST"): 0.0}, {"calibrated": False}),
    "model only: no least, chance chosen again": Rule(
        right_model, {}, {(calibration, "MODEL_LEAST"): 0.0, (calibration, "MODEL_CHANCE"): 1.82}, {"calibrated": False}
    ),  # 1.82: benchmarks/ecological.py model_only, where the constant is 0
    "model only, covariates: least": Rule(
        explained, {}, {(calibration, "MODEL_LEAST"): 0.0}, {"calibrated": False, "covariates": "all"}
    ),
    "model only, covariates: no least, chance chosen again": Rule(
        explained, {}, {(calibration, "MODEL_LEAST"): 0.0, (calibration, "MODEL_CHANCE"): 1.82},
        {"calibrated": False, "covariates": "all"},
    ),
    "intervals of units: spread": Rule(known_units, {}, {(calibration, "UNIT_SPREAD"): 1.0}),
    "intervals of units: scale": Rule(known_units, {}, {(calibration, "UNIT_SCALE"): 1.0}),
    "thousands of units, simulated: none of it": Rule(partial(many_units, 6000), {}, {(em, "MANY"): 10**9}),
    "thousands of units, Chile: none of it": Rule(partial(chile, 4100), {}, {(em, "MANY"): 10**9}),
    "thousands of units, simulated: whole parts": Rule(partial(many_units, 25_000), {}, {(em, "ENOUGH"): 10**9}),
    "thousands of units, Chile: whole parts": Rule(partial(chile, 25_000), {}, {(em, "ENOUGH"): 10**9}),
    "thousands of units, simulated: Newton steps at once": Rule(partial(many_units, 6000), {}, {(em, "N_NEAR"): 1}),
    "thousands of units, Chile: Newton steps at once": Rule(partial(chile, 6000, 500), {}, {(em, "N_NEAR"): 1}),
}  # fmt: skip


def figures(case: Case, options: Mapping[str, Any], modules: Mapping[tuple[Any, str], Any]) -> dict[str, float]:
    """Error, and coverage and width of intervals, of one fit."""
    kept = {place: getattr(*place) for place in modules}
    for place, value in modules.items():
        setattr(*place, value)
    try:
        begin = time.process_time()
        est = EcologicalEM(**options).fit(case.margins)
        out = {"seconds": time.process_time() - begin}
        by_unit = case.truth.ndim == 3
        out["index"] = error_index(est.total_, case.truth.sum(axis=0) if by_unit else case.truth)
        if est.n_groups:
            low, high = est.unit_interval(case.margins, 0.95) if by_unit else est.interval(0.95)
            size = case.truth.sum(axis=-1, keepdims=True)
            true = np.divide(case.truth, size, out=np.zeros(case.truth.shape), where=size > 0)
            there = np.broadcast_to(size > 0, true.shape)
            missed = (np.maximum(low - true, 0.0) + np.maximum(true - high, 0.0))[there]
            out |= {"coverage": float((missed <= 1e-9).mean()), "width": float((high - low)[there].mean())}
            out["score"] = out["width"] + 2 / 0.05 * float(missed.mean())
    finally:
        for place, value in kept.items():
            setattr(*place, value)
    return out


def left_out(rule: Rule) -> dict[str, dict]:
    """By set and figure: with the rule, without it, and the difference with its standard error."""
    out = {}
    for name, cases in rule.sets().items():
        pairs = []
        for case in cases:
            used = figures(case, rule.common, {})
            changes = rule.options(case) if callable(rule.options) else rule.options
            pairs.append((used, figures(case, {**rule.common, **changes}, rule.modules)))
        out[name] = {"draws": len(pairs)}
        for key in pairs[0][0]:
            lost = np.array([without[key] - used[key] for used, without in pairs])
            row = {"with": np.mean([used[key] for used, _ in pairs]), "difference": lost.mean()}
            row |= {"error": stats.sem(lost), "without": np.mean([without[key] for _, without in pairs])}
            out[name][key] = {k: round(float(v), 5) for k, v in row.items()}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names of rules")
    parser.add_argument("--merge", nargs="*", type=Path, default=[])
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    known.setdefault("rules", {})
    for part in asked.merge:
        known["rules"] |= json.loads(part.read_text())["rules"]
    chosen = [name for name in RULES if any(word in name for word in asked.words) or not asked.words]
    for name in () if asked.merge else chosen:
        begin = time.process_time()
        found = left_out(RULES[name])
        known["rules"][name] = run_record(seed=SEED, cpu_s=round(time.process_time() - begin)) | {"sets": found}
        asked.out.write_text(json.dumps(known, indent=1) + "\n")
        print(name, json.dumps(found), flush=True)
    known["commit"] = ", ".join(dict.fromkeys(rule["commit"] for rule in known["rules"].values()))
    known["command"] = "python benchmarks/ecological_heuristics.py, in parts"
    asked.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
