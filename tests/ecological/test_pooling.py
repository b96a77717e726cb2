"""Pooling: contests borrow from each other as far as they are alike, and not at all where they aren't."""

import numpy as np
import pytest

import sumwise
from messages import raises
from sumwise import Contests, Margins
from sumwise.ecological import EcologicalEM, error_index, pooling
from sumwise.ecological.alignment import match_outcomes
from sumwise.errors import DataError, UnknownName
from sumwise.voting import voting_patterns


def contest(rng, shares, n_units=40):
    sizes = rng.integers(300, 900, n_units)
    rows = np.array([rng.multinomial(n, rng.dirichlet(3 * np.ones(len(shares)))) for n in sizes])
    cells = np.array([[rng.multinomial(x, rng.dirichlet(60 * p + 0.05)) for x, p in zip(row, shares)] for row in rows])
    return Margins(rows, cells.sum(axis=1)), cells.sum(axis=0)


def errors(kind, seed=0, n_contests=8):
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.ones(3), 3)
    made = {k: contest(rng, common if kind == "same" else rng.dirichlet(np.ones(3), 3)) for k in range(n_contests)}
    est = EcologicalEM().fit(Contests({k: m for k, (m, _) in made.items()}))
    sizes = {k: m.rows.sum(axis=0)[:, None] for k, (m, _) in made.items()}
    alone = np.mean([error_index(est[k].alone_ * sizes[k], total) for k, (_, total) in made.items()])
    pooled = np.mean([error_index(est[k].total_, total) for k, (_, total) in made.items()])
    return est, made, alone, pooled


@pytest.mark.check
def test_contests_with_the_same_shares_borrow_and_gain():
    est, made, alone, pooled = errors("same")
    assert est[0].pooling_ == "pooled"
    assert est[0].pooling_strength_ > 0.3
    assert pooled < 0.92 * alone
    for key, (margins, _) in made.items():
        np.testing.assert_allclose(est[key].total_.sum(axis=0), margins.cols.sum(axis=0), rtol=1e-6)
        low, high = est[key].interval(0.95)
        assert ((low <= est[key].shares_) & (est[key].shares_ <= high)).all()
    assert len(voting_patterns(est[0]).choice) == 3


@pytest.mark.check
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_unrelated_contests_are_never_worse_than_alone(seed):
    est, _, alone, pooled = errors("unrelated", seed)
    assert est[0].pooling_ == "alone"
    assert est[0].pooling_strength_ == 0.0
    assert pooled <= alone + 1e-9


def test_a_single_contest_is_fitted_as_margins_are():
    margins, _ = contest(np.random.default_rng(3), np.array([[0.7, 0.3], [0.2, 0.8]]))
    pooled = EcologicalEM().fit(Contests({"only": margins}))["only"]
    alone = EcologicalEM().fit(margins)
    np.testing.assert_allclose(pooled.shares_, alone.shares_)
    np.testing.assert_allclose(pooled.interval(0.9), alone.interval(0.9))


def test_elections_are_pooled_apart():
    rng = np.random.default_rng(4)
    tables = rng.dirichlet(np.ones(3), (2, 3))
    made = {(e, k): contest(rng, tables[e])[0] for e in range(2) for k in range(5)}
    est = EcologicalEM().fit(Contests(made, elections={key: key[0] for key in made}))
    one = EcologicalEM().fit(Contests({key: m for key, m in made.items() if key[0] == 0}))
    np.testing.assert_allclose(est[0, 1].shares_, one[0, 1].shares_)


def test_the_correction_is_off_for_racial_voting_and_on_when_asked():
    rng = np.random.default_rng(5)
    made = {k: contest(rng, np.array([[0.85, 0.15], [0.3, 0.7]]), 20)[0] for k in range(12)}
    est = EcologicalEM().fit(Contests(made))
    assert est[0].pooling_ != "pooled and corrected"
    assert est[0].correction_distance_ > 1
    forced = EcologicalEM(correction=True).fit(Contests(made))
    assert forced[0].pooling_ == "pooled and corrected"


def test_a_fit_of_contests_is_saved_and_asked_by_id(tmp_path):
    est, *_ = errors("same", n_contests=3)
    sumwise.save(est, tmp_path / "est.sumwise")
    again = sumwise.load(tmp_path / "est.sumwise")
    np.testing.assert_array_equal(again[1].shares_, est[1].shares_)
    with raises(UnknownName, "no-contest-first", "x"):
        est["x"]
    with raises(DataError, "fit-contests-ask", 3):
        est.interval(0.95)
    with raises(DataError, "correction-auto-true", "maybe"):
        EcologicalEM(correction="maybe").fit(Contests({0: contest(np.random.default_rng(0), np.eye(2))[0]}))


@pytest.mark.parametrize("corrected", [False, True])
def test_uncertain_groups_widen_intervals_of_pooled_contests(monkeypatch, corrected):
    """With the correction errors may be below those without (it removes a bias), but never below the pooling's own."""
    rng = np.random.default_rng(0)
    common = rng.dirichlet(np.ones(3), 3)
    made = {k: contest(rng, common)[0] for k in range(4)}
    made[0] = Margins(made[0].rows, made[0].cols, row_sd=np.full(made[0].rows.shape, 20.0))
    method = EcologicalEM(row_error="classical" if corrected else "uncorrected")
    noisy = method.fit(Contests(made))[0]
    assert noisy.pooling_ == "pooled"
    monkeypatch.setattr(EcologicalEM, "_measurement_error", lambda *_: (None, None))
    without = method.fit(Contests(made))[0]
    np.testing.assert_array_equal(noisy.shares_, without.shares_)
    assert (noisy.standard_errors_ > without.standard_errors_).all()


def test_strength_is_the_largest_weight_within_one_standard_error_of_the_best(monkeypatch):
    contests = Contests({k: sumwise.synthetic.precincts(20, 2, 2, random_state=k).margins for k in range(6)})
    fits = {k: EcologicalEM().fit(contests[k]) for k in contests}
    matched = match_outcomes(contests, list(contests), {k: est.total_ for k, est in fits.items()})
    facts = pooling.contest_facts(contests, list(contests), fits, matched)
    curve, noise = np.array([0.0, 4.0, 6.0, 7.0, 6.8, 5.0, 1.0]), np.random.default_rng(0)

    def strength(spread):
        parts = iter(noise.permutation(np.repeat([-spread, spread], 6)))
        monkeypatch.setattr(pooling, "_held_out", lambda *_: curve + np.append(0.0, np.full(6, next(parts))))
        return pooling.pooling_strength(contests, list(contests), fits, facts)

    def weight(spread):
        found = strength(spread)
        return round(2 * found / (1 + found), 6)

    assert weight(0.01) == 0.35  # the best by far
    assert weight(1.0) == 0.5  # 6.8 is within 0.3 of 7
    assert weight(7.0) == 0.7  # and 5 within 2.1
    assert weight(50.0) == 0.0
