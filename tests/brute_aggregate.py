"""Plain counts that everything in aggregate is checked against: one pandas groupby per table."""

import numpy as np
import pandas as pd


def count_by_loop(codes, sizes, subsets, label=None, weights=None):
    """Counts and label sums by a Python loop over the rows; codes (d, n)."""
    n = codes.shape[1]
    label = np.zeros(n) if label is None else label
    weights = np.ones(n) if weights is None else weights
    tables = []
    for subset in subsets:
        counts, sums = (np.zeros(tuple(sizes[a] for a in subset)) for _ in range(2))
        for i in range(n):
            cell = tuple(codes[a, i] for a in subset)
            counts[cell] += weights[i]
            sums[cell] += weights[i] * label[i]
        tables.append((counts, sums))
    return tables


def count_by_pandas(frame: pd.DataFrame, attributes, levels, label=None, weight=None):
    """Counts and label sums of one table over columns that hold levels."""
    work = pd.DataFrame({str(i): frame[a].to_numpy() for i, a in enumerate(attributes)})
    work["w"] = 1.0 if weight is None else frame[weight].to_numpy(dtype=float)
    work["s"] = work["w"] * (0.0 if label is None else frame[label].to_numpy(dtype=float))
    keys = [str(i) for i in range(len(attributes))]
    grouped = work.groupby(keys, sort=False)[["w", "s"]].sum()
    shape = tuple(len(levels[a]) for a in attributes)
    counts, sums = np.zeros(shape), np.zeros(shape)
    for found, (w, s) in zip(grouped.index, grouped.to_numpy()):
        key = found if isinstance(found, tuple) else (found,)
        cell = tuple(list(levels[a]).index(k) for a, k in zip(attributes, key))
        counts[cell], sums[cell] = w, s
    return counts, sums
