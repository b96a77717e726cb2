import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises
from sumwise import noise
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, NegativeBinomial, Poisson, Summed, check_fits

SMOOTH = [Poisson(0.7), Gaussian(2.0)]
KINKED = [Laplace(2.0), Geometric(2.0)]
SUMS = [Summed(Laplace(2.0), 2), Summed(Laplace(2.0), 3), Summed(Geometric(2.0), 2), Summed(Geometric(2.0), 5)]
MODELS = [*SMOOTH, *KINKED, *SUMS, Exact()]
WIDE = NegativeBinomial(0.7, 0.2)  # not log-concave: no conjugate for slopes above 0


def _whole(model):
    return isinstance(getattr(model, "noise", model), (Poisson, Geometric, NegativeBinomial))


def test_sums_of_geometric_noise_have_the_convolved_distribution():
    k = np.arange(-400, 401).astype(float)
    one = np.exp(Geometric(3.0).log_density(k, 0.0))
    brute = np.convolve(np.convolve(one, one, "same"), one, "same")
    assert np.allclose(np.exp(Summed(Geometric(3.0), 3).log_density(k, 0.0))[200:-200], brute[200:-200], atol=1e-12)


@pytest.mark.parametrize("given", [(Gaussian(1.0), 2), (Laplace(np.ones(3)), 2), (Laplace(1.0), 1)])
def test_only_draws_of_one_scale_are_summed(given):
    with pytest.raises(DataError):
        Summed(*given)


@pytest.mark.parametrize("model", [*SMOOTH, *KINKED, *SUMS, WIDE])
def test_gradient_is_the_slope_of_the_log_density(model):
    y, n, h = np.array([0.0, 3.0, 8.0]), np.array([2.0, 5.0, 6.5]), 1e-6
    slope = (model.log_density(y, n + h) - model.log_density(y, n - h)) / (2 * h)
    assert np.allclose(model.gradient(y, n), slope, atol=1e-6)


@pytest.mark.parametrize("model", [*SMOOTH, *KINKED, *SUMS])
@pytest.mark.parametrize("y", [0.0, 1.0, 7.0])
def test_conjugate_is_the_supremum(model, y):
    n = np.linspace(0.0 if isinstance(model, Poisson) else -300.0, 300.0, 600_001)
    density = model.log_density(y, n)
    for slope in (-0.45, -0.1, 0.0, 0.2, 0.45):
        brute = np.max(slope * n + density)
        assert float(model.conjugate(y, slope)) == pytest.approx(brute, abs=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_fenchel_young_holds_with_equality_at_the_point(model):
    y, slope = np.array([0.0, 2.0, 9.0]), np.array([-0.4, 0.1, 0.3])
    point = model.conjugate_point(y, slope)
    assert np.allclose(model.conjugate(y, slope), slope * point + model.log_density(y, point))


@given(st.floats(-0.49, 0.49), st.integers(0, 50), st.floats(0, 100))
def test_fenchel_young_inequality(slope, y, n):
    for model in (Poisson(0.7), Gaussian(2.0), Laplace(2.0), Geometric(2.0)):
        assert model.conjugate(y, slope) >= slope * n + model.log_density(y, n) - 1e-9


def test_conjugate_is_infinite_out_of_reach():
    assert Poisson(0.5).conjugate(3.0, 0.5) == np.inf
    assert Poisson(0.5).conjugate(0.0, 0.5) == 0.0
    assert Poisson(0.5).conjugate(0.0, 0.6) == np.inf
    assert Laplace(2.0).conjugate(3.0, 0.6) == np.inf
    assert np.isnan(Poisson(0.5).conjugate_point(3.0, 0.6))


@pytest.mark.parametrize("y", [0.0, 1.0, 7.0])
def test_conjugate_of_the_negative_binomial_is_the_supremum_or_infinite(y):
    n = np.linspace(0.0, 300.0, 600_001)
    density = WIDE.log_density(y, n)
    for slope in (-0.45, -0.1, 0.0):
        brute = np.max(slope * n + density)
        assert float(WIDE.conjugate(y, slope)) == pytest.approx(brute, abs=1e-5)
        at = float(WIDE.conjugate_point(y, slope))
        assert slope * at + float(WIDE.log_density(y, at)) == pytest.approx(brute, abs=1e-5)
    assert WIDE.conjugate(y, 0.1) == np.inf


@pytest.mark.parametrize("model", [*MODELS, WIDE])
def test_unobserved_cells_carry_no_information(model):
    y = np.array([np.nan, 1.0])
    assert model.log_density(y, np.array([5.0, 1.0]))[0] == 0
    assert model.gradient(y, np.array([5.0, 1.0]))[0] == 0
    assert model.conjugate(y, np.array([0.0, 0.0]))[0] == 0
    assert model.conjugate(y, np.array([0.1, 0.0]))[0] == np.inf


@pytest.mark.parametrize("model", [*SMOOTH, *KINKED, *SUMS, WIDE])
def test_densities_sum_to_one(model):
    if _whole(model):
        total = np.exp(model.log_density(np.arange(-500, 501).astype(float), 9.0)).sum()
    else:
        y = np.linspace(-200, 200, 400_001)
        total = np.exp(model.log_density(y, 9.0)).sum() * (y[1] - y[0])
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("model", [*MODELS, WIDE])
def test_samples_have_the_stated_mean_and_variance_and_seed(model):
    true = np.full(200_000, 12.0)
    y = model.sample(true, random_state=3)
    mean = 0.7 * 12 if isinstance(model, (Poisson, NegativeBinomial)) else 12
    spread = np.sqrt(model.variance(12.0))
    assert y.mean() == pytest.approx(mean, abs=4 * spread / np.sqrt(len(y)) + 1e-12)
    assert y.var() == pytest.approx(float(model.variance(12.0)), rel=0.03, abs=1e-12)
    assert np.array_equal(y, model.sample(true, random_state=3))
    if _whole(model) or isinstance(model, Exact):
        assert np.array_equal(y, np.round(y))


def test_extreme_values_stay_finite():
    assert np.isfinite(Poisson(1e-12).log_density(1e6, 1e18))
    assert np.isfinite(Gaussian(1e-150).log_density(0.0, 0.0))
    assert np.isfinite(Geometric(1e6).variance(0.0))
    assert Poisson(1.0).log_density(0.0, 0.0) == 0.0
    assert Poisson(1.0).log_density(2.0, 0.0) == -np.inf
    assert Poisson(1.0).log_density(-1.0, 3.0) == -np.inf


@pytest.mark.parametrize("kind", [Poisson, Gaussian, Laplace, Geometric, NegativeBinomial])
@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "2", None, [1.0, 0.0]])
def test_scales_must_be_positive(kind, bad):
    with pytest.raises(DataError):
        kind(bad)


