"""The kernel of normal distributions fitted to bags."""

import numpy as np

from messages import raises
from sumwise import Bags
from sumwise.distribution import BagKernelRidge, GaussianW2Kernel
from sumwise.distribution.kernels.gaussian_transport import gaussian_w2


def drawn(n, d, seed):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n, d, d))
    return Bags.from_arrays([rng.normal(size=(20, d)) @ a + rng.normal(size=d) for a in mixing])


def test_distances_are_those_of_fitted_normals():
    bags = drawn(5, 2, 0)
    kernel = GaussianW2Kernel(definite_variant=False, gamma=1.0).fit(bags)
    parts = [kernel.columns_.numbers(np.asarray(bags[i])) for i in range(5)]
    means = np.array([p.mean(axis=0) for p in parts])
    covers = [np.cov(p.T, bias=True) for p in parts]
    values = [np.linalg.eigh(c) for c in covers]
    roots = np.array([(v * np.sqrt(np.maximum(e, 0))) @ v.T for e, v in values])
    assert np.allclose(kernel.gram(bags), np.exp(-gaussian_w2(means, roots, means, roots)))


def test_variants_agree_on_one_column_and_the_definite_one_is_an_upper_bound():
    one, two = drawn(6, 1, 1), drawn(6, 2, 2)
    exact, definite = (GaussianW2Kernel(v, gamma=1.0) for v in (False, True))
    assert np.allclose(exact.fit(one).gram(one), definite.fit(one).gram(one))
    assert (definite.fit(two).gram(two) <= exact.fit(two).gram(two) + 1e-12).all()


def test_the_definite_variant_has_no_negative_eigenvalue():
    bags = drawn(40, 3, 3)
    assert np.linalg.eigvalsh(GaussianW2Kernel().fit(bags).gram(bags)).min() > -1e-9


def test_categories_take_part():
    rng = np.random.default_rng(0)
    import pandas as pd

    share = rng.uniform(0, 1, 40)
    frame = pd.DataFrame({"bag": np.repeat(np.arange(40), 30), "x": rng.normal(size=1200)})
    frame["kind"] = np.where(rng.random(1200) < np.repeat(share, 30), "a", "b")
    bags = Bags.from_frame(frame, bag="bag", features=["x", "kind"])
    model = BagKernelRidge(GaussianW2Kernel(), random_state=0).fit(bags[:30], share[:30])
    assert model.score(bags[30:], share[30:]) > 0.7


def test_kernel_ridge_learns_a_variance():
    rng = np.random.default_rng(5)
    spread = rng.uniform(0.5, 2, 80)
    bags = Bags.from_arrays([rng.normal(0, s, (60, 2)) for s in spread])
    model = BagKernelRidge(GaussianW2Kernel(), random_state=0).fit(bags[:50], spread[:50])
    assert model.score(bags[50:], spread[50:]) > 0.8


def test_unknown_variant_is_an_error():
    with raises(ValueError, "is-takes", "definite_variant"):
        GaussianW2Kernel("maybe").fit(drawn(4, 2, 0))
