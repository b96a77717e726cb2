"""Potentials: what is read and how (what is refused is tested with the models)."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Domain
from sumwise.collective.potentials import as_device, read_potentials

DOMAIN = Domain({"a": 2, "b": 3})


def test_keys_become_tuples_and_values_floats():
    read = read_potentials({"a": [1, 2], ("b", "a"): np.zeros((3, 2), dtype=int)}, DOMAIN)
    assert list(read) == [("a",), ("b", "a")]
    assert read["b", "a"].dtype == float
    assert read_potentials(None, DOMAIN) == {}


def test_tensors_are_read_and_made():
    torch = pytest.importorskip("torch")
    read = read_potentials({"a": torch.tensor([1.0, 2.0])}, DOMAIN)
    np.testing.assert_array_equal(read[("a",)], [1.0, 2.0])
    assert isinstance(as_device(np.ones(2), "cpu"), torch.Tensor)
    assert isinstance(as_device(np.ones(2), None), np.ndarray)


def test_plus_infinity_is_refused():
    with raises(DataError, "log-potential-over-nan", "(1,)"):
        read_potentials({"a": [0.0, np.inf]}, DOMAIN)
