"""Python's own values: big integers, nan and infinities, tuples, dicts with any keys, sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

SCALAR_TYPES = {kind.__name__: kind for kind in {np.dtype(c).type for c in np.typecodes["All"] if c not in "OV"}}
"""The classes that may be saved themselves, as a parameter ``dtype=np.float64`` is."""

MAX_EQUAL_HASHES = 100  # keys of one hash that a set or a dict may have: each is compared with all the others


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a builtin."""
    kind = type(value)
    if kind in (list, tuple):
        items = encoder.each(value, where)
        return items if kind is list else {"tuple": items}
    if kind is dict:
        return _encode_dict(encoder, value, where)
    if kind in (set, frozenset):  # sorted: the order of a set differs from run to run
        return {kind.__name__: sorted(encoder.each(value, where), key=json.dumps)}
    if kind is slice:
        return {"slice": encoder.each((value.start, value.stop, value.step), where)}
    if kind is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if kind is type and SCALAR_TYPES.get(value.__name__) is value:
        return {"type": value.__name__}
    hint = {"generator": "keep a list.", "bytes": "keep text or an array of uint8."}.get(kind.__name__)
    refuse(value, where, hint)


def _encode_dict(encoder: Encoder, value: dict, where: str) -> dict:
    if not encoder.layout:
        value = dict(sorted(value.items(), key=lambda pair: json.dumps(Encoder(layout=False).encode(pair[0], where))))
    if all(type(key) is str for key in value):
        return {"dict": {key: encoder.encode(item, f"{where}[{key!r}]") for key, item in value.items()}}
    pairs = []
    for key, item in value.items():
        name = f"{where}[{key!r}]"
        pairs.append([encoder.encode(key, f"{name} (key)"), encoder.encode(item, name)])
    return {"items": pairs}


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode a builtin."""
    return DECODERS[tag](decoder, body, where)


def _hashed(keys: list, where: str) -> list:
    """Return the keys; refuse a file whose keys were chosen to share a hash, which would take very long to read."""
    alike = Counter(map(hash, keys)).most_common(1)
    if alike and alike[0][1] > MAX_EQUAL_HASHES:
        raise DataError(f"{where}: the file contains {alike[0][1]} keys of the same hash.")
    return keys


def _complex(_decoder: Decoder, body: list, _where: str) -> complex:
    real, imag = body
    return complex(float(real), float(imag))


def _slice(decoder: Decoder, body: list, where: str) -> slice:
    start, stop, step = decoder.each(body, where)
    return slice(start, stop, step)


def _items(decoder: Decoder, body: list, where: str) -> dict:
    pairs = [(decoder.decode(key, f"{where} (key)"), decoder.decode(node, where)) for key, node in body]
    _hashed([key for key, _ in pairs], where)
    result = dict(pairs)
    if len(result) != len(pairs):
        raise DataError(f"{where}: the file contains a dict with a key twice.")
    return result


DECODERS: dict[str, Callable[[Decoder, Any, str], Any]] = {
    "int": lambda _, body, __: int(body, 16),
    "float": lambda _, body, __: float(body),
    "complex": _complex,
    "tuple": lambda decoder, body, where: tuple(decoder.each(body, where)),
    "set": lambda decoder, body, where: set(_hashed(decoder.each(body, where), where)),
    "frozenset": lambda decoder, body, where: frozenset(_hashed(decoder.each(body, where), where)),
    "slice": _slice,
    "type": lambda _, body, __: SCALAR_TYPES[body],
    "dict": lambda decoder, body, where: {k: decoder.decode(v, f"{where}[{k!r}]") for k, v in body.items()},
    "items": _items,
}
