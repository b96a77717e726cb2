"""Add, merge or subtract the tables of several parts, with their noise: the work behind `Tables.combine`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson, Summed
from sumwise.provenance import Provenance
from sumwise.sparse_table import SparseTable, table_of_cells
from sumwise.table import Table, title

HOW = ("add", "merge")


def combined(cls: type, parts: Sequence[Any], forget: Sequence[Any], how: str) -> Any:
    """Do the work of `Tables.combine`, which documents it."""
    checks.choice(how, "how", HOW)
    parts, forget = list(parts), list(forget)
    _check_parts(cls, parts, forget, how)
    first = parts[0]
    if how == "merge":
        tables = _merged([t for p in parts for t in p])
        known = {p.n for p in parts if p.n is not None}
        if len(known) > 1:
            raise DataError(
                f"Parts to merge count {', '.join(f'{n:g}' for n in sorted(known))} people.",
                hint="merging is for tables of the same people; add parts of different ones.",
            )
        n, provenance = (known.pop() if known else None), Provenance.combined([p.provenance for p in parts])
        known = [p.provenance for p in parts]  # the same people, not more of them
        rows = max((k.rows_per_person or 0 for k in known), default=0) or None
        flags = [k.weighted for k in known]
        weighted = True if True in flags else None if None in flags else False
        provenance = replace(provenance, rows_per_person=rows, weighted=weighted)
        return replace(first, tables=tuple(tables), n=n, provenance=provenance)
    tables = []
    for i, table in enumerate(first):
        plus = [p.tables[i] for p in parts]
        minus = [f.tables[i] for f in forget]
        tables.append(reduce(_taken_away, minus, reduce(_added, plus[1:], table)))
    sizes = [p.n for p in (*parts, *forget)]
    known = sum(p.n for p in parts) - sum(f.n for f in forget) if None not in sizes else None
    return replace(first, tables=tuple(tables), n=known, provenance=Provenance.combined(p.provenance for p in parts))


def _check_parts(cls: type, parts: list, forget: list, how: str) -> None:
    if not parts:
        raise DataError("There are no parts.", hint="give a list of Tables.")
    if forget and how == "merge":
        raise DataError("Parts that were merged can't be forgotten.", hint="merge the others again.")
    for i, part in enumerate([*parts, *forget]):
        if not isinstance(part, cls):
            raise DataError(f"Part {i} is of type {type(part).__name__}.", hint="give Tables.")
        for name in ("domain", "label", "classes"):
            if getattr(part, name) != getattr(parts[0], name):
                raise DataError(
                    f"Part {i} has another {name} than part 0.", hint="count all parts with the same domain= and label."
                )
        if how == "add" and [t.attributes for t in part] != [t.attributes for t in parts[0]]:
            raise DataError(f"Part {i} has other tables than part 0.", hint="count the same tables for every part.")


def _added(a: Table, b: Table) -> Table:
    if isinstance(a, SparseTable) and isinstance(b, SparseTable):
        return _sparse_sum(a, b)
    sums = None if a.label_sums is None or b.label_sums is None else a.label_sums + b.label_sums
    label_noise = None
    if sums is not None and (a.label_noise is not None or b.label_noise is not None):
        label_noise = _noise_sum(a.noise_of_sums, b.noise_of_sums, a)
    bounds = None
    if a.bounds is not None or b.bounds is not None:
        (low, high), (least, most) = (t.bounds or (t.counts, t.counts) for t in (a, b))
        bounds = low + least, high + most
    return Table(a.attributes, a.counts + b.counts, sums, _noise_sum(a.noise, b.noise, a), bounds, label_noise)


def _sparse_sum(a: SparseTable, b: SparseTable) -> Table:
    sums = None
    if a.cell_sums is not None and b.cell_sums is not None:
        sums = np.concatenate([a.cell_sums, b.cell_sums])
    cells, counts = np.concatenate([a.cells, b.cells]), np.concatenate([a.cell_counts, b.cell_counts])
    return table_of_cells(a.attributes, a.shape, cells, counts, sums)


def _taken_away(a: Table, b: Table) -> Table:
    """What is left of a sum without one of its parts, whose draws of noise go with it."""
    if a.bounds is not None or b.bounds is not None or not (a.complete and b.complete):
        raise DataError(
            f"The table over {title(a.attributes)} has withheld cells, which can't be taken away.",
            hint="combine the parts that are left.",
        )
    sums = None if a.label_sums is None or b.label_sums is None else a.label_sums - b.label_sums
    noise = _noise_difference(a.noise, b.noise, a)
    label_noise = None
    if sums is not None and (a.label_noise is not None or b.label_noise is not None):
        label_noise = _noise_difference(a.noise_of_sums, b.noise_of_sums, a)
    counts = a.counts - b.counts
    if isinstance(noise, Exact) and (counts < 0).any():
        raise DataError(
            f"The table over {title(a.attributes)} would have {int((counts < 0).sum())} negative counts.",
            hint="forget parts that were added before.",
        )
    return Table(a.attributes, counts, sums, noise, label_noise=label_noise)


def _draws(noise: Noise) -> tuple[Laplace | Geometric, int] | None:
    """The noise of one draw, and how many there are; None where it isn't Laplace or geometric of one scale."""
    if isinstance(noise, Summed):
        return noise.noise, noise.times
    if isinstance(noise, Laplace | Geometric) and not np.ndim(noise.scale):
        return noise, 1
    return None


