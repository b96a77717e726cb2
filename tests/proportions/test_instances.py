"""Transformers on rows: bags in, bags out; pipelines and grids."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, OnInstances, on_instances


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 3)) + np.repeat(rng.normal(size=(40, 3)), 10, axis=0)
    labels = values[:, 0] > 0
    return Bags(values, np.arange(0, 401, 10), features=["a", "b", "c"]), labels, labels.reshape(40, 10).sum(axis=1)


def test_rows_are_scaled_over_all_bags(problem):
    bags, _, _ = problem
    step = on_instances(StandardScaler()).fit(bags)
    out = step.transform(bags)
    np.testing.assert_allclose(out.values.mean(axis=0), 0.0, atol=1e-12)
    assert out.features == ("a", "b", "c")
    np.testing.assert_array_equal(step.transform(bags.values), out.values)
    np.testing.assert_array_equal(out.offsets, bags.offsets)


def test_new_features_get_the_transformers_names(problem):
    bags, _, _ = problem
    assert on_instances(PCA(2)).fit_transform(bags).features == ("pca0", "pca1")
    codes = Bags(np.array([[0.0], [1.0], [2.0]]), np.array([0, 3]), features=["k"])
    assert on_instances(OneHotEncoder()).fit_transform(codes).features == ("k_0.0", "k_1.0", "k_2.0")


def test_pipeline_in_a_grid(problem):
    bags, labels, counts = problem
    pipeline = make_pipeline(on_instances(StandardScaler()), on_instances(PCA()), CardinalityClassifier(penalty=1.0))
    grid = {"oninstances-2__transformer__n_components": [1, 3], "cardinalityclassifier__penalty": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(bags, counts)
    assert search.best_params_["oninstances-2__transformer__n_components"] == 3
    assert np.mean(search.predict(bags.values) == labels) > 0.8
    assert search.predict_proba(bags).shape == (400, 2)


def test_no_transformer_passes_rows_on(problem):
    bags, _, _ = problem
    assert OnInstances().fit_transform(bags) is bags


def test_unfitted_and_matrix_are_refused(problem):
    bags, _, _ = problem
    with pytest.raises(NotFittedError):
        on_instances(PCA(1)).transform(bags)
    with raises(DataError, "bags-type-build", "ndarray"):
        on_instances(PCA(1)).fit(bags.values)


def test_columns_are_taken_by_name_and_text_as_text():
    frame = pd.DataFrame({"b": [1, 1, 2, 2], "job": ["x", "y", "x", "y"], "age": [1.0, 2.0, 3.0, 4.0]})
    bags = Bags.from_frame(frame, bag="b")
    step = on_instances(make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))).fit(bags)
    out = step.transform(bags)
    assert list(out.features) == step.get_feature_names_out().tolist()
    assert list(out.features) == ["standardscaler__age", "onehotencoder__job_x", "onehotencoder__job_y"]
    assert out.values[:, 1].tolist() == [1, 0, 1, 0]
    shuffled = frame[["age", "b", "job"]]
    np.testing.assert_array_equal(step.transform(shuffled), out.values)
    with raises(DataError, "cant-transform-rows", "StandardScaler", "job"):
        on_instances(StandardScaler()).fit(bags)


def test_output_of_individuals_may_be_a_frame_and_of_bags_is_bags():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"bag": np.repeat(np.arange(12), 5), "age": rng.normal(size=60), "size": rng.normal(size=60)})
    bags = Bags.from_frame(frame, bag="bag", features=["age", "size"])
    counts = (frame["age"] > 0).groupby(frame["bag"]).sum()
    steps = make_pipeline(on_instances(StandardScaler()), CardinalityClassifier(penalty=1.0))
    plain = clone(steps).fit(bags, counts).predict_proba(frame[["age", "size"]])
    framed = clone(steps.set_output(transform="pandas")).fit(bags, counts)
    rows = frame[["age", "size"]].iloc[3:6]
    found = framed[0].transform(rows)
    assert list(found.columns) == ["age", "size"]
    assert list(found.index) == [3, 4, 5]
    assert framed[0].transform(rows.to_numpy().tolist()).equals(found.reset_index(drop=True))
    assert isinstance(framed[0].transform(bags), Bags)
    np.testing.assert_array_equal(framed.predict_proba(frame[["age", "size"]]), plain)
    with raises(DataError, "is-takes", "transform", "arrow"):
        on_instances(StandardScaler()).set_output(transform="arrow")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("everywhere", [False, True])
def test_output_is_the_frame_that_was_asked_for_here_or_everywhere(problem, kind, everywhere):
    library = pytest.importorskip(kind)
    bags, _, _ = problem
    step = on_instances(StandardScaler()).fit(bags)
    plain = step.transform(bags.values)
    with config_context(transform_output=kind if everywhere else "default"):
        found = (step if everywhere else step.set_output(transform=kind)).transform(bags.values)
        again = step.transform(bags)
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == list(step.get_feature_names_out())
    np.testing.assert_array_equal(found.to_numpy(), plain)
    assert isinstance(again, Bags)
    np.testing.assert_array_equal(again.values, plain)
