"""Coverage of 90% intervals from counts of bags, at default penalties, on small cells.

    python benchmarks/proportions_coverage.py                  # all, 200 simulations each (about ten CPU minutes)
    python benchmarks/proportions_coverage.py few "three classes" --trials 50
    python benchmarks/proportions_coverage.py --show
    python benchmarks/proportions_coverage.py plain --out part.json; ... --merge part.json other.json

Coefficients: `clf.draws().interval(0.9)` of a linear model with new people, coefficients and labels in every
simulation; cases differ in bags, members, features and classes. Shares: those of subgroups of the very people in the
bags, given the counts (`counts=`), in generated votes; "regions differ" has effects of regions that the model does not
know.
Areas: 25 areas of the American Community Survey, a hundred members each; who has a bachelor's degree, a high income,
a home of their own or a spouse in the house. Shares of subgroups of thirty people or more among 3,000 others of these
areas, without named groups of bags. The areas are the same in all simulations, so that one label is one set of effects:
coverage is to be read over the four labels together. Sums: `AggregateRegressor.intervals(0.9)` of coefficients and
`predict_interval` of the expected response of fifty new people, from sums of normal responses (standard deviation 2)
and of counts; "shared people" has everybody in two tables, "noise" Laplace noise on the sums, "counts vary more"
negative binomial counts, whose variance is twice as large. Standard errors are over simulations.
Writes benchmarks/results/proportions_coverage.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import proportions_few_bags as few
from run_record import run_record

from proportions import puma_people, table
from sumwise import Bags, synthetic
from sumwise.errors import DataError
from sumwise.noise import Laplace
from sumwise.proportions import AggregateRegressor, CardinalityClassifier, subgroups

RESULTS = Path(__file__).parent / "results" / "proportions_coverage.json"
LEVEL = 0.9
COEFFICIENTS = {  # bags, members, features, classes
    "plain": (60, 20, 5, 2),
    "small bags": (150, 5, 5, 2),
    "few bags": (25, 30, 4, 2),
    "many features": (80, 12, 15, 2),
    "three classes": (60, 6, 2, 3),
}
SHARES = {  # bags, members, classes, effect of regions
    "shares given counts": (40, 15, 2, 0.0),
    "shares given counts, three classes": (30, 6, 3, 0.0),
    "shares given counts, regions differ": (40, 15, 2, 0.4),
}
SUMS = {  # likelihood, bags, features, what else
    "sums": ("gaussian", 80, 2, ""),
    "sums, few bags": ("gaussian", 30, 2, ""),
    "sums, many features": ("gaussian", 60, 20, ""),
    "sums, noise": ("gaussian", 60, 3, "noise"),
    "sums, shared people": ("gaussian", 40, 2, "shared people"),
    "counts": ("poisson", 80, 2, ""),
    "counts, few bags": ("poisson", 25, 5, ""),
    "counts, many features": ("poisson", 60, 20, ""),
    "counts vary more": ("poisson", 60, 3, "vary more"),
}
AREAS = {
    "areas, bachelor's degree": "bachelor",
    "areas, high income": "rich",
    "areas, home owned": "owner",
    "areas, married": "married",
}


def coefficients(case, seed):
    """Whether each interval holds the coefficient; NaN where none is given."""
    n_bags, size, d, k = COEFFICIENTS[case]
    rng = np.random.default_rng([seed, n_bags, d])
    values = rng.normal(size=(n_bags * size, d)) + np.repeat(rng.normal(size=(n_bags, d)), size, axis=0)
    values[:, 0] = values[:, 0] > 0.8
    truth = np.column_stack([rng.normal(0, 0.7, (k, d)), rng.normal(0, 0.3, k)])
    logits = values @ truth[:, :-1].T + truth[:, -1]
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    counts = np.eye(k)[labels].reshape(n_bags, size, k).sum(axis=1)
    truth = truth[1:] - truth[:1] if k == 2 else truth
    bags, given = Bags(values, np.arange(n_bags + 1) * size), counts[:, 1] if k == 2 else counts
    truth = truth if k == 2 else truth[1:] - truth[:1]
    try:
        low, high = CardinalityClassifier("linear").fit(bags, given).draws().interval(LEVEL)
    except DataError:  # withheld
        return np.full(truth.size, np.nan)
    return ((low <= truth) & (truth <= high)).ravel()


def shares(case, seed):
    """Whether each interval holds the share among these very people."""
    n_bags, size, k, effect = SHARES[case]
    data = synthetic.election(
        n_bags, size, n_classes=k, n_categorical=2, region_effect=effect, mean_weight=1, weight_spread=0,
        n_test=10, random_state=seed,
    )  # fmt: skip
    counts = data.counts[:, 1] if k == 2 else data.counts
    clf = CardinalityClassifier().fit(data.bags, counts)
    labels, out = np.eye(k)[data.labels], []
    for name in list(data.codes)[:2]:
        groups = data.codes[name]
        found = subgroups(clf, data.bags, {name: groups}, counts=counts, n_draws=100)
        low, high = found.interval(LEVEL)
        true = np.stack([labels[groups == g].mean(axis=0) for g in found.groups[name]])
        out.append(((low <= true + 1e-9) & (true <= high + 1e-9))[:, 1:].ravel())
    return np.concatenate(out)


@cache
def survey():
    """Columns of the people of the areas."""
    return puma_people()[0]


def areas(case, seed):
    """Whether each interval holds the share of a subgroup among other people of the areas."""
    label = AREAS[case]
    values, labels, groups = few.people(label)
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(groups == g))[:100] for g in np.unique(groups)])
    test = rng.permutation(np.setdiff1d(np.arange(len(labels)), train))[:3000]
    test = test[np.argsort(groups[test], kind="stable")]
    bags = Bags(values[train], np.arange(0, len(train) + 1, 100))
    counts = labels[train].reshape(-1, 100).sum(axis=1)
    clf = CardinalityClassifier().fit(bags, counts)
    edges = np.searchsorted(groups[test], np.arange(groups.max() + 2))
    people, out = Bags(values[test], edges, ids=range(groups.max() + 1)).drop_empty(), []
    for name in ("SEX", "MSP", "OWN_RENT", "RAC1P"):
        if label == {"OWN_RENT": "owner", "MSP": "married"}.get(name):
            continue
        codes = survey()[name].to_numpy()[test]
        found = subgroups(clf, people, {name: codes}, n_draws=100)
        low, high = found.interval(LEVEL)
        true = np.array([labels[test][codes == g].mean() for g in found.groups[name]])
        enough = np.array([(codes == g).sum() >= 30 for g in found.groups[name]])
        out.append(((low[:, 1] <= true) & (true <= high[:, 1]))[enough])
    return np.concatenate(out)


def sums(case, seed):
    """Whether each interval of a coefficient and of an expected response of new people holds the truth."""
    likelihood, n_bags, d, more = SUMS[case]
    rng = np.random.default_rng([seed, n_bags, d])
    sizes = rng.integers(3, 40, n_bags)
    bag = np.repeat(np.arange(n_bags), sizes)
    values = rng.normal(size=(len(bag), d)) + 0.6 * rng.normal(size=(n_bags, d))[bag]
    truth = np.append(rng.normal(0, 0.4, d), 1.0) * (1.0 if likelihood == "gaussian" else 0.4)
    mean = values @ truth[:-1] + truth[-1]
    if likelihood == "gaussian":
        y = mean + 2.0 * rng.normal(size=len(bag))
    else:
        rates = np.exp(mean)
        y = rng.poisson(rates * rng.gamma(rates) / rates if more == "vary more" else rates).astype(float)
    noise, members, offsets = None, None, np.concatenate([[0], np.cumsum(sizes)])
    if more == "shared people":
        other = np.argsort(values[:, 0] + rng.normal(size=len(bag)))
        members = np.concatenate([np.arange(len(bag)), other])
        offsets = np.concatenate([offsets, len(bag) + np.linspace(0, len(bag), n_bags + 1).astype(int)[1:]])
        values, y = values[members], y[members]
    totals = np.add.reduceat(y, offsets[:-1])
    if more == "noise":
        noise, totals = Laplace(10.0), totals + rng.laplace(scale=10.0, size=n_bags)
    model = AggregateRegressor(likelihood, noise=noise).fit(Bags(values, offsets), totals, members=members)
    found = model.intervals(LEVEL)
    new = rng.normal(size=(50, d))
    low, high = model.predict_interval(new, LEVEL)
    expected = new @ truth[:-1] + truth[-1]
    expected = expected if likelihood == "gaussian" else np.exp(expected)
    held = (found["low"] <= truth) & (truth <= found["high"])
    return np.concatenate([held.to_numpy(float), [np.mean((low <= expected) & (expected <= high))]])


CASES = dict.fromkeys(COEFFICIENTS, coefficients) | dict.fromkeys(SHARES, shares) | dict.fromkeys(AREAS, areas)
CASES |= dict.fromkeys(SUMS, sums)


def write(kept, path):
    """Write the cases, with the commits that they were measured at."""
    kept["command"] = "python benchmarks/proportions_coverage.py"
    kept["commit"] = " and ".join(sorted({c["commit"] for c in kept["cases"].values()}))
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(kept, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first simulation")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file to write to")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="take cases from such files")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(args.out.read_text()) if args.out.exists() else {"cases": {}}
    for part in args.merge:
        kept["cases"] |= json.loads(part.read_text())["cases"]
        write(kept, args.out)
    for case in () if args.show or args.merge else args.cases or CASES:
        begin, held = time.process_time(), []
        for seed in range(args.first, args.first + args.trials):
            held.append(CASES[case](case, seed))
            if len(held) % 20 and len(held) < args.trials:
                continue  # written as it goes, so that a run that is stopped has lost little
            each, together = np.array([np.nanmean(h) for h in held]), np.concatenate(held)
            kept["cases"][case] = {
                "coverage": round(float(np.nanmean(together)), 4),
                "error": round(float(each.std(ddof=1) / np.sqrt(len(each))), 4),
                "intervals": int(np.isfinite(together).sum()),
                "refused": int(np.isnan(together).sum()),
                "trials": len(held),
                "first": args.first,
                "cpu_seconds": round(time.process_time() - begin, 1),
                "commit": run_record()["commit"],
            }
            if case in SUMS:  # the last of each is a mean over new people
                kept["cases"][case]["coverage"] = round(float(np.mean([h[:-1].mean() for h in held])), 4)
                kept["cases"][case]["expectations"] = round(float(np.mean([h[-1] for h in held])), 4)
                kept["cases"][case]["intervals"] = sum(len(h) - 1 for h in held)
            write(kept, args.out)
        print(case, kept["cases"][case], flush=True)
    table(
        f"Coverage of {LEVEL:.0%} intervals",
        [{"case": c, "expectations": ""} | kept["cases"][c] for c in kept["cases"]],
    )


if __name__ == "__main__":
    main()