def _noise_sum(a: Noise, b: Noise, table: Table) -> Noise:
    if isinstance(a, Exact) or isinstance(b, Exact):
        return b if isinstance(a, Exact) else a
    if isinstance(a, Gaussian) and isinstance(b, Gaussian):
        return Gaussian(np.hypot(a.scale, b.scale))
    if isinstance(a, Poisson) and a == b:
        return a
    first, second = _draws(a), _draws(b)
    if first is not None and second is not None and first[0] == second[0]:
        return Summed(first[0], first[1] + second[1])
    raise DataError(
        f"Sums of {a!r} and {b!r} have no noise model ({title(table.attributes)}).",
        hint="add parts that were released with the same scale, or with Gaussian noise.",
    )


def _noise_difference(a: Noise, b: Noise, table: Table) -> Noise:
    if isinstance(b, Exact):
        return a
    if isinstance(a, Gaussian) and isinstance(b, Gaussian):
        left = np.asarray(a.scale) ** 2 - np.asarray(b.scale) ** 2
        if (left > 1e-12 * np.asarray(a.scale) ** 2).all():
            return Gaussian(np.sqrt(left))
        if np.allclose(left, 0.0, atol=1e-9 * float(np.max(a.scale)) ** 2):
            return Exact()
    first, second = _draws(a), _draws(b)
    if first is not None and second is not None and first[0] == second[0] and first[1] >= second[1]:
        times = first[1] - second[1]
        return Exact() if times == 0 else first[0] if times == 1 else Summed(first[0], times)
    raise DataError(
        f"{b!r} can't be taken out of {a!r} ({title(table.attributes)}).", hint="forget parts that were added before."
    )


def _merged(tables: list[Table]) -> list[Table]:
    """Tables of the same people: Gaussian ones over the same attributes averaged by precision, others side by side."""
    groups: dict[Any, list[Table]] = {}
    for i, t in enumerate(tables):
        averaged = isinstance(t.noise, Gaussian) and not np.ndim(t.noise.scale) and t.complete
        plain = averaged and (t.label_noise is None or not np.ndim(getattr(t.label_noise, "scale", 0.0)))
        labelled = t.label_sums is not None
        key = (tuple(sorted(t.attributes)), labelled, t.label_noise is None) if plain else i
        groups.setdefault(key, []).append(t)
    return [reduce(_averaged, group) for group in groups.values()]


def _averaged(a: Table, b: Table) -> Table:
    b = b.transpose(a.attributes)
    counts, noise = _mean(a.counts, b.counts, a.noise, b.noise)
    if a.label_sums is None or b.label_sums is None:
        return Table(a.attributes, counts, noise=noise)
    sums, of_sums = _mean(a.label_sums, b.label_sums, a.noise_of_sums, b.noise_of_sums)
    return Table(a.attributes, counts, sums, noise, label_noise=None if a.label_noise is None else of_sums)


def _mean(a: np.ndarray, b: np.ndarray, first: Any, second: Any) -> tuple[np.ndarray, Gaussian]:
    weights = first.scale**-2, second.scale**-2
    return (weights[0] * a + weights[1] * b) / sum(weights), Gaussian(1.0 / math.sqrt(sum(weights)))
