"""The numbers behind the figures of ecological inference."""

import numpy as np

from messages import raises
from sumwise import Margins
from sumwise.draws import Draws
from sumwise.ecological import Bounds, Goodman, King
from sumwise.errors import DataError, UnknownName
from sumwise.plots import (
    interval_numbers,
    method_numbers,
    polarisation_numbers,
    share_density_numbers,
    tomography_numbers,
    unit_scatter_numbers,
)
from sumwise.voting import voting_patterns


def two_by_two(n=30):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.95, n)
    x[0] = 1.0
    t = x * rng.normal(0.4, 0.05, n) + (1 - x) * rng.normal(0.7, 0.05, n)
    sides = [np.stack([s, 1 - s], axis=1) * 200 for s in (x, t)]
    return Margins(*sides, row_names=["a", "b"], col_names=["yes", "no"])


def test_tomography_lines_satisfy_the_accounting_identity():
    m = two_by_two()
    est = King(n_draws=50).fit(m)
    numbers = tomography_numbers(m, est)
    x, t = m.row_shares[1:, 0], m.col_shares[1:, 0]
    for key in ("lines", "segments"):
        ends = numbers[key]
        np.testing.assert_allclose(x[:, None] * ends[:, :, 0] + (1 - x[:, None]) * ends[:, :, 1], np.stack([t, t], 1))
    assert numbers["points"].shape == (29, 2)  # the homogeneous unit has no line
    assert set(numbers["contours"]) == {0.5, 0.95}
    assert (numbers["segments"][:, 0, 0] >= numbers["lines"][:, 0, 0] - 1e-9).all()


def test_tomography_is_for_two_by_two():
    with raises(DataError, "tomography-plot-x", 2, 3):
        tomography_numbers(Margins([[1, 2]], [[1, 1, 1]]))


def test_interval_numbers_are_those_of_the_estimator():
    est = Bounds().fit(two_by_two())
    numbers = interval_numbers(est)
    np.testing.assert_array_equal(numbers["low"], est.lower_bound_)
    assert numbers["groups"] == ("a", "b")


def test_unit_scatter_has_goodman_s_line():
    m = two_by_two()
    numbers = unit_scatter_numbers(m, "a", "yes")
    shares = Goodman().fit(m).shares_
    np.testing.assert_allclose(numbers["line"], [shares[1, 0], shares[0, 0]], atol=1e-8)
    assert (numbers["lower"] <= numbers["upper"]).all()
    with raises(UnknownName, "there-is-no", "group", "q"):
        unit_scatter_numbers(m, "q")
    with raises(UnknownName, "there-is-no", "outcome", 9):
        unit_scatter_numbers(m, "a", 9)


def test_densities_integrate_to_one():
    numbers = share_density_numbers(King(n_draws=200).fit(two_by_two()), "yes")
    np.testing.assert_allclose(np.trapezoid(numbers["density"], numbers["grid"], axis=1), 1, atol=0.06)


def test_a_share_known_exactly_has_all_its_mass_at_one_point():
    class Known:
        row_names_, col_names_ = ("a",), ("yes", "no")

        def draws(self, n):
            return Draws(np.tile([[[0.25, 0.75]]], (n, 1, 1)))

    numbers = share_density_numbers(Known(), "yes")
    assert (numbers["density"] > 0).sum() == 1


def test_method_numbers_stack_shares_and_keep_the_first_interval():
    m = two_by_two()
    first, second = Goodman().fit(m), Bounds().fit(m)
    numbers = method_numbers({"g": first, "b": second}, 0.9)
    np.testing.assert_array_equal(numbers["shares"][1], second.shares_)
    np.testing.assert_array_equal(numbers["low"], first.interval(0.9)[0])


def test_polarisation_numbers_are_those_of_the_findings():
    found = voting_patterns(Goodman().fit(two_by_two()), 0.8)
    numbers = polarisation_numbers(found)
    np.testing.assert_array_equal(numbers["gap"], found.polarisation.values)
    assert numbers["level"] == 0.8
    assert numbers["groups"] == ("a", "b")
