"""Three counterparts of theory and figures for distribution regression.

    python benchmarks/distribution_theory.py                  # all
    python benchmarks/distribution_theory.py sizes --draws 3

fits: the entropy of rotated Gaussians as a function of the angle, predicted after 2^7 and 2^16 bags of 512 rows (Sun
2019, Figure 4.2): ridge regression on three embeddings. sizes: error of kernel ridge on mean
embeddings by number of training bags and rows in each, responses noisy, on test bags of 4,096 rows; beside the bag size
from which theory (Szabo et al. 2016) promises the rate of known distributions, n^a rows with a = b(c + 1) / (bc + 1):
between n and n^2, and n^1.5 for spectra that fall fast (large b) and smooth responses (c = 2). mixture: the similarity
of a mixture of N(0, 1) and N(1, 1) to N(m, 1) as m varies, in closed form and from bags of quantiles (Lemus Gonzalez,
Figure 2.2). Writes benchmarks/results/distribution_theory.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path

import numpy as np
from distribution.methods import Vectors, as_bags
from scipy.optimize import brentq
from scipy.stats import norm

from sumwise import Bags, synthetic
from sumwise.distribution import (
    BagKernelRidge,
    BagRidge,
    FourierEmbedding,
    GaussianKernel,
    MomentEmbedding,
    QuantileEmbedding,
    mixture_similarity,
)

RESULTS = Path(__file__).parent / "results" / "distribution_theory.json"
BLOCK, ROWS, BINS = 1024, 512, 10
N_BAGS, SIZES, LARGEST = (16, 64, 256), (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), 4096
NOISE = 0.3


def fits(_draws):
    """Mean true and predicted entropies of 512 test bags by their angle, with few and with many training bags."""
    base = synthetic.statistics("rotation", 1, random_state=0).base
    test = synthetic.statistics("rotation", 512, ROWS, random_state=1, base=base)
    first = synthetic.statistics("rotation", 2**7, ROWS, random_state=2, base=base)
    kinds = {"moments": MomentEmbedding(), "quantiles of slices": QuantileEmbedding(20, slices=10, random_state=0)}
    kinds["Fourier features"] = FourierEmbedding(64, random_state=0)
    learned = {name: kind.fit(first.bags) for name, kind in kinds.items()}
    vectors, response = {name: [kind.vectors(first.bags)] for name, kind in learned.items()}, [first.response]
    for k in range(2**7, 2**16, BLOCK):
        more = synthetic.statistics("rotation", min(BLOCK, 2**16 - k), ROWS, random_state=1000 + k, base=base)
        response.append(more.response)
        for name, kind in learned.items():
            vectors[name].append(kind.vectors(more.bags))
    y, rows = np.concatenate(response), []
    place = np.argsort(np.argsort(test.parameter)) * BINS // len(test.parameter)
    for name, kind in learned.items():
        whole, other = np.vstack(vectors[name]), as_bags(kind.vectors(test.bags))
        said = {n: BagRidge(Vectors()).fit(as_bags(whole[:n]), y[:n]).predict(other) for n in (2**7, 2**16)}
        for k in range(BINS):
            part = place == k
            rows.append(
                {
                    "method": name, "angle": float(test.parameter[part].mean()),
                    "true": float(test.response[part].mean()),
                    "few": float(said[2**7][part].mean()), "many": float(said[2**16][part].mean()),
                    "few_error": float(np.sqrt(np.mean((said[2**7] - test.response)[part] ** 2))),
                    "many_error": float(np.sqrt(np.mean((said[2**16] - test.response)[part] ** 2))),
                }
            )  # fmt: skip
    return rows


def made(n, size, rng):
    """Bags of normal rows with means and deviations of their own, and a smooth response to both."""
    mean, spread = rng.uniform(-1, 1, n), rng.uniform(0.5, 1.5, n)
    rows = mean[:, None] + spread[:, None] * rng.normal(size=(n, size))
    return Bags(rows.reshape(-1, 1), np.arange(n + 1) * size), np.sin(2 * mean) + spread**2


def sizes(draws):
    """Test error by bags and rows, the size with error at most half above that of very large bags, and n^1.5."""
    rows = []
    for n in N_BAGS:
        errors = {size: [] for size in (*SIZES, LARGEST)}
        for seed in range(draws):
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


def mixture(_draws):
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


SECTIONS = {"fits": fits, "sizes": sizes, "mixture": mixture}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--draws", type=int, default=10, help="of sizes")
    args = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in args.sections or SECTIONS:
        begin = time.process_time()
        found = SECTIONS[name](args.draws)
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        kept[name] = {
            "command": f"python benchmarks/distribution_theory.py {name}", "commit": commit.stdout.strip(),
            "draws": args.draws, "cpu_s": round(time.process_time() - begin, 1), "rows": found,
        }  # fmt: skip
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, kept[name]["cpu_s"], "CPU-s", flush=True)


if __name__ == "__main__":
    main()
