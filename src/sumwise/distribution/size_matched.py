"""SizeMatched: bags are predicted by models that learned from bags of their own size."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import fresh
from sumwise.distribution.kernel_ridge import BagKernelRidge
from sumwise.distribution.regressor import BagRegressor
from sumwise.fit import Fit

MAX_BAGS, N_LANDMARKS = 1200, 600  # of the default estimator: a second per size
MIN_BAGS = 50  # bags to learn from at a size, or a quarter of all


@dataclass(eq=False, repr=False)
class SizeMatched(BagRegressor):
    """Learn one model per size on training bags subsampled to it, and predict each bag by the model of its size.

    A bag of five rows and one of a thousand carry different information: a model that learned from large bags trusts
    a small one too much. Large training bags, cut into several small ones, also teach the model for small sizes.

    Parameters
    ----------
    estimator : BagRegressor, default BagKernelRidge(max_bags=1200, n_landmarks=600)
        What is fitted at each size: kernel ridge with a Wasserstein kernel, on landmarks where subsamples are many.
    n_sizes : int, default 8
        Sizes of the training bags are used as they are if there are at most this many, else a geometric grid of that
        many. Fifty bags at least, or a quarter of all, are as large as the largest size that is used.
    n_copies : int, default 10
        A training bag gives up to this many disjoint subsamples, which are left out together when settings are chosen.
    max_bags : int, default 8000
        The most subsamples per size; every bag contributes about as many.
    random_state : int, numpy.random.Generator or None, default None

    Attributes
    ----------
    sizes_ : array of int
    models_ : list of BagRegressor
        One per size; a bag goes to the nearest size on the logarithmic scale.

    See Also
    --------
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.
    ShrunkEmbedding : Posterior means of bags' vectors: what is seen of a bag of n rows has noise of covariance within
        / n.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import SizeMatched
    >>> train = synthetic.gamma(60, 50, small=0.25, random_state=0)
    >>> SizeMatched(random_state=0).fit(train.bags, train.response).sizes_
    array([  5,  20,  50, 100])
    """

    estimator: BagRegressor | None = None
    n_sizes: int = 8
    n_copies: int = 10
    max_bags: int = 8000
    random_state: Any = None

    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None) -> None:
        for name in ("n_sizes", "n_copies", "max_bags"):
            checks.at_least(getattr(self, name), name, 1)
        rng = checks.generator(self.random_state)
        given = BagKernelRidge(max_bags=MAX_BAGS, n_landmarks=N_LANDMARKS) if self.estimator is None else self.estimator
        kin = np.arange(len(bags)) if groups is None else groups
        self.sizes_ = _grid(bags.sizes, kin, int(self.n_sizes))
        seed = int(rng.integers(2**31))
        self.models_ = []
        for size in self.sizes_.tolist():
            part, owner = subsampled(bags, size, int(self.n_copies), int(self.max_bags), rng=rng)
            model = fresh(given, BagKernelRidge, None, BagRegressor)
            for name in ("random_state", "embedding__random_state", "kernel__random_state"):
                if name in model.get_params() and model.get_params()[name] is None:
                    model.set_params(**{name: seed})
            beside: dict[str, Any] = {"groups": kin[owner]}
            if weights is not None:
                beside["sample_weight"] = weights[owner]
            taken = inspect.signature(model.fit).parameters
            self.models_.append(model.fit(part, y[owner], **{k: v for k, v in beside.items() if k in taken}))
        errors = [float(np.mean(model.loo_error_)) for model in self.models_ if hasattr(model, "loo_error_")]
        history = {"error": errors}
        self.fit_ = Fit(None, float(np.mean(errors or [np.nan])), None, len(self.models_), True, history)

    def _predict(self, bags: Bags) -> np.ndarray:
        sizes = np.log(np.maximum(bags.sizes, 1))
        nearest = np.abs(sizes[:, None] - np.log(self.sizes_)).argmin(axis=1)
        order, parts = [], []
        for k in np.unique(nearest).tolist():
            chosen = np.flatnonzero(nearest == k)
            order.append(chosen)
            parts.append(self.models_[k].predict(bags[chosen]).reshape(len(chosen), -1))
        return np.concatenate(parts)[np.argsort(np.concatenate(order))]


def _grid(sizes: np.ndarray, kin: np.ndarray, n: int) -> np.ndarray:
    """Sizes to learn at: those there are, or a geometric grid, as far as enough groups have bags as large."""
    enough = max(3, min(MIN_BAGS, len(np.unique(kin)) // 4))
    distinct = np.unique(sizes)
    distinct = distinct[[len(np.unique(kin[sizes >= size])) >= enough for size in distinct]]
    if len(distinct) <= n:
        return distinct
    return np.unique(np.rint(np.geomspace(distinct[0], distinct[-1], n)).astype(np.int64))


def subsampled(
    bags: Bags, size: int, n_copies: int, max_bags: int, *, rng: np.random.Generator
) -> tuple[Bags, np.ndarray]:
    """Return disjoint subsamples of `size` rows of every bag that has as many, and the bag that each came from.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution.size_matched import subsampled
    >>> bags = Bags.from_arrays([[1.0, 2.0, 3.0, 4.0, 5.0], [6.0]])
    >>> part, owner = subsampled(bags, 2, 9, 9, rng=np.random.default_rng(0))
    >>> part.sizes, owner
    (array([2, 2]), array([0, 0]))
    """
    enough = np.flatnonzero(bags.sizes >= size)
    copies = np.minimum(bags.sizes[enough] // size, max(1, min(n_copies, max_bags // len(enough))))
    owner = np.repeat(enough, copies)
    rows = [bags.offsets[i] + rng.permutation(int(bags.sizes[i]))[: c * size] for i, c in zip(enough, copies)]
    return bags.regrouped(np.concatenate(rows), np.arange(len(owner) + 1) * size), owner
