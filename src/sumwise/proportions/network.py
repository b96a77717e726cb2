"""CardinalityNetwork: neural networks trained on the likelihood of bags' counts, a few bags at a time (needs
torch)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.features import centre_and_scale
from sumwise.fit import Fit, warn_not_converged
from sumwise.networks.optimiser import adamw
from sumwise.networks.pooling import Segments
from sumwise.networks.tensors import as_arrays, threads
from sumwise.progress import Progress
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import observe
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, maximise

STARTS = ("linear", "zero")


class CardinalityNetwork(BagClassifier):
    """Neural classifier of individuals, trained by exact maximum likelihood from class counts per bag.

    The logits are those of a linear `CardinalityClassifier`, or the overall shares', plus the average of several
    networks', which begin at zero. Which of the two, and how long they are trained, is learned from bags alone, by
    holding parts of them out.

    Parameters
    ----------
    hidden : tuple of int, default (64,)
        Widths of the hidden layers.
    sees_bag : bool, default False
        Whether a member's logit also depends on its bag: rho(concat(phi(x), mean of phi over the bag)). A matrix
        given to `predict_proba` then counts as one bag.
    start : {"auto", "linear", "zero", "both"}, default "auto"
        What the networks are added to: the linear part, the overall shares only, or half of them to either. From zero
        many bags are predicted better, since no noise that a linear fit took for signal stays in; few bags need it.
        "auto" is "both" where that predicts held-out bags better than "linear" (and there are two members or more).
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
    start_ : str, what the networks were added to; ``member_starts_`` says it of each.
    members_ : list of lists of arrays, weights and biases of each network.
    n_epochs_ : int, how long they were trained (the longest, where they differ); 0 where no network helped.
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
        start="auto",
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
        self.start = start
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
        checks.choice(self.start, "start", ("auto", *STARTS, "both"))
        if self.start == "both":
            checks.at_least(self.n_members, "n_members", 2)
        bags, counts = self._training(bags, counts)
        if len(bags) < 2:
            raise DataError("There is one bag only.", hint="a network needs bags to hold out: give at least two.")
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
        self.n_classes_, self.classes_ = self.linear_.n_classes_, self.linear_.classes_
        self.mean_, self.scale_ = centre_and_scale(bags.values)
        observed = observe(bags, counts, self.noise, self.totals)
        likelihood = BagLikelihood(bags.offsets, observed, self.inference)
        self.shares_ = bags.sizes @ observed.shares(bags.sizes) / bags.n_rows
        run = _Training(self, bags, likelihood, torch)
        with Progress("Networks", verbose=self.verbose) as progress, threads(1):
            found = run.choose(rng, progress)
            self.start_, self.n_epochs_, self.gain_ = found.start, max(found.epochs.values()), found.gain
            kinds = list(found.epochs)
            self.member_starts_ = [kinds[i % len(kinds)] for i in range(self.n_members)]
            self.members_ = [run.member(kind, found.epochs[kind], rng, progress) for kind in self.member_starts_]
        final = likelihood.evaluate(self._logits(bags), self.intercept_scale())
        objective = float(final.log_prob.sum())
        curve = found.curve
        self.fit_ = Fit(None, objective, None, self.n_epochs_, found.stopped, {"gain": curve})
        if not found.stopped:
            late = float(curve[-1] - curve[-2])
            warn_not_converged(self.max_epochs, late, 0.0, hint="raise max_epochs.", stacklevel=2)
        return self

    def intercept_scale(self) -> float | None:
        """Standard deviation of the bags' own intercepts, where the model has them."""
        return self.linear_.intercept_scale()

    def _logits(self, bags: Bags) -> np.ndarray:
        rows = (np.asarray(bags.values, dtype=np.float64) - self.mean_) / self.scale_
        parts = []
        for kind in dict.fromkeys(self.member_starts_):  # each start counts alike
            base = self.linear_.decision_function(bags) if kind == "linear" else _constant(self.shares_, len(rows))
            weights = [w for w, k in zip(self.members_, self.member_starts_) if k == kind]
            extra = np.mean([self._forward(w, rows, bags.offsets) for w in weights], axis=0)
            parts.append(base + (extra[:, 0] if base.ndim == 1 else extra))
        return np.mean(parts, axis=0)

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


@dataclass
class _Trial:
    """What holding bags out showed of one start."""

    start: str
    epochs: dict[str, int]  # the best of each kind of member
    logits: np.ndarray  # of every row, from networks that never saw its bag
    held_out: np.ndarray  # log-likelihood of each bag under these
    gain: float  # its mean, over that of the linear part
    curve: np.ndarray  # the same by epoch
    stopped: bool  # whether the curve had turned


