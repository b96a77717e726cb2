import numpy as np

from sumwise.distribution.kernels.shrinkage import Shrinkage, shrink, shrinkage


def test_shrink_is_the_posterior_mean():
    rng = np.random.default_rng(0)
    between, within = (a @ a.T for a in rng.normal(size=(2, 3, 3)))
    values, turn = np.linalg.eigh(within)
    white = turn / np.sqrt(values)
    inner, rotation = np.linalg.eigh(white.T @ between @ white)
    found = Shrinkage(np.ones(3), white @ rotation, rotation.T @ (turn * np.sqrt(values)).T, inner)
    vectors, sizes = rng.normal(size=(4, 3)), np.array([1.0, 2.0, 50.0, 1e9])
    expected = [1 + between @ np.linalg.solve(between + within / n, v - 1) for v, n in zip(vectors, sizes)]
    assert np.allclose(shrink(vectors, sizes, found), expected, atol=1e-8)


def test_shrinkage_finds_both_covariances():
    rng = np.random.default_rng(1)
    n = 20_000
    sizes = rng.choice([2, 10], n).astype(float)
    truth = rng.normal(size=(n, 2)) * [2.0, 0.5]
    root = np.array([[1.0, 0.5], [0.0, 1.0]])
    found = shrinkage(truth + rng.normal(size=(n, 2)) @ root / np.sqrt(sizes)[:, None], sizes, root.T @ root)
    between = found.back.T @ np.diag(found.between) @ found.back
    assert np.allclose(between, np.diag([4.0, 0.25]), atol=0.15)


def test_directions_without_noise_hardly_shrink():
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(50, 2))
    out = shrink(vectors, np.full(50, 3.0), shrinkage(vectors, np.full(50, 3.0), np.diag([1.0, 0.0])))
    assert np.allclose(out[:, 1], vectors[:, 1], rtol=1e-2, atol=1e-3)
    assert np.abs(out[:, 0]).max() < np.abs(vectors[:, 0]).max()
