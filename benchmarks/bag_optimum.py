"""Methods with all defaults on bags whose best possible error is known, beside it.

    python benchmarks/bag_optimum.py            # all sections, some minutes
    python benchmarks/bag_optimum.py tasks      # ten seeds, 400 training and 400 test bags of 100 rows
    python benchmarks/bag_optimum.py rotation   # the entropy of rotated bags, 30 covariances, 128 training bags
    python benchmarks/bag_optimum.py gamma # the Gamma bags of Law et al. 2018, drawn anew, ten seeds

Tasks: the width of a uniform distribution whose place varies from bag to bag, the weight of a mixture of two normals,
the correlation of two normals (the posterior mean under the true model is the optimum), and the rotation task of
Sun 2019. Prints a table and writes benchmarks/results/bag_optimum.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from run_record import run_record
from scipy.stats import norm

from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess, BagKernelRidge, BagRidge, BagStacking

RESULTS = Path(__file__).parent / "results" / "bag_optimum.json"
N, ROWS, SEEDS = 400, 100, range(10)


def width(rng, n):
    """The range of the rows says all about the width w: p(range | w) is proportional to (w - range) / w^ROWS."""
    grid = np.linspace(1, 3, 4001)
    y = rng.uniform(1, 3, n)
    parts = [place + w * rng.random((ROWS, 1)) for place, w in zip(rng.normal(size=n), y)]

    def log_likelihood(x):
        return np.log(np.maximum(grid - np.ptp(x), 1e-300)) - ROWS * np.log(grid)

    return parts, y, grid, log_likelihood


def weight(rng, n):
    """Rows are N(2, 1/4) with probability y, else N(-1, 1)."""
    grid = np.linspace(0.0005, 0.9995, 1000)
    y = rng.random(n)
    parts = [np.where(rng.random(ROWS) < w, rng.normal(2, 0.5, ROWS), rng.normal(-1, 1, ROWS))[:, None] for w in y]

    def log_likelihood(x):
        one, other = norm.pdf(x[:, 0], 2, 0.5), norm.pdf(x[:, 0], -1, 1)
        return np.log(np.outer(grid, one) + np.outer(1 - grid, other)).sum(axis=1)

    return parts, y, grid, log_likelihood


def correlation(rng, n):
    """Two standard normal columns with correlation y."""
    grid = np.linspace(-0.949, 0.949, 2001)
    y = rng.uniform(-0.95, 0.95, n)
    parts = [rng.multivariate_normal([0, 0], [[1, r], [r, 1]], ROWS) for r in y]

    def log_likelihood(x):
        squares, products = (x**2).sum(), x[:, 0] @ x[:, 1]
        rest = 1 - grid**2
        return -0.5 * ROWS * np.log(rest) - 0.5 * (squares - 2 * grid * products) / rest

    return parts, y, grid, log_likelihood


def optimum(parts, grid, log_likelihood):
    """Posterior means under a uniform prior on the grid."""
    found = []
    for x in parts:
        log = log_likelihood(x)
        mass = np.exp(log - log.max())
        found.append(mass @ grid / mass.sum())
    return np.array(found)


def judged(model, train, test):
    begin = time.process_time()
    error = float(np.mean((model.fit(*train).predict(test[0]) - test[1]) ** 2))
    return error, time.process_time() - begin


def _over_optimum(each):
    """Means over seeds, and the standard error of the ratio of the two mean errors, seed by seed."""
    error, best, spent = np.mean(each, axis=0).tolist()
    gaps = np.array([e - error / best * b for e, b, _ in each]) / best
    told = {"mse": error, "best": best, "ratio": error / best, "cpu_s": spent, "seeds": len(each)}
    return {**told, "error": float(gaps.std(ddof=1) / np.sqrt(len(gaps)))}


def tasks():
    rows = []
    for make in (width, weight, correlation):
        found: dict[str, list] = {}
        for seed in SEEDS:
            parts, y, grid, log_likelihood = make(np.random.default_rng(seed), 2 * N)
            best = float(np.mean((optimum(parts[N:], grid, log_likelihood) - y[N:]) ** 2))
            bags = Bags.from_arrays(parts)
            train, test = (bags[:N], y[:N]), (bags[N:], y[N:])
            models = {"BagRidge": BagRidge(random_state=0), "BagKernelRidge": BagKernelRidge()}
            models["BagGaussianProcess"] = BagGaussianProcess()
            slice(0, 250)  # without a network
            models["stacking"] = BagStacking()
            for name, model in models.items():
                error, spent = judged(model, train, test)
                found.setdefault(name, []).append((error, best, spent))
        for name, each in found.items():
            rows.append({"task": make.__name__, "method": name, **_over_optimum(each)})
            print("  ".join(f"{v:.4g}" if isinstance(v, float) else f"{v:18}" for v in rows[-1].values()), flush=True)
    return rows


def rotation():
    """The entropy of the first of two rotated columns; a covariance is drawn anew for each seed."""
    errors = []
    for seed in range(30):
        base = synthetic.statistics("rotation", 1, random_state=seed).base
        draws = ((128, 1000 + seed), (512, 2000 + seed))
        train, test = (synthetic.statistics("rotation", n, base=base, random_state=s) for n, s in draws)
        errors.append(judged(BagKernelRidge(), (train.bags, train.response), (test.bags, test.response))[0])
    row = {"mean": float(np.mean(errors)), "median": float(np.median(errors)), "worst": float(np.max(errors))}
    row["above .0016"] = int(np.sum(np.array(errors) > 0.0016))
    print("rotation, 2^7 bags, BagKernelRidge():", row, flush=True)
    return {**row, "errors": errors}


def gamma():
    """Bags of 1,000 rows and five columns, 1,000 for training and 1,000 for the test."""
    return _compared(None, {"BagRidge": BagRidge, "BagKernelRidge": BagKernelRidge})


def _compared(small, kinds):
    rows = []
    for name, kind in kinds.items():
        each = []
        for seed in SEEDS:
            n = 2500 if small is None else 2000  # the papers keep 500 bags of fixed size for validation
            data = synthetic.gamma(n, small=small, random_state=seed)
            train, test = ((data.bags[k], data.response[k]) for k in (slice(1000), slice(n - 1000, n)))
            best = float(np.mean((data.bayes() - data.response)[n - 1000 :] ** 2))
            error, spent = judged(kind(random_state=seed), train, test)
            each.append((error, best, spent))
        rows.append({"bags of 5": small, "method": name, **_over_optimum(each)})
        print(rows[-1], flush=True)
    return rows


SECTIONS = {f.__name__: f for f in (tasks, rotation, gamma)}


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    options = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.sections or SECTIONS:
        found[name] = SECTIONS[name]()
        found["commit"] = run_record()["commit"]
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
