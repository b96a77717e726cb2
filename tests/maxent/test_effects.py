"""Effects: they rebuild the log-odds, don't depend on how coefficients are split, and carry variances."""

import numpy as np

from sumwise.maxent.effects import effect_terms, effects_of, least_split
from sumwise.maxent.kernels.loglinear import layout, spread
from sumwise.maxent.kernels.table_logistic import cell_design

SIZES = (2, 3, 4)
LAY = layout(SIZES, [(0, 1), (1, 2), (0,), (2,)])
EVERY = np.indices(SIZES).reshape(3, -1).T
RNG = np.random.default_rng(0)
SHARES = [RNG.dirichlet(np.ones(k)) for k in SIZES]
THETA = RNG.standard_normal((2, LAY.n_params))


def added_up(effects):
    lay = layout(SIZES, effect_terms(LAY))
    flat = dict(zip(effect_terms(LAY), effects))
    return cell_design(lay, EVERY) @ np.concatenate([flat[t] for t in lay.terms])


def test_they_add_up_to_the_log_odds_less_a_constant():
    design = cell_design(LAY, EVERY)
    for k, effects in enumerate(zip(*effects_of(LAY, THETA, SHARES))):
        off = design @ THETA[k] - added_up(effects)
        np.testing.assert_allclose(off, off[0])


def test_a_level_moved_from_one_table_to_another_changes_none():
    moved = THETA.copy()
    one = LAY.term_starts[LAY.terms.index((0,))]
    moved[:, one] += 1.0  # of the first level of the first attribute
    moved[:, LAY.term_starts[LAY.terms.index((0, 1))] :][:, :3] -= 1.0
    np.testing.assert_allclose(spread(LAY, moved), spread(LAY, THETA))
    for a, b in zip(effects_of(LAY, moved, SHARES), effects_of(LAY, THETA, SHARES)):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_variances_are_those_of_a_linear_map():
    variances = RNG.uniform(0.5, 2.0, LAY.n_params)
    every = np.concatenate(effects_of(LAY, np.eye(LAY.n_params), SHARES), axis=1)
    found = np.concatenate(effects_of(LAY, variances, SHARES, variances=True))
    np.testing.assert_allclose(found, variances @ every**2)


def test_listed_cells_stay_as_they_are():
    lay = layout((3, 4), [(0, 1), (0,)], {(0, 1): np.array([1, 7])})
    theta = np.arange(1.0, lay.n_params + 1)
    assert effect_terms(lay) == [(0,), (0, 1)]
    of_pairs = effects_of(lay, theta, [np.full(3, 1 / 3), np.full(4, 0.25)])[1]
    np.testing.assert_array_equal(of_pairs, theta[:2])


def test_the_least_split_is_that_of_least_squares():
    penalties = np.repeat([[3.0, 9.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]], np.diff(LAY.term_starts), axis=1)
    design = cell_design(LAY, EVERY).toarray()
    centred = design - design.mean(axis=0)
    wanted = [np.linalg.lstsq(centred / np.sqrt(p), centred @ t)[0] / np.sqrt(p) for t, p in zip(THETA, penalties)]
    np.testing.assert_allclose(least_split(LAY, THETA, penalties), wanted, atol=1e-12)


def test_variances_of_the_least_split_are_those_of_a_linear_map():
    variances = np.repeat(RNG.uniform(0.5, 2.0, len(LAY.terms)), np.diff(LAY.term_starts))
    penalties = np.repeat(RNG.uniform(0.5, 2.0, len(LAY.terms)), np.diff(LAY.term_starts))
    every = np.concatenate([least_split(LAY, row[None], penalties[None]) for row in np.eye(LAY.n_params)])
    found = least_split(LAY, variances[None], penalties[None], variances=True)[0]
    np.testing.assert_allclose(found, variances @ every**2)
