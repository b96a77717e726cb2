"""RowModel: the distribution behind `rows`, drawn once, sampled block by block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sumwise.display import record_html
from sumwise.synthetic.draws import logistic

BLOCK = 2**16  # rows drawn at once; each block has a seed of its own
CALIBRATION = 2**62  # number of the block on which the intercept is set; no table is long enough to reach it


@dataclass(frozen=True, eq=False, repr=False)
class RowModel:
    """The joint distribution of attributes and label.

    Attributes
    ----------
    sizes : tuple of int
        Levels of each attribute (d of them).
    lookups : tuple of arrays
        For each attribute, its levels repeated in proportion to their share: a uniform draw from it is a draw of
        the attribute's own marginal, exactly.
    correlation : float
        Chance that an attribute follows its parents.
    parents : tuple of tuples
        For each attribute no, one or two earlier attributes.
    maps : tuple of tuples
        For each parent an array from the parent's level to a level; two are added modulo the size.
    terms : tuple of tuples
        The logit's terms: pairs (attribute, scores by level) whose product is one term.
    intercept : float
    seed : tuple of int
        Seed of the blocks.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> model = synthetic.rows(10, sizes=[2, 3], random_state=0).model
    >>> model
    RowModel(2 attributes, 3 terms, intercept -1.852)
    """

    sizes: tuple[int, ...]
    lookups: tuple[np.ndarray, ...]
    correlation: float
    parents: tuple[tuple[int, ...], ...]
    maps: tuple[tuple[np.ndarray, ...], ...]
    terms: tuple[tuple[tuple[int, np.ndarray], ...], ...]
    intercept: float
    seed: tuple[int, ...]

    _repr_html_ = record_html

    @classmethod
    def draw(
        cls,
        sizes: tuple[int, ...],
        skew: float,
        correlation: float,
        joint_parents: int,
        strengths: tuple[float, float, float],
        rate: float,
        rng: np.random.Generator,
    ) -> RowModel:
        """Draw a model; see `rows` for the parameters."""
        seed = tuple(int(s) for s in rng.integers(0, 2**32, size=4))
        lookups = tuple(_lookup(size, skew) for size in sizes)
        parents = _draw_parents(len(sizes), joint_parents, rng)
        maps = tuple(_draw_maps([sizes[p] for p in parents[j]], lookups[j], sizes[j], rng) for j in range(len(sizes)))
        terms = _draw_terms(sizes, strengths, rng)
        plain = cls(sizes, lookups, correlation, parents, maps, terms, 0.0, seed)
        logits = plain._logits(plain._codes(plain._generator(CALIBRATION)))
        return cls(sizes, lookups, correlation, parents, maps, terms, _intercept(logits, rate), seed)

    def __repr__(self) -> str:
        return f"RowModel({len(self.sizes)} attributes, {len(self.terms)} terms, intercept {self.intercept:.4g})"

    def marginal(self, attribute: int) -> np.ndarray:
        """Return the shares (size,) from which an attribute is drawn when it doesn't follow a parent."""
        return np.bincount(self.lookups[attribute], minlength=self.sizes[attribute]) / len(self.lookups[attribute])

    def block(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return codes (BLOCK, d), labels (BLOCK,) int8 and true probabilities (BLOCK,) of block `number`."""
        rng = self._generator(number)
        codes = self._codes(rng)
        probabilities = self.probability(codes)
        labels = (rng.random(BLOCK) < probabilities).astype(np.int8)
        dtype = np.int16 if max(self.sizes) <= 2**15 else np.int32
        return np.stack(codes, axis=1, dtype=dtype, casting="same_kind"), labels, probabilities

    def probability(self, columns: list[np.ndarray] | np.ndarray) -> np.ndarray:
        """Return P(label = 1 | x) of codes given column by column (d columns of length m)."""
        return logistic(self._logits(columns) + self.intercept)

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(number,))))

    def _codes(self, rng: np.random.Generator) -> list[np.ndarray]:
        out: list[np.ndarray] = []
        for size, lookup, parents, maps in zip(self.sizes, self.lookups, self.parents, self.maps, strict=True):
            code = lookup[rng.integers(0, len(lookup), BLOCK)].astype(np.int64)
            if parents and self.correlation > 0:
                follows = rng.random(BLOCK) < self.correlation
                given = sum(m[out[p]] for p, m in zip(parents, maps, strict=True)) % size
                code = np.where(follows, given, code)
            out.append(code)
        return out

    def _logits(self, columns: list[np.ndarray] | np.ndarray) -> np.ndarray:
        total = np.zeros(len(columns[0]))
        for term in self.terms:
            product = term[0][1][columns[term[0][0]]]
            for j, scores in term[1:]:
                product = product * scores[columns[j]]
            total += product
        return total


def _lookup(size: int, skew: float) -> np.ndarray:
    """Return levels repeated by their share (k + 1)^-skew: at least once, in 65,536 places or 16 per level."""
    places = max(BLOCK, 16 * size)
    share = np.arange(1, size + 1, dtype=float) ** -skew
    share *= (places - size) / share.sum()
    repeats = np.floor(share).astype(np.int64) + 1
    short = places - repeats.sum()
    repeats[np.argsort(np.floor(share) - share, kind="stable")[:short]] += 1  # largest remainders
    return np.repeat(np.arange(size, dtype=np.int32), repeats)


def _draw_parents(d: int, joint_parents: int, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Roots first (one, and one more for each joint attribute), then one parent each, then two roots each."""
    n_roots = 1 + joint_parents
    parents: list[tuple[int, ...]] = [()] * min(n_roots, d)
    for j in range(n_roots, d):
        chosen = rng.choice(n_roots, size=2, replace=False) if j >= d - joint_parents else [rng.integers(j)]
        parents.append(tuple(int(p) for p in chosen))
    return tuple(parents)


def _draw_maps(parent_sizes: list[int], lookup: np.ndarray, size: int, rng: np.random.Generator) -> tuple:
    if len(parent_sizes) == 1:  # likely levels stay likely
        return (lookup[rng.integers(0, len(lookup), parent_sizes[0])].astype(np.int64),)
    # Two parents: shifts spread evenly over the levels, so that one parent alone says little or nothing.
    return tuple(rng.permutation(np.arange(p) % size) for p in parent_sizes)


def _draw_terms(sizes: tuple[int, ...], strengths: tuple[float, float, float], rng: np.random.Generator) -> tuple:
    d = len(sizes)
    terms = []
    for order, (strength, most) in enumerate(zip(strengths, (d, 2 * d, d), strict=True), start=1):
        subsets = list(combinations(range(d), order))
        chosen = rng.permutation(len(subsets))[:most]
        scale = strength / np.sqrt(max(1, len(chosen)))
        for i in sorted(chosen):
            scores = [(j, rng.standard_normal(sizes[j])) for j in subsets[i]]
            scores[0] = (scores[0][0], scale * scores[0][1])
            if strength > 0:
                terms.append(tuple(scores))
    return tuple(terms)


def _intercept(logits: np.ndarray, rate: float) -> float:
    """Return the intercept at which the mean probability over `logits` is `rate`, by bisection."""
    low, high = -logits.max() - 50.0, -logits.min() + 50.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.mean(logistic(logits + middle)) < rate:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
