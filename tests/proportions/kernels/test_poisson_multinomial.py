"""Class counts and other outcome vectors: every way against enumeration and against each other."""

import numpy as np
import pytest

from brute_cardinality import vectors_by_enumeration
from messages import raises
from sumwise.errors import DataError
from sumwise.proportions.kernels.poisson_binomial import count_posterior, exact_counts
from sumwise.proportions.kernels.poisson_multinomial import VECTOR_METHODS, class_posterior, vector_posterior

EXACT = [m for m in VECTOR_METHODS if m != "saddlepoint"]


def draw(rng, n, n_classes, spread=1.0):
    counts = np.bincount(rng.integers(0, n_classes, size=n), minlength=n_classes)
    return spread * rng.normal(size=(n, n_classes)), counts[None, :]


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_class_counts_match_enumeration(method, n_classes):
    rng = np.random.default_rng(n_classes)
    for n, spread in ((1, 1.0), (3, 20.0), (6, 1.0), (6, 4.0)):
        logits, counts = draw(rng, n, n_classes, spread)
        log_prob, posterior = vectors_by_enumeration(logits, np.eye(n_classes, dtype=int), counts[0])
        result = class_posterior(logits, np.array([0, n]), counts, method=method)
        assert result.log_prob[0] == pytest.approx(log_prob, abs=1e-11)
        np.testing.assert_allclose(result.posterior, posterior, atol=1e-12)


@pytest.mark.parametrize("method", EXACT)
def test_any_binary_vectors_match_enumeration(method):
    rng = np.random.default_rng(0)
    outcomes = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    for n in (1, 3, 5):
        logits = 2.0 * rng.normal(size=(n, 4))
        target = outcomes[rng.integers(0, 4, size=n)].sum(axis=0)
        log_prob, posterior = vectors_by_enumeration(logits, outcomes, target)
        result = vector_posterior(logits, np.array([0, n]), outcomes, target[None, :], method=method)
        assert result.log_prob[0] == pytest.approx(log_prob, abs=1e-11)
        np.testing.assert_allclose(result.posterior, posterior, atol=1e-12)


def test_two_classes_are_the_binary_kernel():
    rng = np.random.default_rng(4)
    logits, counts = draw(rng, 50, 2)
    offsets = np.array([0, 50])
    binary = count_posterior(logits[:, 1] - logits[:, 0], offsets, exact_counts(counts[:, 1]))
    result = class_posterior(logits, offsets, counts)
    assert result.log_prob[0] == pytest.approx(binary.log_prob[0], rel=1e-12)
    np.testing.assert_allclose(result.posterior[:, 1], binary.posterior, atol=1e-12)


@pytest.mark.parametrize(("n", "n_classes"), [(40, 3), (150, 3), (25, 5)])
def test_exact_ways_agree_and_saddlepoint_knows_its_error(n, n_classes):
    logits, counts = draw(np.random.default_rng(n), n, n_classes)
    offsets = np.array([0, n])
    results = {m: class_posterior(logits, offsets, counts, method=m) for m in VECTOR_METHODS if m != "tree"}
    if n_classes == 3:
        results["tree"] = class_posterior(logits, offsets, counts, method="tree")
    rough = results.pop("saddlepoint")
    exact = results.pop("direct")
    for other in results.values():
        np.testing.assert_allclose(other.posterior, exact.posterior, atol=1e-12)
        assert other.log_prob[0] == pytest.approx(exact.log_prob[0], rel=1e-12)
    assert 0 < np.abs(rough.posterior - exact.posterior).max() < rough.error[0] < 2.0 / n


def test_posterior_sums_to_counts_far_in_the_tail():
    rng = np.random.default_rng(6)
    logits = rng.normal(size=(120, 3)) + np.array([8.0, 0.0, 0.0])
    counts = np.array([[5, 60, 55]])
    result = class_posterior(logits, np.array([0, 120]), counts)
    np.testing.assert_allclose(result.posterior.sum(axis=0), counts[0], rtol=1e-9)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1.0, rtol=1e-12)


def test_gradient_of_log_prob_is_posterior_minus_prior():
    logits, counts = draw(np.random.default_rng(9), 8, 3)
    offsets = np.array([0, 8])
    prior = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    for method in ("auto", "saddlepoint"):
        gradient = class_posterior(logits, offsets, counts, method=method).posterior - prior
        for i, c in ((0, 0), (3, 1), (7, 2)):
            step = np.zeros((8, 3))
            step[i, c] = 1e-5
            up, down = (class_posterior(logits + s, offsets, counts, method=method).log_prob[0] for s in (step, -step))
            assert (up - down) / 2e-5 == pytest.approx(gradient[i, c], abs=1e-7)


def test_ten_classes_in_a_large_bag_take_the_saddlepoint():
    logits, counts = draw(np.random.default_rng(10), 3000, 10)
    result = class_posterior(logits, np.array([0, 3000]), counts)
    assert 0 < result.error[0] < 1e-4
    np.testing.assert_allclose(result.posterior.sum(axis=0), counts[0], rtol=1e-4)


def test_batch_with_empty_and_one_class_bags():
    logits = np.random.default_rng(11).normal(size=(7, 3))
    counts = np.array([[0, 0, 0], [3, 0, 0], [1, 2, 1]])
    result = class_posterior(logits, np.array([0, 0, 3, 7]), counts)
    assert result.log_prob[0] == 0.0
    np.testing.assert_array_equal(result.posterior[:3], [[1, 0, 0]] * 3)
    np.testing.assert_allclose(result.posterior[3:].sum(axis=0), [1, 2, 1])


def test_unreachable_sum_is_refused():
    outcomes = np.array([[0, 0], [1, 1]])
    with raises(DataError, "bags-sum-no"):
        vector_posterior(np.zeros((3, 2)), np.array([0, 3]), outcomes, np.array([[1, 2]]))


def test_unknown_method_and_infinite_potential_are_refused():
    with raises(DataError, "unknown-method"):
        class_posterior(np.zeros((1, 2)), np.array([0, 1]), np.array([[1, 0]]), method="magic")
    with raises(DataError, "log-potentials-arent"):
        class_posterior(np.full((1, 2), np.nan), np.array([0, 1]), np.array([[1, 0]]))


@pytest.mark.parametrize("shift", [1e2, 2e5, -3e6])
def test_logits_far_from_zero_are_no_impossible_counts(shift):
    rng = np.random.default_rng(7)
    logits = rng.normal(size=(5, 3))
    counts, offsets = np.array([[1.0, 3.0, 1.0]]), np.array([0, 5])
    near = class_posterior(logits, offsets, counts)
    far = class_posterior(logits + np.array([shift, 0, 0]), offsets, counts, start=np.array([[27.0, np.nan, 14.0]]))
    np.testing.assert_allclose(far.posterior, near.posterior, atol=1e-6)  # counts fix what all members share
    assert np.isfinite(far.log_prob).all()
