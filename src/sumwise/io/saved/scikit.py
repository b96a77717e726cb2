"""scikit-learn's estimators: those on our list, by their attributes, without pickle."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from sumwise.errors import DataError
from sumwise.io.saved import compiled
from sumwise.io.saved.classes import check_attributes
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

CLASSES = {
    "sklearn.cluster": "KMeans MiniBatchKMeans",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.decomposition": "FactorAnalysis FastICA IncrementalPCA KernelPCA PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor VotingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoCV "
    "LinearRegression LogisticRegression LogisticRegressionCV PoissonRegressor Ridge RidgeClassifier RidgeCV "
    "SGDClassifier SGDRegressor",
    "sklearn.mixture": "BayesianGaussianMixture GaussianMixture",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer "
    "LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "sklearn.svm": "LinearSVC LinearSVR",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
}
"""The classes that are saved, by the module that offers them; any other is refused by name."""


def _loss(estimator: Any) -> Any:
    return estimator._get_loss(sample_weight=None)  # noqa: SLF001 - scikit-learn has no public way


def _members(vote: Any) -> Any:
    """The fitted members of a vote by their names."""
    from sklearn.utils import Bunch

    named = [name for name, member in vote.estimators if member != "drop"]
    return Bunch(**dict(zip(named, vote.estimators_)))


REBUILT: dict[str, dict[str, Callable[[Any], Any] | None]] = {
    # made again from the parameters; None: used in training only, and made again by the next fit
    "HistGradientBoostingClassifier": {"_loss": _loss},
    "HistGradientBoostingRegressor": {"_loss": _loss},
    "MLPClassifier": {"_optimizer": None},
    "MLPRegressor": {"_optimizer": None},
    "PoissonRegressor": {"_base_loss": lambda estimator: estimator._get_loss()},  # noqa: SLF001
    "SGDClassifier": {"_loss_function_": None},
    "VotingClassifier": {"named_estimators_": _members},
}
"""Attributes that aren't stored, and how to make them again from the others."""


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode an estimator of a listed class; None for anything else."""
    import sklearn
    from sklearn.base import BaseEstimator

    if not isinstance(value, BaseEstimator):
        return None
    name = _listed_name(type(value))
    if name is None:
        refuse(value, where, hint="sumwise.io.saved.scikit.CLASSES lists those that can.")
    if getattr(value, "memory", None) is not None:
        raise DataError(f"{where}.memory: a pipeline with a cache on disk can't be saved.", hint="set memory=None.")
    left_out = REBUILT.get(type(value).__name__, {})
    attributes = {key: item for key, item in vars(value).items() if key not in left_out}
    rebuilt = sorted(key for key, make in left_out.items() if make is not None and key in vars(value))
    body = {"class": name, "version": sklearn.__version__, "rebuilt": rebuilt}
    return {"scikit": {**body, "attributes": encoder.named(attributes, where)}}


def decode(decoder: Decoder, _tag: str, body: Any, where: str) -> Any:
    """Decode an estimator of a listed class; its constructor isn't called, its attributes are set."""
    cls = _listed_class(body["class"], where)
    version = body["version"]
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    if version != sklearn.__version__:
        warning = InconsistentVersionWarning(
            estimator_name=cls.__name__, current_sklearn_version=sklearn.__version__, original_sklearn_version=version
        )
        warnings.warn(warning, stacklevel=2)
    attributes = decoder.named(body["attributes"], where)
    parameters = set(cls._get_param_names())
    if not parameters <= set(attributes):
        lacking = sorted(parameters - set(attributes))
        raise DataError(f"{where}: the file gives no {lacking} for a {cls.__name__}.")
    if attributes.get("memory") is not None:
        raise DataError(f"{where}.memory: a cache on disk, which would be unpickled, isn't loaded.")
    check_attributes(cls, attributes, where, strict=False)
    estimator = cls.__new__(cls)
    vars(estimator).update(attributes)
    for name, make in REBUILT.get(cls.__name__, {}).items():
        if make is not None and name in body["rebuilt"]:
            setattr(estimator, name, make(estimator))
    compiled.check(estimator, where)
    return estimator


def _listed_name(cls: type) -> str | None:
    for module, names in CLASSES.items():
        if cls.__name__ in names.split() and getattr(importlib.import_module(module), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return None


def _listed_class(name: Any, where: str) -> Any:
    module, _, short = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if short not in CLASSES.get(module, "").split():
        raise DataError(
            f"{where}: the file contains a scikit-learn object of the unknown class {name!r}.",
            hint="only the classes that sumwise.io.saved.scikit.CLASSES lists are loaded.",
        )
    return getattr(importlib.import_module(module), short)
