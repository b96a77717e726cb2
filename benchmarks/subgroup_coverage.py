"""Coverage of 95% intervals for subgroup shares, by simulation (on real areas: see election_study.py).

    python benchmarks/subgroup_coverage.py                  # everything (about half an hour on one core)
    python benchmarks/subgroup_coverage.py plain "three classes" --trials 40

Each trial draws a new population, new coefficients and new labels, fits with the default penalty, and asks for the
shares of all groups by sex, race and education among 4,000 held-out individuals. `probabilities` are intervals for
the mean of the true probabilities, `labels` for the shares of the labels that were drawn. A standard error over
trials is given beside each coverage, since groups of one trial share their coefficients. Prints a table and keeps
every trial in benchmarks/results/subgroup_coverage.json, where the next run goes on; delete it to begin anew.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from sumwise import Bags, synthetic
from sumwise.proportions import CardinalityClassifier, bootstrap, covariance, subgroups

RESULTS = Path(__file__).parent / "results" / "subgroup_coverage.json"
BY = ("sex", "race", "education")

# regions, individuals, bags per region, classes, region effect, settings of the classifier, how sure
CASES = {
    "plain": (200, 50, 1, 2, 0.0, {}, "observed"),
    "small bags": (500, 10, 1, 2, 0.0, {}, "observed"),
    "few bags": (40, 100, 1, 2, 0.0, {}, "observed"),
    "expected": (200, 50, 1, 2, 0.0, {}, "expected"),
    "sandwich": (400, 50, 1, 2, 0.0, {}, "sandwich"),
    "bootstrap": (200, 50, 1, 2, 0.0, {}, "bootstrap"),
    "three classes": (200, 20, 1, 3, 0.0, {"multiclass": "exact"}, "observed"),
    "one-vs-rest": (200, 20, 1, 3, 0.0, {"multiclass": "ovr"}, "observed"),
    "bags differ, own intercepts": (200, 50, 1, 2, 0.5, {"random_intercept": True}, "observed"),
    "bags differ, ignored": (200, 50, 1, 2, 0.5, {}, "observed"),
    "20 bags per region, groups": (25, 2000, 20, 2, 0.3, {}, "groups"),
    "20 bags per region, own intercepts, groups": (25, 2000, 20, 2, 0.3, {"random_intercept": True}, "groups"),
    "20 bags per region, ignored": (25, 2000, 20, 2, 0.3, {}, "observed"),
}


def table(title, rows):
    """Print rows of equal keys as a table, and return them."""
    print(f"\n{title}")
    widths = {k: max(len(k), *(len(_shown(r[k])) for r in rows)) for k in rows[0]}
    print("  ".join(k.rjust(w) for k, w in widths.items()))
    for r in rows:
        print("  ".join(_shown(r[k]).rjust(w) for k, w in widths.items()), flush=True)
    return rows


def _shown(x):
    return f"{x:.3f}" if isinstance(x, float) else str(x)


def in_bags(data, per_region):
    """Bags of one region each, their class counts and their regions."""
    n_regions = len(data.bags)
    if per_region == 1:
        return data.bags, data.counts, np.arange(n_regions)
    size = data.bags.sizes[0] // per_region
    bags = Bags(data.bags.values, np.arange(0, data.bags.n_rows + 1, size))
    onehot = np.eye(data.counts.shape[1], dtype=int)[data.labels]
    return bags, np.add.reduceat(onehot, bags.offsets[:-1], axis=0), np.repeat(np.arange(n_regions), per_region)


def how_sure(kind, clf, bags, counts, regions):
    """What `subgroups` takes as uncertainty."""
    if kind == "bootstrap":
        return bootstrap(clf, bags, counts, n=100)
    if kind == "groups":
        return covariance(clf, bags, counts, groups=regions)
    return covariance(clf, bags, counts, kind)


def one(case, seed):
    """Whether each interval of one trial covers: {target: (covered, width)}."""
    n_regions, n_individuals, per_region, n_classes, effect, settings, kind = CASES[case]
    data = synthetic.election(
        n_regions, n_individuals, n_classes=n_classes, region_effect=effect, mean_weight=1, weight_spread=0,
        n_test=4000, random_state=seed,
    )  # fmt: skip
    bags, counts, regions = in_bags(data, per_region)
    counts = counts if n_classes > 2 else counts[:, 1]
    clf = CardinalityClassifier(**settings).fit(bags, counts)
    sure = how_sure(kind, clf, bags, counts, regions)
    out = {"probabilities": [], "labels": []}
    onehot = np.eye(n_classes)[data.test_labels]
    order = np.argsort(data.test_regions, kind="stable")  # in their regions: who lives where matters for labels
    edges = np.searchsorted(data.test_regions[order], np.arange(n_regions + 1))
    residents = Bags(data.test_values[order], edges)
    for name in BY:
        groups = data.test_codes[name][order]
        for target, truth in (("probabilities", data.test_probabilities), ("labels", onehot)):
            found = subgroups(clf, residents, {name: groups}, uncertainty=sure, realised=target == "labels")
            low, high = found.interval(0.95)
            true = np.stack([truth[order][groups == g].mean(axis=0) for g in found.groups[name]])
            columns = slice(1, 2) if n_classes == 2 else slice(None)
            inside = ((low <= true) & (true <= high))[:, columns].ravel()
            out[target].append(np.column_stack([inside, (high - low)[:, columns].ravel()]))
    return {k: np.concatenate(v) for k, v in out.items()}


def simulated(case, trials, seconds):
    """Run the trials of one case that were not run before, and keep each: {seed: {target: [covered, width, n]}}."""
    begin = time.process_time()
    for seed in map(str, range(1000, 1000 + trials)):
        kept = read()
        if seed in kept.get(case, {}):
            continue
        if time.process_time() - begin > seconds:
            break
        found = {k: [*v.mean(axis=0).tolist(), len(v)] for k, v in one(case, int(seed)).items()}
        kept = read()  # another run may have written meanwhile
        kept.setdefault(case, {})[seed] = found
        RESULTS.write_text(json.dumps(kept))
    print(f"{case}: {time.process_time() - begin:.0f} CPU s", flush=True)


def read():
    """What was kept of earlier runs."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def summary(kept):
    """Coverage and mean width of every case, per target, with standard errors over trials."""
    rows = []
    for case, found in kept.items():
        for target in ("probabilities", "labels"):
            each = np.array([trial[target] for trial in found.values()])
            error = float(each[:, 0].std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
            row = {"case": case, "target": target, "coverage": float(each[:, 0].mean()), "se": error}
            row |= {"width": float(each[:, 1].mean()), "intervals": int(each[:, 2].sum()), "trials": len(each)}
            rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=np.inf, help="CPU seconds per case; the next run goes on")
    parser.add_argument("--show", action="store_true", help="only print what was kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    RESULTS.parent.mkdir(exist_ok=True)
    for case in [] if args.show else args.cases:
        simulated(case, args.trials, args.seconds)
    table("Coverage of 95% intervals of subgroup shares", summary(read()))


if __name__ == "__main__":
    main()
