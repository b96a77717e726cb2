"""ProportionLossNetwork: a network whose mean probabilities per bag are fitted to the bag's shares (needs torch)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags, rows_of
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.features import centre_and_scale
from sumwise.fit import Fit, warn_not_converged
from sumwise.networks.optimiser import adamw
from sumwise.networks.tensors import as_arrays, threads
from sumwise.progress import Progress
from sumwise.proportions.base import PER_ROW, BagClassifier
from sumwise.proportions.cardinality_network import check_network, hidden_layers
from sumwise.proportions.shares import BagShares, bag_shares, share_loss


@dataclass(eq=False, repr=False)
class ProportionLossNetwork(BagClassifier):
    """The proportion-loss network (DLLP, Ardehaly and Culotta 2017): cross-entropy of shares and mean probabilities.

    A part of the bags is held out to learn for how many epochs to train; then the network is trained on all bags.

    Parameters
    ----------
    hidden : tuple of int, default (64,)
        Widths of the hidden layers; () is a linear model.
    weight_decay : float, default 1e-3
    learning_rate : float, default 1e-3
    batch_bags : int or None, default None
        Bags per step; by default as many as hold about 512 rows.
    max_epochs : int >= 1, default 100
    patience : int >= 1, default 10
        Epochs without a better prediction of the held-out shares after which the trial stops.
    held_out : float in (0, 1), default 0.25
        Share of the bags that the trial holds out.
    totals : {"match", "scale", "rest"}, default "match"
        As in `CardinalityClassifier`.
    device : str, default "cpu"
    verbose : int, default 0
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    weights_ : list of arrays, weights and biases.
    n_epochs_ : int
    fit_ : Fit, with the held-out loss per epoch.

    See Also
    --------
    CardinalityNetwork : Neural classifier of individuals, trained by exact maximum likelihood from class counts per
        bag.
    MixBag : MixBag (Asanomi et al. 2023): the proportion-loss network, with bags mixed from two as further examples.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import ProportionLossNetwork
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags(rng.normal(size=(300, 2)), np.arange(0, 301, 5))
    >>> counts = (np.abs(bags.values[:, 0]) > 0.7).reshape(60, 5).sum(axis=1)
    >>> net = ProportionLossNetwork(learning_rate=0.05, patience=2).fit(bags, counts)
    >>> net.predict_proba(bags.values).shape
    (300, 2)
    """

    centres_columns = True

    hidden: Any = (64,)
    _: KW_ONLY
    weight_decay: float = 1e-3
    learning_rate: float = 1e-3
    batch_bags: int | None = None
    max_epochs: int = 100
    patience: int = 10
    held_out: float = 0.25
    totals: str = "match"
    device: str = "cpu"
    verbose: int = 0
    random_state: Any = 0

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> Any:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes)
        sample_weight : array of shape (n_bags,), optional
            How much each bag's loss counts, in training and where it is held out; 0 leaves it out.
        """
        torch = require("torch", extra="torch")
        checks.at_least(self.max_epochs, "max_epochs", 1)
        checks.at_least(self.patience, "patience", 1)
        checks.fraction(self.held_out, "held_out")
        bags, counts, weights = self._training(bags, counts, sample_weight)
        data = bag_shares(bags, counts, self.totals, weights)
        if data.n_bags < 2:
            raise DataError("There is only one bag.", hint="a network needs bags to hold out: give at least two.")
        self.n_classes_, self.classes_ = data.n_classes, np.arange(data.n_classes)
        self.mean_, self.scale_ = centre_and_scale(data.values)
        rng = checks.generator(self.random_state)
        run = _Run(self, data, torch, rng)
        with Progress(type(self).__name__, verbose=self.verbose) as progress, threads(1):
            curve, stopped = run.trial(progress)
            self.n_epochs_ = int(np.argmin(curve)) + 1
            self.weights_ = run.final(self.n_epochs_, progress)
        loss = share_loss(self._logits(bags), data)
        self.fit_ = Fit(None, loss, None, self.n_epochs_, stopped, {"held_out": curve})
        if not stopped:
            late = float(abs(curve[-1] - curve[-2])) if len(curve) > 1 else np.inf
            warn_not_converged(self.max_epochs, late, 0.0, hint="raise max_epochs.", stacklevel=2)
        return self

    def _check_size(self, bags: Bags, width: int) -> None:
        """All rows at once go through the final network, in NumPy."""
        check_network(self, bags, width, 8 * (PER_ROW + 4 * width + 3 * max(self.hidden, default=1)))

    def _logits(self, bags: Bags) -> np.ndarray:
        return self.forward(self.weights_, np.asarray(bags.values, dtype=np.float64))

    def forward(self, weights, values):
        rows = hidden_layers(weights, (values - self.mean_) / self.scale_, len(self.hidden))
        logits = rows @ weights[-2].T + weights[-1]
        return logits[:, 1] - logits[:, 0] if self.n_classes_ == 2 else logits

    def batch_loss(self, run: _Run, params, which):
        """The loss of some bags, to be minimised."""
        rows, index = run.rows_of(which)
        means = run.mean_probabilities(params, rows, index, len(which))
        return run.mean_over(which, -(run.shares[which] * means.log()).sum(dim=1))


