"""One likelihood of bags and the models that are fitted to it: linear, or with other features, under a prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from sumwise.proportions.averaged import Candidate
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.fourier import FourierFeatures
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LOGISTIC, LinearProblem, constant_table, reference_shape
from sumwise.proportions.normal_mixture import normal_mixture
from sumwise.proportions.products import ProductFeatures


@dataclass(eq=False)
class BagModel:
    """One likelihood to be maximised, of all classes at once or of one against the rest, in canonical columns."""

    values: np.ndarray
    likelihood: BagLikelihood
    random_intercept: bool
    nonlinear: dict[str, FourierFeatures | ProductFeatures] = field(default_factory=dict)

    @cached_property
    def shares(self) -> np.ndarray:
        """Overall class shares."""
        shares, likelihood = self.likelihood.observed.shares(np.diff(self.likelihood.offsets)), self.likelihood
        return np.average(shares, axis=0, weights=likelihood.powers * np.diff(likelihood.offsets))

    @cached_property
    def rows(self) -> Rows:
        """Columns less their means, so that where their zero lies changes nothing."""
        return Rows(self.values, self.centre)

    @cached_property
    def centre(self) -> np.ndarray:
        """Means of the columns."""
        return self.values.mean(axis=0)

    @cached_property
    def scaled(self) -> tuple[Rows, np.ndarray]:
        """Columns under whose standard normal coefficients logits vary by about one, and what they were divided by."""
        scale = np.sqrt(reference_shape(self.values))
        return Rows(self.values / scale, self.centre / scale), scale

    @cached_property
    def joint(self) -> dict[str, Rows]:
        """The scaled columns and features of one kind, each with half of the prior variance of logits."""
        parts = {name: features.columns(self.values) for name, features in self.nonlinear.items()}
        return {name: Rows(np.hstack([self.scaled[0].values, part]) / np.sqrt(2.0)) for name, part in parts.items()}

    @property
    def widths(self) -> dict[str, int]:
        """Columns of each kind of features that are not linear."""
        return {name: rows.values.shape[1] - self.values.shape[1] for name, rows in self.joint.items()}

    def start(self, problem: LinearProblem) -> np.ndarray:
        """Parameters that give every row the overall shares."""
        theta = constant_table(self.shares, problem.width).ravel()
        return np.append(theta, 0.0) if problem.random_intercept else theta

    @property
    def with_effects(self) -> bool:
        """Whether the posterior has effects of bags: they are integrated out of exact counts of two classes, and of
        bags of one member nothing is known of them."""
        exact = self.shares.size == 2 and self.likelihood.observed.exact
        return exact and bool(np.diff(self.likelihood.offsets).max() > 1)

    def problem(self, basis: str, likelihood: BagLikelihood, deviation: float, **effects: Any) -> LinearProblem:
        """The fit under which log-odds of any two classes have this prior deviation."""
        rows = self.scaled[0] if basis == "linear" else self.joint[basis]
        n_classes = likelihood.observed.n_classes
        variance = deviation**2 / (1.0 if n_classes == 2 else 2.0)  # of one of the two logits of a softmax
        penalty = np.full(rows.values.shape[1], 1.0 / variance)
        effects = effects or {"random_intercept": self.random_intercept}
        return LinearProblem(rows, likelihood, penalty, n_classes, **effects)

    def penalty(self, candidates: list[Candidate]) -> np.ndarray:
        """The penalty on coefficients of the prior in the middle of the linear candidates, else of all."""
        linear = [c for c in candidates if c.basis == "linear"] or candidates
        middle = np.average([np.log(c.deviation) for c in linear], weights=[c.weight for c in linear])
        return reference_shape(self.values) * (1.0 if self.shares.size == 2 else 2.0) / np.exp(2.0 * middle)

    def back(self, basis: str, theta: np.ndarray) -> np.ndarray:
        """Parameters of the columns, of features that are not linear, and intercepts: (n_logits, width, ...).

        Further axes of `theta` are further sets of parameters.
        """
        n_logits, d = 1 if self.shares.size == 2 else self.shares.size, self.values.shape[1]
        table = theta.reshape(n_logits, -1, *theta.shape[1:])
        half = 1.0 if basis == "linear" else np.sqrt(2.0)
        parts = [table[:, :d] / self.scaled[1].reshape(1, d, *[1] * (theta.ndim - 1)) / half]
        for name, width in self.widths.items():
            parts.append(table[:, d:-1] / half if name == basis else np.zeros((n_logits, width, *theta.shape[1:])))
        return self.uncentred(np.concatenate([*parts, table[:, -1:]], axis=1))

    def uncentred(self, table: np.ndarray) -> np.ndarray:
        """Parameters (n_logits, width, ...) of centred columns as those of columns as they are."""
        shift = np.einsum("j,cj...->c...", self.centre, table[:, : len(self.centre)])
        return np.concatenate([table[:, :-1], (table[:, -1] - shift)[:, None]], axis=1)

    def given(self, likelihood: BagLikelihood, penalty: Any, **effects: Any) -> LinearProblem:
        """The linear fit with a penalty on the columns as they are."""
        effects = effects or {"random_intercept": self.random_intercept}
        return LinearProblem(self.rows, likelihood, penalty, likelihood.observed.n_classes, **effects)

    def components(self, candidates: list[Candidate]) -> list[dict[str, Any]]:
        """The posterior of the linear model, and of others that have any weight."""
        out = []
        for basis in dict.fromkeys(("linear", *(c.basis for c in candidates))):
            own = [c for c in candidates if c.basis == basis]
            best = max(own, key=lambda c: c.weight) if own else None
            deviation, weight = best.deviation if best else LOGISTIC, max(sum(c.weight for c in own), 1e-12)
            problem = self.problem(basis, self.likelihood, deviation)
            theta = problem.coefficients(best.solution.theta if best else self.start(problem))
            make = partial(self.problem, basis, self.likelihood)
            for one in normal_mixture(make, theta, deviation, self.with_effects):
                parts = {part: self.back(basis, one[part]) for part in ("mean", "root")}
                out.append({"model": basis} | one | parts | {"weight": weight * one["weight"]})
        return out

    def component(self, problem: LinearProblem, theta: np.ndarray) -> list[dict[str, Any]]:
        """The posterior under one prior, of columns as they are."""
        shape = problem.n_logits, problem.width

        def make(_deviation: float, **effects: Any) -> LinearProblem:
            return self.given(self.likelihood, problem.penalty, **effects)

        out = []
        for one in normal_mixture(make, problem.coefficients(theta), None, self.with_effects):
            parts = {part: self.uncentred(one[part].reshape(*shape, *one[part].shape[1:])) for part in ("mean", "root")}
            out.append({"model": "linear"} | one | parts)
        return out
