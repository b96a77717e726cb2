"""FourierEmbedding: mean cosines and sines of projected rows, an explicit Gaussian kernel mean embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bandwidth import median_distance, median_distance_per_column
from sumwise.distribution.embedding import Embedding, moment_range, seeded
from sumwise.distribution.kernels.fastfood import Fastfood, draw_fastfood, mean_fastfood_features
from sumwise.distribution.kernels.fourier_features import mean_fourier_features
from sumwise.distribution.kernels.frequencies import ALIASES, KINDS, draw_frequencies
from sumwise.distribution.kernels.segments import segment_moments
from sumwise.errors import DataError
from sumwise.inference.kernels.shapes import HINT, check_shapes
from sumwise.learned import check_part

MOST_COLUMNS = 10  # whose correlations are taken
NARROW_BAG = 0.01  # standard deviations, relative to that of all rows, below which bags are equally narrow
CONSTANT = np.sqrt(np.finfo(float).eps)  # the same of columns that are constant in a bag but for rounding
N_SCALING = 100  # bags from which the spread of Fourier features is taken


@dataclass(eq=False, repr=False)
class FourierEmbedding(Embedding):
    """Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths at once.

    The inner product of two bags' vectors is close to the mean over pairs of their rows of
    ``exp(-|x - x'|^2 / (2 width^2))``, averaged over the widths.

    Parameters
    ----------
    n_frequencies : int >= 1, default 64
        Per width; each gives a cosine and a sine. The dimension is twice this times the number of widths.
    widths : sequence of float, default (1, 0.5, 0.25, 0.125)
        Multiples of the median distance between rows. The median alone can cost a factor of five in error.
    unit : "median" or float, default "median"
        What `widths` are multiples of.
    kind : {"orthogonal", "random", "fastfood", "quadrature"}, default "orthogonal"
        How frequencies are drawn: with orthogonal directions; as independent normal vectors; as Fastfood's Hadamard
        products, which need no matrix and take m log d operations per row for m frequencies of d columns instead of
        m d (worth it from about a hundred columns on; ``"structured"`` is another name); or as nodes of Gauss-Hermite
        quadrature (a full grid in few dimensions, else drawn from it).
    marginal : bool, default False
        Treat each column on its own (the marginal kernel: a sum over columns); `n_frequencies` are then per column.
    standardize : bool, default True
        Scale columns by their standard deviation first.
    moments : bool, default False
        Add the means of columns, the logarithms of their standard deviations and, of up to ten columns, correlations,
        scaled to vary between bags as much as the features of the largest width. Fourier features are means over rows,
        and no linear function of them is a spread around each bag's own mean. `BagRidge` takes moments by default.
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.

    Attributes
    ----------
    unit_ : float, or array of shape (n_numeric,) if marginal
        The median distance between rows, in scaled columns; column by column if marginal.
    frequencies_ : array of shape (n_features, m)
        The frequencies of the largest width of each chain of halved widths, in units of the columns; not with
        ``kind="fastfood"``, which has ``fastfood_`` instead.
    columns_ : Columns
        Which columns are numbers, with centre and scale; levels of the others.

    See Also
    --------
    MomentEmbedding : Means, central moments and covariances of the rows of a bag.
    QuantileEmbedding : Quantile functions on a grid: Euclidean distances of vectors are 2-Wasserstein distances of
        bags.
    FisherVector : Gradients of a diagonal mixture's log-likelihood by its shares, means and variances, averaged over a
        bag.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import FourierEmbedding
    >>> bags = synthetic.gamma(20, 50, random_state=0).bags
    >>> FourierEmbedding(n_frequencies=16, random_state=0).fit_transform(bags).shape
    (20, 128)
    """

    _learned = (
        "columns_.numeric: len d; frequencies_??: float d f; amplitudes_?d: float f; "
        "moment_scale_??, moment_mean_?r, moment_scale_?r: float r; moment_range_?r: float 2 r; chains_?d: int * 2"
    )

    n_frequencies: int = 64
    widths: Sequence[float] = (1.0, 0.5, 0.25, 0.125)
    unit: Any = "median"
    kind: str = "orthogonal"
    marginal: bool = False
    standardize: bool = True
    moments: bool = False
    random_state: Any = None

    def _learn(self, bags: Bags) -> None:
        checks.at_least(self.n_frequencies, "n_frequencies", 1)
        kind = ALIASES.get(self.kind, self.kind)
        checks.choice(kind, "kind", KINDS)
        chains = _chains(self.widths)
        rng = seeded(self.random_state)
        d = self.columns_.dimension
        self.unit_ = self._unit(bags, rng)
        vars(self).pop("frequencies_", None)
        vars(self).pop("fastfood_", None)
        if kind == "fastfood" and not self.marginal:
            n = int(self.n_frequencies)
            drawn = [draw_fastfood(d, n, rng=rng) for _ in chains]
            names = ("signs", "shuffle", "gauss", "lengths")
            self.fastfood_ = {name: np.stack([getattr(one, name) for one in drawn]) for name in names}
            counts, weights = [n] * len(chains), [np.full(n, 1.0 / n)] * len(chains)
        else:
            pairs = [self._draw(d, rng) for _ in chains]
            blocks = [drawn / self._divisors(first)[:, None] for (drawn, _), (first, _) in zip(pairs, chains)]
            self.frequencies_ = np.hstack(blocks)
            counts, weights = [drawn.shape[1] for drawn, _ in pairs], [weight for _, weight in pairs]
        self.amplitudes_ = np.sqrt(np.concatenate(weights) / len(self.widths))
        self.chains_ = np.array([(m, doublings) for m, (_, doublings) in zip(counts, chains)])
        if self.moments:
            self._scale_moments(bags)

    def _divisors(self, width: float) -> np.ndarray:
        """What columns are divided by, (d,), so that a kernel of width 1 has this multiple of the unit."""
        return np.asarray(width * self.unit_ * self.columns_.scale)

    def _scale_moments(self, bags: Bags) -> None:
        some = bags[np.unique(np.linspace(0, len(bags) - 1, N_SCALING).astype(np.int64))]
        wide = self._fourier_features(some, [0] + [-1] * (len(self.chains_) - 1))
        found = self._raw_moments(bags)  # of all: among some a rare value may be hidden, and its scale without bound
        self.moment_range_ = moment_range(found)
        self.moment_mean_, spread = found.mean(axis=0), found.std(axis=0)
        varying = spread > 1e-9
        share = np.sqrt(wide.var(axis=0).sum() / max(1, int(varying.sum())))
        self.moment_scale_ = np.where(varying, share / np.where(varying, spread, 1.0), 0.0)

    def _raw_moments(self, bags: Bags) -> np.ndarray:
        """Return means, log standard deviations and correlations of scaled columns, (n_bags, number of them)."""
        columns, d = self.columns_, self.columns_.dimension
        cross = 1 < d <= MOST_COLUMNS
        in_place = np.array_equal(columns.numeric, np.arange(bags.n_features))
        values = bags.values if in_place else bags.values[:, columns.numeric]
        found = segment_moments(values, bags.offsets, bags.given_weights, 2, cross)
        spread = np.sqrt(found[:, d : 2 * d])
        parts = [(found[:, :d] - columns.centre) / columns.scale, np.log(spread / columns.scale + NARROW_BAG)]
        if cross:
            one, other = np.triu_indices(d, 1)
            known = spread > CONSTANT * columns.scale
            product = np.where(known[:, one] & known[:, other], spread[:, one] * spread[:, other], np.inf)
            parts.append(found[:, 2 * d :] / product)
        return np.hstack(parts)

    def _moments_in_range(self, bags: Bags) -> np.ndarray:
        """The same with log standard deviations in the range of the training bags and a margin.

        A small bag whose rows agree in a column has none, however wide its kind is, and its logarithm lies far out.
        """
        moments, d = self._raw_moments(bags), self.columns_.dimension
        check_shapes({"moment_range_": (self.moment_range_, (2, moments.shape[1]))})
        logs = slice(d, 2 * d)
        moments[:, logs] = np.clip(moments[:, logs], *self.moment_range_[:, logs])
        return moments

    def _features(self, bags: Bags, doublings: Sequence[int]) -> np.ndarray:
        features = self._fourier_features(bags, doublings)
        if not self.moments:
            return features
        return np.hstack([features, (self._moments_in_range(bags) - self.moment_mean_) * self.moment_scale_])

    def _unit(self, bags: Bags, rng: np.random.Generator) -> Any:
        if not isinstance(self.unit, str):
            return float(checks.positive(self.unit, "unit", ndim=0))
        checks.choice(self.unit, "unit", ("median",))
        median = median_distance_per_column if self.marginal else median_distance
        return median(bags, self.columns_, rng=rng)

    def _draw(self, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        n = int(self.n_frequencies)
        if not self.marginal:
            return draw_frequencies(self.kind, d, n, rng=rng)
        drawn = [draw_frequencies(self.kind, 1, n, rng=rng) for _ in range(d)]
        m = drawn[0][0].shape[1]
        out = np.zeros((d, d * m))
        for j, (frequencies, _) in enumerate(drawn):
            out[j, j * m : (j + 1) * m] = frequencies[0]
        return out, np.concatenate([weight for _, weight in drawn])

    def _embed(self, bags: Bags) -> np.ndarray:
        return self._features(bags, [halvings for _, halvings in _chains(self.widths)])

    def _fourier_features(self, bags: Bags, doublings: Sequence[int]) -> np.ndarray:
        """Return the features of each chain up to this many doublings; none of a chain that has -1."""
        parts, start = [np.zeros((len(bags), 0))], 0
        chains = _chains(self.widths)
        self._check_chains(chains)
        widths = [first for first, _ in chains]
        for chain, ((m, _), last) in enumerate(zip(self.chains_.tolist(), doublings)):
            part = slice(start, start + m)
            start += m
            if last < 0:
                continue
            means = self._mean_features(bags, chain, part, last, widths[chain])
            means *= self.amplitudes_[part]
            parts.append(means.reshape(len(bags), -1))
        return parts[1] if len(parts) == 2 else np.hstack(parts)

    def _check_chains(self, chains: list[tuple[float, int]]) -> None:
        """Refuse learned parts that aren't those of the widths: from a forged file they would ask for any memory."""
        drawn = np.asarray(self.chains_)
        check_shapes({"chains_": (drawn, (len(chains), 2))})
        if drawn.dtype.kind not in "iu" or drawn[:, 1].tolist() != [halvings for _, halvings in chains]:
            raise DataError("The model's parts don't fit together: chains_ are not those of the widths.", HINT)
        check_shapes({"amplitudes_": (self.amplitudes_, (sum(drawn[:, 0].tolist()),))})
        if "fastfood_" not in vars(self):
            check_part("frequencies_", vars(self).get("frequencies_"), "float * *", {})

    def _mean_features(self, bags: Bags, chain: int, part: slice, doublings: int, width: float) -> np.ndarray:
        """Return mean cosines and sines of one chain of widths, (n_bags, doublings + 1, 2, m)."""
        of = {"columns": self.columns_.numeric, "centre": self.columns_.centre}
        data = (bags.values, bags.offsets, bags.given_weights)
        if "fastfood_" not in vars(self):
            return mean_fourier_features(*data, self.frequencies_[:, part], doublings, **of)
        blocks = Fastfood(**{name: arrays[chain] for name, arrays in self.fastfood_.items()})
        n = part.stop - part.start
        return mean_fastfood_features(*data, blocks, n, doublings, factor=1.0 / self._divisors(width), **of)

    def transform_used(self, bags: Bags, used: np.ndarray) -> np.ndarray:
        """Return the features `used` of each bag, (n_bags, len(used)); widths that none of them has aren't computed."""
        self._fitted("columns_")
        if not self.columns_.dimension:
            return super().transform_used(bags, used)
        bags = self.columns_.check(bags)
        self._check_chains(_chains(self.widths))
        made, doublings, start = [], [], 0
        for m, last in self.chains_.tolist():
            levels = (used[(used >= start) & (used < start + 2 * m * (last + 1))] - start) // (2 * m)
            doublings.append(int(levels.max(initial=-1)))
            made.append(start + np.arange(2 * m * (doublings[-1] + 1)))
            start += 2 * m * (last + 1)
        features = np.hstack([self._features(bags, doublings), self.columns_.shares(bags)])
        made.append(start + np.arange(features.shape[1] - sum(map(len, made))))
        return features[:, np.searchsorted(np.concatenate(made), used)]

    def candidates(self, dimension: int) -> list[np.ndarray]:
        """Return the features of the largest width, of the two largest, and so on: what an estimator may choose among.

        Narrow widths see fine structure and carry more noise; which are worth it is a matter of the data.
        """
        self._fitted("columns_")
        if not self.columns_.dimension:
            return super().candidates(dimension)
        sizes = [2 * m for m, levels in self.chains_.tolist() for _ in range(levels + 1)]
        order = np.argsort([-first / 2**level for first, n in _chains(self.widths) for level in range(n + 1)])
        starts = [0, *np.cumsum(sizes).tolist()]
        blocks = [np.arange(starts[k], starts[k + 1]) for k in order]
        shares = np.arange(starts[-1], dimension)
        return [np.sort(np.concatenate([*blocks[: k + 1], shares])) for k in range(len(blocks))]


def _chains(widths: Any) -> list[tuple[float, int]]:
    """Group widths into chains of halves, each (largest, number of halvings): halves cost no further cosines."""
    given = checks.positive(widths, "widths", ndim=1)
    if not len(given):
        raise DataError("widths is empty.", hint="give multiples of the median, as in (1, 0.5).")
    left = sorted({float(w) for w in given}, reverse=True)
    chains = []
    while left:
        first, halvings = left.pop(0), 0
        while first / 2 ** (halvings + 1) in left:
            halvings += 1
            left.remove(first / 2**halvings)
        chains.append((first, halvings))
    return chains
