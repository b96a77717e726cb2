"""What rules of MaxEntClassifier's sampler and steps are worth: held-out score, distribution of x, and time.

Usage: python benchmarks/maxent_variation.py [--draws 10] [--first 0] [--kinds determined nested indicators correlated
survey large] [--chains 10000] writes benchmarks/results/maxent_variation.json (or --out FILE); --merge FILE ... puts
such parts together, --seconds N begins no draw after so many; --more measures the rules of stopping, of steps, of large
attributes and, on tables with Gaussian noise of standard deviation 40 ("noisy") and 400 ("mostly noise"), of noise, and
writes maxent_rules.json; --agreement compares the test of convergence with the earlier one, which moments had to pass
20 times in a row, and writes maxent_agreement.json. Kinds: "adult" and "bank", all attributes; "determined", six
attributes of Adult one of which determines another (education by name, and its number cut at deciles); "nested",
generated rows of six attributes beside a coarse version of the first; "indicators", four attributes of five levels that
26 periods determine in 97% of the rows, beside the period and three others; "codes", 400 postcodes in 150 towns that
have effects; "triple", three attributes of 200 levels that agree in 90%; "levels" and "towns", attributes of 40 and 30
levels, of 120 and 25; "sparse", 600 rows of six attributes of 3 to 30 levels; "calibrated", fits corrected
by 50 labelled rows; "stopped", fits of 60 steps; "long steps", fits with steps of 1, five times as long as by
default; "auto", the default penalties against those chosen from the tables; "plain", "correlated", "survey" and "large"
as in maxent_heuristics.py. Each draw takes half of the rows at random and counts them exactly. Figures of one fit:
held-out NLLH and AUC; the total variation, a mean over all pairs of attributes, of the model's expected tables from
those of the rows that were counted; CPU seconds of the fit (kernels compiled before); steps. Gains are means over draws
with their errors, positive if the rule helps: NLLH with it minus without it, variation without it minus with it, and
the shares of CPU time and of steps saved.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import private_tables
from maxent_heuristics import FIRST, public, rows, with_noise
from run_record import run_record

from sumwise import NotConverged, Tables, synthetic
from sumwise.maxent import (
    MaxEntClassifier,
    SolverOptions,
    calibration,
    engines,
    noisy_count_fit,
    penalties,
    trainers,
    training,
)
from sumwise.maxent.engines import strong_trees
from sumwise.maxent.kernels import contrastive
from sumwise.metrics import auc, nllh

KINDS = ("determined", "nested", "indicators", "correlated", "survey", "large")
SCALES = {", noisy": 40.0, ", mostly noise": 400.0}
NOISY_KINDS = tuple(kind + much for much in SCALES for kind in ("plain", "correlated", "survey", "levels", "towns"))
STOPPED_KINDS = ("plain, stopped", "correlated, stopped", "survey, stopped")
CALIBRATED_KINDS = ("plain, calibrated", "correlated, calibrated", "survey, calibrated")
LONG_KINDS = ("plain, long steps", "correlated, long steps", "survey, long steps", "sparse, long steps")
AUTO_KINDS = ("plain, auto", "correlated, auto", "survey, auto")
SCORED_KINDS = (*LONG_KINDS, *AUTO_KINDS, *CALIBRATED_KINDS)  # by held-out score alone
LARGE_KINDS = ("large", "codes", "triple")
KINDS_OF_MORE = (
    *("plain", "sparse", *LARGE_KINDS[1:], *NOISY_KINDS),
    *(*CALIBRATED_KINDS, *STOPPED_KINDS, *LONG_KINDS, *AUTO_KINDS),
)
LABELLED = 50
STOPPED = 60
LONG = {"step": 1.0, "step_mu": 1.0}
SIX = ["education", "education_num", "age", "workclass", "occupation", "sex"]
WIDER_TREES = partial(strong_trees, least=0.3)
RULES = {
    "preconditioning by effects, against the diagonal": ({"precondition": "diagonal"}, {}),
    "associated pairs redrawn together (blocks)": ({"blocks": ()}, {}),
    "associated attributes proposed together (jumps)": ({}, {(engines, "strong_trees"): lambda stats: (),
                                                             (engines, "large_pairs"): lambda stats: ()}),
    "jumps from an association of 0.6 on, against 0.3": ({}, {(engines, "strong_trees"): WIDER_TREES}),
    "blocks, against jumps in their place": ({"blocks": ()}, {(engines, "strong_pairs"): lambda stats: (),
                                                              (engines, "PAIR_COST"): 0}),
    "one chain in five until moments agree": ({}, {(trainers, "FEWER"): 1}),
}  # fmt: skip


STEP_OPTIONS = trainers.step_options
MORE = {
    "half as many steps again, averaged, against a tenth": ({}, {(training, "AVERAGED"): 0.1}),
    "late iterates weigh more until moments agree": (
        {}, {(trainers, "step_options"): lambda p, o: replace(STEP_OPTIONS(p, o), recent=1e9)}),
    "no test of moments in the first 98 steps": (
        {}, {(trainers, "step_options"): lambda p, o: replace(STEP_OPTIONS(p, o), settled=1)}),
    "moments tested are running means, against the last": ({}, {(training, "MEMORY"): 0.0}),
    "training that moves away starts again": ({}, {(trainers, "BACK_OFF"): 0}),
    "no parameter moves by more than 2": ({}, {(contrastive, "LONGEST"): 1e9}),
}  # fmt: skip
GUARDS = {rule: MORE[rule] for rule in ("training that moves away starts again", "no parameter moves by more than 2")}
AUTO = {"default penalties, against 'auto'": ({"penalty_theta": "auto"}, {})}


def agreed_in_a_row(state, distance: float, options, sampled: bool = True) -> bool:
    """The earlier test of convergence: moments agree 20 times in a row, from step 80 on."""
    state.calm = getattr(state, "calm", 0) + 1 if distance < options.tol and state.n_iter >= EARLIER else 0
    if state.calm >= 20 and not state.agreed:
        state.agreed = state.n_iter
    return 0 < (1 + training.AVERAGED * sampled) * state.agreed <= state.n_iter


EARLIER = 80  # steps before the first test
AGREEMENT = {"moments agree once, against 20 times in a row": ({}, {(training, "check_agreement"): agreed_in_a_row})}
AGREEMENT_KINDS = ("adult", "bank", "correlated", "survey")
CALIBRATED = {"priors of slope and shift": ({}, {(calibration, "SLOPE_SD"): 1e3, (calibration, "SHIFT_SD"): 1e3})}
LARGE = {
    "two large attributes that determine each other share one effect": ({}, {(penalties, "TIED"): 2.0}),
    "penalties of large attributes raised": ({"shrink_large": False}, {}),
}
NOISY = {
    "noise weighed against counts": ({"noise": "ignore"}, {}),
    "theta half from all noisy sums at once": ({}, {(trainers, "_weighed"): lambda p, s, m, t: m}),
    "penalties of mu raised for weak associations": (
        {}, {(penalties, "association_penalty"): lambda s: np.ones(s.layout.n_params)}),
    "a penalty of its own for every table": ({}, {(trainers, "own_penalties"): lambda s, c, p, b: (p, b)}),
    "counts drawn towards independence before noise is weighed": (
        {}, {(penalties, "sampling_counts"): lambda s: np.maximum(s.data.counts, 1.0)}),
    "a cell counts by what smaller tables leave to it": (
        {}, {(penalties, "own_share"): lambda s, counts: np.ones(s.layout.n_params)}),
    "noisy counts of many levels by their distribution": ({}, {(noisy_count_fit, "MANY"): 10**9}),
    "the model of x follows what was fitted apart": (
        {}, {(trainers, "_followed"): lambda p, s, model, now, counts: replace(model, parameters=now)}),
}  # fmt: skip


def drawn(kind: str, seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Rows of one kind, and their features."""
    if kind in ("codes", "triple", "levels", "towns"):
        return many_levels(kind, seed)
    if kind == "nested":
        made = synthetic.rows(40_000, sizes=[12, 4, 5, 3, 6, 4], rate=0.25, correlation=0.4, random_state=seed)
        frame, names = made.frame(), list(made.domain.attributes)
        return frame.assign(coarse=frame[names[0]].astype(int) // 3), [*names, "coarse"]
    if kind == "indicators":
        return indicators(seed)
    if kind == "sparse":
        made = synthetic.rows(1_200, sizes=[30, 20, 25, 15, 3, 4], rate=0.1, correlation=0.7, random_state=seed)
        return made.frame(), list(made.domain.attributes)
    if kind != "determined":
        return rows(kind, seed)
    frame, names = public("adult", seed)
    return frame, [n for n in names if n in SIX]


def indicators(seed: int, n: int = 40_000) -> tuple[pd.DataFrame, list[str]]:
    """Rows of 26 periods, what was measured in each, and three attributes of the people; both move the label."""
    rng = np.random.default_rng(seed)
    period = rng.integers(0, 26, n)
    frame = pd.DataFrame({"period": period} | {f"person{k}": rng.integers(0, 4, n) for k in range(3)})
    score = -1.5 + 0.4 * frame["person0"] - 0.3 * frame["person1"]
    for k in range(4):
        level = rng.permutation(np.arange(26) % 5)[period]
        frame[f"measured{k}"] = np.where(rng.random(n) < 0.97, level, rng.integers(0, 5, n))
        score += 0.3 * (frame[f"measured{k}"] - 2) * (k < 2)
    frame["label"] = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return frame, [c for c in frame if c != "label"]


def many_levels(kind: str, seed: int, n: int = 40_000) -> tuple[pd.DataFrame, list[str]]:
    """Rows with attributes of many levels beside three small ones; half of the levels' effects move the label."""
    rng = np.random.default_rng(seed)
    made = synthetic.rows(n, sizes=[4, 3, 5], rate=0.25, correlation=0.3, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    sizes = {"codes": (400, 150), "triple": (200, 200, 200), "levels": (40, 30), "towns": (120, 25)}[kind]
    first = rng.choice(sizes[0], n, p=rng.dirichlet(np.full(sizes[0], 0.7)))
    for k, size in enumerate(sizes):
        follows = rng.integers(0, size, sizes[0]) if size < sizes[0] else rng.permutation(size)
        agrees = rng.random(n) < {"codes": 1.0, "triple": 0.9, "levels": 0.3, "towns": 0.8}[kind]
        frame[f"large{k}"] = first if not k else np.where(agrees, follows[first], rng.integers(0, size, n))
    effect = rng.normal(0, 1.0, sizes[-1]) * (rng.random(sizes[-1]) < 0.5)
    flip = rng.random(n) < 1 / (1 + np.exp(1.5 - effect[frame[f"large{len(sizes) - 1}"]]))
    frame["label"] = np.where(flip, 1, frame["label"])
    return frame, [*names, *(f"large{k}" for k in range(len(sizes)))]


def fitted(
    tables: Tables,
    test: pd.DataFrame,
    chains: int,
    options: dict,
    settings: dict,
    exact: Tables | None,
    labelled: int = 0,
) -> dict[str, float]:
    """The figures of one fit; `exact` are the tables without noise, for the total variation where it is wanted,
    `labelled` rows correct the probabilities."""
    penalty_theta = options.get("penalty_theta")
    options = {"n_chains": chains} | {name: value for name, value in options.items() if name != "penalty_theta"}
    kept = {place: getattr(*place) for place in settings}
    for (module, name), value in settings.items():
        setattr(module, name, value)
    try:
        model = MaxEntClassifier(penalty_theta, options=SolverOptions(**options), engine="gibbs", random_state=0)
        begin = time.process_time()
        model.fit(tables)
        cpu_s = time.process_time() - begin
        known, test = test[:labelled], test[labelled:]
        scored = model.calibrate(known, known["label"].to_numpy()) if labelled else model
    finally:
        for (module, name), value in kept.items():
            setattr(module, name, value)
    labels, predicted = test["label"].to_numpy(), scored.predict_proba(test)
    variation = {} if exact is None else {"variation": round(float(private_tables.variation(model, exact)), 6)}
    return variation | {
        "nllh": round(nllh(labels, predicted), 6),
        "auc": round(auc(labels, predicted[:, 1]), 6),
        "cpu_s": round(cpu_s, 3),
        "steps": model.fit_.n_iter,
        "converged": bool(model.fit_.converged),
    }


def figures(kind: str, draw: int, chains: int, rules: dict) -> dict[str, dict[str, float]]:
    """Figures with every rule, and without each; a rule that touches nothing here has those with it."""
    name, *noise = kind.split(", ")
    frame, names = drawn(name, FIRST + draw)
    half = len(frame) // 2
    tables, test = Tables.from_frame(frame.iloc[:half], names, label="label"), frame.iloc[half:]
    labelled = LABELLED * (kind in CALIBRATED_KINDS)
    data = with_noise(tables, half, draw, SCALES[f", {noise[0]}"]) if kind in NOISY_KINDS else tables
    common = {"max_iter": STOPPED} if kind in STOPPED_KINDS else LONG if kind in LONG_KINDS else {}
    every, exact = {"as it is": ({}, {})} | rules, None if kind in SCORED_KINDS else tables
    return {
        rule: fitted(data, test, chains, common | options, settings, exact, labelled)
        for rule, (options, settings) in every.items()
    }


def mean(values: list[float], digits: int = 4) -> dict[str, float | None]:
    """The mean of some draws and its standard error."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {
        "mean": round(float(np.mean(values)), digits),
        "error": None if error is None else round(error, digits),
        "draws": len(values),
    }


def variation_gain(pairs: list[tuple[dict, dict]]) -> dict[str, dict]:
    """What a rule takes off the total variation, where that was measured."""
    gains = [w["variation"] - u["variation"] for u, w in pairs if "variation" in u and "variation" in w]
    return {"variation": mean(gains)} if gains else {}


def summary(found: dict[str, list[dict]]) -> dict[str, dict]:
    """By rule and kind: gains, with their errors."""
    rules = list(dict.fromkeys(rule for draws in found.values() for d in draws for rule in d if rule != "as it is"))
    out: dict[str, dict] = {"as it is": {}} | {rule: {} for rule in rules}
    for kind, draws in found.items():
        usual = [d["as it is"] for d in draws]
        kept = [k for k in ("nllh", "variation", "cpu_s", "steps") if k in usual[0]]
        out["as it is"][kind] = {k: mean([u[k] for u in usual if k in u]) for k in kept}
        for rule in rules:
            pairs = [(d["as it is"], d[rule]) for d in draws if rule in d]
            if pairs:
                out[rule][kind] = {
                    "nllh": mean([u["nllh"] - w["nllh"] for u, w in pairs]),
                    **({"auc": mean([u["auc"] - w["auc"] for u, w in pairs])} if "auc" in pairs[0][0] else {}),
                    **variation_gain(pairs),
                    "time saved": mean([1 - u["cpu_s"] / w["cpu_s"] for u, w in pairs], 3),
                    "steps saved": mean([1 - u["steps"] / w["steps"] for u, w in pairs], 3),
                    "converged with": sum(u["converged"] for u, _ in pairs),
                    "converged without": sum(w["converged"] for _, w in pairs),
                }
    return out


def write(path: Path, found: dict, cpu_s: float, chains: int | dict[str, int], commit: str = "") -> None:
    commit = commit or run_record()["commit"]
    record = {"command": "python benchmarks/maxent_variation.py, in parts", "commit": commit, "seed": FIRST}
    record |= {"cpu_s": round(cpu_s), "chains": chains, "summary": summary(found), "figures": found}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def rules_of(kind: str) -> dict:
    """The rules of --more that a kind of data is for."""
    many = "noisy counts of many levels by their distribution"
    if kind.startswith(("levels", "towns")):
        return {many: NOISY[many]}
    if kind in NOISY_KINDS:  # an attribute of the survey has 20 levels
        return {rule: v for rule, v in NOISY.items() if rule != many or kind.startswith("survey")}
    if kind in LONG_KINDS or kind in AUTO_KINDS:
        return GUARDS if kind in LONG_KINDS else AUTO
    if kind in STOPPED_KINDS:
        return {"late iterates weigh more until moments agree": MORE["late iterates weigh more until moments agree"]}
    return LARGE if kind in LARGE_KINDS else CALIBRATED if kind in CALIBRATED_KINDS else MORE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=[*KINDS, *KINDS_OF_MORE, *AGREEMENT_KINDS])
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--agreement", action="store_true")
    parser.add_argument("--skip", nargs="+", default=[], metavar="WORD", help="leave out rules whose name has one")
    parser.add_argument("--chains", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "maxent_variation.json")
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    given = parser.parse_args()
    if given.more and given.out.name == "maxent_variation.json":
        given.out = given.out.with_name("maxent_rules.json")
    if given.agreement and given.out.name == "maxent_variation.json":
        given.out = given.out.with_name("maxent_agreement.json")
    warnings.simplefilter("ignore", NotConverged)
    private_tables.BURN_IN, private_tables.SWEEPS = 5, 15  # chains go on from the fit
    if given.agreement or set(LARGE_KINDS) & set(given.kinds):
        private_tables.CHAINS = 20_000  # sweeps of large tables take longer
    found: dict = {}
    parts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(given.merge)]
    chains: dict[str, int] = {}
    for part in parts:
        for kind, draws in part["figures"].items():
            found.setdefault(kind, []).extend(draws)
            chains[kind] = part["chains"] if isinstance(part["chains"], int) else part["chains"][kind]
    if parts:
        commits = ", ".join(dict.fromkeys(part["commit"] for part in parts))
        alike = len(set(chains.values())) == 1
        write(given.out, found, sum(part["cpu_s"] for part in parts), parts[0]["chains"] if alike else chains, commits)
        return
    for draw in range(given.first, given.first + given.draws):
        for kind in given.kinds:
            if time.process_time() > given.seconds:
                return
            rules = AGREEMENT if given.agreement else rules_of(kind) if given.more else RULES
            rules = {name: rule for name, rule in rules.items() if not any(word in name for word in given.skip)}
            if kind not in found:
                private_tables.CHAINS, kept = 100, private_tables.CHAINS
                figures(kind, 10_000, 500, {})  # compiles what this kind needs
                private_tables.CHAINS = kept
            found.setdefault(kind, []).append(figures(kind, draw, given.chains, rules))
            write(given.out, found, time.process_time(), given.chains)
            print(kind, draw, f"{time.process_time():.0f} CPU-s", flush=True)


if __name__ == "__main__":
    main()
