"""SufficientStatistics statistics: what tables imply, several observations of one table, noise, missing cells."""

import numpy as np

from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.noise import Gaussian

FRAME = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [1, 1, 0, 0], "y": [1, 0, 1, 1]}


def test_implied_tables_are_added_once():
    found = sufficient_statistics(Tables.from_frame(FRAME, ["a", "b", "c"], label="y"))
    assert found.layout.terms == ((0, 1), (0, 2), (1, 2), (0,), (1,), (2,))
    assert found.data.counts[-6:].tolist() == [2.0] * 6
    assert (
        sufficient_statistics(Tables.from_frame(FRAME, ["a", "b", "c"], label="y"), margins=False).layout.n_params == 12
    )


def test_shares_and_margins():
    found = sufficient_statistics(Tables.from_frame(FRAME, ["a", "b", "c"], label="y"))
    np.testing.assert_allclose(found.shares, [0.25, 0.75])
    np.testing.assert_allclose(found.margin(0), [0.5, 0.5])


def test_the_surer_of_two_observations_counts_more():
    tables = [
        Table("a", [100.0, 200.0], [50.0, 60.0], Gaussian(1.0)),
        Table("a", [104.0, 196.0], [54.0, 64.0], Gaussian(3.0)),
    ]
    found = sufficient_statistics(Tables(tables, Domain({"a": 2})))
    np.testing.assert_allclose(found.data.counts, [100.4, 199.6], atol=1e-9)


def test_an_exact_table_beats_a_noisy_one():
    tables = [Table("a", [90.0, 212.0], [41.0, 72.0], Gaussian(9.0)), Table("a", [100.0, 200.0], [50.0, 60.0])]
    assert sufficient_statistics(Tables(tables, Domain({"a": 2}))).data.counts.tolist() == [100.0, 200.0]


def test_unobserved_cells_and_unlabelled_tables_are_left_out():
    tables = [
        Table("a", [100.0, 200.0], [50.0, 60.0]),
        Table(("a", "b"), [[np.nan, 50.0], [100.0, 100.0]]),
        Table("b", [150.0, 150.0]),
    ]
    found = sufficient_statistics(Tables(tables, Domain({"a": 2, "b": 2})))
    assert found.layout.terms == ((0, 1), (0,), (1,))
    assert found.seen.counts.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert found.seen.sums[0].tolist() == [0, 0, 0, 0, 1, 1, 0, 0]


def test_incomplete_tables_do_not_tell_the_population():
    with raises(DataError, "no-table-complete"):
        sufficient_statistics(Tables([Table("a", [np.nan, 2.0], [np.nan, 1.0])], Domain({"a": 2})))
    with raises(DataError, "no-table-label-sums"):
        sufficient_statistics(Tables([Table("a", [np.nan, 2.0], [np.nan, 1.0])], Domain({"a": 2}), n=5))


def test_totals_that_noise_does_not_explain_are_named_with_their_distance():
    tables = [
        Table("a", [500.0, 500.0], [200.0, 100.0], Gaussian(5.0)),
        Table("b", [500.0, 800.0], [150.0, 150.0], Gaussian(5.0)),
    ]
    with raises(DataError, "differ-more-noise", 2, 1150, "21.2"):
        sufficient_statistics(Tables(tables, Domain({"a": 2, "b": 2})))


def test_noise_of_scale_zero_is_refused():
    with raises(DataError, "not-above-zero", "scale"):
        Gaussian(0.0)


def test_withheld_cells_leave_the_rest_of_a_noisy_table_in_use():
    tables = [
        Table(("a", "b"), [[np.nan, 50.0], [100.0, 90.0]], [[np.nan, 20.0], [30.0, 95.0]], Gaussian(4.0)),
        Table("a", [60.0, 190.0], [20.0, 120.0], Gaussian(4.0)),
        Table("b", [110.0, 140.0], [40.0, 110.0], Gaussian(4.0)),
    ]
    found = sufficient_statistics(Tables(tables, Domain({"a": 2, "b": 2}), n=250))
    assert found.seen.counts.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert found.data.sums[0, 3] == 95.0  # above its count, as noise may make it
    assert (found.noise.counts[1:4] == 16.0).all()


def test_cells_withheld_as_zeros_are_named_with_what_to_give_instead():
    whole = Table("a", [500.0, 500.0], [100.0, 150.0], noise=Gaussian(2.0))
    short = Table("b", [0.0, 500.0], [0.0, 150.0], noise=Gaussian(2.0))
    with raises(DataError, "differ-more-noise", "b", 500, 1000, "176.8"):
        sufficient_statistics(Tables([whole, short], Domain({"a": 2, "b": 2}), n=1000))
