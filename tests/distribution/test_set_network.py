"""The network against one that goes bag by bag and row by row."""

import numpy as np
import pytest

import brute_sets
from messages import raises
from sumwise.distribution.set_network import ACTIVATIONS, Plan, embed, forward, fresh_weights, make_plan
from sumwise.errors import DataError
from sumwise.inference.networks.pooling import POOLS, Segments

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")

SHAPES = [
    {"phi": (4,)},
    {"phi": (4, 5), "rho": ()},
    {"phi": (4,), "embedding": 3},
    {"phi": (4, 3), "equivariant": True},
    {"phi": (4,), "local": (5, 3)},
    {"phi": (4, 3), "equivariant": True, "local": (5,), "embedding": 2, "normalise": False},
]


def bags_of(sizes, seed=0, n_features=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(sum(sizes), n_features)).astype(np.float32), rng.uniform(0.5, 3.0, sum(sizes))


def network(plan, seed=1):
    """Weights as after some training: no layer at zero, statistics that aren't 0 and 1."""
    rng = np.random.default_rng(seed)
    weights = {n: w + 0.1 * rng.normal(size=w.shape).astype(np.float32) for n, w in fresh_weights(plan, rng).items()}
    statistics = {"mean": rng.normal(size=plan.pool_width), "variance": rng.uniform(0.5, 2, plan.pool_width)}
    return {"weights": weights, "statistics": statistics}


def tensors(arrays):
    return {name: torch.tensor(a, dtype=torch.float32) for name, a in arrays.items()}


def said(plan, arrays, x, sizes, weights):
    w, s = tensors(arrays["weights"]), tensors(arrays["statistics"])
    return forward(plan, w, embed(plan, w, torch.from_numpy(x), Segments(np.array(sizes), weights)), s).numpy()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("pool", [*POOLS, "attention"])
@pytest.mark.parametrize("sizes", [[3, 3], [1, 4, 2]])
def test_outputs_are_those_of_each_bag_alone(shape, pool, sizes):
    plan = make_plan(2, 2, {**shape, "pool": pool})
    arrays, (x, weights) = network(plan), bags_of(sizes)
    edges = np.cumsum(sizes)[:-1]
    wanted = [
        brute_sets.bag_output(plan, arrays, part, w) for part, w in zip(np.split(x, edges), np.split(weights, edges))
    ]
    np.testing.assert_allclose(said(plan, arrays, x, sizes, weights), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    plan = make_plan(2, 1, {"activation": activation, "rho": (3,)})
    arrays, (x, weights) = network(plan), bags_of([4])
    wanted = brute_sets.bag_output(plan, arrays, x, weights)
    np.testing.assert_allclose(said(plan, arrays, x, [4], weights)[0], wanted, rtol=2e-5, atol=2e-6)


def test_equivariant_layers_follow_the_order_of_rows():
    plan = make_plan(2, 1, {"phi": (4, 3), "equivariant": True, "pool": "max"})
    arrays, (x, _) = network(plan), bags_of([6])
    order = np.random.default_rng(0).permutation(6)
    np.testing.assert_allclose(
        said(plan, arrays, x, [6], None), said(plan, arrays, x[order].copy(), [6], None), rtol=1e-5
    )


def test_training_normalises_by_the_batch_and_moves_the_statistics():
    plan = make_plan(2, 1, {"phi": (4,)})
    arrays, (x, _) = network(plan), bags_of([3, 3, 3, 3])
    weights, statistics = tensors(arrays["weights"]), tensors(arrays["statistics"])
    before = {n: s.clone() for n, s in statistics.items()}
    pooled = embed(plan, weights, torch.from_numpy(x), Segments(np.full(4, 3)))
    out = forward(plan, weights, pooled, statistics, torch.Generator())
    by_hand = {"mean": pooled.mean(dim=0), "variance": pooled.var(dim=0, correction=0)}
    torch.testing.assert_close(out, forward(plan, weights, pooled, by_hand))
    torch.testing.assert_close(statistics["mean"], 0.9 * before["mean"] + 0.1 * by_hand["mean"])
    one = forward(plan, weights, pooled[:1], statistics, torch.Generator())  # a single bag has no variance
    torch.testing.assert_close(one, forward(plan, weights, pooled[:1], statistics))


def test_dropout_keeps_the_expectation_and_leaves_predictions_alone():
    plan = make_plan(2, 1, {"phi": (50,), "rho": (), "dropout": 0.5, "normalise": False})
    arrays, (x, _) = network(plan), bags_of([3])
    weights = tensors(arrays["weights"])
    pooled = embed(plan, weights, torch.from_numpy(x), Segments(np.array([3])))
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([forward(plan, weights, pooled, {}, generator) for _ in range(2000)])
    plain = forward(plan, weights, pooled, {})
    assert draws.std() > 0.01
    assert float((draws.mean(dim=0) - plain).abs().max()) < 4 * float(draws.std()) / 2000**0.5


def test_the_first_prediction_is_the_mean():
    plan = Plan(2, 1)
    arrays = {"weights": fresh_weights(plan, np.random.default_rng(0)), "statistics": network(plan)["statistics"]}
    x, _ = bags_of([3])
    assert said(plan, arrays, x, [3], None).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"phi": ()}, ("phi-no-layers",)),
        ({"phi": (0,)}, ("must-least", "phi")),
        ({"rho": 3}, ("widths-layers", "rho")),
        ({"pool": "median"}, ("did-you-mean",)),
        ({"activation": "swish"}, ("is-takes", "activation")),
        ({"dropout": 1.0}, ("dropout-share-below", "1.0")),
        ({"embedding": 0}, ("must-least", "embedding")),
    ],
)
def test_bad_plans_are_refused(bad, message):
    with raises(DataError, *message):
        make_plan(2, 1, bad)
