"""Every scikit-learn class on the list comes back predicting the same bits; others are refused by name."""

import json
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, kernel_ridge, linear_model, neighbors, pipeline, preprocessing, svm
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import all_estimators

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved import archive
from sumwise.io.saved.scikit import CLASSES

RNG = np.random.default_rng(3)
X = np.abs(RNG.normal(size=(80, 4)))
LABEL = (X[:, 0] + 0.3 * RNG.normal(size=80) > 0.8).astype(int)
NAMES = np.array(["no", "yes"])[LABEL]
RESPONSE = np.abs(X @ [1.0, 2.0, 3.0, 4.0])
METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score_samples",
    "apply",
)
FEW = {"n_estimators": 5, "max_iter": 20, "random_state": 0, "n_clusters": 3, "n_quantiles": 9, "Cs": 2}
FEW |= {"alphas": [0.1, 1.0], "fit_inverse_transform": True, "add_indicator": True}
INPUTS = {
    "CategoricalNB": (X > 1).astype(int),
    "OneHotEncoder": pd.DataFrame({"a": NAMES, "b": LABEL.astype(float)}),
    "OrdinalEncoder": np.array([["u", "v", None][i % 3] for i in range(80)], dtype=object)[:, None],
    "KernelCenterer": X[:20] @ X[:20].T,
    "LabelEncoder": NAMES,
    "LabelBinarizer": NAMES,
    "SimpleImputer": np.where(X > 1.5, np.nan, X),
    "HistGradientBoostingClassifier": np.where(X > 1.5, np.nan, X),
}
CLASSIFIERS = ("LogisticRegression", "LogisticRegressionCV", "RidgeClassifier")
COMPOSED = {
    "Pipeline": lambda: pipeline.make_pipeline(
        preprocessing.StandardScaler(), "passthrough", linear_model.LogisticRegression()
    ),
    "FeatureUnion": lambda: pipeline.make_union(preprocessing.StandardScaler(), preprocessing.Normalizer()),
    "ColumnTransformer": lambda: ColumnTransformer(
        [("a", preprocessing.StandardScaler(), [0, 1]), ("b", preprocessing.OneHotEncoder(), slice(3, 4))],
        remainder="passthrough",
    ),
    "VotingClassifier": lambda: ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", ensemble.RandomForestClassifier(3, random_state=0))],
        voting="soft",
    ),
    "TransformedTargetRegressor": lambda: TransformedTargetRegressor(linear_model.Ridge()),
}
PUBLIC = [n for module, names in CLASSES.items() for n in names.split() if not n.startswith("_")]
FOUND = dict(all_estimators()) if PUBLIC else {}


def fitted(name):
    if name in COMPOSED:
        model = COMPOSED[name]()
    else:
        cls = FOUND[name]  # with little work to do, and with all that it can do
        model = cls(**{k: v for k, v in FEW.items() if k in cls._get_param_names()})
    data = INPUTS.get(name, X)
    if name.startswith("Label"):
        return model.fit(data), data
    with_response = any(word in name for word in ("Regress", "Ridge", "Lasso", "ElasticNet", "SVR"))
    target = RESPONSE if with_response and name not in CLASSIFIERS else NAMES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data[: len(target)], target[: len(data)]), data


def outputs(model, data):
    result = {}
    for method in METHODS:
        if hasattr(model, method):
            given = data
            if method == "inverse_transform":
                given = model.transform(data)
            values = getattr(model, method)(given)
            values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
            result[method] = (values.dtype.str, values.shape, values.tolist())
    return result


