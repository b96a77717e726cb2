"""Sizes that compiled code relies on are checked when an estimator is loaded."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

from messages import raises
from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + X[:, 1] ** 2


def encoded(value):
    encoder = Encoder()
    return encoder.encode(value, "x"), {f"array-{i}.npy": np.array(a) for i, a in enumerate(encoder.arrays)}


def decoded(tree, arrays):
    return Decoder(arrays.__getitem__).decode(tree, "x")


def grown():
    return DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)


def boosted():
    return HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, Y)


def forest():
    return RandomForestClassifier(2).fit(X, Y > 0)


def clusters():
    return KMeans(4, n_init=1, random_state=0).fit(X)


def running_clusters():
    return MiniBatchKMeans(4, n_init=1, random_state=0).partial_fit(X)


def classifier():
    return SGDClassifier(average=True, random_state=0).fit(X, np.digitize(Y, [0, 1]))


def two_classes():
    return SGDClassifier(random_state=0).fit(X, Y > 0)


def regressor():
    return SGDRegressor(average=True, random_state=0).fit(X, Y)


ALL = [grown, boosted, forest, clusters, running_clusters, classifier, two_classes, regressor]


@pytest.mark.parametrize("make", ALL)
def test_fitted_estimator_passes(make):
    model = make()
    np.testing.assert_array_equal(decoded(*encoded(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("make", [classifier, regressor, running_clusters])
def test_training_goes_on_to_the_same_bits(make):
    before = make()
    after = decoded(*encoded(before))
    target = np.digitize(Y, [0, 1]) if make is classifier else Y
    np.testing.assert_array_equal(after.partial_fit(X, target).predict(X), before.partial_fit(X, target).predict(X))


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("columns", [1, 5, None, "3"])
def test_other_number_of_columns_is_refused(make, columns):
    tree, arrays = encoded(make())
    tree["scikit"]["attributes"]["n_features_in_"] = columns
    if columns == 5 and make is boosted:  # trees that use fewer columns than there are do no harm
        assert decoded(tree, arrays).n_features_in_ == 5
        return
    with raises(DataError, "file-holds-floats|file-holds-tree|file-holds-trees"):
        decoded(tree, arrays)


@pytest.mark.parametrize("make", ALL)
def test_unknown_number_of_columns_is_refused(make):
    tree, arrays = encoded(make())
    del tree["scikit"]["attributes"]["n_features_in_"]
    with pytest.raises(DataError):
        decoded(tree, arrays)


@pytest.mark.parametrize("threads", [-5, 0, 10**6, "many", None])
def test_other_numbers_of_threads_are_refused(threads):
    """With -5 of them OpenMP ended the process that predicted."""
    tree, arrays = encoded(clusters())
    tree["scikit"]["attributes"]["_n_threads"] = threads
    with raises(DataError, "file-asks-threads"):
        decoded(tree, arrays)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (clusters, "cluster_centers_"),
        (running_clusters, "_counts"),
        (classifier, "coef_"),
        (classifier, "intercept_"),
        (classifier, "_average_coef"),
        (two_classes, "coef_"),
        (regressor, "coef_"),
        (regressor, "intercept_"),
        (regressor, "_standard_coef"),
    ],
)
def test_arrays_of_another_shape_or_type_are_refused(make, name):
    tree, arrays = encoded(make())
    node = tree["scikit"]["attributes"][name]
    held = arrays[node["array"]]
    for other in (held[:-1], held[None], held.astype(int), held.astype("U3")):
        with raises(DataError, "file-holds-floats", "x"):
            decoded(tree, {**arrays, node["array"]: other})
    tree["scikit"]["attributes"][name] = [[1.0]]
    with pytest.raises(DataError):
        decoded(tree, arrays)


@pytest.mark.parametrize("options", [{}, {"degree": 3}, {"interaction_only": True}, {"degree": (2, 3)}])
@pytest.mark.parametrize("include_bias", [True, False])
def test_products_of_columns_are_as_many_as_the_degree_gives(options, include_bias):
    """Memory is taken for every product that a file names."""
    fitted = PolynomialFeatures(include_bias=include_bias, **options).fit(X)
    assert np.array_equal(decoded(*encoded(fitted)).transform(X), fitted.transform(X))
    for name, value in (("_n_out_full", 10**6), ("n_output_features_", 10**6), ("_max_degree", 10**9)):
        forged = PolynomialFeatures(include_bias=include_bias, **options).fit(X)
        setattr(forged, name, value)
        with raises(DataError, "file-asks-polynomials|file-says-products"):
            decoded(*encoded(forged))
