"""What scikit-learn's compiled code takes on trust when it predicts or goes on training, checked once.

That code doesn't ask whether the centres of a k-means have as many columns as the data that it let in; an
estimator that was fitted is right, one from a forged file need not be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import DataError

MOST_THREADS = 4096  # beyond all machines; OpenMP ends the process where it can't start as many as it is asked for

MOST_DEGREES = 100  # of a polynomial; more are no use, and would take long to count


def check(estimator: Any, where: str) -> None:
    """Refuse an estimator whose learned parts don't have the sizes that its compiled code relies on."""
    # Trees refer to columns by number, so they must have been grown on as many as the estimator accepts
    n_features = getattr(estimator, "n_features_in_", None)
    widths = {int(member.n_features_in_) for member in getattr(estimator, "estimators_", [])}
    if hasattr(estimator, "tree_"):
        widths.add(estimator.tree_.n_features)
    if widths and widths != {n_features}:
        raise DataError(f"{where}: the file contains trees on {sorted(widths)} features for {n_features} columns.")
    if hasattr(estimator, "n_outputs_"):
        members = (estimator, *getattr(estimator, "estimators_", ()))
        trees = [member.tree_ for member in members if hasattr(member, "tree_")]
        said = estimator.n_outputs_, np.max(getattr(estimator, "n_classes_", 1))
        if any((tree.n_outputs, np.max(tree.n_classes)) != said for tree in trees):
            raise DataError(
                f"{where}: the file contains trees whose number of outputs or classes isn't the one it states."
            )
    steps = getattr(estimator, "_predictors", [])
    if steps and {len(step) for step in steps} != {getattr(estimator, "n_trees_per_iteration_", None)}:
        raise DataError(f"{where}: the file contains another number of trees than it says.")
    for predictor in [p for step in steps for p in step]:
        if type(n_features) is not int or predictor.nodes["feature_idx"].max() >= n_features:
            raise DataError(f"{where}: the file contains a tree on more than {n_features} columns.")
    needed = CHECKS.get(type(estimator).__name__)
    if needed is not None:
        needed(estimator, where)


def _check_constant(estimator: Any, where: str) -> None:
    if hasattr(estimator, "constant_") and np.shape(estimator.constant_) != (1, estimator.n_outputs_):
        raise DataError(f"{where}: the file says {estimator.n_outputs_} outputs, and contains another number.")


def _check_levels(estimator: Any, where: str) -> None:
    """Columns of a one-hot encoding: at most one for each level, and one for the rare ones."""
    most = [len(levels) + 1 for levels in getattr(estimator, "categories_", [])]
    made = getattr(estimator, "_n_features_outs", [])
    if len(made) > len(most) or any(not 0 <= n <= m for n, m in zip(made, most)):
        raise DataError(f"{where}: the file says {made} columns, and contains {most} levels.")


def _check_polynomials(estimator: Any, where: str) -> None:
    """As many products of columns as the degree gives: memory is taken for each."""
    degree = getattr(estimator, "_max_degree", None)
    if degree is None:
        return  # not fitted
    if type(degree) is not int or not 0 <= degree <= MOST_DEGREES or type(estimator.n_features_in_) is not int:
        raise DataError(f"{where}: the file asks for polynomials of degree {degree!r}.")
    kind = {"interaction_only": estimator.interaction_only, "include_bias": estimator.include_bias}
    made = estimator._num_combinations(  # noqa: SLF001
        n_features=estimator.n_features_in_, min_degree=0, max_degree=degree, **kind
    )
    said = estimator._n_out_full, estimator.n_output_features_  # noqa: SLF001
    if said[0] != made or not 0 <= said[1] <= made:
        raise DataError(f"{where}: the file says {said[0]} and {said[1]} products of columns; there are {made}.")


def _check_centres(estimator: Any, where: str) -> None:
    if hasattr(estimator, "cluster_centers_"):
        shape = (estimator.n_clusters, estimator.n_features_in_)
        _check_shape(estimator, "cluster_centers_", shape, where)
        threads = getattr(estimator, "_n_threads", 1)
        if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
            raise DataError(f"{where}: the file asks for {threads!r} threads.")
        if hasattr(estimator, "_counts"):
            _check_shape(estimator, "_counts", shape[:1], where)


def _check_weights(estimator: Any, where: str) -> None:
    """A linear model that can go on training: every array of weights has the shape of the others."""
    if not hasattr(estimator, "coef_"):
        return
    rows: tuple[int, ...] = ()
    intercepts: tuple[int, ...] = (1,)
    if hasattr(estimator, "classes_"):
        rows = intercepts = (1 if len(estimator.classes_) == 2 else len(estimator.classes_),)
    for name, value in vars(estimator).items():
        if "coef" in name and value is not None:
            _check_shape(estimator, name, (*rows, estimator.n_features_in_), where)
        if "intercept" in name and name != "fit_intercept" and value is not None:
            _check_shape(estimator, name, intercepts, where)


def _check_shape(estimator: Any, name: str, shape: tuple[int, ...], where: str) -> None:
    value = getattr(estimator, name)
    if not isinstance(value, np.ndarray) or value.dtype not in (np.float32, np.float64) or value.shape != shape:
        held = f"shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError(f"{where}.{name}: the file contains {held}, where {shape} of floats is needed.")


CHECKS: dict[str, Callable[[Any, str], None]] = {
    "DummyRegressor": _check_constant,
    "KMeans": _check_centres,
    "MiniBatchKMeans": _check_centres,
    "OneHotEncoder": _check_levels,
    "PolynomialFeatures": _check_polynomials,
    "SGDClassifier": _check_weights,
    "SGDRegressor": _check_weights,
}
"""Classes whose sizes compiled code relies on, and how they are checked."""
