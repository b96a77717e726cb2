"""Unlabelled individuals in place of the model of x: a logistic regression whose labels are told by tables alone."""

from __future__ import annotations

import numpy as np

from sumwise.errors import DataError
from sumwise.maxent.kernels.table_logistic import cell_design, fit_sums
from sumwise.maxent.noisy_label_fit import weighed_theta
from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["from_rows"]


def from_rows(found: Sufficient, codes: np.ndarray, plain: np.ndarray) -> tuple:
    """Theta (C, P), offsets (K,), loss, iterations and success, from rows of level codes (m, D) without labels.

    plain (C, P): penalties of theta, of cells without noise. Label sums are told per count: a cell's sum is scaled by
    how many of the rows are in it over how many were counted, so that what the rows have too many of by chance is not
    taken for fewer labels. Where sums have noise, each weighs by it.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.rows import from_rows
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> example = synthetic.xor(2000, random_state=0)
    >>> found = sufficient(example.tables)
    >>> theta, *_ = from_rows(found, example.frame()[["x1", "x2", "x3"]].to_numpy(), penalties_of(found, 1.0, 1.0).sums)
    >>> theta.shape
    (1, 18)
    """
    known = (codes >= 0).all(axis=1)
    if not known.any():
        raise DataError("No row has levels that all tables have.", hint="give rows of the same population.")
    codes, lay = codes[known], found.layout
    design = cell_design(codes, lay.terms, lay.term_starts, lay.sizes, lay.listed)
    here = np.asarray(design.sum(axis=0)).ravel() * (found.n / len(codes))
    few = 1.0 + found.n / len(codes)  # a few rows stand for many: their error is that of noise n / m times the sampling
    if found.noisy:
        return weighed_theta(found, codes, few * plain)
    ratio = np.where(found.data.counts > 0, here / np.maximum(found.data.counts, 1e-9), 0.0)
    sums = found.data.sums * ratio
    seen = found.seen.sums * found.seen.counts
    held = np.where(seen > 0, few * plain, 1e9)  # a cell without a label sum says nothing
    return fit_sums(design, sums * seen, found.shares, found.n, np.maximum(held, 1e-9))
