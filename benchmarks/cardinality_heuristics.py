"""What each rule of thumb of CardinalityClassifier is worth: test AUC and log-loss with it less those without it.

    python benchmarks/cardinality_heuristics.py                      # all data, ten draws
    python benchmarks/cardinality_heuristics.py bank --draws 2
    python benchmarks/cardinality_heuristics.py --time               # the CPU time that rules save
    python benchmarks/cardinality_heuristics.py --starts             # what the start is worth, in ways to fit
    python benchmarks/cardinality_heuristics.py --limits             # of the search, and of intervals
    python benchmarks/cardinality_heuristics.py --few [SET ...]      # rules of the search, on 6 to 60 bags
    python benchmarks/cardinality_heuristics.py --few --merge a.json b.json
    python benchmarks/cardinality_heuristics.py --show

Data that no rule was chosen on: "published bags" (the bags of Adult that Franco et al. published, two assignments, a
quarter of the rows held out), "regions" and "skewed" (generated rows in 40 bags of 25, regions with effects of their
own; the same with log-normal columns in units from 1e-3 to 1e3), "three kinds" (three Gaussian classes in 40 bags of
12). "bank" (customers in 30 bags of 60, by month and job) was among the data on which the shape of the prior was
chosen, and no other rule. Figures are means over draws, paired, with standard errors.
--few has sets of its own: the cuts of `proportions_fresh_cuts.py`, on which no rule of the search was chosen but the
limit of 20 bags (after digits in clusters), and assignments that Franco et al. published and no rule was chosen on. It
writes cardinality_few_bags.json.
Writes benchmarks/results/cardinality_heuristics.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import proportions_coverage
import proportions_fresh_cuts as cuts
from run_record import run_record
from scipy.stats import t
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

from proportions import encode, table
from sumwise import Bags, datasets
from sumwise.proportions import CardinalityClassifier, cardinality, covariance, information, penalty

RESULTS = Path(__file__).parent / "results" / "cardinality_heuristics.json"
FIRST = 700
FIRST_FEW = 3000  # that of proportions_fresh_cuts.py is 2000
VARIANTS = ("hard-large-not-equal", "simple-large-not-equal")


def by_best(held_out, _first):
    """The penalty with the greatest held-out likelihood."""
    return max(held_out, key=lambda i: held_out[i].mean())


def by_deviation(values):
    """Every column counts per standard deviation, binary ones too."""
    scale = np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
    return values.mean(axis=0), scale


def from_zero(values, offsets, shares, _penalty, n_classes=2):
    """A start without coefficients."""
    del offsets
    average = np.log(shares.mean(axis=0))
    out = np.zeros((1 if n_classes == 2 else n_classes, values.shape[1] + 1))
    out[:, -1] = average[1] - average[0] if n_classes == 2 else average - average.mean()
    return out.ravel()


# by rule: settings of the classifier without it, and module settings without it
RULES = {
    "prior under which logits vary by one, against penalty 1": ({"penalty": 1.0}, {}),
    "binary columns per step, not per deviation": ({}, {(penalty, "centre_and_scale"): by_deviation}),
    "the prior left only where held-out bags are clearly better": ({}, {(penalty, "_nearest_good"): by_best}),
    "clearly: more standard errors with few bags": ({}, {(penalty, "FEW"): 0.0}),
    "search of the penalty at all, against the prior": ({}, {(penalty, "_nearest_good"): lambda _h, first: first}),
    "folds start without features": ({}, {(penalty, "_without_features"): lambda _p, theta: theta}),
    "rough fits of folds (1e-2 standard errors)": ({}, {(penalty, "ROUGH"): 1e-4}),
    "start at the mean embedding": ({}, {(cardinality, "mean_embedding_start"): from_zero}),
    "all classes at once, not one against the rest": ({"multiclass": "ovr"}, {}),
}


@cache
def bank():
    """Customers' features as numbers, who subscribed, and month and job."""
    data = datasets.bank().frame
    frame, labels = data.drop(columns=["y", "duration"]), (data["y"] == "yes").to_numpy().astype(int)
    values, _ = encode(frame, frame.iloc[:1], ())
    groups = (frame["month"].astype(str) + frame["job"].astype(str)).astype("category").cat.codes.to_numpy()
    return values, labels, groups


