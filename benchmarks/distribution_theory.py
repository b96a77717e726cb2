"""Counterparts of theory and figures for distribution regression.

    python benchmarks/distribution_theory.py                  # all
    python benchmarks/distribution_theory.py sizes --draws 3

fits: four statistics of distributions, predicted after 2^7 and 2^16 bags of 512 rows (Sun 2019, Figure 4.2):
ridge regression on three embeddings, and a network (--device cuda). Tenths of the test bags are by the
parameter of the task (angle, correlation, weight of the rank), and of the random covariance by the response.
sizes: error of kernel ridge on mean embeddings by number of training bags and rows in each, responses noisy,
on test bags of 4,096 rows; beside the bag size from which theory (Szabo et al. 2016) promises the rate of
known distributions, n^a rows with a = b(c + 1) / (bc + 1): between n and n^2, and n^1.5 for spectra that fall
fast (large b) and smooth responses (c = 2). mixture: the similarity of a mixture of N(0, 1) and N(1, 1) to
N(m, 1) as m varies, in closed form and from bags of quantiles (Lemus Gonzalez, Figure 2.2). similarities: how
the four kernels see N(m, s^2) beside N(0, 1) (its Figures 2.1, 4.2, 4.5 and 4.6). signatures: its Figure 4.4.
dimensions, data: lengths of embeddings and sizes of data (Sun 2019, Tables 4.2 and 4.3).
Writes benchmarks/results/distribution_theory.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from distribution.methods import Vectors, as_bags, embedding
from distribution.similarity import MEANS, SPREADS, similarity
from run_record import run_record
from scipy.optimize import brentq
from scipy.stats import norm

from sumwise import Bags, datasets, synthetic
from sumwise.distribution import (
    BagKernelRidge,
    BagRidge,
    DeepSets,
    GaussianKernel,
    earth_movers_distance,
    mixture_similarity,
)

RESULTS = Path(__file__).parent / "results" / "distribution_theory.json"
BLOCK, ROWS, BINS = 1024, 512, 10
TASKS, METHODS = ("rotation", "correlation", "rank1", "random"), ("DeepSets", "Fisher", "Fourier", "BOW", "moments")
N_BAGS, SIZES, LARGEST = (16, 64, 256), (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), 4096
NOISE = 0.3


def fits(given):
    """Means of true and predicted responses of 512 test bags by tenths, with few and with many training bags."""
    rows = [r for r in given.before if r.get("task") not in (None, *given.tasks)]
    for task in given.tasks:
        base = None if task == "random" else synthetic.statistics(task, 1, random_state=0).base
        options = {"base": base, "dtype": "float32"}
        test = synthetic.statistics(task, 512, ROWS, random_state=1, **options)
        parts = [synthetic.statistics(task, 2**7, ROWS, random_state=2, **options)]
        for k in range(2**7, given.most, BLOCK):
            n = min(BLOCK, given.most - k)
            parts.append(synthetic.statistics(task, n, ROWS, random_state=1000 + k, **options))
        y = np.concatenate([part.response for part in parts])
        along = test.response if test.parameter is None else np.asarray(test.parameter)
        place = np.argsort(np.argsort(along)) * BINS // len(along)
        for name in given.methods:
            begin = time.process_time()
            said = (_said_network if name == "DeepSets" else partial(_said_fixed, name))(parts, y, test, given)
            spent = {"seconds": time.process_time() - begin, "device": given.device if name == "DeepSets" else "cpu"}
            few, many = (((said[n] - test.response) ** 2) for n in (2**7, given.most))
            for k in range(BINS):
                part = place == k
                means = (float(each[part].mean()) for each in (along, test.response, said[2**7], said[given.most]))
                errors = {
                    "few_error": float(np.sqrt(few[part].mean())),
                    "many_error": float(np.sqrt(many[part].mean())),
                }
                row = {"task": task, "method": name, **dict(zip(("along", "true", "few", "many"), means)), **errors}
                whole = {"few_mse": float(few.mean()), "many_mse": float(many.mean()), "bags": given.most}
                rows.append(row | whole | spent)
            print(
                {k: v for k, v in rows[-1].items() if k in ("task", "method", "few_mse", "many_mse", "seconds")},
                flush=True,
            )
            given.write(rows)
    return rows


def _said_fixed(name, parts, y, test, given):
    """Predictions of ridge regression on an embedding that was learned on the first 128 bags."""
    kind = embedding(name).fit(parts[0].bags)
    other, vectors = as_bags(kind.vectors(test.bags)), np.vstack([kind.vectors(part.bags) for part in parts])
    sizes = (2**7, given.most)
    return {n: BagRidge(Vectors()).fit(as_bags(vectors[:n]), y[:n]).predict(other) for n in sizes}


def _said_network(parts, y, test, given):
    """Predictions of the thesis's network."""
    values = np.vstack([part.bags.values for part in parts])
    bags, found = Bags(values, np.arange(len(y) + 1) * ROWS), {}
    for n in (2**7, given.most):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[n] = DeepSets.preset("statistics", device=given.device).fit(bags[:n], y[:n]).predict(test.bags)
    return found


