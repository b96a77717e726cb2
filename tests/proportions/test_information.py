"""What counts tell about coefficients: against enumeration, and pieces of it on their own."""

import numpy as np
import pytest

from brute_cardinality import count_by_enumeration, vectors_by_enumeration
from drawn_bags import people
from sumwise import Bags
from sumwise.proportions import CardinalityClassifier, covariance
from sumwise.proportions.information import (
    FisherInformation,
    _autocorrelation_time,
    _following,
    _residuals,
    joined,
    spread,
)
from sumwise.proportions.uncertainty import _problems


def second_derivatives(function, theta, step=1e-4):
    n = theta.size
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = theta.copy()
                moved[i] += a * step
                moved[j] += b * step
                total += a * b * function(moved)
            out[i, j] = total / (4 * step**2)
    return out


def test_observed_information_is_that_of_enumeration():
    bags, counts = people(12, 4)
    clf = CardinalityClassifier(penalty=1.0, tol=1e-8).fit(bags, counts)

    def objective(theta):
        total = -0.5 * (theta[:-1] ** 2).sum()
        for x, z in zip(bags, counts[:, 1]):
            exact = lambda s, z=z: 0.0 if s == z else -np.inf  # noqa: E731
            total += float(count_by_enumeration(x @ theta[:-1] + theta[-1], exact)[0])
        return total

    hessian = -second_derivatives(objective, clf.theta_.ravel())
    part = FisherInformation(*_problems(clf, bags, counts)[0], "observed")
    np.testing.assert_allclose(part.out(part.out(part.inverse).T), np.linalg.inv(hessian), rtol=2e-4, atol=1e-6)
    # the covariance is H^-1 (H - P + P T P) H^-1 with the plausible covariance T of coefficients
    pulled = part.lower @ part.pull @ part.pull.T @ part.lower.T
    noise = hessian - np.diag([1.0, 1.0, 0.0])
    expected = np.linalg.inv(hessian) @ (noise + pulled) @ np.linalg.inv(hessian)
    np.testing.assert_allclose(covariance(clf, bags, counts).matrix, expected, rtol=1e-3, atol=1e-5)
    assert pulled[0, 0] > 0
    assert abs(pulled[2]).max() < 1e-9


def test_observed_information_of_class_counts_is_that_of_enumeration():
    bags, counts = people(8, 3, n_classes=3)
    clf = CardinalityClassifier(penalty=2.0, multiclass="exact", tol=1e-8).fit(bags, counts)

    def objective(theta):
        table = theta.reshape(3, 3)
        total = -(table[:, :-1] ** 2).sum()
        for x, z in zip(bags, counts):
            total += float(vectors_by_enumeration(x @ table[:, :-1].T + table[:, -1], np.eye(3, dtype=int), z)[0])
        return total

    hessian = -second_derivatives(objective, clf.theta_.ravel(), 1e-3)
    part = FisherInformation(*_problems(clf, bags, counts)[0], "observed")
    inverse = part.out(part.out(part.inverse).T)
    sure = covariance(clf, bags, counts)
    contrast = np.kron([1.0, -1.0, 0.0], [1.0, 0.0, 0.0])  # of two classes' first coefficients: softmax sees it
    expected = contrast @ np.linalg.pinv(hessian, rcond=1e-6) @ contrast
    assert contrast @ inverse @ contrast == pytest.approx(expected, rel=1e-3)
    shared = np.kron([1.0, 1.0, 1.0], [0.0, 0.0, 1.0])  # all intercepts: it doesn't
    assert shared @ sure.matrix @ shared < 1e-8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_counts_that_the_model_drew_have_squares_of_mean_one(n_classes):
    bags, counts = people(400, 10, n_classes)
    clf = CardinalityClassifier(penalty=1.0, multiclass="exact", tol=1e-2).fit(bags, counts)
    alone, squares, spreads = _residuals(*_problems(clf, bags, counts)[0])
    assert squares.shape == (400,)
    assert squares.mean() == pytest.approx(1.0, abs=0.2)
    assert squares.var() == pytest.approx(spreads.mean(), rel=0.4)  # of 400, error .2
    np.testing.assert_allclose((alone**2).mean(axis=0), 1.0, atol=0.25)
    assert _following(alone) == 0.0


