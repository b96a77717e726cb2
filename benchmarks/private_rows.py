"""From rows to a classifier, all of it private: ``sumwise release --rows`` on Adult, against tables on known levels.

Usage: python benchmarks/private_rows.py [--epsilon 1] [--draws 3] writes benchmarks/results/private_rows.json. Eight
attributes; cut points (deciles within ranges that anybody would guess) and lists of levels are learned under the budget
(delta 1e-6, a tenth of it), tables of all pairs have the rest as Gaussian noise. ``known levels``: the same rules
learned without noise, and all of the budget for the tables. NLLH and AUC on test rows. OpenDP's noise has no seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from sumwise import NotConverged, Tables, datasets
from sumwise.aggregate import aggregate
from sumwise.cli.entry import main as sumwise
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier
from sumwise.metrics import auc, nllh
from sumwise.privacy import release
from sumwise.readers import read_tables_folder

RESULTS = Path(__file__).parent / "results" / "private_rows.json"
RANGES = {"age": [0, 100], "education_num": [0, 20], "capital_gain": [0, 100_000], "hours_per_week": [0, 100]}
LEVELS = ["marital_status", "occupation", "relationship", "sex"]
DELTA = 1e-6


def by_command(rows, epsilon: float) -> Tables:
    """What the command releases."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["SUMWISE_STATE"] = place
        folder = Path(place)
        rows.to_parquet(folder / "rows.parquet")
        rules = [f'[{c}]\nkind = "quantiles"\nbins = 10\nrange = {r}\n' for c, r in RANGES.items()]
        rules += [f'[{c}]\nkind = "levels"\n' for c in LEVELS]
        (folder / "rules.toml").write_text("\n".join(rules))
        options = ["--encode", str(folder / "rules.toml"), "--label", "label", "--mechanism", "gaussian"]
        options += ["--delta", str(DELTA), "--epsilon", str(epsilon), "--out", str(folder / "noisy")]
        if sumwise(["release", "--rows", str(folder / "rows.parquet"), *options]):
            raise SystemExit("the release failed")
        return read_tables_folder(folder / "noisy")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConverged)
    data, kept = datasets.adult(), [*RANGES, *LEVELS]
    rows = data.train[kept].assign(label=np.asarray(data.y_train))
    spec = {c: {"kind": "quantiles", "bins": 10} for c in RANGES} | dict.fromkeys(LEVELS, "levels")
    known = aggregate(rows, kept, "label", encoding=Encoding.fit(rows, spec))
    begin, lines = time.process_time(), []
    for draw in range(arguments.draws):
        plain = release(known, arguments.epsilon, DELTA, "gaussian", budget=None, public_levels=True)
        for way, tables in (("private levels", by_command(rows, arguments.epsilon)), ("known levels", plain)):
            model = MaxEntClassifier(random_state=draw).fit(tables)
            p = model.predict_proba(data.test)[:, 1]
            y = np.asarray(data.y_test)
            lines.append({"way": way, "draw": draw, "nllh": float(nllh(y, p)), "auc": float(auc(y, p))})
            print(lines[-1], flush=True)
            found = {
                w: {k: round(float(np.mean([li[k] for li in lines if li["way"] == w])), 4) for k in ("nllh", "auc")}
                for w in {li["way"] for li in lines}
            }
            commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
            facts = {"command": "python benchmarks/private_rows.py", "commit": commit, "delta": DELTA}
            facts |= {"epsilon": arguments.epsilon, "seed": "of the fit: the draw", "draws": draw + 1}
            facts |= {"cpu_s": round(time.process_time() - begin)}
            RESULTS.write_text(json.dumps(facts | {"means": found, "lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
