"""Two methods of recent years on the draws of `proportions_few_bags.py`, beside the default, paired.

    python benchmarks/proportions_recent.py                    # ten draws of four settings
    python benchmarks/proportions_recent.py --show

LLPFC (Zhang, Wang and Scott 2022): bags are paired at random, "which bag of the pair" is a noisy label whose transition
matrix follows from the two shares, and the loss is corrected forward; here averaged over ten pairings. Assignment by
optimal transport (Dulac-Arnold et al. 2019; Liu et al. 2021): soft labels that fulfil each bag's shares at least
entropic transport cost from the model's log-probabilities, and a fit to these labels, in turn. Both as linear models,
with the penalty chosen by held-out bags as the library's other methods do. Neither was tuned: ten pairings and the
entropic weight 0.5 were set beforehand. They live here and not in the library as long as they lead nowhere.
Writes benchmarks/results/proportions_recent.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import proportions_few_bags as few
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise.proportions import MeanEmbeddingClassifier
from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import SumOverBags

RESULTS = Path(__file__).parent / "results" / "proportions_recent.json"
PAIRINGS, ENTROPY, ROUNDS = 10, 0.5, 30
SETTINGS = [
    ("votes", 25, 60),
    ("adult, occupations", 12, 100),
    ("owner", 25, 60),
    ("bachelor", 25, 60),
]


class ForwardLikelihood(SumOverBags):
    """Log-probability that a row's bag is the one of its pair, averaged over pairings.

    Given class c it is w_k s_kc / (w_k s_kc + w_l s_lc) for bags k, l of sizes w and shares s.
    """

    def __init__(self, data, rng):
        super().__init__(data)
        self.given = np.ones((PAIRINGS, data.n_bags, 2))
        mass = data.sizes[:, None] * np.clip(data.shares, 1e-6, None)
        for given in self.given:
            order = rng.permutation(data.n_bags)
            one, other = order[0 : len(order) // 2 * 2 : 2], order[1::2][: len(order) // 2]
            both = mass[one] + mass[other]
            given[one], given[other] = mass[one] / both, mass[other] / both

    def evaluate(self, logits, _intercept_scale=None) -> Value:
        data, p = self.data, expit(logits)
        total, slope = np.zeros(len(p)), np.zeros(len(p))
        for given in self.given:
            none, one = np.repeat(given, data.sizes, axis=0).T
            mean = none * (1.0 - p) + one * p
            total += np.log(mean)
            slope += (one - none) * p * (1.0 - p) / mean
        total, slope = data.weights * total / PAIRINGS, data.weights * slope / PAIRINGS
        log_prob = np.add.reduceat(total, data.offsets[:-1])
        return Value(log_prob, slope, np.zeros_like(slope), np.zeros(len(log_prob)))


class LLPFC(ShareClassifier):
    """Learning from label proportions as learning with label noise, with the forward correction."""

    _by_class = True

    def solve_shares(self, data, penalty):
        start = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        likelihood = ForwardLikelihood(data, np.random.default_rng(self.random_state))
        return maximise(LinearProblem(data.rows, likelihood, penalty), start, self.tol, self.max_iter)


def transported(logits, data):
    """Soft labels of least transport cost less entropy: logits over the entropy's weight, moved to the bag's share."""
    scaled = logits / ENTROPY
    shares = np.clip(data.shares[:, 1], 1e-6, 1.0 - 1e-6)
    low, high = np.full(data.n_bags, -60.0), np.full(data.n_bags, 60.0)
    centre = logit(shares) - data.bag_means(scaled[:, None])[:, 0]
    for _ in range(60):  # bisection, all bags at once
        middle = 0.5 * (low + high)
        found = expit(scaled + np.repeat(middle + centre, data.sizes))
        above = data.bag_means(found[:, None])[:, 0] > shares
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return found


class TransportAssignment(ShareClassifier):
    """Labels by entropic optimal transport within each bag, and a fit to them, in turn."""

    _by_class = True

    def solve_shares(self, data, penalty):
        theta = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        labels, change, history = np.full(len(data.values), -1.0), 1.0, []
        for _ in range(ROUNDS):
            before = labels
            labels = transported(data.rows.times(theta[None, :-1])[:, 0] + theta[-1], data)
            change = float(np.abs(labels - before).mean())
            likelihood = ShareLikelihood(np.column_stack([1.0 - labels, labels]), data.weights)
            found = maximise(LinearProblem(data.rows, likelihood, penalty), theta, 1e-2, 100)
            theta = found.theta
            history.append(found.objective)
            if change < 1e-3:
                break
        return Solution(theta, history[-1], change, len(history), change < 1e-3, history)


METHODS = {"LLPFC": LLPFC, "optimal transport": TransportAssignment}


def measured(setting, n_draws, kept):
    """AUC and log-loss of both methods, beside those that the default had in the same draws."""
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
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    before = {(c["data"], c["bags"], c["size"]): c for c in json.loads(few.RESULTS.read_text())["cells"]}
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    for setting in () if args.show else SETTINGS:
        cell = measured(setting, args.draws, before[setting])
        others = [c for c in kept["cells"] if (c["data"], c["bags"], c["size"]) != setting]
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        kept = {
            "command": f"python benchmarks/proportions_recent.py --draws {args.draws}",
            "commit": commit.stdout.strip(),
            "draws": args.draws,
            "cells": [*others, cell],
        }
        RESULTS.write_text(json.dumps(kept) + "\n")
        print(setting, f"{cell['cpu_seconds']} s", flush=True)
    for which, (title, better) in enumerate((("Test AUC", 1.0), ("Log-loss", -1.0))):
        table(title, few.rows_of(kept["cells"], which, better))


if __name__ == "__main__":
    main()
