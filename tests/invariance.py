"""Changes of data that must not change an answer, and what each makes of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from contract import counts_case, flows_case, margins_case, response_case, tables_case, weeks_case
from sumwise import Bags, Domain, Margins, Table, Tables

RNG = np.random.default_rng(11)


@dataclass(frozen=True)
class Change:
    """Data for a fit, and how the answer of that fit is compared with the one on the data as they were."""

    arguments: tuple
    asked: Any  # what the fitted estimator is asked about
    back: Callable[[np.ndarray], np.ndarray]  # the answer, put in the order of the data as they were


def same(answer: np.ndarray) -> np.ndarray:
    return answer


def frozen(array: Any) -> np.ndarray:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def strided(array: np.ndarray) -> np.ndarray:
    """The same values, every second one of a larger array."""
    return np.repeat(array, 2, axis=0)[::2]


DTYPES: dict[str, Callable[[np.ndarray], Any]] = {
    "int16": lambda a: a.astype(np.int16),
    "uint32": lambda a: a.astype(np.uint32),
    "float32": lambda a: a.astype(np.float32),
    "big-endian": lambda a: a.astype(">f8"),
    "decimal": lambda a: np.array([Decimal(int(v)) for v in a.ravel()], dtype=object).reshape(a.shape),
    "nullable": lambda a: pd.DataFrame(a).astype("Int64") if a.ndim > 1 else pd.Series(a).astype("Int64"),
    "read-only": frozen,
    "strided": strided,
    "fortran": np.asfortranarray,
}


def of_margins() -> tuple[Change, dict[str, Change]]:
    (margins,) = margins_case().arguments
    rows, cols = np.asarray(margins.rows), np.asarray(margins.cols)
    n = len(rows)
    order = RNG.permutation(n)
    undone = np.argsort(order)
    empty = np.zeros((1, 2))

    def build(r: Any, c: Any, **names: Any) -> tuple:
        return (Margins(r, c, **names),)

    changes = {
        "order of units": Change(build(rows[order], cols[order]), None, lambda a: a[undone]),
        "order of rows": Change(build(rows[:, ::-1], cols), None, lambda a: a[:, ::-1]),
        "order of columns": Change(build(rows, cols[:, ::-1]), None, lambda a: a[:, :, ::-1]),
        "names": Change(
            build(rows, cols, units=[f"z{n - i}" for i in range(n)], row_names=["z", "a"], col_names=["9", "1"]),
            None,
            same,
        ),
        "an empty unit first": Change(build(np.vstack([empty, rows]), np.vstack([empty, cols])), None, lambda a: a[1:]),
        "an empty unit last": Change(build(np.vstack([rows, empty]), np.vstack([cols, empty])), None, lambda a: a[:-1]),
    }
    changes |= {f"counts as {k}": Change(build(f(rows), f(cols)), None, same) for k, f in DTYPES.items()}
    return Change((margins,), None, same), changes


def of_counts() -> tuple[Change, dict[str, Change]]:
    bags, counts = counts_case().arguments
    parts, x = [np.asarray(bags[i]) for i in range(len(bags))], np.asarray(bags.values)
    table = np.column_stack([bags.sizes - counts, counts])
    changes = _of_bags(parts, counts, x)
    changes["classes as columns"] = Change((bags, table), x, same)
    changes["order of classes"] = Change((bags, table[:, ::-1]), x, lambda a: a[:, ::-1])
    changes |= {f"counts as {k}": Change((bags, f(counts)), x, same) for k, f in DTYPES.items()}
    return Change((bags, counts), x, same), changes


def of_response() -> tuple[Change, dict[str, Change]]:
    bags, y = response_case().arguments
    parts = [np.asarray(bags[i]) for i in range(len(bags))]
    return Change((bags, y), bags, same), _of_bags(parts, y, bags, asked_bags=True)


def _of_bags(parts: list[np.ndarray], y: np.ndarray, asked: Any, asked_bags: bool = False) -> dict[str, Change]:
    order = RNG.permutation(len(parts))
    shuffled = [p[RNG.permutation(len(p))] for p in parts]

    def change(made: list, response: Any, f: Callable = same) -> Change:
        asks = Bags.from_arrays([f(p) for p in parts]) if asked_bags else f(asked)
        return Change((Bags.from_arrays(made), response), asks, same)

    zero = np.array([40.0, -0.3])
    changes = {
        "order of bags": change([parts[i] for i in order], y[order]),
        "order of rows in bags": change(shuffled, y),
        "order of features": change([p[:, ::-1] for p in parts], y, lambda a: a[:, ::-1]),
        "units of features, small": change([p * 1e-6 for p in parts], y, lambda a: a * 1e-6),
        "units of features, large": change([p * 1e6 for p in parts], y, lambda a: a * 1e6),
        "units of features, mixed": change([p * [1e-3, 1e3] for p in parts], y, lambda a: a * [1e-3, 1e3]),
        "zero of features": change([p + zero for p in parts], y, lambda a: a + zero),
        "features read-only": change([frozen(p) for p in parts], frozen(y)),
        "features strided": change([strided(p) for p in parts], strided(y)),
        "features big-endian": change([p.astype(">f8") for p in parts], y.astype(">f8")),
    }
    ids = [f"z{len(parts) - i}" for i in range(len(parts))]
    asks = Bags.from_arrays(parts) if asked_bags else asked
    return changes | {"names": Change((Bags.from_arrays(parts, ids=ids), y), asks, same)}


def of_tables() -> tuple[Change, dict[str, Change]]:
    case = tables_case()
    (tables,), (frame,) = case.arguments, case.inputs["predict_proba"]
    frame = pd.DataFrame(frame)

    def build(f: Callable[[Table], Table], domain: Domain = tables.domain, turn: bool = False) -> tuple:
        parts = [f(t) for t in tables]
        return (Tables(parts[::-1] if turn else parts, domain, n=tables.n, label=tables.label),)

    def renamed(t: Table) -> Table:
        return Table([names[a] for a in t.attributes], t.counts, t.label_sums)

    def relevelled(t: Table) -> Table:
        flip = tuple(slice(None, None, -1) for _ in t.attributes)
        return Table(t.attributes, t.counts[flip], t.label_sums[flip])

    def with_counts(f: Callable) -> Callable[[Table], Table]:
        return lambda t: Table(t.attributes, f(t.counts), f(t.label_sums))

    names = {"a": "z", "b": "m", "c": "b"}
    levels = {a: list(tables.domain.levels(a)) for a in tables.domain}
    domain = Domain(dict(reversed(levels.items())))
    turned = Domain({a: levels[a][::-1] for a in levels})
    called = Domain({names[a]: levels[a] for a in levels})
    changes = {
        "order of tables": Change(build(same, turn=True), frame, same),
        "order of attributes": Change(build(same, domain), frame, same),
        "order of axes": Change(build(lambda t: t.transpose(t.attributes[::-1])), frame, same),
        "order of levels": Change(build(relevelled, turned), frame, same),
        "names": Change(build(renamed, called), frame.rename(columns=names), same),
        "order of columns": Change(build(same), frame[["c", "a", "b"]], same),
    }
    kinds = {k: f for k, f in DTYPES.items() if k not in ("nullable", "strided")}
    changes |= {f"counts as {k}": Change(build(with_counts(f)), frame, same) for k, f in kinds.items()}
    return Change((tables,), frame, same), changes


def of_flows() -> tuple[Change, dict[str, Change]]:
    (counts,) = flows_case().arguments
    order = RNG.permutation(counts.shape[1])
    undone = np.argsort(order)
    changes = {"order of places": Change((counts[:, order],), None, lambda a: a[undone][:, undone])}
    changes |= {f"counts as {k}": Change((f(counts),), None, same) for k, f in DTYPES.items() if k != "nullable"}
    return Change((counts,), None, same), changes


def of_weeks() -> tuple[Change, dict[str, Change]]:
    (tables,) = weeks_case().arguments

    def build(parts: list[Table]) -> tuple:
        return (Tables(parts, tables.domain, n=tables.n),)

    changes = {"order of tables": Change(build(list(tables)[::-1]), None, same)}
    for kind in ("int16", "float32", "big-endian", "read-only"):
        parts = [Table(t.attributes, DTYPES[kind](t.counts), noise=t.noise) for t in tables]
        changes[f"counts as {kind}"] = Change(build(parts), None, same)
    return Change((tables,), None, same), changes


CHANGES: dict[str, Callable[[], tuple[Change, dict[str, Change]]]] = {
    "ecological": of_margins,
    "proportions": of_counts,
    "distribution": of_response,
    "maxent": of_tables,
    "FlowModel": of_flows,
    "CollectiveEM": of_weeks,
}


def answer(estimator: Any, asked: Any) -> np.ndarray:
    """What a fitted estimator says that users read; of an embedding or a kernel, how similar bags are."""
    if hasattr(estimator, "cells_"):
        return np.asarray(estimator.cells_)
    if isinstance(getattr(estimator, "edges_", None), list):
        return np.stack([edges for fit in estimator.edges_ for _, edges in sorted(fit.items())])
    if hasattr(estimator, "transitions"):
        return np.asarray(estimator.transitions(0, 1))
    for method in ("predict_proba", "predict"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(asked))
    if hasattr(estimator, "represent"):
        parts = estimator.represent(asked)
        return np.asarray(estimator.compare(parts, parts))
    features = np.asarray(estimator.transform(asked))
    return features @ features.T
