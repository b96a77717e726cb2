"""BagKernel: the base of similarities between bags, and the kernel on embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bandwidth import N_SAMPLED
from sumwise.distribution.columns import ROUNDING, Columns, check_bags
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernels.quantiles import squared_distances
from sumwise.distribution.kernels.segments import BLOCK
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.features import name_columns
from sumwise.inference.canonical import content_sorted
from sumwise.inference.kernels.shapes import check_shapes


class BagKernel(Estimator):
    """Base of the kernels: `fit` learns scales from training bags, `gram` gives similarities of bags and bags.

    A subclass gives ``represent(bags)``, what is kept of bags (an array with a row per bag, or bags), and
    ``distances(a, b)``, one (n_a, n_b) array of distances per part (column or slice). The kernel is the mean over parts
    of ``exp(-gamma distance)``, or with ``combine="product"`` the exponential of minus gamma times the mean distance.
    A kernel without a width (``has_width`` is False) gives its similarities as the only part.

    With ``gamma="median"`` every part's distances are divided by their median between training bags (for a product, by
    one median of the mean), so that similarities spread over the whole range from 0 to 1, and an estimator tries
    multiples of that. A median over rows does not give this: bags are far more alike than their rows.

    Examples
    --------
    >>> from sumwise.distribution import WassersteinKernel
    >>> from sumwise.distribution.bag_kernel import BagKernel
    >>> issubclass(WassersteinKernel, BagKernel)
    True
    """

    _learned = "columns_: is Columns; columns_.given: len g; n_features_in_: size g; gamma_: number; scale_: float s"

    gamma: Any = "median"
    combine = "sum"
    standardize = True
    definite = True  # whether every Gram matrix is positive semidefinite
    squared = False  # whether distances are squares, of which the root is a distance
    has_width = True  # whether there is a width that can be tuned
    columns_: Columns
    gamma_: float  # multiple of the scaled distances; estimators tune it
    scale_: np.ndarray  # (n_parts,) what distances are divided by

    def _learn(self, bags: Bags, /) -> None:
        """Learn what `represent` needs beyond the columns."""

    def represent(self, bags: Bags) -> Any:
        """What is kept of bags: an array with a row per bag, or bags; to be given by the subclass."""
        raise NotImplementedError

    def distances(self, a: Any, b: Any) -> np.ndarray:
        """Distances of all parts, (n_parts, n_a, n_b), to be given by the subclass; `b` is `a` itself for a symmetric
        matrix."""
        raise NotImplementedError

    def scaled_distances(self, a: Any, b: Any) -> np.ndarray:
        """Distances of all parts over their scales."""
        checks.allocation("The kernel matrix", (len(a), len(b)), hint="give fewer bags at a time, or lower max_bags.")
        distances = self.distances(a, b)
        if len(self.scale_) != 1:  # until they are learned, one for all parts
            check_shapes({"scale_": (self.scale_, (len(distances),))})
        distances /= self.scale_[:, None, None]
        return distances

    def distance_blocks(self, a: Any, b: Any) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield some rows of `a` at a time with their scaled distances from `b`: those of all parts take much room."""
        parts = len(self.distances(a[:1], b[:1]))
        step = max(1, BLOCK // max(1, parts * len(b)))
        if step >= len(a):
            yield a, self.scaled_distances(a, b)
            return
        for i in range(0, len(a), step):
            yield a[i : i + step], self.scaled_distances(a[i : i + step], b)

    def compare(self, a: Any, b: Any, gamma: float | None = None) -> np.ndarray:
        """Kernel matrix of what is kept of bags and bags; with another gamma than its own where one is given."""
        checks.allocation("The kernel matrix", (len(a), len(b)), hint="give fewer bags at a time, or lower max_bags.")
        gamma = self.gamma_ if gamma is None else gamma
        return np.vstack([self.similarities(scaled, gamma) for _, scaled in self.distance_blocks(a, b)])

    def apart(self, scaled: np.ndarray, a: Any, b: Any) -> np.ndarray:
        """How far bags lie from each other, (n_a, n_b): in scaled distances, or by the inner product."""
        if self.has_width:
            apart = scaled.mean(axis=0)
            return np.sqrt(apart) if self.squared else apart
        own = self.self_similarities(a)
        squares = (
            own[:, None] + (own if b is a else self.self_similarities(b)) - 2 * self.similarities(scaled, self.gamma_)
        )
        return np.sqrt(np.maximum(squares, 0.0))

    def self_similarities(self, kept: Any) -> np.ndarray:
        """Similarity of each bag to itself, for a kernel without a width."""
        each = (self.scaled_distances(kept[i : i + 1], kept[i : i + 1]) for i in range(len(kept)))
        return np.array([self.similarities(one, self.gamma_)[0, 0] for one in each])

    def similarities(self, distances: np.ndarray, gamma: float) -> np.ndarray:
        """Kernel matrix from scaled distances, (n_parts, n_a, n_b); of a kernel without a width, its one part."""
        if not self.has_width:
            return distances[0]
        if self.combine == "product":
            return np.exp(-gamma * distances.mean(axis=0))
        total = np.exp(-gamma * distances[0])
        for part in distances[1:]:
            total += np.exp(-gamma * part)
        return total / len(distances)

    def _level_distances(self, a: np.ndarray, b: np.ndarray, place: int) -> list[np.ndarray]:
        """Total variation of each categorical column, (1, n_a, n_b); shares of levels begin at column `place`."""
        parts = []
        for levels in self.columns_.levels.values():
            columns = slice(place, place + len(levels))
            place = columns.stop
            parts.append(cdist(a[:, columns], b[:, columns], "cityblock")[None] / 2)
        return parts

    def variants(self, kept: Any) -> list[tuple[BagKernel, Any]]:
        """Return the fitted kernels that an estimator may choose among, each with what it keeps of training bags."""
        return [(self, kept)]

    def fit(self, bags: Bags, y: Any = None) -> Any:
        """Learn columns, scales and the width from training bags.

        Parameters
        ----------
        bags : Bags
        y : ignored

        Returns
        -------
        self
        """
        del y
        self.fit_represent(bags)
        return self

    def fit_represent(self, bags: Bags) -> Any:
        """Fit, and return what is kept of the training bags."""
        bags = check_bags(bags, least=2)
        name_columns(self, bags)
        checks.choice(self.combine, "combine", ("sum", "product"))
        self.columns_ = Columns.learn(bags, bool(self.standardize), by_content=True)
        bags = self.columns_.check(bags)
        alike, order = content_sorted(bags)
        self._learn(alike)
        kept = self.represent(bags)
        if isinstance(self.gamma, str):
            checks.choice(self.gamma, "gamma", ("median",))
            self.gamma_, self.scale_ = 1.0, self._medians(kept[order])
        else:
            self.gamma_, self.scale_ = float(checks.positive(self.gamma, "gamma", ndim=0)), np.ones(1)
        return kept

    def _medians(self, kept: Any) -> np.ndarray:
        """Median distances between bags, part by part, or of the mean."""
        if not self.has_width:
            return np.ones(1)
        some = np.unique(np.linspace(0, len(kept) - 1, N_SAMPLED).astype(np.int64))
        part = kept[some]
        distances = self.distances(part, part)
        if self.combine == "product":
            distances = distances.mean(axis=0)[None]
        above = np.triu_indices(len(some), 1)
        medians = np.array([np.median(d[above]) for d in distances])
        medians[medians <= ROUNDING * distances.max(axis=(1, 2))] = 0.0  # most bags agree in this part
        if not (medians > 0).any():
            raise DataError(
                "The median distance between bags is 0: most bags are the same.",
                hint="give gamma as a number, or look at the bags.",
            )
        return np.where(medians > 0, medians, medians[medians > 0].mean())

    def gram(self, bags: Bags, others: Bags | None = None) -> np.ndarray:
        """Return the similarity of each of `bags` to each of `others` (default: themselves), (n_bags, n_others)."""
        self._fitted("gamma_")
        a = self.represent(self.columns_.check(bags))
        b = a if others is None else self.represent(self.columns_.check(others))
        return self.compare(a, b)


@dataclass(eq=False, repr=False)
class EmbeddingKernel(BagKernel):
    """A Gaussian, Laplacian or linear kernel on an embedding of bags.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding()
    kind : {"gaussian", "laplace", "linear"}, default "gaussian"
        ``exp(-gamma |a - b|^2)``, ``exp(-gamma |a - b|_1)`` or ``a'b``.
    gamma : "median" or float, default "median"
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.
        For the embedding, where it draws.

    See Also
    --------
    KernelEmbedding : Vectors whose inner products are a bag kernel's similarities, exact on the landmark bags.
    GaussianKernel : The mean over pairs of rows of ``exp(-|x - x'|^2 / (2 width^2))``: the inner product of mean
        embeddings.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import EmbeddingKernel, MomentEmbedding
    >>> bags = synthetic.gamma(10, 50, random_state=0).bags
    >>> EmbeddingKernel(MomentEmbedding()).fit(bags).gram(bags).shape
    (10, 10)
    """

    embedding: Embedding | None = None
    kind: str = "gaussian"
    gamma: Any = "median"
    random_state: Any = None

    @property
    def has_width(self) -> bool:  # type: ignore[override]
        """Whether there is a width that can be tuned."""
        return self.kind != "linear"

    @property
    def squared(self) -> bool:
        """Whether distances are squares."""
        return self.kind == "gaussian"

    def _learn(self, bags: Bags) -> None:
        checks.choice(self.kind, "kind", ("gaussian", "laplace", "linear"))
        self.embedding_ = fresh(self.embedding, FourierEmbedding, self.random_state).fit(bags)

    def represent(self, bags: Bags) -> np.ndarray:
        return self.embedding_.vectors(bags)

    def distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.kind == "linear":
            return (a @ b.T)[None]
        if self.kind == "laplace":
            return cdist(a, b, "cityblock")[None]
        return squared_distances(a, b)[None]
