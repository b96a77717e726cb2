"""Private tables: what a classifier and pair tables lose to noise, by way of release, compared with other methods.

Usage: python benchmarks/private_tables.py [--data adult] [--attributes N] [--epsilon .3 1 3] [--draws N] [--first N]
       [--ways ...] [--simulated] [--jobs N] [--cut width:10] [--folder FOLDER] [--compare FILE ...]

--simulated draws the noise of releases by seed in place of OpenDP, and counts without DuckDB, for machines that have
neither. Ways of ours: ``pairs`` (Gaussian noise on all pairs), ``geometric`` (on all pairs), ``exact``, and
``calibrated`` (simulated): all pairs and, with as much of the budget as one of them, a table of scores on which the
classifier is calibrated (`MaxEntClassifier.score_table`); ``nllh_before`` is that of the model before.

Other methods (benchmarks/rivals): ``aim`` and ``mst`` on the `mbi` package (AIM with all pairs with the label, in an
environment that is made under .cache when it is first used), ``margnet`` by its authors' code (KaiChen9909/margnet),
``tab_pe``, and ``logistic``: a logistic regression on the rows by noisy gradient descent, whose steps and learning rate
are the best of a grid by its score on the *test* rows, which favours it. ``--folder``: this Python runs them, and mbi
or margnet are in that folder. A logistic regression with pairs and gradient boosting are fitted to synthetic rows, and
the better of the two counts in each score. ``rows``: the same on the training rows, without privacy: a ceiling.
``--attributes`` takes the first so many attributes, ``--columns`` those named, for more draws in the same time. Data:
adult, bank, survey (American Community Survey, top 30% of incomes), and generated: ``rows`` and ``linked`` (six
attributes, weakly and strongly associated) and ``latent`` (eight attributes, independent given six latent classes).
Delta is 1e-6. The same encoding for all: levels, and ten bins of equal width for numbers, or as many quantiles as
``--cut quantiles:5`` says. Scores on the test rows: normalised log-likelihood (NLLH: the rate alone has 0) and AUC of
the classifier, and the total variation over all pairs between the model and the training rows; of AIM and MST their
model's, by potentials, else of synthetic rows. Each draw has noise of its own; OpenDP has no seed. Results are kept as
they come, and summed up at the end. --compare puts parts together in aim_comparison.json (or --target): means, and
differences from AIM by seed with their standard errors.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from copy import copy
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from run_record import run_record
from simulated_release import rho_by_formula, simulated_release
from sklearn.ensemble import HistGradientBoostingClassifier

from sumwise import NotConverged, Tables, datasets, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier, skyline
from sumwise.metrics import auc, nllh
from sumwise.privacy import release
from sumwise.privacy.accounting import mu_of_epsilon

DELTA = 1e-6
OTHERS = ("aim", "mst", "margnet", "tab_pe", "logistic", "rows")
ENVIRONMENT = Path(__file__).parents[1] / ".cache" / "mbi"
RESULTS = Path(__file__).parent / "results" / "private_tables.json"
COMPARED = RESULTS.with_name("aim_comparison.json")
ADULT = "age education_num marital_status occupation capital_gain hours_per_week relationship sex"
BANK = "age job marital contact month poutcome duration euribor3m"
ROWS_DRAWN = 2_000_000  # for a model's expected pairs
OF_SCORES = 1.0  # share of the budget that a table of scores has, in tables
BETTER = {"nllh": 1.0, "auc": 1.0, "variation": -1.0}  # which way a score is better


def survey() -> pd.DataFrame:
    """Adults of an American Community Survey, by codes; the label: an income among the highest 30%."""
    frame = datasets.pums_national().frame.dropna(subset="PINCP_DECILE")
    names = ["AGEP", "SEX", "MSP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "DPHY"]
    coded = {c: frame[c] if c == "AGEP" else frame[c].astype("Int64").astype(str) for c in names}
    return pd.DataFrame(coded).assign(label=(frame["PINCP_DECILE"] >= 7).astype(int)).reset_index(drop=True)


def latent_classes(n: int = 40_000, seed: int = 311) -> pd.DataFrame:
    """Eight attributes and a label that are independent given which of six latent classes a person is of."""
    rng = np.random.default_rng(seed)
    of = rng.choice(6, size=n, p=rng.dirichlet(np.full(6, 3.0)))
    columns = {}
    for j, size in enumerate([4, 6, 8, 3, 10, 5, 12, 7]):
        chances = rng.dirichlet(np.full(size, 0.7), size=6).cumsum(axis=1)
        level = (rng.random((n, 1)) > chances[of]).sum(axis=1)
        columns[f"f{j}"] = np.minimum(level, size - 1).astype(str)
    rate = np.array([0.05, 0.1, 0.2, 0.35, 0.6, 0.85])
    return pd.DataFrame(columns).assign(label=(rng.random(n) < rate[of]).astype(int))


def load(
    name: str,
    attributes: int | None,
    columns: list[str] | None = None,
    simulated: bool = False,
    cut: tuple[str, int] = ("width", 10),
) -> Task:
    """The exact tables of all pairs, test rows with labels, and the training rows by level."""
    if name in ("rows", "linked"):
        strength = 0.3 if name == "rows" else 0.8
        sizes = [4, 6, 8, 3, 10, 5]
        frame = synthetic.rows(40_000, sizes=sizes, rate=0.25, correlation=strength, random_state=77).frame()
        train, test = frame.iloc[:30_000], frame.iloc[30_000:]
        y_train, y_test = train.pop("label"), test.pop("label")
        train, test = train.astype(str), test.astype(str)
    elif name in ("survey", "latent"):
        frame = survey() if name == "survey" else latent_classes()
        test = frame.sample(frac=0.25, random_state=0)
        train = frame.drop(test.index)
        y_train, y_test = train.pop("label"), test.pop("label")
    elif name == "adult":
        data = datasets.adult()
        train, test, y_train, y_test = data.train, data.test, data.y_train, data.y_test
        train, test = train.drop(columns="income"), test.drop(columns="income")
    else:
        from sklearn.model_selection import train_test_split

        frame = datasets.bank().frame
        train, test = train_test_split(frame, test_size=0.2, random_state=0)
        y_train, y_test = ((f.pop("y") == "yes").to_numpy().astype(int) for f in (train, test))
    rule = {"kind": cut[0], "bins": cut[1]}
    spec = {c: rule if pd.api.types.is_numeric_dtype(train[c]) else "levels" for c in train}
    encoding = Encoding.fit(train, {c: s if isinstance(s, dict) else {"kind": "levels", "other": "(other)"}
                                    for c, s in spec.items()})  # fmt: skip
    rows = train.assign(label_=np.asarray(y_train))
    encoding = encoding.project(columns or list(train.columns)[:attributes])
    names = list(encoding.attributes)  # in the encoding's own order
    codes = encoding.codes(rows)
    if simulated:
        levels = {a: np.array(encoding.domain.levels(a), dtype=object)[codes[a]] for a in names}
        counted = Tables.from_frame(
            levels | {"label_": rows["label_"].to_numpy()}, names, "label_", domain=encoding.domain
        )
        tables = replace(counted, encoding=encoding)
    else:
        tables = aggregate(rows, names, "label_", encoding=encoding)
    ordered = np.array([pd.api.types.is_numeric_dtype(train[a]) for a in names])
    rows_by_level = np.column_stack([*(codes[a] for a in names), np.asarray(y_train)])
    return Task(tables, rows_by_level, test, np.asarray(y_test), ordered)


def released(tables: Tables, way: str, epsilon: float, draw: int, simulated: bool = False) -> Tables:
    """One release of the tables, with its own noise."""
    if simulated and way in ("pairs", "geometric"):
        return simulated_release(tables, epsilon, "gaussian" if way == "pairs" else way, draw)
    if simulated and way == "calibrated":
        return simulated_release(tables, epsilon, "gaussian", draw, part=1 - of_scores(tables))
    options = {"budget": None, "public_levels": True}
    if way == "exact":
        return tables
    if way == "geometric":
        return release(tables, epsilon, mechanism="geometric", **options)
    return release(tables, epsilon, DELTA, "gaussian", **options)


def of_scores(tables: Tables) -> float:
    """The part of the budget that the table of scores has."""
    return OF_SCORES / (len(tables) + OF_SCORES)


def calibrated(model: MaxEntClassifier, task: Task, epsilon: float, draw: int) -> MaxEntClassifier:
    """The model after calibration on a table of scores of the training rows, released with the rest of the budget."""
    names, domain = task.tables.domain.attributes, task.tables.domain
    levels = {a: np.array(domain.levels(a), dtype=object)[task.codes[:, i]] for i, a in enumerate(names)}
    raw = replace_encoding(model, None).score_table(levels, task.codes[:, -1])
    return model.calibrate(simulated_release(raw, epsilon, "gaussian", [draw, 1], part=of_scores(task.tables)))


def replace_encoding(model: MaxEntClassifier, encoding: Encoding | None) -> MaxEntClassifier:
    """The model for rows that are levels already."""
    other = copy(model)
    other.encoding_ = encoding
    return other


def rival_python(way: str, folder: Path | None) -> tuple[str, dict]:
    """The Python that runs another method, and its environment."""
    flags = "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"  # compiling takes most of it
    quiet = {"PATH": "/usr/bin:/bin", "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    if folder is not None or way not in ("aim", "mst"):
        paths = [] if folder is None else [str(folder.resolve())]
        return sys.executable, quiet | {"PYTHONPATH": os.pathsep.join(paths)}
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "mbi==2.0.0"], check=True)
    return str(python), quiet


class Task(NamedTuple):
    """Exact tables, the training rows by level, test rows with their labels, and which attributes are cut numbers."""

    tables: Tables
    codes: np.ndarray
    test: pd.DataFrame
    y: np.ndarray
    ordered: np.ndarray

    @property
    def test_codes(self) -> np.ndarray:
        coded = self.tables.encoding.codes(self.test)
        return np.column_stack([coded[a] for a in self.tables.domain.attributes])


def rival_rows(task: Task, way: str, epsilon: float, seed: int, folder: Path | None) -> dict[str, np.ndarray]:
    """What a script of benchmarks/rivals answers: synthetic rows, or coefficients."""
    python, environment = rival_python(way, folder)
    loss = {"rho": rho_by_formula(epsilon, DELTA), "mu": mu_of_epsilon(epsilon, DELTA)}
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "in.npz", Path(place) / "out.npz"
        np.savez(source, codes=task.codes, sizes=np.array([*task.tables.domain.shape, 2]), ordered=task.ordered, **loss)
        script = Path(__file__).parent / "rivals" / f"{way}_rows.py"
        command = [python, "-W", "ignore", str(script), str(source), str(target), str(loss["rho"]), str(seed)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return dict(np.load(target))


def synthetic_rows(task: Task, way: str, epsilon: float, seed: int, folder: Path | None) -> dict:
    """Scores of classifiers on the synthetic rows of another method, and the variation of its model."""
    answer = rival_rows(task, way, epsilon, seed, folder)
    line = by_rows(task, answer["rows"], seed) | {"tables": int(answer["rounds"])}
    line["variation"] = round(float(answer["variation"]), 4) if "variation" in answer else line["variation_rows"]
    return line | {"cpu_s": round(float(answer["cpu_s"]), 1)}


def by_rows(task: Task, codes: np.ndarray, seed: int) -> dict:
    """Scores of the better of two classifiers that are fitted to rows, and their variation."""
    tables, y, labels = task.tables, task.y, codes[:, -1]
    names, begin = tables.domain.attributes, time.process_time()
    levels = {a: np.array(tables.domain.levels(a), dtype=object) for a in names}
    rows = pd.DataFrame({a: levels[a][codes[:, i]] for i, a in enumerate(names)})
    plain = Tables.from_frame(rows.assign(label_=labels), list(names), label="label_", domain=tables.domain)
    coded = tables.encoding.transform(task.test, unseen="code")
    by_logistic = skyline(plain, rows, labels).predict_proba(coded)[:, 1]
    boosted = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=150, categorical_features=list(range(len(names))), random_state=seed
    ).fit(codes[:, :-1].astype(float), labels)
    by_boosting = boosted.predict_proba(task.test_codes)[:, 1]
    scored = {k: (nllh(y, p), auc(y, p)) for k, p in (("logistic", by_logistic), ("boosting", by_boosting))}
    return {
        "nllh": round(float(max(s[0] for s in scored.values())), 4),
        "auc": round(float(max(s[1] for s in scored.values())), 4),
        "nllh_logistic": round(float(scored["logistic"][0]), 4),
        "nllh_boosting": round(float(scored["boosting"][0]), 4),
        "variation_rows": round(pair_variation(rows, tables), 4),
        "cpu_s": round(time.process_time() - begin, 1),
    }


def private_logistic(task: Task, epsilon: float, seed: int) -> dict:
    """Scores of the private logistic regression whose setting is best on the test rows."""
    answer = rival_rows(task, "logistic", epsilon, seed, Path(__file__).parent)
    starts = np.concatenate([[0], np.cumsum(task.tables.domain.shape)[:-1]]) + 1
    weights = answer["weights"]  # (settings, 1 + levels)
    logits = weights[:, :1] + weights[:, task.test_codes + starts].sum(axis=-1)
    scored = [(nllh(task.y, p), auc(task.y, p)) for p in 1 / (1 + np.exp(-logits))]
    best = int(np.argmax([s[0] for s in scored]))
    setting = dict(zip(("steps", "rate"), answer["settings"][best].tolist()))
    line = {"nllh": round(float(scored[best][0]), 4), "auc": round(float(scored[best][1]), 4)}
    return line | setting | {"cpu_s": round(float(answer["cpu_s"]) / len(scored), 2)}


def variation(model: MaxEntClassifier, tables: Tables) -> float:
    """Mean total variation over all pairs, between the model (by rows drawn from it) and the exact tables."""
    pairs = list(combinations(tables.domain.attributes, 2))
    expected = model.expected_tables(pairs, n=ROWS_DRAWN, random_state=0)
    off = []
    for pair, estimate in zip(pairs, expected):
        shares, exact = estimate.values.sum(axis=-1), tables[pair].transpose(pair).counts
        off.append(0.5 * np.abs(shares / shares.sum() - exact / exact.sum()).sum())
    return float(np.mean(off))


def pair_variation(drawn: pd.DataFrame, tables: Tables) -> float:
    """Mean total variation over all pairs, between rows of levels and the exact tables."""
    off, n = [], len(drawn)
    for a, b in combinations(tables.domain.attributes, 2):
        codes = [pd.Categorical(drawn[c], categories=list(tables.domain.levels(c))).codes for c in (a, b)]
        shape = (tables.domain[a], tables.domain[b])
        counts = np.bincount(codes[0].astype(int) * shape[1] + codes[1], minlength=shape[0] * shape[1])
        exact = tables[a, b].counts.ravel()
        off.append(0.5 * np.abs(counts / n - exact / exact.sum()).sum())
    return float(np.mean(off))


def scores(task: Task, noisy: Tables, line: dict) -> dict:
    """Fit a classifier to released tables and score it; line: the way of release, epsilon and the draw."""
    begin, tables, test, y = time.process_time(), task.tables, task.test, task.y
    model = MaxEntClassifier(random_state=line["draw"]).fit(noisy)
    last = calibrated(model, task, line["epsilon"], line["draw"]) if line["way"] == "calibrated" else model
    p = last.predict_proba(test)[:, 1]
    before = {} if last is model else {"nllh_before": round(float(nllh(y, model.predict_proba(test)[:, 1])), 4)}
    return {
        "nllh": round(float(nllh(y, p)), 4),
        **before,
        "auc": round(float(auc(y, p)), 4),
        "variation": round(variation(model, tables), 4),
        "tables": len(noisy),
        "converged": bool(model.fit_.converged),
        "cpu_s": round(time.process_time() - begin, 1),
    }


def summary(lines: list[dict]) -> list[dict]:
    """Mean and standard deviation over draws."""
    frame = pd.DataFrame(lines)
    out = []
    for (data, way, epsilon), part in frame.groupby(["data", "way", "epsilon"], sort=False):
        row = {"data": data, "way": way, "epsilon": epsilon, "draws": len(part)}
        for name in ("nllh", "nllh_before", "auc", "variation", "cpu_s"):
            if name not in part or part[name].isna().any():
                continue  # no variation of a logistic regression
            row[name] = round(float(part[name].mean()), 4)
            row[f"{name}_sd"] = round(float(part[name].std(ddof=1)), 4) if len(part) > 1 else None
        out.append(row)
    return out


def by_data(paths: list[Path]) -> tuple[list[dict], dict]:
    """All draws of some files, and their means and standard deviations by data, way of release and epsilon."""
    draws = [line for p in sorted(paths) for line in json.loads(p.read_text(encoding="utf-8"))["draws"]]
    parts = ("data", "way", "epsilon", "draw", "commit", *BETTER, "nllh_before", "cpu_s")
    draws = [
        {k: line[k] for k in parts if k in line} | {"data": line["data"].removesuffix("-8 named")} for line in draws
    ]
    places = [(line["data"], line["way"], line["epsilon"], line["draw"]) for line in draws]
    if len(set(places)) < len(places):
        twice = next(p for p in places if places.count(p) > 1)
        raise SystemExit(f"A draw is in these files twice: {twice}")
    out: dict = {}
    for row in summary(draws):
        by_way = out.setdefault(row.pop("data"), {}).setdefault(row.pop("way"), {})
        by_way[f"{row.pop('epsilon'):g}"] = row
    return draws, out


def commits(draws: list[dict], theirs: bool) -> str:
    """Commits of the draws of other methods, or of ours."""
    commits = {line.get("commit", "") for line in draws if (line["way"] in OTHERS) == theirs}
    return ", ".join(sorted(commits - {""}))


def compare(paths: list[Path], commit: str, target: Path) -> None:
    """Put runs with AIM together, with differences from AIM by seed: above 0 where the release is better."""
    draws, out = by_data(paths)
    frame = pd.DataFrame(draws).set_index(["data", "epsilon", "draw"])
    theirs = frame[frame["way"] == "aim"].add_suffix("_aim")
    for (data, way), own in frame[frame["way"] != "aim"].groupby(["data", "way"]):
        for epsilon in sorted(set(own.index.get_level_values("epsilon"))):
            both = own.join(theirs, how="inner").query("epsilon == @epsilon")
            if len(both) < 2:
                continue
            row = out[data][way][f"{epsilon:g}"] | {"pairs with AIM": len(both)}
            for name, sign in BETTER.items():
                apart = sign * (both[name] - both[f"{name}_aim"])
                row[f"{name} ahead"] = round(float(apart.mean()), 4)
                row[f"{name} error"] = round(float(apart.std(ddof=1) / math.sqrt(len(both))), 4)
            out[data][way][f"{epsilon:g}"] = row
    facts = {
        "command": "python benchmarks/private_tables.py --simulated --ways calibrated aim mst, in parts",
        "commit": commit or commits(draws, theirs=False),
        "commit of AIM and MST": commits(draws, theirs=True),
        "delta": DELTA,
        "seed": "the draw, of noise and fit",
        "aim": "mbi 2.0.0, all pairs with the label as workload, 10 MB, 200 steps a round; of two classifiers on "
        "its rows the better one in each score",
        "mst": "the same package, 2,000 steps; the same two classifiers",
        "attributes": {"adult": ADULT, "bank": BANK, "survey": "all", "latent": "all"},
    }
    target.write_text(json.dumps(facts | {"data": out, "draws": draws}, indent=1) + "\n", encoding="utf-8")


def measured(task: Task, line: dict, simulated: bool, folder: Path | None) -> dict:
    """One draw of a way, with its scores."""
    warnings.simplefilter("ignore", NotConverged)
    way, epsilon, draw = line["way"], line["epsilon"], line["draw"]
    if way == "rows":
        scored = by_rows(task, task.codes, draw)
    elif way == "logistic":
        scored = private_logistic(task, epsilon, draw)
    elif way in OTHERS:
        scored = synthetic_rows(task, way, epsilon, draw, folder)
    else:
        scored = scores(task, released(task.tables, way, epsilon, draw, simulated), line)
    return line | scored


def run(task: Task, lines: list[dict], arguments: argparse.Namespace) -> list[dict]:
    """Measure lines in parallel; what is in the file already stays, and results are written as they come."""
    before = json.loads(arguments.out.read_text("utf-8"))["draws"] if arguments.out.exists() else []
    arguments.out.parent.mkdir(exist_ok=True)
    facts = {"command": "python benchmarks/private_tables.py", "delta": DELTA, "seed": "of the fit: draw"}
    context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    with ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        options = (arguments.simulated, arguments.folder)
        for done in as_completed([pool.submit(measured, task, line, *options) for line in lines]):
            before.append(done.result())
            print(json.dumps(before[-1]), flush=True)
            arguments.out.write_text(json.dumps(facts | {"summary": summary(before), "draws": before}, indent=1))
    return before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compare", type=Path, nargs="+")
    parser.add_argument("--commit", default="", help="with --compare: of the runs")
    parser.add_argument("--target", type=Path, default=COMPARED, help="with --compare: the file; mst_comparison.json")
    parser.add_argument("--data", default="adult")
    parser.add_argument("--attributes", type=int)
    parser.add_argument("--columns", nargs="+")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="a folder with mbi or margnet for this Python")
    parser.add_argument("--ways", nargs="+", default=["pairs", "geometric"])
    parser.add_argument("--cut", default="width:10", help="of numbers: width or quantiles, and how many parts")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.compare:
        compare(arguments.compare, arguments.commit, arguments.target)
        return
    kind, _, bins = arguments.cut.partition(":")
    columns = arguments.attributes, arguments.columns
    task = load(arguments.data, *columns, arguments.simulated, (kind, int(bins)))
    size = len(arguments.columns) if arguments.columns else arguments.attributes
    name = arguments.data + (f"-{size}" if size else "") + (" named" if arguments.columns else "")
    name += "" if arguments.cut == "width:10" else f", {arguments.cut}"
    lines = [
        {"data": name, "way": way, "epsilon": epsilon, "draw": draw, "commit": run_record()["commit"]}
        for draw in range(arguments.first, arguments.first + arguments.draws)
        for epsilon in arguments.epsilon
        for way in arguments.ways
    ]
    print(pd.DataFrame(summary(run(task, lines, arguments))).to_string(index=False))


if __name__ == "__main__":
    main()
