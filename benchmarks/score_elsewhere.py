"""A classifier of survey rows scored in DuckDB and in onnxruntime: the largest difference from predict_proba.

Usage: python benchmarks/score_elsewhere.py writes benchmarks/results/score_elsewhere.json. Rows: adults of the American
Community Survey (`datasets.pums_national`), 20,000 counted and 3,000 scored; codes as text, ages cut at quantiles, 2%
of every column missing, and a column whose name and values hold quotes. Needs the extras ``aggregate`` and ``onnx``.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import NotConverged, datasets
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.readers.connection import connect

RESULTS = Path(__file__).parent / "results" / "score_elsewhere.json"
COLUMNS = ["AGEP", "SEX", "MSP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "DPHY"]
COUNTED, SCORED, SEED = 20_000, 3_000, 1


def survey() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with missing values and an awkward column, and their labels."""
    people = datasets.pums_national().frame.dropna(subset="PINCP_DECILE")
    rng, rows = np.random.default_rng(SEED), pd.DataFrame({"AGEP": people["AGEP"].astype(float)})
    for column in COLUMNS[1:]:
        rows[column] = people[column].astype("Int64").astype(object)
        rows[column] = rows[column].map(lambda v: None if pd.isna(v) else str(v)).astype(object)
    rows['a "name" it\'s'] = rng.choice(np.array(["it's", 'a "b"', "é", "x;--"], dtype=object), len(rows))
    for column in rows:
        rows.loc[rng.random(len(rows)) < 0.02, column] = np.nan if column == "AGEP" else None
    return rows, (people["PINCP_DECILE"] >= 7).to_numpy().astype(int)


def main() -> None:
    import onnxruntime

    warnings.simplefilter("ignore", NotConverged)
    begin, (rows, y) = time.process_time(), survey()
    train, test = rows.iloc[:COUNTED], rows.iloc[COUNTED : COUNTED + SCORED].reset_index(drop=True)
    levels = {"kind": "levels", "missing": True, "other": "(other)", "max_levels": 9}
    spec = {c: {"kind": "quantiles", "bins": 7, "missing": True} if c == "AGEP" else levels for c in rows}
    encoding = Encoding.fit(train, spec)
    tables = aggregate(train.assign(label_=y[:COUNTED]), list(encoding.attributes), "label_", encoding=encoding)
    model = MaxEntClassifier(random_state=0, options=SolverOptions(n_chains=2000, max_iter=60)).fit(tables)
    wanted = model.predict_proba(test)
    with connect() as database:
        database.register("people", test.assign(key_=np.arange(len(test))))
        found = database.execute(model.to_sql("people", keep=["key_"])).df().sort_values("key_")
    by_sql = found[["probability_0", "probability_1"]].to_numpy()
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    feed = {
        f"c_{c}": test[c].to_numpy(dtype=float) if c == "AGEP" else test[c].fillna("").to_numpy(dtype=object)
        for c in test
    }
    (by_onnx,) = session.run(["probabilities"], feed)
    out = {
        **run_record(seed=SEED),
        "rows scored": len(test),
        "parameters": len(model.mu_),
        "largest difference": {
            "DuckDB": float(np.abs(by_sql - wanted).max()),
            "onnxruntime": float(np.abs(by_onnx - wanted).max()),
        },
        "cpu_s": round(time.process_time() - begin, 1),
    }
    RESULTS.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
