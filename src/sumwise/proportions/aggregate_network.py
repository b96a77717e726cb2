"""Networks that are added to a linear model of individuals' responses, trained on sums over bags; needs torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.inference.networks.optimiser import adamw
from sumwise.inference.networks.tensors import as_arrays, threads
from sumwise.proportions.cardinality_network import hidden_layers

# Usual values, not tuned: held-out bags decide how many of the steps are taken, down to none.
FOLDS, MEMBERS = 4, 5
MAX_STEPS, PATIENCE = 400, 40
LEARNING_RATE, WEIGHT_DECAY = 0.01, 0.01
LAYER_COPIES = 4  # of a layer in training: before and after its activation, and the gradients of both
MOST_OVERLAPPING = 4000  # bags that share people, whose covariance is a full matrix


@dataclass(frozen=True)
class SumData:
    """Standardised features of people, which bags hold whom, sums, the noise on them, and each person's variance."""

    values: np.ndarray  # (n_people, d)
    matrix: sparse.csr_array  # (n_bags, n_people)
    totals: np.ndarray  # (n_bags,)
    noise: np.ndarray  # (n_bags,) variance
    relative: np.ndarray  # (n_people,) variance of a person's response, relative to that of one
    weights: np.ndarray  # (n_bags,) how much each counts; 1 where bags share people
    likelihood: str

    def precision(self, kept: np.ndarray, variance: float, means: np.ndarray) -> np.ndarray:
        """Inverse covariance of the sums of the bags kept, (n_bags, n_bags) with zeros elsewhere: normal errors, or
        counts whose variance is a multiple of their mean."""
        each = variance * (self.relative if self.likelihood == "gaussian" else means)
        covariance = (self.matrix * each) @ self.matrix.T + sparse.diags_array(self.noise)
        covariance = sparse.csr_array(covariance)[kept][:, kept]
        out = np.zeros((len(self.totals), len(self.totals)))
        out[np.ix_(kept, kept)] = np.linalg.inv(covariance.toarray())
        return out

    @property
    def overlapping(self) -> bool:
        """Whether anybody is in several bags."""
        people = np.asarray(self.matrix.tocoo().col)
        return len(np.unique(people)) < len(people)


