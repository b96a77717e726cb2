"""Counts of a population over the nodes and edges of a model, and what `map_counts` returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError, UnknownName
from sumwise.fit import Fit

TOTALS_AGREE = 1e-9  # relative difference that rounding explains


class LazyTables(Mapping):
    """Tables by their attributes, each computed when it is first asked for; any order of the attributes will do.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective.counts import LazyTables
    >>> tables = LazyTables({("a", "b"): lambda: np.array([[1.0, 2.0, 3.0]])})
    >>> tables["b", "a"].shape
    (3, 1)
    """

    def __init__(self, makers: Mapping[tuple[str, ...], Callable[[], Any]]):
        self._makers = dict(makers)
        self._made: dict[tuple[str, ...], Any] = {}

    def __getitem__(self, key: Any) -> Any:
        wanted = (key,) if isinstance(key, str) else tuple(key)
        for name in self._makers:
            if name == wanted or sorted(name) == sorted(wanted):
                if name not in self._made:
                    self._made[name] = self._makers[name]()
                table = self._made[name]
                return table if name == wanted else _transposed(table, [name.index(a) for a in wanted])
        listed = ", ".join(" x ".join(n) for n in list(self._makers)[:6])
        raise UnknownName(f"There is no table over {' x '.join(map(str, wanted))}.", hint=f"there are {listed}.")

    def __iter__(self) -> Iterator:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"LazyTables({', '.join(' x '.join(n) for n in self._makers)})"


def _transposed(table, order):
    return table.T.tocsr() if sparse.issparse(table) else np.transpose(table, order)


def _common_total(*tables: Mapping[Any, Any]) -> float:
    """What all tables sum to; a `DataError` where they differ or there are none."""
    totals = {
        key: float(np.asarray(t.sum() if sparse.issparse(t) else np.sum(t))) for m in tables for key, t in m.items()
    }
    if not totals:
        raise DataError("There are no tables, so the size of the population is not known.", hint="give n=.")
    (first, n), *others = totals.items()
    for key, total in others:
        if not abs(total - n) <= TOTALS_AGREE * max(abs(n), abs(total)):
            names = (k if isinstance(k, str) else " x ".join(k) for k in (first, key))
            raise DataError(
                "Tables of one population have different totals: {} sums to {:.10g}, {} to {:.10g}.".format(
                    *(v for pair in zip(names, (n, total)) for v in pair)
                ),
                hint="correct the tables, or give n= if individuals outside the tables are part of the population.",
            )
    return n


def dense(table: Any) -> np.ndarray:
    """A table, sparse or not, as an array of numbers."""
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=float)


@dataclass(frozen=True, repr=False)
class Counts:
    """Tables of a population: of every node, of every edge and, for general graphs, of every clique.

    Parameters
    ----------
    nodes : mapping of str to array
    edges : mapping of (str, str) to array (a scipy sparse array where the edge is sparse)
    n : float, optional
        Size of the population. Default: what the tables sum to, which must be the same for all of them.
    cliques : mapping of tuple to array

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> counts = Counts({"a": np.array([2.0, 1.0])})
    >>> counts.table("a")
    array([2., 1.])
    >>> counts.n
    3.0
    """

    nodes: Mapping[str, np.ndarray]
    edges: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    n: float = None  # type: ignore[assignment]  # a number once built
    cliques: Mapping[tuple[str, ...], Any] = field(default_factory=dict)

    def __post_init__(self):
        if self.n is None:
            object.__setattr__(self, "n", _common_total(self.nodes, self.edges, self.cliques))

    def table(self, *attributes: str) -> Any:
        """Return the table over `attributes`, from the smallest one that holds them all."""
        if len(attributes) == 1 and attributes[0] in self.nodes:
            return self.nodes[attributes[0]]
        wanted = set(attributes)
        both: list[Mapping[Any, Any]] = [self.edges, self.cliques]
        holders = [(k, m) for m in both for k in m if wanted <= set(k)]
        if not holders:
            listed = ", ".join(" x ".join(k) for k in [*self.edges, *self.cliques][:6])
            raise UnknownName(
                f"No table contains {' x '.join(attributes)}.", hint=f"there are {listed or ', '.join(self.nodes)}."
            )
        key, tables = min(holders, key=lambda item: len(item[0]))
        table = tables[key]
        if len(attributes) == len(key):
            return table if key == attributes else _transposed(table, [key.index(a) for a in attributes])
        drop = [i for i, a in enumerate(key) if a not in wanted]
        kept = [a for a in key if a in wanted]
        summed = np.asarray(table.sum(axis=tuple(drop) if len(drop) > 1 else drop[0]))
        return np.transpose(summed, [kept.index(a) for a in attributes])

    def _repr_html_(self) -> str:
        import pandas as pd

        levels = [np.size(table) for table in self.nodes.values()]
        words = f"Counts of {self.n:,.6g} individuals at {len(self.nodes):,} nodes of {min(levels, default=0):,} to "
        words += f"{max(levels, default=0):,} levels, and along {len(self.edges):,} edges."
        shown = {"node": list(self.nodes), "largest count": [np.max(table) for table in self.nodes.values()]}
        return finding_html(words, pd.DataFrame(shown))

    def __repr__(self) -> str:
        facts = {"n": self.n, "nodes": len(self.nodes), "edges": len(self.edges)}
        return facts_text("Counts", {**facts, "cliques": len(self.cliques)} if self.cliques else facts)


@dataclass(frozen=True, repr=False)
class CountsFit(Fit):
    """The most likely counts and their duality gap: what `map_counts` returns.

    Beyond `Fit` (``objective`` is eq. 2.7 at the counts, ``gap`` a bound on its distance to the optimum):

    Parameters
    ----------
    nodes : mapping of str to array
    edges : mapping of (str, str) to array or sparse array
        Computed when asked for.
    cliques : mapping of tuple to array
        For a `GraphModel`.
    n : float
    dual : float
        A lower bound on the optimum; ``objective - dual`` is ``gap``.
    violation : float
        Largest difference between exact observations and the counts (or of edge margins, for ``"nlbp-naive"``).
    multipliers : array, optional
        For a warm start of the next fit.
    method : str
    mean : Counts, optional
        ``E[n | y]``, from the method ``"exact"``.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 2, "t1": 2})
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): [[0.0, -1.0], [-1.0, 0.0]]})
    >>> fit = map_counts(model, Tables([Table("t0", [8, 2], noise=Poisson())], domain), n=10)
    >>> fit.edges["t0", "t1"].round(2)
    array([[4.79, 1.76],
           [0.93, 2.52]])
    """

    nodes: Mapping[str, np.ndarray] = field(default_factory=dict)
    edges: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    cliques: Mapping[tuple[str, ...], Any] = field(default_factory=dict)
    n: float = None  # type: ignore[assignment]  # a number once built
    dual: float | None = None
    violation: float = 0.0
    multipliers: np.ndarray | None = None
    method: str = "dual"
    mean: Counts | None = None

    table = Counts.table

    def __post_init__(self):
        super().__post_init__()
        if self.n is None:
            object.__setattr__(self, "n", _common_total(self.nodes, self.edges, self.cliques))

    def to_frame(self, *attributes: str):
        """Return the table over `attributes` as a long pandas frame: codes of the levels and the count."""
        import pandas as pd

        table = self.table(*attributes)
        if sparse.issparse(table):
            coo = table.tocoo()
            codes, counts = (coo.row, coo.col), coo.data
        else:
            codes, counts = [i.ravel() for i in np.indices(table.shape)], table.ravel()
        return pd.DataFrame({**dict(zip(attributes, codes)), "count": counts})

    def describe(self) -> dict[str, Any]:
        """Return the facts: method, size, objective, gap, steps, whether it converged."""
        return {"method": self.method, "n": self.n, **super().describe()}
