"""Class shares at every level of every attribute: as counted in tables, and as a model has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.noise import Exact
from sumwise.table import Table
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


class _Margin(NamedTuple):
    """One table's counts (L,) and class sums (L, K) of an attribute, the variances (L,) of their noise, the covariance
    of the two, and the table's weight among others."""

    counts: np.ndarray
    sums: np.ndarray
    count_noise: np.ndarray
    sum_noise: np.ndarray
    covariance: np.ndarray
    weight: float


def class_margin(tables: Tables, attribute: str) -> tuple[np.ndarray, np.ndarray]:
    """Counts (L,) and class sums (L, K) of one attribute: of an exact table, or the mean of all noisy ones that hold it
    with label sums, weighted by their precision.

    Parameters
    ----------
    tables : Tables
        With label sums.
    attribute : str
        One of its attributes.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.report.level_shares import class_margin
    >>> rows = {"a": [0, 1, 1], "b": [0, 0, 1], "y": [0, 1, 1]}
    >>> class_margin(Tables.from_frame(rows, ["a", "b"], label="y"), "a")[1]
    array([[1., 0.],
           [0., 2.]])
    """
    parts = _margins(tables, attribute)
    return sum(p.weight * p.counts for p in parts), sum(p.weight * p.sums for p in parts)  # type: ignore[return-value]


def _margins(tables: Tables, attribute: str) -> list[_Margin]:
    """Margins of the tables that hold an attribute with label sums: of one where that is exact, or none is complete."""
    held = [t for t in tables if attribute in t.attributes and t.label_sums is not None]
    complete = [t for t in held if t.complete]
    exact = [t for t in complete if isinstance(t.noise, Exact)]
    chosen = exact[:1] or complete or held[:1]
    parts = [_margin(t, attribute) for t in chosen]
    if len(parts) == 1:
        return parts
    precision = np.array([1.0 / max(float(p.count_noise.mean()), 1e-300) for p in parts])
    return [p._replace(weight=float(w)) for p, w in zip(parts, precision / precision.sum())]


def _margin(table: Table, attribute: str) -> _Margin:
    place = table.attributes.index(attribute)
    away = tuple(i for i in range(len(table.attributes)) if i != place)
    sums = np.asarray(table.label_sums, dtype=float)
    if sums.ndim == table.counts.ndim:
        sums = np.stack([table.counts - sums, sums], axis=-1)
    of_counts, of_sums = (
        np.sum(np.broadcast_to(n.variance(np.maximum(np.nan_to_num(table.counts), 0.0)), table.shape), axis=away)
        for n in (table.noise, table.noise_of_sums)
    )
    shared = of_sums if table.by_class else np.zeros_like(of_sums)
    return _Margin(np.nansum(table.counts, axis=away), np.nansum(sums, axis=away), of_counts, of_sums, shared, 1.0)


def class_share_errors(tables: Tables, attribute: str) -> np.ndarray:
    """Standard errors (L, K) of the class shares that `class_margin` implies: sampling, and the noise of the tables.

    Parameters
    ----------
    tables : Tables
        With label sums, exact or noisy.
    attribute : str
        One of its attributes.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.report.level_shares import class_share_errors
    >>> from sumwise.noise import Gaussian
    >>> table = Table("a", [400.0, 100.0], [200.0, 50.0], noise=Gaussian(20.0))
    >>> class_share_errors(Tables([table], Domain({"a": 2}), n=500), "a")[:, 1].round(3)
    array([0.061, 0.229])
    """
    parts = _margins(tables, attribute)
    counts, sums = class_margin(tables, attribute)
    of_counts, of_sums, shared = (
        sum(p.weight**2 * getattr(p, name) for p in parts)[:, None]  # type: ignore[index]
        for name in ("count_noise", "sum_noise", "covariance")
    )
    size = np.maximum(counts, 1.0)[:, None]
    share = np.clip(sums / size, 0.0, 1.0)
    both = of_sums + share**2 * of_counts - 2 * share * shared
    return np.sqrt(np.maximum(both, 0.0) / size**2 + share * (1 - share) / size)


def level_shares(model: Any, tables: Tables, level: float = 0.95, random_state: Any = 0) -> pd.DataFrame:
    """Counts and class shares at every level of every attribute, and the model's where it has expected tables.

    Parameters
    ----------
    model : fitted classifier on tables
    tables : Tables
        What it was fitted to.
    level : float in (0, 1), default 0.95
        Level of the intervals of the model's expected tables.
    random_state : int, Generator or None, default 0

    Returns
    -------
    pandas.DataFrame
        attribute, level, class, count, share, and perhaps "count by model", "share by model".

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.report.level_shares import level_shares
    >>> from sumwise.maxent import NaiveBayesTables
    >>> rows = {"a": [0, 1, 1, 0], "b": [0, 0, 1, 1], "y": [0, 1, 1, 0]}
    >>> tables = Tables.from_frame(rows, ["a", "b"], label="y")
    >>> level_shares(NaiveBayesTables().fit(tables), tables)["share"].tolist()[:4]
    [1.0, 0.0, 0.0, 1.0]
    """
    import pandas as pd

    names = [str(c) for c in model.classes_]
    held = {a for t in tables if t.label_sums is not None for a in t.attributes}
    asked = [a for a in model.domain_.attributes if a in held]
    by_model = (
        dict(zip(asked, model.expected_tables(asked, level, random_state=random_state)))
        if hasattr(model, "expected_tables")
        else {}
    )
    parts = []
    for attribute in asked:
        counts, sums = class_margin(tables, attribute)
        levels = [str(v) for v in model.domain_.levels(attribute)]
        frame = pd.DataFrame(
            {"attribute": attribute, "level": np.repeat(levels, len(names)), "class": names * len(levels)}
        )
        frame["count"] = np.repeat(counts, len(names))
        sizes = np.maximum(counts, 1e-300)[:, None]
        frame["share"] = np.where(counts[:, None] > 0, sums / sizes, np.nan).ravel()
        if attribute in by_model:
            expected = by_model[attribute].values
            frame["count by model"] = np.repeat(expected.sum(axis=1), len(names))
            frame["share by model"] = (expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)).ravel()
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)
