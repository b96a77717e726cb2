"""The file: a zip of one JSON document and ``.npy`` members; written whole or not at all, read warily."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from sumwise.errors import DataError, SumwiseError
from sumwise.io.saved.arrays import KINDS
from sumwise.io.writer import new_file
from sumwise.version import __version__

FORMAT = 1
"""The version of the layout; a file with a higher one is refused."""

DOCUMENT = "object.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same object gives the same bytes, whenever it is saved
FREE_SIZE = 64 * 2**20  # what the members of a small file may unpack to, and its values come to
EXPANSION = 50  # beyond that, how many times the size of the file
VALUE_SIZE = 64  # about what a value of the document takes in memory, however short its text
FREE_TEXT, TEXT_EXPANSION = 4 * 2**20, 10  # the same for the document, whose values take far more room than their text
NO_FILE = (errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)  # links in a circle, a name too long, a file as folder


def write(path: str | os.PathLike, kind: str, tree: Any, arrays: list[np.ndarray]) -> None:
    """Write a JSON tree and its arrays, atomically: an old file stays until the new one is whole."""
    with new_file(_name(path), private=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {}
        for i, array in enumerate(arrays):
            info = _info(f"array-{i}.npy")
            with archive.open(info, "w", force_zip64=array.nbytes > 2**30) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            members[info.filename] = {"size": info.file_size, "crc32": info.CRC}
        document = {"format": FORMAT, "sumwise": __version__, "kind": kind, "members": members, "object": tree}
        document["sha256"] = _digest(document)
        archive.writestr(_info(DOCUMENT), _compact(document))


def read(path: str | os.PathLike, kind: str, decode: Callable[[Any, Callable[[str], np.ndarray]], Any]) -> Any:
    """Read a file that `write` made; whatever is wrong with it ends in a DataError.

    ``decode(tree, fetch)`` builds the value; ``fetch(name)`` reads an array.
    """
    name = _name(path)
    try:
        with _opened(name) as file, zipfile.ZipFile(file) as archive:
            size = os.fstat(file.fileno()).st_size
            document = _document(archive, size, name)
            _check_header(document, kind, name)
            value = decode(document["object"], _Members(archive, document, _limit(size)))
            _check_digest(document, name)
    except FileNotFoundError as error:
        raise DataError(f"There is no file {name!r}.") from error
    except zipfile.BadZipFile as error:
        hint = "copy it again, or save it again; a sumwise file is a zip of object.json and arrays."
        raise DataError(f"{name!r} is not a sumwise file, or was cut off or damaged ({error}).", hint) from error
    except SumwiseError as error:
        if error.message.startswith(repr(name)):
            raise
        raise DataError(f"{name!r} can't be loaded. {error.message}", hint=error.hint) from error
    except RecursionError as error:
        raise DataError(f"{name!r} can't be loaded: its parts are nested too deeply.") from error
    except IsADirectoryError as error:
        raise DataError(f"{name!r} is a folder.", hint="give the name of a file in it.") from error
    except (MemoryError, OSError) as error:  # of this machine, not of the file
        raise _of_this_machine(error, name) from error
    except Exception as error:  # what zipfile, json and NumPy say of damaged bytes is of many kinds
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{name!r} is damaged ({reason}).", hint="copy it again, or save it again.") from error
    return value


def _of_this_machine(error: MemoryError | OSError, name: str) -> Exception:
    if isinstance(error, MemoryError):
        hint = "close other programs, or load it on a machine with more memory."
        return DataError(f"{name!r} needs more memory than is free.", hint=hint)
    if error.errno in NO_FILE:
        return DataError(f"{name!r} leads to no file: {error.strerror}.", hint="give the name of a file.")
    if error.errno == errno.EINVAL:  # a place before the beginning of the file
        return DataError(f"{name!r} is damaged ({error}).", hint="copy it again, or save it again.")
    return error


class _Members:
    """The arrays of a file by the names of their members, and how many bytes all its values may come to."""

    def __init__(self, archive: zipfile.ZipFile, document: dict[str, Any], limit: int) -> None:
        self.archive, self.document, self.limit = archive, document, limit

    def __call__(self, member: Any) -> np.ndarray:
        return _array(self.archive, self.document, member)


def _limit(file_size: int) -> int:
    return max(FREE_SIZE, EXPANSION * file_size)


def _opened(name: str) -> IO[bytes]:
    """Open an ordinary file; a pipe or a device, which might never end, is refused before it is read."""
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    raise DataError(f"{name!r} is a pipe or a device.", hint="copy what it gives to a file, and load that.")


def _document(archive: zipfile.ZipFile, file_size: int, name: str) -> dict[str, Any]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) != len(names):
        raise DataError(f"{name!r} contains a member twice.")
    if DOCUMENT not in names:
        raise DataError(f"{name!r} is a zip file but not a sumwise file: it has no member {DOCUMENT!r}.")
    for info in infos:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise DataError(f"{name!r} contains a member {info.filename!r} that is encrypted or oddly compressed.")
    size = sum(info.file_size for info in infos)
    text_size = archive.getinfo(DOCUMENT).file_size
    if size > _limit(file_size) or text_size > max(FREE_TEXT, TEXT_EXPANSION * file_size):
        raise DataError(f"{name!r} has {file_size} bytes and says that it unpacks to {size}; it isn't read.")
    text = archive.read(DOCUMENT)
    values = sum(map(text.count, (b",", b"[", b"{")))
    if values * VALUE_SIZE > _limit(file_size):
        raise DataError(f"{name!r} has {file_size} bytes and unpacks to {values} values or more; it isn't read.")
    document = json.loads(text, parse_constant=_no_constant)
    if not isinstance(document, dict):
        raise DataError(f"{name!r} is not a sumwise file: {DOCUMENT!r} contains no object.")
    return document


def _check_header(document: dict[str, Any], kind: str, name: str) -> None:
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise DataError(f"{name!r} is not a sumwise file: its format version is {version!r}.")
    if version > FORMAT:
        raise DataError(
            f"{name!r} has format {version}, written by sumwise {document.get('sumwise')}; "
            f"this is sumwise {__version__}, which reads up to format {FORMAT}.",
            hint="pip install --upgrade sumwise",
        )
    lacking = {"sumwise", "kind", "members", "object", "sha256"} - set(document)
    if lacking or not isinstance(document["members"], dict):
        raise DataError(f"{name!r} is damaged: {DOCUMENT!r} lacks {sorted(lacking) or 'a list of members'}.")
    if document["kind"] != kind:
        raise DataError(f"{name!r} contains a sumwise {document['kind']}; a file of kind {kind!r} was expected.")


def _check_digest(document: dict[str, Any], name: str) -> None:
    if document["sha256"] != _digest({key: part for key, part in document.items() if key != "sha256"}):
        hint = "build the object in Python and save it; files aren't to be edited by hand."
        raise DataError(f"{name!r} was changed after it was saved: its checksum differs.", hint=hint)


def _array(archive: zipfile.ZipFile, document: dict[str, Any], member: Any) -> np.ndarray:
    """Read one ``.npy`` member after its header was found to agree with its size."""
    listed = document["members"].get(member) if isinstance(member, str) else None
    if listed is None or member not in archive.NameToInfo:
        raise DataError(f"The member {member!r} is missing.", hint="copy the file again, or save it again.")
    info = archive.getinfo(member)
    if listed != {"size": info.file_size, "crc32": info.CRC}:
        raise DataError(f"The member {member!r} was changed after it was saved: its checksum differs.")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise DataError(f"The member {member!r} has the unknown .npy version {version}.")
        if dtype.kind not in KINDS:
            raise DataError(f"The member {member!r} contains dtype {dtype}, which sumwise doesn't read: no pickles.")
        n_bytes = math.prod(shape) * max(dtype.itemsize, 1)  # text of no length would be any number of it
        if any(n < 0 for n in shape) or file.tell() + n_bytes != info.file_size:
            raise DataError(f"The member {member!r} says shape {shape} and has {info.file_size} bytes.")
    with archive.open(info) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        file.read(1)  # at its end the zip compares the checksum
    return array


def _name(path: Any) -> str:
    """Return a path as text; what can't be one is refused."""
    name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else None
    if name is None or "\0" in name:
        raise DataError(f"The path is {path!r}.", hint="give the name of a file.")
    return name


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3  # the same on every system
    info.external_attr = 0o644 << 16
    return info


def _compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(_compact(document)).hexdigest()


def _no_constant(text: str) -> Any:
    raise DataError(f"{DOCUMENT!r} contains {text}, which is not JSON.")
