"""What share of individuals is counted, by time or by place, where counts of a closed population identify it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError

LARGEST_ERROR = 0.5  # relative standard error of a place's detection above which it counts as not identified


def detection_by_time(counts: np.ndarray, variance: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Detection (S, T) relative to the time with the highest, and its standard errors, from totals of closed seasons.

    `counts` (S, T, L) are in individuals at full detection, `variance` is theirs, `n` (S,) the individuals. Times with
    gaps are compared over the places that were seen, by the composition of the nearest times without gaps.
    """
    seen = ~np.isnan(counts)
    complete: Any = seen.all(axis=2)
    if not complete.any(axis=1).all():
        raise DataError(
            "Detection by time needs a time at which every place was counted; there is none.",
            hint="give the effort: fit(..., effort=...).",
        )
    expected = np.empty(counts.shape[:2])
    for s, given in enumerate(counts):
        whole = np.flatnonzero(complete[s])
        for t in range(len(given)):
            around = [whole[whole <= t][-1:], whole[whole >= t][:1]]
            share = np.mean([given[k] / given[k].sum() for k in np.unique(np.concatenate(around))], axis=0)
            expected[s, t] = n[s] * share[seen[s, t]].sum()
    totals = np.nansum(counts, axis=2)
    empty = ~seen.any(axis=2)  # nothing was looked for: any detection will do
    raw = np.where(empty | (totals <= 0), 1.0, totals / np.maximum(expected, 1e-300))
    spread = np.sqrt(np.nansum(np.where(seen, variance, 0.0), axis=2)) / np.maximum(expected, 1e-300)
    return raw, np.where(empty, np.nan, spread)


def detection_by_place(counts: np.ndarray, variance: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Detection (L,) and its standard errors: the one under which individuals of a closed population add up.

    With weights ``w = 1 / detection``, ``counts[t] @ w = n`` at every time: a linear regression whose regressors have
    noise of known variance, which is taken out of their second moments.
    """
    rows = counts.reshape(-1, counts.shape[2])
    wanted = np.repeat(n, counts.shape[1])
    kept = ~np.isnan(rows).any(axis=1)
    y, wanted, noise = rows[kept], wanted[kept], variance.reshape(rows.shape)[kept]
    n_places = y.shape[1]
    if len(y) <= n_places:
        raise DataError(
            f"Detection by place is not identified: {len(y)} times without gaps for {n_places} places.",
            hint="more times (or seasons) than places are needed; else give the effort.",
        )
    moment = y.T @ y - np.diag(noise.sum(axis=0))
    if np.linalg.eigvalsh(moment).min() <= 0:
        raise DataError(
            "Detection by place is not identified: the counts vary over time no more than their noise does.",
            hint="give the effort: fit(..., effort=...).",
        )
    inverse = np.linalg.inv(moment)
    weights = inverse @ (y.T @ wanted)
    # The scores y_t (y_t w - n) + noise w of the times are independent; their spread is that of the estimate.
    scores = y * (y @ weights - wanted)[:, None] - noise * weights
    errors = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    poor = (weights <= 0) | (errors > LARGEST_ERROR * np.abs(weights))
    if poor.any():
        raise DataError(
            f"Detection by place is not identified for {int(poor.sum())} of {n_places} places (first: number "
            f"{int(np.argmax(poor))}, relative standard error {errors[poor][0] / abs(weights[poor][0]):.2g}).",
            hint="give the effort, merge such places, or count at more times.",
        )
    return 1.0 / weights, errors / weights**2
