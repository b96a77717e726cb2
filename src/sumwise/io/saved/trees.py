"""scikit-learn's grown trees, field by field; on the way back every index in them is checked.

A tree predicts in compiled code that follows its child and feature numbers unchecked, so that a forged
number would read foreign memory. Here a child comes after its parent, and a feature is one that the tree was
grown on. skops (0.16) audits types, not these numbers: a forged tree that it loads ends the process when it predicts,
and its files of one model differ each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder


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
        raise DataError(f"{where}: the file contains a tree that asks for a column it wasn't grown on.")
    good = n_outputs == len(n_classes) > 0 and n_classes.min() > 0
    if not good or not 0 <= parts["max_depth"] < len(nodes) or parts["node_count"] != len(nodes):
        raise DataError(f"{where}: the file contains a tree whose sizes disagree.")
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
        raise DataError(f"{where}: the file contains a tree that splits by categories.")
    return _predictor_class()(nodes, parts["binned_left_cat_bitsets"], parts["raw_left_cat_bitsets"])


def _records(fields: Any, dtype: np.dtype, where: str) -> np.ndarray:
    """Put the fields of a tree's nodes together again."""
    if not isinstance(fields, dict) or list(fields) != list(dtype.names or ()):
        raise DataError(f"{where}: the file contains a tree of another version of scikit-learn.")
    arrays = {name: np.asarray(array) for name, array in fields.items()}
    n = arrays[next(iter(arrays))].size
    if n == 0 or any(a.shape != (n,) or a.dtype != dtype[name] for name, a in arrays.items()):
        raise DataError(f"{where}: the file contains a tree with nodes of the wrong type or number.")
    nodes = np.zeros(n, dtype=dtype)
    for name, array in arrays.items():
        nodes[name] = array
    return nodes


def _check_children(left: np.ndarray, right: np.ndarray, is_leaf: np.ndarray, where: str) -> None:
    own = np.arange(len(left))
    for child in (left, right):
        if np.any((child <= own)[~is_leaf]) or np.any((child >= len(own))[~is_leaf]):
            raise DataError(f"{where}: the file contains a tree whose branches lead nowhere.")


def _tree_class() -> Any:
    from sklearn.tree._tree import Tree

    return Tree


def _predictor_class() -> Any:
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    return TreePredictor
