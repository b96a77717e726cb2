"""Draws: what is read off one joint distribution agrees with itself."""

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Draws, load, save
from sumwise.draws import mixture
from sumwise.errors import UnknownName


def random_covariance(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T / size


def skewed(rng):
    return Draws(np.exp(rng.normal(0, 3, (2000, 3))), labels=[["a", "b", "c"]], axes=["place"], name="count")


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95])
def test_every_estimate_lies_in_its_interval_of_the_stated_probability(level):
    draws = skewed(np.random.default_rng(0))
    low, high = draws.interval(level)
    assert ((low <= draws.mean) & (draws.mean <= high)).all()
    inside = ((draws.values >= low) & (draws.values <= high)).mean(axis=0)
    assert np.abs(inside - level).max() < 2 / len(draws) + 1e-3


def test_a_gaussian_has_its_moments_exactly():
    rng = np.random.default_rng(1)
    mean, covariance = rng.normal(size=4), random_covariance(rng, 4)
    draws = Draws.gaussian(mean, covariance, n_draws=200)
    np.testing.assert_allclose(draws.mean, mean, atol=1e-12)
    np.testing.assert_allclose(draws.values.T @ draws.values / 200 - np.outer(mean, mean), covariance, atol=1e-10)
    low, high = draws.interval(0.95)
    np.testing.assert_allclose(high - low, 2 * 1.959963985 * np.sqrt(np.diag(covariance)))


def test_a_gaussian_does_not_depend_on_the_order_of_quantities():
    rng = np.random.default_rng(2)
    mean, covariance, order = rng.normal(size=6), random_covariance(rng, 6), rng.permutation(6)
    base = Draws.gaussian(mean, covariance, np.exp)
    other = Draws.gaussian(mean[order], covariance[np.ix_(order, order)], np.exp)
    np.testing.assert_allclose(other.values, base.values[:, order], rtol=1e-9)


def test_a_singular_covariance_is_kept_exactly():
    draws = Draws.gaussian([0.4, 0.6], [[0.01, -0.01], [-0.01, 0.01]])
    np.testing.assert_allclose(draws.values.sum(axis=1), 1.0)


def test_differences_of_a_gaussian_are_closed_form_and_agree_with_the_draws():
    covariance = [[0.04, 0.01], [0.01, 0.09]]
    draws = Draws.gaussian([1.0, 2.0], covariance, labels=[["a", "b"]])
    difference = draws.difference("b", "a")
    assert difference.deviation == pytest.approx(np.sqrt(0.04 + 0.09 - 0.02))
    assert difference.values.std() == pytest.approx(float(difference.deviation), rel=1e-9)
    assert difference.mean == pytest.approx(1.0)


def test_draws_are_clipped_to_what_is_certain():
    draws = Draws.gaussian([0.05], [[0.01]], lower_bound=[0.0], upper_bound=[1.0])
    assert draws.covariance is None
    assert draws.values.min() == 0
    assert draws.mean[0] == pytest.approx(draws.values.mean())
    estimate = draws.estimate(0.9)
    assert estimate.low[0] == 0
    assert estimate.lower_bound[0] == 0


def test_ranks_agree_with_differences():
    draws = Draws.gaussian([[0.4, 0.35, 0.25]], np.eye(3) / 100, labels=[["g"], ["x", "y", "z"]])
    first = draws.rank().probability(lambda r: r == 1)[0]
    ahead = draws.probability(lambda d: (d[:, 0, 0] > d[:, 0, 1]) & (d[:, 0, 0] > d[:, 0, 2]))
    assert first[0] == ahead
    assert first.sum() == pytest.approx(1)


def test_quantities_without_an_estimate_stay_nan_everywhere():
    draws = Draws(np.column_stack([np.arange(10.0), np.full(10, np.nan)]))
    low, high = draws.interval(0.9)
    assert np.isnan([draws.mean[1], low[1], high[1], draws.rank().mean[1]]).all()
    assert np.isfinite([draws.mean[0], low[0], high[0]]).all()


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (np.empty((0, 2)), {}, "no draws"),
        ([[1.0, np.nan], [1.0, 2.0]], {}, "1 of 2"),
        ([[1.0, np.inf]], {}, "inf"),
        ([[1.0]], {"labels": [["a", "b"]]}, "2"),
        ([[1.0]], {"covariance": np.eye(2)}, "(2, 2)"),
    ],
)
def test_draws_that_contradict_themselves_are_refused(values, options, words):
    with pytest.raises(DataError) as error:
        Draws(values, **options)
    assert words in str(error.value)


def test_a_covariance_that_is_none_is_refused():
    with raises(DataError, "covariance-negative-eigenvalue-largest"):
        Draws.gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])


def test_unknown_names_and_statements_are_refused():
    draws = Draws([[1.0, 2.0]], labels=[["white", "black"]], axes=["group"])
    with raises(UnknownName, "no-did-you", "group"):
        draws["whte"]
    with raises(DataError, "names-axes", 2):
        draws["white", "x"]
    with raises(DataError, "statement-gave-shape", "float64"):
        draws.probability(lambda d: d.sum(axis=1))
    with raises(DataError, "no-axis-draw", 1):
        draws.rank(1)


def test_a_mixture_has_the_spread_between_its_parts():
    parts = [Draws.gaussian([m], [[0.01]], labels=[["x"]]) for m in (0.0, 1.0)]
    mixed = mixture(parts, [0.5, 0.5])
    assert mixed.mean[0] == pytest.approx(0.5, abs=0.01)
    assert mixed.deviation[0] ** 2 == pytest.approx(0.25 + 0.01, rel=0.05)
    with raises(DataError, "distributions-not-same"):
        mixture([parts[0], Draws([[1.0, 2.0]])], [0.5, 0.5])
    with raises(DataError, "weights-distributions-weight"):
        mixture(parts, [0.5])


def test_frame_map_and_files_keep_the_draws(tmp_path):
    draws = Draws.gaussian([[1.0, 2.0]], np.eye(2), labels=[["g"], ["x", "y"]], axes=["group", "vote"], n_draws=10)
    frame = draws.to_frame()
    assert frame.shape == (10, 2)
    assert frame["g", "y"].to_numpy() == pytest.approx(draws.values[:, 0, 1])
    total = draws.map(lambda d: d.sum(axis=-1), labels=[["g"]], axes=["group"], name="total")
    assert total.mean == pytest.approx([3.0])
    save(draws, tmp_path / "draws.sumwise")
    back = load(tmp_path / "draws.sumwise")
    np.testing.assert_array_equal(back.values, draws.values)
    assert back.labels == draws.labels
    assert back.estimate(0.5) == draws.estimate(0.5)


def test_arviz_reads_the_draws_if_it_is_installed():
    pytest.importorskip("arviz")
    draws = Draws([[1.0, 2.0], [2.0, 3.0]], labels=[["a", "b"]], axes=["group"], name="share")
    assert draws.to_inference_data().posterior["share"].sel(group="b").values.tolist() == [[2.0, 3.0]]