def made(n, size, rng):
    """Bags of normal rows with means and deviations of their own, and a smooth response to both."""
    mean, spread = rng.uniform(-1, 1, n), rng.uniform(0.5, 1.5, n)
    rows = mean[:, None] + spread[:, None] * rng.normal(size=(n, size))
    return Bags(rows.reshape(-1, 1), np.arange(n + 1) * size), np.sin(2 * mean) + spread**2


def sizes(given):
    """Test error by bags and rows, the size with error at most half above that of very large bags, and n^1.5."""
    rows = []
    for n in N_BAGS:
        errors = {size: [] for size in (*SIZES, LARGEST)}
        for seed in range(given.draws):
            for size, each in errors.items():
                rng = np.random.default_rng([seed, n, size])
                (bags, y), (other, truth) = made(n, size, rng), made(200, LARGEST, rng)
                y = y + NOISE * rng.normal(size=n)
                kernel = GaussianKernel(level="gaussian", n_frequencies=64, random_state=0)
                said = BagKernelRidge(kernel, random_state=0).fit(bags, y).predict(other)
                each.append(float(np.mean((said - truth) ** 2)))
        means = {size: float(np.mean(each)) for size, each in errors.items()}
        enough = min(size for size, mean in means.items() if mean <= 1.5 * means[LARGEST])
        rows.append(
            {"bags": n, **{f"error {s}": m for s, m in means.items()}, "measured": enough, "theory": int(n**1.5)}
        )
        print(rows[-1], flush=True)
    return rows


def mixture(_given):
    """Similarity of the mixture to normal distributions: closed form, and a kernel on bags of quantiles."""
    grid, rows = (np.arange(400) + 0.5) / 400, []
    two = ([0.5, 0.5], [0.0, 1.0], [1.0, 1.0])
    quantiles = [brentq(lambda x, q=q: 0.5 * norm.cdf(x) + 0.5 * norm.cdf(x - 1.0) - q, -9, 9) for q in grid]
    for m in np.arange(-2.0, 3.01, 0.5):
        bags = Bags.from_arrays([np.array(quantiles), m + norm.ppf(grid)])
        kernel = GaussianKernel(method="exact", random_state=0).fit(bags)
        width = float(kernel.width_ * kernel.columns_.scale[0])
        found = kernel.set_params(width=1.0 / width).fit(bags)  # a width of one, as the figure has
        one = float(found.width_ * found.columns_.scale[0])
        rows.append(
            {
                "mean": float(m), "closed": mixture_similarity(two, ([1.0], [m], [1.0]), one),
                "bags": float(found.gram(bags)[0, 1]), "width": one,
            }
        )  # fmt: skip
    return rows


def similarities(_given):
    """Similarity, or distance, of N(m, s^2) to N(0, 1) along m at s = 1 and along s at m = 0, by four kernels."""
    rows = []
    for name, surface in similarity()["surfaces"].items():
        at_one, at_zero = int(np.argmin(np.abs(SPREADS - 1))), int(np.argmin(np.abs(MEANS)))
        for along, places, values in (("mean", MEANS, surface[at_one]), ("spread", SPREADS, surface[:, at_zero])):
            rows += [
                {"measure": name, "along": along, "at": float(x), "value": float(v)} for x, v in zip(places, values)
            ]
    return rows


