"""Published bags of Adult: how accuracy depends on the penalty, split by split.

    python benchmarks/proportions_published_penalties.py                  # hard-close, ten splits (six CPU minutes)
    python benchmarks/proportions_published_penalties.py simple-large-not-equal-far --splits 3

The default, the same search from the reference penalty (where it began before), and fixed multiples of the reference,
on the splits of `proportions.py franco`. Writes benchmarks/results/proportions_published_penalties.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from pathlib import Path

import numpy as np

from proportions import table
from sumwise import datasets
from sumwise.proportions import CardinalityClassifier, penalty

RESULTS = Path(__file__).parent / "results" / "proportions_published_penalties.json"
MULTIPLES = (0.01, 0.032, 0.1, 0.32, 1.0, 3.2)


def measured(data, seed):
    """Accuracy on held-out rows of one split."""
    mask = np.random.default_rng(seed).random(data.bags.n_rows) < 0.75
    counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
    bags, rest, truth = data.bags.subset(mask), data.bags.values[~mask], data.labels[~mask]

    def accuracy(model):
        return round(float(np.mean(model.fit(bags, counts).predict(rest) == truth)), 5)

    found = {"default": accuracy(CardinalityClassifier(tol=1e-3))}
    penalty.FIRST = penalty.MIDDLE
    found["from the reference"] = accuracy(CardinalityClassifier(tol=1e-3))
    penalty.FIRST = penalty.MIDDLE - 1
    reference = penalty.reference_shape(np.asarray(bags.values, dtype=float))
    fixed = {str(m): accuracy(CardinalityClassifier(tol=1e-3, penalty=m * reference)) for m in MULTIPLES}
    return found | fixed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", nargs="?", default="hard-large-not-equal-close")
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data, draws = datasets.franco(args.variant), []
    for seed in range(args.splits):
        draws.append(measured(data, seed))
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        RESULTS.write_text(json.dumps(record(args.variant, draws, commit.stdout.strip())) + "\n")
    table("Accuracy", [{"penalty": name} | found for name, found in record(args.variant, draws, "")["means"].items()])


def record(variant, draws, commit):
    """The draws and their means, also of the first three, which an earlier table had."""
    each = {name: [d[name] for d in draws] for name in draws[0]}
    means = {
        name: {
            "mean": round(float(np.mean(v)), 4),
            "error": round(float(np.std(v, ddof=1) / np.sqrt(len(v))), 4) if len(v) > 1 else None,
            "first three": round(float(np.mean(v[:3])), 4),
        }
        for name, v in each.items()
    }
    command = f"python benchmarks/proportions_published_penalties.py {variant} --splits {len(draws)}"
    return {"command": command, "commit": commit, "variant": variant, "means": means, "splits": each}


if __name__ == "__main__":
    main()
