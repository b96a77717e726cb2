"""CardinalityNetwork: neural networks trained on the likelihood of bags' counts, a few bags at a time (needs
torch)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from sumwise import checks
from sumwise.bags import Bags, rows_of
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.features import centre_and_scale
from sumwise.fit import Fit, warn_not_converged
from sumwise.networks.optimiser import adamw
from sumwise.networks.pooling import Segments
from sumwise.networks.tensors import as_arrays, threads
from sumwise.progress import Progress
from sumwise.proportions.base import PER_ROW, BagClassifier, check_rows
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import observe
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, constant_table, maximise

STARTS = ("linear", "zero")
MANY_STEPS, SLOW_RATE, FAST_RATE = 30, 1e-3, 4e-3  # steps of an epoch from which the rate is slow


@dataclass(eq=False, repr=False)
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
        Penalty on the linear part.
    weight_decay : float, default 1e-3
        Weight decay of the network.
    learning_rate : float or None, default None
        By default 4e-3, or 1e-3 where an epoch has 30 steps or more: few steps at 1e-3 end before they have learned.
    batch_bags : int or None, default None
        Bags per step, down to 1; by default as many as hold about 512 rows.
    max_epochs : int >= 1, default 100
    patience : int >= 1, default 10
        Epochs without a better likelihood of the held-out bags after which a trial stops.
    n_folds : int >= 2, default 4
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

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.
    ProportionLossNetwork : The proportion-loss network (DLLP, Ardehaly and Culotta 2017): cross-entropy of shares and
        mean probabilities.

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

    hidden: Any = (64,)
    _: KW_ONLY
    sees_bag: bool = False
    start: str = "auto"
    penalty: float | str = "auto"
    weight_decay: float = 1e-3
    learning_rate: float | None = None
    batch_bags: int | None = None
    max_epochs: int = 100
    patience: int = 10
    n_folds: int = 4
    n_members: int = 5
    noise: Any = None
    totals: str = "match"
    inference: str = "auto"
    random_intercept: bool = False
    device: str = "cpu"
    verbose: int = 0
    random_state: Any = 0

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> CardinalityNetwork:
        """Fit to bags and their counts, as `CardinalityClassifier.fit`.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes), or `intervals`
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts, in training and where it is held out; 0 leaves it out.
        """
        torch = require("torch", extra="torch")
        checks.at_least(self.max_epochs, "max_epochs", 1)
        checks.at_least(self.n_members, "n_members", 1)
        checks.choice(self.start, "start", ("auto", *STARTS, "both"))
        if self.start == "both":
            checks.at_least(self.n_members, "n_members", 2)
        bags, counts, weights = self._training(bags, counts, sample_weight)
        if len(bags) < 2:
            raise DataError("There is only one bag.", hint="a network needs bags to hold out: give at least two.")
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
        ).fit(bags, counts, weights)
        self.n_classes_, self.classes_ = self.linear_.n_classes_, self.linear_.classes_
        self.mean_, self.scale_ = centre_and_scale(bags.values)
        observed = observe(bags, counts, self.noise, self.totals)
        likelihood = BagLikelihood(bags.offsets, observed, self.inference, weights)
        members = bags.sizes if weights is None else weights * bags.sizes
        self.shares_ = members @ observed.shares(bags.sizes) / members.sum()
        run = _Training(self, bags, likelihood, torch)
        with Progress("Networks", verbose=self.verbose) as progress, threads(1):
            found = run.choose(rng, progress)
            self.start_, self.n_epochs_, self.gain_ = found.start, max(found.epochs.values()), found.gain
            kinds = list(found.epochs)
            self.member_starts_ = [kinds[i % len(kinds)] for i in range(self.n_members)]
            self.members_ = run.members(self.member_starts_, found.epochs, rng, progress)
        final = likelihood.evaluate(self._logits(bags), self.intercept_scale())
        objective = likelihood.total_and_residual(final)[0]
        curve = found.curve
        self.fit_ = Fit(None, objective, None, self.n_epochs_, found.stopped, {"gain": curve})
        if not found.stopped:
            late = float(curve[-1] - curve[-2])
            warn_not_converged(self.max_epochs, late, 0.0, hint="raise max_epochs.", stacklevel=2)
        return self

    def _check_size(self, bags: Bags, width: int) -> None:
        """Held-out rows go through the networks of both starts at once, all rows through the final ones in NumPy."""
        widest = max(self.hidden, default=1) * (3 if self.sees_bag else 1)
        once = 8 * (PER_ROW + self.n_folds + 3 * width)
        trial, final = 2 * (8 + 4 * (width + 3 * widest)), 8 * 3 * widest
        check_network(self, bags, width, once + max(trial, final))

    def intercept_scale(self) -> float | None:
        """Standard deviation of the bags' own intercepts, where the model has them."""
        return self.linear_.intercept_scale()

    def _logits(self, bags: Bags) -> np.ndarray:
        rows = (np.asarray(bags.values, dtype=np.float64) - self.mean_) / self.scale_
        parts = []
        for kind in dict.fromkeys(self.member_starts_):  # each start counts alike
            line = self.linear_.theta_ if kind == "linear" else constant_table(self.shares_, bags.n_features + 1)
            base = bags.values @ line[:, :-1].T + line[:, -1]
            weights = [w for w, k in zip(self.members_, self.member_starts_) if k == kind]
            parts.append(base + np.mean([self._forward(w, rows, bags.offsets) for w in weights], axis=0))
        logits = np.mean(parts, axis=0)
        return logits[:, 0] if logits.shape[1] == 1 else logits

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


