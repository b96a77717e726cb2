"""Scikit-learn transformers on the rows of bags, so that they go into pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import TransformerTags
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config

from sumwise import checks
from sumwise.bags import Bags, as_bags
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.features import Features


@dataclass(eq=False, repr=False)
class OnInstances(Estimator):
    """A scikit-learn transformer, fitted and applied to all rows of bags; see `on_instances`.

    Parameters
    ----------
    transformer : scikit-learn transformer, optional
        Default: none, rows pass as they are.

    Attributes
    ----------
    transformer_ : the fitted transformer.

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sumwise import Bags
    >>> from sumwise.proportions import OnInstances
    >>> bags = Bags.from_arrays([[[1.0], [3.0]], [[5.0]]])
    >>> OnInstances(StandardScaler()).fit(bags).transform(bags)[1].round(2)
    array([[1.22]])
    """

    _learned = "features_: is Features; n_features_in_: size g; transformer_?: does transform"

    transformer: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags

    def fit(self, bags: Bags, counts: Any = None) -> OnInstances:
        """Fit the transformer to all rows; counts are not looked at."""
        del counts
        bags = as_bags(bags)
        fresh: Any = None if self.transformer is None else clone(self.transformer)
        self.features_ = Features.learn(bags)
        self.n_features_in_ = bags.n_features
        self.transformer_ = None if fresh is None else self._with_rows(fresh.fit, bags)
        return self

    def fit_transform(self, bags: Bags, counts: Any = None) -> Bags:
        """Fit, then transform the same bags."""
        return self.fit(bags, counts).transform(bags)

    def transform(self, bags: Any) -> Any:
        """Transform the rows of bags, or of a matrix or frame of individuals.

        Returns
        -------
        Bags where bags were given, else an array, or the frame that `set_output` asks for
        """
        self._fitted("n_features_in_")
        if self.transformer_ is None:
            return bags
        rows = self.features_.rows(bags)
        out = self._with_rows(self.transformer_.transform, rows)
        names = self._names(rows, out.shape[1])
        out = np.asarray(checks.dense(out))
        if isinstance(bags, Bags):
            return rows.with_values(out, names)
        kind = _get_output_config("transform", self)["dense"]
        if kind == "default":
            return out
        return ADAPTERS_MANAGER.adapters[kind].create_container(out, bags, columns=names)

    def set_output(self, *, transform: str | None = None) -> OnInstances:
        """Choose what `transform` makes of individuals; of bags it makes bags, whose columns have names anyway.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array or a frame; left as it is by default.
        """
        if transform is not None:
            checks.choice(transform, "transform", ("default", *ADAPTERS_MANAGER.supported_outputs))
            self._sklearn_output_config = {"transform": transform}  # where scikit-learn's own have it, and clones copy
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the transformed columns."""
        del input_features
        self._fitted("n_features_in_")
        get = getattr(self.transformer_, "get_feature_names_out", None)
        if self.transformer_ is None or get is None:
            return np.array([str(name) for name in self.features_.columns], dtype=object)
        return np.asarray(get(), dtype=object)

    def _with_rows(self, call: Any, bags: Bags) -> Any:
        """Call a transformer with the rows: a frame with text as text where columns have names, else the matrix."""
        if not self.features_.named:
            return call(bags.values)
        import pandas as pd

        columns: dict = {}
        for j, name in enumerate(bags.features):
            values = bags.values[:, j]
            if name in bags.levels:
                levels = np.array([*bags.levels[name], None], dtype=object)
                values = levels[np.where(np.isnan(values), len(levels) - 1, values).astype(np.int64)]
            columns[str(name)] = values
        try:
            return call(pd.DataFrame(columns))
        except (ValueError, TypeError) as error:
            if not bags.levels:
                raise
            listed = ", ".join(repr(str(name)) for name in list(bags.levels)[:3])
            raise DataError(
                f"{type(self.transformer).__name__} can't transform these rows, of which {listed} are text: {error}",
                hint="ColumnTransformer takes each column by its name.",
            ) from error

    def _names(self, bags: Bags, width: int) -> list | tuple | None:
        """The transformer's own names, where it has them."""
        get = getattr(self.transformer_, "get_feature_names_out", None)
        if get is None:
            return bags.features if width == bags.n_features else None
        try:
            return [str(name) for name in get([str(name) for name in bags.features])]
        except (ValueError, TypeError):  # it makes names of its own
            return [str(name) for name in get()]


def on_instances(transformer: Any) -> OnInstances:
    """Apply a scikit-learn transformer to the rows of bags.

    Parameters
    ----------
    transformer : scikit-learn transformer

    Returns
    -------
    OnInstances
        A step for pipelines: fitted on all rows of the training bags; bags in, bags out; a matrix of individuals
        in, a matrix out.

    See Also
    --------
    Covariates : Codes, numbers and principal components of rows.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sumwise.proportions import CardinalityClassifier, on_instances
    >>> pipeline = make_pipeline(on_instances(PCA(2)), CardinalityClassifier())
    >>> pipeline.set_params(oninstances__transformer__n_components=3).steps[0][1].transformer
    PCA(n_components=3)

    Columns of bags that have names are taken by name, text as text:

    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> prepared = on_instances(make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"])))
    """
    return OnInstances(transformer)
