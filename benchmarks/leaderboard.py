"""Leaderboard of classifiers from exact tables against methods that see the rows, on nineteen data sets.

Usage: python benchmarks/leaderboard.py [--data NAME ...] [--methods NAME ...] [--splits 0 1 ...] [--jobs 16]
       python benchmarks/leaderboard.py --merge FILE ...      # lines that other machines wrote with --output
       python benchmarks/leaderboard.py --show      # the committed figures

Every split draws a quarter of the rows for testing. Numbers are cut at the deciles of the training rows, categories
keep their levels; all methods see these levels. Methods from tables see all pair tables of the training rows and
nothing else. Scores are of the test rows: log-loss, NLLH (1 - log-loss / entropy of the label: 0 is a constant, 1 is
perfect), the slope of a logistic regression of the label on the predicted log-odds, AUC, and the mean prediction over
the rate. CPU seconds are of fitting, in one thread, with compiled kernels.

Needs the public data sets Adult, Bank and PUMS, and statsmodels for two sets that it ships; scikit-learn and
`sumwise.synthetic` make the others. Writes benchmarks/results/leaderboard.json after each split; data sets, methods and
splits that a run leaves out keep their lines. A run that is cut short has its first splits of all sets.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from run_record import run_record
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from sumwise import Domain, NotConverged, Tables, datasets, synthetic
from sumwise.encoding import Encoding
from sumwise.maxent import BestPair, MaxEntClassifier, NaiveBayesTables, skyline
from sumwise.metrics import auc, nllh

RESULTS = Path(__file__).parent / "results" / "leaderboard.json"
WANTED_SPLITS = 10
SCORES = ("log_loss", "nllh", "slope", "auc", "mean over rate", "cpu_s")
PUMS = (
    "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP_CAT EDU PINCP_DECILE DVET DREM DPHY DEYE "
    "DEAR"
)


def adult() -> pd.DataFrame:
    return _adult().assign(label=lambda f: (f.pop("income") == ">50K").astype(int))


def adult_abroad() -> pd.DataFrame:
    """Born outside the United States; race and the label itself are left out."""
    frame = _adult().drop(columns="race")
    return frame.assign(label=(frame.pop("native_country") != "United-States").astype(int))


def _adult() -> pd.DataFrame:
    data = datasets.adult()
    return pd.concat([data.train, data.test], ignore_index=True).drop(columns=["fnlwgt", "education"], errors="ignore")


def bank() -> pd.DataFrame:
    frame = datasets.bank().frame
    return frame.assign(label=(frame.pop("y") == "yes").astype(int))


def bank_no_duration() -> pd.DataFrame:
    return bank().drop(columns="duration")


def pums(label: str, positive: Callable[[pd.Series], pd.Series], *without: str) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        frame = datasets.pums_national().frame[PUMS.split()].dropna(subset=label)
        y = positive(frame[label]).astype(int)
        frame = frame.drop(columns=[label, *without])
        numbers = [c for c in ("AGEP", "DENSITY") if c in frame]
        levels = frame.drop(columns=numbers).astype("string").fillna("missing").astype(object)
        return pd.concat([frame[numbers], levels], axis=1).assign(label=y).reset_index(drop=True)

    return load


def mixture(n: int, columns: int, rate: float, seed: int) -> Callable[[], pd.DataFrame]:
    """Correlated attributes of two to six levels, all cut from one factor and noise; log-odds linear in a fifth."""

    def load() -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(n, 3))
        x = factors @ rng.normal(size=(3, columns)) + rng.normal(size=(n, columns))
        score = x @ np.where(np.arange(columns) % 5 == 0, rng.normal(size=columns), 0.0)
        score += rng.normal(size=n) * score.std()
        sizes = rng.integers(2, 7, columns)
        frame = pd.DataFrame({f"a{j}": pd.qcut(x[:, j], s, labels=False) for j, s in enumerate(sizes)}).astype(str)
        return frame.assign(label=(score > np.quantile(score, 1 - rate)).astype(int))

    return load


def near_copies(n: int = 20_000, seed: int = 5) -> pd.DataFrame:
    """Ten attributes of four levels, each with a copy that differs in one row of fifty."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 10))
    copy = np.where(rng.random(x.shape) < 0.02, rng.integers(0, 4, x.shape), x)
    log_odds = -2.5 + x @ rng.normal(size=10) * 0.3
    frame = pd.DataFrame(np.hstack([x, copy]), columns=[f"a{j}" for j in range(20)]).astype(str)
    return frame.assign(label=(rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int))


