"""Trees: the same nodes back, and a forged index never reaches compiled code."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from messages import raises
from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + X[:, 1] ** 2


def encoded(value):
    """Encode; the arrays are put where the tree names them, so that a test can change them."""
    encoder = Encoder()
    tree = encoder.encode(value, "x")
    arrays = {f"array-{i}.npy": np.array(a) for i, a in enumerate(encoder.arrays)}
    return tree, arrays


def decoded(tree, arrays):
    return Decoder(arrays.__getitem__).decode(tree, "x")


def grown():
    return DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)


def boosted():
    return HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, Y)


def test_every_field_of_every_node_comes_back():
    two = DecisionTreeClassifier(max_depth=3).fit(X, np.c_[Y > 0, Y > 1].astype(int))  # two outputs
    for before in (grown().tree_, two.tree_):
        after = decoded(*encoded(before))
        state, expected = after.__getstate__(), before.__getstate__()
        assert {k: state[k] for k in ("max_depth", "node_count")} == {
            k: expected[k] for k in ("max_depth", "node_count")
        }
        for field in expected["nodes"].dtype.names:
            np.testing.assert_array_equal(state["nodes"][field], expected["nodes"][field])
        assert state["values"].tobytes() == expected["values"].tobytes()


def test_predictor_comes_back():
    before = boosted()._predictors[0][0]
    after = decoded(*encoded(before))
    assert type(after) is type(before)
    np.testing.assert_array_equal(after.nodes, before.nodes)


def nodes_of(tree, arrays, field):
    """The array of one field of the nodes."""
    body = tree.get("tree") or tree["predictor"]
    return arrays[body["nodes"]["dict"][field]["array"]]


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("left_child", 10**9, ("file-holds-tree-whose-branches",)),
        ("right_child", 10**9, ("file-holds-tree-whose-branches",)),
        ("left_child", 0, ("file-holds-tree-whose-branches",)),  # a circle
        ("right_child", -5, ("file-holds-tree-whose-branches",)),
        ("right_child", -1, ("file-holds-tree-whose-branches",)),
        ("feature", 3, ("file-holds-tree-asks",)),
        ("feature", -7, ("file-holds-tree-asks",)),
    ],
)
def test_forged_nodes_of_a_tree_are_refused(field, value, match):
    tree, arrays = encoded(grown().tree_)
    nodes_of(tree, arrays, field)[0] = value
    with raises(DataError, *match):
        decoded(tree, arrays)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("max_depth", 10**12),
        ("max_depth", -1),
        ("node_count", 3),
        ("n_outputs", 2),
        ("n_outputs", 0),
        ("n_features", 2.5),
        ("n_features", None),
        ("values", {"tuple": [1]}),
        ("nodes", {"dict": {}}),
        ("nodes", 3),
        ("n_classes", []),
    ],
)
def test_forged_sizes_of_a_tree_are_refused(part, value):
    tree, arrays = encoded(grown().tree_)
    tree["tree"][part] = value
    with pytest.raises(DataError):
        decoded(tree, arrays)


def test_fields_of_another_type_or_length_are_refused():
    tree, arrays = encoded(grown().tree_)
    for change in (lambda a: a.astype("f4"), lambda a: a[:-1], lambda a: a[None]):
        name = tree["tree"]["nodes"]["dict"]["threshold"]["array"]
        changed = {**arrays, name: change(arrays[name])}
        with raises(DataError, "file-holds-tree-nodes"):
            decoded(tree, changed)
    name = tree["tree"]["values"]["array"]
    with raises(DataError, "file-holds-no-valid", "tree"):
        decoded(tree, {**arrays, name: arrays[name][:-1]})


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 2**31), ("right", 0), ("is_categorical", 1), ("feature_idx", -1)],
)
def test_forged_nodes_of_a_predictor_are_refused(field, value):
    tree, arrays = encoded(boosted()._predictors[0][0])
    nodes_of(tree, arrays, field)[0] = value
    with pytest.raises(DataError):
        decoded(tree, arrays)


def test_another_number_of_trees_than_the_file_says_is_refused():
    model = boosted()
    model.n_trees_per_iteration_ = 2**31
    tree, arrays = encoded(model)
    with raises(DataError, "file-holds-another"):
        decoded(tree, arrays)
