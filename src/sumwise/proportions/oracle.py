"""Oracle: a regression on individual labels, which the other methods don't see."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags, as_bags
from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier, constant_start
from sumwise.proportions.shares import BagShares


def label_bags(bags: Bags, labels: Any) -> np.ndarray:
    """Individual labels as an array with one entry per bag, the labels of its members: what `Oracle` is fitted to.

    Such an array can be indexed by bag, so cross-validation splits it with the bags.

    Parameters
    ----------
    bags : Bags
    labels : array of shape (n_rows,)
        Class index of each row.

    See Also
    --------
    Oracle : The classifier that sees individual labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import label_bags
    >>> label_bags(Bags(np.zeros((3, 1)), np.array([0, 2, 3])), [0, 1, 1]).tolist()
    [array([0, 1]), array([1])]
    """
    bags = as_bags(bags)
    flat = checks.whole(labels, "labels", ndim=1, allow_bool=True).astype(np.int64)
    if flat.size != bags.n_rows:
        raise DataError(
            f"There are {bags.n_rows} rows and {flat.size} labels.",
            hint="give the class of each row, not counts per bag.",
        )
    out = np.empty(len(bags), dtype=object)
    out[:] = np.split(flat, bags.offsets[1:-1])
    return out


@dataclass(eq=False, repr=False)
class Oracle(ShareClassifier):
    """Logistic (softmax) regression on the labels of individuals: the best that a linear model could do.

    Not a method for bags: it shows what aggregation costs.

    Parameters
    ----------
    penalty : float >= 0 or "auto", default "auto"
        ``penalty / 2`` times the squared coefficients (intercepts are free) is subtracted from the log-likelihood.
        ``"auto"`` is 1 for columns in standard deviations, whatever their units.
    totals : {"match", "scale", "rest"}, default "match"
        How `score` and `posterior` read counts, as in `CardinalityClassifier`; `fit` takes labels.
    max_iter : int >= 1, default 300
    tol : float > 0, default 1e-4

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
    fit_ : Fit

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import Oracle, label_bags
    >>> bags = Bags.from_arrays([np.array([[0.0], [1.0]]), np.array([[1.0], [5.0]]), np.array([[5.0], [6.0]])])
    >>> Oracle().fit(bags, label_bags(bags, [0, 0, 0, 1, 1, 1])).predict([[2.0], [4.0]])
    array([0, 1])
    """

    _: KW_ONLY
    tol: float = 1e-4

    def _penalty(self, data: BagShares) -> Any:
        return centre_and_scale(data.values)[1] ** 2 if isinstance(self.penalty, str) else super()._penalty(data)

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, bags: Bags, labels: Any, sample_weight: Any = None
    ) -> Oracle:
        """Fit to rows and their labels.

        Parameters
        ----------
        bags : Bags
        labels : array of shape (n_rows,), or `label_bags`
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: weight 2 is the same as giving the bag twice.
        """
        flat = _flat(bags, labels)
        self._check()
        n_classes = max(2, int(flat.max(initial=0)) + 1)
        weights = bags.weights * np.repeat(checks.bag_weights(bags, sample_weight), bags.sizes)
        absent = np.flatnonzero(np.bincount(flat, weights=weights, minlength=n_classes) <= 0)
        if absent.size:
            listed = ", ".join(str(c) for c in absent[:3]) + (", ..." if absent.size > 3 else "")
            raise DataError(
                f"Class {listed} has no member among {bags.n_rows} rows.",
                hint="number the classes from 0, without gaps.",
            )
        values = np.ascontiguousarray(self._learn_columns(bags).values, dtype=np.float64)
        rows = BagShares(values, np.arange(len(values) + 1), weights, np.eye(n_classes)[flat])
        self.fitted_columns_ = n_classes > 2
        self._learn(rows)
        return self

    def score(self, bags: Bags, counts: Any, sample_weight: Any = None) -> float:
        """Mean log-likelihood per bag of its counts, given as counts or as `label_bags`."""
        if np.asarray(counts).dtype == object:
            marks = np.eye(self._fitted().n_classes_)[_flat(bags, counts)] * bags.weights[:, None]
            counts = bags.sums(marks)
        return super().score(bags, counts, sample_weight)

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        problem = LinearProblem(data.rows, ShareLikelihood(data.shares, data.weights), penalty, data.n_classes)
        return maximise(problem, constant_start(data), self.tol, self.max_iter)


def _flat(bags: Bags, labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    if array.dtype == object and isinstance(bags, Bags):
        if len(array) != len(bags) or [len(part) for part in array] != bags.sizes.tolist():
            raise DataError("labels doesn't have one entry per member of each bag.", hint="label_bags(bags, labels).")
        array = np.concatenate(list(array))
    return np.concatenate(list(label_bags(bags, array)))