def grouped(values, labels, groups, n_bags, size, rng, n_test=3000):
    """Bags of members of one group each; other rows to test on."""
    ids, members = np.unique(groups, return_counts=True)
    chosen = rng.permutation(ids[members >= size + 20])[:n_bags]
    train = np.concatenate([rng.permutation(np.flatnonzero(groups == g))[:size] for g in chosen])
    test = rng.permutation(np.setdiff1d(np.arange(len(labels)), train))[:n_test]
    counts = labels[train].reshape(len(chosen), size).sum(axis=1)
    return Bags(values[train], np.arange(len(chosen) + 1) * size), counts, values[test], labels[test]


def generated(kind, rng):
    """Rows of 40 regions; labels by a model of their own with effects of regions."""
    n_bags, size, d = 40, 25, 10
    region = np.repeat(np.arange(n_bags + 60), size)
    effect = rng.normal(0, 0.3, n_bags + 60)[region]
    values = rng.normal(size=(len(region), d)) + 0.7 * rng.normal(size=(n_bags + 60, d))[region]
    values[:, :3] = values[:, :3] > 1.0
    logits = values @ rng.normal(0, 0.8 * (rng.random(d) < 0.5), d) + effect
    if kind == "skewed":
        values[:, 3:] = np.exp(values[:, 3:]) * 10.0 ** rng.uniform(-3, 3, d - 3)
    labels = (rng.random(len(logits)) < 1 / (1 + np.exp(-(logits - np.median(logits))))).astype(int)
    cut = n_bags * size
    counts = labels[:cut].reshape(n_bags, size).sum(axis=1)
    return Bags(values[:cut], np.arange(n_bags + 1) * size), counts, values[cut:], labels[cut:]


def gaussian_kinds(name, rng):
    """Gaussian classes whose shares differ between bags."""
    k, n_bags, size = {"three": (3, 40, 12), "four": (4, 60, 8), "five": (5, 80, 6)}[name.split()[0]]
    d = 6
    means = rng.normal(0, 0.9, (k, d))
    shares = rng.dirichlet(np.ones(k) * 2, n_bags)
    labels = np.concatenate([rng.choice(k, size, p=p) for p in shares] + [rng.integers(0, k, 2000)])
    values = means[labels] + rng.normal(size=(len(labels), d))
    cut = n_bags * size
    counts = np.eye(k)[labels[:cut]].reshape(n_bags, size, k).sum(axis=1)
    return Bags(values[:cut], np.arange(n_bags + 1) * size), counts, values[cut:], labels[cut:]


def large_bags(name, rng):
    """Few large bags of three or four Gaussian classes."""
    n_bags, size, k = {"five": (5, 100, 3), "six": (6, 110, 3), "eight": (8, 40, 4)}[name.split()[0]]
    shares = rng.dirichlet(np.ones(k) * 2, n_bags)
    labels = np.concatenate([rng.choice(k, size, p=p) for p in shares] + [rng.integers(0, k, 2000)])
    values = rng.normal(0, 0.9, (k, 3))[labels] + rng.normal(size=(len(labels), 3))
    counts = np.eye(k)[labels[: n_bags * size]].reshape(n_bags, size, k).sum(axis=1)
    return Bags(values[: n_bags * size], np.arange(n_bags + 1) * size), counts, values[-2000:], labels[-2000:]


