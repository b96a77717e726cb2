"""SciPy's sparse matrices and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
"""The arrays that each format consists of."""


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a sparse matrix or array; None for anything else."""
    from scipy import sparse

    if not sparse.issparse(value):
        return None
    kind = type(value)
    if value.format not in PARTS or value.ndim != 2 or getattr(sparse, kind.__name__, None) is not kind:
        refuse(value, where, hint="convert it: x.tocsr().")
    parts = {name: getattr(value, name) for name in PARTS[value.format]}
    if parts["data"].dtype.kind not in "biufc":
        refuse(value, where, hint="keep numbers in it.")
    return {"sparse": {"class": kind.__name__, "shape": list(value.shape), **encoder.named(parts, where)}}


def decode(decoder: Decoder, _tag: str, body: dict, where: str) -> Any:
    """Decode a sparse matrix; every index in it is checked."""
    from scipy import sparse

    name = body["class"]
    file_format, _, kind = name.partition("_")
    if file_format not in PARTS or kind not in ("matrix", "array"):
        raise DataError(f"{where}: the file contains a sparse matrix of the unknown class {name!r}.")
    shape = tuple(body["shape"])
    if len(shape) != 2 or any(type(n) is not int or n < 0 for n in shape):
        raise DataError(f"{where}: the file contains a sparse matrix of shape {shape}.")
    for n in shape:  # whoever sums its rows or columns makes a vector of that length
        decoder.spend((n,), 8, where)
    parts = {part: decoder.array(body[part], f"{where}.{part}") for part in PARTS[file_format]}
    if any(parts[part].dtype.kind not in "iu" for part in parts if part != "data"):
        raise DataError(f"{where}: the file contains a sparse matrix whose indices are not integers.")
    data = parts.pop("data")
    given = (data, tuple(parts.values())) if file_format == "coo" else (data, *parts.values())
    matrix = getattr(sparse, name)(given, shape=shape)
    if file_format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    elif file_format == "coo" and data.size:
        np.ravel_multi_index((matrix.row, matrix.col), shape)  # raises where an index is out of range
    return matrix
