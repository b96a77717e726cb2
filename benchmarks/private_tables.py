"""Private tables of Adult: what a classifier and pair tables lose to noise, by way of release.

Usage: python benchmarks/private_tables.py [--data adult] [--attributes N] [--epsilon .1 1 10] [--draws N]
       [--first N] [--ways ...] [--simulated] [--merge FILE ...]

--simulated draws the noise of releases by seed in place of OpenDP, and counts without DuckDB, for machines that have
neither. Ways: ``pairs`` (Gaussian noise on all pairs), ``geometric`` (on all pairs), ``adaptive`` and ``tree``
(`release_selected`), ``exact``, and ``former`` and ``former-geometric``: noise on counts and label sums side by side,
for Gaussian noise by the conversion of Bun and Steinke, as releases were before (simulated by a seed).
``aim``: AIM on the `mbi` package (benchmarks/aim_rows.py; all pairs with the label, in an environment that is made
under .cache when it is first used); a logistic regression with pairs is fitted to its synthetic rows.
``--attributes`` takes the first so many attributes, ``--columns`` those named, for more draws in the same time. Data:
adult, bank, and ``rows`` and ``linked`` (generated: six attributes, weakly and strongly associated).
Delta is 1e-6. The same encoding for all: levels, and ten bins of equal width for numbers. Scores on the test rows:
normalised log-likelihood (NLLH) and AUC of `MaxEntClassifier`, and the total variation over all pairs between the
model, by 200,000 rows drawn from it (which adds about .004 on Adult), and the training rows; of AIM the model's own.
Each draw has noise of its own; OpenDP has no seed. Results are kept as they come, and summed up at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from simulated_release import simulated_release, simulated_selection

from sumwise import NotConverged, Table, Tables, datasets, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier, SolverOptions, skyline
from sumwise.metrics import auc, nllh
from sumwise.noise import Gaussian, Geometric
from sumwise.privacy import release, release_selected
from sumwise.privacy.accounting import loose_rho, rho_of_epsilon

DELTA = 1e-6
ENVIRONMENT = Path(__file__).parents[1] / ".cache" / "mbi"
RESULTS = Path(__file__).parent / "results" / "private_tables.json"
SEEDED = RESULTS.with_name("private_tables_seeded.json")


def former(tables: Tables, epsilon: float, pure: bool, seed: int) -> Tables:
    """What a release was before: counts and label sums with noise of their own."""
    if pure:
        noise = Geometric(2 * len(tables) / epsilon)
    else:
        noise = Gaussian(math.sqrt(2) / math.sqrt(2 * loose_rho(epsilon, DELTA) / len(tables)))
    rng = np.random.default_rng(seed)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return replace(tables, tables=tuple(made), n=None)


def load(name: str, attributes: int | None, columns: list[str] | None = None, simulated: bool = False) -> tuple:
    """The exact tables of all pairs, test rows with labels, and the training rows by level."""
    if name in ("rows", "linked"):
        strength = 0.3 if name == "rows" else 0.8
        made = synthetic.rows(40_000, sizes=[4, 6, 8, 3, 10, 5], rate=0.25, correlation=strength, random_state=77)
        frame = made.frame()
        train, test = frame.iloc[:30_000], frame.iloc[30_000:]
        y_train, y_test = train.pop("label"), test.pop("label")
        train, test = train.astype(str), test.astype(str)
    elif name == "adult":
        data = datasets.adult()
        train, test, y_train, y_test = data.train, data.test, data.y_train, data.y_test
        train, test = train.drop(columns="income"), test.drop(columns="income")
    else:
        from sklearn.model_selection import train_test_split

        frame = datasets.bank().frame
        train, test = train_test_split(frame, test_size=0.2, random_state=0)
        y_train, y_test = ((f.pop("y") == "yes").to_numpy().astype(int) for f in (train, test))
    spec = {c: {"kind": "width", "bins": 10} if pd.api.types.is_numeric_dtype(train[c]) else "levels" for c in train}
    encoding = Encoding.fit(train, {c: s if isinstance(s, dict) else {"kind": "levels", "other": "(other)"}
                                    for c, s in spec.items()})  # fmt: skip
    rows = train.assign(label_=np.asarray(y_train))
    kept = columns or list(train.columns)[:attributes]
    encoding = encoding.project(kept)
    codes = encoding.codes(rows)
    if simulated:
        levels = {a: np.array(encoding.domain.levels(a), dtype=object)[codes[a]] for a in kept}
        counted = Tables.from_frame(
            levels | {"label_": rows["label_"].to_numpy()}, kept, "label_", domain=encoding.domain
        )
        tables = replace(counted, encoding=encoding)
    else:
        tables = aggregate(rows, kept, "label_", encoding=encoding)
    return tables, test, np.asarray(y_test), np.column_stack([*(codes[a] for a in kept), np.asarray(y_train)])


def released(tables: Tables, way: str, epsilon: float, draw: int, simulated: bool = False) -> Tables:
    """One release of the tables, with its own noise."""
    if simulated and way in ("pairs", "geometric"):
        return simulated_release(tables, epsilon, "gaussian" if way == "pairs" else way, draw)
    if simulated and way in ("adaptive", "tree"):
        return simulated_selection(tables, epsilon, way, draw)
    options = {"budget": None, "public_levels": True}
    if way == "exact":
        return tables
    if way.startswith("former"):
        return former(tables, epsilon, way.endswith("geometric"), draw)
    if way == "geometric":
        return release(tables, epsilon, mechanism="geometric", **options)
    if way == "pairs":
        return release(tables, epsilon, DELTA, "gaussian", **options)
    return release_selected(tables, epsilon, DELTA, method=way, **options)


def aim(tables: Tables, codes: np.ndarray, test: pd.DataFrame, y: np.ndarray, epsilon: float, seed: int) -> dict:
    """Scores of a logistic regression on AIM's synthetic rows, and the variation of these."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "mbi==2.0.0"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, codes=codes, sizes=np.array([*tables.domain.shape, 2]))
        script, rho = Path(__file__).with_name("aim_rows.py"), rho_of_epsilon(epsilon, DELTA)
        command = [str(python), "-W", "ignore", str(script), str(source), str(target), str(rho), str(seed)]
        flags = "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"  # compiling takes most of it
        subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"})
        found = dict(np.load(target))
    names = tables.domain.attributes
    levels = {a: np.array(tables.domain.levels(a), dtype=object) for a in names}
    rows = pd.DataFrame({a: levels[a][found["rows"][:, i]] for i, a in enumerate(names)})
    plain = Tables.from_frame(
        rows.assign(label_=found["rows"][:, -1]), list(names), label="label_", domain=tables.domain
    )
    model = skyline(plain, rows, found["rows"][:, -1])
    p = model.predict_proba(tables.encoding.transform(test, unseen="code"))[:, 1]
    return {
        "nllh": round(float(nllh(y, p)), 4),
        "auc": round(float(auc(y, p)), 4),
        "variation": round(float(found["variation"]), 4),
        "variation_rows": round(pair_variation(rows, tables), 4),
        "tables": int(found["rounds"]),
        "cpu_s": round(float(found["cpu_s"]), 1),
    }


