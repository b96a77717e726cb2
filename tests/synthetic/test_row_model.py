import numpy as np

from sumwise import synthetic
from sumwise.synthetic.row_model import BLOCK


def association(a, b):
    """Cramer's V of two coded columns."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi2 = ((table - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    return np.sqrt(chi2 / table.sum() / (min(table.shape) - 1))


def test_first_attribute_has_its_marginal():
    model = synthetic.rows(1, sizes=[6, 3], skew=1.0, random_state=0).model
    share = 1 / np.arange(1, 7)
    np.testing.assert_allclose(model.marginal(0), share / share.sum(), atol=2e-4)
    codes, _, _ = model.block(0)
    np.testing.assert_allclose(np.bincount(codes[:, 0]) / BLOCK, model.marginal(0), atol=0.01)


def test_every_level_of_a_large_attribute_can_occur():
    model = synthetic.rows(1, sizes=[100_000], skew=2.0, random_state=0).model
    assert (model.marginal(0) > 0).all()
    np.testing.assert_allclose(model.marginal(0).sum(), 1)
    assert model.block(0)[0].dtype == np.int32


def test_correlation_binds_attributes():
    linked, free = (
        synthetic.rows(1, sizes=[5, 5], skew=0, correlation=c, random_state=2).model.block(0)[0] for c in (0.9, 0.0)
    )
    assert association(linked[:, 0], linked[:, 1]) > 0.5
    assert association(free[:, 0], free[:, 1]) < 0.02


def test_joint_parents_are_invisible_in_pairs_and_visible_in_triples():
    model = synthetic.rows(1, sizes=[3] * 5, skew=0, correlation=0.9, joint_parents=1, random_state=1).model
    assert model.parents[:2] == ((), ())
    assert sorted(model.parents[4]) == [0, 1]
    codes = model.block(0)[0].astype(int)
    assert association(codes[:, 0], codes[:, 1]) < 0.02
    assert association(codes[:, 0], codes[:, 4]) < 0.02
    assert association(codes[:, 1], codes[:, 4]) < 0.02
    assert association(3 * codes[:, 0] + codes[:, 1], codes[:, 4]) > 0.8


def test_labels_follow_the_probability_and_the_rate():
    for rate in (0.5, 0.01):
        model = synthetic.rows(1, rate=rate, higher=0.5, random_state=3).model
        _, labels, p = model.block(0)
        np.testing.assert_allclose(p.mean(), rate, rtol=0.05)
        np.testing.assert_allclose(labels.mean(), p.mean(), atol=4 * np.sqrt(rate / BLOCK))
        high = p > np.quantile(p, 0.9)
        np.testing.assert_allclose(labels[high].mean(), p[high].mean(), rtol=0.15)


def test_logit_is_the_sum_of_its_terms():
    model = synthetic.rows(1, sizes=[2, 3, 4], main=1.0, pairwise=0.5, higher=0.25, random_state=4).model
    assert sorted(len(term) for term in model.terms) == [1, 1, 1, 2, 2, 2, 3]
    x = np.array([1, 2, 3])
    logit = model.intercept + sum(np.prod([scores[x[j]] for j, scores in term]) for term in model.terms)
    np.testing.assert_allclose(model.probability(x[:, None]), 1 / (1 + np.exp(-logit)))


def test_parts_of_the_logit_have_their_spread():
    model = synthetic.rows(1, sizes=[40] * 30, skew=0, correlation=0, main=2.0, pairwise=1.0, random_state=5).model
    codes = model.block(0)[0].T.astype(int)
    main = sum(t[0][1][codes[t[0][0]]] for t in model.terms if len(t) == 1)
    pairs = sum(t[0][1][codes[t[0][0]]] * t[1][1][codes[t[1][0]]] for t in model.terms if len(t) == 2)
    np.testing.assert_allclose(np.std(main), 2.0, rtol=0.15)
    np.testing.assert_allclose(np.std(pairs), 1.0, rtol=0.15)


def test_blocks_differ_and_repeat():
    model = synthetic.rows(1, random_state=6).model
    first, again, other = model.block(0)[0], model.block(0)[0], model.block(1)[0]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
