"""Every way to a bag's count, against enumeration, against high precision, and against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_cardinality import count_by_enumeration, count_in_high_precision
from messages import raises
from sumwise.errors import DataError
from sumwise.proportions.kernels.poisson_binomial import METHODS, NOISES, count_posterior, exact_counts, noisy_counts
from sumwise.proportions.kernels.poisson_binomial_tilt import log_potential

EXACT = [m for m in METHODS if m != "saddlepoint"]


def one_bag(logits, observations, **options):
    return count_posterior(logits, np.array([0, len(logits)]), observations, **options)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (2, 30.0), (5, 0.0), (9, 3.0)])
def test_every_count_matches_enumeration(method, n, scale):
    logits = scale * np.random.default_rng(n).normal(size=n)
    for z in range(n + 1):
        log_prob, posterior = count_by_enumeration(logits, lambda s, z=z: 0.0 if s == z else -np.inf)
        result = one_bag(logits, exact_counts([z]), method=method)
        assert result.log_prob[0] == pytest.approx(log_prob, abs=1e-12, rel=1e-13)
        np.testing.assert_allclose(result.posterior, posterior, atol=1e-13)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("kind", [*NOISES, "range"])
def test_soft_counts_match_enumeration(method, kind):
    rng = np.random.default_rng(3)
    for n in (1, 4, 8):
        for scale in (0.4, 3.0):
            logits = rng.normal(size=n) * rng.choice([0.5, 5.0])
            if kind == "range":
                low = int(rng.integers(0, n + 1))
                high = int(rng.integers(low, n + 1))
                observations = exact_counts([low], [high])
                log_prob, posterior = count_by_enumeration(
                    logits, lambda s, a=low, b=high: 0.0 if a <= s <= b else -np.inf
                )
            else:
                seen = float(rng.integers(0, n + 4))
                observations = noisy_counts(kind, [seen], scale, [n])
                log_prob, posterior = count_by_enumeration(
                    logits, lambda s, y=seen, c=scale: log_potential(NOISES[kind], y, c, float(s))
                )
            result = one_bag(logits, observations, method=method)
            assert result.log_prob[0] == pytest.approx(log_prob, abs=1e-11)
            np.testing.assert_allclose(result.posterior, posterior, atol=1e-12)


@pytest.mark.parametrize("method", EXACT)
def test_far_tail_matches_high_precision(method):
    logits = np.random.default_rng(0).normal(size=300) * 2.0
    for z in (1, 20, 290):
        log_prob, posterior = count_in_high_precision(logits, z)
        result = one_bag(logits, exact_counts([z]), method=method)
        assert result.log_prob[0] == pytest.approx(log_prob, rel=1e-13)
        np.testing.assert_allclose(result.posterior, posterior, atol=1e-13)


def test_forty_deviations_off_the_methods_agree():
    logits = np.random.default_rng(1).normal(size=2000)
    p = 1 / (1 + np.exp(-logits))
    z = int(p.sum() + 40 * np.sqrt((p * (1 - p)).sum()))
    assert z < 2000
    results = [one_bag(logits, exact_counts([z]), method=m) for m in EXACT]
    for other in results[1:]:
        np.testing.assert_allclose(other.posterior, results[0].posterior, atol=1e-13)
        assert other.log_prob[0] == pytest.approx(results[0].log_prob[0], rel=1e-13)


def test_huge_bag_fourier_matches_tree():
    logits = np.random.default_rng(2).normal(size=60_000) - 1.0
    by_sum = one_bag(logits, exact_counts([15_000]))
    by_tree = one_bag(logits, exact_counts([15_000]), method="tree")
    np.testing.assert_allclose(by_sum.posterior, by_tree.posterior, atol=1e-12)
    assert by_sum.posterior.sum() == pytest.approx(15_000, rel=1e-12)


def test_bag_of_a_million():
    logits = np.random.default_rng(4).normal(size=1_000_000) - 2.0
    result = one_bag(logits, exact_counts([300_000]))
    assert result.posterior.sum() == pytest.approx(300_000, rel=1e-12)
    rough = one_bag(logits, exact_counts([300_000]), method="saddlepoint")
    np.testing.assert_allclose(result.posterior, rough.posterior, atol=1e-12)
    assert result.log_prob[0] == pytest.approx(rough.log_prob[0], rel=1e-12)


@pytest.mark.parametrize("n", [12, 60, 400])
def test_saddlepoint_error_estimate_covers_its_error(n):
    rng = np.random.default_rng(n)
    for _ in range(10):
        logits = rng.normal(size=n)
        observations = exact_counts([int(rng.integers(n // 4, 3 * n // 4))])
        rough, exact = one_bag(logits, observations, method="saddlepoint"), one_bag(logits, observations)
        off = np.abs(rough.posterior - exact.posterior).max()
        assert 0 < off < rough.error[0] < 0.6 / n
        assert rough.log_prob[0] == pytest.approx(exact.log_prob[0], abs=0.05 / n)


def test_multiplicity_two_is_two_rows():
    logits = np.random.default_rng(5).normal(size=40)
    twice = one_bag(np.repeat(logits, 2), exact_counts([30]), method="saddlepoint")
    once = one_bag(logits, exact_counts([30]), multiplicity=np.full(40, 2.0))
    assert once.log_prob[0] == pytest.approx(twice.log_prob[0], rel=1e-12)
    np.testing.assert_allclose(once.posterior, twice.posterior[::2], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-60, 60), min_size=1, max_size=40),
    st.floats(-40, 40),
    st.randoms(use_true_random=False),
)
def test_shift_of_all_logits_leaves_posterior_and_it_sums_to_the_count(logits, shift, random):
    z = random.randint(0, len(logits))
    observations = exact_counts([z])
    here, there = one_bag(np.array(logits), observations), one_bag(np.array(logits) + shift, observations)
    np.testing.assert_allclose(here.posterior, there.posterior, atol=1e-9)
    assert here.posterior.sum() == pytest.approx(z, abs=1e-9)


def test_gradient_of_log_prob_is_posterior_minus_prior():
    logits = np.random.default_rng(7).normal(size=12)
    for observations in (exact_counts([4]), exact_counts([2], [5]), noisy_counts("gaussian", [4.3], 1.5, [12])):
        gradient = one_bag(logits, observations).posterior - 1 / (1 + np.exp(-logits))
        for i in range(12):
            step = np.zeros(12)
            step[i] = 1e-5
            up, down = (
                one_bag(logits + step, observations).log_prob[0],
                one_bag(logits - step, observations).log_prob[0],
            )
            assert (up - down) / 2e-5 == pytest.approx(gradient[i], abs=1e-8)


def test_batch_equals_one_by_one_over_threads_and_start():
    rng = np.random.default_rng(8)
    sizes = rng.integers(0, 200, size=300)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    logits = rng.normal(size=offsets[-1])
    counts = rng.binomial(sizes, 0.3)
    together = count_posterior(logits, offsets, exact_counts(counts))
    again = count_posterior(logits, offsets, exact_counts(counts), start=together.tilt)
    np.testing.assert_allclose(again.posterior, together.posterior, atol=1e-12)
    for b in (0, 17, 299):
        rows = slice(offsets[b], offsets[b + 1])
        alone = one_bag(logits[rows], exact_counts(counts[b : b + 1]))
        np.testing.assert_allclose(alone.log_prob[0], together.log_prob[b], rtol=1e-13)  # few rows: another method
        np.testing.assert_allclose(alone.posterior, together.posterior[rows], rtol=1e-12)


@pytest.mark.parametrize(
    ("observations", "options", "words"),
    [
        (exact_counts([4]), {}, ("bags-impossible-count", 1, 0, 3)),
        (exact_counts([-1]), {}, ("bags-impossible-count",)),
        (exact_counts([2], [1]), {}, ("bags-impossible-count",)),
        (exact_counts([1]), {"method": "magic"}, ("unknown-method", "magic")),
        (exact_counts([1], [2]), {"method": "saddlepoint"}, ("saddlepoint-approximation-takes",)),
    ],
)
def test_impossible_input_is_refused(observations, options, words):
    with raises(DataError, *words):
        one_bag(np.zeros(3), observations, **options)


def test_infinite_logit_is_refused():
    with raises(DataError, "logits-arent-finite", 1, 2):
        one_bag(np.array([0.0, np.inf]), exact_counts([1]))


def test_direct_programme_refuses_what_memory_cannot_hold():
    with raises(DataError, "bag-members-too"):
        one_bag(np.zeros(60_000), exact_counts([30_000]), method="direct")


def test_the_quick_kernel_of_small_problems_agrees_with_the_others(monkeypatch):
    rng = np.random.default_rng(9)
    sizes = rng.integers(0, 300, size=40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    logits, counts = rng.normal(size=offsets[-1]), rng.binomial(sizes, 0.4)
    counts[:3] = [0, sizes[1], 1 if sizes[2] else 0]
    quick = count_posterior(logits, offsets, exact_counts(counts))
    monkeypatch.setattr("sumwise.proportions.kernels.poisson_binomial.SMALL", 0)
    for method in ("auto", "banded", "fourier", "direct"):
        other = count_posterior(logits, offsets, exact_counts(counts), method=method)
        np.testing.assert_allclose(quick.log_prob, other.log_prob, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(quick.posterior, other.posterior, atol=1e-10)
        np.testing.assert_array_equal(quick.tilt, other.tilt)
