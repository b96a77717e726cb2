"""Random generators, by the state of their bit generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Positions in a buffer, which NumPy takes from the state unchecked: (field, largest).
POSITIONS = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}
MOST_BITS = 2**16  # of a seed: NumPy takes it apart in time that is quadratic in its length
SEEDING = ("entropy", "spawn_key", "pool_size", "n_children_spawned")


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a Generator or a RandomState; None for anything else."""
    if type(value) is np.random.Generator:
        bits = value.bit_generator
        seeds = bits.seed_seq
        if type(bits).__name__ not in BIT_GENERATORS or type(seeds) is not np.random.SeedSequence:
            refuse(value, where, hint="use np.random.default_rng(seed).")
        body = {"state": bits.state, "seeds": {name: getattr(seeds, name) for name in SEEDING}}
        return {"generator": encoder.named(body, where)}
    if type(value) is np.random.RandomState:
        return {"random_state": encoder.encode(value.get_state(legacy=False), where)}
    return None


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode a Generator or a RandomState; its next numbers are those that the saved one would have drawn."""
    if tag == "random_state":
        state = decoder.decode(body, where)
        _check(state, where)
        result = np.random.RandomState(0)
        result.set_state(state)
        return result
    parts = decoder.named(body, where)
    state, seeds = parts["state"], parts["seeds"]
    _check(state, where)
    if set(seeds) != set(SEEDING) or not 4 <= seeds["pool_size"] <= 1024:
        raise DataError(f"{where}: the file contains no valid seeds of a random generator.")
    if _longest(list(seeds.values())) > MOST_BITS:
        raise DataError(f"{where}: the file seeds a random generator with an integer of more than {MOST_BITS} bits.")
    sequence = np.random.SeedSequence(**seeds)
    bits = getattr(np.random, state["bit_generator"])(sequence)
    bits.state = state
    return np.random.Generator(bits)


def _longest(seed: Any) -> int:
    """Bits of the longest integer in a seed, which may be a list of them, or hexadecimal text."""
    if isinstance(seed, (list, tuple)):
        return max(map(_longest, seed), default=0)
    if isinstance(seed, str):
        return 4 * len(seed)
    return seed.bit_length() if isinstance(seed, int) else 0


def _check(state: Any, where: str) -> None:
    if not isinstance(state, dict) or state.get("bit_generator") not in BIT_GENERATORS:
        raise DataError(f"{where}: the file contains no random generator that sumwise knows.")
    name, largest = POSITIONS.get(state["bit_generator"], (None, 0))
    if name is None:
        return
    held = state if name in state else state["state"]
    if type(held[name]) is not int or not 0 <= held[name] <= largest:
        raise DataError(f"{where}: the file contains a random generator at position {held[name]!r} of {largest}.")