class _Training:
    """The loop over epochs and batches of bags, shared by the members."""

    def __init__(self, owner: CardinalityNetwork, bags: Bags, likelihood: BagLikelihood, torch):
        self.owner, self.bags, self.likelihood, self.torch = owner, bags, likelihood, torch
        self.values = np.ascontiguousarray(bags.values, dtype=np.float64)
        rows = (np.asarray(bags.values, dtype=np.float64) - owner.mean_) / owner.scale_
        self.rows = torch.as_tensor(rows, dtype=torch.float32, device=owner.device)
        self.scale = owner.linear_.intercept_scale()
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
        """The linear part without the held-out bags; it must not begin where they were seen, so from zero."""
        linear = self.owner.linear_
        masked = BagLikelihood(
            self.likelihood.offsets, self.likelihood.observed, self.likelihood.inference, np.where(held_out, 0.0, 1.0)
        )
        problem = LinearProblem(self.values, masked, linear.penalty_, self.owner.n_classes_, self.scale is not None)
        blank = np.column_stack([np.zeros_like(linear.coef_), linear.intercept_]).ravel()
        start = blank if self.scale is None else np.append(blank, np.log(self.scale))
        found = maximise(problem, start, tol=1e-2).theta
        return found[: linear.theta_.size].reshape(linear.theta_.shape)

    def _loss(self, part, rows, params, which):
        """The surrogate whose gradient is that of minus the mean log-likelihood of some bags."""
        out = self._network(params, self.rows[rows], self.bags.sizes[which])
        extra = out.detach().cpu().numpy().astype(np.float64)
        logits = self.base[rows] + extra
        logits = logits[:, 0] if self.n_logits == 1 else logits
        value = part.evaluate(logits, self.scale)
        _, residual = part.total_and_residual(value)
        pull = self.torch.as_tensor(residual.reshape(out.shape), dtype=out.dtype, device=out.device)
        return -(pull * out).sum() / len(which)

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
            loss: Any = self._loss(part, rows, params, which)
            loss.backward()
            optimiser.step()

    def choose(self, rng, progress) -> _Trial:
        """The trial of the start that was asked for; by default of the linear part, or of both if that is better."""
        owner, n_bags = self.owner, len(self.bags)
        folds = rng.permutation(np.arange(n_bags) % min(max(owner.n_folds, 2), n_bags))
        lines = [self._logits_of(self._line(folds == fold)) for fold in range(folds.max() + 1)]
        if owner.start in STARTS or owner.n_members < 2:
            return self._trial(folds, lines, owner.start if owner.start in STARTS else "linear", rng, progress)
        line, zero = (self._trial(folds, lines, start, rng, progress) for start in STARTS)
        both = self._both(line, zero)
        return both if owner.start == "both" or both.gain > line.gain else line

    def _both(self, line: _Trial, zero: _Trial) -> _Trial:
        """The mean of the two."""
        logits = 0.5 * (line.logits + zero.logits)
        held_out = self._log_prob(self.likelihood, logits)
        gain = line.gain + float((held_out - line.held_out).mean())
        longer = max(line, zero, key=lambda trial: trial.curve.size)
        stopped = line.stopped and zero.stopped
        return _Trial("both", line.epochs | zero.epochs, logits, held_out, gain, longer.curve, stopped)

    def _log_prob(self, part, logits):
        return part.evaluate(logits[:, 0] if self.n_logits == 1 else logits, self.scale).log_prob

    def _held_out(self, base, params, which, rows):
        """Logits of the rows of some bags."""
        with self.torch.no_grad():
            out = self._network(params, self.rows[rows], self.bags.sizes[which])
        return base[rows] + out.cpu().numpy().astype(np.float64)

    def _trial(self, folds, lines, start, rng, progress) -> _Trial:
        """Train without each part in turn, all in step; gains are over the linear part, without each part in lines."""
        owner, runs = self.owner, []
        line = np.empty((len(self.values), self.n_logits))
        for fold, base in enumerate(lines):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            rows = self._part(test)[1]
            line[rows] = base[rows]
            runs.append((base if start == "linear" else self._flat(), *self._begin(rng), train, test, rows))
        before = self._log_prob(self.likelihood, line).mean()
        curve: list[float] = []
        now, best = np.empty_like(line), (line, np.zeros(len(folds)))
        while len(curve) <= owner.max_epochs and len(curve) - int(np.argmax(curve or [0])) <= owner.patience:
            for base, params, optimiser, train, test, rows in runs:
                self.base = base
                if curve:
                    self._epoch(params, optimiser, train, rng)
                now[rows] = self._held_out(base, params, test, rows)
            log_prob = self._log_prob(self.likelihood, now)
            if log_prob.mean() > max(curve, default=-np.inf):
                best = now.copy(), log_prob
            curve.append(float(log_prob.mean()))
            progress.step(held_out=curve[-1])
        epochs = {start: int(np.argmax(curve))}
        stopped = len(curve) - epochs[start] > owner.patience
        return _Trial(start, epochs, *best, max(curve) - before, np.array(curve) - before, stopped)

    def member(self, start, n_epochs, rng, progress):
        """One network on all bags: its weights."""
        params, optimiser = self._begin(rng)
        self.base = self._logits_of(self.owner.linear_.theta_) if start == "linear" else self._flat()
        for _ in range(n_epochs):
            self._epoch(params, optimiser, np.arange(len(self.bags)), rng)
            progress.step()
        return as_arrays(params)

    def _logits_of(self, line):
        return self.values @ line[:, :-1].T + line[:, -1]

    def _flat(self):
        return _constant(self.owner.shares_, len(self.values)).reshape(len(self.values), self.n_logits)


def _constant(shares, n_rows):
    """Logits of the overall shares for every row."""
    logs = np.log(np.maximum(shares, 1e-12))
    if logs.size == 2:
        return np.full(n_rows, logs[1] - logs[0])
    return np.tile(logs - logs.mean(), (n_rows, 1))


def hidden_layers(weights, rows, n_layers):
    """What the hidden layers make of rows, in NumPy."""
    for layer in range(n_layers):
        rows = rows @ weights[2 * layer].T + weights[2 * layer + 1]
        rows = rows * expit(rows)
    return rows
