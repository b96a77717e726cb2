"""Text files before they are read: encoding, separator, header, and where in the file a record stands."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from sumwise.errors import DataError
from sumwise.io.formats.sheet import HEAD as GRID_HEAD
from sumwise.io.formats.sheet import column_names, header_position
from sumwise.io.scratch import scratch_file
from sumwise.io.sizes import check_packed

SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
HEAD = 1 << 20
MOST_ZEROS = 0.9  # of every second byte of UTF-16 in Western scripts, at least
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CP1252 = re.compile(  # as no other encoding has them in a Western text: O’Neil, men’s, “North”, 2 – 3, A–B, €5
    rb"[A-Za-z]\x92(?=[A-Z]|s\b)|\x93[A-Za-z0-9][^\x93\n]*\x94|(?<=[ \d])[\x96\x97](?=[ \d])"
    rb"|[A-Za-z][\x96\x97](?=[A-Z])|\x80(?= ?\d)|(?<=\d)\x80"
)
NOT_CP1252 = re.compile(  # bytes that it lacks, and what stands in no word: a sign between letters, Caf\x8e
    rb"[\x81\x8d\x8f\x90\x9d]|[a-z][\x80\x82-\x89\x8b\x91\x93-\x99\x9b\xa1-\xa9\xab-\xb6\xb8\xb9\xbb-\xbf](?=[a-z])"
    rb"|[a-z][\x8a\x8c\x8e\x9f]|[\xa0-\xff]{4}"
)
WESTERN = {"latin-1": "Latin-1", "cp1252": "Windows-1252 (cp1252)"}
BROKEN = (EOFError, OSError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class TextFile:
    """What was found out about a text file: how to decode it, split it, and name its columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sumwise.io.formats.text import inspect_text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "votes.csv"
    ...     _ = path.write_bytes("unit;Zürich\\n1;2\\n".encode("latin-1"))
    ...     found = inspect_text(path)
    >>> found.separator, found.encoding, found.columns
    (';', 'latin-1', ('unit', 'Zürich'))
    """

    path: Path
    encoding: str
    separator: str
    columns: tuple[str, ...]
    skip: int  # lines before the header
    header: bool = True  # whether the first record holds the names of the columns
    title: str = ""  # what stands above the header
    quote: str = '"'  # what stands around fields
    newline: str | None = None  # what ends a record, where a name holds a line break and so hides it from DuckDB

    def line(self, record: int) -> int:
        """The line, counted from 1, where data record ``record`` (counted from 0) begins."""
        for number, (start, _) in enumerate(self.records()):
            if number == record + self.header:
                return start
        return record + 1 + self.header

    def ragged(self) -> tuple[int, int] | None:
        """The line and the number of fields of the first record that has not one field per column."""
        for start, fields in self.records():
            if len(fields) != len(self.columns):
                return start, len(fields)
        return None

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record from the header on: the line where it begins, counted from 1, and its fields."""
        with _opened(self.path) as stream:
            lines = io.TextIOWrapper(stream, encoding=self.encoding, errors="replace", newline="")
            for _ in range(self.skip):
                lines.readline()
            yield from _numbered(lines, self.separator, self.skip, self.quote)


def _numbered(lines: Any, separator: str, skip: int, quote: str = '"') -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator, quotechar=quote)
    before = 0
    while True:
        try:
            fields = next(reader)
        except (StopIteration, csv.Error):
            return
        if fields:
            yield skip + before + 1, fields
        before = reader.line_num


