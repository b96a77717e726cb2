"""CardinalityNetwork: neural networks trained on the likelihood of bags' counts, a few bags at a time (needs
torch)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.fit import Fit, warn_not_converged
from sumwise.kernels.cardinality_information import weighted_sums
from sumwise.networks.features import centre_and_scale
from sumwise.networks.optimiser import adamw
from sumwise.networks.pooling import Segments
from sumwise.networks.tensors import as_arrays, threads
from sumwise.progress import Progress
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import drop_empty, observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, maximise

__all__ = ["CardinalityNetwork", "hidden_layers"]


class CardinalityNetwork(BagClassifier):
    """Neural classifier of individuals, trained by exact maximum likelihood from class counts per bag.

    The logits are those of a linear `CardinalityClassifier` plus the average of several networks', which begin at
    zero. How long they are trained is learned from bags alone, by holding parts of them out.

    Parameters
    ----------
    hidden : tuple of int, default (64,)
        Widths of the hidden layers.
    sees_bag : bool, default False
        Whether a member's logit also depends on its bag: rho(concat(phi(x), mean of phi over the bag)). A matrix
        given to `predict_proba` then counts as one bag.
    penalty : float or "auto", default "auto"
        Of the linear part.
    weight_decay : float, default 1e-3
        Of the network.
    learning_rate : float, default 1e-3
    batch_bags : int or None, default None
        Bags per step, down to 1; by default as many as hold about 512 rows.
    max_epochs : int, default 100
    patience : int, default 10
        Epochs without a better likelihood of the held-out bags after which a trial stops.
    n_folds : int, default 4
        Parts of the bags that are held out in turn; the epoch with the best mean likelihood is taken.
    n_members : int, default 5
        Networks, each trained on all bags from another beginning, and averaged.
    noise, totals, inference : as in `CardinalityClassifier`.
    random_intercept : bool, default False
        Whether bags have intercepts of their own; their scale is learned with the linear part.
    device : str, default "cpu"
        Where torch computes; inference over bags runs on the CPU.
    verbose : int, default 0
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    linear_ : CardinalityClassifier, the linear part.
    members_ : list of lists of arrays, weights and biases of each network.
    n_epochs_ : int, how long they were trained; 0 where no network helped.
    gain_ : float, mean rise of the log-likelihood per held-out bag over the linear part, at that epoch.
    fit_ : Fit

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import CardinalityNetwork
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags(rng.normal(size=(300, 2)), np.arange(0, 301, 5))
    >>> counts = (np.abs(bags.values[:, 0]) > 0.7).reshape(60, 5).sum(axis=1)
    >>> net = CardinalityNetwork(penalty=1.0, n_members=1, learning_rate=0.1, patience=1).fit(bags, counts)
    >>> net.predict_proba(bags.values).shape
    (300, 2)
    """

    def __init__(
        self,
        hidden=(64,),
        *,
        sees_bag=False,
        penalty: float | str = "auto",
        weight_decay=1e-3,
        learning_rate=1e-3,
        batch_bags: int | None = None,
        max_epochs=100,
        patience=10,
        n_folds=4,
        n_members=5,
        noise=None,
        totals="match",
        inference="auto",
        random_intercept=False,
        device="cpu",
        verbose=0,
        random_state: Any = 0,
    ):
        self.hidden = hidden
        self.sees_bag = sees_bag
        self.penalty = penalty
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_bags = batch_bags
        self.max_epochs = max_epochs
        self.patience = patience
        self.n_folds = n_folds
        self.n_members = n_members
        self.noise = noise
        self.totals = totals
        self.inference = inference
        self.random_intercept = random_intercept
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, bags: Bags, counts: Any) -> CardinalityNetwork:
        """Fit to bags and their counts, as `CardinalityClassifier.fit`."""
        torch = require("torch", extra="torch")
        checks.at_least(self.max_epochs, "max_epochs", 1)
        checks.at_least(self.n_members, "n_members", 1)
        if isinstance(bags, Bags):
            bags, counts = drop_empty(bags, counts)
        rng = checks.generator(self.random_state)
        self.linear_ = CardinalityClassifier(
            penalty=self.penalty,
            noise=self.noise,
            totals=self.totals,
            inference=self.inference,
            random_intercept=self.random_intercept,
            multiclass="exact",
            random_state=int(rng.integers(2**31)),
            tol=1e-3,
            verbose=self.verbose,
        ).fit(bags, counts)
        self.n_features_in_, self.n_classes_ = bags.n_features, self.linear_.n_classes_
        self.classes_, self.fitted_columns_ = self.linear_.classes_, self.linear_.fitted_columns_
        self.mean_, self.scale_ = centre_and_scale(bags.values)
        if len(bags) < 2:
            raise DataError("There is one bag only.", hint="a network needs bags to hold out: give at least two.")
        likelihood = BagLikelihood(bags.offsets, observe(bags, counts, self.noise, self.totals), self.inference)
        run = _Training(self, bags, likelihood, torch)
        with Progress("Networks", verbose=self.verbose) as progress, threads(1):
            curve, stopped = run.trials(rng, progress)
            self.n_epochs_, self.gain_ = int(np.argmax(curve)), float(np.max(curve))
            self.members_ = [run.member(self.n_epochs_, rng, progress) for _ in range(self.n_members)]
        objective = self.score(bags, counts) * len(bags)
        self.fit_ = Fit(None, objective, None, self.n_epochs_, stopped, {"gain": curve})
        if not stopped:
            late = float(curve[-1] - curve[-2])
            warn_not_converged(self.max_epochs, late, 0.0, hint="raise max_epochs.", stacklevel=2)
        return self

    def _intercept_scale(self):
        return self.linear_._intercept_scale()

    def _logits(self, bags: Bags) -> np.ndarray:
        rows = (np.asarray(bags.values, dtype=np.float64) - self.mean_) / self.scale_
        base = self.linear_._logits(bags)
        extra = np.mean([self._forward(weights, rows, bags.offsets) for weights in self.members_], axis=0)
        return base + (extra[:, 0] if base.ndim == 1 else extra)

    def _forward(self, weights, rows, offsets):
        """One network in NumPy: the answer doesn't need torch."""
        n_layers = len(self.hidden)
        rows = hidden_layers(weights, rows, n_layers)
        if self.sees_bag:
            sizes = np.maximum(np.diff(offsets), 1)
            pooled = weighted_sums(np.ascontiguousarray(rows), offsets, np.ones(len(rows)))[:, :-1] / sizes[:, None]
            rows = np.hstack([rows, np.repeat(pooled, np.diff(offsets), axis=0)])
            rows = rows @ weights[2 * n_layers].T + weights[2 * n_layers + 1]
            rows = rows * expit(rows)
        return rows @ weights[-2].T + weights[-1]