def added_by(networks: list, values: np.ndarray) -> np.ndarray:
    """What networks, each a list of weights, add to every row, (n_rows,): to the response, or to the log of a mean."""
    said = [(hidden_layers(w, values, len(w) // 2 - 1) @ w[-2].T + w[-1])[:, 0] for w in networks]
    return np.mean(said, axis=0)


def train_networks(
    data: SumData, variance: float, linear: Callable[[np.ndarray], np.ndarray], hidden: tuple, seed: int
) -> tuple[list, int, float]:
    """Train without each of four parts of the bags, then on all of them for the number of steps that was best.

    Parameters
    ----------
    data : SumData
    variance : float
        Of one response; of counts how many times the Poisson variance they have.
    linear : callable
        ``linear(kept)`` gives the linear part of everybody, (n_people,), from the bags kept.
    hidden : tuple of int
    seed : int

    Returns
    -------
    list, int, float
        Weights of each network, the number of steps that held-out bags chose, and what the networks gained there: in
        the mean squared error of sums, in their variances, over the linear part alone.
    """
    n = len(data.totals)
    if data.overlapping and n > MOST_OVERLAPPING:
        raise DataError(
            f"{n} bags share people: networks take {MOST_OVERLAPPING} such bags at most.", hint="hidden=() is linear."
        )
    rng = np.random.default_rng(seed)
    folds = rng.permutation(np.arange(n) % min(FOLDS, n))
    masks = [folds != fold for fold in range(folds.max() + 1)]
    with threads(1):
        run = _Run(data, variance, [linear(mask) for mask in masks], masks, hidden, rng)
        losses = run.held_out(folds)
        best = int(np.argmin(losses))
        members: list = []
        if best:
            everybody = np.ones(n, dtype=bool)
            final = _Run(data, variance, [linear(everybody)] * MEMBERS, [everybody] * MEMBERS, hidden, rng)
            members = final.trained(best)
    return members, best, float(losses[0] - losses[best])


class _Run:
    """Several networks in step, each beside its own linear part and on its own bags."""

    def __init__(self, data: SumData, variance: float, lines: list, masks: list, hidden: tuple, rng):
        self.torch = torch = require("torch")
        self.data, n = data, len(lines)
        self.lines = torch.as_tensor(np.stack(lines), dtype=torch.float32)
        self.rows = torch.as_tensor(data.values, dtype=torch.float32).expand(n, -1, -1)
        parts = data.matrix.tocoo()
        index = torch.as_tensor(np.stack([parts.row, parts.col]).astype(np.int64))
        entries = torch.as_tensor(parts.data, dtype=torch.float32)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")  # of torch 2.11, once
            self.matrix = torch.sparse_coo_tensor(index, entries, parts.shape, check_invariants=True).coalesce()
        self.totals, self.total = torch.as_tensor(data.totals, dtype=torch.float32), float(data.weights.sum())
        self.weights = [self._weights(variance, line, mask) for line, mask in zip(lines, masks)]
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        self.params: list[Any] = []
        for inside, outside in pairwise([data.values.shape[1], *hidden]):
            drawn = torch.randn(n, outside, inside, generator=generator) * (2.0 / inside) ** 0.5
            self.params += [drawn, torch.zeros(n, outside)]
        self.params += [torch.zeros(n, 1, hidden[-1]), torch.zeros(n, 1)]  # begins at the linear part
        self.params = [p.requires_grad_() for p in self.params]
        self.optimiser = adamw(self.params, LEARNING_RATE, WEIGHT_DECAY, matrix_dimensions=3)

    def _weights(self, variance: float, line: np.ndarray, mask: np.ndarray) -> Any:
        """Inverse covariance of the sums that are seen: (n_bags, n_bags), or (n_bags,) where nobody is in two bags."""
        means = np.exp(line) if self.data.likelihood == "poisson" else line
        if self.data.overlapping:
            found = self.data.precision(mask, variance, means)
        else:
            found = mask * self.data.weights / self._variances(variance, means)
        return self.torch.as_tensor(found, dtype=self.torch.float32)

    def _variances(self, variance: float, means: np.ndarray) -> np.ndarray:
        data = self.data
        if data.likelihood == "gaussian":
            each = data.matrix.power(2) @ (variance * data.relative)
        else:
            each = data.matrix @ (variance * means)
        return np.maximum(each + data.noise, 1e-300)

    def errors(self) -> Any:
        """Sums less what the networks expect, (n_networks, n_bags)."""
        torch, hidden = self.torch, self.rows
        for k in range(0, len(self.params), 2):
            hidden = torch.baddbmm(self.params[k + 1][:, None, :], hidden, self.params[k].transpose(1, 2))
            hidden = torch.nn.functional.silu(hidden) if k < len(self.params) - 2 else hidden
        means = self.lines + hidden[:, :, 0]
        means = torch.exp(means.clamp(max=50.0)) if self.data.likelihood == "poisson" else means
        return self.totals - torch.sparse.mm(self.matrix, means.T).T

    def step(self) -> None:
        """One step of all networks on all their bags."""
        self.optimiser.zero_grad()
        loss: Any = 0.0
        for off, weight in zip(self.errors(), self.weights):
            loss = loss + 0.5 * (off @ weight @ off if weight.ndim == 2 else (weight * off**2).sum()) / self.total
        loss.backward()
        self.optimiser.step()

    def held_out(self, folds: np.ndarray) -> np.ndarray:
        """Mean squared error of the sums that a network didn't see, in variances of the linear part, by step."""
        data, losses = self.data, []
        place = np.arange(len(folds))
        line = self.lines.double().numpy()
        means = np.exp(line) if data.likelihood == "poisson" else line
        unit = np.stack([self._variances(1.0, m) for m in means])[folds, place]
        while len(losses) <= MAX_STEPS and len(losses) - int(np.argmin(losses or [0])) <= PATIENCE:
            if losses:
                self.step()
            with self.torch.no_grad():
                off = self.errors().double().numpy()[folds, place]
            losses.append(float(np.average(off**2 / unit, weights=data.weights)))
        return np.array(losses)

    def trained(self, n_steps: int) -> list:
        """Weights of each network after this many steps."""
        for _ in range(n_steps):
            self.step()
        arrays = as_arrays(self.params)
        return [[array[k] for array in arrays] for k in range(len(self.weights))]