def variation(model: MaxEntClassifier, tables: Tables, n: int = 200_000) -> float:
    """Mean total variation over all pairs, between rows drawn from the model and the exact tables."""
    return pair_variation(model.sample(n, random_state=0), tables)


def pair_variation(drawn: pd.DataFrame, tables: Tables) -> float:
    """Mean total variation over all pairs, between rows of levels and the exact tables."""
    found, n = [], len(drawn)
    for a, b in combinations(tables.domain.attributes, 2):
        codes = [pd.Categorical(drawn[c], categories=list(tables.domain.levels(c))).codes for c in (a, b)]
        shape = (tables.domain[a], tables.domain[b])
        counts = np.bincount(codes[0].astype(int) * shape[1] + codes[1], minlength=shape[0] * shape[1])
        exact = tables[a, b].counts.ravel()
        found.append(0.5 * np.abs(counts / n - exact / exact.sum()).sum())
    return float(np.mean(found))


def scores(tables: Tables, noisy: Tables, test: pd.DataFrame, y: np.ndarray, seed: int, options: dict) -> dict:
    """Fit a classifier to released tables and score it."""
    begin = time.process_time()
    model = MaxEntClassifier(random_state=seed, options=SolverOptions(**options)).fit(noisy)
    p = model.predict_proba(test)[:, 1]
    return {
        "nllh": round(float(nllh(y, p)), 4),
        "auc": round(float(auc(y, p)), 4),
        "variation": round(variation(model, tables), 4),
        "tables": len(noisy),
        "steps": model.fit_.n_iter,
        "moment_error": round(float(model.fit_.history["moment_error"][-1]), 3),
        "cpu_s": round(time.process_time() - begin, 1),
    }