def signatures(_given):
    """Earth mover's and 1-Wasserstein distance of the two signatures of Lemus Gonzalez' Figure 4.4."""
    places, first, second = [1, 2, 3], np.array([1, 2, 1]), np.array([1, 1, 1])
    moved = earth_movers_distance(places, first, places, second)
    shares = earth_movers_distance(places, first / first.sum(), places, second / second.sum())
    return [{"distance": "earth mover's", "value": moved}, {"distance": "1-Wasserstein", "value": shares}]


def dimensions(_given):
    """Lengths of embedding vectors by columns of the rows (Sun 2019, Table 4.2), as the methods of Figure 4.3 have."""
    rows = []
    for name in ("Fourier", "BOW", "Fisher", "moments", "quantiles"):
        row = {"embedding": name}
        for columns in (2, 3, 32):
            made = Bags(np.random.default_rng(0).normal(size=(2000, columns)), np.arange(5) * 500)
            row[str(columns)] = int(embedding(name).fit(made).vectors(made).shape[1])
        rows.append(row)
    width = DeepSets.preset("statistics").network["embedding"]
    rows.append({"embedding": "DeepSets"} | dict.fromkeys(("2", "3", "32"), width))
    return rows


def data(_given):
    """Bags, rows and columns of the data at hand (Sun 2019, Table 4.3)."""
    clouds = datasets.modelnet10()
    named = {
        "statistics": (f"{2**7} to {2**16}", ROWS, "2 or 32"),
        "ModelNet10": (len(clouds.bags), clouds.bags.sizes.max(), clouds.bags.values.shape[1]),
    }
    return [dict(zip(("data", "bags", "rows", "columns"), map(str, (k, *v)))) for k, v in named.items()]


SECTIONS = {
    "fits": fits, "sizes": sizes, "mixture": mixture, "similarities": similarities, "signatures": signatures,
    "dimensions": dimensions, "data": data,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--draws", type=int, default=10, help="of sizes")
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS, help="of fits")
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS, help="of fits")
    parser.add_argument("--most", type=int, default=2**16, help="bags of fits")
    parser.add_argument("--device", default="cpu", help="of the network")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results in place of the committed one")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="files with fits of other machines")
    args = parser.parse_args()
    kept = json.loads(args.results.read_text()) if args.results.exists() else {}
    if args.merge:
        merge(kept, args.merge)
        return
    for name in args.sections or SECTIONS:
        begin = time.process_time()
        args.before = kept.get(name, {}).get("rows", [])

        def write(found, name=name, begin=begin):
            kept[name] = {
                **run_record(),
                **({"draws": {"sizes": args.draws, "fits": 1}[name]} if name in ("sizes", "fits") else {}),
                "cpu_s": round(time.process_time() - begin, 1), "rows": found,
            }  # fmt: skip
            args.results.write_text(json.dumps(kept, indent=1) + "\n")

        args.write = write
        write(SECTIONS[name](args))
        print(name, kept[name]["cpu_s"], "CPU-s", flush=True)


def errors_of(rows):
    """Errors by task and method, from the rows of tenths."""
    names = ("task", "method", "few_mse", "many_mse", "bags", "seconds", "device")
    return list({(r["task"], r["method"]): {n: r[n] for n in names} for r in rows}.values())


def merge(kept, paths):
    """Add the fits of other machines, task by task and method by method."""
    rows = {(r["task"], r["method"], k): r for k, r in enumerate(kept["fits"]["rows"]) if "task" in r}
    found = [r for path in paths for r in json.loads(path.read_text())["fits"]["rows"] if "task" in r]
    new = {(r["task"], r["method"]) for r in found}
    left = [r for (task, method, _), r in rows.items() if (task, method) not in new]
    order = sorted([*left, *found], key=lambda r: (TASKS.index(r["task"]), METHODS.index(r["method"]), r["along"]))
    kept["fits"] |= {"rows": order, "errors": errors_of(order)}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
