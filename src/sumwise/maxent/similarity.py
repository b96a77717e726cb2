"""How alike levels of an attribute are, from tables alone: their label rates, and what goes with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.maxent.sufficient_statistics import scores_of
from sumwise.table import Table
from sumwise.tables import Tables

__all__ = ["level_profiles", "margin_of", "weighted_clusters"]

WIDE = 100  # levels of another attribute beyond which it says too little of each to compare by


def margin_of(tables: Tables, attribute: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Counts (L,) and label sums (L, C) of an attribute's levels, from its smallest complete table.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.similarity import margin_of
    >>> margin_of(Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y"), "a")
    (array([2., 1.]), array([[1.],
           [1.]]))
    """
    whole = [t for t in tables if attribute in t.attributes and t.complete]
    if not whole:
        raise DataError(f"No table that holds {attribute!r} is complete.", hint="levels can't be compared.")
    labelled = [t for t in whole if t.n_classes is not None]
    counts, sums = _by_level(min(labelled or whole, key=lambda t: t.n_cells), attribute)
    return counts, sums


def _by_level(table: Table, attribute: str, beside: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Counts and label sums of a level, or of a level and those of another attribute, flattened."""
    cells, counts, sums = table.filled()
    at = dict(zip(table.attributes, np.unravel_index(cells, table.shape)))
    sizes = dict(zip(table.attributes, table.shape))
    place, size = at[attribute], sizes[attribute]
    if beside is not None:
        place, size = place * sizes[beside] + at[beside], size * sizes[beside]
    added = np.bincount(place, weights=counts, minlength=size)
    if sums is None:
        return added, None
    return added, np.stack([np.bincount(place, weights=s, minlength=size) for s in scores_of(sums, 1)], axis=1)


def level_profiles(tables: Tables, attribute: str, counts: np.ndarray, sums: Any, by: str) -> np.ndarray:
    """Points (L, D) of an attribute's levels whose squared distances, weighted by counts, are chi-squares.

    Each block of coordinates (the label, another attribute) is drawn towards the mean of all levels as far as chance
    explains it, so that what doesn't vary with the level has no say. With by="both" the other attributes together weigh
    as much as the label at most.
    """
    n = np.maximum(counts, 0.0)
    label = [] if sums is None or by == "features" else [_block(n, sums, two_sided=sums.shape[1] == 1)]
    features = [] if by == "label" else [_block(n, c) for c in _beside(tables, attribute)]
    if by == "label" and not label:
        raise DataError("No table has label sums, so levels can't be merged by the label.", hint="by='features'.")
    if label and features:
        told, rest = (sum(float(n @ (b**2).sum(axis=1)) for b in part) for part in (label, features))
        features = [b * np.sqrt(min(1.0, told / rest)) if rest > 0 else b for b in features]
    blocks = [*label, *features]
    if not blocks:
        raise DataError(
            f"No other attribute of up to {WIDE} levels shares a table with {attribute!r}.", hint="by='label'."
        )
    return np.concatenate(blocks, axis=1)


def _beside(tables: Tables, attribute: str) -> list[np.ndarray]:
    """Counts (L, J) of the levels with those of every other attribute that isn't too wide."""
    found: dict[str, np.ndarray] = {}
    for t in sorted((t for t in tables if attribute in t.attributes and t.complete), key=lambda t: t.n_cells):
        for b in t.attributes:
            if b != attribute and b not in found and tables.domain[b] <= WIDE:
                found[b] = _by_level(t, attribute, b)[0].reshape(tables.domain[attribute], -1)
    return list(found.values())


def _block(n: np.ndarray, counts: np.ndarray, two_sided: bool = False) -> np.ndarray:
    """Profiles (L, J) of levels, centred, scaled by the root of the mean profile, and drawn in by their chance."""
    total, used = max(float(n.sum()), 1e-300), n > 0
    mean = np.clip(counts.sum(axis=0) / total, 1e-12, None)
    scale = mean * (1 - mean) if two_sided else mean
    shares = counts / np.maximum(n, 1e-300)[:, None]
    away = np.where(used[:, None], shares - mean, 0.0) / np.sqrt(np.maximum(scale, 1e-12))
    freedom = counts.shape[1] if two_sided else max(counts.shape[1] - 1, 1)
    chi = float(n @ (away**2).sum(axis=1))
    spare = total - float(np.sum(n**2)) / total
    varies = max(chi - (int(used.sum()) - 1) * freedom, 0.0) / max(spare, 1e-300)  # beyond chance, per individual
    return away * (varies / np.maximum(varies + freedom / np.maximum(n, 1e-300), 1e-300))[:, None]


def weighted_clusters(points: np.ndarray, weights: np.ndarray, n_clusters: int, random_state: Any) -> np.ndarray:
    """Cluster (0, 1, ... without gaps) of each point, by k-means."""
    from sklearn.cluster import KMeans

    distinct = np.unique(points, axis=0)
    if len(distinct) <= n_clusters:
        return np.unique(points, axis=0, return_inverse=True)[1].ravel()
    seed = random_state if random_state is None or isinstance(random_state, int) else int(random_state.integers(2**31))
    model = KMeans(n_clusters, n_init=4, random_state=seed)  # pyright: ignore[reportArgumentType]
    return np.unique(model.fit_predict(points, sample_weight=np.maximum(weights, 1e-9)), return_inverse=True)[1]
