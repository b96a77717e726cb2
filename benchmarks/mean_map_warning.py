"""Whether `MeanMap` warns of fits that are too certain, on cuts and draws that its rule was not chosen on.

    python benchmarks/mean_map_warning.py               # ten draws of every setting, about two CPU minutes

Settings are those of `proportions_fresh_cuts.py` and the other cuts of `proportions_few_bags.py`. A fit is too certain
where a logistic regression of other individuals' labels on its logits has a slope below one half, and misleads where it
predicts them worse than the overall share of the bags does. Writes benchmarks/results/mean_map_warning.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import proportions_few_bags as few
import proportions_fresh_cuts as fresh
from run_record import run_record
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sumwise.errors import ModelWarning
from sumwise.proportions import MeanMap

RESULTS = Path(__file__).parent / "results" / "mean_map_warning.json"
FIRST = 5000
SETTINGS = [(fresh, s) for s in fresh.SETTINGS] + [(few, s) for s in few.OTHER]


def judged(drawn):
    """Whether one fit warned, the slope of others' labels on its logits, and its log-loss beside the share's."""
    bags, counts, values, labels = drawn
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MeanMap().fit(bags, counts)
    warned = any(issubclass(w.category, ModelWarning) and "vary" in str(w.message) for w in caught)
    logits = values @ model.coef_[0] + model.intercept_[0]
    slope = float(LogisticRegression(C=np.inf).fit(logits[:, None], labels).coef_[0, 0])
    chance = np.clip(1 / (1 + np.exp(-logits)), 1e-6, 1 - 1e-6)
    share = np.full(len(labels), counts.sum() / bags.n_rows)
    return {"warned": warned, "slope": round(slope, 4), "loss": round(float(log_loss(labels, chance)), 4),
            "loss of the share": round(float(log_loss(labels, share)), 4)}  # fmt: skip


def summary(fits):
    """How many fits of each kind were warned of."""
    kinds = {"too certain": [f for f in fits if f["slope"] < 0.5]}
    kinds["misleading"] = [f for f in fits if f["loss"] > f["loss of the share"]]
    kinds["neither"] = [f for f in fits if f["slope"] >= 0.5 and f["loss"] <= f["loss of the share"]]
    return {name: {"fits": len(found), "warned": sum(f["warned"] for f in found)} for name, found in kinds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    fits = []
    for module, setting in SETTINGS:
        for seed in range(FIRST, FIRST + args.draws):
            named = {"setting": f"{setting[0]}, {setting[1]} of {setting[2] or '20 to 400'}", "seed": seed}
            fits.append(named | judged(module.draw(setting, seed)))
        kept = run_record(first_draw=FIRST, draws=args.draws) | {"summary": summary(fits), "fits": fits}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    print(json.dumps(summary(fits), indent=1))


if __name__ == "__main__":
    main()
