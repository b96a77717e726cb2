"""Rows of a CSV file that no other row changes: a line is a row, read by itself.

Quotes that open a value in one line and close it in another would let one stray quote decide where all later rows
begin, and one byte of another encoding, or one other line end, how the whole file is read. So a value ends with its
line; quotes that don't close are text; and bytes that are not UTF-8 are Windows-1252, in their own line alone.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sumwise import checks
from sumwise.errors import DataError, UnknownName

SIGNS = (",", ";", "\t", "|")
BLOCK = 2**22  # bytes that are read at once
LONGEST = 2**20  # bytes of a line; a longer one is no row (DuckDB itself stops at 2**21)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # first bytes
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}  # first bytes


def header_of(path: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The sign between the fields of a CSV file's first line, and their names: the sign by which it has the columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.aggregate.csv_lines import header_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rows.csv")
    ...     _ = file.write_text("age;town\\n17;Bern\\n")
    ...     header_of(str(file), ["town"])
    (';', ['age', 'town'])
    """
    first = next(_blocks(path), b"").partition(b"\n")[0].removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
    line = _utf8(first).decode()
    split = {sign: next(csv.reader([line], delimiter=sign), []) for sign in SIGNS}
    sign = next((s for s, names in split.items() if set(columns) <= set(names)), SIGNS[0])
    missing = [c for c in columns if c not in split[sign]]
    if missing:  # what the first line has instead may be somebody's row
        raise UnknownName(
            f"The first line of {path!r} has no column {missing[0]!r}.",
            hint="the first line of a CSV file names its columns.",
        )
    return sign, list(checks.unique(split[sign], f"The header of {path!r}"))


def write_plain(path: str, copy: Path, sign: str, n_fields: int) -> None:
    """Copy the rows of a CSV file, plain or packed, without its header, so that each line is one row to any reader.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.aggregate.csv_lines import write_plain
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, copy = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "copy.csv")
    ...     _ = file.write_bytes(b'age,town\\r\\n17,"Bern\\r\\n18,B\\xe2le\\n19,"Rome"\\n')
    ...     write_plain(str(file), copy, ",", 2)
    ...     copy.read_text("utf-8").splitlines()
    ['"17","\"\"Bern"', '18,Bâle', '19,"Rome"']
    """
    well_formed, field = _patterns(sign.encode())
    with copy.open("wb") as out:
        for i, block in enumerate(_blocks(path)):
            rows = block.partition(b"\n")[2] if i == 0 else block
            rows = rows.replace(b"\r\n", b"\n")
            if n_fields > 1 and _is_plain(rows):
                out.write(rows)
                continue
            for line in rows.split(b"\n"):
                text = _utf8(line)
                if len(line) <= LONGEST and text:
                    row = text if well_formed.fullmatch(text) else _quoted(text, sign.encode(), n_fields, field)
                    out.write(row + b"\n")


def _patterns(sign: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A line that needs no change, and one field of any line: quoted, else whatever stands before the next sign."""
    sign = re.escape(sign)
    plain = b'(?:"(?:[^"\r\0]|"")*+"|[^"' + sign + b"\r\0]*+)"
    field = b' *+"((?:[^"]|"")*+)" *+(?=' + sign + b"|$)|([^" + sign + b"]*+)"
    return re.compile(plain + b"(?:" + sign + plain + b")*+"), re.compile(field)


def _quoted(line: bytes, sign: bytes, n_fields: int, field: re.Pattern[bytes]) -> bytes:
    """A line with every value in quotes; an empty one if it has other than so many fields."""
    values, at = [], 0
    while at <= len(line) and len(values) <= n_fields:
        found = field.match(line, at)
        assert found is not None  # the second form takes any text
        values.append(found[2].replace(b'"', b'""') if found[1] is None else found[1])
        at = found.end() + 1
    if len(values) != n_fields:
        return b""
    return sign.join(b'"' + v.replace(b"\r", b" ").replace(b"\0", b" ") + b'"' for v in values)


def _is_plain(rows: bytes) -> bool:
    """Whether all lines need no change, as in most files."""
    step = LONGEST // 2  # a line of more than LONGEST covers one of these parts
    long = any(rows.find(b"\n", i, i + step) < 0 for i in range(0, len(rows) - step + 1, step))
    return not (long or b'"' in rows or b"\r" in rows or b"\0" in rows) and _decoded(rows)


def _decoded(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _utf8(line: bytes) -> bytes:
    line = line.removesuffix(b"\r")
    return line if _decoded(line) else line.decode("cp1252", "replace").encode()


def _blocks(path: str) -> Iterator[bytes]:
    """The bytes of a file in blocks of whole lines; of a line that is too long, no more than shows that."""
    import pyarrow as pa

    rest = b""
    try:
        with open(path, "rb") as raw:
            packed = PACKED.get(raw.read(2))
        with pa.input_stream(path, compression=packed) as stream:
            piece = stream.read(BLOCK)
            wide = codecs.getincrementaldecoder("utf-16")("replace") if piece[:2] in UTF_16 else None
            while piece:
                rest += piece if wide is None else wide.decode(piece).encode("utf-8", "replace")
                piece = stream.read(BLOCK)
                end = rest.rfind(b"\n") + 1
                if end:
                    yield rest[:end]
                rest = rest[end:][: LONGEST + 1]
    except OSError as error:
        raise DataError(f"{path!r} can't be read: {error.strerror or 'it is damaged'}.") from None
    if rest:
        yield rest
