"""Averages of linear models for label proportions, weighed by the likelihood of held-out bags.

    python benchmarks/proportions_stacking.py collect DIR --part 0 3 --draws 20    # fits, a third of them
    python benchmarks/proportions_stacking.py score DIR                            # scores of every rule

`collect` fits, on all bags and without each fold, `CardinalityClassifier` with every penalty near the reference, with
and without random intercepts, and the other linear methods with their defaults. Everything is a linear model, so that
averages of logits are linear models too. `score` rebuilds the draws and compares rules: what weights of the models the
held-out bags ask for. Rules are chosen on the settings with an even number and reported on those with an odd one.
Writes benchmarks/results/proportions_stacking.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import proportions_few_bags as few
import proportions_fresh_cuts as fresh
from run_record import run_record
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from sumwise import proportions as p
from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, maximise, mean_embedding_start
from sumwise.proportions.penalty import reference_shape

RESULTS = Path(__file__).parent / "results" / "proportions_stacking.json"
FIRST = 3000
SETTINGS = [(fresh, s) for s in fresh.SETTINGS] + [(few, s) for s in (*few.SETTINGS, *few.OTHER)]
PLAIN = 10.0 ** np.arange(-1.5, 1.51, 0.5)  # multiples of the reference
INTERCEPTS = 10.0 ** np.arange(-1.0, 1.01, 0.5)
OTHERS = {m: make for m, make in few.METHODS.items() if m != "cardinality"}
NAMES = ["default", *(f"plain {m:.2g}" for m in PLAIN), *(f"intercepts {m:.2g}" for m in INTERCEPTS), *OTHERS]


def folds_of(n_bags, seed):
    """The fold of every bag: eight where there are at most twelve."""
    n_folds = min(8 if n_bags <= 12 else 5, n_bags)
    return np.random.default_rng(seed).permutation(np.arange(n_bags) % n_folds)


def path_of(values, likelihood, start, multiples, random_intercept, kept):
    """Parameters with every multiple of the reference penalty, from the largest on; bags outside `kept` count zero."""
    reference, out = reference_shape(values), []
    part = BagLikelihood(likelihood.offsets, likelihood.observed, "auto", kept.astype(float))
    for multiple in multiples[::-1]:
        problem = LinearProblem(values, part, multiple * reference, 2, random_intercept)
        start = maximise(problem, start, tol=1e-2, max_iter=200).theta
        out.append(start)
    return out[::-1]


def fits(bags, counts, kept, penalties):
    """Parameters of every model but the default on the bags kept, a row each: coefficients, intercept, scale.

    Other methods have the penalties given, by name; those that are chosen here are added.
    """
    values = bags.values
    likelihood = BagLikelihood(bags.offsets, observe(bags, counts, None, "match"))
    index = np.flatnonzero(kept)
    part, few_counts = bags[index], counts[index]
    shares = few_counts / part.sizes
    start = mean_embedding_start(
        part.values, part.offsets, np.column_stack([1 - shares, shares]), reference_shape(values)
    )
    rows = [np.append(t, 0.0) for t in path_of(values, likelihood, start, PLAIN, False, kept)]
    blank = np.append(np.zeros(values.shape[1]), [rows[-1][-2], np.log(0.3)])
    rows += [np.append(t[:-1], np.exp(t[-1])) for t in path_of(values, likelihood, blank, INTERCEPTS, True, kept)]
    for name, make in OTHERS.items():
        try:
            found = make(penalty=penalties.get(name, "auto")).fit(part, few_counts)
            penalties.setdefault(name, found.penalty_)
            rows.append(np.append(np.append(found.coef_[0], found.intercept_[0]), 0.0))
        except DataError:  # shares without one bag are equal: the constant model
            share = few_counts.sum() / part.sizes.sum()
            rows.append(np.append(np.zeros(values.shape[1]), [np.log(share / (1 - share)), 0.0]))
    return np.array(rows, dtype=np.float32)


def held_out_logits(bags, parts, folds):
    """Logits of every row under the fits without its bag, (n_models, n_rows)."""
    of_row = np.repeat(folds, bags.sizes)
    out = np.empty((parts.shape[1], len(of_row)))
    for f, table in enumerate(parts):
        rows = bags.values[of_row == f]
        out[:, of_row == f] = (rows @ table[:, :-2].T + table[:, -2]).T
    return out


def residuals(logits, bags, counts):
    """Counts minus expected ones, in standard deviations, (n_models, n_bags)."""
    prob = expit(logits)
    expected = np.add.reduceat(prob, bags.offsets[:-1], axis=1)
    return (counts - expected) / np.sqrt(np.add.reduceat(prob * (1 - prob), bags.offsets[:-1], axis=1))


def stacked(logits, likelihood, dispersion, towards):
    """Weights of models whose average logits give held-out bags the greatest likelihood, per dispersion.

    `towards` is the prior: as many bags' worth of weight as its sum, spread as it is.
    """

    def cost(free):
        weights = np.exp(free - free.max())
        weights /= weights.sum()
        value = likelihood.evaluate(weights @ logits)
        slope = (logits @ (value.posterior - value.prior)) / dispersion + towards / weights
        total = value.log_prob.sum() / dispersion + towards @ np.log(weights)
        return -total, -weights * (slope - weights @ slope)

    start = np.log(np.maximum(towards, 1e-3))
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(-12, 3)] * len(start), options={"maxiter": 40})
    weights = np.exp(found.x - found.x.max())
    return weights / weights.sum()


def collect(number, seed):
    """All fits of one draw: parameters on all bags, what bags held out say of each, and weights of stacking."""
    module, setting = SETTINGS[number]
    bags, counts, *_ = module.draw(setting, seed)
    folds = folds_of(len(bags), seed)
    default = p.CardinalityClassifier().fit(bags, counts)
    penalties: dict[str, np.ndarray] = {}
    whole = fits(bags, counts, np.ones(len(bags), dtype=bool), penalties)
    first = np.append(np.append(default.coef_[0], default.intercept_[0]), 0.0)
    table = np.vstack([first, whole])
    table[:, :-2] *= centre_and_scale(bags.values)[1]  # numbers of order one, in half precision
    parts = np.array([fits(bags, counts, folds != f, penalties) for f in range(folds.max() + 1)])
    logits = held_out_logits(bags, parts, folds)
    observed = observe(bags, counts, None, "match")
    log_prob = np.array([BagLikelihood(bags.offsets, observed).evaluate(row).log_prob for row in logits])
    away = residuals(logits, bags, counts)
    best = default.penalty_search_["best"]
    own = int(np.argmin(np.abs(np.log(PLAIN / best))))
    dispersion = max(1.0, float(np.mean(away[own] ** 2)))
    out = {"whole": table.astype(np.float16), "log_prob": log_prob.astype(np.float32), "best": best}
    out |= {"residuals": away.astype(np.float32), "own": own, "dispersion": dispersion}
    n_plain, n_own = len(PLAIN), len(PLAIN) + len(INTERCEPTS)
    others = range(n_own, n_own + len(OTHERS))
    for name, models in {
        "penalties": range(n_plain),
        "own and others": [own, *others],
        "own and intercepts": [own, *range(n_plain, n_own)],
        "all": range(n_own + len(OTHERS)),
    }.items():
        chosen = np.array(models)
        for strength in (1.0, 4.0):
            towards = np.where(chosen == own, 0.6, 0.4 / (len(chosen) - 1)) * strength
            likelihood = BagLikelihood(bags.offsets, observed)
            weights = np.zeros(len(logits))
            weights[chosen] = stacked(logits[chosen], likelihood, dispersion, towards)
            out[f"{name}, {strength:g}"] = weights.astype(np.float32)
    return out


def rules(held):
    """Weights of the models (those of `NAMES` after the default) that every rule gives them."""
    found = {name: held[name].astype(float) for name in held if ", " in name}
    n_plain, own = len(PLAIN), int(held["own"])
    totals = held["log_prob"].sum(axis=1) / float(held["dispersion"])

    def softmax(models):
        weights = np.zeros(len(totals))
        part = totals[models] - totals[models].max()
        weights[models] = np.exp(part) / np.exp(part).sum()
        return weights

    n_own = n_plain + len(INTERCEPTS)
    kinds = {"penalties": range(n_plain), "intercepts": range(n_plain, n_own), "penalties and intercepts": range(n_own)}
    kinds |= {"own and others": [own, *range(n_own, len(totals))], "all": range(len(totals))}
    for name, models in kinds.items():
        found[f"likelihood, {name}"] = softmax(np.array(models))
    for multiple in (2, 3):
        found[f"fixed, {PLAIN[multiple]:.2g}"] = np.eye(len(totals))[multiple]
    found["halfway, penalties"] = 0.5 * np.eye(len(totals))[own] + 0.5 * found["likelihood, penalties"]
    found["halfway, all"] = 0.5 * np.eye(len(totals))[own] + 0.5 * found["likelihood, all"]
    return found


def judged(held, drawn):
    """AUC and log-loss of the default, the other methods and every rule on one draw."""
    bags, _, values, labels = drawn
    table = held["whole"].astype(float)
    table[:, :-2] /= centre_and_scale(bags.values)[1]
    logits = table[:, :-2] @ values.T + table[:, -2:-1]
    said = {"default": logits[0]} | {name: logits[NAMES.index(name)] for name in OTHERS}
    said |= {name: weights @ logits[1:] for name, weights in rules(held).items()}
    return {
        name: [roc_auc_score(labels, row), log_loss(labels, np.clip(expit(row), 1e-6, 1 - 1e-6))]
        for name, row in said.items()
    }


def compared(found, numbers):
    """For every rule: its gain over the default, settings together, and cells within one error of the best other."""
    out = {}
    for rule in (r for r in next(iter(found.values())) if r not in OTHERS):
        row = out[rule] = {"draws": sum(len(found[number][rule]) for number in numbers)}
        for which, (name, better) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
            gains, good = [], 0
            for number in numbers:
                scores = {m: better * np.array(v)[:, which] for m, v in found[number].items()}
                best = max(OTHERS, key=lambda m, scores=scores: scores[m].mean())
                gap = scores[rule] - scores[best]
                good += bool(gap.mean() >= -gap.std(ddof=1) / np.sqrt(len(gap)))
                gains.append(float((scores[rule] - scores["default"]).mean()))
            error = float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
            row[name] = {"gain": round(float(np.mean(gains)), 5), "error": round(error, 5), "within one error": good}
    return out


def score(folder):
    """Scores of all rules from the fits, chosen on one half of the settings and reported on the other."""
    found, seeds = {}, {}
    for path in sorted(folder.glob("*.npz")):
        number, seed = map(int, path.stem.split("-"))
        module, setting = SETTINGS[number]
        with np.load(path) as held:
            one = judged(dict(held), module.draw(setting, seed))
        seeds.setdefault(number, []).append(seed)
        for name, scores in one.items():
            found.setdefault(number, {}).setdefault(name, []).append(np.round(scores, 5).tolist())
    halves = {"chosen on": sorted(n for n in found if n % 2 == 0), "reported": sorted(n for n in found if n % 2)}
    kept = run_record(first_draw=FIRST, draws_per_setting=min(map(len, seeds.values())))
    kept["command"] = "python benchmarks/proportions_stacking.py score DIR"
    kept["settings"] = {half: len(numbers) for half, numbers in halves.items()}
    kept["rules"] = {half: compared(found, numbers) for half, numbers in halves.items()}
    kept["cells"] = [{"setting": list(SETTINGS[n][1]), "seeds": seeds[n], "scores": found[n]} for n in sorted(found)]
    RESULTS.write_text(json.dumps(kept) + "\n", "utf-8")
    for half, rows in kept["rules"].items():
        print(half, kept["settings"][half])
        for rule, row in rows.items():
            pairs = [(name, row[name]) for name in ("AUC", "log-loss")]
            said = [f"{name} {r['gain']:+.4f} ± {r['error']:.4f} {r['within one error']}" for name, r in pairs]
            print(f"  {rule:35s}", *said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["collect", "score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="this part of so many")
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first draw")
    parser.add_argument("--draws", type=int, default=20)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "score":
        return score(args.folder)
    args.folder.mkdir(parents=True, exist_ok=True)
    tasks = [(n, args.first + k) for k in range(args.draws) for n in range(len(SETTINGS))]
    for number, seed in tasks[args.part[0] :: args.part[1]]:
        begin = time.process_time()
        np.savez_compressed(args.folder / f"{number}-{seed}.npz", **collect(number, seed))
        print(number, seed, SETTINGS[number][1], f"{time.process_time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
