"""Changes of data that must not change an answer, and what each makes of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from contract import counts_case, flows_case, response_case, tables_case, weeks_case
from sumwise import Bags, Contests, Domain, Margins, Schema, Table, Tables
from sumwise.aggregate import aggregate

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


def framed(dtype: Any) -> Callable[[np.ndarray], Any]:
    return lambda a: pd.DataFrame(a).astype(dtype) if a.ndim > 1 else pd.Series(a).astype(dtype)


def typed(dtype: Any) -> Callable[[np.ndarray], Any]:
    return lambda a: a.astype(dtype)


NUMPY = ("int8", "uint8", "int16", "uint32", "uint64", ">i4", "float16", "float32", ">f8", "longdouble")
# Arrays of whole numbers below 128, as anyone may have them.
DTYPES: dict[str, Callable[[np.ndarray], Any]] = {
    **{dtype: typed(dtype) for dtype in NUMPY},
    "decimal": lambda a: np.array([Decimal(int(v)) for v in a.ravel()], dtype=object).reshape(a.shape),
    "objects": typed(object),
    "list": lambda a: a.tolist(),
    "nullable": framed("Int64"),
    "nullable floats": framed("Float64"),
    "arrow": framed("int64[pyarrow]"),
    "categorical": framed("category"),
    "masked": np.ma.array,
    "read-only": frozen,
    "strided": strided,
    "fortran": np.asfortranarray,
}
ARRAYS = [*NUMPY, "decimal", "objects", "list", "read-only", "strided", "fortran"]  # of any number of axes

# Columns of frames with whole numbers below 128; a category is no number where both are possible.
COLUMNS: dict[str, Callable[[pd.Series], pd.Series]] = {
    **{dtype: lambda s, d=dtype: s.astype(d) for dtype in (*NUMPY, "Int64", "Float64", "UInt8", "int64[pyarrow]")},
    "objects": lambda s: s.astype(object),
    "decimal": lambda s: s.map(lambda v: Decimal(int(v))),
}
VOTERS = pd.DataFrame(
    {
        "precinct": range(12),
        "white": np.arange(12) * 5 + 60,
        "black": 40 - np.arange(12),
        "smith": np.arange(12) * 2 + 55,
        "jones": np.arange(12) * 2 + 45,
    }
).assign(ballots=np.arange(12) * 4 + 100)
PEOPLE = pd.DataFrame(
    {name: np.random.default_rng(5).integers(0, k, 60) for name, k in {"bag": 8, "x": 9, "g": 3, "y": 2}.items()}
)
SIDES = {"groups": "white, black are the groups, smith, jones what they chose"}
# Every way from a frame or arrays to a container: what it is given, and what it makes of it.
DOORS: dict[str, tuple[pd.DataFrame, Callable[[Any], Any]]] = {
    "Margins": (
        VOTERS,
        lambda f: Margins.from_frame(f, ["white", "black"], ["smith", "jones"], unit="precinct").cols,
    ),
    "Bags": (PEOPLE, lambda f: Bags.from_frame(f, bag="bag", features=["x", "g"]).values),
    "weights": (PEOPLE, lambda f: Bags.from_frame(f, bag="bag", features=["g"], weight="x").weights),
    "Tables": (PEOPLE, lambda f: Tables.from_frame(f, ["g", "y"])["g", "y"].counts),
    "aggregate": (PEOPLE, lambda f: aggregate(f, ["g"], label="y", order=1)["g"].label_sums),
    "Schema": (VOTERS.drop(columns="ballots"), lambda f: Schema.infer(f, SIDES).read(f).cols),
}
LEVELS_TOO = ("Tables", "Schema")  # ids and levels are text, numbers or booleans: a Decimal is refused by its name


def of_margins(size: int = 3) -> tuple[Change, dict[str, Change]]:
    """As many groups as outcomes; the first two units are equal."""
    rng = np.random.default_rng(2)
    rows, chosen = rng.integers(20, 120, (20, size)), (np.eye(size) + 0.3) / (1 + 0.3 * size)
    rows[1] = rows[0]
    cols = np.array([sum(rng.multinomial(k, p) for k, p in zip(unit, chosen)) for unit in rows])
    cols[1] = cols[0]
    n, turned = len(rows), np.roll(np.arange(size), 1)
    order = RNG.permutation(n)
    undone, back = np.argsort(order), np.argsort(turned)
    empty = np.zeros((1, size))

    def build(r: Any, c: Any, **names: Any) -> tuple:
        return (Margins(r, c, **names),)

    units = [f"z{n - i}" for i in range(n)]
    names = {"units": units, "row_names": list("zam")[:size], "col_names": list("915")[:size]}
    merged = np.r_[2 * rows[:1], rows[2:]], np.r_[2 * cols[:1], cols[2:]]
    changes = {
        "order of units": Change(build(rows[order], cols[order]), None, lambda a: a[undone]),
        "order of rows": Change(build(rows[:, turned], cols), None, lambda a: a[:, back]),
        "order of columns": Change(build(rows, cols[:, turned]), None, lambda a: a[:, :, back]),
        "names": Change(build(rows, cols, **names), None, same),
        "numbers as names": Change(build(rows, cols, units=range(n, 0, -1), row_names=range(size, 0, -1)), None, same),
        "weights of one": Change(build(rows, cols, weights=np.ones(n)), None, same),
        "large weights": Change(build(rows, cols, weights=np.full(n, 2.0**20)), None, same),
        "small weights": Change(build(rows, cols, weights=np.full(n, 2.0**-20)), None, same),
        "an empty unit first": Change(build(np.vstack([empty, rows]), np.vstack([empty, cols])), None, lambda a: a[1:]),
        "an empty unit amid": Change(
            build(np.insert(rows, 5, 0, axis=0), np.insert(cols, 5, 0, axis=0)), None, lambda a: np.delete(a, 5, axis=0)
        ),
        "equal units merged": Change(build(*merged), None, lambda a: np.r_[a[:1], a]),
    }
    return Change(build(rows, cols), None, same), changes


def of_counts() -> tuple[Change, dict[str, Change]]:
    bags, counts = counts_case().arguments
    parts, x = [np.asarray(bags[i]) for i in range(len(bags))], np.asarray(bags.values)
    table = np.column_stack([bags.sizes - counts, counts])
    changes = _of_bags(parts, counts, x)
    changes["classes as columns"] = Change((bags, table), x, same)
    changes["order of classes"] = Change((bags, table[:, ::-1]), x, lambda a: a[:, ::-1])
    changes |= {f"counts as {k}": Change((bags, f(counts)), x, same) for k, f in DTYPES.items()}
    changes |= {f"table as {k}": Change((bags, f(table)), x, same) for k, f in DTYPES.items() if k != "list"}
    nothing = np.zeros((0, x.shape[1]))
    changes["an empty bag first"] = Change((Bags.from_arrays([nothing, *parts], empty="keep"), [0, *counts]), x, same)
    changes["an empty bag last"] = Change((Bags.from_arrays([*parts, nothing], empty="keep"), [*counts, 0]), x, same)
    return Change((bags, counts), x, same), changes


def of_sums() -> tuple[Change, dict[str, Change]]:
    bags, counts = counts_case().arguments
    parts, x = [np.asarray(bags[i]) for i in range(len(bags))], np.asarray(bags.values)
    return Change((bags, counts), x, same), _of_bags(parts, counts, x)


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
        "features as objects": change([p.astype(object) for p in parts], y.astype(object)),
    }
    ids = [f"z{len(parts) - i}" for i in range(len(parts))]
    renamed = Bags.from_arrays(parts, ids=ids, features=["z", "a"])
    weighted = Bags.from_arrays(parts, weights=[np.ones(len(p)) for p in parts])
    plain = Bags.from_arrays(parts) if asked_bags else asked
    changes["names"] = Change((renamed, y), renamed if asked_bags else asked, same)
    return changes | {"weights of one": Change((weighted, y), plain, same)}


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

    def other_class(t: Table) -> Table:
        return Table(t.attributes, t.counts, t.counts - t.label_sums)

    names = {"a": "z", "b": "m", "c": "b"}
    levels = {a: list(tables.domain.levels(a)) for a in tables.domain}
    named = {a: {level: f"{9 - i}" for i, level in enumerate(levels[a])} for a in levels}
    texts = Domain({a: list(named[a].values()) for a in levels})
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
        "order of rows": Change(build(same), frame[::-1], lambda a: a[::-1]),
        "order of classes": Change(build(other_class), frame, lambda a: a[:, ::-1]),
        "names of levels": Change(build(same, texts), frame.apply(lambda s: s.map(named[str(s.name)])), same),
    }
    changes |= {f"columns as {k}": Change(build(same), frame.apply(f), same) for k, f in COLUMNS.items()}
    return Change((tables,), frame, same), changes


def of_flows() -> tuple[Change, dict[str, Change]]:
    (counts,) = flows_case().arguments
    order = RNG.permutation(counts.shape[1])
    undone = np.argsort(order)
    changes = {"order of places": Change((counts[:, order],), None, lambda a: a[undone][:, undone])}
    changes |= {f"counts as {k}": Change((DTYPES[k](counts),), None, same) for k in ("int8", ">f8", "strided", "list")}
    return Change((counts,), None, same), changes


def of_weeks() -> tuple[Change, dict[str, Change]]:
    (tables,) = weeks_case().arguments

    def build(parts: list[Table]) -> tuple:
        return (Tables(parts, tables.domain, n=tables.n),)

    names = dict(zip(tables.domain, "zka"))
    renamed = [Table([names[a] for a in t.attributes], t.counts, noise=t.noise) for t in tables]
    flipped = [Table(t.attributes, t.counts[::-1], noise=t.noise) for t in tables]
    domain = Domain({names[a]: tables.domain[a] for a in tables.domain})
    changes = {
        "order of tables": Change(build(list(tables)[::-1]), None, same),
        "names": Change((Tables(renamed, domain, n=tables.n),), None, same),
        "order of levels": Change(build(flipped), None, lambda a: a[:, ::-1, ::-1]),
    }
    return Change((tables,), None, same), changes


def of_contests() -> tuple[Change, dict[str, Change]]:
    """Three contests of the same precincts; the answer is that of the first."""
    (first,), *others = (of_margins(2)[0].arguments for _ in range(3))
    parts = {"p": first, "q": others[0][0][:12], "r": others[1][0][5:]}
    again = {"z": parts["p"], "b": parts["q"], "a": parts["r"]}
    turned = {name: parts[name] for name in "qrp"}
    changes = {
        "order of contests": Change((Contests(turned),), "p", same),
        "names of contests": Change((Contests(again),), "z", same),
    }
    return Change((Contests(parts),), "p", same), changes


CHANGES: dict[str, Callable[[], tuple[Change, dict[str, Change]]]] = {
    "ecological": of_margins,
    "King": lambda: of_margins(2),
    "AggregateRegressor": of_sums,
    "proportions": of_counts,
    "distribution": of_response,
    "maxent": of_tables,
    "FlowModel": of_flows,
    "CollectiveEM": of_weeks,
}


def with_ends(estimator: Any, predicted: np.ndarray, asked: Any) -> np.ndarray:
    """Predictions and, on a new last axis, the ends of their intervals where there are any; of two classes those of
    class 1, and what they leave of the other."""
    try:
        low, high = estimator.predict_interval(asked, 0.7)
    except (AttributeError, NotFittedError):
        return predicted
    if low.ndim < predicted.ndim:
        low, high = np.column_stack([1 - high, low]), np.column_stack([1 - low, high])
    return np.stack([predicted, low, high], axis=-1)


def answer(estimator: Any, asked: Any) -> np.ndarray:
    """What a fitted estimator says that users read; of an embedding or a kernel, how similar bags are."""
    if isinstance(asked, str):
        return np.asarray(estimator[asked].cells_)
    if hasattr(estimator, "cells_"):
        ends = [np.broadcast_to(end, estimator.cells_.shape) for end in estimator.interval(0.7)]
        return np.stack([estimator.cells_, *ends], axis=-1)
    if isinstance(getattr(estimator, "edges_", None), list):
        return np.stack([edges for fit in estimator.edges_ for edges in fit.values()])
    if hasattr(estimator, "transitions"):
        return np.asarray(estimator.transitions(0, 1))
    for method in ("predict_proba", "predict"):
        if hasattr(estimator, method):
            return with_ends(estimator, np.asarray(getattr(estimator, method)(asked)), asked)
    if hasattr(estimator, "represent"):
        parts = estimator.represent(asked)
        return np.asarray(estimator.compare(parts, parts))
    features = np.asarray(estimator.transform(asked))
    return features @ features.T
