"""Cross-validation by bag: whole bags, bags stratified by their shares, bags in blocks of the map."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.errors import DataError

__all__ = ["BagKFold", "SpatialBagKFold", "StratifiedBagKFold"]


@dataclass(eq=False)
class BagKFold(BaseCrossValidator):
    """Folds of whole bags with about equally many rows each, for scikit-learn's ``cv=``.

    Parameters
    ----------
    n_splits : int >= 2, default 5
    random_state : int, Generator or None, default 0

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import BagKFold
    >>> bags = Bags(np.zeros((12, 1)), [0, 6, 8, 10, 12])
    >>> [test.tolist() for _, test in BagKFold(2).split(bags)]
    [[0], [1, 2, 3]]
    """

    n_splits: int = 5
    _: KW_ONLY
    random_state: Any = 0

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Number of folds."""
        del X, y, groups
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
        """Yield positions of training and of test bags.

        Parameters
        ----------
        X : Bags
        y : array of shape (n_bags,) or (n_bags, n_classes), optional
            Counts; stratification needs them.
        groups : ignored
        """
        del groups
        checks.at_least(self.n_splits, "n_splits", 2)
        if len(X) < self.n_splits:
            raise DataError(f"{len(X)} bags can't make {self.n_splits} folds.", hint="take fewer folds.")
        rng = checks.generator(self.random_state)
        folds = self._folds(X, y, rng)
        for fold in range(self.n_splits):
            yield self._training(folds, fold), np.flatnonzero(folds == fold)

    def _repr_html_(self) -> str:
        first = (type(self).__doc__ or "").strip().split("\n")[0]
        return finding_html(f"{type(self).__name__}, {self.n_splits} folds of whole bags. {first}")

    def _folds(self, bags: Any, counts: Any, rng: np.random.Generator) -> np.ndarray:
        del counts
        sizes = bags.sizes if isinstance(bags, Bags) else np.ones(len(bags))
        return _balanced(sizes, self.n_splits, rng)

    def _training(self, folds: np.ndarray, fold: int) -> np.ndarray:
        return np.flatnonzero(folds != fold)


class StratifiedBagKFold(BagKFold):
    """Folds of whole bags, each with bags from the whole range of class shares.

    Bags are ordered by their share of class 1 (of more classes: along the direction in which shares differ most), and
    each run of ``n_splits`` neighbours is dealt out, one to a fold.

    Parameters
    ----------
    n_splits : int >= 2, default 5
    random_state : int, Generator or None, default 0

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import StratifiedBagKFold
    >>> bags, counts = Bags(np.zeros((40, 1)), np.arange(0, 41, 10)), np.array([1, 9, 2, 8])
    >>> [bool(8 < counts[test].sum() < 12) for _, test in StratifiedBagKFold(2).split(bags, counts)]
    [True, True]
    """

    def _folds(self, bags: Any, counts: Any, rng: np.random.Generator) -> np.ndarray:
        if counts is None:
            raise DataError("Bags are stratified by their counts, and none are given.", hint="split(bags, counts).")
        order = np.argsort(_along(bags, counts), kind="stable")
        folds = np.empty(len(order), dtype=np.int64)
        for begin in range(0, len(order), self.n_splits):
            run = order[begin : begin + self.n_splits]
            folds[run] = rng.permutation(self.n_splits)[: len(run)]
        return folds