def test_residuals_that_follow_each_other_alike_are_noticed():
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.normal(size=(20, 1)), 5, axis=0) + 0.5 * rng.normal(size=(100, 1))
    assert 0.5 < _following(shared) < 0.8
    assert _following(rng.permutation(shared)) == 0.0


def test_effects_on_classes_are_pulled_against_each_other():
    bags, counts = people(60, 10, 3)
    clf = CardinalityClassifier(penalty=30.0, multiclass="ovr", tol=1e-3).fit(bags, counts)
    parts = [FisherInformation(p, t, "observed") for p, t in _problems(clf, bags, counts)]
    whole = joined(parts)
    for p in parts:
        p.pull = 0.0 * p.pull
    pulled = (whole - joined(parts)).reshape(3, 3, 3, 3)
    assert (np.linalg.eigvalsh(pulled.reshape(9, 9)) > -1e-3).all()
    for j in range(2):
        own = pulled[:, j, :, j]
        off = own / np.sqrt(np.outer(np.diag(own), np.diag(own)))
        np.testing.assert_allclose(off[~np.eye(3, dtype=bool)], -0.5, atol=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_region_is_taken_as_if_it_had_not_been_fitted(n_classes):
    bags, counts = people(40, 5, n_classes)
    clf = CardinalityClassifier(penalty=1.0, multiclass="exact", tol=1e-3).fit(bags, counts)
    groups = np.arange(40) % 8
    part = FisherInformation(*_problems(clf, bags, counts)[0], "expected", groups)
    rows = part._rows()
    told = [rows[groups == g].reshape(-1, part.size) for g in range(8)]
    whole = sum(r.T @ r for r in told)
    np.testing.assert_allclose(part.prior() + whole, part.prior() + part.known, atol=1e-6)
    plain = np.random.default_rng(0).normal(size=part.size)
    for r in told:
        by_hand = np.linalg.solve(np.eye(part.size) - r.T @ r @ part.inverse, plain)
        np.testing.assert_allclose(part._alone(plain, r), by_hand, rtol=1e-6)


def test_spread_of_gradients_is_their_covariance_times_their_number():
    scores = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(spread(scores), 9 * np.cov(scores, rowvar=False))


def test_runs_of_bags_that_err_alike_are_worth_fewer():
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.normal(size=400), 5)  # five bags in a row, correlation 1/2
    residuals = (np.sqrt(0.5) * (shared + rng.normal(size=2000)))[:, None]
    assert _autocorrelation_time(residuals) == pytest.approx(1 + 4 * 0.5, rel=0.15)
    assert _autocorrelation_time(rng.normal(size=(2000, 1))) == pytest.approx(1.0, abs=0.1)


def test_variance_of_squared_residuals_is_that_of_enumeration():
    bags, counts = people(6, 5)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    spreads = _residuals(*_problems(clf, bags, counts)[0])[2]
    for x, found in zip(bags, spreads):
        chance = clf.predict_proba(x)[:, 1]
        law = np.array([1.0])
        for p in chance:
            law = np.convolve(law, [1 - p, p])
        off = np.arange(len(law)) - chance.sum()
        assert found == pytest.approx((law @ off**4) / (law @ off**2) ** 2 - 1)


def test_effects_of_bags_are_noticed_and_none_where_there_are_none():
    noticed = {}
    for own in (0.0, 1.0):
        for seed in range(6):
            bags, counts = people(60, 15, own=own, seed=seed)
            clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
            part = FisherInformation(*_problems(clf, bags, counts)[0], "expected")
            noticed[own, seed] = part.dispersion > 1.0
    assert [noticed[1.0, seed] for seed in range(6)] == [True] * 6
    assert sum(noticed[0.0, seed] for seed in range(6)) <= 1


def test_nearly_certain_bags_do_not_hide_effects_of_the_others():
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(30, 2)) + rng.normal(size=2) for _ in range(80)]
    chances = [1 / (1 + np.exp(-(x @ [1.0, -0.5] + 0.8 * rng.normal()))) for x in rows]
    counts = [int((rng.random(30) < p).sum()) for p in chances]
    bags, counts = Bags.from_arrays([*rows, *[np.array([[9.0, -4.0]])] * 3]), np.array([*counts, 1, 1, 1])
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    part = FisherInformation(*_problems(clf, bags, counts)[0], "expected")
    assert part.residuals[2][-1] > 1e3 * part.residuals[2][0]  # those counts are 1 but for one time in thousands
    assert part.dispersion > 2.0
