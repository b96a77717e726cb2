"""CountLoss: value and gradient are those of enumeration, on every path."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.proportions import CountLoss
from sumwise.proportions.count_loss import _on_device
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood

torch = pytest.importorskip("torch")
SIZES = [3, 1, 4]


def enumerated(logits, counts):
    """The mean negative log-probability of the counts, over all labels."""
    total, start = 0.0, 0
    both = np.stack([np.zeros_like(logits), logits], axis=1) if logits.ndim == 1 else logits
    logs = log_softmax(both, axis=1)
    n_classes = logs.shape[1]
    for size, count in zip(SIZES, counts):
        own = logs[start : start + size]
        start += size
        wanted = [size - count, count] if np.ndim(count) == 0 else list(count)
        every = product(range(n_classes), repeat=size)
        labels = [y for y in every if np.bincount(y, minlength=n_classes).tolist() == wanted]
        total -= np.logaddexp.reduce([own[np.arange(size), list(y)].sum() for y in labels])
    return total / len(SIZES)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_value_and_gradient_are_those_of_enumeration(n_classes):
    rng = np.random.default_rng(0)
    plain = rng.normal(size=8) if n_classes == 2 else rng.normal(size=(8, 3))
    counts = [2, 0, 3] if n_classes == 2 else [[1, 1, 1], [0, 0, 1], [2, 2, 0]]
    logits = torch.tensor(plain, requires_grad=True)
    loss = CountLoss()(logits, counts, SIZES)
    assert loss.item() == pytest.approx(enumerated(plain, counts), abs=1e-10)
    loss.backward()
    for at in np.ndindex(plain.shape):
        step = np.zeros_like(plain)
        step[at] = 1e-5
        slope = (enumerated(plain + step, counts) - enumerated(plain - step, counts)) / 2e-5
        assert float(logits.grad[at]) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_kernel_of_other_devices_is_the_same(scale):
    rng = np.random.default_rng(1)
    sizes = np.array([3, 40, 1, 0, 7, 3000, 2])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    counts, plain = np.array([0, 25, 1, 0, 7, 2990, 1]), scale * rng.normal(size=offsets[-1])
    observed = observe(Bags(np.zeros((offsets[-1], 1)), offsets), counts)
    likelihood = BagLikelihood(offsets, observed, temper=np.array([1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0]))
    expected = likelihood.total_and_residual(likelihood.evaluate(plain))
    total, residual = _on_device(torch, torch.tensor(plain), likelihood)
    assert float(total) == pytest.approx(expected[0], rel=1e-11)
    np.testing.assert_allclose(residual, expected[1].reshape(-1), atol=1e-11)


def test_noise_columns_and_misfits():
    column = torch.zeros(8, 1, requires_grad=True)
    noisy = CountLoss(noise=Gaussian(1.0))(column, [2.5, 0.1, 3.0], SIZES)
    noisy.backward()
    assert column.grad.shape == (8, 1)
    with raises(DataError, "sizes-add-up", 8, 5):
        CountLoss()(torch.zeros(5), [1, 1, 1], SIZES)
    with raises(DataError, "logits-shape-counts", "(8, 3)", 2):
        CountLoss()(torch.zeros(8, 3), [1, 1, 1], SIZES)
