import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import RocCurveDisplay, get_scorer
from sklearn.utils.validation import check_is_fitted

import sumwise
from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, CardinalityNetwork, MeanEmbeddingClassifier


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": np.repeat(np.arange(60), 10)})
    frame["age"] = rng.normal(size=600) + rng.normal(size=60)[frame["area"]]
    frame["job"] = rng.choice(["a", "b", "c"], 600)
    frame["vote"] = (2 * frame["age"] + 2 * (frame["job"] == "b") + rng.logistic(size=600) > 0).astype(int)
    return frame


@pytest.fixture(scope="module")
def fitted(people):
    bags = Bags.from_frame(people, bag="area", features=["age", "job"])
    return CardinalityClassifier(penalty=1.0).fit(bags, people.groupby("area")["vote"].sum())


def test_it_is_a_fitted_classifier_of_rows(fitted, people):
    rows = fitted.individuals()
    X, y = people[["age", "job"]], people["vote"]
    assert is_classifier(rows)
    check_is_fitted(rows)
    assert rows.classes_.tolist() == [0, 1]
    assert rows.feature_names_in_.tolist() == ["age", "job"]
    assert rows.n_features_in_ == 2
    assert rows.score(X, y) > 0.75
    np.testing.assert_array_equal(rows.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_allclose(np.exp(rows.predict_log_proba(X)), rows.predict_proba(X))
    assert ((rows.decision_function(X) > 0) == (rows.predict(X) == 1)).all()


def test_tools_of_scikit_learn_take_it(fitted, people):
    rows, X, y = fitted.individuals(), people[["age", "job"]], people["vote"]
    auc = get_scorer("roc_auc")(rows, X, y)
    assert RocCurveDisplay.from_estimator(rows, X, y).roc_auc == pytest.approx(auc)
    found = permutation_importance(rows, X, y, n_repeats=2, random_state=0)
    assert (found.importances_mean > 0).all()
    curve = partial_dependence(rows, X, ["age"], grid_resolution=5)["average"][0]
    assert (np.diff(curve) > 0).all()
    assert clone(rows).score(X, y) == rows.fit(X, y).score(X, y)  # it can't be fitted to rows, and doesn't forget


def test_it_is_saved_and_loaded(fitted, people, tmp_path):
    sumwise.save(fitted.individuals(), tmp_path / "rows.sumwise")
    loaded, X = sumwise.load(tmp_path / "rows.sumwise"), people[["age", "job"]]
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_sparse_rows_are_taken():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(1)
    X = (rng.random((200, 3)) < 0.3).astype(float)
    clf = MeanEmbeddingClassifier(penalty=1.0).fit(Bags(X, np.arange(0, 201, 5)), rng.integers(0, 6, 40))
    np.testing.assert_array_equal(clf.individuals().predict_proba(csr_array(X)), clf.predict_proba(X))


def test_other_columns_are_refused_as_scikit_learn_does(fitted, people):
    rows = fitted.individuals()
    with raises(DataError, "x-columns-fit", 1, "vote"):
        rows.predict(people[["age", "job", "vote"]])
    plain = CardinalityClassifier(penalty=1.0).fit(Bags(np.arange(8.0)[:, None], [0, 2, 4, 8]), [0, 1, 3])
    with pytest.raises(ValueError, match="X has 2 features, but IndividualClassifier is expecting 1"):
        plain.individuals().predict(np.zeros((2, 2)))


def test_frames_of_pyarrow_and_polars_are_taken(fitted, people):
    rows, X = fitted.individuals(), people[["age", "job"]]
    expected = rows.predict_proba(X)
    for frame in (pa.Table.from_pandas(X, preserve_index=False), pl.from_pandas(X)):
        np.testing.assert_allclose(rows.predict_proba(frame), expected)


@pytest.mark.filterwarnings("ignore:Stopped after")
def test_rows_of_a_network_are_calibrated(people):
    bags = Bags.from_frame(people, bag="area", features=["age", "job"])
    net = CardinalityNetwork((4,), max_epochs=2, n_members=2)
    rows = net.fit(bags, people.groupby("area")["vote"].sum()).individuals()
    X, y = people[["age", "job"]], people["vote"]
    assert CalibratedClassifierCV(FrozenEstimator(rows)).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("classes", [["no", "yes"], ["zero", "one"]])
def test_classes_have_the_labels_of_the_rows(fitted, people, classes, tmp_path):
    X, y = people[["age", "job"]], np.array(classes)[people["vote"]]
    sumwise.save(fitted.individuals(classes), tmp_path / "rows.sumwise")
    rows, plain = sumwise.load(tmp_path / "rows.sumwise"), fitted.individuals()
    assert rows.classes_.tolist() == sorted(classes)  # as scikit-learn's scorers take them to be
    assert rows.score(X, y) == plain.score(X, people["vote"])
    for scoring in ("roc_auc", "neg_log_loss"):
        found, wanted = (get_scorer(scoring)(m, X, v) for m, v in ((rows, y), (plain, people["vote"])))
        assert found == pytest.approx(wanted)
    with raises(DataError, "classes-labels-them", 2):
        fitted.individuals(["no"]).predict(X)


@pytest.mark.parametrize("labels", [["no", "yes"], ["yes", "no"], ["b", "c", "a"], None])
def test_coefficients_are_those_of_its_logits(labels):
    rng = np.random.default_rng(3)
    n_classes = 2 if labels is None else len(labels)
    x = rng.normal(size=(300, 3)) + np.repeat(rng.normal(size=(30, 3)), 10, axis=0)
    label = 1 * (x[:, 0] > 0) + (n_classes > 2) * (x[:, 1] > 0)
    counts = np.eye(n_classes)[label].reshape(30, 10, n_classes).sum(axis=1)
    model = CardinalityClassifier(penalty=1.0).fit(Bags(x, np.arange(0, 301, 10)), counts)
    rows = model.individuals(labels)
    logits = x @ rows.coef_.T + rows.intercept_
    logits = logits - logits.mean(axis=1, keepdims=True) if n_classes > 2 else logits[:, 0]
    found = rows.decision_function(x)
    np.testing.assert_allclose(found - found.mean(axis=1, keepdims=True) if n_classes > 2 else found, logits, atol=1e-8)
    chosen = SelectFromModel(rows, prefit=True, max_features=1, threshold=-np.inf).get_support()
    assert chosen.sum() == 1
    assert not chosen[2]


def test_columns_of_text_have_no_coefficients_of_their_own(fitted):
    with raises(AttributeError, "some-columns-entered"):
        _ = fitted.individuals().coef_
    assert not hasattr(fitted.individuals(), "intercept_")


def test_a_model_that_is_not_linear_has_no_coefficients_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    clf = CardinalityClassifier("fourier").fit(Bags(X, np.arange(0, 601, 5)), y.reshape(120, 5).sum(axis=1))
    assert clf.individuals().score(X, y) > 0.85
    with raises(AttributeError, "model-not-linear"):
        _ = clf.individuals().coef_
    assert clf.notebook_finding() is None
