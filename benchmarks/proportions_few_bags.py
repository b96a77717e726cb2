"""Label proportions from few bags: the default beside other methods, twenty draws per setting, paired.

    python benchmarks/proportions_few_bags.py                            # all (about an hour of CPU time)
    python benchmarks/proportions_few_bags.py owner adult --draws 20
    python benchmarks/proportions_few_bags.py --show
    python benchmarks/proportions_few_bags.py --other --draws 30         # cuts that served nowhere else
    python benchmarks/proportions_few_bags.py --other --draws 30 --more  # adds draws to those that were measured
    python benchmarks/proportions_few_bags.py --rare                     # labels of 3 to 7 in a hundred people
    python benchmarks/proportions_few_bags.py --curved --draws 10        # classes that no line separates
    python benchmarks/proportions_few_bags.py "bachelor, 6" --out part.json; ... --merge part.json other.json

A setting is a data set, a number of bags and their size. On the American Community Survey bags are areas and labels
are a bachelor's degree, an income in the upper deciles, owning a home or being married; on Adult bags are occupations
or random; generated votes have regions with effects of their own. Every method has its default settings. AUC and
log-loss are of individuals of the same areas that are in no bag.
Writes benchmarks/results/proportions_few_bags.json.

`--other` has labels and bags that no rule was chosen or scored on: who is poor, has children at home, walks with
difficulty or is Hispanic, by area, and incomes and degrees by industry. It writes proportions_other_cuts.json.

`--rare` has difficulty hearing, seeing or remembering, by area. It writes proportions_rare_classes.json.

`--curved` has 100 random bags of 20: two crescents, a ring around a disk, normals of different widths (ringnorm,
Breiman 1996), the product of two features; and, if `--data` names a folder with banana.csv (KEEL), phoneme.csv (ELENA)
and magic04.data (Bock 2007, UCI), these. It writes proportions_curved.json. `fourier` is the other of the two kinds of
models that the default averages.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from rivals.proportion_loss import ProportionLossClassifier
from run_record import run_record
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from proportions import adult_people, puma_people, survey_adults, table
from sumwise import Bags, synthetic
from sumwise import proportions as p
from sumwise.features import Features

RESULTS = Path(__file__).parent / "results" / "proportions_few_bags.json"
FIRST = 100  # draws below were used to choose


class OverallShare:
    """Everybody has the overall share: what an answer without a model reaches."""

    def fit(self, bags, counts):
        self.share = counts.sum() / bags.n_rows
        return self

    def predict_proba(self, values):
        return np.tile([1.0 - self.share, self.share], (len(values), 1))


METHODS = {
    "overall share": OverallShare,
    "cardinality": p.CardinalityClassifier,
    "linear": partial(p.CardinalityClassifier, "linear"),
    "fourier": partial(p.CardinalityClassifier, "fourier"),
    "linear, own intercepts": partial(p.CardinalityClassifier, "linear", random_intercept=True),
    "network": p.CardinalityNetwork,
    "proportion loss": ProportionLossClassifier,
    "mean embedding": p.MeanEmbeddingClassifier,
    "mean map": p.MeanMap,
}
SETTINGS = [
    *(("bachelor", 6, 200), ("bachelor", 12, 100), ("bachelor", 25, 60)),
    *(
        ("rich", 6, 200),
        ("rich", 25, 60),
        ("owner", 6, 200),
        ("owner", 25, 60),
        ("married", 6, 200),
        ("married", 25, 60),
    ),
    *(("adult, occupations", 6, 200), ("adult, occupations", 12, 100), ("adult, random", 25, 60)),
    *(("votes", 8, 100), ("votes", 25, 60)),
]
OTHER = [
    *(("poor", 6, 200), ("poor", 25, 60), ("children", 6, 200), ("children", 25, 60)),
    *(("disabled", 12, 100), ("hispanic", 12, 100), ("rich, industries", 8, 200), ("bachelor, industries", 12, 60)),
]
RARE = [(name, *bags) for name in ("hearing", "seeing", "remembering") for bags in ((6, 200), (12, 100), (25, 60))]
LABELS = {  # column, least and largest value
    "rich": ("PINCP_DECILE", 7, 9),
    "owner": ("OWN_RENT", 1, 1),
    "married": ("MSP", 1, 1),
    "poor": ("POVPIP", 0, 199),
    "children": ("NOC", 1, 99),
    "disabled": ("DPHY", 1, 1),
    "hispanic": ("HISP", 1, 99),
    "hearing": ("DEAR", 1, 1),
    "seeing": ("DEYE", 1, 1),
    "remembering": ("DREM", 1, 1),
}
N_TEST = 1500
MADE = ("crescents", "ring", "ringnorm", "interaction")
FILES = {"banana": "banana.csv", "phoneme": "phoneme.csv", "magic": "magic04.data"}
CURVED = [(name, 100, 20) for name in (*MADE, *FILES)]
FOLDER = Path()  # of the files, from the command line


def made(name, n, rng):
    """Features and labels of a made-up set."""
    labels = rng.integers(0, 2, n)
    if name == "crescents":
        angle = np.pi * rng.random(n) + np.pi * labels
        points = np.column_stack([np.cos(angle) + labels, np.sin(angle) + 0.5 * labels])
        return points + 0.3 * rng.normal(size=(n, 2)), labels
    if name == "ring":
        angle, radius = 2.0 * np.pi * rng.random(n), 2.0 * labels + 0.5 * rng.normal(size=n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), labels
    if name == "ringnorm":
        values = rng.normal(size=(n, 20))
        return np.where(labels[:, None] == 0, 2.0 * values, values + 1.0 / np.sqrt(20.0)), labels
    values = rng.normal(size=(n, 5))
    return values, (rng.random(n) < expit(3.0 * values[:, 0] * values[:, 1] + values[:, 2])).astype(int)


@cache
def from_file(name):
    """Features and labels of a set in the folder of `--data`."""
    import pandas as pd

    frame = pd.read_csv(FOLDER / FILES[name], header=None if name == "phoneme" else "infer")
    last = frame.iloc[:, -1]
    return frame.iloc[:, :-1].to_numpy(float), (last == last.max()).to_numpy().astype(int)


@cache
def people(name):
    """Features as numbers, labels and groups of individuals."""
    import pandas as pd

    if name.startswith("adult"):
        return adult_people()[:3]
    features, labels, groups = puma_people()
    if name.endswith(", industries"):
        name, groups = (
            name.removesuffix(", industries"),
            features.pop("INDP_CAT").astype("category").cat.codes.to_numpy(),
        )
    if name != "bachelor":
        frame = survey_adults()
        column, *between = LABELS[name]
        labels = pd.to_numeric(frame[column], errors="coerce").between(*between).to_numpy().astype(int)
        same = [column, *(["PINCP_DECILE"] if name == "poor" else [])]  # what says the same is no feature
        features = features.drop(columns=same, errors="ignore").assign(EDU=frame["EDU"].astype(str))
    return encoded(features), labels, groups


def encoded(frame):
    """Features as numbers, without levels that 60 rows can hardly show."""
    rows = Bags.from_frame(frame.assign(all=0), bag="all")
    values = Features.learn(rows).matrix(rows)
    return values[:, (values != 0).mean(axis=0) > 0.005]


def drawn_groups(individuals, sizes, least, room, rng):
    """Bags of some groups, counts of class 1, and features and labels of other individuals of the same groups.

    `sizes` are the members of every bag; groups have `least` individuals and `room` more, which stay outside the bag.
    """
    values, labels, groups = individuals
    ids, members = np.unique(groups, return_counts=True)
    chosen = rng.permutation(ids[members >= least + room])[: len(sizes)]
    rows = [rng.permutation(np.flatnonzero(groups == i)) for i in chosen]
    sizes = np.minimum(sizes[: len(chosen)], [len(r) - room for r in rows])
    train = np.concatenate([r[:n] for r, n in zip(rows, sizes)])
    test = np.concatenate([r[n : n + max(N_TEST // len(chosen), 30)] for r, n in zip(rows, sizes)])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(values[train], offsets), np.add.reduceat(labels[train], offsets[:-1]), values[test], labels[test]


def draw(setting, seed):
    """Bags, counts of class 1, and features and labels of other individuals of the same groups."""
    name, n_bags, size = setting
    rng = np.random.default_rng([seed, n_bags, size])
    if name == "votes":
        drawn = synthetic.election(n_bags, size, n_categorical=3, mean_weight=1, weight_spread=0, random_state=seed)
        return drawn.bags, drawn.counts[:, 1], drawn.test_values[:N_TEST], drawn.test_labels[:N_TEST]
    if name in MADE:
        values, labels = made(name, n_bags * size + N_TEST, rng)
    elif name in FILES:
        values, labels = from_file(name)
    else:
        values, labels, groups = people(name)
    if name not in ("adult, random", *MADE, *FILES):
        return drawn_groups((values, labels, groups), np.full(n_bags, size), size, 30, rng)
    train, test = np.split(rng.permutation(len(labels))[: n_bags * size + N_TEST], [n_bags * size])
    counts = labels[train].reshape(n_bags, size).sum(axis=1)
    return Bags(values[train], np.arange(n_bags + 1) * size), counts, values[test], labels[test]


def scores_of(drawn, methods=METHODS):
    """AUC and log-loss of every method on one draw."""
    bags, counts, test_values, test_labels = drawn
    for method, make in methods.items():
        chance = make().fit(bags, counts).predict_proba(test_values)[:, 1]
        loss = log_loss(test_labels, np.clip(chance, 1e-6, 1 - 1e-6))
        yield method, [round(float(roc_auc_score(test_labels, chance)), 5), round(float(loss), 5)]


def measured(setting, n_draws, before=None):
    """AUC and log-loss of every method in every draw, after those that were measured before."""
    found = before["scores"] if before else {}
    begin = time.process_time() - (before["cpu_seconds"] if before else 0.0)
    for seed in range(FIRST + len(found.get("cardinality", [])), FIRST + n_draws):
        drawn = draw(setting, seed)
        for method, scores in scores_of(drawn, METHODS):
            found.setdefault(method, []).append(scores)
    name, n_bags, size = setting
    seconds = round(time.process_time() - begin, 1)
    commits = dict.fromkeys([*([before["commit"]] if before else []), run_record()["commit"]])
    where = {"data": name, "bags": n_bags, "size": size}
    return where | {"commit": ", draws added ".join(commits), "cpu_seconds": seconds, "scores": found}


def rows_of(done, which, better):
    """One line per setting: means, and the paired difference to the best other method."""
    lines = []
    for cell in done:
        scores = {m: np.array(v)[:, which] for m, v in cell["scores"].items()}
        others = {m: v.mean() for m, v in scores.items() if m != "cardinality"}
        best = max(others, key=lambda m: better * others[m])
        gap = better * (scores["cardinality"] - scores[best])
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        means = {m: float(v.mean()) for m, v in scores.items()}
        verdict = "best" if gap.mean() >= 0 else ("within one error" if gap.mean() >= -error else "behind")
        setting = label((cell["data"], cell["bags"], cell["size"]))
        gain = {"gain": float(gap.mean()), "error": float(error), "verdict": verdict}
        lines.append({"setting": setting, **means, **gain})
    return lines


def tables_of(done):
    """The rows of AUC and of log-loss."""
    return {"AUC": rows_of(done, 0, 1.0), "log-loss": rows_of(done, 1, -1.0)}


def label(setting):
    """A setting in words."""
    return f"{setting[0]}, {setting[1]} of {setting[2]}"


def main():
    global FOLDER
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="beginnings of settings' names; default all")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--other", action="store_true", help="cuts that served nowhere else")
    parser.add_argument("--rare", action="store_true", help="labels of few people")
    parser.add_argument("--curved", action="store_true", help="classes that no line separates")
    parser.add_argument("--data", type=Path, default=Path(), help="folder of banana.csv, phoneme.csv and magic04.data")
    parser.add_argument("--out", type=Path, help="write the results of this run alone to this file")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="take settings from such files")
    parser.add_argument("--more", action="store_true", help="add draws to those that were measured")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path, settings, option = RESULTS, SETTINGS, ""
    if args.other:
        path, settings, option = RESULTS.with_name("proportions_other_cuts.json"), OTHER, " --other"
    elif args.rare:
        path, settings, option = RESULTS.with_name("proportions_rare_classes.json"), RARE, " --rare"
    elif args.curved:
        path, settings, option = RESULTS.with_name("proportions_curved.json"), CURVED, " --curved"
    FOLDER, path = args.data, args.out or path
    kept = json.loads(path.read_text()) if path.exists() else {"cells": []}
    wanted = [s for s in settings if not args.sets or any(label(s).startswith(name) for name in args.sets)]
    wanted = [s for s in wanted if s[0] not in FILES or (FOLDER / FILES[s[0]]).exists()]
    parts = [json.loads(part.read_text())["cells"] for part in args.merge]
    merged = {(c["data"], c["bags"], c["size"]): c for cells in parts for c in cells}
    for setting in () if args.show else merged or wanted:
        found = {(c["data"], c["bags"], c["size"]): c for c in kept["cells"]}
        cell = merged.get(setting) or measured(setting, args.draws, found.get(setting) if args.more else None)
        found[setting] = cell
        found = {s: found[s] for s in settings if s in found}
        command = "python benchmarks/proportions_few_bags.py" + option
        commits = sorted({c["commit"] for c in found.values()})
        least = min(len(c["scores"]["cardinality"]) for c in found.values())
        kept = {"command": command, "commit": " and ".join(commits),
                "first_draw": FIRST, "draws": least, "rows": tables_of(list(found.values())),
                "cells": list(found.values())}  # fmt: skip
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(kept) + "\n")
        print(setting, f"{cell['cpu_seconds']} s", flush=True)
    for title, rows in tables_of(kept["cells"]).items():
        table(title, rows)


if __name__ == "__main__":
    main()
