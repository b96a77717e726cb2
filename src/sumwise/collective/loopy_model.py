"""LoopyModel: pairs of attributes on a graph with cycles, by messages instead of a junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import Counts, LazyTables
from sumwise.collective.kernels.count_problem import Solution
from sumwise.collective.kernels.loopy_bp import Edges, LoopyProblem, loopy_counts
from sumwise.collective.layout import Layout
from sumwise.collective.potentials import edge_potentials, filled, read_edges
from sumwise.display import record_html
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.fit import warn_not_converged


class LoopyModel:
    """An individual's states on a graph of pairs with cycles, by loopy belief propagation.

    For graphs whose junction tree doesn't fit in memory, such as a 20 x 20 grid. What is computed with it rests on the
    Bethe approximation (Yedidia et al. 2000): exact on a tree, close where interactions are weak or cycles long, and
    without a bound on its error. `GraphModel` is exact; use it wherever it isn't refused.

    Parameters
    ----------
    domain : Domain
    edges : sequence of (str, str)
        Pairs of attributes that interact; cycles are welcome.
    log_potentials : mapping, optional
        ``{("a", "b"): (L_a, L_b) array, "a": (L_a,) array}``; what is missing is zero and ``-inf`` forbids.

    See Also
    --------
    TreeModel : An individual's states on a tree or forest, ``p(x) prop. to prod exp(log_potentials)``.
    GraphModel : An individual's states on any graph; inference goes through a junction tree.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain
    >>> from sumwise.collective import LoopyModel
    >>> domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    >>> square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    >>> alike = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> model = LoopyModel(domain, square, {pair: alike for pair in square})
    >>> model.marginals(8).table("a", "b").round(2)  # GraphModel's are 2.65 and 1.35
    array([[2.49, 1.51],
           [1.51, 2.49]])
    """

    batch = None  # one model at a time

    _repr_html_ = record_html

    def __init__(self, domain: Domain, edges: Sequence[tuple[str, str]], log_potentials: Mapping | None = None) -> None:
        self.edges = read_edges(edges, domain)
        self.domain = domain
        listed: set[tuple[str, str]] = set()
        for a, b in self.edges:
            if a == b or (a, b) in listed:
                why = "doesn't join two attributes" if a == b else "is given twice"
                raise DataError(f"Edge {a!r} - {b!r} {why}.", hint="edges are pairs: ('a', 'b'), each once.")
            listed |= {(a, b), (b, a)}
        shapes = [(domain[a], domain[b]) for a, b in self.edges]
        checks.allocation("The graph", *shapes, hint="merge levels, or leave out edges.")
        given = edge_potentials(log_potentials, domain, self.edges, "add the edge.")
        self.log_potentials = {(k,) if isinstance(k, str) else k: filled(table) for k, table in given.items()}
        if any(table.ndim != len(names) for names, table in self.log_potentials.items()):
            raise DataError("A LoopyModel is one model, not a batch.", hint="build one for each.")

    def __repr__(self) -> str:
        return f"LoopyModel({len(self.domain)} nodes, {len(self.edges)} edges)"

    def holds(self, attributes: Sequence[str]) -> bool:
        """Whether some table of the model covers these attributes."""
        names = tuple(attributes)
        return len(names) == 1 or names in self.edges or names[::-1] in self.edges

    def layout(self, tables: Iterable = ()) -> Layout:
        """Return where observations lie: the nodes, then every edge that is observed, none of them joined."""
        wide = {e for e in self.edges for t in tables if sorted(t) == sorted(e)}
        pairs = [e for e in self.edges if e in wide]
        base = [self.log_potentials.get((a,), np.zeros(self.domain[a])) for a in self.domain]
        base += [np.zeros(self.domain.size(e)) for e in pairs]
        return Layout(self.domain, [*((a,) for a in self.domain), *pairs], [], base)

    def problem(self, layout: Layout, base: np.ndarray, loss: Any, total: float) -> LoopyProblem:
        """The problem of the kernels: nodes and edges as arrays, edges of one shape together."""
        offsets = layout.forest.offsets
        number = {label: i for i, label in enumerate(layout.labels)}
        made = []
        for shape, members in self._groups().items():
            ends = [
                np.array([offsets[number[(e[k],)]] + np.arange(shape[k]) for e in members]).reshape(-1, shape[k])
                for k in (0, 1)
            ]
            theta = np.array([np.broadcast_to(self.log_potentials.get(e, 0.0), shape) for e in members], dtype=float)
            inside = np.arange(shape[0] * shape[1]).reshape(shape)
            cells = np.array([offsets[number[e]] + inside if e in number else np.full(shape, -1) for e in members])
            made.append(Edges(ends[0], ends[1], theta, cells))
        self._check_possible(base, made)
        return LoopyProblem(base, layout.forest.sizes, made, loss, total)

    def _groups(self) -> dict[tuple[int, ...], list]:
        """Edges by the shape of their tables."""
        groups: dict[tuple[int, ...], list] = {}
        for edge in self.edges:
            groups.setdefault(tuple(self.domain[a] for a in edge), []).append(edge)
        return groups

    def _check_possible(self, base: np.ndarray, groups: list[Edges]) -> None:
        for g in groups:
            open_ = (base[g.first] > -np.inf)[:, :, None] & (base[g.second] > -np.inf)[:, None, :] & (g.theta > -np.inf)
            if not open_.any(axis=(1, 2)).all():
                raise DataError("An edge allows no pair of states.", hint="the potentials rule everything out.")

    def tables_of(self, found: Solution) -> LazyTables:
        """The tables of all edges by their names."""
        named = {}
        for members, tables in zip(self._groups().values(), found.tables):
            named |= {e: (lambda t=t: t) for e, t in zip(members, tables)}
        return LazyTables(named)

    def marginals(self, n: float = 1.0, tol: float = 1e-8, max_iter: int = 5000) -> Counts:
        """Return the expected tables of a population of `n` by loopy belief propagation; n = 1 gives probabilities.

        Parameters
        ----------
        n : float > 0, default 1.0
        tol : float > 0, default 1e-8
            Messages are sent until no count changes by more than this share of `n`.
        max_iter : int >= 1, default 5000
        """
        total = float(checks.positive(n, "n", ndim=0))
        layout = self.layout()
        base = np.concatenate(layout.base)
        problem = self.problem(layout, base, lambda cells: (0.0, np.zeros_like(cells)), total)
        found = loopy_counts(problem, tol, max_iter)
        if not found.converged:
            warn_not_converged(found.n_iter, found.distance, tol, stacklevel=3, what="a fixed point away by")
        return self.counts(layout, found, total)

    def counts(self, layout: Layout, found: Solution, n: float) -> Counts:
        """Counts of nodes and edges from a solution."""
        offsets = layout.forest.offsets
        nodes = {a: found.cells[offsets[i] : offsets[i + 1]] for i, a in enumerate(self.domain)}
        tables = self.tables_of(found)
        return Counts(nodes, tables, n, LazyTables({}))
