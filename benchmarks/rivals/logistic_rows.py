"""Private logistic regression on rows: full-batch gradient descent with Gaussian noise (Bassily et al. 2014).

Run by benchmarks/private_tables.py: python logistic_rows.py IN.npz OUT.npz RHO SEED. Rows are indicators of levels and
an intercept, so a row's gradient has at most the norm of its features, sqrt(attributes + 1), and nothing is clipped.
All steps together are one Gaussian mechanism with IN's `mu` (Dong, Roth and Su 2022). The coefficients are means over
the second half of the steps. OUT has them for every setting of the number of steps and of the learning rate (in parts
of 4 / (attributes + 1), the inverse of the loss's largest curvature): choosing among these is left to the caller.
"""

import itertools
import sys
import time

import numpy as np

STEPS, RATES = (10, 30, 100, 300, 1000), (1.0, 3.0, 10.0, 30.0)


def descent(cells: np.ndarray, y: np.ndarray, size: int, steps: int, rate: float, mu: float, rng) -> np.ndarray:
    """Mean coefficients of the second half of noisy gradient descent; cells (n, D) index the indicators."""
    n, d = cells.shape
    scale = np.sqrt((d + 1) * steps) / mu
    weights, mean = np.zeros(size), np.zeros(size)
    for step in range(steps):
        residual = 1 / (1 + np.exp(-(weights[0] + weights[cells].sum(axis=1)))) - y
        gradient = np.bincount(cells.ravel(), np.repeat(residual, d), minlength=size)
        gradient[0] = residual.sum()
        weights -= rate * 4 / (d + 1) * (gradient + scale * rng.standard_normal(size)) / n
        if step >= steps // 2:
            mean += weights / (steps - steps // 2)
    return mean


def main() -> None:
    source, target, _, seed = sys.argv[1:]
    begin, task = time.process_time(), np.load(source)
    sizes, rng = task["sizes"][:-1], np.random.default_rng(int(seed))
    cells = task["codes"][:, :-1] + 1 + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    settings = list(itertools.product(STEPS, RATES))
    y, size = task["codes"][:, -1], 1 + int(sizes.sum())
    weights = [descent(cells, y, size, steps, rate, float(task["mu"]), rng) for steps, rate in settings]
    np.savez(target, weights=weights, settings=settings, cpu_s=time.process_time() - begin)


if __name__ == "__main__":
    main()