def inspect_text(
    path: Path, encoding: str | None = None, separator: str | None = None, header: bool = True
) -> TextFile:
    """Find out how a text file is encoded and separated, and read its header.

    Parameters
    ----------
    path : path
        Plain or gzip.
    encoding : str, optional
        Default: by its byte-order mark; else UTF-8; else Latin-1, where no byte speaks against it; else Windows-1252
        (cp1252), where quotes or dashes show it.
    separator : str, optional
        Default: the one of comma, semicolon, tab and bar that the header shows.
    header : bool, default True
        Whether the first record names the columns; else they are called c1, c2, ...
    """
    if not isinstance(header, bool):
        raise DataError(f"header is {header!r}.", hint="give true or false.")
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n'):
        raise DataError(f"separator is {separator!r}.", hint="give one character, such as ';'.")
    with _opened(path) as stream:
        if is_gzip(path):
            check_packed(path)
        head = stream.read(HEAD)
    encoding = _known(encoding) if encoding is not None else _encoding(path, head)
    try:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    except UnicodeError as error:
        raise DataError(
            f"{str(path)!r} is not {encoding}: {error}.", hint="give its encoding, or leave it out."
        ) from error
    lines = list(io.StringIO(text, newline=""))  # as files do; splitlines would split at more signs
    skip = next((i for i, line in enumerate(lines) if line.strip()), None)
    if skip is None:
        raise DataError(f"{str(path)!r} is empty.", hint="give a file with a header and at least one row.")
    named = re.fullmatch(r"sep=(.)\s*", lines[skip])  # a first line that spreadsheets write and heed
    if named:
        separator, skip = separator or named[1], skip + 1
    titles = _title_lines(lines[skip:], SEPARATORS if separator is None else (separator,))
    heading = lines[skip + titles - 1] if titles else ""
    title = " ".join(line.strip(' \t\r\n,;|"') for line in lines[skip : skip + titles]).strip()
    skip += titles
    lines = lines[skip:]
    if separator is None:
        separator = _separator(path, lines)
    quote = "'" if single_quoted(_first(lines, separator)) else '"'
    first = next((fields for _, fields in _numbered(iter(lines), separator, 0, quote)), [])
    above = next(csv.reader([heading], delimiter=separator, quotechar=quote), [])
    columns = (
        column_names(repr(str(path)), first, skip + 1, above)
        if header
        else tuple(f"c{i + 1}" for i in range(len(first)))
    )
    newline = _line_end(lines, separator) if any(set("\r\n") & set(field) for field in first) else None
    return TextFile(path, encoding, separator, columns, skip, header, title, quote, newline)


def _title_lines(lines: list[str], separators: Sequence[str]) -> int:
    """How many lines stand above the header: none where any separator makes a header of the first line."""
    found = []
    for separator in separators:
        records = [record for _, record in zip(range(GRID_HEAD), _numbered(iter(lines), separator, 0))]
        position = header_position([fields for _, fields in records])
        if position == 0:
            return 0
        if position is not None:
            found.append(records[position][0] - 1)
    return found[0] if len(found) == 1 else 0


@contextmanager
def as_utf8(file: TextFile) -> Iterator[TextFile]:
    """Yield the file itself where DuckDB reads it as it is; else a copy: plain UTF-8, from the header on."""
    if file.encoding in ("utf-8", "utf-8-sig") and not file.skip:
        yield file
        return
    with scratch_file("copy.csv") as copy:
        copy_as_utf8(file, copy)
        yield replace(file, path=copy, encoding="utf-8", skip=0)


def copy_as_utf8(file: TextFile, copy: Path) -> None:
    """Write a file as plain UTF-8, from the header on."""
    try:
        with _opened(file.path) as source, copy.open("w", encoding="utf-8", newline="") as target:
            text = io.TextIOWrapper(source, encoding=file.encoding, newline="")
            for _ in range(file.skip):
                text.readline()
            while piece := text.read(HEAD):
                target.write(piece)
    except UnicodeError as error:
        raise DataError(f"{str(file.path)!r} is not {file.encoding}: {error}.", hint="give its encoding.") from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, plain or gzip; a damaged one is refused while they are read."""
    try:
        with gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except BROKEN as error:
        raise DataError(f"{str(path)!r} can't be read: {error}.", hint="is the file complete?") from error


def is_gzip(path: Path) -> bool:
    """Whether a file is packed, by its first bytes."""
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _known(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, TypeError, ValueError):
        raise DataError(f"There is no encoding {encoding!r}.", hint="try 'utf-8', 'latin-1' or 'cp1252'.") from None
    return {"iso8859-1": "latin-1", "utf-8": "utf-8-sig"}.get(name, name)


def _encoding(path: Path, head: bytes) -> str:
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    if b"\x00" in head:
        return _without_mark(path, head)
    if is_utf8(path):
        return "utf-8"
    line = _first_line(path, rb"[\xc2-\xdf][\xa0-\xbf]") if _some_line_decodes(head) else None
    if line is not None:
        raise DataError(
            f"{str(path)!r} mixes encodings: row {line} reads like UTF-8, others don't.",
            hint="save it as UTF-8, or give encoding='latin-1' if it is Latin-1 throughout.",
        )
    # Latin-1 keeps the first for control characters, and no word of its languages has four letters with signs in a row
    line = _first_line(path, rb"[\x80-\x9f]|[\xa0-\xff]{4}")
    if line is not None:
        if _first_line(path, CP1252) is not None and _first_line(path, NOT_CP1252) is None:
            return "cp1252"
        raise DataError(
            f"{str(path)!r} is neither UTF-8 nor Latin-1: see row {line}.",
            hint="give its encoding, such as encoding='cp1252', 'cp1251' or 'gb18030' (sumwise init --encoding).",
        )
    return "latin-1"


def _without_mark(path: Path, head: bytes) -> str:
    """UTF-16 without its mark, where nearly every second byte is 0, as in Western texts; no text else has any."""
    zeros = [head[k::2].count(0) / max(1, len(head[k::2])) for k in (0, 1)]
    for here, there, name in ((*zeros, "utf-16-be"), (*zeros[::-1], "utf-16-le")):
        if here > MOST_ZEROS and there < 1 - MOST_ZEROS:
            return name
    raise DataError(
        f"{str(path)!r} contains zero bytes, which no text file does; the first is in row "
        f"{head[: head.index(0)].count(10) + 1}.",
        hint="is it a complete text file? Give its encoding if you know it (sumwise init --encoding).",
    )


def _some_line_decodes(head: bytes) -> bool:
    """Whether a line beyond ASCII is UTF-8, though the file isn't: it was put together from several."""
    for line in head.split(b"\n"):
        if not line.isascii():
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                continue
            return True
    return False