def coin(n: int = 20_000, columns: int = 20, levels: int = 6, rate: float = 0.06, seed: int = 9) -> pd.DataFrame:
    """A label that depends on nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, levels, (n, columns)), columns=[f"a{j}" for j in range(columns)]).astype(str)
    return frame.assign(label=(rng.random(n) < rate).astype(int))


def from_sklearn(maker: str, threshold: float | None = None, **options: Any) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        from sklearn import datasets as generators

        x, y = getattr(generators, maker)(random_state=0, **options)
        y = y > (0 if threshold is None else np.quantile(y, threshold))
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(label=y.astype(int))

    return load


def from_statsmodels(name: str, positive: Callable[[pd.DataFrame], pd.Series], *without: str) -> Callable[[], Any]:
    def load() -> pd.DataFrame:
        from importlib import import_module

        frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
        return frame.drop(columns=list(without)).assign(label=positive(frame).astype(int))

    return load


def synthetic_rows() -> pd.DataFrame:
    rows = synthetic.rows(40_000, sizes=[4, 6, 8, 3, 10, 5, 4, 6], rate=0.25, correlation=0.5, random_state=77)
    frame = rows.frame()
    return frame.drop(columns="label").astype(str).assign(label=frame["label"])


DATA: dict[str, Callable[[], pd.DataFrame]] = {
    "adult": adult,
    "adult, born abroad": adult_abroad,
    "bank": bank,
    "bank without duration": bank_no_duration,
    "pums, owner": pums("OWN_RENT", lambda v: v == 1),
    "pums, walking difficulty": pums("DPHY", lambda v: v == 1),
    "pums, top income": pums("PINCP_DECILE", lambda v: v >= 9),
    "pums, hispanic": pums("HISP", lambda v: v > 0, "RAC1P"),
    "pums, eyesight": pums("DEYE", lambda v: v == 1),
    "30 numbers": from_sklearn(
        "make_classification", n_samples=50_000, n_features=30, n_informative=10, n_redundant=8, weights=[0.9]
    ),
    "hastie": from_sklearn("make_hastie_10_2", n_samples=12_000),
    "friedman": from_sklearn("make_friedman1", n_samples=20_000, n_features=12, noise=2.0, threshold=0.95),
    "factors, 25 attributes": mixture(200_000, 25, 0.01, 1),
    "factors, 40 attributes": mixture(20_000, 40, 0.2, 2),
    "affairs": from_statsmodels("fair", lambda f: f["affairs"] > 0, "affairs"),
    "visits to a doctor": from_statsmodels("randhie", lambda f: f["mdvis"] > 0, "mdvis"),
    "near copies": near_copies,
    "coin": coin,
    "log-linear": synthetic_rows,
}


class Split(NamedTuple):
    tables: Tables
    train: pd.DataFrame  # levels
    y_train: np.ndarray
    test: pd.DataFrame
    y_test: np.ndarray


def split(frame: pd.DataFrame, seed: int) -> Split:
    """Training and test rows by level, and the pair tables of the former."""
    train, test = train_test_split(frame, test_size=0.25, random_state=seed, stratify=frame["label"])
    encoding = Encoding.fit(train.drop(columns="label"), {c: _rule(train[c]) for c in train.columns if c != "label"})
    names = list(encoding.attributes)
    coded = [pd.DataFrame(encoding.codes(part))[names] for part in (train, test)]
    y = [part["label"].to_numpy() for part in (train, test)]
    counted = coded[0].assign(label=y[0])
    sizes = {a: max(int(c[a].max()) for c in coded) + 1 for a in names}
    tables = Tables.from_frame(counted, names, label="label", domain=Domain(sizes))
    return Split(tables, coded[0], y[0], coded[1], y[1])


def _rule(column: pd.Series) -> Any:
    if not pd.api.types.is_numeric_dtype(column):
        return {"kind": "levels", "other": "(other)"}
    edges = np.unique(np.nanquantile(column, np.arange(1, 10) / 10))
    return np.nextafter(edges[edges < column.max()].astype(float), np.inf).tolist()


class OneHot:
    """A method of scikit-learn on indicators of levels."""

    def __init__(self, model: Any) -> None:
        self.model, self.encoder = model, OneHotEncoder(handle_unknown="ignore")

    def fit(self, s: Split) -> OneHot:
        self.model.fit(self.encoder.fit_transform(s.train), s.y_train)
        return self

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self.encoder.transform(frame))


def boosted(s: Split) -> Any:
    large = s.train.columns[s.train.max() > 250]
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=[c not in large for c in s.train])
    return model.fit(s.train, s.y_train)


class Rate:
    """The rate of the training rows, for everybody."""

    def __init__(self, s: Split) -> None:
        self.rate = s.y_train.mean()

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        return np.tile([1 - self.rate, self.rate], (len(frame), 1))


METHODS: dict[str, Callable[[Split], Any]] = {
    "maxent": lambda s: MaxEntClassifier(random_state=0).fit(s.tables),
    "naive Bayes": lambda s: NaiveBayesTables().fit(s.tables),
    "best pair": lambda s: BestPair().fit(s.tables),
    "rows: logistic": lambda s: OneHot(LogisticRegression(max_iter=500)).fit(s),
    "rows: logistic with crosses": lambda s: skyline(s.tables, s.train, s.y_train),
    "rows: gradient boosting": boosted,
    "rate alone": Rate,
}


def slope_of(y: np.ndarray, p: np.ndarray) -> float:
    """Calibration slope; NaN if predictions don't vary."""
    z = np.log(np.clip(p, 1e-12, 1)) - np.log(np.clip(1 - p, 1e-12, 1))
    if z.std() < 1e-6:
        return float("nan")
    return float(LogisticRegression(C=1e8, max_iter=1000).fit((z / z.std())[:, None], y).coef_[0, 0] / z.std())