def draw(name, seed):
    """Bags, counts, and rows to test on with their labels."""
    rng = np.random.default_rng(seed)
    if "bags of" in name:
        return large_bags(name, rng)
    if name == "bank":
        return grouped(*bank(), 30, 60, rng)
    if name.endswith("kinds"):
        return gaussian_kinds(name, rng)
    if not name.startswith("published"):
        return generated(name, rng)
    wanted = VARIANTS[seed % len(VARIANTS)]
    data = datasets.franco(next(v for v in datasets.franco_variants() if v.startswith(wanted) and "mixed" not in v))
    mask = rng.random(data.bags.n_rows) < 0.75
    counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
    return data.bags.subset(mask), counts, data.bags.values[~mask], data.labels[~mask]


# by limit: the sets, settings of the classifier with and without it, and module settings (or settings) without it
LIMITS = {
    "all classes at once": (
        ("three kinds", "four kinds", "five kinds"), {}, {"settings": {"multiclass": "ovr"}}),
    "at most eight penalties": (("bank", "regions", "skewed", "three kinds"), {}, {(penalty, "MOST_FITS"): 100}),
    "at most eight penalties, with random intercepts": (
        ("bank", "regions", "skewed"), {"random_intercept": True}, {(penalty, "MOST_FITS"): 100}),
    "random intercepts: no looser than a tenth of the prior": (
        ("bank", "regions", "skewed"), {"random_intercept": True}, {(penalty, "LOOSEST"): 0}),
    "exact fits of large bags led by the saddlepoint": (
        ("five bags of 100", "six bags of 110", "eight bags of 40, four classes"),
        {"multiclass": "exact", "inference": "direct", "penalty": 1.0}, {(cardinality, "LARGE"): 10**9}),
}  # fmt: skip
# by limit of intervals: the cases, and settings of `information` without it
KNOWN = {
    "informative directions only (SEEN)": (
        ("plain", "many features", "fewer bags than features", "ten bags, 100 features"), {"SEEN": 0.0}),
    "at most 95% of the information in one unit (MOST)": (
        ("sandwich", "groups of bags", "sandwich, one large bag", "groups of bags, one large"), {"MOST": 1 - 1e-9}),
    "correlation of consecutive bags counts only where it is clear (CLEAR)": (
        ("plain", "small bags", "few bags", "bags of regions in a row"), {"CLEAR": -1e9}),
    "dispersion counts only where it is clear (DISPERSED)": (
        ("plain", "small bags", "few bags", "effects of bags"), {"DISPERSED": -1e9}),
}  # fmt: skip
CASES = {  # bags, members, features, and what else
    "plain": (60, 20, 5, {}),
    "small bags": (150, 5, 5, {}),
    "few bags": (25, 30, 4, {}),
    "many features": (80, 12, 15, {}),
    "fewer bags than features": (12, 30, 15, {}),
    "ten bags, 100 features": (10, 10, 100, {}),
    "sandwich": (40, 20, 3, {"kind": "sandwich"}),
    "sandwich, one large bag": (24, 20, 5, {"kind": "sandwich", "large": 2000}),
    "groups of bags": (60, 15, 3, {"run": 3, "effect": 0.5, "grouped": True}),
    "groups of bags, one large": (60, 15, 3, {"run": 3, "effect": 0.5, "grouped": True, "large": 3000}),
    "effects of bags": (60, 20, 4, {"effect": 0.6}),
    "bags of regions in a row": (60, 20, 4, {"run": 6, "effect": 0.6}),
}
QUICK = ("folds start without features", "rough fits of folds (1e-2 standard errors)", "start at the mean embedding")
DATA = ("bank", "published bags", "regions", "skewed", "three kinds")


