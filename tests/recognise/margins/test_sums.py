"""Columns that add up."""

import numpy as np

from sumwise.recognise.margins import sums
from sumwise.recognise.profile_file import Column


def make(**values):
    return [Column(name, np.asarray(v, dtype=float), None, len(set(v)), 0) for name, v in values.items()]


RNG = np.random.default_rng(0)
A, B, C, D = RNG.integers(1, 90, (4, 30))
ALL = np.ones(30, dtype=bool)


def names(runs):
    return [[c.name for c in run] for run in runs]


def test_runs_with_equal_sums_are_found_with_their_total():
    columns = make(n=A + B + C, a=A, b=B, c=C, yes=A + 1, no=B + C - 1)
    (family, *_) = sums.families(columns, ALL)
    assert family.total.name == "n"
    assert names(family.runs) == [["a", "b", "c"], ["yes", "no"]]


def test_one_wrong_row_does_not_hide_them():
    yes = A + 1
    yes[4] += 7
    (family, *_) = sums.families(make(a=A, b=B, yes=yes, no=B - 1), ALL)
    assert names(family.runs) == [["a", "b"], ["yes", "no"]]


def test_a_small_party_that_few_rows_have_belongs_to_the_run():
    small = np.where(np.arange(30) < 4, 3, 0)
    (family, *_) = sums.families(make(n=A + B, yes=A - small, no=B, small=small), ALL)
    assert names(family.runs) == [["yes", "no", "small"]]


def test_shares_sum_to_the_whole_but_for_rounding():
    share = (A / (A + B)).round(2)
    columns = make(x=share, y=(1 - share).round(2) - np.where(np.arange(30) % 2, 0.01, 0), z=share / 3)
    assert names(sums.whole_runs(columns, ALL, 1.0)) == [["x", "y"]]
    assert names(sums.whole_runs(make(x=100 * share, y=100 - 100 * share), ALL, 100.0)) == [["x", "y"]]


def test_the_row_that_is_the_sum_of_all_others_is_found():
    columns = make(a=[1, 2, 3, 6], b=[4, 5, 6, 15])
    assert sums.sums_of_others(columns, np.ones(4, dtype=bool)) == [3]
    assert sums.sums_of_others(make(a=[1, 2, 3, 6], b=[4, 5, 6, 16]), np.ones(4, dtype=bool)) == []


def test_known_cells_are_parts_of_groups():
    white = Column("white", (A + B).astype(float), None, 30, 0)
    found = sums.parts_of(make(whdem=A, whrep=B, other=C), [white], ALL)
    assert [([c.name for c in run], whole.name) for run, whole in found] == [(["whdem", "whrep"], "white")]
