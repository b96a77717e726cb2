import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.distribution.kernels.segments import block_means, read_only, segment_means, segment_moments


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 3), st.integers(0, 99))
def test_moments_are_those_of_numpy(sizes, d, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values, weights = rng.normal(5, 2, (offsets[-1], d)), rng.uniform(0.1, 2, offsets[-1])
    means = segment_means(values, offsets, weights, np.full(d, 2.0), 3)
    moments = segment_moments(values, offsets, weights, 4, True)
    pairs = [(j, k) for j in range(d) for k in range(j + 1, d)]
    for i, n in enumerate(sizes):
        x, w = values[offsets[i] : offsets[i + 1]], weights[offsets[i] : offsets[i + 1]]
        if n == 0:
            assert not means[i].any()
            assert not moments[i].any()
            continue
        centre = np.average(x, axis=0, weights=w)
        powers = [np.average((x - centre) ** p, axis=0, weights=w) for p in (2, 3, 4)]
        cross = [np.average((x - centre)[:, j] * (x - centre)[:, k], weights=w) for j, k in pairs]
        assert np.allclose(means[i], np.average((x - 2.0) ** 3, axis=0, weights=w))
        assert np.allclose(moments[i], np.concatenate([centre, *powers, cross]), atol=1e-12)


def test_blocks_that_cut_bags_give_the_same_means(monkeypatch):
    rng = np.random.default_rng(0)
    offsets, values, weights = np.array([0, 5, 5, 6, 20]), rng.normal(size=(20, 2)), rng.uniform(0.1, 2, 20)
    monkeypatch.setattr("sumwise.distribution.kernels.segments.BLOCK", 6)
    out = block_means(values, offsets, weights, lambda x: x**2, 2)
    assert np.allclose(out, segment_means(values, offsets, weights, None, 2))


def test_read_only_views_leave_the_array_writable():
    array = np.zeros(3)
    assert not read_only(array).flags.writeable
    assert array.flags.writeable
