"""Candidates of choice, cohesion, crossover and polarisation."""

import numpy as np

import sumwise
from messages import raises
from sumwise import Margins
from sumwise.ecological import Bounds, EcologicalEM
from sumwise.errors import DataError
from sumwise.voting import polarised_voting, voting_patterns


def polarised(n=60, shares=((0.85, 0.1, 0.05), (0.15, 0.25, 0.6)), seed=0):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.dirichlet([0.7, 0.7], n) * 500) + 1
    cells = np.array([[rng.multinomial(int(x), p) for x, p in zip(row, shares)] for row in rows], float)
    names = {"row_names": ["black", "white"], "col_names": ["A", "B", "C"]}
    return Margins(cells.sum(axis=2), cells.sum(axis=1), **names), cells.sum(axis=0)


def test_findings_of_polarised_voting():
    m, total = polarised()
    est = EcologicalEM().fit(m)
    found = voting_patterns(est)
    assert found.choice["candidate"].tolist() == ["A", "C"]
    assert (found.choice["probability"] > 0.95).all()
    truth = total / total.sum(axis=1, keepdims=True)
    assert found.cohesion.covers([truth[0, 0], truth[1, 2]]).all()
    assert found.crossover.covers([truth[1, 0], truth[0, 2]]).all()
    assert found.polarisation.covers(np.stack([truth[0] - truth[1], truth[1] - truth[0]])).all()
    np.testing.assert_allclose(
        found.polarisation.values, [est.shares_[0] - est.shares_[1], est.shares_[1] - est.shares_[0]]
    )
    text = found.to_text()
    assert "candidate of choice of black people is A" in text
    assert "Voting is polarised: the probability that the group prefers this" in text


def test_agreement_and_doubt_are_said():
    agree, _ = polarised(shares=((0.8, 0.1, 0.1), (0.78, 0.12, 0.1)))
    assert "not polarised" in voting_patterns(EcologicalEM().fit(agree)).to_text()
    close, _ = polarised(shares=((0.5, 0.4, 0.1), (0.35, 0.37, 0.28)))
    est = EcologicalEM().fit(close)
    assert "undetermined" in voting_patterns(est).to_text()
    for fit in (est, EcologicalEM().fit(agree)):  # findings and table follow one definition
        table = polarised_voting({0: fit})
        words = {"yes": "is polarised:", "no": "not polarised", "undetermined": "undetermined"}
        for line, verdict in zip(voting_patterns(fit).to_text().splitlines(), table["polarised"]):
            assert words[verdict] in line


def test_same_seed_same_findings_and_others_weigh_by_size():
    m, _ = polarised()
    est = EcologicalEM().fit(m)
    first, second = voting_patterns(est, random_state=1), voting_patterns(est, random_state=1)
    assert first.polarisation == second.polarisation
    np.testing.assert_allclose(first.crossover.values, [est.shares_[1, 0], est.shares_[0, 2]])


def test_bounds_have_no_probabilities():
    with raises(DataError, "no-probability-model"):
        voting_patterns(Bounds().fit(polarised()[0]))


def test_one_outcome_is_refused():
    rows = polarised()[0].rows
    est = EcologicalEM().fit(Margins(rows, rows.sum(axis=1, keepdims=True)))
    with raises(DataError, "voting-patterns-need", 2, "col0"):
        voting_patterns(est)


def test_voting_patterns_are_saved_and_come_back(tmp_path):
    found = voting_patterns(EcologicalEM().fit(polarised()[0]), n_draws=50)
    sumwise.save(found, tmp_path / "patterns.sumwise")
    back = sumwise.load(tmp_path / "patterns.sumwise")
    assert back.to_text() == found.to_text()
    assert np.array_equal(back.cohesion.values, found.cohesion.values)


def test_a_close_contest_is_not_polarised_because_its_totals_are_close():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(100, 900, 60), rng.integers(100, 900, 60)])
    votes = rng.binomial(rows.sum(axis=1), 0.5)
    votes[0] += rows.sum() // 2 - votes.sum()  # everybody tosses a coin, and the contest is a tie
    margins = Margins(rows, np.column_stack([votes, rows.sum(axis=1) - votes]))
    choice = voting_patterns(EcologicalEM().fit(margins)).choice
    assert (choice["probability"] < 0.95).all()
    assert choice["polarised"].tolist() == ["undetermined", "undetermined"]
