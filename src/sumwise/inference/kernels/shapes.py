"""What compiled loops take on trust, checked before they run: learned parts are right, forged ones need not be."""

from __future__ import annotations

import numpy as np

from sumwise.errors import DataError

HINT = "fit the model again; what was loaded from a file may have been changed by hand."


def check_shapes(shapes: dict[str, tuple[np.ndarray, tuple[int, ...]]]) -> None:
    """Refuse arrays of other shapes than their loops run over; ``shapes`` has array and shape by name.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.kernels.shapes import check_shapes
    >>> check_shapes({"centre": (np.zeros(2), (3,))})
    Traceback (most recent call last):
    sumwise.errors.DataError: The model's parts don't fit together: centre has shape (2,), not (3,). Hint: ...
    """
    for name, (array, shape) in shapes.items():
        if np.shape(array) != shape:
            raise DataError(
                f"The model's parts don't fit together: {name} has shape {np.shape(array)}, not {shape}.", HINT
            )


def check_positions(name: str, positions: np.ndarray, n: int) -> None:
    """Refuse whole numbers that are not positions among ``n``.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.kernels.shapes import check_positions
    >>> check_positions("columns", np.array([0, 7]), 3)
    Traceback (most recent call last):
    sumwise.errors.DataError: The model's parts don't fit together: columns is 7, of 3. Hint: fit the model again; ...
    """
    given = np.asarray(positions)
    wrong = np.ones(given.shape, dtype=bool) if given.dtype.kind not in "iu" else (given < 0) | (given >= n)
    if wrong.any():
        first = given[wrong].ravel()[0]
        raise DataError(f"The model's parts don't fit together: {name} is {first}, of {n}.", HINT)
