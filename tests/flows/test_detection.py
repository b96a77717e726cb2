"""Detection by time and by place: simulated counts of a closed population give it back, or it is refused."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places
from sumwise.flows.detection import detection_by_place
from sumwise.noise import Gaussian, Poisson

LINE = Places(x=np.arange(4.0), y=np.zeros(4))
NEAR = Movement(1.0, 1.0)


def walk(rng, n=20000, times=30):
    """Counts of a closed population that gathers at one place after the other."""
    here, out = rng.multinomial(n, [0.7, 0.1, 0.1, 0.1]), []
    for t in range(times):
        moves = 0.4 * np.eye(4) + 0.6 * np.eye(4)[t // 2 % 4]
        here = np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)]).sum(axis=0)
        out.append(here)
    return np.array(out, dtype=float)


@pytest.mark.filterwarnings("ignore:Totals range from")  # as they do, where detection is left out
def test_detection_by_time_is_the_share_of_the_total():
    rng = np.random.default_rng(0)
    true = walk(rng, times=8)
    detection = rng.uniform(0.3, 1.0, 8)
    detection[2] = 1.0
    y = rng.poisson(true * detection[:, None]).astype(float)
    gaps = y.copy()
    gaps[4, 0] = np.nan
    model = FlowModel(LINE, NEAR, noise=Poisson(), size=20000, detection="time").fit(gaps)
    seen = np.arange(8) != 4
    np.testing.assert_allclose(model.detection_[seen], detection[seen], atol=0.02)
    assert model.detection_[4] == pytest.approx(detection[4], rel=0.5)  # by the composition before and after
    assert (np.abs(model.detection_ - detection)[seen] < 4 * model.detection_error_[seen]).all()
    tight = {"noise": Gaussian(100.0), "size": 20000}  # Poisson noise weighs shares, whatever the total
    models = [FlowModel(LINE, NEAR, detection=d, **tight).fit(gaps) for d in ("time", None)]
    off = [np.abs(m.nodes_ - true)[seen].sum() for m in models]
    assert off[0] < 0.5 * off[1]


def test_detection_by_place_is_found_with_honest_errors():
    rng, detection = np.random.default_rng(1), np.array([1.0, 0.5, 0.8, 0.3])
    inside, estimates = [], []
    for _ in range(20):
        y = rng.poisson(walk(rng) * detection).astype(float)
        full = y[None]
        found, errors = detection_by_place(full, full, np.array([20000.0]))
        estimates.append(found)
        inside.append(np.abs(found - detection) <= 1.96 * errors)
    np.testing.assert_allclose(np.mean(estimates, axis=0), detection, rtol=0.02)
    assert 0.85 <= np.mean(inside) <= 1.0
    model = FlowModel(LINE, NEAR, noise=Poisson(), detection="place").fit(y)
    np.testing.assert_allclose(model.detection_, detection, rtol=0.1)
    assert model.n_ == pytest.approx(20000, rel=0.05)  # places with detection 1 give the level


def test_detection_is_refused_where_it_is_not_identified():
    still = np.tile([100.0, 50.0, 50.0, 20.0], (12, 1))
    with raises(DataError, "detection-place-not-identified"):
        FlowModel(LINE, NEAR, noise=Gaussian(5.0), detection="place").fit(still)
    with raises(DataError, "detection-place-not", 3, 4):
        FlowModel(LINE, NEAR, noise=Poisson(), detection="place").fit(still[:3])
    with raises(DataError, "detection-cant-identified"):
        FlowModel(LINE, NEAR, population="varying", detection="time").fit(still)
    holes = still.copy()
    holes[:, 0] = np.nan
    with raises(DataError, "detection-time-needs"):
        FlowModel(LINE, NEAR, noise=Poisson(), detection="time").fit(holes)
