"""Edges and log-potentials as users give them, checked: which attributes, what shape, what may be forbidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError


def read_edges(edges: Any, domain: Domain) -> tuple[tuple[str, str], ...]:
    """Check that every edge joins two attributes of the domain, and that the domain is one."""
    if not isinstance(domain, Domain):
        raise DataError(f"The domain is of type {type(domain).__name__}.", hint="give a Domain.")
    out = []
    for edge in edges:
        names = tuple(edge)
        if isinstance(edge, str) or len(names) != 2:
            raise DataError(f"Edge {edge!r} doesn't join two attributes.", hint="edges are pairs: ('a', 'b').")
        for a in names:
            checks.known(a, domain, "attribute")
        out.append(names)
    return tuple(out)


def edge_potentials(given: Any, domain: Domain, edges: Any, hint: str) -> dict[Any, Any]:
    """Potentials by node (a name) and by edge as listed; one over another pair is an error."""
    out: dict[Any, Any] = {}
    for name, table in read_potentials(given, domain).items():
        if len(name) == 1:
            out[name[0]] = table
        elif name in edges:
            out[name] = table
        elif name[::-1] in edges:
            out[name[::-1]] = table.T if sparse.issparse(table) else np.swapaxes(table, -1, -2)
        else:
            raise DataError(f"There is a potential over {' x '.join(name)}, which is not an edge.", hint=hint)
    return out


def filled(logs: Any) -> np.ndarray:
    """Log-potentials as an array: moves that a sparse table doesn't store can't be made."""
    if not sparse.issparse(logs):
        return np.asarray(logs)
    stored, full = sparse.coo_array(logs), np.full(logs.shape, -np.inf)
    full[stored.row, stored.col] = stored.data
    return full


def read_potentials(given: Any, domain: Domain) -> dict[tuple[str, ...], Any]:
    """Check every potential; keys become tuples, values float arrays (or sparse arrays of the allowed moves)."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(
            f"The log-potentials are a {type(given).__name__}.", hint="give a dict: {('a', 'b'): array, 'a': array}."
        )
    out: dict[tuple[str, ...], Any] = {}
    read: dict[tuple, Any] = {}  # one table for many steps is checked and held once
    for key, value in given.items():
        name = (key,) if isinstance(key, str) else tuple(key)
        for attribute in checks.unique(name, "A potential's key"):
            checks.known(attribute, domain, "attribute")
        if any(sorted(name) == sorted(k) for k in out):
            raise DataError(f"There are two potentials over {' x '.join(name)}.", hint="add them into one table.")
        shape = tuple(domain[a] for a in name)
        if (id(value), shape) not in read:
            read[id(value), shape] = _read(value, name, shape)
        out[name] = read[id(value), shape]
    return out


def _read(value: Any, name: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    what = f"The log-potential over {' x '.join(name)}"
    if sparse.issparse(value):
        return _read_sparse(value, what, shape)
    tensor = type(value).__module__.split(".")[0] == "torch"
    array = value.detach().cpu().numpy() if tensor else np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise DataError(f"{what} has dtype {array.dtype}; it must contain numbers.")
    array = array.astype(float)
    if array.shape != shape and not (array.ndim == len(shape) + 1 and array.shape[1:] == shape):
        raise DataError(
            f"{what} has shape {array.shape}; the domain has {shape}.",
            hint="one entry per level; a batch of models has one more axis in front.",
        )
    if np.isnan(array).any() or (array == np.inf).any():
        at = tuple(int(i) for i in np.argwhere(np.isnan(array) | (array == np.inf))[0])
        raise DataError(f"{what} is NaN or +inf at {at}.", hint="-inf forbids a state; NaN means nothing here.")
    _check_open(array > -np.inf, what, len(shape))
    return array


def _check_open(allowed: np.ndarray, what: str, ndim: int) -> None:
    """No row and no column of zeros: a state that can't go anywhere is said to be impossible at its node instead."""
    for axis in range(ndim if ndim > 1 else 0):
        where = allowed.ndim - ndim + axis
        others = tuple(k for k in range(allowed.ndim - ndim, allowed.ndim) if k != where)
        closed = ~allowed.any(axis=others)
        if closed.any():
            at = int(np.argwhere(closed)[0][-1])
            raise DataError(
                f"{what} forbids everything for {int(closed.sum())} states along axis {axis}. First: state {at}.",
                hint="give such a state a potential of -inf at its node, and any value in this table.",
            )
    if not allowed.any():
        raise DataError(f"{what} forbids every state.")


def _read_sparse(value: Any, what: str, shape: tuple[int, ...]) -> Any:
    if value.shape != shape:
        raise DataError(f"{what} has shape {value.shape}; the domain has {shape}.")
    coo = sparse.coo_array(value)
    coo.sum_duplicates()
    if np.isnan(coo.data).any() or (coo.data == np.inf).any():
        raise DataError(f"{what} contains NaN or +inf.", hint="leave out forbidden moves.")
    for axis, index in enumerate((coo.row, coo.col)):
        closed = np.setdiff1d(np.arange(shape[axis]), index)
        if len(closed):
            raise DataError(
                f"{what} forbids everything for {len(closed)} states along axis {axis}. First: state {closed[0]}.",
                hint="allow at least one move for every state (staying, say).",
            )
    return coo


def as_device(array: np.ndarray, device: str | None) -> Any:
    """The array, or a tensor of it on `device`."""
    if device is None:
        return array
    from sumwise.extras import require

    return require("torch", extra="torch").as_tensor(array, device=device)
