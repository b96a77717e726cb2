"""Files behind an address (s3://, gs://, hdfs://, memory://): read and replaced whole, through fsspec."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.extras import require

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs"}
"""What fsspec needs beside it, by the beginning of an address: stores whose objects appear whole and need no folder."""

ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def is_remote(path: Any) -> bool:
    """Return whether a path is an address such as ``s3://bucket/name``."""
    return isinstance(path, str) and ADDRESS.match(path) is not None


class RemoteFile:
    """One file behind an address; a write replaces it whole, so that a reader never sees half of one.

    Parameters
    ----------
    address : str
        What fsspec knows: ``s3://`` and ``s3a://`` need s3fs beside it, ``gs://`` gcsfs, ``abfs://`` adlfs, ``hdfs://``
        pyarrow and Hadoop's client.
    """

    def __init__(self, address: str) -> None:
        fsspec = require("fsspec", extra="remote")
        self.address = address
        try:
            self.system, self.place = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError, OSError) as error:
            kind, said = address.partition("://")[0].lower(), str(error).strip().split("\n")[0]
            needed = f"pip install {PACKAGES[kind]}" if kind in PACKAGES else "look at the beginning of the address"
            if kind == "hdfs":
                needed = "it needs pyarrow, Java and Hadoop's client: set JAVA_HOME, HADOOP_HOME and CLASSPATH"
            raise DataError(f"{address!r} can't be reached: {said.rstrip('.')}.", hint=f"{needed}.") from None

    def __str__(self) -> str:
        return self.address

    def exists(self) -> bool:
        """Return whether there is such a file."""
        with self.reached():
            self.system.invalidate_cache()  # another process may have written since
            return bool(self.system.exists(self.place))

    def remove(self) -> None:
        """Remove the file; no error where there is none."""
        with self.reached():
            if self.system.exists(self.place):
                self.system.rm_file(self.place)

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """Give a local copy, with the same ending, for the time of the block."""
        with tempfile.TemporaryDirectory(prefix="sumwise-") as folder:
            local = Path(folder) / f"file{''.join(Path(self.place).suffixes[-2:])}"
            with self.reached():
                self.system.get_file(self.place, os.fspath(local))
            yield local

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Give a local file to write; it takes the place of the remote one when the block ends without an error."""
        with tempfile.TemporaryDirectory(prefix="sumwise-") as folder:
            local = Path(folder) / "file"
            yield local
            with self.reached():
                if self.address.partition("://")[0].lower() in PACKAGES:  # making a folder could make a bucket
                    self.system.put_file(os.fspath(local), self.place)
                    return
                parent = self.place.rpartition("/")[0]
                if parent:
                    self.system.makedirs(parent, exist_ok=True)
                self.system.put_file(os.fspath(local), f"{self.place}.new")
                self.system.mv(f"{self.place}.new", self.place)

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Say of what goes wrong in the block that the address can't be reached."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            words = str(error).strip().split("\n")[0] or type(error).__name__
            raise DataError(
                f"{self.address!r} can't be reached: {words}.", hint="look at the address, the network and the rights."
            ) from error
