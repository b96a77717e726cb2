import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.inference.networks import pooling
from sumwise.inference.networks.pooling import POOLS, Segments

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")

REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max}


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    how=st.sampled_from(POOLS),
    long=st.sampled_from([1, 64]),
    seed=st.integers(0, 99),
)
def test_pools_and_gradients_are_those_of_each_bag_alone(sizes, how, long, seed):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(sum(sizes), 3, generator=generator, dtype=torch.float64, requires_grad=True)
    before, pooling.LONG_BAGS = pooling.LONG_BAGS, long
    try:
        pooled = Segments(np.array(sizes)).pool(rows, how)
    finally:
        pooling.LONG_BAGS = before
    parts = np.split(rows.detach().numpy(), np.cumsum(sizes)[:-1])
    np.testing.assert_allclose(pooled.detach().numpy(), [REDUCE[how](p, axis=0) for p in parts], rtol=1e-12)
    slope = torch.randn(pooled.shape, generator=generator, dtype=torch.float64)
    (got,) = torch.autograd.grad((pooled * slope).sum(), rows)
    each = torch.split(rows, sizes)
    plain = torch.stack([getattr(r, {"max": "amax"}.get(how, how))(dim=0) for r in each])
    (wanted,) = torch.autograd.grad((plain * slope).sum(), rows)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize("sizes", [[2, 2, 2], [1, 2, 3]])
@pytest.mark.parametrize("how", POOLS)
def test_weights_count_like_repeated_rows(sizes, how):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(6, 2)), rng.integers(1, 4, 6)
    repeated = torch.from_numpy(np.repeat(rows, weights, axis=0))
    new_sizes = np.add.reduceat(weights, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    one = Segments(np.array(sizes), weights).pool(torch.from_numpy(rows), how)
    np.testing.assert_allclose(one, Segments(new_sizes).pool(repeated, how), rtol=1e-12)


@pytest.mark.parametrize("sizes", [[2, 2], [1, 3]])
def test_spread_gives_each_row_what_its_bag_has(sizes):
    pooled = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert Segments(np.array(sizes)).spread(pooled).tolist() == np.repeat(pooled.numpy(), sizes, axis=0).tolist()


def test_single_precision_sums_of_large_bags_keep_their_digits():
    sizes = np.array([100_000, 50_000])
    rows = torch.rand(150_000, 2, generator=torch.Generator().manual_seed(0))
    pooled = Segments(sizes).pool(rows, "mean").double()
    exact = torch.stack([p.double().mean(dim=0) for p in rows.split(sizes.tolist())])
    assert float((pooled / exact - 1).abs().max()) < 1e-6


@pytest.mark.parametrize("sizes", [[2, 2], [1, 3, 2]])
def test_attention_is_a_softmax_over_each_bag_times_weights(sizes):
    rng = np.random.default_rng(0)
    n = sum(sizes)
    rows, scores, weights = rng.normal(size=(n, 3)), rng.normal(size=(n, 1)) * 50, rng.uniform(0.5, 2.0, n)
    bags = Segments(np.array(sizes), weights)
    pooled, shares = bags.attend(torch.from_numpy(rows).float(), torch.from_numpy(scores).float())
    begin = 0
    for b, size in enumerate(sizes):
        part = slice(begin, begin + size)
        alone = np.exp(scores[part, 0] - scores[part, 0].max()) * weights[part]
        alone = alone / alone.sum()
        np.testing.assert_allclose(shares[part, 0], alone, atol=1e-6)
        np.testing.assert_allclose(pooled[b], alone @ rows[part], atol=1e-5)
        begin += size