def summary(lines: list[dict]) -> list[dict]:
    """Mean and standard deviation over draws."""
    frame = pd.DataFrame(lines)
    out = []
    for (data, way, epsilon), part in frame.groupby(["data", "way", "epsilon"], sort=False):
        row = {"data": data, "way": way, "epsilon": epsilon, "draws": len(part)}
        for name in ("nllh", "auc", "variation", "cpu_s"):
            row[name] = round(float(part[name].mean()), 4)
            row[f"{name}_sd"] = round(float(part[name].std(ddof=1)), 4) if len(part) > 1 else None
        out.append(row)
    return out


def merge(paths: list[Path]) -> None:
    """Put runs together: by data, way of release and epsilon, means over draws with their standard deviations."""
    draws = [line for p in sorted(paths) for line in json.loads(p.read_text(encoding="utf-8"))["draws"]]
    out: dict = {}
    for row in summary(draws):
        by_way = out.setdefault(row.pop("data"), {}).setdefault(row.pop("way"), {})
        by_way[f"{row.pop('epsilon'):g}"] = row
    command = "python benchmarks/private_tables.py --simulated --draws 10, in parts; AIM without --simulated"
    facts = {"command": command, "delta": DELTA, "seed": "the draw, of noise and fit"}
    SEEDED.write_text(json.dumps(facts | {"data": out}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--merge", type=Path, nargs="+")
    parser.add_argument("--data", default="adult")
    parser.add_argument("--attributes", type=int)
    parser.add_argument("--columns", nargs="+")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--ways", nargs="+", default=["pairs", "adaptive", "tree", "geometric"])
    parser.add_argument("--options", default="{}", help="of the solver, as JSON")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.merge:
        merge(arguments.merge)
        return
    warnings.simplefilter("ignore", NotConverged)
    tables, test, y, codes = load(arguments.data, arguments.attributes, arguments.columns, arguments.simulated)
    kept = json.loads(arguments.out.read_text())["draws"] if arguments.out.exists() else []
    for draw in range(arguments.first, arguments.first + arguments.draws):
        for epsilon in arguments.epsilon:
            for way in arguments.ways:
                size = len(arguments.columns) if arguments.columns else arguments.attributes
                name = arguments.data + (f"-{size}" if size else "") + (" named" if arguments.columns else "")
                line = {"data": name, "way": way, "epsilon": epsilon, "draw": draw}
                if way == "aim":
                    kept.append(line | aim(tables, codes, test, y, epsilon, draw))
                else:
                    noisy = released(tables, way, epsilon, draw, arguments.simulated)
                    kept.append(line | scores(tables, noisy, test, y, draw, json.loads(arguments.options)))
                print(json.dumps(kept[-1]), flush=True)
                arguments.out.parent.mkdir(exist_ok=True)
                facts = {"command": "python benchmarks/private_tables.py", "delta": DELTA, "seed": "of the fit: draw"}
                arguments.out.write_text(json.dumps(facts | {"summary": summary(kept), "draws": kept}, indent=1))
    print(pd.DataFrame(summary(kept)).to_string(index=False))


if __name__ == "__main__":
    main()
