"""What dependence does to learning from bags: correlated rows, correlated bags, heterogeneity, measurement error.

    python benchmarks/stability.py                     # about three CPU minutes
    python benchmarks/stability.py proportions --draws 5
    python benchmarks/stability.py proportions --axes heterogeneity --out part.json; ... --merge part.json other.json

Distribution regression: 120 training bags of 20 to 60 rows; the response of "mean" is the mean of the bag's
distribution, that of "sum" the total over its rows, each with a linear ridge on the pool of that name and a
cross-validated penalty; the error is that on 120 other bags of the same kind, relative to the deviation of their
responses. Cross-validation is shown beside it, with folds of bags and with folds of regions (four bags each).

Label proportions: 80 bags of 20, two features, coefficients 1 and -1; mean absolute error of the coefficients and
coverage of their 90% intervals, for the default classifier and for the remedy that the library offers: own intercepts
of bags. Penalty 0.1.

What grows along each axis: the correlation of rows (of labels) within a bag beyond their distribution, as the deviation
of an effect that a bag shares; the deviation of an effect that the four bags of a region share; the deviation of slopes
between bags; the deviation of noise on every row's features, in deviations of a feature within a bag. Standard errors
are over draws. Writes benchmarks/results/stability.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier

RESULTS = Path(__file__).parent / "results" / "stability.json"
LEVELS = (0.0, 0.25, 0.5, 1.0)
AXES = ("correlated rows", "correlated bags", "heterogeneity", "measurement error")
REGION = 4  # bags
SLOPES = np.array([1.0, -1.0])


def shared(n_bags, scale, rng):
    """An effect that the bags of a region share, (n_bags,)."""
    return np.repeat(rng.normal(0.0, scale, -(-n_bags // REGION)), REGION)[:n_bags]


def responses(axis, level, pool, rng, n_bags=120):
    """Pools of bags (n_bags, 2) and their responses."""
    sizes = rng.integers(20, 61, n_bags)
    centres = rng.normal(size=(n_bags, 2))
    slopes = SLOPES + np.zeros((n_bags, 2))
    if axis == "heterogeneity":
        slopes = slopes + rng.normal(0.0, level, (n_bags, 2))
    rows = [rng.normal(c, 1.0, (n, 2)) for c, n in zip(centres, sizes)]
    truth = [m @ s if pool == "mean" else (x @ s).sum() for x, m, s in zip(rows, centres, slopes)]
    y = np.array(truth)
    unit = y.std() / np.sqrt(2.0)
    if axis == "correlated rows":  # what the rows of a bag share says nothing of the response
        rows = [x + rng.normal(0.0, level, 2) for x in rows]
    if axis == "measurement error":
        rows = [x + rng.normal(0.0, level, x.shape) for x in rows]
    if axis == "correlated bags":
        y = y + unit * shared(n_bags, level, rng)
    pooled = np.array([x.mean(axis=0) if pool == "mean" else x.sum(axis=0) for x in rows])
    return pooled, y + 0.1 * unit * rng.normal(size=n_bags)


def distribution(axis, level, seed):
    """Relative errors by pool: on other bags, and as cross-validation by bags and by regions says."""
    out = {}
    for pool in ("mean", "sum"):
        rng = np.random.default_rng([seed, AXES.index(axis), int(100 * level), len(pool)])
        (x, y), (other, truth) = (responses(axis, level, pool, rng) for _ in range(2))
        ridge = RidgeCV(np.logspace(-4, 4, 17))
        out[f"{pool} pool"] = _relative(truth, ridge.fit(x, y).predict(other))
        regions = np.arange(len(y)) // REGION
        folds = KFold(5, shuffle=True, random_state=seed)
        out[f"{pool} pool, folds of bags"] = _relative(y, cross_val_predict(ridge, x, y, cv=folds))
        out[f"{pool} pool, folds of regions"] = _relative(
            y, cross_val_predict(ridge, x, y, cv=GroupKFold(5), groups=regions)
        )
    return out


def _relative(truth, predicted):
    return float(np.sqrt(np.mean((truth - predicted) ** 2)) / truth.std())


def proportions(axis, level, seed, n_bags=80, size=20):
    """Error of coefficients and coverage of their intervals, by default and with the remedy."""
    rng = np.random.default_rng([seed, AXES.index(axis), int(100 * level)])
    clean = rng.normal(size=(n_bags, size, 2)) + rng.normal(size=(n_bags, 1, 2))
    slopes = np.broadcast_to(SLOPES, (n_bags, 2))
    if axis == "heterogeneity":
        slopes = slopes + rng.normal(0.0, level, (n_bags, 2))
    logits = (clean @ slopes[:, :, None])[:, :, 0]
    if axis == "correlated rows":
        logits = logits + rng.normal(0.0, level, (n_bags, 1))
    if axis == "correlated bags":
        logits = logits + shared(n_bags, level, rng)[:, None]
    counts = (rng.random((n_bags, size)) < 1.0 / (1.0 + np.exp(-logits))).sum(axis=1)
    seen = clean + (rng.normal(0.0, level, clean.shape) if axis == "measurement error" else 0.0)
    bags = Bags(seen.reshape(-1, 2), np.arange(n_bags + 1) * size)
    out = _judged(CardinalityClassifier(penalty=0.1).fit(bags, counts), "default")
    if axis == "measurement error":  # the library has none: counts can't show it
        return out
    own = CardinalityClassifier(penalty=0.1, random_intercept=True, tol=1e-3).fit(bags, counts)
    return out | _judged(own, "remedy")


def _judged(model, name):
    low, high = (side[0, :2] for side in model.draws().interval(0.9))
    held = (low <= SLOPES) & (high >= SLOPES)
    off = np.abs(model.coef_[0] - SLOPES).mean()
    return {f"error, {name}": float(off), f"coverage, {name}": float(held.mean())}


def main():
    studies = {"distribution": distribution, "proportions": proportions}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(studies))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--axes", nargs="*", default=AXES)
    parser.add_argument("--out", type=Path, default=RESULTS, help="file to write to")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="take studies from such files")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(args.out.read_text()) if args.out.exists() else {}
    parts = [json.loads(part.read_text()) for part in args.merge]
    for name in {name for part in parts for name in part}:
        own = [part[name] for part in parts if name in part]
        assert len({(part["commit"], part["draws"]) for part in own}) == 1, "parts of one commit and of as many draws"
        cells = sorted((c for part in own for c in part["cells"]), key=lambda c: AXES.index(c["axis"]))
        kept[name] = own[0] | {"cells": cells, "cpu_seconds": round(sum(part["cpu_seconds"] for part in own), 1)}
        args.out.write_text(json.dumps(kept, indent=1) + "\n")
    for name in () if parts else args.studies or studies:
        begin, cells = time.process_time(), []
        for axis in args.axes:
            for level in LEVELS:
                found = [studies[name](axis, level, seed) for seed in range(args.draws)]
                cell = {"axis": axis, "level": level}
                for key in found[0]:
                    each = np.array([f[key] for f in found])
                    cell[key] = round(float(each.mean()), 4)
                    cell[f"{key}, standard error"] = round(float(each.std(ddof=1) / np.sqrt(len(each))), 4)
                cells.append(cell)
                print({k: v for k, v in cell.items() if "standard" not in k}, flush=True)
        kept[name] = {
            "command": f"python benchmarks/stability.py {name} --draws {args.draws}",
            "commit": run_record()["commit"],
            "draws": args.draws,
            "cpu_seconds": round(time.process_time() - begin, 1),
            "cells": cells,
        }
        args.out.parent.mkdir(exist_ok=True, parents=True)
        args.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
