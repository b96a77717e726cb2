"""Counts of an attribute's levels from noisy ones: empirical Bayes against the nearest counts that add up to n.

Usage: python benchmarks/level_counts.py writes benchmarks/results/level_counts.json, in about 20 CPU seconds. Of 30,000
people, each has one of S levels, whose shares have one of nine shapes; counts have normal noise. Figures are total
variations from the counts without noise, of `level_counts` over that of the projection (clipped at 0, everything moved
by one amount so that they add up), each a mean over 40 draws.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise.maxent.kernels.level_counts import level_counts

RESULTS = Path(__file__).parent / "results" / "level_counts.json"
N, DRAWS, SEED = 30_000, 40, 5
LEVELS, SCALES = (10, 20, 40, 100), (30.0, 100.0, 300.0)


def shapes(rng: np.random.Generator) -> dict[str, Callable[[int], np.ndarray]]:
    """Shares of levels, up to a factor, by name."""
    return {
        "even": np.ones,
        "one over rank": lambda s: 1 / np.arange(1.0, s + 1),
        "one over rank squared": lambda s: 1 / np.arange(1.0, s + 1) ** 2,
        "Dirichlet 0.5": lambda s: rng.dirichlet(np.full(s, 0.5)),
        "Dirichlet 2": lambda s: rng.dirichlet(np.full(s, 2.0)),
        "lognormal, sd 1": lambda s: np.exp(rng.normal(0, 1, s)),
        "lognormal, sd 2": lambda s: np.exp(rng.normal(0, 2, s)),
        "half of them empty": lambda s: np.r_[np.ones(s // 2), np.full(s - s // 2, 1e-6)],
        "one has 90%": lambda s: np.r_[9.0 * (s - 1), np.ones(s - 1)],
    }


def projected(noisy: np.ndarray) -> np.ndarray:
    """The nearest counts, none below 0, that add up to N."""
    falling = np.sort(noisy)[::-1]
    over = (np.cumsum(falling) - N) / np.arange(1, len(noisy) + 1)
    return np.maximum(noisy - over[np.nonzero(falling > over)[0][-1]], 0.0)


def main() -> None:
    rng, rows = np.random.default_rng(SEED), []
    for levels in LEVELS:
        for scale in SCALES:
            row = {"levels": levels, "sd of noise": scale}
            for name, shape in shapes(rng).items():
                found = np.zeros(2)
                for _ in range(DRAWS):
                    shares = shape(levels)
                    true = rng.multinomial(N, shares / shares.sum()).astype(float)
                    noisy = true + rng.normal(0, scale, levels)
                    means, _ = level_counts(noisy, np.full(levels, scale**2), N)
                    found += [np.abs(x / x.sum() - true / N).sum() / 2 for x in (means, projected(noisy))]
                row[name] = round(float(found[0] / found[1]), 3)
            rows.append(row)
            print(row, flush=True)
    many = [v for r in rows if r["levels"] >= 20 for k, v in r.items() if k not in ("levels", "sd of noise")]
    facts = {"mean, 20 levels or more": round(float(np.mean(many)), 3), "largest, 20 levels or more": max(many)}
    RESULTS.write_text(json.dumps(run_record(seed=SEED, draws=DRAWS) | facts | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
