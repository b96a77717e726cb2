"""Provenance: versions, seed, hashes of the data, command; what somebody needs to get the same numbers."""

from __future__ import annotations

import hashlib
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sumwise.version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "duckdb", "pyarrow", "matplotlib")


def file_facts(path: Path, name: str) -> dict[str, Any]:
    """Name, size and SHA-256 of a file, or of a folder by its files' names and hashes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.study.provenance import file_facts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("a")
    >>> file_facts(path, "a.csv")["sha256"][:8]
    'ca978112'
    """
    if path.is_dir():
        parts = [file_facts(p, str(p.relative_to(path))) for p in sorted(path.rglob("*")) if p.is_file()]
        joined = "\n".join(f"{part['sha256']} {part['file']}" for part in parts)
        return {
            "file": name,
            "bytes": sum(part["bytes"] for part in parts),
            "sha256": hashlib.sha256(joined.encode()).hexdigest(),
        }
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return {"file": name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def versions() -> dict[str, str]:
    """Versions of sumwise, Python and the packages that compute.

    Examples
    --------
    >>> from sumwise.study.provenance import versions
    >>> sorted(versions())[:2]
    ['duckdb', 'machine']
    """
    found = {
        "sumwise": __version__,
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
