import numpy as np

from messages import raises
from sumwise import synthetic
from sumwise.distribution import BagKernelRidge, BagRidge, KernelEmbedding, MomentEmbedding, WassersteinKernel
from sumwise.errors import DataError
from sumwise.inference.canonical import content_sorted


def test_inner_products_are_similarities_to_landmarks():
    bags = synthetic.gamma(30, 40, random_state=0).bags
    embedding = KernelEmbedding(n_landmarks=12, random_state=0).fit(bags)
    vectors = embedding.transform(bags)
    gram = WassersteinKernel(spread=True, extra_slices=10).fit(bags).gram(bags)
    rng = np.random.default_rng(0)
    chosen = content_sorted(bags)[1][np.sort(rng.choice(30, 12, replace=False))]
    assert np.allclose(vectors @ vectors[chosen].T, gram[:, chosen], atol=1e-6)


def test_ridge_on_all_landmarks_is_kernel_ridge():
    train = synthetic.gamma(60, 40, noise=0, random_state=0)
    primal = BagRidge(KernelEmbedding(WassersteinKernel(spread=True)), penalty=0.01).fit(train.bags, train.response)
    dual = BagKernelRidge(WassersteinKernel(spread=True), widths=(1,), penalty=0.01).fit(train.bags, train.response)
    assert np.allclose(primal.predict(train.bags), dual.predict(train.bags), atol=1e-5)


def test_other_parts_are_refused(weighted_bags):
    with raises(DataError, "type-such", "kernel", "MomentEmbedding"):
        KernelEmbedding(MomentEmbedding()).fit(weighted_bags)
    with raises(DataError, "must-least", "n_landmarks", 0):
        KernelEmbedding(n_landmarks=0).fit(weighted_bags)
