"""Save containers and estimators to one file, and load them back without running any code from it."""

from __future__ import annotations

import os
from typing import Any

from sumwise.errors import DataError

__all__ = ["load", "save"]


def save(obj: Any, path: str | os.PathLike) -> None:
    """Save a container or an estimator to a file.

    The file is a zip of one JSON document and ``.npy`` arrays. It is written under a temporary name in the
    same folder and renamed when it is whole, so that an earlier file of that name survives a failure. The
    same object gives the same bytes.

    Parameters
    ----------
    obj : container, estimator, or any value made of them
        Containers, estimators, arrays, frames, numbers, text, lists, tuples and dicts of these, and the
        scikit-learn estimators that :data:`sumwise.io.saved.scikit.CLASSES` lists.
    path : path
        The file to write, e.g. ``"model.sumwise"``.

    Raises
    ------
    DataError
        A part of the object can't be saved; the message names it. Nothing was written.

    See Also
    --------
    load : Load what `save` wrote.

    Examples
    --------
    >>> import os, tempfile
    >>> import sumwise
    >>> path = os.path.join(tempfile.mkdtemp(), "domain.sumwise")
    >>> sumwise.save(sumwise.Domain({"age": 10, "sex": ["f", "m"]}), path)
    >>> sumwise.load(path)
    Domain(age: 10, sex: 2)
    """
    from sumwise.io.saved import archive

    tree, arrays = encoded(obj, type(obj).__name__)
    archive.write(path, "object", tree, arrays)


def load(path: str | os.PathLike) -> Any:
    """Load what `save` wrote.

    No code from the file runs: nothing is unpickled, no module is imported because a file names it, and only
    public classes of sumwise and listed ones of scikit-learn are built, containers through their
    constructors, which check them again.

    Parameters
    ----------
    path : path
        The file to read.

    Returns
    -------
    object
        Equal to what was saved; an estimator predicts the same, bit by bit.

    Raises
    ------
    DataError
        The file is missing, cut off, damaged, changed by hand, of a newer format, names an unknown class, or
        declares far larger values than a file of its size holds.

    See Also
    --------
    save : Save a container or an estimator to a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import sumwise
    >>> path = os.path.join(tempfile.mkdtemp(), "margins.sumwise")
    >>> sumwise.save(sumwise.Margins([[60, 40]], [[55, 45]]), path)
    >>> sumwise.load(path).rows
    array([[60., 40.]])
    """
    from sumwise.io.saved import archive

    return archive.read(path, "object", decoded)


def encoded(obj: Any, where: str, layout: bool = True) -> tuple[Any, list]:
    """Return the JSON tree and the arrays of an object; without ``layout``, equal ones for equal objects."""
    from sumwise.io.saved.json_tree import Encoder

    encoder = Encoder(layout)
    try:
        tree = encoder.encode(obj, where)
    except RecursionError as error:
        raise DataError(f"{where} contains itself, or is nested too deeply to be saved.") from error
    return tree, encoder.arrays


def decoded(tree: Any, fetch: Any) -> Any:
    """Return the object of a JSON tree; ``fetch(name)`` gives its arrays, ``fetch.limit`` is its largest size."""
    from sumwise.io.saved.json_tree import Decoder

    return Decoder(fetch, fetch.limit).decode(tree, "object")
