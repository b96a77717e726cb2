"""The methods that Sun (2019, section 3.2) names and doesn't run, beside the default, paired.

    python benchmarks/proportions_named.py                    # ten draws of four settings
    python benchmarks/proportions_named.py votes --draws 2

Cluster selection (Stolpe and Morik 2011), the proportion SVM (Yu et al. 2013) and sampling of labels by MCMC (Kueck and
de Freitas 2005), each with its default settings, on draws of `proportions_few_bags.py`, where `CardinalityClassifier`
has its scores. Writes benchmarks/results/proportions_named.json, a row per setting and method: mean AUC and log-loss on
held-out rows, and the paired gain of the default in AUC with its standard error.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import proportions_few_bags as few
from proportions_recent import SETTINGS
from run_record import run_record
from sklearn.metrics import log_loss, roc_auc_score

from sumwise.proportions import CardinalityClassifier, ClusterSelection, LabelSampler, ProportionSVM

RESULTS = Path(__file__).parent / "results" / "proportions_named.json"
DEFAULT = "cardinality model"
METHODS = {
    DEFAULT: CardinalityClassifier,
    "MCMC over labels": LabelSampler,
    "proportion SVM": ProportionSVM,
    "cluster selection": ClusterSelection,
}


def scores(make, setting, seed):
    """AUC, log-loss and CPU seconds of one fit; a method without probabilities is scored by its classes."""
    bags, counts, values, labels = few.draw(setting, seed)
    begin = time.process_time()
    model = make(random_state=0) if "random_state" in make().get_params() else make()
    model.fit(bags, counts)
    spent = time.process_time() - begin
    sure = model.predict_proba(values)[:, 1] if hasattr(model, "predict_proba") else model.predict(values).astype(float)
    loss = log_loss(labels, np.clip(sure, 1e-6, 1 - 1e-6)) if hasattr(model, "predict_proba") else np.nan
    rank = model.decision_function(values) if hasattr(model, "decision_function") else sure
    return float(roc_auc_score(labels, rank)), float(loss), spent


def rows_of(setting, draws):
    """A row per method, with the default's gain over it in the same draws."""
    found = {}
    for name, make in METHODS.items():
        found[name] = np.array([scores(make, setting, seed) for seed in range(few.FIRST, few.FIRST + draws)])
        auc, loss, spent = found[name].mean(axis=0)
        gain = found[DEFAULT][:, 0] - found[name][:, 0]
        error = float(gain.std(ddof=1) / np.sqrt(draws)) if draws > 1 else None
        row = {"data": setting[0], "bags": setting[1], "size": setting[2], "method": name, "AUC": auc}
        row |= {"log-loss": None if np.isnan(loss) else loss, "gain": float(gain.mean()), "gain error": error}
        yield row | {"cpu_s": spent, "draws": draws}
        print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="beginnings of data sets' names; default all")
    parser.add_argument("--draws", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for setting in (s for s in SETTINGS if not args.sets or s[0].startswith(tuple(args.sets))):
        for row in rows_of(setting, args.draws):
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": []}
            same = [(r["data"], r["method"]) == (row["data"], row["method"]) for r in kept["rows"]]
            left = [r for r, twin in zip(kept["rows"], same) if not twin]
            made = run_record(seeds=list(range(few.FIRST, few.FIRST + args.draws))) | {"rows": [*left, row]}
            RESULTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
