"""The Gamma bags of Law et al. 2018: log-loss and coverage of the Gaussian process beside their published figures."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import t as student

from sumwise import synthetic
from sumwise.distribution import BagGaussianProcess

from .cells import Cell, Store, timed

__all__ = ["law", "law_cells"]


def law_cells(options: Any) -> Iterator[Cell]:
    """Bags of 1,000 rows with noise, and bags of 5 to 1,000 rows without; 1,000 to learn from, 1,000 to predict."""
    for seed in range(10) if options.full else range(1):
        for small in (None, 0.0, 0.25, 0.5):
            key = {"small": small, "seed": seed}
            yield Cell("law", key, lambda k=key: _judge(k))


def _judge(key: dict) -> dict:
    data = synthetic.gamma(2000, small=key["small"], random_state=2000 + key["seed"])
    (train, y), (test, truth) = ((data.bags[k], data.response[k]) for k in (slice(1000), slice(1000, 2000)))
    model = BagGaussianProcess(random_state=0)
    (mean, deviation), seconds = timed(lambda: model.fit(train, y).predict(test, return_std=True))
    low, high = model.predict_interval(test, 0.95)
    constant = student(len(y) - 1, y.mean(), y.std(ddof=1) * np.sqrt(1 + 1 / len(y)))
    return {
        "mse": float(np.mean((mean - truth) ** 2)),
        "nll": float(-student(len(y) - 1, mean, deviation).logpdf(truth).mean()),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "constant": float(-constant.logpdf(truth).mean()),
        "seconds": seconds,
    }


def published() -> dict[tuple[Any, str], tuple[float, float, float]]:
    """Mean squared error, log-loss and coverage by setting and method, of the data beside the repository."""
    from sumwise.datasets.store import folders

    found = defaultdict(list)
    path = next(p for folder in folders() if (p := folder / "dr" / "bdr_gamma_published.csv").exists())
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            small = {"s5=0": 0.0, "s5=25": 0.25, "s5=50": 0.5}.get(row["setting"])
            if row["experiment"] == "fixed_noise1" or (row["experiment"] == "variable_nonoise" and small is not None):
                values = [float(row[k] or "nan") for k in ("test_mse", "test_nll", "coverage95")]
                found[None if row["experiment"] == "fixed_noise1" else small, row["method"]].append(values)
    return {key: tuple(np.mean(values, axis=0)) for key, values in found.items()}


def law(store: Store, full: bool) -> list[dict]:
    """One row per setting: ours, the best published method by log-loss (without the known model), a constant."""
    theirs, rows = published(), []
    for small in (None, 0.0, 0.25, 0.5):
        each = [r for r in store.rows("law") if r["small"] == small]
        if not each:
            continue
        others = {m: v for (s, m), v in theirs.items() if s == small and m != "optimal_23" and v[1] == v[1]}
        best = min(others, key=lambda m, others=others: others[m][1])
        means = {k: float(np.mean([r[k] for r in each])) for k in ("mse", "nll", "coverage", "constant", "seconds")}
        rows.append(
            {
                "setting": "1,000 rows, noise" if small is None else f"{small:.0%} of bags with 5 rows",
                "nll": means["nll"], "nll error": float(np.std([r["nll"] for r in each], ddof=1) / np.sqrt(len(each))),
                "mse": means["mse"], "coverage of 95%": means["coverage"], "constant": means["constant"],
                "published method": best, "published nll": others[best][1], "published mse": others[best][0],
                "published coverage": others[best][2], "CPU seconds": means["seconds"], "draws": len(each),
            }
        )  # fmt: skip
    return rows
