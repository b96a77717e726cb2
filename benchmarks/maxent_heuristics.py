"""What each rule of thumb of MaxEntClassifier is worth: held-out NLLH with it and without it, on data it wasn't set on.

Usage: python benchmarks/maxent_heuristics.py [--draws 10] [--kinds plain correlated large survey] [--first 0] writes
benchmarks/results/maxent_heuristics.json; with --part it writes maxent_heuristics-KINDS-FIRST.json, and
--merge FILE ... puts such parts together. Data: three kinds of `synthetic.rows` with seeds of their own (900 on):
"plain" (ten attributes of 3 to 8 levels), "correlated" (eight attributes, strong associations, three parents), "large"
(two associated attributes of 300 levels beside four small ones), each 20,000 rows to count and as many to score; and
"survey", adults of the American Community Survey (`datasets.pums_national`: ten attributes, an income of 50,000 or more
as label), halved at random in each draw. On demand "twins" (1,000 levels, twice, that agree in 95%), "adult" and
"bank", on which rules were settled; --rules WORD ... takes those whose names hold one, --chains another number. Noisy
rules are scored on the same tables with Gaussian noise of standard deviation 40. Figures are means over draws of (score
with the default) - (score without the rule), with their errors.
"""

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sumwise import NotConverged, Table, Tables, datasets, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, engines, penalties, trainers
from sumwise.metrics import nllh
from sumwise.noise import Gaussian

FIRST, N = 900, 20_000
KINDS = ("plain", "correlated", "large", "survey")
OTHERS = ("twins", "adult", "bank")  # rules were settled on such data; for a second look only


