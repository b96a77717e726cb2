"""Optional packages, imported when they are used; a missing one says which extra to install."""

from __future__ import annotations

import importlib
from typing import Any

from sumwise.errors import MissingExtra

__all__ = ["EXTRAS", "require"]

EXTRAS = {
    "torch": "torch",
    "pyspark": "spark",
    "opendp": "privacy",
    "h5py": "birds",
    "pyproj": "geo",
    "h3": "geo",
    "xarray": "geo",
    "geopandas": "geo",
    "rasterio": "geo",
    "ot": "transport",
    "fastavro": "avro",
    "fsspec": "remote",
    "openpyxl": "office",
    "docx": "office",
    "pyreadstat": "stats",
}
"""Which extra of sumwise brings which package."""


def require(module: str, extra: str | None = None) -> Any:
    """Import an optional package, or say how to install it.

    Parameters
    ----------
    module : str
        The module to import, e.g. ``"torch"`` or ``"pyspark.sql"``.
    extra : str, optional
        The extra that brings it; by default the one that sumwise lists for the package, if any.

    Returns
    -------
    module
        What ``import module`` would give.

    Raises
    ------
    MissingExtra
        The package isn't installed, or is installed and fails to import.

    Examples
    --------
    >>> from sumwise.extras import require
    >>> require("json").dumps([1, 2])
    '[1, 2]'
    >>> require("no_such_package", extra="torch")
    Traceback (most recent call last):
    sumwise.errors.MissingExtra: This needs the package 'no_such_package', which isn't installed. ...
    """
    package = module.partition(".")[0]
    extra = EXTRAS.get(package) if extra is None else extra
    install = f"pip install 'sumwise[{extra}]'" if extra else f"pip install {package}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] != package:  # it is there, and lacks something itself
            raise _broken(package, error, install) from error
        if error.name != package:
            raise MissingExtra(
                f"This needs '{error.name or module}', which the installed '{package}' doesn't have.",
                hint=f"a newer one may: {install} --upgrade",
            ) from error
        message = f"This needs the package '{package}', which isn't installed."
        raise MissingExtra(message, hint=install) from error
    except (ImportError, OSError) as error:  # a shared library that doesn't load is an OSError
        raise _broken(package, error, install) from error


def _broken(package: str, error: Exception, install: str) -> MissingExtra:
    return MissingExtra(
        f"The package '{package}' is installed but can't be imported: {error}.",
        hint=f"install it again: {install} --force-reinstall",
    )