def scores(data, settings, modules, with_fit=False):
    """AUC and log-loss with some settings; with the record of the fit where asked for."""
    bags, counts, values, labels = data
    kept = {place: getattr(*place) for place in modules}
    for (module, attribute), value in modules.items():
        setattr(module, attribute, value)
    try:
        clf = CardinalityClassifier(**settings).fit(bags, counts)
        probs = clf.predict_proba(values)
    finally:
        for (module, attribute), value in kept.items():
            setattr(module, attribute, value)
    probs = np.clip(probs, 1e-6, None)
    probs = probs / probs.sum(axis=1, keepdims=True)
    by = {"multi_class": "ovr"} if probs.shape[1] > 2 else {}
    found = float(roc_auc_score(labels, probs if by else probs[:, 1], **by)), float(log_loss(labels, probs))
    return (*found, clf.fit_) if with_fit else found


def measured(name, n_draws, first=FIRST):
    """Scores of the default, and gains over the classifier without each rule, of every draw."""
    usual, gains = [], {}
    begin = time.process_time()
    for seed in range(first, first + n_draws):
        data = draw(name, seed)
        base = scores(data, {}, {})
        usual.append([round(float(x), 5) for x in base])
        for rule, (settings, modules) in RULES.items():
            if "multiclass" in settings and data[1].ndim == 1:
                continue
            auc, loss = scores(data, settings, modules)
            gains.setdefault(rule, []).append([round(float(base[0] - auc), 5), round(float(loss - base[1]), 5)])
    return {"data": name, "cpu_seconds": round(time.process_time() - begin, 1), "usual": usual, "gains": gains}


def saved_time(name, n_draws, first=FIRST):
    """The share of CPU time that rules save, a mean over draws with its error; of two fits the quicker counts."""
    found = {rule: [] for rule in QUICK}

    def seconds(data, settings, modules):
        spent = []
        for _ in range(2):
            begin = time.process_time()
            scores(data, settings, modules)
            spent.append(time.process_time() - begin)
        return min(spent)

    for seed in range(first, first + n_draws):
        data = draw(name, seed)
        usual = seconds(data, {}, {})
        for rule in QUICK:
            found[rule].append(1 - usual / seconds(data, *RULES[rule]))
    return {
        rule: {
            "mean": round(float(np.mean(each)), 3),
            "error": round(float(np.std(each, ddof=1) / np.sqrt(len(each))), 3),
            "draws": len(each),
        }
        for rule, each in found.items()
    }


def limits(out, n_draws, first, words):
    """What each limit gains in AUC, log-loss and time, and each limit of intervals in coverage; as they come."""
    found = {}
    for rule, (sets, settings, modules) in LIMITS.items():
        for name in sets if not words or any(word in rule for word in words) else ():
            gains = []
            for seed in range(first, first + n_draws):
                data, spent = draw(name, seed), []
                for changes in ({}, modules):
                    other = {place: value for place, value in changes.items() if place != "settings"}
                    begin = time.process_time()
                    found_scores = scores(data, settings | changes.get("settings", {}), other)
                    spent.append((*found_scores, time.process_time() - begin))
                (auc, loss, seconds), (other, other_loss, slower) = spent
                gains.append([auc - other, other_loss - loss, 1 - seconds / slower])
            found.setdefault(rule, {})[name] = means(gains, ("AUC", "log-loss", "time saved"))
            out.write_text(json.dumps(run_record(first_draw=first) | {"limits": found}) + "\n")
            print(rule, name, found[rule][name], flush=True)
    for rule, (cases, changes) in KNOWN.items():
        for case in cases if not words or any(word in rule for word in words) else ():
            each = [interval_gains(case, seed, changes) for seed in range(first, first + 4 * n_draws)]
            names = ("coverage", "narrower", "given", "coverage of logits", "logits narrower")
            found.setdefault(rule, {})[case] = means(np.array(each)[:, :5], names)
            known = np.array(each)[:, 5:]
            found[rule][case] |= {
                name: round(float(np.mean(column[np.isfinite(column)])), 4) if np.isfinite(column).any() else None
                for name, column in zip(("coverage with", "coverage without", "logits with", "logits without"), known.T)
            }
            out.write_text(json.dumps(run_record(first_draw=first) | {"limits": found}) + "\n")
            print(rule, case, found[rule][case], flush=True)


