"""scikit-learn's grown trees, field by field; on the way back every index in them is checked.

A tree predicts in compiled code that follows its child and feature numbers unchecked, so that a forged
number would read foreign memory. Here a child comes after its parent, and a feature is one that the tree was
grown on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.storage.walk import Decoder, Encoder

MOST_THREADS = 4096  # beyond all machines; OpenMP ends the process where it can't start as many as it is asked for

MOST_DEGREES = 100  # of a polynomial; more are no use, and would take long to count


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a tree or a histogram tree; None for anything else."""
    name = type(value).__name__
    if name == "Tree" and type(value) is _tree_class():
        _, (n_features, n_classes, n_outputs), state = value.__reduce__()
        body = {"n_features": n_features, "n_classes": n_classes, "n_outputs": n_outputs, **state}
        body["nodes"] = {field: state["nodes"][field] for field in state["nodes"].dtype.names}
        return {"tree": encoder.named(body, where)}
    if name == "TreePredictor" and type(value) is _predictor_class():
        nodes = {field: value.nodes[field] for field in value.nodes.dtype.names}
        sets = {name: getattr(value, name) for name in ("binned_left_cat_bitsets", "raw_left_cat_bitsets")}
        return {"predictor": encoder.named({"nodes": nodes, **sets}, where)}
    return None


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode a tree or a histogram tree."""
    parts = decoder.named(body, where)
    return _tree(parts, where) if tag == "tree" else _predictor(parts, where)


def _tree(parts: dict[str, Any], where: str) -> Any:
    cls = _tree_class()
    n_features, n_outputs, n_classes = parts["n_features"], parts["n_outputs"], parts["n_classes"]
    nodes = _records(parts["nodes"], cls(1, np.array([1], dtype=np.intp), 1).__reduce__()[2]["nodes"].dtype, where)
    is_leaf = nodes["left_child"] == -1
    _check_children(nodes["left_child"], nodes["right_child"], is_leaf, where)
    used = nodes["feature"][~is_leaf]
    if type(n_features) is not int or np.any(used < 0) or np.any(used >= n_features):
        raise DataError(f"{where}: the file holds a tree that asks for a column it wasn't grown on.")
    good = n_outputs == len(n_classes) > 0 and n_classes.min() > 0
    if not good or not 0 <= parts["max_depth"] < len(nodes) or parts["node_count"] != len(nodes):
        raise DataError(f"{where}: the file holds a tree whose sizes disagree.")
    tree = cls(n_features, np.ascontiguousarray(n_classes, dtype=np.intp), n_outputs)
    state = {"max_depth": parts["max_depth"], "node_count": len(nodes), "nodes": nodes}
    tree.__setstate__({**state, "values": np.ascontiguousarray(parts["values"])})  # which checks their shape
    return tree


def _predictor(parts: dict[str, Any], where: str) -> Any:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes = _records(parts["nodes"], PREDICTOR_RECORD_DTYPE, where)
    is_leaf = nodes["is_leaf"].astype(bool)
    _check_children(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_leaf, where)
    if nodes["is_categorical"].any() or nodes["feature_idx"].min() < 0:
        raise DataError(f"{where}: the file holds a tree that splits by categories.")
    return _predictor_class()(nodes, parts["binned_left_cat_bitsets"], parts["raw_left_cat_bitsets"])


def _records(fields: Any, dtype: np.dtype, where: str) -> np.ndarray:
    """Put the fields of a tree's nodes together again."""
    if not isinstance(fields, dict) or list(fields) != list(dtype.names or ()):
        raise DataError(f"{where}: the file holds a tree of another version of scikit-learn.")
    arrays = {name: np.asarray(array) for name, array in fields.items()}
    n = arrays[next(iter(arrays))].size
    if n == 0 or any(a.shape != (n,) or a.dtype != dtype[name] for name, a in arrays.items()):
        raise DataError(f"{where}: the file holds a tree with nodes of the wrong type or number.")
    nodes = np.zeros(n, dtype=dtype)
    for name, array in arrays.items():
        nodes[name] = array
    return nodes


def _check_children(left: np.ndarray, right: np.ndarray, is_leaf: np.ndarray, where: str) -> None:
    own = np.arange(len(left))
    for child in (left, right):
        if np.any((child <= own)[~is_leaf]) or np.any((child >= len(own))[~is_leaf]):
            raise DataError(f"{where}: the file holds a tree whose branches lead nowhere.")


def _tree_class() -> Any:
    from sklearn.tree._tree import Tree

    return Tree


def _predictor_class() -> Any:
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    return TreePredictor


def check(estimator: Any, where: str) -> None:
    """Refuse an estimator whose learned parts don't have the sizes that its compiled code relies on."""
    # Trees refer to columns by number, so they must have been grown on as many as the estimator accepts
    n_features = getattr(estimator, "n_features_in_", None)
    widths = {int(member.n_features_in_) for member in getattr(estimator, "estimators_", [])}
    if hasattr(estimator, "tree_"):
        widths.add(estimator.tree_.n_features)
    if widths and widths != {n_features}:
        raise DataError(f"{where}: the file holds trees on {sorted(widths)} features for {n_features} columns.")
    if hasattr(estimator, "n_outputs_"):
        members = (estimator, *getattr(estimator, "estimators_", ()))
        trees = [member.tree_ for member in members if hasattr(member, "tree_")]
        said = estimator.n_outputs_, np.max(getattr(estimator, "n_classes_", 1))
        if any((tree.n_outputs, np.max(tree.n_classes)) != said for tree in trees):
            raise DataError(f"{where}: the file holds trees of another number of outputs or classes than it says.")
    steps = getattr(estimator, "_predictors", [])
    if steps and {len(step) for step in steps} != {getattr(estimator, "n_trees_per_iteration_", None)}:
        raise DataError(f"{where}: the file holds another number of trees than it says.")
    for predictor in [p for step in steps for p in step]:
        if type(n_features) is not int or predictor.nodes["feature_idx"].max() >= n_features:
            raise DataError(f"{where}: the file holds a tree on more than {n_features} columns.")
    needed = CHECKS.get(type(estimator).__name__)
    if needed is not None:
        needed(estimator, where)


def _check_constant(estimator: Any, where: str) -> None:
    if hasattr(estimator, "constant_") and np.shape(estimator.constant_) != (1, estimator.n_outputs_):
        raise DataError(f"{where}: the file says {estimator.n_outputs_} outputs, and holds another number.")


def _check_levels(estimator: Any, where: str) -> None:
    """Columns of a one-hot encoding: at most one for each level, and one for the rare ones."""
    most = [len(levels) + 1 for levels in getattr(estimator, "categories_", [])]
    made = getattr(estimator, "_n_features_outs", [])
    if len(made) > len(most) or any(not 0 <= n <= m for n, m in zip(made, most)):
        raise DataError(f"{where}: the file says {made} columns, and holds {most} levels.")


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
        raise DataError(f"{where}.{name}: the file holds {held}, where {shape} of floats is needed.")


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
