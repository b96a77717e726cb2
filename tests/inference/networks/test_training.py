"""The training loop goes back to the best epoch and stops when held-out units are predicted worse."""

import numpy as np
import pytest

from sumwise.inference.networks.training import PATIENCE, train

torch = pytest.importorskip("torch")


def test_the_best_state_is_kept_and_training_stops():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x, y = torch.randn(40, 5), torch.randn(40, 1)  # noise: more training is worse
    net = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.SiLU(), torch.nn.Linear(64, 1))

    def loss_of(units):
        return ((net(x[units]) - y[units]) ** 2).mean()

    held_out = np.arange(20, 40)
    record = train(net, loss_of, np.arange(20), held_out, batch=5, max_epochs=500, rng=rng)
    assert record.stopped
    assert len(record.losses) == record.best + 1 + PATIENCE
    assert loss_of(held_out).item() == pytest.approx(record.losses[record.best])
