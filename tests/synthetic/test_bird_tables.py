import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError
from sumwise.noise import Poisson


def test_edges_and_nodes_are_consistent():
    season = synthetic.birds(5, 8, 500, random_state=0)
    assert len(season.edges) == 7
    for a, b in season.edges:
        np.testing.assert_array_equal(season.edge_counts[a, b].sum(axis=1), season.nodes[a])
        np.testing.assert_array_equal(season.edge_counts[a, b].sum(axis=0), season.nodes[b])
        assert season.nodes[b].sum() == 500


def test_potentials_are_the_log_linear_model_of_the_features():
    season = synthetic.birds(4, 5, weights=(0.5, 1, 2, 3), random_state=0)
    scores = np.exp(season.features @ season.weights)
    for t, edge in enumerate(season.edges):
        expected = scores[t] / scores[t].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(np.exp(season.log_potentials[edge]), expected, rtol=1e-10)
    np.testing.assert_allclose(np.exp(season.log_potentials["t0"]).sum(), 1)
    away = np.linalg.norm(season.positions - season.positions[0], axis=1)
    start = season.log_potentials["t0"]
    np.testing.assert_allclose(start - start[0], -(away**2) / 2, atol=1e-12)


def test_features_follow_their_formulas():
    season = synthetic.birds(3, 2, wind=[0.0], random_state=0)
    f = season.step_features(0)  # wind to the right; cell 0 bottom left, 1 right of it, 3 above, 8 the destination
    np.testing.assert_allclose(f[0, 0], [0, 0, 0, 0])
    np.testing.assert_allclose(f[0, 1], [-1, 1, np.sqrt(0.5), 1], atol=1e-12)
    np.testing.assert_allclose(f[0, 3], [-1, 0, np.sqrt(0.5), 1], atol=1e-12)
    np.testing.assert_allclose(f[0, 8], [-np.sqrt(8), np.sqrt(0.5), 1, 1], atol=1e-12)
    np.testing.assert_allclose(f[5, 8], [-1, 0, 1, 1], atol=1e-12)
    np.testing.assert_allclose(f[8, 8], [0, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(f[8, 7], [-1, -1, -1, 1], atol=1e-12)


@pytest.mark.parametrize("weights", [(5, 10, 10, 10), (0.5, 1, 1, 1)])
def test_birds_move_from_start_to_destination(weights):
    season = synthetic.birds(6, 20, weights=weights, random_state=0)
    to_goal = np.linalg.norm(season.positions - season.positions[-1], axis=1)
    first, last = (season.nodes[t] @ to_goal / 1000 for t in ("t0", "t19"))
    assert first > 5
    assert last < 0.7 * first


def test_flights_are_draws_from_the_transitions():
    season = synthetic.birds(3, 2, 400_000, weights=(0.5, 1, 1, 1), wind=[1.0], random_state=0)
    shares = season.edge_counts["t0", "t1"] / season.nodes["t0"][:, None]
    np.testing.assert_allclose(shares[:2], np.exp(season.log_potentials["t0", "t1"])[:2], atol=0.006)


def test_observations_are_poisson_with_the_rate():
    season = synthetic.birds(3, 60, 100_000, rate=0.25, random_state=0)
    assert all(table.noise == Poisson(0.25) for table in season.tables)
    assert season.tables.n == 100_000
    seen = np.stack([season.tables[f"t{t}"].counts for t in range(60)])
    true = 0.25 * np.stack([season.nodes[f"t{t}"] for t in range(60)])
    large = true > 20
    score = (seen - true)[large] / np.sqrt(true[large])
    assert abs(score.mean()) < 4 / np.sqrt(large.sum())
    assert abs(score.var() - 1) < 0.35
    per_cell = synthetic.birds(2, 3, rate=np.array([1e-12, 1, 1, 1]), random_state=0)
    assert all(table.counts[0] == 0 for table in per_cell.tables)


def test_reach_gives_the_same_model_cut_off():
    near = synthetic.birds(6, 4, 300, reach=2.0, weights=(0.5, 1, 1, 1), random_state=0)
    full = synthetic.birds(6, 4, 300, wind=near.wind, weights=(0.5, 1, 1, 1), random_state=0)
    edge = ("t1", "t2")
    allowed = -full.step_features(1)[..., 0] <= 2 + 1e-9
    cut = np.where(allowed, np.exp(full.log_potentials[edge]), 0)
    cut /= cut.sum(axis=1, keepdims=True)
    sparse = near.log_potentials[edge].copy()
    sparse.data = np.exp(sparse.data)
    np.testing.assert_allclose(sparse.toarray(), cut, atol=1e-12)
    assert near.log_potentials[edge].nnz == allowed.sum()
    assert near.log_potentials[edge].has_sorted_indices
    np.testing.assert_array_equal(near.edge_counts[edge].sum(axis=1), near.nodes["t1"])
    np.testing.assert_array_equal(near.edge_counts[edge].sum(axis=0), near.nodes["t2"])
    padded = near.step_features(1)
    assert padded.shape == (36, 13, 4)
    assert (padded[near.targets < 0] == 0).all()


def test_large_grid_with_reach_is_small():
    season = synthetic.birds(60, 3, 1000, reach=2, random_state=0)
    assert season.log_potentials["t0", "t1"].nnz < 3600 * 13
    assert season.nodes["t2"].sum() == 1000


def test_same_seed_same_season():
    a, b = (synthetic.birds(4, 5, random_state=3) for _ in range(2))
    assert all((x.counts == y.counts).all() for x, y in zip(a.tables, b.tables, strict=True))
    np.testing.assert_array_equal(a.wind, b.wind)


def test_one_cell_and_one_bird():
    season = synthetic.birds(1, 2, 1, random_state=0)
    assert season.edge_counts["t0", "t1"].tolist() == [[1]]
    assert season.log_potentials["t0", "t1"].tolist() == [[0.0]]
    assert synthetic.birds(1, 2, 1, reach=0, random_state=0).edge_counts["t0", "t1"].toarray().tolist() == [[1]]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"side": 0}, ("must-least", "side")),
        ({"n_steps": 1}, ("must-least", "n_steps", 2)),
        ({"n_birds": 0}, ("must-least", "n_birds")),
        ({"weights": (1, 2)}, ("entries-needs", "weights", 2, 4)),
        ({"weights": (1, 2, np.inf, 4)}, ("drop-fill-such", "weights")),
        ({"wind": [0.0]}, ("entries-needs", "wind", 1, 19)),
        ({"reach": -1}, ("must-least", "reach")),
        ({"rate": -1.0}, ("not-above-zero-2", "rate")),
        ({"rate": [1.0, 2.0]}, ("entries-needs", "rate", 2, 9)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.birds(**{"side": 3, **bad})
