"""Random generators go on where they were."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved.json_tree import Decoder, Encoder
from sumwise.io.saved.randomness import BIT_GENERATORS


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_generator_goes_on_where_it_was(tmp_path, name):
    before = np.random.Generator(getattr(np.random, name)(5))
    before.normal(size=7)
    before.integers(10, dtype=np.int32)  # leaves half a word behind
    save(before, tmp_path / "x")
    after = load(tmp_path / "x")
    np.testing.assert_array_equal(after.random(1000), before.random(1000))
    np.testing.assert_array_equal(after.integers(9, size=9), before.integers(9, size=9))


def test_children_of_a_generator_are_the_same(tmp_path):
    before = np.random.default_rng(5)
    before.spawn(2)
    save(before, tmp_path / "x")
    after = load(tmp_path / "x")
    assert [g.random() for g in after.spawn(3)] == [g.random() for g in before.spawn(3)]


def test_generator_of_unknown_seed_goes_on(tmp_path):
    before = np.random.default_rng()
    save(before, tmp_path / "x")
    assert load(tmp_path / "x").random() == before.random()


def test_random_state_goes_on_where_it_was(tmp_path):
    before = np.random.RandomState(5)
    before.normal(size=3)  # leaves one number behind
    save(before, tmp_path / "x")
    np.testing.assert_array_equal(load(tmp_path / "x").normal(size=5), before.normal(size=5))


def encoded(value):
    encoder = Encoder()
    return encoder.encode(value, "x"), {f"array-{i}.npy": a for i, a in enumerate(encoder.arrays)}


@pytest.mark.parametrize("position", [-1, 625, 10**9, "3", None, True])
def test_position_outside_the_buffer_is_refused(position):
    tree, arrays = encoded(np.random.Generator(np.random.MT19937(1)))
    tree["generator"]["state"]["dict"]["state"]["dict"]["pos"] = position
    with raises(DataError, "file-holds-random"):
        Decoder(arrays.__getitem__).decode(tree, "x")
    tree, arrays = encoded(np.random.RandomState(1))
    tree["random_state"]["dict"]["state"]["dict"]["pos"] = position
    with raises(DataError, "file-holds-random"):
        Decoder(arrays.__getitem__).decode(tree, "x")
    tree, arrays = encoded(np.random.Generator(np.random.Philox(1)))
    tree["generator"]["state"]["dict"]["buffer_pos"] = position
    with raises(DataError, "file-holds-random"):
        Decoder(arrays.__getitem__).decode(tree, "x")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("state", "dict", "bit_generator"), "Popen"),
        (("state",), 3),
        (("state", "dict", "state"), None),
        (("seeds", "dict", "pool_size"), 10**12),
        (("seeds", "dict", "entropy"), "x"),
        (("seeds", "dict", "entropy"), {"int": "0x" + "f" * 20_000}),  # two million took minutes
        (("seeds", "dict", "entropy"), ["0x" + "f" * 20_000]),
        (("seeds", "dict", "spawn_key"), {"tuple": [[{"int": "0x" + "f" * 20_000}]]}),
        (("seeds",), {"dict": {}}),
    ],
)
def test_damaged_state_is_refused(path, value):
    tree, arrays = encoded(np.random.default_rng(1))
    node = tree["generator"]
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    with pytest.raises(DataError):
        Decoder(arrays.__getitem__).decode(tree, "x")


def test_bare_bit_generator_is_refused():
    with raises(DataError, "cant-saved"):
        Encoder().encode(np.random.PCG64(1), "x")
