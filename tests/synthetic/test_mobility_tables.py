import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Laplace


def test_default_is_the_setting_of_the_thesis():
    morning = synthetic.mobility(random_state=0)
    assert morning.domain.shape == (210,) * 10
    assert len(morning.edge_tables) == 9
    assert len(morning.node_tables) == 10
    assert morning.edge_tables.n == morning.node_tables.n == 1_000_000
    home, work = (morning.node_marginals[t] @ morning.positions for t in (0, -1))
    assert (home > [8, 8.5]).all()  # top right
    assert (work < [6, 6.5]).all()  # bottom left


def test_edges_and_nodes_are_consistent():
    morning = synthetic.mobility((4, 7), 5, 10_000, random_state=0)
    for a, b in morning.edges:
        np.testing.assert_array_equal(morning.edge_counts[a, b].sum(axis=1), morning.nodes[a])
        np.testing.assert_array_equal(morning.edge_counts[a, b].sum(axis=0), morning.nodes[b])


def test_potentials_are_gaussian_in_homes_works_and_moves():
    """Sun (2019), section 2.6.2.1, with the variance of each spread."""
    spreads = {"home_spread": 1.5, "work_spread": 0.7, "move_spread": 1.2}
    morning = synthetic.mobility((3, 4), 3, 10, **spreads, random_state=0)
    v = morning.positions
    for name, centre, spread in (("t0", (3.0, 2.25), 1.5), ("t2", (1.0, 0.75), 0.7)):
        expected = -((v - np.array(centre)) ** 2).sum(axis=1) / (2 * spread**2)
        np.testing.assert_allclose(morning.log_potentials[name], expected)
    apart = np.linalg.norm(v[:, None] - v, axis=2)
    np.testing.assert_allclose(morning.log_potentials["t0", "t1"], -(apart**2) / (2 * 1.2**2))


def test_marginals_are_those_of_the_potentials():
    morning = synthetic.mobility((2, 2), 3, 10, random_state=0)
    theta = morning.log_potentials
    joint = np.exp(
        theta["t0"][:, None, None] + theta["t0", "t1"][:, :, None] + theta["t1", "t2"][None] + theta["t2"][None, None]
    )
    joint /= joint.sum()
    np.testing.assert_allclose(morning.edge_marginals[0], joint.sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(morning.edge_marginals[1], joint.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(morning.node_marginals[1], joint.sum(axis=(0, 2)), rtol=1e-12)


def test_counts_are_draws_from_the_marginals():
    morning = synthetic.mobility((3, 3), 4, 10**6, random_state=0)
    for t, edge in enumerate(morning.edges):
        p = morning.edge_marginals[t]
        score = (morning.edge_counts[edge] - 1e6 * p) / np.sqrt(1e6 * p * (1 - p) + 1)
        assert np.abs(score).max() < 5


def test_noise_is_laplace_and_the_nodes_are_its_sums():
    morning = synthetic.mobility((6, 5), 6, 1000, scale=7.0, random_state=0)
    errors = []
    for t, (a, b) in enumerate(morning.edges):
        table = morning.edge_tables[a, b]
        assert table.noise == Laplace(7.0)
        errors.append(table.counts - morning.edge_counts[a, b])
        np.testing.assert_allclose(morning.node_tables[f"t{t}"].counts, table.counts.sum(axis=1))
    np.testing.assert_allclose(morning.node_tables["t5"].counts, morning.edge_tables["t4", "t5"].counts.sum(axis=0))
    np.testing.assert_allclose(np.abs(errors).mean(), 7.0, rtol=0.06)
    assert morning.node_tables["t0"].noise == Gaussian(7.0 * np.sqrt(60))


def test_same_seed_same_morning():
    a, b = (synthetic.mobility((3, 3), 3, 100, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(a.edge_tables["t0", "t1"].counts, b.edge_tables["t0", "t1"].counts)


def test_one_cell():
    morning = synthetic.mobility((1, 1), 2, 5, random_state=0)
    assert morning.edge_counts["t0", "t1"].tolist() == [[5]]
    np.testing.assert_array_equal(morning.edge_marginals, [[[1.0]]])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"shape": 15}, ("shape-rows-columns", 15)),
        ({"shape": (3, 0)}, ("must-least", "shape")),
        ({"n_steps": 1}, ("must-least", "n_steps")),
        ({"n_people": 0}, ("must-least", "n_people")),
        ({"scale": 0.0}, ("not-above-zero-2", "scale")),
        ({"move_spread": -1.0}, ("not-above-zero-2", "move_spread")),
        ({"home_spread": np.nan}, ("drop-fill-such", "home_spread")),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.mobility(**bad)