def rows(kind: str, seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Rows of one kind, and their features."""
    if kind == "survey":
        return survey(seed)
    if kind in ("adult", "bank"):
        return public(kind, seed)
    if kind == "plain":
        made = synthetic.rows(
            2 * N, sizes=[4, 5, 6, 3, 8, 5, 4, 7, 3, 6], rate=0.25, correlation=0.3, random_state=seed
        )
    elif kind == "correlated":
        made = synthetic.rows(
            2 * N, sizes=[5] * 8, rate=0.25, correlation=0.8, joint_parents=3, pairwise=1.0, random_state=seed
        )
    else:
        made = synthetic.rows(2 * N, sizes=[4, 3, 5, 4], rate=0.25, correlation=0.3, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    if kind in ("large", "twins"):
        rng, (levels, agree) = np.random.default_rng(seed), (300, 0.9) if kind == "large" else (1000, 0.95)
        frame["site"] = np.minimum(rng.zipf(1.3, 2 * N), levels) - 1
        other = rng.integers(0, levels, 2 * N)
        frame["page"] = np.where(rng.random(2 * N) < agree, (frame["site"] * 7) % levels, other)
        flip = rng.random(2 * N) < 0.3 * (frame["site"] % 3 == 0)
        frame["label"] = np.where(flip, 1, frame["label"])
        names = [*names, "site", "page"]
    return frame, names


def survey(seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Adults of the survey in random order, with an income of 50,000 or more as label."""
    found = datasets.pums_national().frame.dropna(subset=["PINCP"])
    names = ["PUMA", "SEX", "MSP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "DPHY"]
    frame = found[names].fillna(-1).astype(str)
    frame["age"] = np.minimum(found["AGEP"] // 10, 8).astype(int)
    frame["children"] = np.minimum(found["NOC"].fillna(-1), 3).astype(int)
    frame["label"] = (found["PINCP"] >= 50_000).astype(int)
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True), [*names, "age", "children"]


def public(kind: str, seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Adult or Bank in random order, numbers cut at their deciles."""
    if kind == "adult":
        data = datasets.adult()
        frame, labels = pd.concat([data.train, data.test]), np.concatenate([data.y_train, data.y_test])
        frame = frame.drop(columns="income")
    else:
        frame = datasets.bank().frame
        labels = (frame.pop("y") == "yes").to_numpy()
    cut = {c: pd.qcut(frame[c], 10, duplicates="drop") for c in frame if pd.api.types.is_numeric_dtype(frame[c])}
    frame = frame.assign(**cut).astype(object).fillna("?").astype(str).assign(label=labels.astype(int))
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True), [c for c in frame if c != "label"]


def switched_off() -> dict[str, tuple[str, dict, dict]]:
    """By rule: exact or noisy tables, options without it, and module settings without it."""
    return {
        "penalties by order (1 and 3 (D - 1)), against 1 for all": ("exact", {}, {"penalty": 1.0}),
        "label sums compared per count (rescale)": ("exact", {"rescale": False}, {}),
        "labels marginalised": ("exact", {"marginalise": False}, {}),
        "preconditioning by effects, against the diagonal": ("exact", {"precondition": "diagonal"}, {}),
        "late iterates averaged": ("exact", {"average": False}, {}),
        "associated pairs redrawn together (blocks)": ("exact", {"blocks": ()}, {}),
        "associated attributes proposed together (jumps)": (
            "exact", {}, {(engines, "strong_trees"): lambda stats: (), (engines, "large_pairs"): lambda stats: ()}
        ),
        "penalties of large attributes raised (shrink_large)": ("exact", {"shrink_large": False}, {}),
        "one chain in five until moments agree": ("exact", {}, {(trainers, "FEWER"): 1}),
        "noise weighed against counts": ("noisy", {"noise": "ignore"}, {}),
        "theta half from all noisy sums at once": ("noisy", {}, {(trainers, "_weighed"): lambda p, s, m, t: m}),
        "penalties of mu raised for weak associations": (
            "noisy", {}, {(penalties, "association_penalty"): lambda s: np.ones(s.layout.n_params)}
        ),
    }  # fmt: skip


def fitted_score(tables: Tables, test: pd.DataFrame, options: dict, settings: dict, chains: int) -> float:
    """Held-out score with some options and module settings."""
    kept = {place: getattr(*place) for place in settings if isinstance(place, tuple)}
    for (module, name), value in ((p, v) for p, v in settings.items() if isinstance(p, tuple)):
        setattr(module, name, value)
    try:
        given = {"n_chains": chains, **options}
        model = MaxEntClassifier(
            settings.get("penalty"), options=SolverOptions(**given), engine="gibbs", random_state=0
        )
        return nllh(test["label"].to_numpy(), model.fit(tables).predict_proba(test))
    finally:
        for (module, name), value in kept.items():
            setattr(module, name, value)


def with_noise(exact: Tables, n: int, draw: int, scale: float = 40.0) -> Tables:
    """The tables with Gaussian noise of a standard deviation."""
    rng, noise = np.random.default_rng(draw), Gaussian(scale)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in exact]
    return Tables(made, exact.domain, n=n, label="label", classes=exact.classes)


def gains(kind: str, draw: int, words: list[str], chains: int) -> dict[str, float]:
    """What each rule gains on one draw of one kind of data."""
    frame, names = rows(kind, FIRST + draw)
    half = len(frame) // 2
    train, test = frame.iloc[:half], frame.iloc[half:]
    exact = Tables.from_frame(train, names, label="label")
    data = {"exact": exact, "noisy": with_noise(exact, half, draw)}
    sorts = ("exact",) if kind in ("large", "twins") else ("exact", "noisy")
    asked = {r: v for r, v in switched_off().items() if v[0] in sorts and (not words or any(w in r for w in words))}
    usual = {sort: fitted_score(data[sort], test, {}, {}, chains) for sort in {v[0] for v in asked.values()}}
    return {
        rule: round(usual[sort] - fitted_score(data[sort], test, options, settings, chains), 5)
        for rule, (sort, options, settings) in asked.items()
    }


def summary(found: dict[str, dict[str, list[float]]]) -> dict:
    """Mean gain by rule and kind, with its standard error over draws."""
    return {
        rule: {
            kind: {
                "mean": round(float(np.mean(v)), 4),
                "error": round(float(np.std(v, ddof=1) / np.sqrt(len(v))), 4) if len(v) > 1 else None,
                "draws": len(v),
            }
            for kind, v in by_kind.items()
        }
        for rule, by_kind in found.items()
    }


def write(path: Path, found: dict, cpu_s: float, command: str) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {"command": command, "commit": commit.stdout.strip(), "seed": FIRST, "cpu_s": round(cpu_s)}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**record, "summary": summary(found), "gain": found}, indent=1) + "\n", encoding="utf-8")


def merge(paths: list[Path], target: Path) -> None:
    """Put parts together, in order of their names."""
    found, cpu_s = {}, 0.0
    for part in (json.loads(p.read_text(encoding="utf-8")) for p in sorted(paths)):
        cpu_s += part["cpu_s"]
        for rule, by_kind in part["gain"].items():
            for kind, values in by_kind.items():
                found.setdefault(rule, {}).setdefault(kind, []).extend(values)
    write(target, found, cpu_s, "python benchmarks/maxent_heuristics.py --draws 10, in parts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=[*KINDS, *OTHERS])
    parser.add_argument("--rules", nargs="+", default=[])
    parser.add_argument("--chains", type=int, default=3_000)
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--merge", type=Path, nargs="+")
    given = parser.parse_args()
    path = Path(__file__).parent / "results" / "maxent_heuristics.json"
    if given.merge:
        merge(given.merge, path)
        return
    if given.part:
        path = path.with_name(f"maxent_heuristics-{'-'.join(given.kinds)}-{given.first}.json")
    warnings.simplefilter("ignore", NotConverged)
    begin, found = time.process_time(), {}
    for kind in given.kinds:
        for draw in range(given.first, given.first + given.draws):
            for rule, gain in gains(kind, draw, given.rules, given.chains).items():
                found.setdefault(rule, {}).setdefault(kind, []).append(gain)
            print(kind, draw, f"{time.process_time() - begin:.0f} CPU-s", flush=True)
            write(path, found, time.process_time() - begin, "python benchmarks/maxent_heuristics.py")
    for rule, by_kind in found.items():
        print(rule, {k: f"{np.mean(v):+.4f}" for k, v in by_kind.items()})


if __name__ == "__main__":
    main()
