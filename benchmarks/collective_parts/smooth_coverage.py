"""How often true counts lie within two standard deviations of smoothed ones, and how near these are."""

from __future__ import annotations

import numpy as np
from collective_parts.birds import SEED, timed

from sumwise import synthetic
from sumwise.collective import smooth_counts

__all__ = ["smooth_coverage"]

CASES = {"fast": (5, (2, 1, 1, 1), 4000), "decided": (6, (2, 2, 2, 2), 3000), "slow": (5, (0.5, 1, 1, 1), 1000)}


def smooth_coverage(quick):
    """Weeks with changing effort, two without observers, one count in ten missing."""
    for name, (side, weights, n) in CASES.items():
        rows = []
        for seed in range(SEED, SEED + (2 if quick else 10)):
            season = synthetic.birds(side, 15, n, weights=weights, random_state=seed)
            true = np.array([season.nodes[f"t{t}"] for t in range(3, 15)])
            rng = np.random.default_rng(seed)
            y = rng.poisson(rng.uniform(0.5, 1.5, (12, 1)) * true).astype(float)
            y[4] = y[9] = np.nan
            y[rng.random(y.shape) < 0.1] = np.nan
            y[0, np.isnan(y).all(axis=0)] = 0.0  # no cell may be missing throughout
            found, seconds = timed(smooth_counts, y, season.positions, total=n)
            filled = np.where(np.isnan(y), np.nanmean(y, axis=0), y)
            plain = filled / filled.sum(axis=1, keepdims=True) * n
            inside = np.abs(found.counts - true) < 2 * found.sd
            gaps = np.isnan(y)
            errors = [np.sqrt(np.mean((c - true) ** 2)) for c in (found.counts, plain)]
            busy = true >= 0.01 * n
            held = [inside[part].mean() for part in (..., ~gaps, gaps, busy)]
            rows.append([*held, *errors, seconds])
        middle = np.mean(rows, axis=0)
        names = ("within 2 sd", "where seen", "in gaps", "busy cells", "rmse", "rmse of rescaling", "cpu s")
        yield {"birds": name, **dict(zip(names, middle.tolist())), "least within 2 sd": float(np.min(rows, axis=0)[0])}
