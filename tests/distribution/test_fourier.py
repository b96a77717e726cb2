import numpy as np
import pytest

import brute_distribution as brute
from messages import raises, warns
from sumwise import Bags, load, save, synthetic
from sumwise.distribution import FourierEmbedding, fourier
from sumwise.errors import DataError, ModelWarning


def test_features_are_means_of_cosines_and_sines(weighted_bags):
    embedding = FourierEmbedding(3, widths=(1, 0.5, 0.3), random_state=0).fit(weighted_bags)
    frequencies, columns = embedding.frequencies_, embedding.columns_

    def feature(x):
        angle = (x[columns.numeric] - columns.centre) @ frequencies
        parts = [np.cos(angle[:3]), np.sin(angle[:3]), np.cos(2 * angle[:3]), np.sin(2 * angle[:3])]
        return np.concatenate([*parts, np.cos(angle[3:]), np.sin(angle[3:])]) / 3

    assert np.allclose(embedding.transform(weighted_bags), brute.mean_features(weighted_bags, feature), atol=1e-12)


@pytest.mark.parametrize("kind", ["orthogonal", "random", "fastfood", "quadrature"])
def test_inner_products_are_mean_gaussian_kernels(kind):
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (30, 2)) for m in (0, 0.5, 2)]
    embedding = FourierEmbedding(4096, widths=(1.0,), unit=2.0, kind=kind, standardize=False, random_state=0)
    features = embedding.fit_transform(Bags.from_arrays(parts))
    exact = [[np.exp(-((a[:, None] - b) ** 2).sum(-1) / 8).mean() for b in parts] for a in parts]
    assert np.allclose(features @ features.T, exact, atol=1e-10 if kind == "quadrature" else 0.02)


def test_fastfood_keeps_no_matrix_and_survives_saving(weighted_bags, tmp_path):
    embedding = FourierEmbedding(5, (1.0, 0.5, 0.3), kind="fastfood", moments=True, random_state=0).fit(weighted_bags)
    assert not hasattr(embedding, "frequencies_")
    assert max(np.size(array) for array in embedding.fastfood_.values()) == 2 * 8  # two chains, two blocks of four
    save(embedding, tmp_path / "embedding.sumwise")
    whole = embedding.transform(weighted_bags)
    assert np.array_equal(load(tmp_path / "embedding.sumwise").transform(weighted_bags), whole)
    assert np.array_equal(embedding.transform_used(weighted_bags, np.array([1, 22])), whole[:, [1, 22]])


def test_marginal_features_are_a_sum_over_columns():
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (30, 2)) for m in (0, 0.5, 2)]
    embedding = FourierEmbedding(64, (1.0,), 1.5, "quadrature", marginal=True, standardize=False)
    features = embedding.fit_transform(Bags.from_arrays(parts))
    exact = [[np.exp(-((a[:, None] - b) ** 2) / 4.5).mean(axis=(0, 1)).sum() for b in parts] for a in parts]
    assert np.allclose(features @ features.T, exact, atol=1e-10)


def test_unit_is_the_median_distance_of_scaled_rows():
    bags = synthetic.gamma(50, 100, random_state=0).bags
    values = np.asarray(bags.values)
    rows = values[np.random.default_rng(1).choice(len(values), 500)] / values.std(axis=0)
    distances = np.linalg.norm(rows[:, None] - rows, axis=-1)[np.triu_indices(500, 1)]
    assert FourierEmbedding(random_state=0).fit(bags).unit_ == pytest.approx(np.median(distances), rel=0.05)


def test_widths_that_are_not_used_are_not_computed(mixed_bags, monkeypatch):
    embedding = FourierEmbedding(3, widths=(1, 0.5, 0.3, 0.25), random_state=0).fit(mixed_bags)
    whole, asked = embedding.transform(mixed_bags), []
    plain, name = fourier.mean_fourier_features, "mean_fourier_features"
    monkeypatch.setattr(fourier, name, lambda *given, **k: asked.append(given[4]) or plain(*given, **k))
    for used, doublings in ((np.arange(12), [1]), (np.array([3, 20, 25]), [0, 0]), (np.array([24]), [])):
        asked.clear()
        assert np.array_equal(embedding.transform_used(mixed_bags, used), whole[:, used])
        assert asked == doublings


