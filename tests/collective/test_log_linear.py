"""Moves by features: potentials are those of the generator, bad shapes are refused."""

import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.collective import LogLinear, TreeModel, map_counts
from sumwise.collective.realisations import read_realisations
from sumwise.errors import SumwiseError

SEASON = synthetic.birds(3, 4, 200, weights=(0.5, 1, 1, 1), random_state=0)
NEAR = synthetic.birds(4, 4, 200, weights=(0.5, 1, 1, 1), reach=1.5, random_state=0)


def test_potentials_are_those_of_the_generator():
    for season in (SEASON, NEAR):
        near = season is NEAR
        kind = LogLinear(season.features, start=season.log_potentials["t0"], targets=season.targets if near else None)
        data = read_realisations(season.tables)
        kind.check(data)
        made = kind.potentials(season.weights, data, 0)
        for key, value in season.log_potentials.items():
            ours, theirs = (x.toarray() if hasattr(x, "toarray") else x for x in (made[key], value))
            assert np.allclose(ours, theirs)


def test_sparse_moves_give_the_same_m_step_as_full_ones_that_are_forbidden():
    data = read_realisations(NEAR.tables)
    fit = map_counts(TreeModel(NEAR.domain, NEAR.edges, NEAR.log_potentials), NEAR.tables)
    kind = LogLinear(NEAR.features, start=NEAR.log_potentials["t0"], targets=NEAR.targets)
    found = kind.improve(np.zeros(4), data, [fit])
    flown = np.stack([fit.edges[e].toarray() for e in data.edges])
    rows = np.arange(16)[:, None]
    logs = np.full(flown.shape, -np.inf)
    value = []
    for w in (found, found + np.array([0.01, 0, 0, 0]), found - np.array([0, 0.01, 0, 0])):
        for t in range(len(data.edges)):
            scores = np.where(NEAR.targets >= 0, NEAR.features[t] @ w, -np.inf)
            scores = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
            logs[t][np.broadcast_to(rows, NEAR.targets.shape)[NEAR.targets >= 0], NEAR.targets[NEAR.targets >= 0]] = (
                scores[NEAR.targets >= 0]
            )
        value.append(-(flown[flown > 0] * logs[flown > 0]).sum())
    assert value[0] < value[1]
    assert value[0] < value[2]


def test_the_first_week_is_learned_where_it_is_not_given():
    data = read_realisations(SEASON.tables)
    fit = map_counts(TreeModel(SEASON.domain, SEASON.edges, SEASON.log_potentials), SEASON.tables)
    kind = LogLinear(SEASON.features)
    theta = kind.improve(kind.first(data, None), data, [fit])
    assert np.allclose(np.exp(theta[4:]), (fit.nodes["t0"] + 0.01) / (fit.nodes["t0"] + 0.01).sum())
    assert np.exp(theta[4:]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"features": np.zeros((3, 9, 9))}, ("dimensions-shape-needs",)),
        ({"features": []}, ("no-features-array",)),
        ({"features": [np.zeros((3, 9, 9, 4)), np.zeros((2, 9, 9, 4))]}, ("realisations-features-different",)),
        ({"features": np.zeros((3, 9, 8, 4))}, ("features-shape-cells|targets-lie-cells|targets-shape-features",)),
        ({"features": np.full((3, 9, 9, 4), np.nan)}, ("drop-fill-such",)),
        ({"features": np.zeros((3, 9, 9, 4)), "ridge": -1.0}, ("must-least", "ridge")),
        ({"features": np.zeros((3, 9, 9, 4)), "start": np.zeros(8)}, ("start-shape-must",)),
        (
            {"features": np.zeros((3, 9, 2, 4)), "targets": np.zeros((9, 3), int)},
            ("features-shape-cells|targets-lie-cells|targets-shape-features",),
        ),
        (
            {"features": np.zeros((3, 9, 2, 4)), "targets": np.full((9, 2), 9)},
            ("features-shape-cells|targets-lie-cells|targets-shape-features",),
        ),
    ],
)
def test_bad_features_are_refused(options, told):
    with raises(SumwiseError, *told):
        LogLinear(**options)


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (np.zeros((2, 9, 9, 4)), ("features-shape-data", 9, 3)),
        (np.zeros((3, 16, 16, 4)), ("features-shape-data", 9, 3)),
        ([np.zeros((3, 9, 9, 4))] * 2, ("features-realisations-tables", 2, 1)),
    ],
)
def test_features_that_do_not_fit_the_data_are_refused(features, told):
    with raises(SumwiseError, *told):
        LogLinear(features).check(read_realisations(SEASON.tables))


def test_learned_chances_of_the_first_week_sum_to_one_and_weights_stay():
    data, weights = read_realisations(SEASON.tables), [0.5, 1.0, 1.0, 1.0]
    theta = LogLinear(SEASON.features).normalised(np.array([*weights, *np.arange(9.0)]), data)
    assert theta[:4].tolist() == weights
    assert np.exp(theta[4:]).sum() == pytest.approx(1.0)
    given = LogLinear(SEASON.features, start=SEASON.log_potentials["t0"])
    assert given.normalised(theta[:4], data).tolist() == weights
