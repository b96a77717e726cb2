"""The learned correction: plain arrays, margins kept, used only where contests resemble those it was learned on."""

import numpy as np

from sumwise.ecological.correction import (
    FEATURES,
    ContestFacts,
    cell_features,
    corrected_lifts,
    corrected_table,
    learned,
    resemblance,
)
from sumwise.ecological.kernels.pooling import log_lifts


def facts(n_groups=5, loyalty=0.8, seed=0):
    rng = np.random.default_rng(seed)
    shares = loyalty * np.eye(n_groups) + (1 - loyalty) * rng.dirichlet(np.ones(n_groups), n_groups)
    table = 30_000 * rng.dirichlet(5 * np.ones(n_groups))[:, None] * shares
    ones = np.ones_like(table)
    return ContestFacts(
        *(table, np.eye(n_groups), np.zeros(n_groups), log_lifts(table) + 0.1, 0.6 * ones, 60 * ones),
        *(0.04 * np.ones(n_groups), 0.04 * np.ones(n_groups), 0.001 * ones, 0.03 * ones, 60, 0.005),
    )


def test_the_learned_arrays_are_plain_and_fit_the_features():
    known = learned()
    assert known["mean"].shape == (len(FEATURES),)
    assert all(array.dtype.kind == "f" for array in known.values())
    assert cell_features(facts()).shape == (5, 5, len(FEATURES))


def test_a_network_of_zeros_moves_halfway_to_the_pooled_lifts():
    known = {name: np.zeros_like(array) for name, array in learned().items()} | {"sd": np.ones(len(FEATURES))}
    one = facts()
    np.testing.assert_allclose(corrected_lifts(one, known), log_lifts(one.table) + 0.05)


def test_corrected_tables_keep_their_margins():
    one = facts()
    table = corrected_table(one)
    np.testing.assert_allclose(table.sum(axis=1), one.table.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(table.sum(axis=0), one.table.sum(axis=0), rtol=1e-6)
    assert np.abs(table - one.table).sum() > 0


def test_two_groups_without_parties_are_far_from_what_was_learned():
    near, far = resemblance([facts(6), facts(2)._replace(own=np.zeros((2, 2)))])
    assert far > 1 > 0.0 < near < far
