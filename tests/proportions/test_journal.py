"""Journal: what was evaluated is given back in order; another way, key or file is noticed."""

import numpy as np
import pytest

from sumwise import DataError
from sumwise.proportions.journal import Journal


def doubled(calls):
    def evaluate(theta):
        calls.append(theta.copy())
        return [2 * theta, theta.sum()]

    return evaluate


def test_a_second_run_asks_for_what_is_new_only(tmp_path):
    path, calls = tmp_path / "a.checkpoint", []
    points = [np.arange(3.0), np.arange(3.0) + 0.1, np.arange(3.0) + 0.2]
    first = Journal(path, "k", 4, seconds=0.0)
    kept = [first.evaluated("value", p, doubled(calls)) for p in points[:2]]
    again = Journal(path, "k", 9)
    assert again.n_parts == 4
    found = [again.evaluated("value", p, doubled(calls)) for p in points]
    assert len(calls) == 3
    for a, b in zip(kept, found):
        np.testing.assert_array_equal(a[0], b[0])


def test_another_way_is_evaluated_anew(tmp_path):
    path, calls = tmp_path / "a.checkpoint", []
    first = Journal(path, "k", 1, seconds=0.0)
    for p in (np.zeros(2), np.ones(2)):
        first.evaluated("value", p, doubled(calls))
    again = Journal(path, "k", 1)
    again.evaluated("value", np.full(2, 7.0), doubled(calls))
    again.evaluated("value", np.ones(2), doubled(calls))
    assert len(calls) == 4
    with pytest.raises(DataError, match="other data or parameters"):
        Journal(path, "other", 1)


def test_nothing_is_kept_without_a_file():
    journal = Journal(None, None, 2)
    assert journal.evaluated("value", np.ones(2), doubled([]))[1] == 2
    assert journal.asked == []
    journal.save()
