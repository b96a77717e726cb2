"""How far held-out bags may move the penalty of CardinalityClassifier: rules compared on draws that no table reports.

    python benchmarks/proportions_penalty_rules.py                       # all, ten draws
    python benchmarks/proportions_penalty_rules.py few bundled --draws 4
    python benchmarks/proportions_penalty_rules.py --show

"few" are the settings of `proportions_few_bags.py` (draws from 40 on; the table's begin at 100), "bundled" those of
`proportions_bundled.py` (seeds from 200 on; the table's begin at 0), "made" the generated data of
`cardinality_heuristics.py` (draws from 300 on; the table's begin at 700). A rule takes the held-out log-likelihood of
every bag under every penalty tried. "clear 40", "clear 10" and "clear 0": the penalty nearest to the reference that
isn't worse than the best by more than 1 + c / n_bags standard errors; "best": the best; "average": the mean of the
logarithms of penalties under weights of pseudo-BMA+ (Yao et al. 2018), in which bags are resampled by the Bayesian
bootstrap; "half": half the way from the reference to that mean; "mixture": probabilities averaged over all penalties
that aren't clearly worse than the best; "dispersion": the penalty of "clear 10" times how much more held-out counts
vary than the model says (quasi-likelihood). Writes benchmarks/results/proportions_penalty_rules.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path

import cardinality_heuristics as made
import numpy as np
import proportions_bundled as bundled
import proportions_few_bags as few
from run_record import run_record
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise.proportions import CardinalityClassifier, penalty
from sumwise.proportions.information import _residuals

RESULTS = Path(__file__).parent / "results" / "proportions_penalty_rules.json"


def good_steps(few_bags, held_out):
    """The penalties that aren't clearly worse than the best."""
    top = max(held_out, key=lambda i: held_out[i].mean())
    good = []
    for i, values in held_out.items():
        gap = held_out[top] - values
        if gap.mean() <= (1.0 + few_bags / gap.size) * gap.std() / np.sqrt(gap.size):
            good.append(i)
    return good


def clear(few_bags, held_out, first):
    """The penalty nearest to the first that isn't clearly worse than the best."""
    return min(good_steps(few_bags, held_out), key=lambda i: (abs(i - first), -i))


def best(held_out, _first):
    """The penalty with the greatest held-out likelihood."""
    return max(held_out, key=lambda i: held_out[i].mean())


def average(share, held_out, first):
    """Mean step under the weights of pseudo-BMA+, or part of the way to it."""
    steps = np.array(sorted(held_out))
    each = np.stack([held_out[i] for i in steps])
    weights = np.random.default_rng(0).dirichlet(np.ones(each.shape[1]), 200) * each.shape[1]
    totals = weights @ each.T
    chance = np.exp(totals - totals.max(axis=1, keepdims=True))
    mean = float((chance / chance.sum(axis=1, keepdims=True)).mean(axis=0) @ steps)
    return round(first + share * (mean - first))


RULES = {
    "clear 40": partial(clear, 40.0),
    "clear 10": partial(clear, 10.0),
    "clear 0": partial(clear, 0.0),
    "best": best,
    "average": partial(average, 1.0),
    "half": partial(average, 0.5),
}
MIXED = ("mixture", "dispersion")  # rules that need more than one step, or more than the held-out likelihood


def draws_of(group):
    """Names of settings, and a function from a setting's name and a draw's number to its data."""
    if group == "few":
        names = {f"{s[0]}, {s[1]} of {s[2]}": s for s in few.SETTINGS}
        return list(names), lambda name, k: few.draw(names[name], 40 + k)
    if group == "made":
        return [n for n in made.DATA if n != "published bags"], lambda name, k: made.draw(name, 300 + k)
    names = {f"{n}, {kind}, {size}": (n, kind, size) for n, sizes in bundled.SIZES.items()
             for kind in ("random", "sorted") for size in sizes if (n, size) != ("wine", 5)}  # fmt: skip

    def draw(name, k):
        which, kind, size = names[name]
        rng = np.random.default_rng(200 + k)
        bags, counts, _, values, labels = bundled.draw(*bundled.rows_of(which), size, kind, rng)
        return bags, counts[:, 1] if counts.shape[1] == 2 else counts, values, labels

    return list(names), draw


