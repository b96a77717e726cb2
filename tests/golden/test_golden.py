"""Small inputs give what they gave before, in every family and from files, but for what an issue declares wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden import make
from golden.cases import CASES, answer

TOLERANCE = 2e-3  # of the largest number of an answer: solvers stop within 1e-4 to 1e-3, and a defect shows above that


@pytest.mark.parametrize("key", CASES)
def test_answer_is_the_golden_one(key):
    golden, computed = json.loads(make.file_of(key).read_text("utf-8")), answer(key)
    assert computed.keys() == golden.keys()
    for name, expected in golden.items():
        if isinstance(expected, dict | str | bool):
            assert computed[name] == expected, name
            continue
        wanted, value = (np.asarray(v, dtype=float) for v in (expected, computed[name]))
        assert value.shape == wanted.shape, name
        largest = np.nanmax(np.abs(wanted), initial=1e-12)
        np.testing.assert_allclose(value, wanted, rtol=0, atol=TOLERANCE * largest, err_msg=name)


def test_no_answer_changes_or_goes_without_its_line():
    explained = make.changes()
    silent = [key for key, was in make.first().items() if key not in CASES or make.digest(key) != was]
    assert [key for key in silent if key not in explained] == []
    assert [key for key in explained if key not in make.first()] == [], "a line for an answer that never was"


def test_make_refuses_a_key_without_its_line():
    key = next(key for key in make.first() if key not in make.changes())
    with pytest.raises(SystemExit, match="changes.toml"):
        make.main([key])
