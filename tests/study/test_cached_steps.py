"""Steps that are done once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.study.cached_steps import CachedSteps


def test_a_step_is_kept_with_what_it_warned_of(tmp_path):
    def compute():
        warnings.warn("shaky", UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return {"x": np.arange(3.0)}

    first = CachedSteps(tmp_path, "k")
    first.step("Fit A", compute)
    told = []
    again = CachedSteps(tmp_path, "k", told.append)
    assert again.step("Fit A", lambda: 1 / 0)["x"].tolist() == [0, 1, 2]
    assert first.warnings == again.warnings == ["Fit A: shaky"]
    assert again.kept == ["Fit A"]
    assert told == ["Fit A: done before"]


def test_steps_of_another_problem_are_refused(tmp_path):
    CachedSteps(tmp_path, "k").step("a", lambda: 1)
    with pytest.raises(DataError, match="other data or parameters"):
        CachedSteps(tmp_path, "other").step("a", lambda: 1)


def test_an_error_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError):
        CachedSteps(tmp_path, "k").step("a", lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []
    assert CachedSteps().step("a", lambda: 2) == 2
