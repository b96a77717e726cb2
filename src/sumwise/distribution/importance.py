"""What a model of bags depends on: permutation importance of columns, and its response as a column shifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import check_bags
from sumwise.errors import DataError


def permutation_importance(
    model: Any,
    bags: Bags,
    y: Any,
    *,
    scoring: Callable[[Any, Bags, Any], float] | str | None = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> Bunch:
    """Return how much the score falls when a column's values are shuffled among the rows of all bags.

    The counterpart of :func:`sklearn.inspection.permutation_importance`, which shuffles rows of a matrix: after
    shuffling, a column has the same distribution in every bag.

    Parameters
    ----------
    model : fitted estimator on bags
    bags : Bags
        Best not those of training.
    y : array of shape (n_bags, ...)
    scoring : str or callable, optional
        A name that scikit-learn knows, as "roc_auc", or ``f(model, bags, y)``; default: the model's ``score``.
    n_repeats : int >= 1, default 5
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Bunch
        ``importances_mean`` and ``importances_std`` of shape (n_features,), ``importances`` of shape (n_features,
        n_repeats), and ``feature_names``.

    See Also
    --------
    partial_dependence : How predictions change along a column.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagRidge, LinearEmbedding, permutation_importance
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> bags = Bags.from_arrays([np.column_stack([rng.normal(m, 1, 30), rng.normal(size=30)]) for m in y])
    >>> model = BagRidge(LinearEmbedding()).fit(bags, y)
    >>> found = permutation_importance(model, bags, y, random_state=0)
    >>> bool(found.importances_mean[0] > 10 * abs(found.importances_mean[1]))
    True
    """
    from sklearn.metrics import check_scoring

    bags = check_bags(bags)
    checks.at_least(n_repeats, "n_repeats", 1)
    rng = checks.generator(random_state)
    score: Any = check_scoring(model, scoring=scoring)
    whole = score(model, bags, y)
    falls = np.zeros((bags.n_features, int(n_repeats)))
    for j in range(bags.n_features):
        for k in range(int(n_repeats)):
            values = np.array(bags.values)
            values[:, j] = values[rng.permutation(len(values)), j]
            falls[j, k] = whole - score(model, bags.with_values(values, bags.features, bags.levels), y)
    return Bunch(
        importances_mean=falls.mean(axis=1),
        importances_std=falls.std(axis=1),
        importances=falls,
        feature_names=np.array(bags.features, dtype=object),
    )


def partial_dependence(model: Any, bags: Bags, feature: Any, shifts: Sequence[float] | None = None) -> Bunch:
    """Return the mean prediction as the values of one column are shifted in every bag.

    A bag's distribution of that column moves as a whole; all else stays as it is. A column fixed at one value, as for
    rows, would make bags that never occur.

    Parameters
    ----------
    model : fitted estimator on bags
        Class probabilities are averaged where it has them.
    bags : Bags
    feature : str or int
        Name or position of a column of numbers.
    shifts : sequence of float, optional
        Default: nine from -1 to 1 standard deviation of the column's means over bags.

    Returns
    -------
    Bunch
        ``shifts`` of shape (n,), ``average`` of shape (n,) or (n, n_outputs), ``individual`` with an axis for bags
        first.

    See Also
    --------
    permutation_importance : Which columns predictions depend on.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagRidge, LinearEmbedding, partial_dependence
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> model = BagRidge(LinearEmbedding()).fit(Bags.from_arrays([rng.normal(m, 0.1, 30) for m in y]), y)
    >>> found = partial_dependence(model, Bags.from_arrays([rng.normal(m, 0.1, 30) for m in y]), 0, [-0.5, 0.5])
    >>> float((found.average[1] - found.average[0]).round(1))
    1.0
    """
    bags = check_bags(bags)
    position = isinstance(feature, int) and feature not in bags.features
    if not position:
        checks.known(feature, bags.features, "column")
    j = int(feature) if position else bags.features.index(feature)
    if bags.features[j] in bags.levels:
        raise DataError(f"Column {bags.features[j]!r} has levels: it can't be shifted.", hint="name one of numbers.")
    if shifts is None:
        means = np.array([rows[:, j].mean() for rows in bags])
        shifts = np.linspace(-1, 1, 9) * means.std()
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    found = []
    for shift in checks.finite(shifts, "shifts").tolist():
        values = np.array(bags.values)
        values[:, j] += shift
        found.append(predict(bags.with_values(values, bags.features, bags.levels)))
    individual = np.stack(found, axis=1)
    return Bunch(shifts=np.asarray(shifts, dtype=float), average=individual.mean(axis=0), individual=individual)
