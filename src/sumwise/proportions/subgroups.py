"""Shares of subgroups: what a classifier of individuals says of groups, states and the nation, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.progress import track
from sumwise.proportions.members import Members, gather
from sumwise.proportions.uncertainty import Covariance

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Subgroups:
    """Class shares of subgroups; made by `subgroups`.

    Parameters
    ----------
    groups : pandas.DataFrame
        One row per subgroup: the values that define it, its ``rows`` and its ``people`` (the sum of weights).
    by : tuple of str
        The columns of ``groups`` that define a subgroup.
    classes : tuple
    shares : array of shape (n_groups, n_classes)
    draws : array of shape (n_draws, n_groups, n_classes), or None
        Shares that are as plausible, where the call says how uncertain the classifier is.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, covariance, subgroups
    >>> data = synthetic.election(60, 30, n_categorical=1, mean_weight=1, weight_spread=0, random_state=0)
    >>> clf = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
    >>> sure = covariance(clf, data.bags, data.counts[:, 1])
    >>> found = subgroups(clf, data.bags, by={"sex": np.array(["m", "f"])[data.codes["sex"]]}, uncertainty=sure)
    >>> found.to_frame().columns.tolist()
    ['sex', 'rows', 'people', 'class', 'share', 'low', 'high']
    """

    groups: pd.DataFrame
    by: tuple
    classes: tuple
    shares: np.ndarray
    draws: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return self.to_frame().to_string(index=False, float_format="%.4g", max_rows=20)

    def _repr_html_(self) -> str:
        words = f"Shares of {len(self.classes)} classes in {len(self)} subgroups"
        return finding_html(words + (", with 95% intervals." if self.draws is not None else "."), self.to_frame())

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of the shares, each (n_groups, n_classes)."""
        if self.draws is None:
            raise DataError(
                "These shares have no interval.", hint="subgroups(..., uncertainty=covariance(model, bags, counts))."
            )
        return _quantiles(self.draws, level)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per subgroup and class: share, and its interval where there is one."""
        n = len(self.classes)
        out = self.groups.loc[self.groups.index.repeat(n)].reset_index(drop=True)
        out["class"] = list(self.classes) * len(self)
        out["share"] = self.shares.ravel()
        if self.draws is not None:
            low, high = self.interval(level)
            out["low"], out["high"] = low.ravel(), high.ravel()
        return out

    def two_party(self, first: Any, second: Any, level: float = 0.95) -> pd.DataFrame:
        """Share of one class among two of them: p(first | first or second, subgroup).

        ``voters`` are the people of the two classes. The share is NaN for a subgroup without any: a hard prediction
        may see only non-voters.
        """
        a, b = (self._position(c) for c in (first, second))
        out = self.groups.copy()
        both = self.shares[:, a] + self.shares[:, b]
        out["voters"] = out["people"].to_numpy() * both
        out["share"] = _ratio(self.shares[:, a], both)
        if self.draws is not None:
            draws = _ratio(self.draws[..., a], self.draws[..., a] + self.draws[..., b])
            out["low"], out["high"] = _quantiles(draws, level)
        return out

    def _position(self, name: Any) -> int:
        checks.known(name, self.classes, "class")
        return self.classes.index(name)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)


def _quantiles(draws: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    tail = 0.5 * (1.0 - checks.fraction(level, "level"))
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0, method="weibull")
    return low, high


def subgroups(
    model: Any,
    individuals: Any,
    by: Sequence | Mapping | str = (),
    weights: Any = None,
    *,
    features: Sequence | None = None,
    classes: Sequence | None = None,
    prediction: str = "expected",
    counts: Any = None,
    uncertainty: Any = None,
    realised: bool = False,
    random_state: Any = 0,
) -> Subgroups:
    """Class shares of subgroups of individuals, p(class | f(x)), by any columns: groups, states, the nation.

    Parameters
    ----------
    model : fitted classifier of individuals
        Anything with ``predict_proba``: of this family, a pipeline, or scikit-learn's.
    individuals : data frame, Bags or array of shape (n_rows, n_features)
    by : list of columns, or mapping of names to one label per row; default none
        What defines a subgroup; rows are grouped by all of them together, combinations without members are left out.
        Nothing gives one group, the nation. Of `Bags`, ``"bag"`` is the id of the bag. A mapping takes any f(x):
        ``{"Hispanic in Illinois": mask}``.
    weights : array or column, optional
        How many people each row represents; by default the bags' own weights, or 1.
    features : list of columns, optional
        Columns of a data frame that the classifier was fitted on, in that order. By default all (apart from the weight)
        if their number fits, else all that aren't in ``by``.
    classes : sequence, optional
        Names; default 0, 1, ...
    prediction : {"expected", "hard"}, default "expected"
        Means of probabilities, or counts of likeliest classes as in Sun et al. 2017.
    counts : array, optional
        Counts of the bags, where ``individuals`` are the `Bags` that they belong to: shares are then those given the
        counts, from ``model.posterior``.
    uncertainty : Covariance or Bootstrap, optional
        From `covariance` or `bootstrap`; gives intervals.
    realised : bool, default False
        Whether intervals are for the shares of these very people's labels, which also vary by chance, rather than for
        the mean of their probabilities. With random intercepts bags then vary too.
    random_state : int, Generator or None, default 0

    Returns
    -------
    Subgroups

    See Also
    --------
    covariance : The uncertainty that intervals come from.
    bootstrap : The same for any method.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, subgroups
    >>> data = synthetic.election(60, 30, n_classes=3, random_state=0)
    >>> clf = CardinalityClassifier(penalty=1.0).fit(data.bags, data.totals)
    >>> people = data.test_frame()[["sex", "race"]]
    >>> found = subgroups(clf, data.test_values, by={"sex": people["sex"]}, classes=data.classes)
    >>> found.two_party("D", "R").columns.tolist()
    ['sex', 'rows', 'people', 'voters', 'share']
    """
    checks.choice(prediction, "prediction", ("expected", "hard"))
    if realised and prediction == "hard":
        raise DataError("Hard predictions are not shares of labels.", hint="prediction='expected' with realised=True.")
    members = gather(individuals, by, weights, features, _width(model))
    if counts is not None and not isinstance(members.rows, Bags):
        raise DataError("Counts belong to bags.", hint="give the individuals as the Bags that the counts are of.")
    ask = _Question(members, prediction, counts, realised, checks.generator(random_state))
    shares = ask.expected(model)
    names = tuple(range(shares.shape[1])) if classes is None else tuple(checks.listing(classes, "classes"))
    if len(names) != shares.shape[1]:
        raise DataError(f"There are {len(names)} names for {shares.shape[1]} classes.")
    draws = None
    if uncertainty is not None:
        _refuse_another(model, uncertainty)
        draws = ask.draws(uncertainty, shares)
    return Subgroups(members.groups, members.by, names, shares, draws)


def _refuse_another(model: Any, uncertainty: Any) -> None:
    """Stop where the covariance is that of another classifier: intervals would lie around its shares."""
    own, other = getattr(model, "theta_", None), getattr(getattr(uncertainty, "model", None), "theta_", None)
    if other is not None and (own is None or not np.array_equal(own, other)):
        raise DataError(
            f"The covariance is of another {type(uncertainty.model).__name__}, not of this {type(model).__name__}.",
            hint="covariance(model, bags, counts) of the fitted model; bootstrap(model, ...) takes any, and pipelines.",
        )


def _width(model: Any) -> int | None:
    first = model[0] if hasattr(model, "steps") else model
    return getattr(first, "n_features_in_", None)


class _Question:
    """What is asked of every classifier, the fitted one and those drawn around it."""

    def __init__(self, members: Members, prediction: str, counts: Any, realised: bool, rng: np.random.Generator):
        self.members, self.prediction, self.counts = members, prediction, counts
        self.realised, self.rng = realised, rng

    def _probabilities(self, model: Any) -> np.ndarray:
        if self.counts is not None:
            return model.posterior(self.members.rows, self.counts)
        rows = self.members.rows
        first = model[0] if hasattr(model, "steps") else model
        known = isinstance(first, Estimator) or not isinstance(rows, Bags)
        return model.predict_proba(rows if known else rows.values)  # scikit-learn's own know no bags

    def expected(self, model: Any) -> np.ndarray:
        """Shares (n_groups, n_classes) that a classifier predicts."""
        chance = self._probabilities(model)
        if self.prediction == "hard":
            chance = np.eye(chance.shape[1])[chance.argmax(axis=1)]
        return self.members.mean(chance)

    def draws(self, uncertainty: Any, shares: np.ndarray) -> np.ndarray:
        """Shares that are as plausible, (n_draws, n_groups, n_classes): of probabilities, or of labels."""
        expected, chance = [], []
        many = uncertainty.n_draws if isinstance(uncertainty, Covariance) else len(uncertainty.fitted)
        for other in track(uncertainty.models(self.rng), "Draws", many):
            expected.append(self.expected(other))
            if self.realised:
                chance.append(self._lottery(other, expected[-1]))
        out = np.stack(expected)
        if isinstance(uncertainty, Covariance) and self.prediction == "expected":
            out = _around(out, shares)
        return np.clip(out + np.stack(chance), 0.0, 1.0) if self.realised else out

    def _lottery(self, model: Any, shares: np.ndarray) -> np.ndarray:
        """How far the shares of labels that a classifier draws lie from the expected ones."""
        if self.counts is not None:
            deviation = self._deviation(self._probabilities(model))
            return deviation * self.rng.standard_normal(deviation.shape)
        chance = self._with_own_intercepts(model)
        edges = np.cumsum(chance, axis=1)[:, :-1]
        labels = (self.rng.random(len(chance))[:, None] > edges).sum(axis=1)
        return self.members.mean(np.eye(chance.shape[1])[labels]) - shares

    def _with_own_intercepts(self, model: Any) -> np.ndarray:
        """Probabilities; with random intercepts each bag draws its own."""
        scale = model.intercept_scale() if hasattr(model, "intercept_scale") else None
        rows = self.members.rows
        if scale is None or not isinstance(rows, Bags):
            return self._probabilities(model)
        own = scale * self.rng.standard_normal(len(rows))
        one = expit(model.decision_function(rows) + own[rows.bag_index])
        return np.column_stack([1.0 - one, one])

    def _deviation(self, chance: np.ndarray) -> np.ndarray:
        """Of shares of labels given their bag's count: covariance diag(d) - d d' / sum(d) over a bag, the form that
        conditioning on a sum has to leading order; d is such that each label's variance is q (1 - q)."""
        m = self.members
        out = m.mean(chance)
        variance = np.empty_like(out)
        for c in range(chance.shape[1]):
            spread = chance[:, c] * (1.0 - chance[:, c])
            others = m.bag_sums(spread)[m.rows.bag_index] - spread
            d = np.divide(spread * (others + spread), others, out=np.zeros_like(spread), where=others > 1e-12)
            fixed = m.by_bag(m.weights * d) ** 2 / np.maximum(m.bag_sums(d), 1e-300)[None, :]
            variance[:, c] = (m.sums(m.weights**2 * d) - fixed.sum(axis=1)) / m.people**2
        return np.sqrt(np.clip(variance, 0.0, None))


def _around(draws: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Draws of shares moved to lie around the fitted ones, on the scale of logarithms.

    Coefficients that vary widely around the fitted ones bring mean probabilities nearer to one half: without this,
    intervals of wide draws leave out the very shares that the classifier predicts.
    """
    logs = np.log(np.maximum(draws, 1e-300))
    return softmax(logs - np.median(logs, axis=0) + np.log(np.maximum(shares, 1e-300)), axis=-1)
