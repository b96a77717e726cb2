"""Four methods of recent years on the draws of `proportions_few_bags.py`, beside the default, paired.

    python benchmarks/proportions_recent.py                    # ten draws of four settings
    python benchmarks/proportions_recent.py votes owner --draws 2
    python benchmarks/proportions_recent.py --show

LLPFC (Zhang, Wang and Scott 2022): bags are paired at random, "which bag of the pair" is a noisy label whose transition
matrix follows from the two shares, and the loss is corrected forward; here averaged over ten pairings. Assignment by
optimal transport (Dulac-Arnold et al. 2019; Liu et al. 2021): soft labels that fulfil each bag's shares at least
entropic transport cost from the model's log-probabilities, and a fit to these labels, in turn. Pseudo-labels by belief
propagation (Havaldar et al. 2024): a graphical model whose factors are the bags' counts and couplings between nearest
neighbours, its marginals by loopy belief propagation, and a fit to these, in turn; the messages of a count factor are
exact here. These are linear models, with the penalty chosen by held-out bags as the library's other methods do. The
network with the proportion loss and virtual adversarial consistency (Tsai and Lin 2020) has the settings of
`ProportionLossNetwork`, which stands beside it. None was tuned: ten pairings, the entropic weight 0.5, five
neighbours with couplings of 0.5, and perturbations of half a deviation with weight 0.05 were set beforehand. They live
in `recent_methods.py` and not in the library as long as they lead nowhere.
Writes benchmarks/results/proportions_recent.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import proportions_few_bags as few
from recent_methods import LLPFC, BeliefPropagation, ConsistencyNetwork, TransportAssignment
from run_record import run_record
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise.proportions import ProportionLossNetwork

RESULTS = Path(__file__).parent / "results" / "proportions_recent.json"
SETTINGS = [
    ("votes", 25, 60),
    ("adult, occupations", 12, 100),
    ("owner", 25, 60),
    ("bachelor", 25, 60),
]


METHODS = {
    "LLPFC": LLPFC,
    "optimal transport": TransportAssignment,
    "belief propagation": BeliefPropagation,
    "proportion-loss network": ProportionLossNetwork,
    "consistency network": ConsistencyNetwork,
}


def measured(setting, n_draws, kept):
    """AUC and log-loss of these methods, beside those that the default had in the same draws."""
    found = {method: [] for method in METHODS}
    begin = time.process_time()
    for seed in range(few.FIRST, few.FIRST + n_draws):
        bags, counts, values, labels = few.draw(setting, seed)
        for method, make in METHODS.items():
            chance = make().fit(bags, counts).predict_proba(values)[:, 1]
            loss = log_loss(labels, np.clip(chance, 1e-6, 1 - 1e-6))
            found[method].append([round(float(roc_auc_score(labels, chance)), 5), round(float(loss), 5)])
    found["cardinality"] = kept["scores"]["cardinality"][:n_draws]
    name, n_bags, size = setting
    seconds = round(time.process_time() - begin, 1)
    return {"data": name, "bags": n_bags, "size": size, "cpu_seconds": seconds, "scores": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="beginnings of data sets' names; default all")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    before = {(c["data"], c["bags"], c["size"]): c for c in json.loads(few.RESULTS.read_text())["cells"]}
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    wanted = [s for s in SETTINGS if not args.sets or s[0].startswith(tuple(args.sets))]
    for setting in () if args.show else wanted:
        cell = measured(setting, args.draws, before[setting])
        others = [c for c in kept["cells"] if (c["data"], c["bags"], c["size"]) != setting]
        kept = {
            "command": f"python benchmarks/proportions_recent.py --draws {args.draws}",
            "commit": run_record()["commit"],
            "draws": args.draws,
            "cells": [*others, cell],
        }
        RESULTS.write_text(json.dumps(kept) + "\n")
        print(setting, f"{cell['cpu_seconds']} s", flush=True)
    for which, (title, better) in enumerate((("Test AUC", 1.0), ("Log-loss", -1.0))):
        table(title, few.rows_of(kept["cells"], which, better))


if __name__ == "__main__":
    main()
