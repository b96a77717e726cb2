"""CardinalityNetwork: any network of individuals, trained on the exact likelihood of bags' counts (needs torch)."""

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
from sumwise.inference.canonical import column_order
from sumwise.inference.networks.tensors import as_arrays, find_device, threads
from sumwise.inference.networks.training import Training, train
from sumwise.learned import check_part
from sumwise.progress import Progress
from sumwise.proportions.averaged import held_out_groups
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.count_loss import CountLoss
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import constant_table
from sumwise.proportions.training_data import count_facts

ROWS_PER_STEP = 512


@dataclass(eq=False, repr=False)
class CardinalityNetwork(BagClassifier):
    """Neural classifier of individuals, trained by exact maximum likelihood from class counts per bag.

    Each member of a committee is trained without one part of the bags, and keeps the weights with which it predicted
    the counts of that part best; their logits are averaged.

    Parameters
    ----------
    module : tuple of int or torch.nn.Module, default (64, 64)
        Widths of the hidden layers, or any module from rows (n_rows, n_features) to logits: (n_rows, 1) for two
        classes, else (n_rows, n_classes). Images are rows of pixels that the module reshapes. Rows of a module of your
        own enter as they are; otherwise they are standardised.
    sees_bag : bool, default False
        Whether a member's logit also depends on its bag: the mean of its bag's rows is put beside each row. A matrix
        given to `predict_proba` then counts as one bag.
    noise, totals : as in `CardinalityClassifier`.
    max_epochs : int >= 1, default 200
        Training stops earlier, when the bags left out are no longer predicted better.
    n_members : int >= 2, default 5
        Parts of the bags that are left out in turn.
    device : str, default "cpu"
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    members_ : list of lists of arrays, the weights of each network.
    order_ : array of int, the order of the columns in which the default network takes them.
    held_out_ : float, mean log-likelihood of a bag under the network that has not seen it.
    gain_ : float, the same less that of the overall shares.
    fit_ : Fit

    See Also
    --------
    CardinalityClassifier : Linear models and models with Fourier features, with intervals; no torch needed.
    CountLoss : The loss alone, for a training loop of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import CardinalityNetwork
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags(rng.normal(size=(300, 2)), np.arange(0, 301, 5))
    >>> counts = (np.abs(bags.values[:, 0]) > 0.7).reshape(60, 5).sum(axis=1)
    >>> CardinalityNetwork(n_members=2).fit(bags, counts).predict_proba(bags.values).shape
    (300, 2)
    """

    _learned = "base_: float b; mean_, scale_: float w; order_: int<d d"

    module: Any = (64, 64)
    _: KW_ONLY
    sees_bag: bool = False
    noise: Any = None
    totals: str = "match"
    max_epochs: int = 200
    n_members: int = 5
    device: str = "cpu"
    random_state: Any = 0

    def fit(
        self, bags: Any, counts: Any, sample_weight: Any = None, *, groups: Any = None, labels: Any = None
    ) -> CardinalityNetwork:
        """Fit to bags and their counts, as `CardinalityClassifier.fit`.

        Parameters
        ----------
        bags : Bags, or a list of one array per bag
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes), or `intervals`
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts, in training and where it is left out; 0 leaves it out of both.
        groups : array of one label per row, or column, optional
            With it ``bags`` are rows, a matrix or frame, and ``counts`` a Series or mapping by group.
        labels : array of shape (n_rows,), optional
            Classes of the few members for whom they are known, -1 or NaN for all others; counts include them.
        """
        torch, device = require("torch", extra="torch"), find_device(self.device)
        checks.at_least(self.max_epochs, "max_epochs", 1)
        checks.at_least(self.n_members, "n_members", 2)
        own = not isinstance(self.module, (tuple, list))
        if own and not isinstance(self.module, torch.nn.Module):
            raise DataError(f"module is {self.module!r}.", hint="widths such as (64, 64), or a torch.nn.Module.")
        bags, counts, weights = self._training(bags, counts, sample_weight, groups, labels)
        if len(bags) < 2:
            raise DataError("There is only one bag.", hint="a network needs bags to leave out: give at least two.")
        observed = observe(bags, counts, self.noise, self.totals)
        observed.refuse_absent(bags.sizes)
        likelihood = BagLikelihood(bags.offsets, observed, temper=weights)
        self.n_classes_, self.classes_ = observed.n_classes, np.arange(observed.n_classes)
        shares = np.average(observed.shares(bags.sizes), axis=0, weights=likelihood.powers * bags.sizes)
        self.base_ = constant_table(shares, 1)[:, 0]
        width = bags.n_features * (2 if self.sees_bag else 1)
        self.order_ = np.arange(bags.n_features) if own else column_order(bags, count_facts(bags, counts))
        self.mean_, self.scale_ = (np.zeros(width), np.ones(width)) if own else centre_and_scale(self._seen(bags))
        inputs = torch.as_tensor((self._seen(bags) - self.mean_) / self.scale_, dtype=torch.float32, device=device)
        base = torch.as_tensor(self.base_, dtype=torch.float32, device=device)
        rng = checks.generator(self.random_state)
        groups = held_out_groups(len(bags), self.n_members)
        batch = max(1, round(ROWS_PER_STEP / max(float(np.median(bags.sizes)), 1.0)))
        self.members_, records = [], []
        with Progress("Networks", int(groups.max()) + 1) as progress, threads(1), torch.random.fork_rng(devices=[]):
            for group in range(int(groups.max()) + 1):
                torch.manual_seed(int(rng.integers(2**31)))
                module = self._fresh(width).to(device)

                def loss_of(units: np.ndarray, module: Any = module) -> Any:
                    rows = rows_of(bags.offsets, units)
                    said = module(inputs[torch.as_tensor(rows, device=device)])
                    return CountLoss.of(base + said, likelihood.take(units, rows))

                rest, out = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
                records.append(train(module, loss_of, rest, out, batch=batch, max_epochs=self.max_epochs, rng=rng))
                self.members_.append(as_arrays(module.state_dict().values()))
                progress.step()
        self._record(records, groups, likelihood.powers)
        return self

    def _record(self, records: list[Training], groups: np.ndarray, powers: np.ndarray) -> None:
        weights = np.bincount(groups, powers)
        best = np.array([r.losses[r.best] for r in records])
        self.held_out_ = -float(np.average(best, weights=weights))
        self.gain_ = float(np.average([r.losses[0] - r.losses[r.best] for r in records], weights=weights))
        stopped = all(r.stopped for r in records)
        worst = max(records, key=lambda r: len(r.losses))
        curve = -np.array(worst.losses)
        self.fit_ = Fit(None, self.held_out_, None, len(curve) - 1, stopped, {"held out": curve})
        if not stopped:
            late = float(curve[-1] - curve[-2])
            warn_not_converged(self.max_epochs, late, 0.0, hint="raise max_epochs.", stacklevel=3)

    def _fresh(self, width: int) -> Any:
        """A network with new weights; the last layer begins at zero, so that training begins at the overall shares."""
        torch = require("torch")
        if isinstance(self.module, torch.nn.Module):
            from copy import deepcopy

            module = deepcopy(self.module)
            for part in module.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
            return module
        layers: list[Any] = []
        for inside, outside in pairwise([width, *self.module]):
            layers += [torch.nn.Linear(inside, outside), torch.nn.SiLU()]
        last = torch.nn.Linear([width, *self.module][-1], 1 if self.n_classes_ == 2 else self.n_classes_)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        return torch.nn.Sequential(*layers, last)

    def _seen(self, bags: Bags) -> np.ndarray:
        """Rows, with the means of their bags beside them where the network sees its bag."""
        values = np.asarray(bags.values, dtype=np.float64)[:, self.order_]
        if not self.sees_bag:
            return values
        means = bags.sums(values) / np.maximum(bags.sizes, 1)[:, None]
        return np.hstack([values, means[bags.bag_index]])

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if isinstance(self.module, (tuple, list)):
            widths = [*map(len, [getattr(self, "mean_", ())]), *self.module, len(getattr(self, "base_", ()))]
            for weights in getattr(self, "members_", ()):
                for i, (n_in, n_out) in enumerate(pairwise(widths)):
                    check_part("members_", weights[2 * i], f"float {n_out} {n_in}", {})
                    check_part("members_", weights[2 * i + 1], f"float {n_out}", {})

    def _logits(self, bags: Bags) -> np.ndarray:
        rows = (self._seen(bags) - self.mean_) / self.scale_
        logits = self.base_ + np.mean([self._said(weights, rows) for weights in self.members_], axis=0)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def _said(self, weights: list, rows: np.ndarray) -> np.ndarray:
        """What one network says; the default one needs no torch for it."""
        if isinstance(self.module, (tuple, list)):
            return hidden_layers(weights, rows, len(self.module)) @ weights[-2].T + weights[-1]
        torch = require("torch", extra="torch")
        module = self._fresh(rows.shape[1])
        state = {
            name: torch.as_tensor(np.array(array)).to(old.dtype)
            for (name, old), array in zip(module.state_dict().items(), weights)
        }
        module.load_state_dict(state)
        module.eval()
        with torch.no_grad(), threads(1):
            return module(torch.as_tensor(rows, dtype=torch.float32)).numpy().astype(np.float64)


def hidden_layers(weights: list, rows: np.ndarray, n_layers: int) -> np.ndarray:
    """What the hidden layers make of rows, in NumPy."""
    for layer in range(n_layers):
        rows = rows @ weights[2 * layer].T + weights[2 * layer + 1]
        rows = rows * expit(rows)
    return rows
