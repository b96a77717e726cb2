"""What is known of each bag's labels: exact counts, ranges, noisy counts; checked against the bags in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags, as_bags
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson
from sumwise.proportions.kernels.poisson_binomial import CountObservations, exact_counts, noisy_counts

KINDS = {Gaussian: "gaussian", Poisson: "poisson", Geometric: "geometric", Laplace: "laplace"}
TOTALS = ("match", "scale", "rest")


@dataclass(frozen=True)
class Observed:
    """Counts in the form that the kernels take.

    Parameters
    ----------
    observations : CountObservations or None
        What is known of the count of class 1, for two classes.
    counts : array of shape (n_bags, n_classes) or None
        Exact class counts, for more.
    multiplicity : array of shape (n_rows,) or None
        Members that each row stands for, scaled to the size of its bag, where rows carry weights.
    """

    observations: CountObservations | None
    counts: np.ndarray | None
    multiplicity: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if self.counts is None else self.counts.shape[1]

    @property
    def exact(self) -> bool:
        """Whether every count is known exactly."""
        return self.observations is None or bool(
            (self.observations.low == self.observations.high).all() and (self.observations.kind == 0).all()
        )

    def shares(self, sizes: np.ndarray) -> np.ndarray:
        """Rough class shares per bag, (n_bags, n_classes), strictly inside (0, 1): a start, never an answer."""
        if self.counts is not None:
            return (self.counts + 0.5) / (self.counts.sum(axis=1, keepdims=True) + 0.5 * self.n_classes)
        e = self.observations
        assert e is not None
        middle = np.where(e.kind == 0, 0.5 * (e.low + e.high), e.observed / np.where(e.kind == 2, e.scale, 1.0))
        one = (np.clip(middle, e.low, e.high) + 0.5) / (sizes + 1.0)
        return np.column_stack([1.0 - one, one])

    def of_class(self, c: int) -> Observed:
        """The counts of one class against the rest."""
        assert self.counts is not None
        return Observed(exact_counts(self.counts[:, c]), None, self.multiplicity)

    def refuse_absent(self, sizes: np.ndarray) -> None:
        """Stop where a class can have no member in any bag: there is nothing to learn about it."""
        if self.counts is not None:
            sums = self.counts.sum(axis=0)
        else:
            assert self.observations is not None
            sums = np.array([float((sizes - self.observations.low).sum()), float(self.observations.high.sum())])
        absent = np.flatnonzero(sums <= 0)
        if absent.size:
            listed = ", ".join(str(c) for c in absent)
            raise DataError(
                f"Class {listed} has no member in any of the {len(sizes)} bags.",
                hint="leave the class out, or add bags.",
            )

    def take(self, index: np.ndarray, rows: Any) -> Observed:
        """The counts of some bags, whose rows are ``rows``."""
        return Observed(
            None if self.observations is None else self.observations.take(index),
            None if self.counts is None else self.counts[index],
            None if self.multiplicity is None else self.multiplicity[rows],
        )


def intervals(low: Any, high: Any) -> np.ndarray:
    """Counts that are only known to lie in a range, one range per bag, for `fit(bags, counts)`.

    Parameters
    ----------
    low, high : arrays of shape (n_bags,)
        The smallest and the largest possible count of class 1.

    Returns
    -------
    array of shape (n_bags,) with fields ``low`` and ``high``

    See Also
    --------
    at_least_one : Whether a bag has any member of the class.

    Examples
    --------
    >>> from sumwise.proportions import intervals
    >>> intervals([0, 3], [2, 5])["high"]
    array([2., 5.])
    """
    lows, highs = checks.whole(low, "low", ndim=1), checks.whole(high, "high", ndim=1)
    checks.same_length(low=lows, high=highs)
    bad = lows > highs
    checks.nowhere(bad, "low is above high in {} bags", lambda b: f"bag {b} from {lows[b]:g} to {highs[b]:g}")
    out = np.empty(lows.size, dtype=[("low", float), ("high", float)])
    out["low"], out["high"] = lows, highs
    return out


def at_least_one(labels: Any, sizes: Any) -> np.ndarray:
    """Bag labels of multiple-instance learning as ranges of counts: [1, n] for a positive bag, 0 for a negative one.

    Parameters
    ----------
    labels : array of shape (n_bags,)
        1 where at least one member is of class 1, else 0.
    sizes : array of shape (n_bags,)
        Number of rows of each bag, ``bags.sizes``.

    See Also
    --------
    intervals : Counts known to a range.

    Examples
    --------
    >>> from sumwise.proportions import at_least_one
    >>> at_least_one([1, 0], [5, 4]).tolist()
    [(1.0, 5.0), (0.0, 0.0)]
    """
    positive = checks.whole(labels, "labels", ndim=1, allow_bool=True)
    if (positive > 1).any():
        raise DataError(f"labels has {positive.max():g}.", hint="1 for a bag with at least one, 0 for one with none.")
    return intervals(positive, positive * checks.whole(sizes, "sizes", ndim=1))


def apportion(counts: Any, totals: Any) -> np.ndarray:
    """Scale each row of counts to a whole total, keeping shares: largest remainders round up.

    So a region's 228,342 people become the 1,000 rows that were drawn for them.

    Parameters
    ----------
    counts : array of shape (n_bags, n_classes)
        Counts, or shares, not all zero in a row.
    totals : array of shape (n_bags,)
        What the rows sum to afterwards.

    See Also
    --------
    draw : Rows drawn by weight.

    Examples
    --------
    >>> from sumwise.proportions.counts import apportion
    >>> apportion([[70_000, 60_000, 98_342]], [1000])
    array([[306, 263, 431]])
    """
    given = checks.counts(counts, "counts", ndim=2)
    target = checks.whole(totals, "totals", ndim=1)
    checks.same_length(counts=given, totals=target)
    sums = given.sum(axis=1)
    if (sums <= 0).any():
        raise DataError(f"All counts are zero in {int((sums <= 0).sum())} of {sums.size} bags.", hint="drop them.")
    ideal = given / sums[:, None] * target[:, None]
    floor = np.floor(ideal + 1e-9)
    missing = np.rint(target - floor.sum(axis=1)).astype(int)
    order = np.argsort(-(ideal - floor), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    return (floor + (ranks < missing[:, None])).astype(np.int64)


def observe(bags: Bags, counts: Any, noise: Noise | None = None, totals: str = "match") -> Observed:
    """Check counts against their bags and bring them to the kernels' form.

    Parameters
    ----------
    bags : Bags
    counts : array
        (n_bags,) of class 1, (n_bags, n_classes), or `intervals`.
    noise : Noise, optional
        How the observed count of class 1 differs from the true one; None is exact.
    totals : {"match", "scale", "rest"}
        Whether counts add up to the bag (its rows, or the sum of its weights), are scaled to it keeping their
        shares, or leave a rest that becomes a last class.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.counts import observe
    >>> bags = Bags.from_arrays([np.zeros((3, 1)), np.zeros((2, 1))])
    >>> observe(bags, [1, 2]).observations.low
    array([1, 2])
    """
    checks.choice(totals, "totals", TOTALS)
    bags, array = as_bags(bags), np.asarray(counts)
    if array.shape[:1] != (len(bags),):
        raise DataError(f"There are {len(bags)} bags and counts of shape {array.shape}.")
    if array.dtype.names == ("low", "high"):
        return _ranges(bags, array, noise, totals)
    if noise is not None and not isinstance(noise, Exact):
        return _noisy(bags, array, noise, totals)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] < 2):
        raise DataError(
            f"counts has shape {array.shape}.",
            hint="(n_bags,) counts of class 1, or (n_bags, n_classes) for more classes.",
        )
    labels = [bags.ids] if array.ndim == 1 else [bags.ids, None]
    given = checks.counts(array, "counts", labels=labels)
    if bags.weighted:
        return _weighted(bags, given, totals)
    return _plain(bags, given, totals)


def _ranges(bags, array, noise, totals):
    if noise is not None and not isinstance(noise, Exact):
        raise DataError("Counts are given both as ranges and with noise.", hint="give one of the two.")
    _whole_bags_only(bags, totals, "Ranges of counts")
    _below(array["high"], bags.sizes, bags.ids, "rows")
    return Observed(exact_counts(array["low"].astype(np.int64), array["high"].astype(np.int64)), None)


def _noisy(bags, array, noise, totals):
    if type(noise) not in KINDS:
        raise DataError(f"noise is {noise!r}.", hint=f"one of {', '.join(k.__name__ for k in KINDS)}, or None.")
    if array.ndim != 1:
        raise DataError("Noisy counts are supported for two classes only.", hint="give the (n_bags,) count of class 1.")
    _whole_bags_only(bags, totals, "Noisy counts")
    seen = checks.finite(array, "counts", labels=[bags.ids])
    if isinstance(noise, (Poisson, Geometric)):
        whole = seen == np.floor(seen)
        if not whole.all() or (isinstance(noise, Poisson) and (seen < 0).any()):
            b = int(np.argmax(~whole | (seen < 0)))
            raise DataError(
                f"{type(noise).__name__} noise gives whole counts; bag {checks.plain(bags.ids[b])!r} has {seen[b]:g}."
            )
    scale = noise.rate if isinstance(noise, Poisson) else noise.scale
    return Observed(noisy_counts(KINDS[type(noise)], seen, scale, bags.sizes), None)


def _whole_bags_only(bags, totals, what):
    if bags.weighted or totals != "match":
        raise DataError(
            f"{what} are about the rows themselves; here rows carry weights or totals={totals!r}.",
            hint="repeat rows as often as they stand for people, and keep totals='match'.",
        )


def _below(counts, limits, ids, what):
    over = counts > limits * (1.0 + 1e-9)
    checks.nowhere(
        over,
        f"The count is above the bag's number of {what} in {{}} bags",
        lambda b: f"bag {checks.plain(ids[b])!r} has {counts[b]:g} of {limits[b]:g}",
        "totals='scale' keeps shares where counts are of a larger population.",
    )


def _plain(bags, given, totals):
    """Unweighted rows: each is one member."""
    sizes = bags.sizes
    if totals == "scale":
        if given.ndim == 1:
            raise DataError("totals='scale' needs the counts of all classes.", hint="give (n_bags, n_classes).")
        given = apportion(given, sizes).astype(float)
    given = _complete(bags, given, sizes.astype(float), totals)
    if given.ndim == 1 and given.size and given.max() <= 1.0 and (given % 1.0).any():
        raise DataError(
            f"counts is not a whole number but at most 1 in all {given.size} bags: these look like shares.",
            hint="np.rint(shares * bags.sizes) makes counts of them.",
        )
    checks.whole(given, "counts", labels=[bags.ids] if given.ndim == 1 else [bags.ids, None])
    if given.ndim == 1 or given.shape[1] == 2:
        return Observed(exact_counts((given if given.ndim == 1 else given[:, 1]).astype(np.int64)), None)
    return Observed(None, given.astype(np.int64))


def _weighted(bags, given, totals):
    """Rows that stand for several: counts of the weighted total, scaled to the number of rows."""
    sizes = bags.sizes
    sums = bags.total_weights
    ratio = np.divide(sizes, sums, out=np.zeros(len(bags)), where=sums > 0)
    if totals == "scale" and given.ndim == 2:
        given = apportion(given, sizes).astype(float)
    else:
        given = _complete(bags, given, sums, totals) * (ratio if given.ndim == 1 else ratio[:, None])
    multiplicity = bags.weights * np.repeat(ratio, sizes)
    if given.ndim == 1 or given.shape[1] == 2:
        one = given if given.ndim == 1 else given[:, 1]
        return Observed(exact_counts(np.minimum(one, sizes)), None, multiplicity)
    return Observed(None, given * (sizes / np.maximum(given.sum(axis=1), 1e-300))[:, None], multiplicity)


def _complete(bags, given, limits, totals):
    """Counts that make up the whole bag, or exactly a part of it that leaves a rest."""
    what = "members (the sum of its weights)" if bags.weighted else "rows"
    if given.ndim == 1:
        _below(given, limits, bags.ids, what)
        return given
    sums = given.sum(axis=1)
    if totals == "rest":
        _below(sums, limits, bags.ids, what)
        return np.column_stack([given, np.maximum(limits - sums, 0.0)])
    off = np.abs(sums - limits) > 1e-6 * np.maximum(limits, 1.0)
    checks.nowhere(
        off,
        "Class counts don't add up to the bag in {} bags",
        lambda b: f"bag {checks.plain(bags.ids[b])!r} has {limits[b]:g} {what} and counts that sum to {sums[b]:g}",
        "totals='scale' keeps shares; totals='rest' makes what is missing a last class (those who didn't vote).",
    )
    return given


def drop_empty(bags: Bags, counts: Any) -> tuple[Bags, np.ndarray]:
    """Leave out empty bags, with a warning that counts them."""
    array = np.asarray(counts)
    empty = bags.sizes == 0
    if not empty.any() or array.shape[:1] != (len(bags),):
        return bags, array
    if empty.all():
        raise DataError(f"All {len(bags)} bags are empty.")
    warnings.warn(f"{int(empty.sum())} of {len(bags)} bags are empty and were left out.", UserWarning, stacklevel=4)
    return bags[~empty], array[~empty]
