"""LogLinearModel: a fitted maximum entropy model, its parameters and what they say of individuals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.fit import Fit
from sumwise.maxent.engines import Parameters
from sumwise.maxent.hashed_crosses import arranged_domain, crossed_features
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import (
    ENUMERABLE,
    Layout,
    class_scores,
    layout,
    log_sum,
    log_weights,
    spread,
    term_scores,
)
from sumwise.maxent.sparse_terms import full_table
from sumwise.maxent.tables_classifier import class_codes, codes_of
from sumwise.tables import Tables

BURN_IN = 20  # sweeps from where training left the chains
DRAWS = 20_000  # of a model, or cells of its joint table, that stand for its rows: shares err by .0035 at most
COLD_START = 200  # sweeps from independent attributes


class Schema(NamedTuple):
    """What parameters are about: features with their levels, how raw columns become levels, the label's classes.

    Features that are functions of others come last (see `hashed_crosses`).
    """

    domain: Domain
    encoding: Encoding | None
    label: str | None
    classes: np.ndarray

    @classmethod
    def of(cls, tables: Tables) -> Schema:
        """The schema of tables."""
        domain = arranged_domain(tables.domain, tables.encoding)
        return cls(domain, tables.encoding, tables.label, np.array(tables.classes))

    def names(self, term: Any) -> tuple[str, ...]:
        """Names of attributes by their positions."""
        return tuple(self.domain.attributes[a] for a in term)

    def codes(self, frame: Any) -> np.ndarray:
        """Level codes (n_rows, D) of individuals; -1 where a level is unknown."""
        return codes_of(frame, self.domain, self.encoding)

    def label_codes(self, labels: Any, n_rows: int) -> np.ndarray:
        """Class codes (n_rows,) of labels."""
        return class_codes(labels, self.classes, n_rows)


@dataclass(frozen=True)
class LogLinearModel:
    """A fitted model: p(x, y) proportional to exp(offset_y + phi(x) . (mu + y theta)).

    schema : what the parameters are about; layout : where they are.
    n : individuals that were counted.
    engine : what the model was trained with; "rows" has no distribution of features.
    chains, blocks : where the sampler ended, and the pairs that it redraws together.
    fit : how training went.
    """

    schema: Schema
    layout: Layout
    parameters: Parameters
    n: float
    engine: str = "exact"
    chains: dict[str, np.ndarray] | None = None
    blocks: tuple = ()
    fit: Fit | None = None

    def predict_proba(self, frame: Any) -> np.ndarray:
        """P(class | features) of individuals, (n_rows, K)."""
        return softmax(self.scores(self.schema.codes(frame)), axis=1)

    def scores(self, codes: np.ndarray, parameters: Parameters | None = None) -> np.ndarray:
        """Log-probabilities up to a constant per row, (n, K), of level codes (n, D)."""
        now = parameters or self.parameters
        return class_scores(self.layout, now.theta, now.offsets, codes)

    def log_density(self, codes: np.ndarray) -> np.ndarray:
        """log p(x, y) (n, K) up to a constant."""
        return term_scores(self.layout, codes, self.parameters.mu[None]) + self.scores(codes)

    @property
    def enumerable(self) -> bool:
        """Whether the joint table is small enough to go through."""
        return math.prod(map(float, self.layout.sizes)) * len(self.schema.classes) <= ENUMERABLE

    def joint(self) -> np.ndarray:
        """p(y, x), of shape (K, levels of each attribute)."""
        lay, d = self.layout, len(self.layout.sizes)
        weights = log_weights(spread(lay, self.parameters.mu), spread(lay, self.parameters.theta))
        joint = np.zeros((len(weights), *lay.sizes)) + self.parameters.offsets.reshape(-1, *[1] * d)
        for c, clique in enumerate(lay.cliques):
            shape = [lay.sizes[a] if a in clique else 1 for a in range(d)]
            part = weights[:, lay.starts[c] : lay.starts[c + 1]]
            joint += np.stack([full_table(lay, c, w) for w in part]).reshape(-1, *shape)
        return np.exp(joint - log_sum(joint))

    def all_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Level codes (m, D) of all cells of x, and their shares (m,)."""
        sizes = self.layout.sizes
        cells = np.indices(sizes).reshape(len(sizes), -1).T
        return self.layout.with_crossed(cells), self.joint().sum(axis=0).ravel()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Level codes (n, D) and class codes (n,) of individuals drawn from the model."""
        if self.enumerable:
            joint = self.joint()
            cells = rng.choice(joint.size, size=n, p=joint.ravel())
            labels, *codes = np.unravel_index(cells, joint.shape)
            return self.layout.with_crossed(np.column_stack(codes)), labels
        lay = self.layout
        chains = gibbs.draw_chains(n, [np.full(s, 1.0 / s) for s in lay.sizes], len(self.schema.classes), rng)
        if self.chains is not None:
            picked = rng.permutation(np.resize(np.arange(len(self.chains["labels"])), n))
            chains.codes[:], chains.labels[:] = self.chains["codes"][picked], self.chains["labels"][picked]
        plan = gibbs.plan(lay, self.blocks if self.chains is not None else ())
        theta = spread(lay, self.parameters.theta)
        weights = log_weights(spread(lay, self.parameters.mu), theta)
        for _ in range(COLD_START if self.chains is None else BURN_IN):
            gibbs.sweep(chains, plan, weights, theta, self.parameters.offsets)
        return lay.with_crossed(chains.codes.astype(np.int64)), chains.labels.astype(np.int64)


def layout_of(schema: Schema, terms: Any, listed: Any) -> Layout:
    """The layout of tables over named attributes, `listed` being the cells (or None) of each."""
    domain, crossed = schema.domain, crossed_features(schema.domain, schema.encoding)
    axes = [tuple(domain.axes(term)) for term in terms]
    kept = listed or [None] * len(axes)
    sparse = {term: cells for term, cells in zip(axes, kept) if cells is not None}
    return layout(domain.shape[: len(domain) - len(crossed)], axes, sparse, crossed)


def check_terms(schema: Schema, terms: Any, listed: Any, n_parameters: int) -> None:
    """Refuse tables of a rebuilt model that don't have its number of parameters; the large ones before any is laid."""
    kept = zip_longest(terms, listed or ())  # tables within others come last, and are never listed
    wide = [term for term, cells in kept if cells is None and schema.domain.size(term) > n_parameters]
    if wide or layout_of(schema, terms, listed).term_starts[-1] != n_parameters:
        raise DataError(f"The tables of the model don't have {n_parameters} parameters.", hint="save the object again.")
