"""One training loop: steps on batches of units until held-out units are predicted worse, and back to the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.extras import require
from sumwise.inference.networks.optimiser import adamw

PATIENCE = 20  # epochs without a better held-out loss after which training stops
LEAST_STEPS = 8  # per epoch, so that patience is a number of steps, too
LEARNING_RATE, WEIGHT_DECAY = 3e-3, 1e-3  # usual values for AdamW


@dataclass
class Training:
    """How training went: the held-out loss before it and after each epoch, and whether that had stopped falling."""

    losses: list[float] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The epoch of the least held-out loss; 0 is before the first."""
        return int(np.argmin(self.losses))

    @property
    def stopped(self) -> bool:
        """Whether the held-out loss had been above its least for long enough."""
        return len(self.losses) - 1 - self.best >= PATIENCE


def train(
    module: Any,
    loss_of: Callable[[np.ndarray], Any],
    train_on: np.ndarray,
    held_out: np.ndarray,
    *,
    batch: int,
    max_epochs: int,
    rng: np.random.Generator,
) -> Training:
    """Train a module in place by AdamW; afterwards it has the state of the epoch with the least held-out loss.

    Parameters
    ----------
    module : torch.nn.Module
    loss_of : callable
        ``loss_of(units)`` gives the mean loss of some units, by position, as a tensor with a gradient.
    train_on, held_out : integer arrays
        Units to train on, and units that are only looked at.
    batch : int
        Units per step; fewer where an epoch would have under eight steps.
    max_epochs : int
    rng : numpy.random.Generator
        Shuffles the units of each epoch.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from sumwise.inference.networks.training import train
    >>> x, line = torch.linspace(-1, 1, 20)[:, None], torch.nn.Linear(1, 1)
    >>> _ = torch.nn.init.zeros_(line.weight), torch.nn.init.zeros_(line.bias)
    >>> loss_of = lambda units: ((line(x[units]) - 2 * x[units]) ** 2).mean()
    >>> rng = np.random.default_rng(0)
    >>> record = train(line, loss_of, np.arange(15), np.arange(15, 20), batch=5, max_epochs=50, rng=rng)
    >>> record.losses[record.best] < record.losses[0]
    True
    """
    torch = require("torch")
    optimiser = adamw(module.parameters(), LEARNING_RATE, WEIGHT_DECAY)
    record, best = Training(), None
    n_steps = min(max(LEAST_STEPS, round(len(train_on) / batch)), len(train_on))
    while True:
        module.eval()
        with torch.no_grad():
            record.losses.append(float(loss_of(held_out)))
        if record.best == len(record.losses) - 1:
            best = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        if record.stopped or len(record.losses) > max_epochs:
            break
        module.train()
        for units in np.array_split(rng.permutation(train_on), n_steps):
            optimiser.zero_grad()
            loss_of(units).backward()
            optimiser.step()
    module.load_state_dict(best)
    module.eval()
    return record
