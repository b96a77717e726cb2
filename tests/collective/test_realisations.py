"""What can't be learned from is refused, with a reason."""

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective.realisations import read_realisations
from sumwise.errors import SumwiseError
from sumwise.noise import Exact, Gaussian, Laplace, Poisson

DOMAIN = Domain({"w0": 3, "w1": 3})


def year(first, second, noise=None, n=100, domain=DOMAIN):
    noise = Poisson() if noise is None else noise
    return Tables([Table("w0", first, noise=noise), Table("w1", second, noise=noise)], domain, n=n)


def test_good_data_pass():
    data = read_realisations([year([50, 30, 20], [40, 40, 20]), year([60, np.nan, 20], [np.nan, 40, 20])])
    assert len(data) == 2
    assert data.edges == (("w0", "w1"),)
    assert data.n_states == 3
    assert read_realisations(synthetic.mobility((2, 3), 3, 1000, random_state=0).edge_tables).sizes == [1000.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], ("data-tables-list",)),
        ("tables", ("data-tables-list", "str")),
        ([year([50, 30, 20], [40, 40, 20]), 3], ("data-tables-list",)),
        (
            [year([50, 30, 20], [40, 40, 20]), year([5, 5, 0, 90], [5, 5, 0, 90], domain=Domain({"w0": 4, "w1": 4}))],
            ("realisation-another-domain", 1, "w0"),
        ),
        (
            [
                year([50, 30, 20], [40, 40, 20]),
                Tables([Table("w1", [50, 30, 20], noise=Poisson())], Domain({"w1": 3, "w0": 3}), n=100),
            ],
            ("realisation-another-domain", 1),
        ),
        (Tables([Table("w0", [50, 50], noise=Poisson())], Domain({"w0": 2}), n=100), ("week-moves-need", 1)),
        (year([50, 30, 20], [40, 40, 20], n=None), ("size-population-not-known",)),
        (year([50, 50, np.nan], [40, 60, np.nan]), ("cells-observed-no", 3, "cell 2")),
        (year([50, 30, 20], [400, 300, 200]), ("table-over-sums-population", "w1", 900, 100)),
        (year([50, 30, 20], [40, 40, 60], Gaussian(1.0)), ("table-over-sums-population", "w1", 140)),
        (year([50, 30, 20], [40, 40, 190], Laplace(2.0)), ("table-over-sums-population", "w1", 270)),
    ],
)
def test_bad_data_are_refused(given, told):
    with raises(SumwiseError, *told):
        read_realisations(given)


def test_noise_and_rates_excuse_a_total():
    read_realisations(year([50, 30, 20], [40, 40, 60], Gaussian(10.0)))
    read_realisations(year([5, 3, 2], [40, 4, 6], Poisson([0.1, 0.5, 0.1])))
    read_realisations(year([50, 30, 20], [60, 20, 20], Exact()))
    with raises(SumwiseError, "table-over-sums-population"):
        read_realisations(year([5, 3, 2], [400, 4, 6], Poisson([0.1, 0.5, 0.1])))


def test_weeks_of_different_sizes_have_no_common_number_of_states():
    domain = Domain({"w0": 2, "w1": 3})
    data = read_realisations(Tables([Table("w0", [50, 50], noise=Poisson())], domain, n=100))
    with raises(SumwiseError, "weeks-states-model", "2, 3"):
        _ = data.n_states
