"""GraphModel: any graph of attributes, by a junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.collective.kernels.edges import MarginEdge
from sumwise.collective.layout import Layout
from sumwise.collective.model import PopulationModel
from sumwise.collective.potentials import as_device, read_potentials
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.inference.kernels.junction_tree import junction_tree


class GraphModel(PopulationModel):
    """An individual's states on any graph; inference goes through a junction tree.

    Parameters
    ----------
    domain : Domain
    cliques : sequence of sequences of str
        Sets of attributes that interact (edges, or larger sets); each ends up inside one clique of the junction
        tree, and observations may be given on any subset of such a clique.
    log_potentials : mapping, optional
        ``{("a", "b", "c"): array, "a": array}``; each key must lie inside one of the cliques. ``-inf`` forbids.
    device : str, optional
        For example ``"cuda"``: messages are then torch tensors on that device.

    Attributes
    ----------
    cliques : tuple of tuples
        The cliques of the junction tree.

    See Also
    --------
    TreeModel : An individual's states on a tree or forest, ``p(x) prop. to prod exp(log_potentials)``.
    LoopyModel : An individual's states on a graph of pairs with cycles, by loopy belief propagation.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain
    >>> from sumwise.collective import GraphModel
    >>> domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    >>> square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    >>> model = GraphModel(domain, square, {pair: np.array([[1.0, 0.0], [0.0, 1.0]]) for pair in square})
    >>> model.cliques
    (('a', 'b', 'd'), ('b', 'c', 'd'))
    >>> model.marginals(8).table("a", "b").round(3)
    array([[3.073, 0.927],
           [0.927, 3.073]])
    """

    def __init__(
        self,
        domain: Domain,
        cliques: Sequence[Sequence[str]],
        log_potentials: Mapping | None = None,
        device: str | None = None,
    ):
        if not isinstance(domain, Domain):
            raise DataError(f"The domain is of type {type(domain).__name__}.", hint="give a Domain.")
        self.log_potentials = read_potentials(log_potentials, domain)
        self.domain, self.device = domain, device
        sets = [(c,) if isinstance(c, str) else tuple(c) for c in cliques]
        for names in sets:
            for a in checks.unique(names, "A clique"):
                checks.known(a, domain, "attribute")
        number = {a: i for i, a in enumerate(domain)}
        found, links = junction_tree([[number[a] for a in names] for names in sets], domain.shape)
        names = domain.attributes
        self.cliques = tuple(tuple(names[i] for i in c) for c in found)
        self._links = [(i, j, tuple(names[v] for v in s)) for i, j, s in links]
        self._check_size()
        self._tables = self._clique_tables()
        self._layouts = {}
        self.layout().problem()

    def _check_size(self):
        """Refuse a junction tree that memory doesn't hold, before it is made."""
        hint = "drop some interactions, merge levels, or use a LoopyModel, which needs no junction tree."
        checks.allocation("The junction tree", *([self.domain[a] for a in c] for c in self.cliques), hint=hint)

    def _home(self, names):
        """Number of the smallest clique that holds `names`."""
        fits = [i for i, c in enumerate(self.cliques) if set(names) <= set(c)]
        if not fits:
            raise DataError(
                f"No clique of the junction tree contains {' x '.join(names)}.",
                hint="add these attributes as a clique of the model.",
            )
        return min(fits, key=lambda i: self.domain.size(self.cliques[i]))

    def holds(self, attributes: Sequence[str]) -> bool:
        """Whether some clique of the junction tree covers these attributes."""
        return any(set(attributes) <= set(c) for c in self.cliques)

    def _clique_tables(self):
        tables = [np.zeros([self.domain[a] for a in c]) for c in self.cliques]
        for names, value in self.log_potentials.items():
            if sparse.issparse(value):
                raise DataError("A GraphModel takes dense potentials.", hint="use a TreeModel for sparse edges.")
            i = self._home(names)
            order = [a for a in self.cliques[i] if a in names]
            lead = value.ndim - len(names)
            turned = np.transpose(value, [*range(lead), *(lead + names.index(a) for a in order)])
            shape = [self.domain[a] if a in names else 1 for a in self.cliques[i]]
            tables[i] = tables[i] + turned.reshape(*turned.shape[:lead], *shape)
        return [t.reshape(*t.shape[: t.ndim - len(c)], -1) for t, c in zip(tables, self.cliques)]

    def _nodes_for(self, tables: Iterable) -> frozenset:
        """Sets of attributes that become a node of their own."""
        return frozenset(frozenset(t) for t in tables)

    def _build(self, wanted: frozenset) -> Layout:
        labels, edges = list(self.cliques), []
        base = [as_device(t, self.device) for t in self._tables]

        def margin(clique, names):
            """A node for the margin of a clique over some of its attributes."""
            shape = tuple(self.domain[a] for a in self.cliques[clique])
            axes = tuple(self.cliques[clique].index(a) for a in names)
            return MarginEdge(shape, axes)

        def leaf(clique, names):
            edges.append((clique, len(labels), margin(clique, names)))
            labels.append(names)
            base.append(as_device(np.zeros(self.domain.size(names)), self.device))

        for i, j, shared in self._links:
            leaf(i, shared)
            edges.append((j, len(labels) - 1, margin(j, shared)))
        present = {frozenset(label) for label in labels}
        singles = [frozenset([a]) for a in self.domain]
        for group in [*singles, *sorted(wanted, key=sorted)]:
            if group not in present:
                names = tuple(a for a in self.domain if a in group)
                leaf(self._home(names), names)
                present.add(group)
        return Layout(self.domain, labels, edges, base, keep=self.cliques, device=self.device)

    def __repr__(self) -> str:
        return f"GraphModel({len(self.domain)} nodes, {len(self.cliques)} cliques)"
