from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

from sumwise import synthetic
from sumwise.synthetic.record import Record


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Record):
    array: np.ndarray
    lookup: dict
    names: tuple
    sparse: object
    nothing: dict


def sample():
    lookup = {("a", "b"): np.zeros((2, 3)), "c": 1}
    return Sample(np.zeros(4), lookup, tuple("abcdef"), csr_array(np.eye(3)), {})


def test_arrays_cannot_be_written():
    record = sample()
    with pytest.raises(ValueError, match="read-only"):
        record.array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        record.lookup["a", "b"][0, 0] = 1
    with pytest.raises(FrozenInstanceError):
        record.array = np.ones(4)


def test_repr_has_one_line_per_field_and_no_data():
    lines = repr(sample()).splitlines()
    assert lines[0] == "Sample"
    assert len(lines) == 6
    assert lines[1].split() == ["array", "array", "(4,)", "float64"]
    assert "dict of 2; ('a', 'b'): array (2, 3)" in lines[2]
    assert "tuple of 6; first 'a'" in lines[3]
    assert "sparse (3, 3) with 3 entries" in lines[4]
    assert "empty dict" in lines[5]


GENERATORS = {
    "precincts": lambda: synthetic.precincts(3, random_state=0),
    "election": lambda: synthetic.election(3, 4, n_test=2, random_state=0),
    "birds": lambda: synthetic.birds(2, 3, random_state=0),
    "birds within reach": lambda: synthetic.birds(4, 3, reach=1, random_state=0),
    "mobility": lambda: synthetic.mobility((2, 2), 3, 100, random_state=0),
    "gamma": lambda: synthetic.gamma(2, 3, random_state=0),
    "gaussian": lambda: synthetic.gaussian(1, 1, random_state=0),
    "statistics": lambda: synthetic.statistics("random", 2, 3, random_state=0),
    "rows": lambda: synthetic.rows(10, sizes=[2, 3, 4], random_state=0),
    "xor": lambda: synthetic.xor(10, random_state=0),
}


def test_every_generator_returns_a_readable_record():
    for make in GENERATORS.values():
        record = make()
        assert isinstance(record, Record)
        assert all(len(line) < 250 for line in repr(record).splitlines())
