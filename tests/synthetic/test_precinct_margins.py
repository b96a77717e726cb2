import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError

SHARES = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]


def test_cells_add_up_to_the_margins():
    truth = synthetic.precincts(60, 4, 3, random_state=1)
    np.testing.assert_array_equal(truth.counts.sum(axis=2), truth.margins.rows)
    np.testing.assert_array_equal(truth.counts.sum(axis=1), truth.margins.cols)
    np.testing.assert_array_equal(truth.counts.sum(axis=0), truth.total)
    np.testing.assert_allclose(truth.shares.sum(axis=1), 1)
    np.testing.assert_allclose(truth.probabilities.sum(axis=2), 1)


def test_sizes_segregation_and_shares_are_as_asked():
    truth = synthetic.precincts(
        4000, 2, 3, size=1000, segregation=0.3, heterogeneity=0.01, base_shares=SHARES, random_state=0
    )
    totals, share = truth.margins.totals, truth.margins.row_shares[:, 0]
    np.testing.assert_allclose(totals.mean(), 1000, rtol=0.03)
    np.testing.assert_allclose(share.mean(), 2 / 3, atol=0.02)
    np.testing.assert_allclose(share.var(), 0.3 * (2 / 3) * (1 / 3), rtol=0.06)
    np.testing.assert_allclose(truth.shares, SHARES, atol=0.01)
    spread = truth.probabilities[:, 0, 0].var()
    np.testing.assert_allclose(spread, 0.01 * 0.7 * 0.3, rtol=0.1)


def goodman(truth):
    x = truth.margins.row_shares
    return np.linalg.lstsq(x, truth.margins.col_shares, rcond=None)[0]


def test_goodman_is_right_without_bias_and_wrong_with_it():
    options = {"size": 2000, "base_shares": [[0.6, 0.4], [0.4, 0.6]], "random_state": 3}
    fair = synthetic.precincts(2000, **options)
    biased = synthetic.precincts(2000, bias=0.5, **options)
    assert np.abs(goodman(fair) - fair.shares).max() < 0.02
    assert np.abs(goodman(biased) - biased.shares).max() > 0.1
    opposite = synthetic.precincts(2000, bias=-0.5, **options)
    assert (goodman(biased) - biased.shares)[0, 0] > 0 > (goodman(opposite) - opposite.shares)[0, 0]


def test_confounder_has_its_correlation_and_is_shown_when_asked():
    truth = synthetic.precincts(4000, bias=0.3, confounding=0.6, covariate=True, random_state=0)
    seen = truth.margins.covariates
    assert seen is not None
    np.testing.assert_array_equal(seen[:, 0], truth.confounder)
    assert truth.margins.covariate_names == ("confounder",)
    np.testing.assert_allclose(np.corrcoef(truth.confounder, truth.margins.row_shares[:, 0])[0, 1], 0.6, atol=0.03)
    assert synthetic.precincts(5, random_state=0).margins.covariates is None


def test_same_seed_same_election():
    a, b, c = (synthetic.precincts(20, random_state=s) for s in (5, 5, 6))
    np.testing.assert_array_equal(a.counts, b.counts)
    assert not np.array_equal(a.counts, c.counts)


def test_one_unit_one_group_one_option():
    truth = synthetic.precincts(1, 1, 1, random_state=0)
    assert truth.counts.shape == (1, 1, 1)
    assert truth.shares.tolist() == [[1.0]]


def test_without_segregation_and_heterogeneity_units_are_alike():
    truth = synthetic.precincts(
        50, segregation=0.0, heterogeneity=0.0, base_shares=[[1, 0], [0.5, 0.5]], random_state=0
    )
    assert (truth.probabilities == truth.probabilities[0]).all()
    assert truth.total[0, 1] == 0


def test_an_empty_group_has_no_shares():
    truth = synthetic.precincts(3, group_shares=[1.0, 0.0], random_state=0)
    assert np.isnan(truth.shares[1]).all()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_units": 0}, ("must-least", "n_units")),
        ({"n_rows": 0}, ("must-least", "n_rows")),
        ({"n_cols": 2.5}, ("must-least", "n_cols")),
        ({"size": 0}, ("must-least", "size")),
        ({"size_spread": -1}, ("must-least", "size_spread")),
        ({"segregation": 1.0}, ("is-it-must", "segregation", 1)),
        ({"heterogeneity": -0.1}, ("must-least", "heterogeneity")),
        ({"confounding": 1.1}, ("is-it-must", "confounding", 1)),
        ({"bias": np.nan}, ("drop-fill-such", "bias")),
        ({"group_shares": [1.0]}, ("shape-needs", "group_shares")),
        ({"group_shares": [0.7, 0.7]}, ("sums-shares-sum", "group_shares", "1.4")),
        ({"base_shares": [[0.5, 0.5]]}, ("shape-needs", "base_shares")),
        ({"base_shares": [[-1.0, 2.0], [0.5, 0.5]]}, ("negative-counts-start", "base_shares")),
        ({"random_state": "seed"}, ("random-state-whole",)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.precincts(**bad)


def test_covariate_is_yes_or_no():
    with raises(DataError, "is-takes", "covariate", "x"):
        synthetic.precincts(5, covariate="x")