class _Run:
    """Training of one network: rows and shares as tensors, epochs over batches of bags."""

    def __init__(self, owner: ProportionLossNetwork, data: BagShares, torch, rng):
        self.owner, self.data, self.torch, self.rng = owner, data, torch, rng
        values = (data.values - owner.mean_) / owner.scale_
        self.values = torch.as_tensor(values, dtype=torch.float32, device=owner.device)
        self.weights = torch.as_tensor(data.weights, dtype=torch.float32, device=owner.device)
        self.shares = torch.as_tensor(data.shares, dtype=torch.float32, device=owner.device)
        self.importance = torch.as_tensor(data.bag_weights, dtype=torch.float32, device=owner.device)
        self.batch = owner.batch_bags or max(1, round(512 / max(float(np.median(data.sizes)), 1.0)))
        self.edges = data.offsets.tolist()

    def mean_over(self, which, per_bag):
        """The mean over some bags, each with its weight."""
        counted = self.importance[which]
        return (counted * per_bag).sum() / counted.sum()

    def rows_of(self, which):
        """Rows of some bags, and for each the position of its bag."""
        return rows_of(self.data.offsets, which), np.repeat(np.arange(len(which)), self.data.sizes[which])

    def mean_probabilities(self, params, rows, index, n_bags):
        """Weighted mean of class probabilities over each bag: (n_bags, n_classes)."""
        torch = self.torch
        hidden = self.values[rows]
        for layer in range(len(self.owner.hidden)):
            hidden = torch.nn.functional.silu(hidden @ params[2 * layer].T + params[2 * layer + 1])
        prob = torch.softmax(hidden @ params[-2].T + params[-1], dim=1)
        weights = self.weights[rows][:, None]
        place = torch.as_tensor(index, device=prob.device)
        sums = torch.zeros(n_bags, prob.shape[1] + 1, device=prob.device)
        sums = sums.index_add(0, place, torch.cat([prob * weights, weights], dim=1))
        return (sums[:, :-1] / sums[:, -1:]).clamp(1e-7, 1.0)

    def _initial_parameters(self):
        """He's weights for hidden layers, the overall shares as output; biases aren't decayed."""
        torch, owner = self.torch, self.owner
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**31)))
        params = []
        widths = [self.values.shape[1], *owner.hidden]
        for inside, outside in pairwise(widths):
            params += [torch.randn(outside, inside, generator=generator) * (2.0 / inside) ** 0.5, torch.zeros(outside)]
        last = torch.randn(owner.n_classes_, widths[-1], generator=generator) * 0.1 * (1.0 / widths[-1]) ** 0.5
        params += [last, torch.as_tensor(np.log(self.data.overall), dtype=torch.float32)]
        params = [p.to(owner.device).requires_grad_() for p in params]
        return params, adamw(params, owner.learning_rate, owner.weight_decay)

    def _epoch(self, params, optimiser, train):
        order = self.rng.permutation(train)
        for begin in range(0, len(order), self.batch):
            optimiser.zero_grad()
            loss: Any = self.owner.batch_loss(self, params, order[begin : begin + self.batch])
            loss.backward()
            optimiser.step()

    def trial(self, progress):
        """Held-out loss of shares by epoch, and whether it had turned."""
        owner, n = self.owner, self.data.n_bags
        order = self.rng.permutation(n)
        n_test = min(max(1, round(owner.held_out * n)), n - 1)
        test, train = self.data.take(order[:n_test]), order[n_test:]
        params, optimiser = self._initial_parameters()
        curve: list[float] = []
        while len(curve) < owner.max_epochs and len(curve) - int(np.argmin(curve or [0])) <= owner.patience:
            self._epoch(params, optimiser, train)
            curve.append(share_loss(owner.forward(as_arrays(params), test.values), test))
            progress.step(held_out=curve[-1])
        return np.array(curve), len(curve) - int(np.argmin(curve)) > owner.patience

    def final(self, n_epochs, progress):
        """The weights after training on all bags."""
        params, optimiser = self._initial_parameters()
        for _ in range(n_epochs):
            self._epoch(params, optimiser, np.arange(self.data.n_bags))
            progress.step()
        return as_arrays(params)
