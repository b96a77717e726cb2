"""NumPy arrays (as ``.npy`` members), arrays of objects (as JSON), scalars and dtypes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

KINDS = "biufcUSmM"
"""Kinds of dtype that go to ``.npy`` as they are: nothing that NumPy would have to pickle."""


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode what NumPy calls its own; None for what isn't an array, a scalar or a dtype."""
    if type(value) is np.ndarray:
        if value.dtype == object:
            order = "F" if value.flags.fnc and encoder.layout else "C"
            items = [encoder.encode(x, f"{where}.flat[{i}]") for i, x in enumerate(value.ravel(order=order))]
            return {"objects": {"shape": list(value.shape), "order": order, "items": items}}
        if value.dtype.kind not in KINDS:
            refuse(value, where, hint="keep one array per field, of numbers, text or dates.")
        constant = value.ndim > 0 and value.nbytes > 0 and not any(value.strides)
        if constant and encoder.layout:  # a view of one value, as the weights of unweighted bags are: not written out
            return {"constant": {"shape": list(value.shape), "value": encoder.put(value[(slice(0, 1),) * value.ndim])}}
        return {"array": encoder.put(value)}
    if isinstance(value, np.generic):
        return _encode_scalar(encoder, value, where)
    if isinstance(value, np.dtype):
        if value.kind not in KINDS + "O":
            refuse(value, where)
        return {"dtype": value.str}
    if isinstance(value, np.ndarray):
        refuse(value, where, hint="keep a plain array: np.asarray(x).")
    return None


def _encode_scalar(encoder: Encoder, value: np.generic, where: str) -> dict:
    dtype = value.dtype
    if dtype.kind not in KINDS:
        refuse(value, where)
    if dtype.kind in "biuU" or dtype in (np.float16, np.float32, np.float64):
        return {"scalar": [dtype.str, encoder.encode(value.item(), where)]}
    return {"scalar": [dtype.str, {"bytes": value.tobytes().hex()}]}


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode an array, a scalar or a dtype."""
    if tag == "array":
        return decoder.fetch(body, where)
    if tag == "constant":
        value = decoder.fetch(body["value"], where).reshape(())
        decoder.spend(body["shape"], value.itemsize, where)
        return np.broadcast_to(value, tuple(body["shape"]))
    if tag == "objects":
        shape, order, nodes = body["shape"], body["order"], body["items"]
        decoder.spend(shape, 8, where)
        if math.prod(shape) != len(nodes):
            raise DataError(f"{where}: the file says shape {shape} for {len(nodes)} values.")
        flat = np.empty(len(nodes), dtype=object)
        for i, node in enumerate(nodes):
            flat[i] = decoder.decode(node, f"{where}.flat[{i}]")
        return flat.reshape(shape, order=order)
    if tag == "scalar":
        text, node = body
        dtype = _dtype(text, KINDS)
        if isinstance(node, dict) and set(node) == {"bytes"}:
            return np.frombuffer(bytes.fromhex(node["bytes"]), dtype=dtype, count=1)[0]
        value = decoder.decode(node, where)
        wanted = {"b": bool, "i": int, "u": int, "f": float, "U": str}[dtype.kind]
        if type(value) is not wanted:
            raise DataError(f"{where}: the file contains {value!r} as a value of dtype {text}.")
        return dtype.type(value)
    return _dtype(body, KINDS + "O")


def _dtype(text: Any, kinds: str) -> np.dtype:
    if type(text) is not str:
        raise DataError(f"{text!r} is not a dtype.")
    dtype = np.dtype(text)
    if dtype.kind not in kinds:
        raise DataError(f"dtype {text!r} is not among those that sumwise files contain.")
    return dtype