@dataclass(eq=False)
class SpatialBagKFold(BagKFold):
    """Folds of neighbouring bags: test bags are apart from training bags.

    Neighbouring bags are alike, so that random folds flatter. Bags are gathered into blocks by their places (k-means),
    and whole blocks go to a fold.

    Parameters
    ----------
    n_splits : int >= 2, default 5
    coordinates : array of shape (n_bags, n_dims), or list of features, optional
        Places of the bags; or columns of the bags whose mean is the bag's place. Default: ``groups`` of `split`.
    n_blocks : int, optional
        Blocks of the map; default as many as folds.
    buffer : float >= 0, default 0
        Training bags nearer than this to a test bag are left out.
    random_state : int, Generator or None, default 0

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import SpatialBagKFold
    >>> bags = Bags(np.zeros((4, 1)), np.arange(5))
    >>> places = [[0, 0], [9, 9], [0, 1], [9, 8]]
    >>> sorted(test.tolist() for _, test in SpatialBagKFold(2, coordinates=places).split(bags))
    [[0, 2], [1, 3]]
    """

    coordinates: Any = None
    n_blocks: int | None = None
    buffer: float = 0.0

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
        """Yield positions of training and of test bags.

        Parameters
        ----------
        X : Bags
        y : ignored
        groups : array of shape (n_bags, n_dims), optional
            Places of the bags, where ``coordinates`` has none.
        """
        checks.at_least(self.buffer, "buffer", 0.0, whole_number=False)
        self._places = self._located(X, groups)
        yield from super().split(X, y)

    def _located(self, bags: Any, groups: Any) -> np.ndarray:
        places = groups if self.coordinates is None else self.coordinates
        if places is None:
            raise DataError("The bags have no places.", hint="coordinates=(n_bags, 2) array, or names of features.")
        if isinstance(places, (list, tuple)) and all(isinstance(name, str) for name in places):
            for name in places:
                checks.known(name, bags.features, "feature")
            return _means(bags, [list(bags.features).index(name) for name in places])
        if np.asarray(places).dtype.kind in "OSU":
            raise DataError(
                "coordinates are names, not numbers.",
                hint="for features of the bags give a list of names; to hold out whole regions by their names take "
                "scikit-learn's GroupKFold with groups=names.",
            )
        places = checks.finite(places, "coordinates")
        places = places[:, None] if places.ndim == 1 else places
        if places.shape[0] != len(bags) or places.ndim != 2:
            raise DataError(
                f"coordinates has shape {places.shape}; there are {len(bags)} bags.",
                hint="one row per bag; inside another cross-validation name features, which go with the bags.",
            )
        return places

    def _folds(self, bags: Any, counts: Any, rng: np.random.Generator) -> np.ndarray:
        from sklearn.cluster import KMeans

        del bags, counts  # places decide
        n_blocks = self.n_splits if self.n_blocks is None else self.n_blocks
        checks.at_least(n_blocks, "n_blocks", self.n_splits)
        distinct = len(np.unique(self._places, axis=0))
        if distinct < n_blocks:
            raise DataError(f"{distinct} distinct places can't make {n_blocks} blocks.", hint="take fewer.")
        seed = int(rng.integers(2**31))
        block = KMeans(n_blocks, random_state=seed).fit_predict(self._places)
        return _balanced(np.bincount(block, minlength=n_blocks), self.n_splits, rng)[block]

    def _training(self, folds: np.ndarray, fold: int) -> np.ndarray:
        outside = np.flatnonzero(folds != fold)
        if self.buffer == 0.0:
            return outside
        from scipy.spatial import KDTree

        distance, _ = KDTree(self._places[folds == fold]).query(self._places[outside])
        far_enough = outside[distance >= self.buffer]
        if not len(far_enough):
            shown = f"Every training bag is nearer than {self.buffer:g} to a test bag."
            raise DataError(shown, hint="take a smaller buffer.")
        return far_enough


def _means(bags: Bags, columns: list[int]) -> np.ndarray:
    """Mean of some columns over each bag's rows."""
    hint = "leave them out, or give coordinates as an array."
    checks.nowhere(bags.sizes == 0, "{} bags are empty and have no place", lambda i: f"bag {bags.ids[i]}", hint)
    values = np.asarray(bags.values[:, columns], dtype=float)
    return np.add.reduceat(values, bags.offsets[:-1], axis=0) / bags.sizes[:, None]


def _balanced(sizes: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """A fold for each item, largest first, each to the fold that is emptiest; ties at random."""
    folds, filled, held = np.empty(len(sizes), np.int64), np.zeros(n_folds), np.zeros(n_folds)
    shuffled = rng.permutation(len(sizes))
    for i in shuffled[np.argsort(-np.asarray(sizes)[shuffled], kind="stable")]:
        fold = int(np.lexsort((held, filled))[0])
        folds[i] = fold
        filled[fold] += sizes[i]
        held[fold] += 1
    return folds


def _along(bags: Any, counts: Any) -> np.ndarray:
    """One number per bag, by which alike shares are near."""
    array = np.asarray(counts)
    if array.dtype.names is not None:
        array = 0.5 * (array["low"] + array["high"])
    array = checks.finite(array, "counts")
    checks.same_length(bags=bags, counts=array)
    if array.ndim == 1:
        return array / np.maximum(bags.sizes if isinstance(bags, Bags) else 1.0, 1)
    shares = array / np.maximum(array.sum(axis=1, keepdims=True), 1e-300)
    if shares.shape[1] == 2:
        return shares[:, 1]
    centred = shares - shares.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
