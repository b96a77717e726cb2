"""CPU seconds of `CardinalityNetwork` beside a plain network with the proportion loss, both at their defaults.

    python benchmarks/proportions_network_time.py                # ten draws, about six CPU minutes
    python benchmarks/proportions_network_time.py 5 --draws 3    # bags of five only

150 bags with eight features whose classes a ring divides. The two fit the same bags, one after the other, kernels
compiled before. The ratio is that of the seconds of all draws together: a plain network that stops early, having
learned little, takes a third of the time of one that doesn't. Writes benchmarks/results/proportions_network_time.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn.metrics import roc_auc_score

from sumwise import Bags
from sumwise.proportions import CardinalityNetwork, ProportionLossNetwork

RESULTS = Path(__file__).parent / "results" / "proportions_network_time.json"
N_BAGS, N_FEATURES = 150, 8


def data(size, seed):
    rng = np.random.default_rng([seed, size])
    shift = np.repeat(rng.normal(size=(N_BAGS, N_FEATURES)), size, axis=0)
    values = rng.normal(size=(N_BAGS * size, N_FEATURES)) + shift
    labels = rng.random(N_BAGS * size) < 1 / (1 + np.exp(-(values[:, 0] + values[:, 1] ** 2 - 1)))
    return Bags(values, np.arange(N_BAGS + 1) * size), labels


def measured(size, n_draws):
    """Seconds, ratio and AUC of both, over draws."""
    networks = {"proportion_loss": ProportionLossNetwork(), "cardinality": CardinalityNetwork()}
    seconds, auc = ({name: [] for name in networks} for _ in range(2))
    for seed in range(1, n_draws + 1):
        bags, labels = data(size, seed)
        other, truth = data(size, seed + 100)
        for name, network in networks.items():
            begin = time.process_time()
            network.fit(*_counted(bags, labels))
            seconds[name].append(round(time.process_time() - begin, 2))
            auc[name].append(round(float(roc_auc_score(truth, network.predict_proba(other.values)[:, 1])), 4))
    gain = np.subtract(auc["cardinality"], auc["proportion_loss"])
    return {
        "bags": N_BAGS, "members": size, "draws": n_draws, "seconds": seconds, "auc": auc,
        "ratio": round(sum(seconds["cardinality"]) / sum(seconds["proportion_loss"]), 2),
        "gain": round(float(gain.mean()), 4), "error": round(float(gain.std(ddof=1) / np.sqrt(n_draws)), 4),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[5, 20, 60], help="members of a bag")
    parser.add_argument("--draws", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    CardinalityNetwork(max_epochs=1, patience=1).fit(*_counted(*data(5, 0)))  # compiles
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    cells = {c["members"]: c for c in kept["cells"] if "draws" in c}
    for size in args.sizes:
        cells[size] = measured(size, args.draws)
        print({k: v for k, v in cells[size].items() if k not in ("seconds", "auc")}, flush=True)
        cells[size]["commit"] = run_record()["commit"]
        kept = {"command": "python benchmarks/proportions_network_time.py", "cells": list(cells.values())}
        RESULTS.write_text(json.dumps(kept) + "\n")


def _counted(bags, labels):
    return bags, np.add.reduceat(labels.astype(int), bags.offsets[:-1])


if __name__ == "__main__":
    main()