@pytest.mark.parametrize("name", PUBLIC)
def test_listed_class_predicts_the_same_bits(tmp_path, name):
    model, data = fitted(name)
    save(model, tmp_path / "x")
    after = load(tmp_path / "x")
    assert type(after) is type(model)
    before = outputs(model, data)
    assert before
    assert repr(outputs(after, data)) == repr(before)  # repr: nan is nan, -0.0 isn't 0.0
    assert vars(after).keys() | {"_optimizer", "_loss_function_"} >= vars(model).keys()
    save(after, tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == (tmp_path / "x").read_bytes()


@pytest.mark.parametrize("name", ["RandomForestClassifier", "LogisticRegression", "HistGradientBoostingRegressor"])
def test_unfitted_estimator_comes_back_unfitted(tmp_path, name):
    save(FOUND[name](random_state=3), tmp_path / "x")
    assert load(tmp_path / "x").get_params() == FOUND[name](random_state=3).get_params()


def test_forest_keeps_its_importances_and_paths(tmp_path):
    model, data = fitted("RandomForestRegressor")
    save(model, tmp_path / "x")
    after = load(tmp_path / "x")
    assert after.feature_importances_.tobytes() == model.feature_importances_.tobytes()
    assert (after.decision_path(data)[0] != model.decision_path(data)[0]).nnz == 0


def test_estimators_within_estimators_come_back(tmp_path):
    inner = pipeline.make_pipeline(preprocessing.StandardScaler(), ensemble.RandomForestRegressor(3, random_state=0))
    model = TransformedTargetRegressor(inner, transformer=preprocessing.StandardScaler()).fit(X, RESPONSE)
    save(model, tmp_path / "x")
    np.testing.assert_array_equal(load(tmp_path / "x").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        svm.SVC(),
        neighbors.KNeighborsClassifier(),
        ensemble.GradientBoostingClassifier(),
        ensemble.BaggingClassifier(linear_model.LogisticRegression()),
    ],
    ids=lambda m: type(m).__name__,
)
def test_other_classes_are_refused_by_name(tmp_path, model):
    name = type(model).__name__
    with raises(DataError, "cant-saved-sumwise", name, "an object of class sklearn"):
        save([model], tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_subclass_of_a_listed_class_is_refused(tmp_path):
    class Mine(linear_model.Ridge):
        pass

    with raises(DataError, "cant-saved", "Mine"):
        save(Mine(), tmp_path / "x")
    Mine.__module__ = "sklearn.linear_model"
    with raises(DataError, "cant-saved-sumwise", "Mine"):
        save(Mine(), tmp_path / "x")


def test_function_as_parameter_is_refused_by_its_path(tmp_path):
    model = pipeline.make_pipeline(preprocessing.FunctionTransformer(np.log1p))
    with raises(DataError, "cant-saved", "func"):
        save(model, tmp_path / "x")
    with raises(DataError, "cant-saved", "kernel", "a function"):
        save(kernel_ridge.KernelRidge(kernel=lambda a, b: 0.0), tmp_path / "x")


def test_pipeline_with_a_cache_on_disk_is_refused_both_ways(tmp_path):
    model = pipeline.make_pipeline(linear_model.Ridge(), memory=str(tmp_path / "cache"))
    with raises(DataError, "memory-pipeline-cache", "Pipeline"):
        save(model, tmp_path / "x")
    save(model.set_params(memory=None), tmp_path / "x")
    forged(tmp_path / "x", lambda body: body["attributes"].update(memory="cache"))
    with raises(DataError, "memory-cache-disk"):
        load(tmp_path / "x")


def test_boosting_that_splits_by_categories_is_refused(tmp_path):
    data = np.c_[X[:, :2], RNG.integers(0, 5, len(X))]
    model = ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features=[2]).fit(data, RESPONSE)
    with raises(DataError, "cant-saved"):
        save(model, tmp_path / "x")


def forged(path, change):
    """Change the document of a file and sign it again."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    document = json.loads(members.pop("object.json"))
    change(document["object"]["scikit"])
    document.pop("sha256")
    document["sha256"] = archive._digest(document)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in {**members, "object.json": json.dumps(document)}.items():
            new.writestr(name, content)


@pytest.mark.parametrize(
    "name", ["sklearn.svm.SVC", "sklearn.base.BaseEstimator", "os.system", "joblib.load", "", None, 3]
)
def test_file_that_names_another_class_is_refused(tmp_path, name):
    save(linear_model.Ridge(), tmp_path / "x")
    forged(tmp_path / "x", lambda body: body.update({"class": name}))
    with raises(DataError, "file-holds-scikit"):
        load(tmp_path / "x")


def test_file_without_a_parameter_is_refused(tmp_path):
    save(linear_model.Ridge(), tmp_path / "x")
    forged(tmp_path / "x", lambda body: body["attributes"].pop("alpha"))
    with raises(DataError, "file-gives-no-2", "Ridge"):
        load(tmp_path / "x")


def test_file_that_hides_a_method_is_refused(tmp_path):
    save(linear_model.Ridge(), tmp_path / "x")
    forged(tmp_path / "x", lambda body: body["attributes"].update(predict="x"))
    with raises(DataError, "estimator-class-no", "predict", "Ridge"):
        load(tmp_path / "x")


def test_other_version_of_scikit_learn_warns(tmp_path):
    save(linear_model.Ridge(), tmp_path / "x")
    forged(tmp_path / "x", lambda body: body.update(version="1.0"))
    with pytest.warns(InconsistentVersionWarning, match="Ridge"):
        load(tmp_path / "x")


def test_documentation_lists_exactly_these_classes():
    page = Path(__file__).parents[2] / "docs" / "explanation" / "persistence.md"
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page.read_text("utf-8"), flags=re.MULTILINE)
    told = {f"sklearn.{module}": re.sub(r" \(.*?\)", "", names).split(", ") for module, names in rows}
    public = {m: n.split() for m, n in CLASSES.items() if not n.startswith("_")}
    assert told == public


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("DecisionTreeClassifier", "n_outputs_", 2**31),
        ("RandomForestClassifier", "n_outputs_", 2**31),
        ("RandomForestClassifier", "n_classes_", 2**31),
        ("ExtraTreesRegressor", "n_outputs_", 2**31),
        ("DummyRegressor", "n_outputs_", 10**6),
        ("OneHotEncoder", "_n_features_outs", [10**6, 1]),
    ],
)
def test_forged_numbers_of_outputs_ask_for_no_memory(tmp_path, name, attribute, value):
    model, _ = fitted(name)
    assert hasattr(model, attribute)
    setattr(model, attribute, value)
    save(model, tmp_path / "x")
    with raises(DataError, "file-holds-trees-whose|file-says-columns|file-says-outputs"):
        load(tmp_path / "x")
