"""CPU seconds of `CardinalityNetwork` beside a plain network with the proportion loss, both at their defaults.

    python benchmarks/proportions_network_time.py      # about a minute

150 bags with eight features whose classes a ring divides. One fit each, kernels compiled before. Writes
benchmarks/results/proportions_network_time.json.
"""

from __future__ import annotations

import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
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


def main():
    warnings.simplefilter("ignore")
    CardinalityNetwork(max_epochs=1, patience=1).fit(*_counted(*data(5, 0)))  # compiles
    rows = []
    for size in (5, 20, 60):
        bags, labels = data(size, 1)
        other, truth = data(size, 2)
        row: dict = {"bags": N_BAGS, "members": size}
        for name, network in (("proportion_loss", ProportionLossNetwork()), ("cardinality", CardinalityNetwork())):
            begin = time.process_time()
            network.fit(*_counted(bags, labels))
            row[f"{name}_seconds"] = round(time.process_time() - begin, 2)
            row[f"{name}_auc"] = round(float(roc_auc_score(truth, network.predict_proba(other.values)[:, 1])), 4)
        row["ratio"] = round(row["cardinality_seconds"] / row["proportion_loss_seconds"], 2)
        rows.append(row)
        print(row, flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    command = "python benchmarks/proportions_network_time.py"
    RESULTS.write_text(
        json.dumps({"command": command, "commit": commit.stdout.strip(), "cells": rows}, indent=1) + "\n"
    )


def _counted(bags, labels):
    return bags, np.add.reduceat(labels.astype(int), bags.offsets[:-1])


if __name__ == "__main__":
    main()
