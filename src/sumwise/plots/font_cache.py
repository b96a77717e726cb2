"""Where Matplotlib keeps its list of fonts: its own folder, or a temporary one where the home can't be written."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from sumwise.inference.kernels.private_folder import private_folder


def prepare_font_cache() -> None:
    """Give Matplotlib a folder, unless it has one or was loaded before; it would otherwise warn, or fail.

    Examples
    --------
    >>> from sumwise.plots.font_cache import prepare_font_cache
    >>> prepare_font_cache()
    """
    if "matplotlib" in sys.modules or os.environ.get("MPLCONFIGDIR") or all(map(_can_write, _folders())):
        return
    folder = private_folder("matplotlib")
    if folder is not None:
        os.environ["MPLCONFIGDIR"] = folder
    else:
        logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it finds another folder, and would say so at length


def _folders() -> list[Path]:
    """Matplotlib's own folders for settings and for what it keeps."""
    home = Path(os.path.expanduser("~"))
    if not sys.platform.startswith(("linux", "freebsd")):
        return [home / ".matplotlib"]
    settings = os.environ.get("XDG_CONFIG_HOME") or home / ".config"
    cache = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return [Path(settings) / "matplotlib", Path(cache) / "matplotlib"]


def _can_write(folder: Path) -> bool:
    """Whether a folder, or the nearest one above it that exists, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