class _Training:
    """The loop over epochs and batches of bags, shared by the members."""

    def __init__(self, owner: CardinalityNetwork, bags: Bags, likelihood: BagLikelihood, torch):
        self.owner, self.bags, self.likelihood, self.torch = owner, bags, likelihood, torch
        self.values = np.ascontiguousarray(bags.values, dtype=np.float64)
        rows = (np.asarray(bags.values, dtype=np.float64) - owner.mean_) / owner.scale_
        self.rows = torch.as_tensor(rows, dtype=torch.float32, device=owner.device)
        self.scale = owner.linear_._intercept_scale()
        self.n_logits = 1 if owner.n_classes_ == 2 else owner.n_classes_
        median = float(np.median(bags.sizes))
        self.batch = owner.batch_bags or max(1, round(512 / max(median, 1.0)))

    def _layers(self, generator):
        """Fresh weights: He's for hidden layers, zeros for the last, so that training begins at the linear part."""
        torch, owner = self.torch, self.owner
        widths = [self.rows.shape[1], *owner.hidden]
        if owner.sees_bag:
            widths = [*widths, widths[-1]]
        params = []
        for layer, (inside, outside) in enumerate(pairwise(widths)):
            n_in = 2 * inside if owner.sees_bag and layer == len(widths) - 2 else inside  # a member's and its bag's
            weight = torch.randn(outside, n_in, generator=generator) * (2.0 / n_in) ** 0.5
            params += [weight, torch.zeros(outside)]
        params += [torch.zeros(self.n_logits, widths[-1]), torch.zeros(self.n_logits)]
        return [p.to(owner.device).requires_grad_() for p in params]

    def _network(self, params, rows, sizes):
        torch = self.torch
        n_layers = len(self.owner.hidden)
        for layer in range(n_layers):
            rows = torch.nn.functional.silu(rows @ params[2 * layer].T + params[2 * layer + 1])
        if self.owner.sees_bag:
            bags = Segments(sizes, device=rows.device)
            rows = torch.cat([rows, bags.spread(bags.pool(rows, "mean"))], dim=1)
            rows = torch.nn.functional.silu(rows @ params[2 * n_layers].T + params[2 * n_layers + 1])
        return rows @ params[-2].T + params[-1]

    def _line(self, held_out):
        """The linear part without the held-out bags, from that of all bags."""
        linear = self.owner.linear_
        masked = BagLikelihood(
            self.likelihood.offsets, self.likelihood.observed, self.likelihood.inference, np.where(held_out, 0.0, 1.0)
        )
        problem = LinearProblem(self.values, masked, linear.penalty_, self.owner.n_classes_, self.scale is not None)
        start = linear.theta_.ravel() if self.scale is None else np.append(linear.theta_, np.log(self.scale))
        found = maximise(problem, start, tol=1e-2).theta
        return found[: linear.theta_.size].reshape(linear.theta_.shape)

    def _evaluate(self, part, rows, params, which, learn):
        """Log-likelihoods of some bags, and the surrogate whose gradient is that of their sum."""
        out = self._network(params, self.rows[rows], self.bags.sizes[which])
        extra = out.detach().cpu().numpy().astype(np.float64)
        logits = self.base[rows] + extra
        logits = logits[:, 0] if self.n_logits == 1 else logits
        value = part.evaluate(logits, self.scale)
        if not learn:
            return value.log_prob, None
        _, residual = part.total_and_residual(value)
        pull = self.torch.as_tensor(residual.reshape(out.shape), dtype=out.dtype, device=out.device)
        return value.log_prob, -(pull * out).sum() / len(which)

    def _part(self, which):
        edges = self.bags.offsets.tolist()
        rows = np.concatenate([np.arange(edges[b], edges[b + 1]) for b in which])
        return self.likelihood.take(which, rows), rows

    def _begin(self, rng):
        """Fresh weights and their optimiser; biases aren't decayed."""
        torch, owner = self.torch, self.owner
        params = self._layers(torch.Generator().manual_seed(int(rng.integers(2**31))))
        return params, adamw(params, owner.learning_rate, owner.weight_decay)

    def _epoch(self, params, optimiser, train, rng):
        order = rng.permutation(train)
        for begin in range(0, len(order), self.batch):
            which = order[begin : begin + self.batch]
            part, rows = self._part(which)
            optimiser.zero_grad()
            loss: Any = self._evaluate(part, rows, params, which, True)[1]
            loss.backward()
            optimiser.step()

    def _judge(self, judge, rows, params, test):
        with self.torch.no_grad():
            return float(self._evaluate(judge, rows, params, test, False)[0].sum())

    def trials(self, rng, progress):
        """Train without each part in turn, all in step: the curve of gains per held-out bag, and whether it had
        turned."""
        owner, n_bags = self.owner, len(self.bags)
        folds = rng.permutation(np.arange(n_bags) % min(max(owner.n_folds, 2), n_bags))
        runs = []
        for fold in range(folds.max() + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            line = self._line(folds == fold)
            runs.append((self._logits_of(line), *self._begin(rng), train, test, *self._part(test)))
        curve = []
        while len(curve) <= owner.max_epochs and len(curve) - int(np.argmax(curve or [0])) <= owner.patience:
            total = 0.0
            for base, params, optimiser, train, test, judge, rows in runs:
                self.base = base
                if curve:
                    self._epoch(params, optimiser, train, rng)
                total += self._judge(judge, rows, params, test)
            curve.append(total / n_bags)
            progress.step(held_out=curve[-1])
        stopped = len(curve) - int(np.argmax(curve)) > owner.patience
        return np.array(curve) - curve[0], stopped

    def member(self, n_epochs, rng, progress):
        """One network on all bags: its weights."""
        params, optimiser = self._begin(rng)
        self.base = self._logits_of(self.owner.linear_.theta_)
        for _ in range(n_epochs):
            self._epoch(params, optimiser, np.arange(len(self.bags)), rng)
            progress.step()
        return as_arrays(params)

    def _logits_of(self, line):
        return self.values @ line[:, :-1].T + line[:, -1]


def hidden_layers(weights, rows, n_layers):
    """What the hidden layers make of rows, in NumPy."""
    for layer in range(n_layers):
        rows = rows @ weights[2 * layer].T + weights[2 * layer + 1]
        rows = rows * expit(rows)
    return rows
