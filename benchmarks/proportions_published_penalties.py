"""Published bags of Adult: how scores depend on where the search of the penalty begins, and on the penalty.

    python benchmarks/proportions_published_penalties.py starts                      # all five, ten splits
    python benchmarks/proportions_published_penalties.py starts hard-large-not-equal-close --first 5 --splits 5
    python benchmarks/proportions_published_penalties.py fixed                       # hard-close, fixed penalties
    python benchmarks/proportions_published_penalties.py --merge a.json b.json       # adds splits of other machines

starts: the default, the same search from the reference penalty, where it began before, and always from a third of it,
    on the splits of `proportions.py franco`, and on Adult in random bags of 1,000: accuracy, AUC and log-loss of the
    rows held out, and what the default loses on the same splits. The first three splits, which an earlier table had,
    are given apart.
fixed: multiples of the reference beside them, hard-close only (six CPU minutes).

Writes benchmarks/results/proportions_published_penalties.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn.metrics import log_loss, roc_auc_score

from proportions import adult_people, make_bags, table
from sumwise import datasets
from sumwise.proportions import CardinalityClassifier, penalty

RESULTS = Path(__file__).parent / "results" / "proportions_published_penalties.json"
MULTIPLES = (0.01, 0.032, 0.1, 0.32, 1.0, 3.2)
STARTS = {  # the first step, and the evidence for the reference that moves it
    "default": (penalty.FIRST, penalty.VERY_STRONG),
    "from the reference": (penalty.MIDDLE, penalty.VERY_STRONG),
    "always from a third": (penalty.MIDDLE - 1, np.inf),
}
ADULT = "adult, random bags of 1,000"
VARIANTS = (
    "simple-large-not-equal-close",
    "simple-large-not-equal-far",
    "hard-large-not-equal-close",
    "hard-large-not-equal-far",
    "intermediate-large-not-equal-far",
    ADULT,
)
SCORES = ("accuracy", "AUC", "log-loss")


@cache
def named(variant):
    """A published assignment."""
    return datasets.franco(next(n for n in datasets.franco_variants() if n.split("-global")[0] == variant))


def split(variant, seed):
    """Bags and counts of three quarters of the rows, and the features and labels of the others."""
    if variant == ADULT:  # its own test rows
        values, labels, _, rest, truth = adult_people()
        return *make_bags(values, labels, 1000, seed), rest, truth
    data = named(variant)
    mask = np.random.default_rng(seed).random(data.bags.n_rows) < 0.75
    counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
    return data.bags.subset(mask), counts, data.bags.values[~mask], data.labels[~mask]


def scored(model, bags, counts, rest, truth):
    """Accuracy, AUC and log-loss."""
    chance = model.fit(bags, counts).predict_proba(rest)[:, 1]
    accuracy = np.mean((chance > 0.5) == truth)
    found = accuracy, roc_auc_score(truth, chance), log_loss(truth, np.clip(chance, 1e-6, 1 - 1e-6))
    return [round(float(x), 5) for x in found]


def from_starts(variant, seed):
    """Scores of every start on one split."""
    found = {}
    for name, (penalty.FIRST, penalty.VERY_STRONG) in STARTS.items():
        found[name] = scored(CardinalityClassifier(tol=1e-3), *split(variant, seed))
    penalty.FIRST, penalty.VERY_STRONG = STARTS["default"]
    return found


def with_fixed(variant, seed):
    """Scores of fixed multiples of the reference on one split."""
    bags, *others = split(variant, seed)
    reference = penalty.reference_shape(np.asarray(bags.values, dtype=float))
    return {str(m): scored(CardinalityClassifier(tol=1e-3, penalty=m * reference), bags, *others) for m in MULTIPLES}


def summary(splits):
    """Means with standard errors of each method, and of the default's paired gain over each other."""
    methods = list(dict.fromkeys(name for each in splits.values() for name in each if name != "commit"))
    out = {}
    for name in methods:
        seeds = [s for s in sorted(splits, key=int) if name in splits[s]]
        values = np.array([splits[s][name] for s in seeds])
        row = {"splits": len(seeds)}
        for k, what in enumerate(SCORES):
            row |= {what: float(values[:, k].mean()), f"{what} error": _error(values[:, k])}
            paired = [s for s in seeds if "default" in splits[s]]
            gain = np.array([splits[s]["default"][k] - splits[s][name][k] for s in paired])
            gain = -gain if what == "log-loss" else gain
            row |= {f"{what} lost": float(-gain.mean()), f"{what} lost error": _error(gain)}
        out[name] = row | {"first three": float(values[:3, 0].mean())}
    return out


def _error(values):
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def keep(variant, seed, found):
    """Add one split, in place of the same one."""
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    splits = kept.setdefault("variants", {}).setdefault(variant, {}).setdefault("splits", {})
    splits[str(seed)] = splits.get(str(seed), {}) | found
    kept["variants"][variant]["means"] = summary(splits)
    kept |= {"command": "python benchmarks/proportions_published_penalties.py starts"}
    kept["commit"] = ", ".join(
        sorted({s["commit"] for v in kept["variants"].values() for s in v["splits"].values() if "commit" in s})
    )
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["starts", "fixed"], default="starts")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for path in args.merge:
        for variant, held in json.loads(path.read_text("utf-8"))["variants"].items():
            for seed, found in held["splits"].items():
                keep(variant, seed, found)
    measure = from_starts if args.part == "starts" else with_fixed
    wanted = args.variants or (VARIANTS if args.part == "starts" else ["hard-large-not-equal-close"])
    for seed in () if args.merge else range(args.first, args.first + args.splits):
        for variant in wanted:
            found = measure(variant, seed)
            keep(variant, seed, found | {"commit": run_record()["commit"]})
            print(variant, seed, found, flush=True)
    for variant, held in json.loads(RESULTS.read_text("utf-8"))["variants"].items():
        table(variant, [{"method": name, **row} for name, row in held["means"].items()])


if __name__ == "__main__":
    main()
