"""Arrays to tensors and back, and how many threads torch may use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.extras import require

MOST_THREADS = 64  # or the number of cores: OpenMP ends the process where it can't start as many threads as asked for


@contextmanager
def threads(n: int = 1) -> Iterator[None]:
    """Let torch use `n` threads, then as many as before; small networks run faster on one, and sums don't depend on
    the machine.

    Examples
    --------
    >>> import torch
    >>> from sumwise.inference.networks.tensors import threads
    >>> with threads(1):
    ...     torch.get_num_threads()
    1
    """
    torch = require("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(min(n, max(MOST_THREADS, os.cpu_count() or 1)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def as_arrays(tensors: Iterable, dtype: Any = np.float64) -> list[np.ndarray]:
    """Return tensors as arrays on the CPU, which can be saved.

    Examples
    --------
    >>> import torch
    >>> from sumwise.inference.networks.tensors import as_arrays
    >>> as_arrays([torch.ones(2, requires_grad=True)])
    [array([1., 1.])]
    """
    return [np.array(t.detach().cpu().numpy(), dtype=dtype) for t in tensors]


def find_device(name: Any) -> Any:
    """Return torch's device of that name; an unknown or an absent one is refused.

    Examples
    --------
    >>> from sumwise.inference.networks.tensors import find_device
    >>> find_device("cpu").type
    'cpu'
    """
    torch = require("torch")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise DataError(f"device is {name!r}.", hint="give 'cpu', 'cuda' or 'cuda:1'.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DataError(f"device is {name!r}, but torch sees no GPU here.", hint="device='cpu' runs everywhere.")
    return device
