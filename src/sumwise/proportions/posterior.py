"""The posterior of a classifier's parameters: normal around the fit with each prior width, integrated over widths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.draws import Draws
from sumwise.errors import DataError, ModelWarning
from sumwise.features import level_text
from sumwise.proportions.base import BagClassifier, average_chance
from sumwise.proportions.normal_mixture import MOST_PARAMETERS

LEAST_BAGS = 4  # per coefficient, below which the prior of widths decides intervals of coefficients and people


class PosteriorClassifier(BagClassifier):
    """A classifier with draws of its parameters: coefficients, people, subgroups and bags from the same ones."""

    posterior_: list
    nonlinear_coef_: np.ndarray
    multiclass_: str
    candidates_: list
    n_units_: int

    def _parameter_draws(self, n_draws: int, random_state: Any, linear: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Draws, in mirrored pairs, of the parameters of the logits, (n, n_logits, n_columns + n_nonlinear + 1), and of
        the deviations of the effects of bags, (n, n_logits).
        """
        self._fitted()
        if not vars(self).get("posterior_"):
            raise DataError(
                "The fit has no posterior: " + self._why_none(),
                hint="CardinalityClassifier('linear').fit(bags, counts) has one.",
            )
        rng, n_half = checks.generator(random_state), (checks.at_least(n_draws, "n_draws", 2) + 1) // 2
        tasks = [[c for c in task if not linear or c["model"] == "linear"] or task for task in self.posterior_]
        parts = [_drawn(task, n_half, rng) for task in tasks]
        tables, effects = zip(*parts)
        return np.concatenate(tables, axis=1), np.concatenate(effects, axis=1)

    def _why_none(self) -> str:
        if not isinstance(vars(self).get("classifier", "auto"), str):
            return "a scikit-learn classifier was trained by EM."
        if vars(self).get("sample_weighted_"):
            return "bags have a sample_weight, and intervals are for bags that count once."
        return f"it has more than {MOST_PARAMETERS} parameters, as models of several classes that are not linear have."

    def _few_bags(self) -> str | None:
        """Why intervals of coefficients and people are withheld, if they are."""
        n_coefs = len(self.features_.names)
        if self.n_units_ >= LEAST_BAGS * n_coefs:
            return None
        return (
            f"{self.n_units_} bags are too few for intervals of {n_coefs} effects: with fewer than {LEAST_BAGS} bags "
            "for each, the prior decides them."
        )

    def _warn_of_dispersion(self) -> None:
        """Warn where counts vary more than the model says: its coefficients are pulled towards zero then.

        Not where effects of bags are part of the posterior, as they are of two classes.
        """
        if any(c["effects"] for task in self.posterior_ for c in task):
            return
        found = vars(self).get("dispersion_", 1.0)
        n_coefs = len(self.features_.names)
        # of held-out bags as the model: 1 and the error of the coefficients, give or take the error of a variance
        if found > 1.0 + n_coefs / self.n_units_ + 3.0 * np.sqrt(2.0 / self.n_units_):
            warnings.warn(
                f"Counts of bags vary {found:.2g} times as much as their members explain. Coefficients are then too "
                "near to zero, and intervals too narrow. Hint: fit one class against the rest, whose intervals account "
                "for effects of bags.",
                ModelWarning,
                stacklevel=3,
            )

    def draws(self, n_draws: int = 1000, random_state: Any = 0) -> Draws:
        """Draws of the coefficients of the linear model: log-odds per unit, of levels against a reference.

        The reference of a column of levels is its first level, whose effect is part of the intercept; of classes it is
        the first one. Draws are integrated over the width of the prior, so that intervals account for shrinkage, and
        with two classes over effects of bags, so that they account for counts that vary more than members' labels do.
        Coefficients are then those within bags, further from zero than ``coef_``.

        Parameters
        ----------
        n_draws : int >= 2, default 1000
        random_state : int, Generator or None, default 0

        Returns
        -------
        Draws with the axes class and feature

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.proportions import CardinalityClassifier
        >>> data = synthetic.election(60, 30, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
        >>> clf = CardinalityClassifier("linear").fit(data.bags, data.counts[:, 1])
        >>> clf.draws().estimate(0.9).to_frame().columns.tolist()
        ['class', 'feature', 'coefficient', 'low', 'high']
        """
        why = self._few_bags() if "features_" in vars(self) else None
        if why is not None:
            raise DataError(why, hint="give more bags or fewer features; subgroups(...) still has intervals.")
        other = sum(c["weight"] for c in self._fitted().candidates_ if c["model"] != "linear")
        if other > 0.5 * max(len(self.posterior_), 1):
            warnings.warn(
                f"The bags support a model that is not linear with weight {other / len(self.posterior_):.2f}; these "
                "are the coefficients of the linear one. Hint: subgroups(...) shows how shares differ.",
                ModelWarning,
                stacklevel=2,
            )
        self._warn_of_dispersion()
        theta, _ = self._parameter_draws(n_draws, random_state, linear=True)
        d = len(self.features_.names)
        table = np.concatenate([theta[..., :d], theta[..., -1:]], axis=2)
        names = list(self.classes_)
        if table.shape[1] > 1 and self.multiclass_ == "exact":
            table = table[:, 1:] - table[:, :1]
        classes = names[1:] if table.shape[1] == len(names) - 1 else names
        contrasts, labels = _contrasts(self.features_)
        return Draws(table @ contrasts.T, [classes, labels], ["class", "feature"], "coefficient")

    def predict_interval(
        self, X: Any, level: float = 0.95, n_draws: int = 1000, random_state: Any = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of the probabilities of individuals: (n_rows,) of class 1, or (n_rows, n_classes).

        They contain `predict_proba`, which is shrunk more than the posterior: an interval begins or ends there where
        equal tails would leave it out.

        Refused where there are fewer than four bags per coefficient, as for `draws`.
        """
        why = self._few_bags() if "features_" in vars(self) else None
        if why is not None:
            raise DataError(why, hint="give more bags or fewer features; subgroups(...) still has intervals.")
        self._warn_of_dispersion()
        bags, predicted = self.design(X), self.predict_proba(X)
        theta, effects = self._parameter_draws(n_draws, random_state)
        n_classes, ends = self.n_classes_, []
        for begin in range(0, bags.n_rows, BLOCK):
            columns = self._columns(np.asarray(bags.values[begin : begin + BLOCK], float))
            chance = np.stack([self._chance(columns @ t[:, :-1].T + t[:, -1], e) for t, e in zip(theta, effects)])
            ends.append(Draws(chance).interval(level, predicted[begin : begin + BLOCK]))
        low, high = np.concatenate(ends, axis=1)
        return (low[:, 1], high[:, 1]) if n_classes == 2 else (low, high)

    def count_draws(self, bags: Bags, n_draws: int = 1000, random_state: Any = 0) -> Draws:
        """Draws of the class counts of other bags, with the chance of labels and the overdispersion of training bags.

        Returns
        -------
        Draws with the axes bag and class
        """
        design = self.design(bags)
        rng = checks.generator(random_state)
        out = np.empty((2 * ((checks.at_least(n_draws, "n_draws", 2) + 1) // 2), len(design), self.n_classes_))
        draws = self.drawn_probabilities(design, None, n_draws, rng)
        spread = np.sqrt(max((c["dispersion"] for task in self.posterior_ for c in task), default=1.0))
        for k, chance in enumerate(draws):
            edges = np.cumsum(chance, axis=1)[:, :-1]
            labels = np.eye(self.n_classes_)[(rng.random(len(chance))[:, None] > edges).sum(axis=1)]
            mean = design.sums(chance * design.weights[:, None])
            out[k] = mean + spread * (design.sums(labels * design.weights[:, None]) - mean)
        totals = np.broadcast_to(design.total_weights[:, None], out.shape[1:])
        return Draws(
            out, [list(design.ids), list(self.classes_)], ["bag", "class"], "count", np.zeros_like(totals), totals
        )

    def drawn_probabilities(
        self, design: Bags, counts: Any, n_draws: int, rng: np.random.Generator, in_bags: bool = True
    ) -> Iterator:
        """Probabilities (n_rows, n_classes) of rows of `design`, under one set of parameters after the other.

        With `counts` they are given the counts of the bags. Without, every bag has an effect of its own, drawn anew;
        rows of no bag are averaged over it.
        """
        theta, effects = self._parameter_draws(n_draws, rng)
        columns = self._columns(np.asarray(design.values, dtype=np.float64))
        likelihood = None if counts is None else self._likelihood(design, counts)
        for table, scale in zip(theta, effects):
            logits = columns @ table[:, :-1].T + table[:, -1]
            if likelihood is not None:  # given the count of a bag, its effect says nothing more about labels
                yield likelihood.evaluate(self._joined(logits)).soft_labels
            elif in_bags:
                own = scale * rng.standard_normal((len(design), len(scale)))
                yield self._chance(logits + own[design.bag_index], np.zeros(len(scale)))
            else:
                yield self._chance(logits, scale)

    def _chance(self, logits: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Probabilities (n_rows, n_classes) of logits (n_rows, n_logits), averaged over effects of bags."""
        if logits.shape[1] == 1:
            one = average_chance(logits[:, 0], effects[0])
            return np.column_stack([1.0 - one, one])
        if self.multiclass_ == "ovr":
            alone = np.column_stack([average_chance(x, scale) for x, scale in zip(logits.T, effects)])
            return alone / np.maximum(alone.sum(axis=1, keepdims=True), 1e-300)
        return softmax(logits, axis=1)

    def _columns(self, values: np.ndarray) -> np.ndarray:
        """Columns that the parameters belong to, without the intercept."""
        raise NotImplementedError


BLOCK = 4096  # rows whose draws are held at once


def _drawn(components: list, n_half: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws of a mixture, (2 n_half, n_logits, width), and of the deviation of bags' effects, (2 n_half, n_logits):
    from each component as many as its weight asks for.
    """
    weights = np.array([c["weight"] for c in components])
    ends = np.rint(n_half * np.cumsum(weights / weights.sum())).astype(int)
    parts = []
    for component, k in zip(components, np.diff(ends, prepend=0)):
        mean, root = component["mean"], component["root"]
        step = np.tensordot(rng.standard_normal((k, root.shape[-1])), root, axes=(1, 2))
        parts += [np.stack([mean + step, mean - step], axis=1).reshape(2 * k, *mean.shape)]
    effects = np.repeat([c["effects"] for c in components], 2 * np.diff(ends, prepend=0))
    order = rng.permutation(len(effects))
    tables = np.concatenate(parts)[order]
    return tables, np.broadcast_to(effects[order, None], tables.shape[:2])


def _contrasts(features: Any) -> tuple[np.ndarray, list[str]]:
    """A matrix that turns coefficients and intercept into contrasts with reference levels, and their names."""
    names = [str(name) for name in features.names]
    matrix, labels, at, reference = [], [], 0, 0
    intercept = np.zeros(len(names) + 1)
    intercept[-1] = 1.0
    for column in features.columns:
        width = features.width(column)
        places = list(range(at, at + width))
        at += width
        if column in features.levels:
            reference, *places = places
            intercept[reference] = 1.0
        for place in places:
            row = np.zeros(len(names) + 1)
            row[place] = 1.0
            label = names[place]
            if column in features.levels:
                row[reference] = -1.0
                label = f"{label} vs {level_text(features.levels[column][0])}"
            matrix.append(row)
            labels.append(label)
    return np.array([*matrix, intercept]), [*labels, "intercept"]
