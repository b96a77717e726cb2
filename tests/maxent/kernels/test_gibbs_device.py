"""The device's sampler, by plain torch operations on the CPU, against enumeration."""

import subprocess
import sys

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.maxent.kernels import gibbs_device
from sumwise.maxent.kernels.gibbs_plan import Jump
from sumwise.maxent.kernels.loglinear import enumerate_cells, layout

torch = pytest.importorskip("torch", reason="the extra 'torch' isn't installed")

SIZES = (3, 2, 5, 4)
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def single(array):
    return torch.as_tensor(array, dtype=torch.float32)


def setting(tables, n_classes=2, n=4000, scale=0.7, seed=0, **options):
    rng = np.random.default_rng(seed)
    lay = layout(SIZES, tables)
    weights = rng.normal(0, scale, (n_classes, lay.n_cells))
    theta = weights[1:] - weights[:1] if n_classes == 2 else weights
    offsets = np.linspace(0, 0.5, n_classes)
    codes = np.column_stack([rng.integers(0, s, n) for s in SIZES])
    chains = gibbs_device.to_device(codes, rng.integers(0, n_classes, n), SIZES, "cpu", seed)
    plan = gibbs_device.device_plan(lay, n_classes, n, "cpu", **options)
    return lay, weights, theta, offsets, chains, plan


def swept(weights, theta, offsets, chains, plan, marginal=True):
    return gibbs_device.sweep_halves(chains, plan, single(weights), single(theta), single(offsets), marginal)


def tree(rng):
    shares = (np.full((1, 3), 1 / 3), rng.dirichlet(np.ones(5), 3) + 0.01, rng.dirichlet(np.ones(4), 5) + 0.01)
    return Jump((0, 2, 3), (-1, 0, 2), shares)


@pytest.mark.parametrize("half", [True, False], ids=["half", "single"])
@pytest.mark.parametrize(
    ("tables", "n_classes", "more"),
    [
        (PAIRS, 2, {}),
        ([(0, 1, 2), (2, 3)], 3, {"blocks": ((0, 1),)}),
        (PAIRS, 2, {"jumps": (tree(np.random.default_rng(1)),)}),
        ([(0,), (1,), (2, 3)], 2, {}),
    ],
    ids=["pairs", "blocks-3-classes", "jump", "alone"],
)
def test_expectations_are_those_of_enumeration(tables, n_classes, more, half):
    lay, weights, theta, offsets, chains, plan = setting(tables, n_classes, n=10_000, half=half, **more)
    exact = enumerate_cells(lay, weights, offsets).cells
    counts, sums, total = 0.0, 0.0, 0
    for t in range(26):
        halves = swept(weights, theta, offsets, chains, plan)
        if t >= 6:
            counts, sums = counts + halves[0][0] + halves[1][0], sums + halves[0][1] + halves[1][1]
            total += halves[0][2] + halves[1][2]
    error = np.sqrt(0.25 / total) * 6  # successive sweeps are correlated
    np.testing.assert_allclose(counts.numpy() / total, exact.sum(axis=0), atol=2 * error)
    np.testing.assert_allclose(sums.numpy() / total, exact[1:] if n_classes == 2 else exact, atol=2 * error)


def test_half_precision_shifts_a_conditional_by_less_than_one_part_in_five_hundred():
    """What the lower precision costs: rows are kept to 11 bits after the largest entry is taken out."""
    _, weights, *_, plan = setting(PAIRS, n=100_000, scale=2.0)
    exact = setting(PAIRS, n=100_000, scale=2.0, half=False)[-1]
    for rough, fine in zip(plan.sites, exact.sites):
        p = []
        for site in (rough, fine):
            gibbs_device.fill_rows(site, single(weights))
            p.append(torch.softmax(site.rows.double().sum(dim=1), dim=1))
        assert (p[0] - p[1]).abs().max() < 2e-3


def test_halves_count_their_chains_and_labels():
    _, weights, theta, offsets, chains, plan = setting(PAIRS, n=1001)
    halves = swept(weights, theta, offsets, chains, plan, marginal=False)
    assert [m for *_, m in halves] == [501, 500]
    assert all(counts.sum() == m * len(PAIRS) for counts, _, m in halves)
    assert sum(sums.sum() for _, sums, _ in halves) == chains.labels.sum() * len(PAIRS)


def test_same_seed_same_chains_and_another_seed_others():
    def after(seed):
        _, weights, theta, offsets, chains, plan = setting(PAIRS, n=500)
        chains.generator.manual_seed(seed)
        return *swept(weights, theta, offsets, chains, plan)[0][:2], chains.codes

    first, second, other = after(1), after(1), after(2)
    assert all(torch.equal(a, b) for a, b in zip(first, second))
    assert not torch.equal(first[2], other[2])


def test_weights_out_of_range_of_exponentials_are_no_trouble():
    _, weights, theta, offsets, chains, plan = setting(PAIRS, n=300, scale=800.0)
    halves = swept(weights, theta, offsets, chains, plan)
    assert all(torch.isfinite(sums).all() for _, sums, _ in halves)
    assert (chains.codes.T.numpy() < np.array(SIZES)).all()


def test_a_count_holds_every_share_it_may_be_given():
    for n in (1, 500_000, 2**24):
        n_bits, shift = gibbs_device.packing(n)
        assert n * 2**n_bits < 2**shift
        assert (n + 1) * 2**shift < 2**64 or n_bits == 30
        assert n << shift < 2**63
    with raises(DataError, "chains-more-count"):
        gibbs_device.packing(2**28)


def test_memory_is_told_by_what_takes_it():
    lay = layout(SIZES, PAIRS)
    needed = gibbs_device.bytes_needed(lay, 2, 1000, 1)
    assert needed["chains"] > 0
    assert gibbs_device.bytes_needed(lay, 2, 10_000, 1)["chains"] == 10 * needed["chains"]


def test_needs_numpy_and_torch_alone():
    code = "import sys; import sumwise.maxent.kernels.gibbs_device, sumwise.maxent.kernels.contrastive_device, torch; "
    code += "print([m for m in ('numba', 'scipy', 'pandas', 'narwhals', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
