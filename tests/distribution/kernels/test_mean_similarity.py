import numpy as np

from sumwise.distribution.kernels.mean_similarity import mean_similarity


def test_means_are_those_of_a_loop_in_blocks_or_not(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    cuts, other = np.array([0, 4, 9]), np.array([0, 1, 5, 7])
    w, v = rng.uniform(0.1, 2, 9), rng.uniform(0.1, 2, 7)
    whole = mean_similarity(a, cuts, w, b, other, v)
    for i in range(2):
        for j in range(3):
            p, q = slice(*cuts[i : i + 2]), slice(*other[j : j + 2])
            k = np.exp(-((a[p][:, None] - b[q]) ** 2).sum(-1) / 2)
            assert np.isclose(whole[i, j], w[p] @ k @ v[q] / (w[p].sum() * v[q].sum()))
    monkeypatch.setattr("sumwise.distribution.kernels.mean_similarity.BLOCK", 4)
    assert np.allclose(mean_similarity(a, cuts, w, b, other, v), whole)
    assert np.allclose(mean_similarity(a, cuts, w, a, cuts, w, symmetric=True), mean_similarity(a, cuts, w, a, cuts, w))
