"""Fusion lines add up to candidates; rounds of a ranked-choice count are contests of the same ballots."""

import numpy as np
import pandas as pd

from messages import raises
from sumwise import Margins
from sumwise.ecological import EcologicalEM
from sumwise.errors import DataError, UnknownName
from sumwise.nonvoting import no_candidates
from sumwise.voting import merge_lines, ranked_choice_rounds, turnout, voting_patterns

LINES = {"Lee": ["Lee (D)", "Lee (WF)"], "Roy": ["Roy (R)", "Roy (C)"]}
SHARES = np.array([[0.5, 0.25, 0.2, 0.05], [0.2, 0.05, 0.6, 0.15]])


def by_line(seed=0, n=60):
    """Units of two groups and four lines, and the true counts."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(50, 400, (n, 2))
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row, SHARES)] for row in rows])
    names = ["Lee (D)", "Lee (WF)", "Roy (R)", "Roy (C)"]
    units = [f"u{k}" for k in range(n)]
    return Margins(rows, cells.sum(axis=1), units=units, row_names=["a", "b"], col_names=names), cells.sum(axis=0)


def test_a_candidate_is_the_sum_of_its_lines():
    m, _ = by_line()
    both = merge_lines(m, LINES)
    assert both.col_names == ("Lee", "Roy")
    np.testing.assert_array_equal(both.cols, m.cols @ np.kron(np.eye(2), np.ones((2, 1))))
    assert both.units.tolist() == m.units.tolist()
    one = merge_lines(m, {"Lee": ["Lee (D)", "Lee (WF)"]})
    assert one.col_names == ("Lee", "Roy (R)", "Roy (C)")


def test_lines_kept_apart_agree_with_their_candidate():
    m, cells = by_line()
    est = EcologicalEM().fit(m)
    merged = merge_lines(est.draws(), LINES)
    np.testing.assert_allclose(merged.values[..., 0], est.draws().values[..., :2].sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(merged.values.sum(axis=2), 1.0, atol=1e-12)
    true = (cells / cells.sum(axis=1, keepdims=True))[:, :2].sum(axis=1)
    low, high = merged.interval(0.95)
    assert ((low[:, 0] <= true) & (true <= high[:, 0])).all()
    separate = EcologicalEM().fit(merge_lines(m, LINES))
    assert np.abs(separate.shares_ - merged.mean).max() < 0.05


def test_a_line_of_two_candidates_or_of_none_is_refused():
    m, _ = by_line()
    with raises(DataError, "line-belongs-line", "Lee", "Roy"):
        merge_lines(m, {"Lee": ["Lee (D)"], "Roy": ["Lee (D)"]})
    with raises(UnknownName, "no-did-you", "Lee (X)", "Lee"):
        merge_lines(m, {"Lee": ["Lee (X)"]})
    with raises(DataError, "candidate-outcome-own"):
        merge_lines(m, {"Roy (R)": ["Roy (C)"]})


def count(seed=1, n=80):
    """A count of three candidates: groups, first round, final round, and the truth of the final by group."""
    rng = np.random.default_rng(seed)
    people = rng.integers(80, 500, (n, 2))
    first = np.array([[0.5, 0.1, 0.2, 0.2], [0.15, 0.4, 0.2, 0.25]])  # Ann, Bob, Cy, not voting
    onward = np.array([[0.6, 0.1, 0.3], [0.2, 0.6, 0.2]])  # of Cy's: to Ann, to Bob, exhausted
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row, first)] for row in people])
    moved = np.array([[rng.multinomial(c, p) for c, p in zip(unit[:, 2], onward)] for unit in cells])
    last = cells[:, :, :2] + moved[:, :, :2]
    rounds = (pd.DataFrame(part.sum(axis=1), columns=list(FIRST[: part.shape[2]])) for part in (cells[..., :3], last))
    return pd.DataFrame(people, columns=["a", "b"]), *rounds, last.sum(axis=0), moved[:, :, 2].sum()


FIRST = ("Ann", "Bob", "Cy")


def test_rounds_are_contests_of_the_same_ballots():
    people, first, last, true, exhausted = count()
    rounds = ranked_choice_rounds(people, {"first": first, "final": last})
    assert rounds["first"].col_names == ("Ann", "Bob", "Cy", "NoVote")
    assert rounds["final"].col_names == ("Ann", "Bob", "exhausted", "NoVote")
    assert rounds["final"].cols[:, 2].sum() == exhausted
    np.testing.assert_array_equal(rounds["first"].cols[:, 3], rounds["final"].cols[:, 3])
    np.testing.assert_array_equal(rounds["first"].totals, rounds["final"].totals)
    fits = EcologicalEM().fit(rounds)
    assert fits["final"].pooling_ == "alone"  # the same ballots are no evidence for each other
    sizes = people.to_numpy().sum(axis=0)
    assert np.abs(fits["final"].shares_[:, :2] - true / sizes[:, None]).max() < 0.05


def test_exhausted_ballots_turned_out_and_are_no_candidate():
    people, first, last, *_ = count()
    final = EcologicalEM().fit(ranked_choice_rounds(people, {"first": first, "final": last})["final"])
    assert no_candidates(final.col_names_) == [False, False, True, True]
    patterns = voting_patterns(final)
    assert patterns.choice["candidate"].tolist() == ["Ann", "Bob"]
    assert turnout(final).abstention == ("NoVote",)
    np.testing.assert_allclose(turnout(final).turnout.values, [0.8, 0.75], atol=0.05)


def test_rounds_out_of_order_or_of_other_units_are_refused():
    people, first, last, *_ = count()
    with raises(DataError, "round-who-out", "Cy"):
        ranked_choice_rounds(people, {"final": last, "first": first})
    fewer = last.copy()
    fewer.loc[3, "Ann"] = first.loc[3, "Ann"] - 1
    with raises(DataError, "fewer-votes-round", "final", 1, 80):
        ranked_choice_rounds(people, {"first": first, "final": fewer})
    with raises(DataError, "units-first-unit-same"):
        ranked_choice_rounds(people, {"first": first, "final": last + 400})
    with raises(DataError, "units-first-unit-same"):
        ranked_choice_rounds(people - people + 1, {"first": first})
    with raises(DataError, "no-rounds-such"):
        ranked_choice_rounds(people, {})