def scores(data):
    """AUC and log-loss under every rule; a penalty that two rules take is fitted once."""
    bags, counts, values, labels = data
    taken, squares, fit_folds = {}, {}, penalty._fit_folds

    def keep_squares(make, likelihood, multiple, starts, folds):
        found, problem = fit_folds(make, likelihood, multiple, starts, folds), make(likelihood, multiple)
        each = [_residuals(problem, theta)[1] for theta in found.folds]
        squares[multiple] = np.stack(each)[folds, np.arange(len(folds))]
        return found

    def record(held_out, first):
        taken.update({name: {rule(held_out, first): 1.0} for name, rule in RULES.items()})
        good = good_steps(10.0, held_out)
        taken["mixture"] = dict.fromkeys(good, 1.0 / len(good))
        step = clear(10.0, held_out, first)
        taken["dispersion"] = {step + 2.0 * np.log10(max(squares[penalty.STEPS[step]].mean(), 1.0)): 1.0}
        return first

    penalty._nearest_good, penalty._fit_folds = record, keep_squares
    reference = CardinalityClassifier().fit(bags, counts)
    penalty._fit_folds = fit_folds
    shape = np.asarray(reference.penalty_) / reference.penalty_search_["best"]
    chances = {}
    for step in {step for weights in taken.values() for step in weights}:
        multiple = 10.0 ** (0.5 * (step - penalty.MIDDLE))
        probs = np.clip(
            CardinalityClassifier(penalty=multiple * shape).fit(bags, counts).predict_proba(values), 1e-6, None
        )
        chances[step] = probs / probs.sum(axis=1, keepdims=True)
    return {name: judged(sum(w * chances[i] for i, w in weights.items()), labels) for name, weights in taken.items()}


def judged(probs, labels):
    """AUC, mean over classes, and log-loss."""
    by = {"multi_class": "ovr"} if probs.shape[1] > 2 else {}
    auc = roc_auc_score(labels, probs if by else probs[:, 1], **by)
    return [round(float(auc), 5), round(float(log_loss(labels, probs)), 5)]


def summary(cells):
    """By group of settings and over all: each rule's mean gain over "clear 10", in AUC and log-loss, and its error."""
    out = {}
    for group in (*dict.fromkeys(cell["group"] for cell in cells), "all"):
        scores = [cell["scores"] for cell in cells if group in (cell["group"], "all")]
        for rule in scores[0]:
            found = {}
            for which, (title, better) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
                gaps = [better * (np.array(s[rule]) - np.array(s["clear 10"]))[:, which] for s in scores]
                error = np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in gaps)) / len(gaps)
                found[title] = round(float(np.mean([gap.mean() for gap in gaps])), 5)
                found[f"{title} error"] = round(float(error), 5)
            out.setdefault(group, {})[rule] = found
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help="few, bundled, made")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--some", nargs="*", help="beginnings of settings' names")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    for group in () if args.show else args.groups or ("few", "bundled", "made"):
        names, draw = draws_of(group)
        for name in (n for n in names if not args.some or n.startswith(tuple(args.some))):
            begin, found = time.process_time(), {rule: [] for rule in (*RULES, *MIXED)}
            for k in range(args.draws):
                for rule, pair in scores(draw(name, k)).items():
                    found[rule].append(pair)
            seconds = round(time.process_time() - begin, 1)
            cell = {"group": group, "setting": name, "cpu_seconds": seconds, "scores": found}
            kept["cells"] = [c for c in kept["cells"] if (c["group"], c["setting"]) != (group, name)] + [cell]
            kept |= {"command": "python benchmarks/proportions_penalty_rules.py", "commit": run_record()["commit"]}
            kept |= {"draws": args.draws, "summary": summary(kept["cells"]) if args.draws > 1 else {}}
            RESULTS.write_text(json.dumps(kept) + "\n")
            print(group, name, seconds, {r: np.mean(v, axis=0).round(4).tolist() for r, v in found.items()}, flush=True)
    for which, title in enumerate(("Test AUC", "Log-loss")):
        rows = []
        for cell in kept["cells"]:
            means = {r: float(np.mean(v, axis=0)[which]) for r, v in cell["scores"].items()}
            rows.append({"group": cell["group"], "setting": cell["setting"], **means})
        for group in dict.fromkeys(r["group"] for r in rows):
            mean = {r: float(np.mean([x[r] for x in rows if x["group"] == group])) for r in (*RULES, *MIXED)}
            rows.append({"group": group, "setting": "mean", **mean})
        table(title, rows)


if __name__ == "__main__":
    main()
