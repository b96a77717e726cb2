"""Shares of subgroups: what a classifier of individuals says of groups, states and the nation, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.draws import Draws
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.progress import track
from sumwise.proportions.members import Members, gather
from sumwise.proportions.posterior import PosteriorClassifier

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
        The mean of the draws, where there are any.
    draws : Draws of shape (n_groups, n_classes), or None
        Of a classifier that has a posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, subgroups
    >>> data = synthetic.election(60, 30, n_categorical=1, mean_weight=1, weight_spread=0, random_state=0)
    >>> clf = CardinalityClassifier("linear").fit(data.bags, data.counts[:, 1])
    >>> found = subgroups(clf, data.bags, by={"sex": np.array(["m", "f"])[data.codes["sex"]]})
    >>> found.to_frame().columns.tolist()
    ['sex', 'rows', 'people', 'class', 'share', 'low', 'high']
    """

    groups: pd.DataFrame
    by: tuple
    classes: tuple
    shares: np.ndarray
    draws: Draws | None = None

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
                "These shares have no interval: the classifier has no posterior.",
                hint="subgroups(CardinalityClassifier().fit(bags, counts), ...) has one.",
            )
        return self.draws.interval(level)

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
            part = self.draws.map(lambda d: _ratio(d[..., a], d[..., a] + d[..., b]), name="share")
            out["share"], (out["low"], out["high"]) = part.mean, part.interval(level)
        return out

    def _position(self, name: Any) -> int:
        checks.known(name, self.classes, "class")
        return self.classes.index(name)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)


def subgroups(
    model: Any,
    individuals: Any,
    by: Sequence | Mapping | str = (),
    weights: Any = None,
    *,
    counts: Any = None,
    classes: Sequence | None = None,
    prediction: str = "expected",
    n_draws: int = 500,
    random_state: Any = 0,
) -> Subgroups:
    """Class shares of subgroups of individuals, p(class | f(x)), by any columns: groups, states, the nation.

    Shares of a classifier with a posterior (`CardinalityClassifier`) come with draws, and so with intervals, of the
    shares of these very people's labels: the parameters vary, and so do the labels.

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
    counts : array, optional
        Counts of the bags, where ``individuals`` are the `Bags` that they belong to: shares are then those given the
        counts, from ``model.posterior``.
    classes : sequence, optional
        Names; default 0, 1, ...
    prediction : {"expected", "hard"}, default "expected"
        Means of probabilities, or counts of likeliest classes as in Sun et al. 2017, which have no intervals.
    n_draws : int >= 2, default 500
    random_state : int, Generator or None, default 0

    Returns
    -------
    Subgroups

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, subgroups
    >>> data = synthetic.election(60, 30, n_classes=3, random_state=0)
    >>> clf = CardinalityClassifier("linear").fit(data.bags, data.totals)
    >>> people = data.test_frame()[["sex", "race"]]
    >>> found = subgroups(clf, data.test_values, by={"sex": people["sex"]}, classes=data.classes)
    >>> found.two_party("D", "R").columns.tolist()
    ['sex', 'rows', 'people', 'voters', 'share', 'low', 'high']
    """
    checks.choice(prediction, "prediction", ("expected", "hard"))
    members = gather(individuals, by, weights, model)
    if counts is not None and not isinstance(members.rows, Bags):
        raise DataError("Counts belong to bags.", hint="give the individuals as the Bags that the counts are of.")
    chance = _probabilities(model, members.rows, counts)
    names = tuple(range(chance.shape[1])) if classes is None else tuple(checks.listing(classes, "classes"))
    if len(names) != chance.shape[1]:
        raise DataError(f"There are {len(names)} names for {chance.shape[1]} classes.")
    hard = prediction == "hard"
    shares = members.mean(np.eye(chance.shape[1])[chance.argmax(axis=1)] if hard else chance)
    draws = None
    if not hard and isinstance(model, PosteriorClassifier) and vars(model).get("posterior_"):
        values = _drawn(model, members, counts, n_draws, checks.generator(random_state))
        labels = [[_named(row) for row in members.groups[list(members.by)].itertuples(index=False)], names]
        draws = Draws(values, labels, ["group", "class"], "share")
        shares = draws.mean
    return Subgroups(members.groups, members.by, names, shares, draws)


def _named(row: tuple) -> str:
    return ", ".join(map(str, row)) or "all"


def _probabilities(model: Any, rows: Any, counts: Any) -> np.ndarray:
    if counts is not None:
        return model.posterior(rows, counts)
    first = model[0] if hasattr(model, "steps") else model
    known = isinstance(first, Estimator) or not isinstance(rows, Bags)
    return model.predict_proba(rows if known else rows.values)  # scikit-learn's own know no bags


def _drawn(model: Any, members: Members, counts: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Shares of the labels of these people, (n_draws, n_groups, n_classes)."""
    design = model.design(members.rows)
    with_counts = None if counts is None else members.rows.align(counts)
    apart = np.sqrt(np.maximum(members.weights, 1e-300))[:, None]
    out = []
    drawn = model.drawn_probabilities(design, with_counts, n_draws, rng, isinstance(members.rows, Bags))
    for chance in track(drawn, "Draws", n_draws):
        edges = np.cumsum(chance, axis=1)[:, :-1]
        labels = np.eye(chance.shape[1])[(rng.random(len(chance))[:, None] > edges).sum(axis=1)]
        off = (labels - chance) / apart  # a row of weight w stands for w people with labels of their own
        out.append(members.mean(chance + (off if counts is None else _with_fixed_sums(members, chance, off))))
    shares = np.clip(out, 0.0, 1.0)
    return shares / shares.sum(axis=2, keepdims=True)


def _with_fixed_sums(m: Members, chance: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Deviations of labels from their probabilities that add up to nothing in every bag, whose counts are known.

    Independent deviations z_i with covariances S_i are conditioned on their sum as if they were normal: z_i - S_i v,
    where v solves sum(S_i) v = sum(z_i) over the bag. So subgroups of a bag vary against each other. S_i is such that
    each label's variance afterwards is q (1 - q).
    """
    k, bag = chance.shape[1], m.rows.bag_index
    trace = (chance * (1.0 - chance)).sum(axis=1)
    others = m.bag_sums(m.weights * trace)[bag] - trace
    inflation = np.divide(others + trace, others, out=np.zeros_like(trace), where=others > 1e-12)
    off, size = off * np.sqrt(inflation)[:, None], m.weights * inflation
    total = np.column_stack([m.bag_sums(m.weights * off[:, c]) for c in range(k - 1)])
    covariance = np.empty((len(total), k - 1, k - 1))  # the last class is what the others leave
    for c in range(k - 1):
        for d in range(k - 1):
            covariance[:, c, d] = m.bag_sums(size * chance[:, c] * ((c == d) - chance[:, d]))
    covariance[:, range(k - 1), range(k - 1)] += 1e-12 * (1.0 + covariance.max(axis=(1, 2)))[:, None]
    solved = np.zeros((len(total), k))
    solved[:, :-1] = np.linalg.solve(covariance, total[:, :, None])[:, :, 0]
    pull = solved[bag]
    pull -= (chance * pull).sum(axis=1, keepdims=True)
    return off - inflation[:, None] * chance * pull
