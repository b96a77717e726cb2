"""Scikit-learn transformers on the rows of bags, so that they go into pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.estimator import Estimator


class OnInstances(Estimator):
    """A scikit-learn transformer, fitted and applied to all rows of bags; see `on_instances`.

    Parameters
    ----------
    transformer : scikit-learn transformer, optional
        Default: none, rows pass as they are.

    Attributes
    ----------
    transformer_ : the fitted transformer.

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

    def __init__(self, transformer=None):
        self.transformer = transformer

    def fit(self, bags: Bags, counts: Any = None) -> OnInstances:
        """Fit the transformer to all rows; counts are not looked at."""
        del counts
        if not isinstance(bags, Bags):
            raise DataError(f"bags is a {type(bags).__name__}.", hint="build it with Bags.from_arrays.")
        fresh: Any = None if self.transformer is None else clone(self.transformer)
        self.transformer_ = None if fresh is None else fresh.fit(bags.values)
        self.n_features_in_ = bags.n_features
        return self

    def fit_transform(self, bags: Bags, counts: Any = None) -> Bags:
        """Fit, then transform the same bags."""
        return self.fit(bags, counts).transform(bags)

    def transform(self, bags: Any) -> Any:
        """Transform the rows of bags, or of a matrix of individuals.

        Returns
        -------
        Bags where bags were given, else an array
        """
        self._fitted("n_features_in_")
        values = bags.values if isinstance(bags, Bags) else bags
        if self.transformer_ is None:
            return bags
        out = self.transformer_.transform(values)
        out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
        return bags.with_values(out, self._names(bags, out.shape[1])) if isinstance(bags, Bags) else out

    def _names(self, bags, width):
        """The transformer's own names, where it has them."""
        get = getattr(self.transformer_, "get_feature_names_out", None)
        if get is None:
            return bags.features if width == bags.n_features else None
        try:
            return [str(name) for name in get(list(bags.features))]
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

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sumwise.proportions import CardinalityClassifier, on_instances
    >>> pipeline = make_pipeline(on_instances(PCA(2)), CardinalityClassifier())
    >>> pipeline.set_params(oninstances__transformer__n_components=3).steps[0][1].transformer
    PCA(n_components=3)
    """
    return OnInstances(transformer)