def check_network(owner: Any, bags: Bags, width: int, per_row: float) -> None:
    """Refuse bags whose rows, at so many bytes each, memory won't hold in all layers of a network."""
    hint = "give narrower hidden layers, fewer or smaller bags, or fewer columns."
    check_rows(type(owner).__name__, bags, width, per_row * len(bags.values), hint)


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
        self.powers, self.weights = likelihood.powers, likelihood.powers / likelihood.powers.sum()
        self.batch = owner.batch_bags or max(1, round(512 / max(median, 1.0)))
        slow = len(bags) / self.batch >= MANY_STEPS
        self.rate = owner.learning_rate or (SLOW_RATE if slow else FAST_RATE)

    def _layers(self, generators):
        """Fresh weights of several networks, stacked: He's for hidden layers, zeros for the last, so that training
        begins at the linear part."""
        torch, owner = self.torch, self.owner
        widths = [self.rows.shape[1], *owner.hidden]
        if owner.sees_bag:
            widths = [*widths, widths[-1]]
        params, n = [], len(generators)
        for layer, (inside, outside) in enumerate(pairwise(widths)):
            n_in = 2 * inside if owner.sees_bag and layer == len(widths) - 2 else inside  # a member's and its bag's
            drawn = [torch.randn(outside, n_in, generator=g) * (2.0 / n_in) ** 0.5 for g in generators]
            params += [torch.stack(drawn), torch.zeros(n, outside)]
        params += [torch.zeros(n, self.n_logits, widths[-1]), torch.zeros(n, self.n_logits)]
        return [p.to(owner.device).requires_grad_() for p in params]

    def _network(self, params, rows, sizes):
        """Outputs (n_networks, n_rows, n_logits) for rows (n_networks, n_rows, n_features); sizes are those of the
        bags of all networks, one after the other, what is padded being bags as well."""
        torch = self.torch
        n_layers = len(self.owner.hidden)

        def layer(x, k):
            return torch.baddbmm(params[k + 1][:, None, :], x, params[k].transpose(1, 2))

        for k in range(n_layers):
            rows = torch.nn.functional.silu(layer(rows, 2 * k))
        if self.owner.sees_bag:
            flat = rows.reshape(-1, rows.shape[2])
            bags = Segments(sizes, device=rows.device)
            around = bags.spread(bags.pool(flat, "mean")).reshape(rows.shape)
            rows = torch.nn.functional.silu(layer(torch.cat([rows, around], dim=2), 2 * n_layers))
        return layer(rows, len(params) - 2)

    def _line(self, held_out):
        """The linear part without the held-out bags; it must not begin where they were seen, so from zero."""
        linear = self.owner.linear_
        masked = self.likelihood.without(held_out)
        problem = LinearProblem(self.values, masked, linear.penalty_, self.owner.n_classes_, self.scale is not None)
        blank = np.column_stack([np.zeros_like(linear.coef_), linear.intercept_]).ravel()
        start = blank if self.scale is None else np.append(blank, np.log(self.scale))
        found = maximise(problem, start, tol=1e-2).theta
        return found[: linear.theta_.size].reshape(linear.theta_.shape)

    def _outputs(self, params, parts):
        """Outputs for the rows of some bags, which differ by network: padded, then the rows of all in one matrix."""
        width = max(len(rows) for _, rows in parts)
        index, sizes = np.zeros((len(parts), width), dtype=np.int64), []
        for k, (which, rows) in enumerate(parts):
            index[k, : len(rows)] = rows
            sizes += [*self.bags.sizes[which], *([width - len(rows)] if len(rows) < width else [])]
        out = self._network(params, self.rows[self.torch.from_numpy(index)], np.array(sizes))
        if all(len(rows) == width for _, rows in parts):
            return out.reshape(-1, self.n_logits)
        return self.torch.cat([out[k, : len(rows)] for k, (_, rows) in enumerate(parts)])

    def _step(self, params, optimiser, bases, parts):
        """One step of all networks, each on its own bags, up the mean log-likelihood of these bags."""
        for tensor in params:
            tensor.grad = None
        out = self._outputs(params, parts)
        which = np.concatenate([bags for bags, _ in parts])
        rows = np.concatenate([own for _, own in parts])
        logits = np.concatenate([base[own] for base, (_, own) in zip(bases, parts)])
        logits = logits + out.detach().cpu().numpy().astype(np.float64)
        likelihood = self.likelihood.take(which, rows)
        value = likelihood.evaluate(logits[:, 0] if self.n_logits == 1 else logits, self.scale)
        residual = likelihood.total_and_residual(value)[1].reshape(logits.shape)
        counts = np.repeat([len(bags) for bags, _ in parts], [len(own) for _, own in parts])
        pull = self.torch.as_tensor(
            -residual / (counts[:, None] * self.powers.mean()), dtype=out.dtype, device=out.device
        )
        out.backward(pull)
        optimiser.step()

    def _initial_parameters(self, rng, n_networks):
        """Fresh weights and their optimiser; biases aren't decayed."""
        torch, owner = self.torch, self.owner
        seeds = [int(rng.integers(2**31)) for _ in range(n_networks)]
        params = self._layers([torch.Generator().manual_seed(seed) for seed in seeds])
        return params, adamw(params, self.rate, owner.weight_decay, matrix_dimensions=3)

    def _kept(self, params, optimiser, which):
        """Some of the networks, and an optimiser that goes on with their moments."""
        fewer = [p.detach()[which].clone().requires_grad_() for p in params]
        other = adamw(fewer, self.rate, self.owner.weight_decay, matrix_dimensions=3)
        for old, new in zip(params, fewer):
            if state := optimiser.state.get(old):
                moments = {key: state[key][which].clone() for key in ("exp_avg", "exp_avg_sq")}
                other.state[new] = {"step": state["step"].clone(), **moments}
        return fewer, other

    def _epoch(self, params, optimiser, bases, trains, rng):
        """One pass of every network over its own bags, all in step."""
        longest, shortest = max(map(len, trains)), min(map(len, trains))
        n_steps = min(-(-longest // self.batch), shortest)
        batches = [np.array_split(rng.permutation(train), n_steps) for train in trains]
        for each in zip(*batches):
            self._step(params, optimiser, bases, [(which, rows_of(self.bags.offsets, which)) for which in each])

    def choose(self, rng, progress) -> _Trial:
        """The trial of the start that was asked for; by default of the linear part, or of both if that is better."""
        owner, n_bags = self.owner, len(self.bags)
        folds = rng.permutation(np.arange(n_bags) % min(max(owner.n_folds, 2), n_bags))
        lines = [self._logits_of(self._line(folds == fold)) for fold in range(folds.max() + 1)]
        if owner.start in STARTS or owner.n_members < 2:
            start = owner.start if owner.start in STARTS else "linear"
            return self._trials(folds, lines, (start,), rng, progress)[0]
        line, zero = self._trials(folds, lines, STARTS, rng, progress)
        both = self._both(line, zero)
        return both if owner.start == "both" or both.gain > line.gain else line

    def _both(self, line: _Trial, zero: _Trial) -> _Trial:
        """The mean of the two."""
        logits = 0.5 * (line.logits + zero.logits)
        held_out = self._log_prob(self.likelihood, logits)
        gain = line.gain + self._mean(held_out - line.held_out)
        longer = max(line, zero, key=lambda trial: trial.curve.size)
        stopped = line.stopped and zero.stopped
        return _Trial("both", line.epochs | zero.epochs, logits, held_out, gain, longer.curve, stopped)

    def _mean(self, per_bag) -> float:
        return float(self.weights @ per_bag)

    def _log_prob(self, part, logits):
        return part.evaluate(logits[:, 0] if self.n_logits == 1 else logits, self.scale).log_prob

    def _trials(self, folds, lines, starts, rng, progress) -> list[_Trial]:
        """Train from each start without each part in turn, all in step, until the held-out bags of each start are
        predicted worse; gains are over the linear part, without each part in lines."""
        owner, n = self.owner, len(lines)
        trains = [np.flatnonzero(folds != fold) for fold in range(n)]
        parts = [
            (which, rows_of(self.bags.offsets, which)) for which in (np.flatnonzero(folds == fold) for fold in range(n))
        ]
        bases = {start: lines if start == "linear" else [self._flat()] * n for start in starts}
        before = self._mean(self._log_prob(self.likelihood, self._held_out(lines, parts)))
        curves: dict[str, list[float]] = {start: [] for start in starts}
        best: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        params, optimiser = self._initial_parameters(rng, n * len(starts))
        active = list(starts)
        while active:
            if curves[active[0]]:
                self._epoch(params, optimiser, [b for s in active for b in bases[s]], trains * len(active), rng)
            with self.torch.no_grad():
                out = self._outputs(params, parts * len(active)).cpu().numpy().astype(np.float64)
            for start, said in zip(active, np.split(out, len(active))):
                now = self._held_out(bases[start], parts, said)
                log_prob = self._log_prob(self.likelihood, now)
                if self._mean(log_prob) > max(curves[start], default=-np.inf):
                    best[start] = now, log_prob
                curves[start].append(self._mean(log_prob))
            progress.step(held_out=max(curves[active[0]]))
            left = [s for s in active if len(curves[s]) <= owner.max_epochs and not self._turned(curves[s])]
            if left and len(left) < len(active):
                which = np.concatenate([n * active.index(s) + np.arange(n) for s in left])
                params, optimiser = self._kept(params, optimiser, which)
            active = left
        return [
            _Trial(
                start,
                {start: int(np.argmax(curve))},
                *best[start],
                max(curve) - before,
                np.array(curve) - before,
                self._turned(curve),
            )
            for start, curve in curves.items()
        ]

    def _turned(self, curve) -> bool:
        """Whether held-out bags have been predicted worse for long enough."""
        return len(curve) - int(np.argmax(curve)) > self.owner.patience

    def _held_out(self, bases, parts, extra: Any = 0.0) -> np.ndarray:
        """Logits of all rows, from the base of the part in which each was held out, and what a network adds."""
        out = np.empty((len(self.values), self.n_logits))
        out[np.concatenate([rows for _, rows in parts])] = (
            np.concatenate([base[rows] for base, (_, rows) in zip(bases, parts)]) + extra
        )
        return out

    def members(self, kinds, epochs, rng, progress):
        """Networks on all bags: the weights of each, all trained in step and each for the epochs of its start."""
        found: dict[int, list] = {}
        places = np.arange(len(kinds))
        ends = np.array([epochs[kind] for kind in kinds])
        bases = {
            kind: self._logits_of(self.owner.linear_.theta_) if kind == "linear" else self._flat() for kind in epochs
        }
        params, optimiser = self._initial_parameters(rng, len(kinds))
        everything = np.arange(len(self.bags))
        for epoch in range(int(ends.max()) + 1):
            if epoch:
                own = [bases[kinds[k]] for k in places]
                self._epoch(params, optimiser, own, [everything] * len(places), rng)
                progress.step()
            done = ends[places] == epoch
            if done.any():
                arrays = as_arrays(params)
                found |= {int(places[k]): [array[k] for array in arrays] for k in np.flatnonzero(done)}
                params, optimiser = self._kept(params, optimiser, np.flatnonzero(~done))
                places = places[~done]
        return [found[k] for k in range(len(kinds))]

    def _logits_of(self, line):
        return self.values @ line[:, :-1].T + line[:, -1]

    def _flat(self):
        return self._logits_of(constant_table(self.owner.shares_, self.values.shape[1] + 1))


def hidden_layers(weights, rows, n_layers):
    """What the hidden layers make of rows, in NumPy."""
    for layer in range(n_layers):
        rows = rows @ weights[2 * layer].T + weights[2 * layer + 1]
        rows = rows * expit(rows)
    return rows