def is_utf8(path: Path) -> bool:
    """Whether all of a file, plain or gzip, is UTF-8; a damaged one is refused."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(path) as stream:
            while piece := stream.read(HEAD):
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def inspect_bytes(path: Path, encoding: str | None = None) -> tuple[str, str]:
    """The encoding of a text file, plain or gzip, and its text."""
    with _opened(path) as stream:
        if is_gzip(path):
            check_packed(path)
        data = stream.read()
    encoding = _known(encoding) if encoding is not None else _encoding(path, data[:HEAD])
    try:
        return encoding, data.decode(encoding)
    except UnicodeError as error:
        raise DataError(f"{str(path)!r} is not {encoding}: {error}.", hint="give its encoding.") from error


def encoding_remark(path: Path, encoding: str) -> tuple[str, ...]:
    """A note on an encoding that nothing but its bytes showed, with the first text that depends on it."""
    if encoding not in WESTERN:
        return ()
    line = _first_line(path, rb"[\x80-\xff]")
    with _opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, errors="replace")
        words = next((t for k, t in enumerate(text, start=1) if k == line), "")
    shown = next((f": row {line} has {w[:40]!r}" for w in re.split(r"[,;\t|]", words.strip()) if not w.isascii()), "")
    return (f"{path.name} is not UTF-8 and was read as {WESTERN[encoding]}{shown}.",)


def warn_encoding(file: TextFile) -> None:
    """Warn of an encoding that nothing but its bytes showed."""
    for remark in encoding_remark(file.path, file.encoding):
        warnings.warn(remark, UserWarning, stacklevel=2)


def _first_line(path: Path, pattern: bytes | re.Pattern[bytes]) -> int | None:
    """The line with the first bytes that fit a pattern."""
    before = 1
    with _opened(path) as stream:
        while piece := stream.read(HEAD):
            found = re.search(pattern, piece)
            if found:
                return before + piece[: found.start()].count(b"\n")
            before += piece.count(b"\n")
    return None


def _separator(path: Path, lines: list[str]) -> str:
    """The one separator that the header shows; where it shows several, the one that splits the rows evenly."""
    shown = [s for s in SEPARATORS if len(_first(lines, s)) > 1]
    if len(shown) <= 1:
        return shown[0] if shown else ","
    even = []
    for s in shown:
        records = [fields for _, (_, fields) in zip(range(51), _numbered(iter(lines), s, 0))]
        if len(records) > 1 and len({len(fields) for fields in records}) == 1:
            even.append(s)
    if len(even) == 1:
        return even[0]
    possible = " and ".join(NAMES[s] for s in (even or shown))
    raise DataError(f"{str(path)!r} may be separated by {possible}.", hint="say which: separator=';'.")


def single_quoted(fields: Sequence[str]) -> bool:
    """Whether every field of the first record stands in single quotes, as all fields of such files do."""
    return len(fields) > 1 and all(len(f) > 2 and f[0] == f[-1] == "'" for f in map(str.strip, fields))


def _first(lines: list[str], separator: str) -> list[str]:
    return next((fields for _, fields in _numbered(iter(lines), separator, 0)), [])


def _line_end(lines: list[str], separator: str) -> str:
    """What ends the first record, which may span several lines."""
    reader = csv.reader(iter(lines), delimiter=separator)
    next(reader)
    last = lines[reader.line_num - 1]
    return last[len(last.rstrip("\r\n")) :] or "\n"
