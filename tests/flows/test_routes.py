"""Routes follow the flows, and flux counts every crossing once."""

import numpy as np
import pytest
from scipy import sparse

from messages import raises
from sumwise import synthetic
from sumwise.collective import Counts, TreeModel, count_intervals, map_counts
from sumwise.collective.transitions import transitions
from sumwise.errors import DataError
from sumwise.flows.forecast import forecast
from sumwise.flows.routes import flux, line_crossings, routes

SEASON = synthetic.birds(4, 6, 1000, random_state=0)
TRUE = Counts(SEASON.nodes, SEASON.edge_counts, 1000)


def test_routes_have_the_shares_of_the_flows():
    made = routes(TRUE, SEASON.positions, 4000, dates=np.arange(6), random_state=1)
    assert made.columns.tolist() == ["route_id", "x", "y", "i", "lon", "lat", "timestep", "date", "stay_id", "stay_len"]
    for t in (1, 6):
        share = np.bincount(made.loc[made.timestep == t, "i"] - 1, minlength=16) / 4000
        np.testing.assert_allclose(share, SEASON.nodes[f"t{t - 1}"] / 1000, atol=0.04)
    wide = made.pivot(index="route_id", columns="timestep", values="i").to_numpy() - 1
    flows = SEASON.edge_counts["t2", "t3"]
    assert (flows[wide[:, 2], wide[:, 3]] > 0).all()  # nobody takes a way that nobody took
    assert made.lon.isna().all()


def test_stays_are_counted():
    nodes = {"t0": [1.0, 0.0], "t1": [1.0, 0.0], "t2": [0.0, 1.0]}
    edges = {("t0", "t1"): np.array([[1.0, 0], [0, 0]]), ("t1", "t2"): np.array([[0, 1.0], [0, 0]])}
    made = routes(Counts(nodes, edges, 1), [[0.0, 1.0], [2.0, 3.0]], 1, to_lonlat=lambda x, y: (x / 2, y / 2))
    assert made.stay_id.tolist() == [1, 1, 2]
    assert made.stay_len.tolist() == [2, 2, 1]
    assert made.lat.tolist() == [0.5, 0.5, 1.5]


def test_flux_counts_moves_over_a_line_and_no_others():
    x = SEASON.positions[:, 0]
    right, left = (x[:, None] < 2) & (x[None] > 2), (x[:, None] > 2) & (x[None] < 2)
    found = flux(TRUE, SEASON.positions, start=[2.0, 9.0], end=[2.0, -9.0])
    for k, edge in enumerate(SEASON.edges):
        moved = {found.forward[k], found.backward[k]}
        assert moved == {SEASON.edge_counts[edge][right].sum(), SEASON.edge_counts[edge][left].sum()}
        assert found.net[k] == found.forward[k] - found.backward[k]
    turned = flux(TRUE, SEASON.positions, start=[2.0, -9.0], end=[2.0, 9.0])
    assert found.forward.tolist() == turned.backward.tolist()
    short = flux(TRUE, SEASON.positions, start=[2.0, 50.0], end=[2.0, 60.0])  # a line that nobody comes by
    assert short.forward.sum() == short.backward.sum() == 0


def test_flux_has_an_interval():
    model = TreeModel(SEASON.domain, SEASON.edges, SEASON.log_potentials)
    over = np.maximum(line_crossings(SEASON.positions, [2.0, -9.0], [2.0, 9.0]), 0)
    functions = {"to the right": {("t2", "t3"): over}}
    told = count_intervals(model, SEASON.tables, functions)
    fit = map_counts(model, SEASON.tables)
    np.testing.assert_allclose(told.values[0], (fit.edges["t2", "t3"] * over).sum(), rtol=1e-3)
    assert told.low[0] < told.values[0] < told.high[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: routes(TRUE, SEASON.positions[:3]), ("positions-cells", 3, 16)),
        (lambda: routes(TRUE, SEASON.positions, dates=[1]), ("dates-times", 1, 6)),
        (lambda: routes(Counts(SEASON.nodes, {}, 1000), SEASON.positions), ("routes-flux-need",)),
        (lambda: flux(TRUE, SEASON.positions, [1.0, 1.0], [1.0, 1.0]), ("line-needs-two",)),
        (lambda: flux(TRUE, SEASON.positions[:, :1], [1.0, 1.0], [1.0, 2.0]), ("positions-coordinates-map",)),
        (lambda: flux(TRUE, SEASON.positions[:5], [1.0, 1.0], [1.0, 2.0]), ("moves-shape-positions", 5)),
        (
            lambda: routes(Counts({"a": [1.0]}, {("a", "b"): [[1.0]], ("c", "d"): [[1.0]]}, 1), [[0.0, 0.0]]),
            ("routes-flux-need", "to"),
        ),
    ],
)
def test_bad_input_is_refused(call, words):
    with raises(DataError, *words):
        call()


def test_sparse_flows_stay_sparse():
    side, steps = 100, 3
    cells = side * side
    here = np.arange(cells)
    down = np.minimum(here + side, cells - 1)
    moves = sparse.csr_array(
        (np.full(2 * cells, 0.5), (np.concatenate([here, here]), np.concatenate([here, down]))), shape=(cells, cells)
    )
    nodes = {f"t{k}": np.ones(cells) for k in range(steps + 1)}
    counts = Counts(nodes, {(f"t{k}", f"t{k + 1}"): moves for k in range(steps)}, float(cells))
    positions = np.column_stack([here % side, -(here // side)]).astype(float)
    for p in transitions(counts):
        assert sparse.issparse(p)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    crossed = flux(counts, positions, start=[-1.0, -49.5], end=[side + 1.0, -49.5])
    np.testing.assert_allclose(crossed["forward"], side / 2)
    made = routes(counts, positions, 5, random_state=0)
    assert (made.groupby("route_id")["y"].apply(lambda y: np.diff(y).max()) <= 0).all()
    ahead = forecast(np.ones(cells), transitions(counts)[:1], draws=10)
    assert ahead.values.sum() == pytest.approx(cells)
