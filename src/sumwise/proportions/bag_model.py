"""One likelihood of bags and the models that are fitted to it: linear, or with Fourier features, under a prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sumwise.proportions.averaged import N_STEPS, ROUGH, STEP, Candidate
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.fourier import N_FREQUENCIES, FourierFeatures
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LOGISTIC, LinearProblem, constant_table, maximise, reference_shape
from sumwise.proportions.posterior import MOST_PARAMETERS, gaussian, information, width_weights


@dataclass(eq=False)
class BagModel:
    """One likelihood to be maximised, of all classes at once or of one against the rest, in canonical columns."""

    values: np.ndarray
    likelihood: BagLikelihood
    random_intercept: bool
    fourier: FourierFeatures | None = None

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
    def joint(self) -> Rows:
        """The scaled columns and the Fourier features, each with half of the prior variance of logits."""
        assert self.fourier is not None
        return Rows(np.hstack([self.scaled[0].values, self.fourier.columns(self.values)]) / np.sqrt(2.0))

    def start(self, problem: LinearProblem) -> np.ndarray:
        """Parameters that give every row the overall shares."""
        theta = constant_table(self.shares, problem.width).ravel()
        return np.append(theta, np.log(0.3)) if self.random_intercept else theta

    def problem(self, basis: str, likelihood: BagLikelihood, deviation: float) -> LinearProblem:
        """The fit under which log-odds of any two classes have this prior deviation."""
        rows = self.joint if basis == "fourier" else self.scaled[0]
        n_classes = likelihood.observed.n_classes
        variance = deviation**2 / (1.0 if n_classes == 2 else 2.0)  # of one of the two logits of a softmax
        penalty = np.full(rows.values.shape[1], 1.0 / variance)
        return LinearProblem(rows, likelihood, penalty, n_classes, self.random_intercept)

    def penalty(self, candidates: list[Candidate]) -> np.ndarray:
        """The penalty on coefficients of the prior in the middle of the linear candidates, else of all."""
        linear = [c for c in candidates if c.basis == "linear"] or candidates
        middle = np.average([np.log(c.deviation) for c in linear], weights=[c.weight for c in linear])
        return reference_shape(self.values) * (1.0 if self.shares.size == 2 else 2.0) / np.exp(2.0 * middle)

    def back(self, basis: str, theta: np.ndarray) -> np.ndarray:
        """Parameters of the columns as they are, then of the Fourier features, then intercepts: (n_logits, width, ...).

        Further axes of `theta` are further sets of parameters.
        """
        n_logits, d = 1 if self.shares.size == 2 else self.shares.size, self.values.shape[1]
        table = theta.reshape(n_logits, -1, *theta.shape[1:])
        n_extra = 0 if self.fourier is None else 2 * N_FREQUENCIES
        linear = table[:, :d] / self.scaled[1].reshape(1, d, *[1] * (theta.ndim - 1))
        if basis == "linear":
            nothing = np.zeros((n_logits, n_extra, *theta.shape[1:]))
            return self.uncentred(np.concatenate([linear, nothing, table[:, -1:]], axis=1))
        parts = [linear / np.sqrt(2.0), table[:, d:-1] / np.sqrt(2.0), table[:, -1:]]
        return self.uncentred(np.concatenate(parts, axis=1))

    def uncentred(self, table: np.ndarray) -> np.ndarray:
        """Parameters (n_logits, width, ...) of centred columns as those of columns as they are."""
        shift = np.einsum("j,cj...->c...", self.centre, table[:, : len(self.centre)])
        return np.concatenate([table[:, :-1], (table[:, -1] - shift)[:, None]], axis=1)

    def given(self, likelihood: BagLikelihood, penalty: Any) -> LinearProblem:
        """The linear fit with a penalty on the columns as they are."""
        return LinearProblem(self.rows, likelihood, penalty, likelihood.observed.n_classes, self.random_intercept)

    def components(self, candidates: list[Candidate]) -> list[dict[str, Any]]:
        """The posterior of the linear model and, if it has any weight, of the one with Fourier features."""
        out = []
        for basis in dict.fromkeys(("linear", *(c.basis for c in candidates))):
            weight = sum(c.weight for c in candidates if c.basis == basis)
            out += self._of_basis(basis, max(weight, 1e-12), candidates)
        return out

    def component(self, basis: str, problem: LinearProblem, theta: np.ndarray) -> dict[str, Any] | None:
        """The posterior under one prior; None where there are too many parameters."""
        if problem.n_params > MOST_PARAMETERS:
            return None
        matrix, scale = information(problem, theta)
        mean, root, _ = gaussian(problem, theta, matrix)
        return {"model": basis, "weight": 1.0, "mean": mean, "root": np.sqrt(scale) * root, "dispersion": scale}

    def _of_basis(self, basis: str, weight: float, candidates: list[Candidate]) -> list[dict[str, Any]]:
        """Normal components for each width of the prior, walking from the best candidate's until none matters."""
        own = [c for c in candidates if c.basis == basis]
        begin = max(own, key=lambda c: c.weight).deviation if own else LOGISTIC
        first = self.problem(basis, self.likelihood, begin)
        if first.n_params > MOST_PARAMETERS:
            return []
        fits: dict[int, tuple] = {}

        def visit(step: int, theta: np.ndarray) -> None:
            problem = self.problem(basis, self.likelihood, begin * float(np.exp(step * STEP)))
            solution = maximise(problem, theta, ROUGH, 300)
            matrix, scale = information(problem, solution.theta)
            fits[step] = (solution, *gaussian(problem, solution.theta, matrix), scale)

        visit(0, max(own, key=lambda c: c.weight).solution.theta if own else self.start(first))
        scale = fits[0][4]

        def weights() -> dict[int, float]:
            steps = sorted(fits)
            evidence = [fits[k][0].objective - 0.5 * fits[k][3] for k in steps]
            deviations = [begin * float(np.exp(k * STEP)) for k in steps]
            n_coefs = first.n_logits * (first.width - 1)
            return dict(zip(steps, width_weights(evidence, deviations, n_coefs, scale)))

        for direction in (1, -1):
            step = 0
            while abs(step) < 2 * N_STEPS and weights()[step] >= 0.01 * max(weights().values()):
                visit(step + direction, fits[step][0].theta)
                step += direction
        shares = {k: w for k, w in weights().items() if w >= 0.01}
        total = sum(shares.values())
        return [
            {
                "model": basis,
                "weight": weight * w / total,
                "mean": self.back(basis, fits[k][1]),
                "root": self.back(basis, np.sqrt(scale) * fits[k][2]),
                "dispersion": scale,
            }
            for k, w in shares.items()
        ]
