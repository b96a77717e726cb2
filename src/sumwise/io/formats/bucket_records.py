"""The records of a bucketed report, from CSV, JSON, Avro or Parquet files or a frame, with nothing rounded."""

from __future__ import annotations

import csv
import gzip
import json
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise import checks, frames
from sumwise.errors import DataError, MissingExtra
from sumwise.extras import require
from sumwise.io.formats.files import parse_arrow
from sumwise.io.parsers.rows import from_table
from sumwise.io.sandbox import parse
from sumwise.io.sizes import check_packed, decoded_limit, machine_memory

MEMORY_PER_BYTE = 8  # of a value: Python's objects


def bucket_records(source: Any, wanted: list[str], records: str | None = None) -> list[tuple]:
    """The wanted fields of every record, as text, numbers or bytes, as they were written.

    Parameters
    ----------
    source : path or data frame
        ``.csv`` or ``.tsv`` (also with ``.gz``), ``.json``, ``.jsonl``, ``.avro`` or ``.parquet``.
    wanted : list of str
        Fields.
    records : str, optional
        The field of a JSON object that holds the list.

    Examples
    --------
    >>> from sumwise.io.formats.bucket_records import bucket_records
    >>> bucket_records({"bucket": ["0x1"], "value": [12]}, ["bucket", "value"])
    [('0x1', 12)]
    """
    if isinstance(source, dict) or frames.is_frame(source):
        table = frames.to_pandas(source, wanted, what="the report")
        for c in wanted:
            absent = int(table[c].isna().to_numpy().sum())
            if absent:
                raise DataError(f"The report has no {c!r} in {absent} of {len(table)} records.")
        return list(zip(*([checks.plain(x) for x in table[c].tolist()] for c in wanted)))
    if not isinstance(source, str | PathLike):
        raise DataError(f"The report is of type {type(source).__name__}.", hint="give a path or a data frame.")
    path = Path(source)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if ending not in _READERS:
        raise DataError(f"{str(path)!r} has an unknown ending.", hint=f"known: {', '.join(_READERS)}, and .gz.")
    found = _whole(path, ending, records)
    return [_fields(record, wanted, i, path) for i, record in enumerate(found)]


def _whole(path: Path, ending: str, records: str | None) -> list:
    if path.suffix == ".gz":
        check_packed(path)
    try:
        return _READERS[ending](path, records)
    except (DataError, MissingExtra, MemoryError):
        raise
    except Exception as error:  # what the libraries say of damaged bytes is of many kinds
        raise DataError(f"{str(path)!r} can't be read: {error}.", hint="is it complete?") from None


def _fields(record: Any, wanted: list[str], i: int, path: Path) -> tuple:
    if not isinstance(record, dict):
        raise DataError(f"{str(path)!r}: record {i + 1} is not an object: {record!r}.")
    for name in wanted:
        if name not in record or record[name] is None:
            known = ", ".join(repr(k) for k in list(record)[:8])
            raise DataError(f"{str(path)!r}: record {i + 1} has no {name!r}.", hint=f"it has {known}.")
    return tuple(record[name] for name in wanted)


def _text(path: Path) -> Any:
    return gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig")


def _read_csv(path: Path, _: str | None) -> list[dict]:
    with _text(path) as stream:
        reader = csv.DictReader(stream, delimiter="\t" if ".tsv" in path.name else ",", strict=True)
        return [{k: v for k, v in row.items() if v is not None} for row in reader]


def _read_json(path: Path, records: str | None) -> list:
    with _text(path) as stream:
        text = stream.read()
    try:
        data = json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines]  # many programs call a file of lines .json, too
        except ValueError:
            pass
        raise
    if isinstance(data, dict):
        if records is None or records not in data:
            found = "has no list of records" if records is None else f"has no field {records!r}"
            raise DataError(
                f"{str(path)!r} {found}.", hint=f"name it by records=: {', '.join(map(repr, list(data)[:8]))}."
            )
        data = data[records]
    if not isinstance(data, list):
        raise DataError(f"{str(path)!r} contains no list of records.")
    return data


def _read_lines(path: Path, _: str | None) -> list:
    with _text(path) as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _read_avro(path: Path, _: str | None) -> list:
    require("fastavro", extra="avro")
    memory = int(min(MEMORY_PER_BYTE * decoded_limit(path), machine_memory()))
    return from_table(parse("sumwise.io.parsers.avro", path, memory))[1]


def _read_parquet(path: Path, _: str | None) -> list:
    return parse_arrow(path, form="parquet").to_pylist()


_READERS = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".json": _read_json,
    ".jsonl": _read_lines,
    ".avro": _read_avro,
    ".parquet": _read_parquet,
}