def interval_gains(case, seed, changes):
    """What a limit of intervals adds to their coverage, how much narrower it makes them (as a share), and how many more
    are given; the same of the logits of 500 other people; and coverages with and without it."""
    n_bags, size, d, more = CASES[case]
    rng = np.random.default_rng([seed, n_bags, d])
    sizes = np.full(n_bags, size)
    sizes[0] = more.get("large", size)
    of = np.repeat(np.arange(n_bags), sizes)
    values = rng.normal(size=(len(of), d)) + rng.normal(size=(n_bags, d))[of]
    values[:, 0] = values[:, 0] > 0.8
    truth, run = np.append(rng.normal(0, 0.7, d), rng.normal(0, 0.3)), more.get("run", 1)
    effects = np.repeat(rng.normal(0, more.get("effect", 0.0), -(-n_bags // run)), run)[:n_bags]
    logits = values @ truth[:-1] + truth[-1] + effects[of]
    labels = rng.random(len(of)) < 1 / (1 + np.exp(-logits))
    bags, counts = Bags(values, np.concatenate([[0], np.cumsum(sizes)])), np.bincount(of, labels, minlength=n_bags)
    groups = np.arange(n_bags) // run if more.get("grouped") else None
    clf = CardinalityClassifier().fit(bags, counts)
    others = np.column_stack([rng.normal(0, 2**0.5, (500, d)), np.ones(500)])
    found = []
    for some in ({}, changes):
        kept = {name: getattr(information, name) for name in some}
        vars(information).update(some)
        sure = covariance(clf, bags, counts, more.get("kind", "observed"), groups=groups)
        vars(information).update(kept)
        frame = sure.to_frame(proportions_coverage.LEVEL)
        low, high = frame["low"].to_numpy(), frame["high"].to_numpy()
        reach = t.ppf(0.5 + 0.5 * proportions_coverage.LEVEL, sure.freedom)
        wide = reach * np.sqrt(np.einsum("ij,jk,ik->i", others, sure.matrix, others))
        inside = np.abs(others @ (clf.theta_.ravel() - truth)) <= wide
        held = np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))
        covered = np.nanmean(held) if np.isfinite(low).any() else np.nan
        found.append([covered, np.isfinite(low).mean(), inside.mean(), high - low, wide.mean()])
    (a, given, b, width, wide), (c, other_given, e, other_width, other_wide) = found
    both = np.isfinite(width) & np.isfinite(other_width)
    narrower = 1 - np.exp(np.mean(np.log(width[both] / other_width[both]))) if both.any() else 0.0
    coverage = 0.0 if np.isnan(a) or np.isnan(c) else a - c
    return [coverage, narrower, given - other_given, b - e, 1 - wide / max(other_wide, 1e-300), a, c, b, e]


CUTS = {f"{name}, {n_bags} bags": (name, n_bags, size) for name, n_bags, size in cuts.SETTINGS}
PUBLISHED = tuple(
    f"published, {kind}-large-{equal}-{near}"
    for kind, equal, near in (
        *(("hard", "equal", "close"), ("hard", "equal", "far"), ("hard", "not-equal", "mixed")),
        *(("intermediate", "equal", "close"), ("intermediate", "not-equal", "close"), ("simple", "equal", "close")),
    )
)


def nearest(held_out, first, **changes):
    """The step that `_nearest_good` takes with other constants."""
    kept = {name: getattr(penalty, name) for name in changes}
    vars(penalty).update(changes)
    step = penalty._nearest_good(held_out, first)
    vars(penalty).update(kept)
    return step


SEARCH = {  # by rule: the step that is taken without it
    "the first penalty left only where held-out bags are clearly better": lambda held_out, first: by_best(
        held_out, penalty._likelier_prior(held_out, first)
    ),
    "clearly: more standard errors with few bags": lambda held_out, first: nearest(
        held_out, penalty._likelier_prior(held_out, first), FEW=0.0
    ),
    "very strong evidence for the prior, with at most 20 bags": nearest,
    "search of the penalty at all, against its first": lambda _, first: first,
}


def five_folds(n_bags, rng):
    """At most five folds, however few bags there are."""
    return rng.permutation(np.arange(n_bags) % min(5, n_bags))


OWN_SEARCH = {  # rules without which another search is made, and module settings without them
    "ten folds with at most 20 bags, against five": {(penalty, "_folds"): five_folds},
    "the search begins at a third of the prior": {(penalty, "FIRST"): penalty.MIDDLE},
}


def few_draw(name, seed):
    """One draw of a set of --few."""
    if name in CUTS:
        return cuts.draw(CUTS[name], seed)
    wanted, rng = name.removeprefix("published, "), np.random.default_rng(seed)
    data = datasets.franco(next(v for v in datasets.franco_variants() if v.startswith(wanted)))
    mask = rng.random(data.bags.n_rows) < 0.75
    counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
    return data.bags.subset(mask), counts, data.bags.values[~mask], data.labels[~mask]


def search_scores(data, own):
    """AUC and log-loss of the default and without each rule of the search; a penalty that two take is fitted once.

    own: whether rules that need a search of their own are measured here.
    """
    bags, counts, *_ = data
    likelier, steps = penalty._likelier_prior, {}

    def record(held_out, first):
        penalty._likelier_prior = likelier
        steps.update({rule: take(held_out, first) for rule, take in SEARCH.items()})
        usual = likelier(held_out, first)
        steps["default"] = penalty._nearest_good(held_out, usual)
        return usual

    try:
        penalty._likelier_prior = record
        clf = CardinalityClassifier().fit(bags, counts)
    finally:
        penalty._likelier_prior = likelier
    shape = np.asarray(clf.penalty_) / penalty.STEPS[steps["default"]]
    by_step = {k: scores(data, {"penalty": penalty.STEPS[k] * shape}, {}) for k in set(steps.values())}
    found = {rule: by_step[step] for rule, step in steps.items()}
    if own:
        found |= {"default, its search": scores(data, {}, {})}
        found |= {rule: scores(data, {}, modules) for rule, modules in OWN_SEARCH.items()}
    return {rule: [round(float(x), 6) for x in pair] for rule, pair in found.items()} | {"bags": len(bags)}


def few_summary(draws):
    """By rule and set: gains in AUC and log-loss with their errors, and in how many draws the rule matters."""
    out = {}
    for name, each in draws.items():
        for rule in (*SEARCH, *OWN_SEARCH):
            usual = "default, its search" if rule in OWN_SEARCH else "default"
            some = [d for d in each.values() if rule in d and (d["bags"] <= penalty.FEW_BAGS or "20 bags" not in rule)]
            gains = [[d[usual][0] - d[rule][0], d[rule][1] - d[usual][1]] for d in some]
            if gains:
                row = means(gains, ("AUC", "log-loss")) | {"moved": sum(any(g) for g in gains)}
                out.setdefault(rule, {})[name] = row
    for rows in out.values():
        for title, names in (("all cuts", CUTS), ("all published", PUBLISHED)):
            some = [row for name, row in rows.items() if name in names]
            if some:
                rows[title] = over_sets(some)
    return out


def over_sets(rows):
    """Mean gain over sets with its error, and how many sets gain or lose more than .001 of AUC."""
    out = {"sets": len(rows), "draws": min(row["draws"] for row in rows)}
    for score in ("AUC", "log-loss"):
        error = np.sqrt(sum(row[f"{score} error"] ** 2 for row in rows)) / len(rows)
        out[score] = round(float(np.mean([row[score] for row in rows])), 5)
        out[f"{score} error"] = round(float(error), 5)
    gains = [row["AUC"] for row in rows]
    return out | {"gain": sum(g >= 0.001 for g in gains), "lose": sum(g <= -0.001 for g in gains)}


def few(names, seeds, path):
    """Every rule of the search on sets of their own; written as they come."""
    found = {}
    for seed in seeds:
        for name in names:
            found.setdefault(name, {})[seed] = search_scores(few_draw(name, seed), name in CUTS)
            print(name, seed, found[name][seed], flush=True)
            write_few(path, found, run_record()["commit"])


def write_few(path, found, commit):
    command = "python benchmarks/cardinality_heuristics.py --few, in parts"
    facts = {"command": command, "commit": commit, "first_draw": FIRST_FEW}
    path.write_text(json.dumps(facts | {"summary": few_summary(found), "draws": found}) + "\n")


def merge_few(paths, path):
    """Parts of --few, put together by set and seed."""
    parts, found = [json.loads(p.read_text()) for p in paths], {}
    for part in parts:
        for name, draws in part["draws"].items():
            found.setdefault(name, {}).update(draws)
    write_few(path, found, ", ".join(dict.fromkeys(part["commit"] for part in parts)))


def means(values, names):
    """Means over draws, with their standard errors."""
    each = np.array(values)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.full(len(names), np.nan)
    out = {name: round(float(m), 5) for name, m in zip(names, each.mean(axis=0))}
    return out | {f"{name} error": round(float(e), 5) for name, e in zip(names, error)} | {"draws": len(each)}


STARTS = {"mean embedding": {}, "zero": {(cardinality, "mean_embedding_start"): from_zero}}


def start_settings(values, seed):
    """Ways to fit whose likelihood has several optima, or that take long from a poor start."""
    return {
        "default": {},
        "penalty 1": {"penalty": 1.0},
        "penalty 0.01 of the prior": {"penalty": 0.01 * penalty.reference_shape(values)},
        "solver='em'": {"solver": "em"},
        "random intercept": {"random_intercept": True},
        "boosted trees": {"classifier": HistGradientBoostingClassifier(max_iter=20, random_state=seed)},
    }


def starts(name, n_draws, first=FIRST, ways=()):
    """What the start at the mean embedding changes against a start without features, draw by draw."""
    found = []
    for seed in range(first, first + n_draws):
        data = draw(name, seed)
        for way, settings in start_settings(data[0].values, seed).items():
            if ways and way not in ways:
                continue
            row = {"data": name, "seed": seed, "way": way}
            for start, modules in STARTS.items():
                begin = time.process_time()
                auc, loss, fit = scores(data, settings, modules, with_fit=True)
                spent = time.process_time() - begin
                row[start] = {"auc": auc, "loss": loss, "seconds": spent, "objective": fit.objective}
                row[start] |= {"steps": fit.n_iter, "converged": bool(fit.converged)}
            found.append(row)
            print(json.dumps(row), flush=True)
    return found


def starts_summary(rows):
    """Paired means by data and way: what the mean embedding gains, with standard errors."""
    out = {}
    for name, way in dict.fromkeys((row["data"], row["way"]) for row in rows):
        some = [row for row in rows if (row["data"], row["way"]) == (name, way)]
        cell = {"draws": len(some)}
        pairs = [(row["mean embedding"], row["zero"]) for row in some]
        measures = {
            "gain in AUC": [a["auc"] - b["auc"] for a, b in pairs],
            "gain in log-loss": [b["loss"] - a["loss"] for a, b in pairs],
            "steps saved": [1 - a["steps"] / max(b["steps"], 1) for a, b in pairs],
            "objective": [a["objective"] - b["objective"] for a, b in pairs],
        }
        for measure, each in measures.items():
            error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else None
            cell[measure] = {"mean": float(np.mean(each)), "error": error}
        for start in ("mean embedding", "zero"):
            cell[f"converged, {start}"] = sum(row[start]["converged"] for row in some)
        out.setdefault(name, {})[way] = cell
    return out


def gains_summary(cells):
    """Mean gains by rule and data, with their standard errors."""
    out = {}
    for cell in cells:
        for rule, each in cell["gains"].items():
            values = np.array(each)
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            row = {"draws": len(values)}
            for k, name in enumerate(("AUC", "log-loss")):
                row |= {name: round(float(values[:, k].mean()), 5), f"{name} error": round(float(error[k]), 5)}
            out.setdefault(rule, {})[cell["data"]] = row
    return out


def lines(cells, which):
    """One row per rule: mean gain and standard error on every set."""
    out = []
    for rule in RULES:
        row = {"rule": rule}
        for cell in cells:
            each = np.array(cell["gains"].get(rule, []))
            row[cell["data"]] = ""
            if len(each):
                error = each[:, which].std(ddof=1) / np.sqrt(len(each))
                row[cell["data"]] = f"{each[:, which].mean():+.4f} ({error:.4f})"
        out.append(row)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(DATA))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first draw, to share draws out")
    parser.add_argument("--time", action="store_true", help="measure the time that rules save, and nothing else")
    parser.add_argument("--starts", action="store_true", help="compare two starts, and nothing else")
    parser.add_argument("--limits", nargs="*", help="measure limits whose names have one of these words")
    parser.add_argument("--ways", nargs="*", default=[], help="some ways to fit, with --starts")
    parser.add_argument("--few", action="store_true", help="rules of the search on 6 to 60 bags, and nothing else")
    parser.add_argument("--merge", nargs="*", type=Path, help="files of --starts or --few, put together")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    if args.few:
        path = args.out if args.out != RESULTS else RESULTS.with_name("cardinality_few_bags.json")
        first = FIRST_FEW if args.first == FIRST else args.first
        if args.merge:
            return merge_few(args.merge, path)
        wanted = [n for n in (*CUTS, *PUBLISHED) if not args.sets or any(n.startswith(word) for word in args.sets)]
        return few(wanted, range(first, first + args.draws), path)
    if args.starts:
        rows = [row for file in args.merge or () for row in json.loads(file.read_text())["rows"]]
        for name in () if args.merge else args.sets or DATA:
            rows += starts(name, args.draws, args.first, args.ways)
            args.out.write_text(json.dumps({"rows": rows}) + "\n")
        if args.merge:
            command = "python benchmarks/cardinality_heuristics.py --starts, in parts"
            facts = {"command": command, "commit": os.environ.get("SUMWISE_COMMIT", ""), "first_draw": FIRST}
            args.out.write_text(json.dumps(facts | {"summary": starts_summary(rows), "rows": rows}) + "\n")
        return
    if args.limits is not None:
        path = args.out if args.out != RESULTS else RESULTS.with_name("cardinality_limits.json")
        limits(path, args.draws, args.first, args.limits)
        return
    if args.time:
        for name in args.sets or DATA:
            kept.setdefault("time saved", {})[name] = saved_time(name, args.draws, args.first)
            kept.setdefault("runs", {})["time saved"] = run_record()
            args.out.write_text(json.dumps(kept) + "\n")
            print(name, kept["time saved"][name], flush=True)
        return
    for name in () if args.show else args.sets or DATA:
        cell = measured(name, args.draws, args.first)
        cell["commit"] = run_record()["commit"]
        kept["cells"] = [c for c in kept["cells"] if c["data"] != name] + [cell]
        kept |= {"command": "python benchmarks/cardinality_heuristics.py", "first_draw": FIRST, "draws": args.draws}
        kept["summary"] = gains_summary(kept["cells"])
        args.out.write_text(json.dumps(kept) + "\n")
        print(name, f"{cell['cpu_seconds']} s", flush=True)
    for which, title in enumerate(("Gain in test AUC", "Gain in log-loss")):
        table(title, lines(kept["cells"], which))


if __name__ == "__main__":
    main()