def test_equality_and_repr_and_describe():
    assert Gaussian(2.0) == Gaussian(2)
    assert Gaussian(2.0) != Gaussian(3.0)
    assert Gaussian(2.0) != Laplace(2.0)
    assert Poisson([1.0, 2.0]) == Poisson([1.0, 2.0])
    assert repr(Laplace(0.5)) == "Laplace(scale=0.5)"
    assert repr(Poisson(np.ones((2, 3)))) == "Poisson(rate=array(2, 3))"
    assert repr(Exact()) == "Exact()"
    assert Gaussian(2.0).describe() == {"noise": "Gaussian", "scale": 2.0}


def test_check_fits_refuses_shapes_and_strangers():
    with raises(DataError, "noise-shape-table", "(2,)", "(3,)"):
        check_fits(Gaussian([1.0, 2.0]), (3,))
    with raises(DataError, "noise-no-observed", "log_density"):
        check_fits(3, (3,))


def test_every_public_model_is_tested():
    assert {type(m).__name__ for m in [*MODELS, WIDE]} | {"Noise"} == set(noise.__all__)


@pytest.mark.parametrize("model", [*MODELS, WIDE, Gaussian([1.0, 2.0, 3.0])])
@pytest.mark.parametrize("method", ["log_density", "gradient", "conjugate", "conjugate_point"])
def test_what_is_no_pair_of_counts_is_refused(model, method):
    for pair in (([1.0, 2.0], [1.0, 2.0, 3.0]), ("a", 1.0), (1.0, [[1.0], [1.0, 2.0]])):
        with pytest.raises(DataError):
            getattr(model, method)(*pair)


def test_noise_per_cell_fits_the_cells():
    with raises(DataError, "observed-counts-shape"):
        Gaussian([1.0, 2.0]).log_density([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with raises(DataError, "observed-counts-shape"):
        Gaussian([1.0, 2.0]).sample([1.0, 2.0, 3.0])
    with raises(DataError, "empty-number-per", "scale"):
        Gaussian([])


@pytest.mark.parametrize("true", [-1.0, np.nan, 1e300, "a"])
def test_poisson_draws_only_what_it_can(true):
    with pytest.raises(DataError):
        Poisson(2.0).sample([true])


@pytest.mark.parametrize("kind", [Gaussian, Laplace, Geometric])
def test_a_scale_of_zero_says_what_tables_without_noise_are(kind):
    with raises(DataError, "not-above-zero", "scale"):
        kind(0.0)
