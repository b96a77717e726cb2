"""Batches, held-out bags, and going on from a state."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution.columns import Columns
from sumwise.distribution.set_network import Plan
from sumwise.distribution.set_training import (
    RowSource,
    Settings,
    Training,
    batch_size,
    batches_in,
    blocks_of,
    fresh_network,
)
from sumwise.errors import DataError
from sumwise.io.checkpoint import Checkpoint
from sumwise.progress import Progress

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
CPU = torch.device("cpu")


def source_of(bags):
    d = bags.n_features
    return RowSource(bags, Columns(bags.features, np.arange(d), np.zeros(d), np.ones(d), {}), CPU)


def some_bags(n=20, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    return Bags.from_arrays([rng.normal(m, 1.0, (int(k), 2)) for m, k in zip(centre, rng.integers(3, 9, n))]), centre


def training(max_epochs=8, patience=100, held_out=True, **changes):
    bags, y = some_bags()
    kept = {"task": "regression", "learning_rate": 0.02, "weight_decay": 0.0, "schedule": "constant", "batch_bags": 4}
    settings = Settings(**{**kept, "max_rows": None, "max_epochs": max_epochs, "patience": patience, **changes})
    network = fresh_network(Plan(2, 1, phi=(8,), rho=(8,), dropout=0.2), np.random.default_rng(0), CPU)
    target = torch.tensor(y[:15, None], dtype=torch.float32)
    judges = (source_of(bags[15:]), torch.tensor(y[15:, None])) if held_out else None
    return Training(network, source_of(bags[:15]), target, settings, [7], judges)


def run(made, checkpoint=None):
    with Progress("x") as progress:
        return made.run(checkpoint or Checkpoint(None), {}, progress)


def test_rows_come_bag_by_bag_with_weights():
    bags = Bags.from_arrays([[[1.0], [2.0]], [[3.0]], [[4.0], [5.0]]], weights=[[1, 2], [3], [4, 5]])
    rows, segments = source_of(bags).take(np.array([2, 0]))
    assert rows[:, 0].tolist() == [4.0, 5.0, 1.0, 2.0]
    assert segments.weights[:, 0].tolist() == [4.0, 5.0, 1.0, 2.0]


def test_scales_and_indicators_of_codes():
    bags = Bags(np.array([[10.0, 2.0, 1.0], [14.0, 0.0, 3.0]]), [0, 2], levels={"x1": ("a", "b", "c")})
    columns = Columns(bags.features, np.array([0, 2]), np.array([12.0, 0.0]), np.array([2.0, 1.0]), bags.levels)
    source = RowSource(bags, columns, CPU)
    assert source.take(np.array([0]))[0].tolist() == [[-1, 1, 0, 0, 1], [1, 3, 1, 0, 0]]


def test_a_step_sees_at_most_max_rows_of_each_bag():
    bags = Bags.from_arrays([np.arange(50.0)[:, None], np.arange(3.0)[:, None]])
    rows, segments = source_of(bags).take(np.array([0, 1]), np.random.default_rng(0), 10)
    assert segments.sizes == [10, 3]
    assert len(set(rows[:10, 0].tolist())) == 10
    assert rows[10:, 0].tolist() == [0.0, 1.0, 2.0]


def test_blocks_and_batches_hold_every_bag_once():
    sizes = np.array([60_000, 10, 70_000, 5, 5])
    blocks = blocks_of(sizes)
    assert np.concatenate(blocks).tolist() == list(range(5))
    assert all(len(b) == 1 or sizes[b].sum() < 2 * 65_536 for b in blocks)
    assert [len(b) for b in batches_in(np.arange(9), 4)] == [4, 5]  # one bag alone can't be normalised
    assert [len(b) for b in batches_in(np.arange(3), 1)] == [1, 1, 1]
    assert batch_size(np.full(1000, 1000), None, None) == 20
    assert batch_size(np.full(1000, 1000), None, 100) == 64
    assert batch_size(np.full(1000, 1000), 7, None) == 7


@pytest.mark.check
def test_losses_fall_and_the_best_epoch_is_kept():
    made = training(max_epochs=30)
    trained = run(made)
    assert trained.history["loss"][-1] < 0.7 * trained.history["loss"][0]
    assert trained.best == 1 + int(np.argmin(trained.history["held_out"]))
    assert not trained.converged  # it had not turned


@pytest.mark.check
def test_patience_stops_and_plateaus_halve_the_rate():
    made = training(max_epochs=400, patience=8, schedule="plateau")
    trained = run(made)
    assert trained.converged
    assert len(trained.history["loss"]) == trained.best + 8
    assert made.course["drops"] >= 4
    assert made.optimiser.param_groups[0]["lr"] <= 0.02 / 2**3


def test_a_state_goes_on_to_the_same_bits(tmp_path):
    whole = run(training())
    file = Checkpoint(tmp_path / "state")
    half = training(max_epochs=8)
    with Progress("x") as progress, pytest.raises(KeyboardInterrupt):
        half.run(file, {}, _StopAfter(progress, 3))
    again = training()
    state = file.load()
    assert state is not None
    again.resume(state["running"])
    assert again.course["epoch"] == 2  # the third was killed before it was saved
    resumed = run(again)
    assert {n: w.tobytes() for n, w in resumed.weights.items()} == {n: w.tobytes() for n, w in whole.weights.items()}
    assert resumed.history["held_out"].tolist() == whole.history["held_out"].tolist()


class _StopAfter:
    def __init__(self, progress, n):
        self.progress, self.left = progress, n

    def step(self, **values):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_divergence_is_an_error():
    with raises(DataError, "training-diverged-epoch"):
        run(training(learning_rate=1e30, held_out=False))
