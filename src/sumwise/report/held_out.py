"""Cross-validation and split halves: how well a method predicts units that it has not seen, and how stable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import in_natural_order
from sumwise.errors import group_warnings
from sumwise.margins import Margins
from sumwise.progress import track

if TYPE_CHECKING:
    import pandas as pd


def _folds(n: int, n_folds: int, random_state: Any) -> list[np.ndarray]:
    order = checks.generator(random_state).permutation(n)
    return [np.sort(fold) for fold in np.array_split(order, min(int(checks.at_least(n_folds, "n_folds", 2)), n))]


def cross_predict(model: Any, bags: Bags, y: Any, n_folds: int = 10, random_state: Any = 0) -> np.ndarray:
    """Predictions of every bag, each by a fit to the bags of the other folds: its own, if the model kept them.

    Parameters
    ----------
    model : estimator on bags
        A copy is fitted to every training part; the model itself is left alone.
    bags : Bags
    y : array of shape (n_bags,) or (n_bags, n_outputs)
    n_folds : int >= 2, default 10
    random_state : int, Generator or None, default 0

    Returns
    -------
    array shaped like the predictions of all bags; probabilities where the model has classes

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.held_out import cross_predict
    >>> from sumwise.distribution import BagRidge, LinearEmbedding
    >>> data = synthetic.gamma(40, 30, random_state=0)
    >>> cross_predict(BagRidge(LinearEmbedding()), data.bags, data.response).shape
    (40,)
    """
    target = np.asarray(y)
    out: Any = None
    if hasattr(model, "held_out_predictions") and (own := model.held_out_predictions(bags, target)) is not None:
        return own
    with group_warnings():
        for fold in track(_folds(len(bags), n_folds, random_state), "Folds"):
            rest = np.setdiff1d(np.arange(len(bags)), fold)
            copy: Any = clone(model)
            fitted = copy.fit(bags[rest], target[rest])
            known = getattr(fitted, "classes_", None)
            predicted = fitted.predict(bags[fold]) if known is None else fitted.predict_proba(bags[fold])
            places: Any = slice(None)
            if known is not None and target.ndim == 1:  # a rare class may be missing from the training part
                places = np.searchsorted(np.unique(target), known)
                predicted, part = np.zeros((len(fold), len(np.unique(target)))), predicted
                predicted[:, places] = part
            if out is None:
                out = np.zeros((len(bags), *predicted.shape[1:]))
            out[fold] = predicted
    return out


def cross_predict_shares(model: Any, bags: Bags, counts: Any, n_folds: int = 5, random_state: Any = 0) -> np.ndarray:
    """Class shares (n_bags, n_classes) of every bag, each predicted by a classifier that has not seen its counts.

    Parameters
    ----------
    model : classifier of individuals
    bags : Bags
    counts : array of shape (n_bags,) or (n_bags, n_classes)
    n_folds : int >= 2, default 5
    random_state : int, Generator or None, default 0

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.held_out import cross_predict_shares
    >>> from sumwise.proportions import MeanEmbeddingClassifier
    >>> data = synthetic.election(30, 20, n_categorical=1, mean_weight=1, weight_spread=0, random_state=0)
    >>> cross_predict_shares(MeanEmbeddingClassifier(), data.bags, data.counts).shape[0]
    30
    """
    target = np.asarray(counts)
    out: Any = None
    with group_warnings():
        for fold in track(_folds(len(bags), n_folds, random_state), "Folds"):
            rest = np.setdiff1d(np.arange(len(bags)), fold)
            part = bags[fold]
            copy: Any = clone(model)
            chance = copy.fit(bags[rest], target[rest]).predict_proba(part) * part.weights[:, None]
            if out is None:
                out = np.zeros((len(bags), chance.shape[1]))
            totals = np.add.reduceat(part.weights, part.offsets[:-1])
            out[fold] = np.add.reduceat(chance, part.offsets[:-1], axis=0) / totals[:, None]
    return out


def split_half(model: Any, margins: Margins, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    """Shares (R, C) by the method on two random halves of the units; how far they differ shows how stable it is.

    Parameters
    ----------
    model : estimator on margins
    margins : Margins
    random_state : int, Generator or None, default 0

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.held_out import split_half
    >>> from sumwise.ecological import Goodman
    >>> first, second = split_half(Goodman(), synthetic.precincts(60, random_state=0).margins)
    >>> first.shape == second.shape == (2, 2)
    True
    """
    shares = []
    for half in track(_folds(margins.n_units, 2, random_state), "Halves"):
        copy: Any = clone(model)
        if "n_groups" in copy.get_params():  # intervals, which nobody asks for here
            copy.set_params(n_groups=0)
        shares.append(copy.fit(margins[half]).shares_)
    return shares[0], shares[1]


def subgroup_shares(
    model: Any, bags: Bags, counts: Any, groups: Any, classes: Any = None, level: float = 0.95, random_state: Any = 0
) -> pd.DataFrame:
    """Class shares of everybody and of subgroups, with intervals that suit the method.

    A `CardinalityClassifier` has intervals from its posterior; those of other classifiers are NaN. The counts of the
    bags are used: shares agree with them.

    Parameters
    ----------
    model : fitted classifier of individuals
    bags : Bags
    counts : array
        What the model was fitted to.
    groups : mapping of name to array (n_rows,)
        Which level every individual has of every grouping.
    classes : sequence of str, optional
    level : float in (0, 1), default 0.95
    random_state : int, Generator or None, default 0

    Returns
    -------
    pandas.DataFrame with the columns group, level, people, class, share, low, high
        And highest, lowest: the probability that no other level of the group has a higher, or a lower, share of the
        class.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.report.held_out import subgroup_shares
    >>> from sumwise.proportions import CardinalityClassifier
    >>> data = synthetic.election(40, 20, n_categorical=1, mean_weight=1, weight_spread=0, random_state=0)
    >>> model = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
    >>> found = subgroup_shares(model, data.bags, data.counts[:, 1], {"sex": np.array(["m", "f"])[data.codes["sex"]]})
    >>> found["group"].unique().tolist()
    ['everybody', 'sex']
    """
    import pandas as pd

    from sumwise.proportions import subgroups

    parts = []
    asked = {"everybody": np.full(bags.n_rows, "all", dtype=object), **dict(groups)}
    for name, texts in track(asked.items(), "Groupings"):
        shares = subgroups(
            model,
            bags,
            by={"level": np.asarray(texts)},
            classes=classes,
            counts=counts,
            random_state=random_state,
        )
        part: Any = shares.to_frame(level).assign(group=name)
        if shares.draws is not None:
            ranks = shares.draws.rank(axis=0)
            part["highest"] = ranks.probability(lambda r: r == 1).ravel()
            part["lowest"] = ranks.probability(lambda r: r == r.shape[1]).ravel()
        rank = {text: k for k, text in enumerate(in_natural_order(part["level"].unique().tolist()))}
        parts.append(part.iloc[np.argsort(part["level"].map(rank).to_numpy(), kind="stable")])
    out: Any = pd.concat(parts, ignore_index=True)
    if "low" not in out:
        out = out.assign(**dict.fromkeys(("low", "high", "highest", "lowest"), np.nan))
    return out[["group", "level", "people", "class", "share", "low", "high", "highest", "lowest"]]
