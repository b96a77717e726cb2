"""Noisy tables that are bad, or only look so: what is used, what is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import DataError, Domain, NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.noise import Gaussian, Geometric, Laplace

DOMAIN = Domain({"a": 2, "b": 2})
NOISES = [Gaussian(6.0), Laplace(6.0), Geometric(6.0)]


def pair(counts, sums, noise=None):
    table = Table(("a", "b"), counts, sums) if noise is None else Table(("a", "b"), counts, sums, noise)
    return Tables([table], DOMAIN)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_negative_counts_and_sums_above_counts_are_used_as_they_are(noise):
    tables = pair([[-7.0, 220.0], [330.0, 455.0]], [[3.0, 225.0], [-4.0, 120.0]], noise)
    model = MaxEntClassifier(random_state=0).fit(tables)
    p = model.predict_proba({"a": [0, 1, 1], "b": [1, 0, 1]})[:, 1]
    assert p[0] > 0.6 > 0.4 > p[2] > p[1]


def test_the_same_values_without_noise_are_refused():
    with raises(DataError, "negative-counts-start", 1, 4, -7):
        pair([[-7.0, 220.0], [330.0, 455.0]], [[0.0, 100.0], [0.0, 120.0]])
    with raises(DataError, "cells-first-correct", 1, 4, 225, 220):
        pair([[7.0, 220.0], [330.0, 455.0]], [[3.0, 225.0], [0.0, 120.0]])


@pytest.mark.parametrize("kind", [Gaussian, Laplace, Geometric])
def test_noise_of_scale_zero_is_refused_where_it_is_stated(kind):
    with raises(DataError, "not-above-zero", "scale", 1):
        kind(0.0)


def test_label_totals_that_noise_does_not_explain_are_named_with_their_distance():
    tables = [
        Table("a", [500.0, 500.0], [200.0, 100.0], Gaussian(5.0)),
        Table("b", [500.0, 503.0], [250.0, 150.0], Gaussian(5.0)),
    ]
    words = r"Totals of the label differ .* in 2 of 2 noisy tables\. Farthest: '\w' has \d+ against 350, 7\.1 standard"
    with pytest.raises(DataError, match=words):
        MaxEntClassifier().fit(Tables(tables, DOMAIN))


def test_a_noisy_label_total_far_from_an_exact_one_is_refused():
    tables = [Table("a", [500.0, 500.0], [200.0, 100.0]), Table("b", [490.0, 510.0], [250.0, 150.0], Laplace(5.0))]
    with raises(DataError, "differ-more-noise", 1, "b", 400, 300, "10.0"):
        MaxEntClassifier().fit(Tables(tables, DOMAIN))


@pytest.mark.parametrize(
    ("counts", "sums", "words"),
    [
        ([[-20.0, -50.0], [-10.0, -9.0]], [[3.0, 2.0], [3.0, 5.0]], ("tables-count-all", -89)),
        ([[100.0, 50.0], [10.0, 90.0]], [[-30.0, -20.0], [-3.0, -5.0]], ("class-never-occurs", 1, 2)),
        ([[100.0, 50.0], [10.0, 90.0]], [[130.0, 70.0], [23.0, 95.0]], ("class-never-occurs", 0, 2)),
    ],
)
def test_noise_that_left_nobody_or_no_class_is_told(counts, sums, words):
    with raises(DataError, *words):
        MaxEntClassifier().fit(pair(counts, sums, Gaussian(40.0)))


def test_withheld_cells_are_nan_and_cost_the_total():
    with raises(DataError, "no-table-complete"):
        MaxEntClassifier().fit(pair([[np.nan, 50.0], [100.0, 90.0]], [[np.nan, 20.0], [30.0, 95.0]], Gaussian(4.0)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "There are no tables"),
        (pd.DataFrame({"a": [1]}), "takes Tables; this is of type DataFrame"),
        ([None], "this is of type NoneType"),
        ([Tables([Table("a", [5.0, 5.0], [1.0, 2.0])], Domain({"a": 2})) for _ in range(2)], None),
        (
            [Tables([Table(a, [5.0, 5.0], [1.0, 2.0])], Domain({a: 2})) for a in "ab"],
            "Part 1 has attributes or levels other than those of part 0",
        ),
    ],
)
def test_what_is_no_tables_is_refused_by_name(given, words):
    if words is None:
        MaxEntClassifier().fit(given)
        return
    with pytest.raises(DataError, match=words):
        MaxEntClassifier().fit(given)


def test_empty_penalties_say_what_they_take():
    tables = Tables([Table("a", [5.0, 5.0], [1.0, 2.0])], Domain({"a": 2}))
    with raises(DataError, "empty-number-each", "penalty_theta"):
        MaxEntClassifier([]).fit(tables)


def test_numbers_given_as_text_are_no_unseen_levels():
    """They are compared by what they say; otherwise every row would be predicted the same, without a word."""
    model = MaxEntClassifier().fit(Tables([Table("a", [5.0, 5.0], [1.0, 4.0])], Domain({"a": 2})))
    np.testing.assert_allclose(model.predict_proba({"a": ["0", "1"]}), model.predict_proba({"a": [0, 1]}))
    with raises(DataError, "no-value-column", "x", "str", 0, "int"):
        model.predict_proba({"a": ["x"] * 20})
    np.testing.assert_allclose(model.predict_proba({"a": [7]}), model.predict_proba({"a": ["no such level"]}))


def test_a_fit_stopped_before_its_mean_can_agree_says_how_many_chains_would_do():
    tables = synthetic.rows(300_000, sizes=[3, 2], rate=0.3, random_state=0).tables()
    with warns(NotConverged, "stopped-after-steps"):  # 300,000 / (10 x 0.25^2)
        MaxEntClassifier(engine="gibbs", options=SolverOptions(max_iter=20, n_chains=500), random_state=0).fit(tables)
