"""The groups and data sets of an HDF5 file to Arrow: one row for each data set, its values as ``.npy``."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.errors import DataError

MOST_GROUPS = 10_000


def parse(path: str, most_bytes: int) -> Any:
    """Read a file that leads to no other one, and whose data sets declare at most so many bytes."""
    import h5py
    import pyarrow as pa

    names: list[str] = []
    contents: list[bytes] = []

    def add(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            sink = io.BytesIO()
            np.save(sink, _fixed(np.asarray(node[()])), allow_pickle=False)
            names.append(name)
            contents.append(sink.getvalue())

    with h5py.File(path, "r") as file:
        _check_contents(file, Path(path), most_bytes)
        file.visititems(add)
    return pa.table({"name": pa.array(names, pa.string()), "content": pa.array(contents, pa.large_binary())})


def tree_of(table: Any) -> dict[str, Any]:
    """Return groups as dicts and data sets as arrays, of a table that `parse` made."""
    tree: dict[str, Any] = {}
    for name, content in zip(table["name"].to_pylist(), table["content"].to_pylist()):
        *groups, last = name.split("/")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = np.load(io.BytesIO(content), allow_pickle=False)
    return tree


def _fixed(array: np.ndarray) -> np.ndarray:
    """An array whose texts of any length have the length of the longest."""
    if array.dtype.names is not None:
        fields = {name: _fixed(array[name]) for name in array.dtype.names}
        out = np.empty(array.shape, dtype=[(name, field.dtype) for name, field in fields.items()])
        for name, field in fields.items():
            out[name] = field
        return out
    if array.dtype.kind != "O":
        return array
    texts = [value if isinstance(value, bytes) else str(value).encode() for value in array.ravel()]
    return np.array(texts, dtype=np.bytes_).reshape(array.shape)


def _check_contents(file: Any, path: Path, limit: int) -> None:
    """Refuse what leads to other files, groups that hold themselves, and sizes that only a forger declares."""
    import h5py

    size, waiting, seen = 0, [file], set()
    while waiting:
        group = waiting.pop()
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):  # a soft one may lead to one of these
                raise DataError(f"{path.name!r}: {name!r} is a link to another place or file; it isn't followed.")
            node = group[name]
            if isinstance(node, h5py.Group):
                if node.id in seen or len(seen) > MOST_GROUPS:
                    raise DataError(f"{path.name!r}: the group {name!r} is linked more than once.")
                seen.add(node.id)
                waiting.append(node)
            elif isinstance(node, h5py.Dataset):
                if node.external or node.is_virtual:
                    raise DataError(f"{path.name!r}: {name!r} lies in another file; it isn't read.")
                size += math.prod(node.shape or ()) * node.dtype.itemsize
                size += _text_size(node, path.stat().st_size, limit - size)
        if size > limit:
            raise DataError(f"{path.name!r} has {path.stat().st_size:,} bytes and declares {size:,}; it isn't read.")


def _text_size(node: Any, longest: int, most: int) -> int:
    """Bytes of texts or lists of any length, each of which is in the file but may be named again and again.

    They are counted one by one where they could be more than `most`, up to there.
    """
    n = math.prod(node.shape or ())
    if node.dtype.kind != "O" or n * longest <= most:
        return 0
    size = 0
    for place in np.ndindex(*node.shape):
        value = node[place]
        size += value.nbytes if isinstance(value, np.ndarray) else len(value) if isinstance(value, bytes | str) else 0
        if size > most:
            break
    return size