def rounded(value: float) -> float | None:
    """Rounded to five digits; no number (the slope of a constant) is null in JSON."""
    return None if np.isnan(value) else round(float(value), 5)


loaded = cache(lambda name: DATA[name]())


def measured(name: str, seed: int, methods: list[str]) -> list[dict]:
    """Scores of methods on one split of a data set."""
    s, lines, commit = split(loaded(name), seed), [], run_record()["commit"]
    for method in methods:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begin = time.process_time()
            model = METHODS[method](s)
            cpu = time.process_time() - begin
            p = np.asarray(model.predict_proba(s.test))[:, 1]
        line = {"data": name, "split": seed, "method": method, "log_loss": log_loss(s.y_test, p)}
        line |= {"nllh": nllh(s.y_test, p), "slope": slope_of(s.y_test, p), "auc": auc(s.y_test, p)}
        line |= {"mean over rate": float(p.mean() / s.y_test.mean()), "cpu_s": cpu}
        line |= {"converged": not any(issubclass(w.category, NotConverged) for w in caught), "commit": commit}
        lines.append({k: rounded(v) if isinstance(v, float) else v for k, v in line.items()})
    return lines


def summary(lines: list[dict]) -> dict:
    """Mean scores by data set and method; ours against the row logistic; how many splits there are."""
    frame = pd.DataFrame(lines).astype(dict.fromkeys(SCORES, float))
    means = frame.groupby(["data", "method"], sort=False)[list(SCORES)].mean()
    by_method = frame.pivot_table("nllh", ["data", "split"], "method")
    ahead = (by_method["maxent"] - by_method["rows: logistic"]).dropna().groupby("data")
    gain, error = ahead.mean(), ahead.std(ddof=1) / np.sqrt(ahead.size())
    splits = frame.groupby("data")["split"].nunique()
    return {
        "means": [
            dict(zip(("data", "method"), key)) | {k: rounded(v) for k, v in row.items()}
            for key, row in means.iterrows()
        ],
        "ahead of row logistic": {
            "worst": round(float(gain.min()), 4),
            "worst data": str(gain.idxmin()),
            "mean": round(float(gain.mean()), 4),
            "data sets": len(gain),
            "by data": {d: [rounded(gain[d]), rounded(error[d])] for d in gain.sort_values().index},
        },
        "splits": {"wanted": WANTED_SPLITS, "fewest": int(splits.min()), "most": int(splits.max())},
    }


def stored(lines: list[dict], target: Path) -> dict:
    """The lines with their summary, written to a file."""
    record = (
        {"lines": lines, "seeds": "the splits of the lines"} | summary(lines) | {"command": run_record()["command"]}
    )
    record["commit"] = ", ".join(sorted({str(r["commit"]) for r in lines}))
    target.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record


def run(arguments: argparse.Namespace, lines: list[dict]) -> dict:
    """Measure what is asked for and replace these lines; results are written as they come."""
    by_key = {(r["data"], r["split"], r["method"]): r for r in lines}
    record: dict = {}
    METHODS["maxent"](split(synthetic_rows().head(2000), 0))  # compiles, once for all processes
    context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    with ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        tasks = [(name, seed) for seed in arguments.splits for name in arguments.data]
        for done in as_completed([pool.submit(measured, *task, arguments.methods) for task in tasks]):
            by_key |= {(r["data"], r["split"], r["method"]): r for r in done.result()}
            print(*done.result(), sep="\n", flush=True)
            record = stored(list(by_key.values()), arguments.output)
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", nargs="*", type=int, default=range(WANTED_SPLITS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the committed figures")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="files of other runs; measures nothing")
    arguments = parser.parse_args()
    record = json.loads(arguments.output.read_text("utf-8")) if arguments.output.exists() else {"lines": []}
    if arguments.merge:
        lines = record["lines"] + [r for p in arguments.merge for r in json.loads(p.read_text("utf-8"))["lines"]]
        record = stored(list({(r["data"], r["split"], r["method"]): r for r in lines}.values()), arguments.output)
    elif not arguments.show:
        record = run(arguments, record["lines"])
    print(pd.DataFrame(record["means"]).to_string(index=False))
    print(record["ahead of row logistic"], record["splits"])


if __name__ == "__main__":
    main()