def test_moments_are_those_of_bags_with_the_spread_of_fourier_features(weighted_bags):
    bags = weighted_bags[2:]
    embedding = FourierEmbedding(8, (1.0, 0.5), moments=True, random_state=0).fit(bags)
    plain = FourierEmbedding(8, (1.0, 0.5), random_state=0).fit_transform(bags)
    whole = embedding.transform(bags)
    assert np.allclose(whole[:, :32], plain)
    order = embedding.columns_.numeric
    values = [
        np.repeat(x[:, order], w.astype(int), axis=0) for x, w in zip(bags, np.split(bags.weights, bags.offsets[1:-1]))
    ]
    scale = embedding.columns_.scale
    expected = [
        [*x.mean(axis=0), *np.log(x.std(axis=0) / scale + 0.01), *np.corrcoef(x.T)[np.triu_indices(3, 1)]]
        for x in values
    ]
    for mine, other in zip(whole[:, 32:].T, np.transpose(expected)):
        assert np.corrcoef(mine, other)[0, 1] == pytest.approx(1.0)
    assert whole[:, 32:].var(axis=0).sum() == pytest.approx(plain[:, :16].var(axis=0).sum())
    assert [len(used) for used in embedding.candidates(whole.shape[1])] == [16 + 9, 32 + 9]


def test_moments_of_bags_of_one_row_and_of_many_columns_are_finite():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(size=(n, 12)) for n in (1, 1, 2, 5, 9)])
    features = FourierEmbedding(4, (1.0,), moments=True, random_state=0).fit_transform(bags)
    assert features.shape == (5, 8 + 24)
    assert np.isfinite(features).all()


def test_a_column_of_equal_values_is_said(weighted_bags):
    values = np.array(weighted_bags.values)
    values[:, 1] = 7.0
    with warns(ModelWarning, "columns-constant-left", 1, 3):
        features = FourierEmbedding(random_state=0).fit_transform(weighted_bags.with_values(values))
    assert np.isfinite(features).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_frequencies": 0}, ("must-least", "n_frequencies", 0)),
        ({"widths": ()}, ("widths-empty-multiples",)),
        ({"widths": (1, -1)}, ("not-above-zero-2", "widths")),
        ({"kind": "magic"}, ("is-takes", "kind", "magic")),
        ({"unit": "mean"}, ("did-you-mean",)),
        ({"unit": 0.0}, ("not-above-zero-2", "unit")),
    ],
)
def test_bad_settings_are_refused(settings, message, weighted_bags):
    with raises(DataError, *message):
        FourierEmbedding(**settings).fit(weighted_bags)


def test_structured_is_another_name_of_fastfood(weighted_bags):
    one, other = (FourierEmbedding(8, kind=kind, random_state=0) for kind in ("structured", "fastfood"))
    assert np.array_equal(one.fit_transform(weighted_bags), other.fit_transform(weighted_bags))


@pytest.mark.parametrize(
    "chains", [[[16, 10**6]], [[10**6, 3]], [[2**31 - 1, 2**31 - 1]], [[16.0, 3.0]], [[-16, 3]], [16, 3]]
)
def test_forged_widths_ask_for_no_memory(chains, weighted_bags):
    made = FourierEmbedding(16, random_state=0).fit(weighted_bags)
    assert made.chains_.tolist() == [[16, 3]]
    made.chains_ = np.array(chains)
    for use in (made.transform, lambda bags: made.transform_used(bags, np.arange(3))):
        with raises(DataError, "models-parts-dont|models-parts-dont-fit-together"):
            use(weighted_bags)


def test_moments_of_a_column_that_varies_in_one_bag_are_not_blown_up():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 5, 3))
    values[:, :, 2] = 1e-6 * rng.normal(size=(150, 5))
    values[2, :, 2] += 1.0  # not among the hundred bags from which the spread of Fourier features is taken
    bags = Bags.from_arrays(list(values))
    features = FourierEmbedding(50, moments=True).fit(bags).vectors(bags)
    spread = features.std(axis=0)
    assert np.abs(features - features.mean(axis=0)).max() < 1.0
    assert spread.max() < 5 * np.median(spread)


def test_a_small_bag_that_is_constant_in_a_column_is_no_outlier():
    rng = np.random.default_rng(6)
    parts = [np.column_stack([rng.normal(size=8), rng.permutation([0, 0, 0, 1, 1, 1, 1, 1])]) for _ in range(40)]
    parts = [part[: 6 + k % 3] for k, part in enumerate(parts) if 0 < part[:6, 1].mean() < 1]
    bags = Bags.from_arrays(parts)
    embedding = FourierEmbedding(4, (1.0,), moments=True, random_state=0).fit(bags)
    seen = embedding.transform(bags)[:, -3:]  # log standard deviations of both columns, and their correlation
    alike = np.column_stack([np.linspace(-1, 1, 5), np.full(5, 0.1 + 0.2)])
    logs, correlation = np.split(embedding.transform(Bags.from_arrays([alike]))[0, -3:], [2])
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    assert np.all(logs >= low - 0.51 * (high - low))
    assert correlation[0] == pytest.approx((0.0 - embedding.moment_mean_[-1]) * embedding.moment_scale_[-1])
