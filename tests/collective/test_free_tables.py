"""Free tables: M steps are maxima, and the fit that ignores the noise is a start."""

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import FreeTables, TreeModel
from sumwise.collective.realisations import read_realisations
from sumwise.errors import SumwiseError
from sumwise.noise import Laplace, Poisson

MORNING = synthetic.mobility((2, 3), 4, 5000, scale=2.0, random_state=0)
DATA = read_realisations(MORNING.edge_tables)


class Truth:
    nodes, edges = MORNING.nodes, MORNING.edge_counts


def joint(kind, theta):
    """Minus the log-likelihood of the true tables, with the penalty."""
    model = TreeModel(DATA.domain, DATA.edges, kind.potentials(theta, DATA, 0))
    logs = sum((np.asarray(Truth.edges[e]) * model.log_potentials[e]).sum() for e in DATA.edges)
    logs += sum((Truth.nodes[a] * model.log_potentials[a]).sum() for a in DATA.weeks if a in model.log_potentials)
    assert kind.log_partition(theta, DATA) == pytest.approx(5000 * model.log_partition(), abs=1e-6)
    return -logs + 5000 * model.log_partition() + kind.cost(theta)


@pytest.mark.parametrize("shared", [True, False])
def test_the_m_step_is_a_maximum(shared):
    kind = FreeTables(shared=shared)
    theta = kind.first(DATA, np.random.default_rng(0))
    before = joint(kind, theta)
    for _ in range(6):
        theta = kind.improve(theta, DATA, [Truth])
    best = joint(kind, theta)
    assert best < before
    rng = np.random.default_rng(1)
    for _ in range(5):
        other = theta + 0.01 * rng.normal(size=theta.shape)
        assert joint(kind, other if shared else kind.normalised(other, DATA)) > best - 1e-6


@pytest.mark.parametrize("shared", [True, False])
def test_the_gradient_is_that_of_the_penalised_likelihood(shared):
    kind = FreeTables(shared=shared, penalty=3.0)
    rng = np.random.default_rng(2)
    theta = kind.first(DATA, rng)
    slope = kind.gradient(theta, DATA, [Truth])
    for _ in range(3):
        way = rng.normal(size=theta.shape)
        ends = (theta + h * way for h in (1e-5, -1e-5))
        up, down = (joint(kind, end if shared else kind.normalised(end, DATA)) for end in ends)
        assert (up - down) / 2e-5 == pytest.approx(slope @ way, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("shared", [True, False])
def test_ignoring_the_noise_needs_counts_of_all_moves(shared):
    kind = FreeTables(shared=shared)
    theta = kind.ignoring_noise(DATA)
    model = TreeModel(DATA.domain, DATA.edges, kind.potentials(theta, DATA, 0))
    pairs = model.marginals().edges
    off = [np.abs(pairs[e] - MORNING.edge_marginals[k]).mean() for k, e in enumerate(DATA.edges)]
    assert np.mean(off) < 0.004
    assert kind.ignoring_noise(read_realisations(MORNING.node_tables)) is None


def test_moves_are_read_in_any_order_and_by_their_rate():
    domain = Domain({"a": 2, "b": 2})
    y = np.array([[40.0, 5.0], [1.0, 10.0]])
    one = Tables([Table(("a", "b"), y, noise=Laplace(1.0))], domain, n=56)
    two = Tables([Table(("b", "a"), y.T / 2, noise=Poisson(0.5))], domain, n=56)
    kind = FreeTables(shared=False)
    a, b = (kind.ignoring_noise(read_realisations(t)) for t in (one, two))
    assert np.allclose(a, b)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shared": 2}, ("is-takes", "shared")),
        ({"penalty": -1.0}, ("must-least|penalty-tables-arent",)),
        ({"shared": False, "penalty": 0.0}, ("must-least|penalty-tables-arent",)),
    ],
)
def test_bad_settings_are_refused(options, told):
    with raises(SumwiseError, *told):
        FreeTables(**options)


def test_a_shared_table_needs_equal_weeks():
    data = read_realisations(Tables([Table("a", [5, 5], noise=Poisson())], Domain({"a": 2, "b": 3}), n=10))
    with raises(SumwiseError, "weeks-states-model", "2, 3"):
        FreeTables().check(data)
    FreeTables(shared=False).check(data)
