"""Names that changed: the old one still works and warns, naming the new one."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["renamed"]


def renamed(package: str, names: Mapping[str, str], moved_to: str | None = None) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that maps old names to new ones, with a `DeprecationWarning`.

    Parameters
    ----------
    package : str
        The module whose names changed.
    names : mapping of str to str
        Old name to new name, both in that module.
    moved_to : str, optional
        The module where the new names are; by default the same.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.deprecated import renamed
    >>> old_name = renamed("sumwise.errors", {"InputError": "DataError"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_name("InputError").__name__
    'DataError'
    >>> str(caught[0].message)
    'sumwise.errors.InputError is now called sumwise.errors.DataError; the old name will be removed in version 0.3.'
    """

    place = moved_to or package

    def module_getattr(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        warnings.warn(
            f"{package}.{name} is now called {place}.{names[name]}; the old name will be removed in version 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(place), names[name])

    return module_getattr
