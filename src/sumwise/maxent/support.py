"""can_support: whether tables can carry the model, asked before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sumwise.display import facts_text, finding_html
from sumwise.maxent.penalties import noise_ratio, sampling_counts
from sumwise.maxent.sparse_terms import sparse_terms_of
from sumwise.maxent.sufficient_statistics import added, parts_of, sufficient_statistics
from sumwise.noise import Gaussian, Laplace
from sumwise.table import Table, title

THIN = 5.0  # positives in a cell of mean size, below which tables say little of pairs
PAIRS_COVERED = 0.9  # share of pairs of attributes that should share a table
NOISY_RATIO = 1.0  # noise over sampling variance of one-way label sums, from which main effects suffer


@dataclass(frozen=True, eq=False, repr=False)
class Support:
    """What tables can carry; made by `can_support`.

    Attributes
    ----------
    pairs : float
        Share of the pairs of attributes that share a table.
    missing_pairs : tuple
        The others.
    per_cell : float
        Individuals in the cell of an average individual's pair, at the median table.
    positives_per_cell : float
        The same, of the rarest class.
    noise_one_way, noise_pairs : float
        Variance of noise over that of sampling in the label sums, mean over individuals: 1 doubles the error.
    tables : list of dict
        The same per table, with its number of cells and the share of them that is empty.
    reasons : tuple of str
        What speaks against the tables; empty where nothing does.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import can_support
    >>> found = can_support(synthetic.xor(10_000, random_state=0).tables)
    >>> bool(found), found.pairs, found.reasons
    (True, 1.0, ())
    """

    pairs: float
    missing_pairs: tuple
    per_cell: float
    positives_per_cell: float
    noise_one_way: float
    noise_pairs: float
    tables: list
    reasons: tuple

    def __bool__(self) -> bool:
        return not self.reasons

    def to_frame(self) -> Any:
        """One line per table, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.tables)

    def describe(self) -> dict[str, Any]:
        """The facts without the list of tables."""
        names = ("pairs", "per_cell", "positives_per_cell", "noise_one_way", "noise_pairs", "reasons")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return facts_text("Support", self.describe())

    def _repr_html_(self) -> str:
        words = "\n".join(self.reasons) or "Nothing speaks against these tables."
        return finding_html(words, self.to_frame())


def can_support(tables: Any) -> Support:
    """Say before training whether tables can carry a classifier: coverage of pairs, counts per cell, noise.

    The answer is true where nothing speaks against the tables, and lists the reasons where something does. It says
    nothing of how well the label can be predicted.

    Parameters
    ----------
    tables : Tables, or list of Tables
        With label sums; several are parts of the data, whose counts are added up.

    See Also
    --------
    MaxEntClassifier : The model whose tables are judged.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent import can_support
    >>> people = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [0, 1, 1, 0]}
    >>> can_support(Tables.from_frame(people, ["a", "b"], label="y")).reasons
    ('Cells of pairs hold 0.5 of the rarest class where the average individual is; 5 or more are wanted.',)
    """
    parts = parts_of(tables, "can_support")
    listed = sparse_terms_of(parts)
    found = added([sufficient_statistics(part, listed=listed) for part in parts])
    lay, names = found.layout, parts[0].domain.attributes
    counts = sampling_counts(found) if found.noisy else np.maximum(found.data.counts, 0.0)
    less = noise_ratio(found).sums.mean(axis=0)
    rarest = float(found.shares.min())
    lines = []
    for t, term in enumerate(lay.terms):
        at = found.part(t)
        weight = counts[at] / max(float(counts[at].sum()), 1e-300)
        lines.append(
            {
                "table": title([names[a] for a in term]),
                "order": len(term),
                "cells": int(np.prod(lay.shape(term))),
                "empty": 1.0 - float(np.sum(found.data.counts[at] > 0)) / int(np.prod(lay.shape(term))),
                "per_cell": float(weight @ counts[at]),
                "noise": float(weight @ less[at]),
            }
        )
    larger = [line for line in lines if line["order"] > 1]
    single = [line for line in lines if line["order"] == 1]
    together = {pair for term in lay.terms for pair in combinations(term, 2)}
    every = list(combinations(range(len(names)), 2))
    missing = tuple((names[a], names[b]) for a, b in every if (a, b) not in together)
    facts = {
        "pairs": 1.0 - len(missing) / len(every) if every else 1.0,
        "missing_pairs": missing,
        "per_cell": float(np.median([line["per_cell"] for line in larger or lines])),
        "positives_per_cell": rarest * float(np.median([line["per_cell"] for line in larger or lines])),
        "noise_one_way": float(np.mean([line["noise"] for line in single])) if single else 0.0,
        "noise_pairs": float(np.mean([line["noise"] for line in larger])) if larger else 0.0,
    }
    return Support(**facts, tables=lines, reasons=(*_reasons(facts), *_cut([t for part in parts for t in part])))


def _cut(tables: Sequence[Table]) -> list[str]:
    """Tables of continuous noise with cells of exactly 0, which such noise doesn't give."""
    found = []
    for t in tables:
        values = t.counts if isinstance(t.noise, (Gaussian, Laplace)) and t.complete else np.ones(1)
        if (values == 0).any() and (values % 1 != 0).any():
            found.append((title(t.attributes), int((values == 0).sum()), values.size))
    if not found:
        return []
    name, zeros, size = found[0]
    return [
        f"{len(found)} of {len(tables)} noisy tables have cells of exactly 0, which noise does not produce: they were "
        f"clipped or withheld. First: {name}, {zeros} of {size} cells. Give counts as they were drawn, negative ones "
        "too, and NaN where a cell was withheld."
    ]


def _reasons(facts: dict[str, Any]) -> list[str]:
    out = []
    missing = facts["missing_pairs"]
    if facts["pairs"] < PAIRS_COVERED:
        out.append(
            f"{len(missing)} pairs of attributes share no table, {facts['pairs']:.0%} do: the model takes the others "
            f"for independent given the rest. First: {title(missing[0])}."
        )
    if facts["positives_per_cell"] < THIN:
        out.append(
            f"Cells of pairs hold {facts['positives_per_cell']:.2g} of the rarest class where the average individual "
            f"is; {THIN:g} or more are wanted."
        )
    if facts["noise_one_way"] > NOISY_RATIO:
        out.append(
            f"Noise is {facts['noise_one_way']:.3g} times the sampling variance of label sums by level: expect to lose "
            "part of the main effects. Fewer tables at the same budget would have less."
        )
    return out
