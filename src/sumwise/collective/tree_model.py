"""TreeModel: a distribution over the states of one individual on a tree or forest of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.collective.kernels.edges import DenseEdge, MarginEdge, SparseEdge
from sumwise.collective.layout import Layout
from sumwise.collective.model import PopulationModel
from sumwise.collective.potentials import as_device, edge_potentials, filled, read_edges
from sumwise.domain import Domain
from sumwise.errors import DataError


class TreeModel(PopulationModel):
    """An individual's states on a tree or forest, ``p(x) prop. to prod exp(log_potentials)``.

    Parameters
    ----------
    domain : Domain
        The attributes (nodes) and their levels; sizes may differ. Attributes without an edge stand alone.
    edges : sequence of (str, str)
        A tree or a forest; a chain of time steps is the common case. A cycle is refused (see `GraphModel`).
    log_potentials : mapping, optional
        ``{("a", "b"): (L_a, L_b) array, "a": (L_a,) array}``; what is missing is zero and ``-inf`` forbids. A scipy
        sparse matrix allows the stored moves only, which lets 10,000 cells with 25 moves each fit in memory. One more
        axis in front makes a batch of models.
    device : str, optional
        For example ``"cuda"``: messages are then torch tensors on that device.

    See Also
    --------
    GraphModel : An individual's states on any graph; inference goes through a junction tree.
    LoopyModel : An individual's states on a graph of pairs with cycles, by loopy belief propagation.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain
    >>> from sumwise.collective import TreeModel
    >>> stay = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> model = TreeModel(Domain({"t0": 2, "t1": 2}), [("t0", "t1")], {"t0": np.log([0.5, 0.5]), ("t0", "t1"): stay})
    >>> model.marginals(100).nodes["t1"]
    array([55., 45.])
    >>> model.sample_tables(100, random_state=0).edges["t0", "t1"]
    array([[44.,  7.],
           [14., 35.]])
    """

    def __init__(
        self,
        domain: Domain,
        edges: Sequence[tuple[str, str]],
        log_potentials: Mapping | None = None,
        device: str | None = None,
    ):
        self.edges = read_edges(edges, domain)
        self.domain, self.device = domain, device
        self._check_cycles()
        self.log_potentials = edge_potentials(log_potentials, domain, self.edges, "add the edge, or use a GraphModel.")
        self._check_size()
        made: dict[Any, Any] = {}  # steps with the same table of moves share its operator
        for pair in self.edges:
            key = id(self.log_potentials[pair]) if pair in self.log_potentials else pair
            made[pair] = made[key] = made[key] if key in made else self._operator(pair)
        self._operators = {pair: made[pair] for pair in self.edges}
        self._layouts = {}
        self.layout().problem()  # every state impossible, or a cycle: better said now

    def _check_cycles(self):
        joined = {a: {a} for a in self.domain}
        for a, b in self.edges:
            if joined[a] is joined[b]:
                raise DataError(
                    f"Edge {a!r} - {b!r} closes a cycle.",
                    hint="a TreeModel is a tree or forest; GraphModel takes any graph.",
                )
            fewer, more = sorted((joined[a], joined[b]), key=len)
            more |= fewer
            joined.update(dict.fromkeys(fewer, more))

    def _check_size(self):
        """Refuse dense tables of moves that memory doesn't hold, before they are made."""
        dense = [p for p in self.edges if not sparse.issparse(self.log_potentials.get(p))]
        hint = "give potentials as scipy sparse matrices, which hold the moves that are possible and no others."
        checks.allocation("The model", *((self.domain[a], self.domain[b]) for a, b in dense), hint=hint)

    def _operator(self, pair):
        table: Any = self.log_potentials.get(pair)
        if sparse.issparse(table):
            as_device(np.zeros(1), self.device)  # a missing torch is said here, with the extra to install
            return SparseEdge(table, self.device)
        shape = (self.domain[pair[0]], self.domain[pair[1]])
        return DenseEdge(as_device(np.zeros(shape) if table is None else table, self.device))

    def _nodes_for(self, tables: Iterable) -> frozenset:
        """Edges that become a node of their own."""
        pairs = [tuple(t) for t in tables if len(tuple(t)) == 2]
        return frozenset(p if p in self.edges else p[::-1] for p in pairs)

    def holds(self, attributes: Sequence[str]) -> bool:
        """Whether some table of the model covers these attributes."""
        names = tuple(attributes)
        return len(names) == 1 or names in self.edges or names[::-1] in self.edges

    def _build(self, wanted: frozenset) -> Layout:
        domain, device = self.domain, self.device
        labels: list[tuple[str, ...]] = [(a,) for a in domain]
        zero = {a: np.zeros(domain[a]) for a in domain}
        base = [as_device(self.log_potentials.get(a, zero[a]), device) for a in domain]
        number = {a: i for i, a in enumerate(domain)}
        edges, pairs = [], {}
        for pair in self.edges:
            first, second = pair
            if pair not in wanted:
                pairs[pair] = len(edges)
                edges.append((number[first], number[second], self._operators[pair]))
                continue
            shape = (domain[first], domain[second])
            table = filled(self.log_potentials.get(pair, np.zeros(shape)))
            base.append(as_device(table.reshape(*table.shape[:-2], -1), device))
            edges += [(len(labels), number[a], MarginEdge(shape, (k,))) for k, a in enumerate(pair)]
            labels.append(pair)
        return Layout(domain, labels, edges, base, pairs, device=device)

    def __repr__(self) -> str:
        kind = "sparse" if any(sparse.issparse(t) for t in self.log_potentials.values()) else "dense"
        return f"TreeModel({len(self.domain)} nodes, {len(self.edges)} {kind} edges)"
