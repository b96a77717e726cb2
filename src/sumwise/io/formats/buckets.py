"""Bucketed reports to Tables: one row per bucket key and value, as measurement APIs, clean rooms and offices send
them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats.bucket_key import BucketKey, Part
from sumwise.io.formats.bucket_records import bucket_records
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson, Summed
from sumwise.table import Table
from sumwise.tables import Tables

BELOW = re.compile(r"<\s*(\d+)")


def read_buckets(
    source: Any,
    key: Any,
    *,
    absent: str | None = None,
    n: float | None = None,
    label: str | None = None,
    duplicates: str = "raise",
) -> Tables:
    """Read a bucketed report: one row per bucket, its key made of parts that are attributes.

    Parameters
    ----------
    source : path or data frame
        CSV, JSON (a list, lines, or an object with a list), Avro or Parquet.
    key : BucketKey, dict, or TOML or JSON file
        Which bits, pieces or columns of a key are which attribute; which column is the value; noise, factor,
        threshold, texts of withheld values. See :class:`~sumwise.io.formats.bucket_key.BucketKey`.
    absent : {"zero", "unobserved", "raise"}, optional
        What a bucket means that isn't there. Default: unobserved where the key has a threshold or noise, else an
        error. An unobserved count below an exact threshold keeps its bounds.
    n : float, optional
        Size of the population, where it is known.
    label : str, optional
        What the label sums count.
    duplicates : {"raise", "sum"}
        What to do with two buckets of one cell: an error, or their sum, whose noise is that of as many draws.

    Returns
    -------
    Tables
        One table, or one per set of attributes where the key has a part that says the table.

    See Also
    --------
    read_tables : Tables of counts from a file.

    Notes
    -----
    A key of bits is a number: decimal text, hexadecimal text that begins with ``0x``, a whole number, or bytes, the
    highest first. Geometric noise that was added after scaling by a factor other than 1 moves in steps of one
    over that factor; it is described as Laplace noise of the same scale.

    Examples
    --------
    >>> from sumwise.io.formats import read_buckets
    >>> key = {
    ...     "parts": [
    ...         {"name": "geo", "bits": [0, 1], "values": ["north", "south"]},
    ...         {"name": "ad", "bits": [1, 2]},
    ...         {"name": "what", "role": "measure", "bits": [2, 3], "values": {"0": "count", "1": "label_sum"}},
    ...     ],
    ...     "noise": {"kind": "laplace", "scale": 4.0},
    ... }
    >>> report = {"bucket": ["0x0", "0x1", "0x2", "0x3", "0x4"], "value": [40, 31, 22, 8, 7]}
    >>> table = read_buckets(report, key, label="sale")["geo", "ad"]
    >>> table.counts
    array([[40., 22.],
           [31.,  8.]])
    >>> table.label_sums
    array([[ 7., nan],
           [nan, nan]])
    """
    spec = BucketKey.read(key)
    checks.choice(duplicates, "duplicates", ("raise", "sum"))
    absent = _absent(absent, spec)
    columns = [p.column for p in spec.parts if p.column is not None]
    wanted: list[str] = list(dict.fromkeys([*([spec.bucket] if spec.bucket else []), spec.value, *columns]))
    rows = [dict(zip(wanted, r)) for r in bucket_records(source, wanted, spec.records)]
    if not rows:
        raise DataError("The report has no buckets.", hint="is it the right file?")
    _check_other_bits(rows, spec)
    buckets = [_bucket(row, i, spec) for i, row in enumerate(rows)]
    domain = Domain({p.name: _levels(p, buckets) for p in spec.attributes})
    groups: dict[tuple[str, ...], list[_Bucket]] = {}
    for b in buckets:
        groups.setdefault(b.table, []).append(b)
    tables = [_table(attributes, found, domain, spec, absent, duplicates) for attributes, found in groups.items()]
    labelled = any(t.label_sums is not None for t in tables)
    return Tables(tables, domain, n, label if labelled else None)


@dataclass(frozen=True, slots=True)
class _Bucket:
    row: int
    table: tuple[str, ...]
    measure: str
    raw: dict[str, str]
    value: float
    bounds: tuple[float, float] | None


def _absent(given: str | None, spec: BucketKey) -> str:
    if given is None:
        return "unobserved" if spec.threshold or not isinstance(spec.noise, Exact) else "raise"
    checks.choice(given, "absent", ("zero", "unobserved", "raise"))
    if given == "zero" and spec.threshold:
        raise DataError(
            f"Buckets below {spec.threshold:g} were dropped, so a bucket that isn't there is not zero.",
            hint="leave absent out: such buckets are unobserved.",
        )
    return given


def _check_other_bits(rows: list[dict[Any, Any]], spec: BucketKey) -> None:
    """Bits that no part names say nothing, and so must be the same in all keys."""
    named = sum((1 << p.bits[1]) - (1 << p.bits[0]) for p in spec.parts if p.bits is not None)
    if not named:
        return
    first = _number(rows[0][spec.bucket], 0)
    for i, row in enumerate(rows):
        number = _number(row[spec.bucket], i)
        if (number ^ first) & ~named:
            raise DataError(
                f"Buckets 1 and {i + 1} have the keys {first:#x} and {number:#x}, "
                "which differ in bits that no part has.",
                hint="add a part for these bits, or keep the buckets of one kind.",
            )


def _bucket(row: dict[Any, Any], i: int, spec: BucketKey) -> _Bucket:
    raw: dict[str, str] = {}
    number = pieces = None
    for p in spec.parts:
        if p.column is not None:
            raw[p.name] = _text(row[p.column])
        elif p.bits is not None:
            number = _number(row[spec.bucket], i) if number is None else number
            raw[p.name] = p.raw_of_number(number)
        else:
            pieces = _text(row[spec.bucket]).split(spec.separator) if pieces is None else pieces
            if p.position >= len(pieces):  # type: ignore[operator]
                raise DataError(f"Bucket {i + 1} has {len(pieces)} pieces; {p.name!r} is piece {p.position}.")
            raw[p.name] = pieces[p.position].strip()  # type: ignore[index]
    measure, table = spec.part("measure"), spec.part("table")
    value, bounds = _value(row[spec.value], i, spec)
    what = "count" if measure is None else _known(measure, raw[measure.name], i)
    attributes = tuple(p.name for p in spec.attributes)
    if table is not None:
        attributes = tuple(_known(table, raw[table.name], i))
    return _Bucket(i, attributes, what, raw, value, bounds)


def _text(given: Any) -> str:
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given).strip()


def _number(given: Any, i: int) -> int:
    if isinstance(given, bytes):
        return int.from_bytes(given, "big")
    text = str(given).strip()
    try:
        if isinstance(given, float):
            raise ValueError("fractions and large numbers as floats are not exact")
        number = int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError as error:
        raise DataError(
            f"Bucket {i + 1} has the key {given!r}, which is not a whole number: {error}.", hint="keep keys as text."
        ) from None
    if number < 0:
        raise DataError(f"Bucket {i + 1} has the key {given!r}, which is negative.")
    return number


def _value(given: Any, i: int, spec: BucketKey) -> tuple[float, tuple[float, float] | None]:
    text = _text(given)
    below = BELOW.fullmatch(text)
    if text in spec.withheld or below:
        if not isinstance(spec.noise, Exact):  # a limit of the noisy value is none of the true one
            return math.nan, None
        if text in spec.withheld:
            low, high = spec.withheld[text]
            return math.nan, (low / spec.factor, high / spec.factor)
        return math.nan, (0.0, _largest_below(int(below[1]), spec))  # type: ignore[index]
    try:
        value = float(text)
    except ValueError:
        raise DataError(
            f"Bucket {i + 1} has the value {given!r}.", hint="say what it means by withheld=, as {'*': (0, 9)}."
        ) from None
    if not math.isfinite(value):
        raise DataError(f"Bucket {i + 1} has the value {given!r}.", hint="leave it out, or withhold it by a text.")
    return value / spec.factor, None


def _largest_below(limit: float, spec: BucketKey) -> float:
    """The largest whole count whose value, multiplied by the factor, is below a limit."""
    return float(max(math.ceil(limit / spec.factor) - 1, 0))


def _known(part: Part, raw: str, i: int) -> Any:
    values = part.values or {}
    if raw not in values:
        known = ", ".join(map(repr, list(values)[:8]))
        raise UnknownName(f"Bucket {i + 1} has {raw!r} as {part.name!r}.", hint=f"the key knows {known}.")
    return values[raw]


def _levels(part: Part, buckets: list[_Bucket]) -> list:
    levels: list[Any]
    if part.values is not None:
        levels = list(part.values.values())
    elif part.size is not None:
        levels = list(range(part.size))
    else:
        seen = {b.raw[part.name] for b in buckets if part.name in b.table} - {part.other}
        whole = bool(seen) and all(re.fullmatch(r"0|[1-9]\d{0,15}", s) for s in seen)
        levels = sorted(map(int, seen)) if whole else sorted(seen)
    if part.other is not None:
        if "other" in levels:
            raise DataError(f"{part.name!r} has a level 'other' besides its bucket {part.other!r}.")
        levels.append("other")
    return levels


def _code(part: Part, raw: str, places: dict, i: int) -> int:
    if part.other is not None and raw == part.other:
        return places["other"]
    level: Any = raw
    if part.values is not None:
        level = _known(part, raw, i)
    elif part.size is not None or raw not in places:
        level = int(raw) if raw.isdigit() else raw
    if level not in places:
        raise UnknownName(
            f"Bucket {i + 1} has {raw!r} as {part.name!r}, beyond its {len(places)} levels.",
            hint="correct the key's size.",
        )
    return places[level]


def _table(
    attributes: tuple, buckets: list[_Bucket], domain: Domain, spec: BucketKey, absent: str, duplicates: str
) -> Table:
    parts = [p for p in spec.attributes if p.name in attributes]
    shape = tuple(domain[p.name] for p in parts)
    places = {p.name: {level: k for k, level in enumerate(domain.levels(p.name))} for p in parts}
    measures = {m: np.full(shape, 0.0 if absent == "zero" else np.nan) for m in ("count", "label_sum")}
    low, high = np.zeros(shape), np.full(shape, np.inf)
    if spec.threshold and isinstance(spec.noise, Exact):
        high[...] = _largest_below(spec.threshold, spec)
    seen: dict[tuple, int] = {}
    draws = {m: np.zeros(shape) for m in measures}
    for b in buckets:
        cell = tuple(_code(p, b.raw[p.name], places[p.name], b.row) for p in parts)
        again = (b.measure, cell) in seen
        if again and duplicates == "raise":
            raise DataError(
                f"Buckets {seen[b.measure, cell] + 1} and {b.row + 1} are the same cell.",
                hint="add them up first, or say duplicates='sum'.",
            )
        seen.setdefault((b.measure, cell), b.row)
        measures[b.measure][cell] = b.value + (measures[b.measure][cell] if again else 0.0)
        draws[b.measure][cell] += 1
        if b.measure == "count":
            known = (0.0, np.inf) if np.isnan(b.value) else (b.value, b.value)
            least, most = b.bounds if b.bounds is not None else known
            low[cell], high[cell] = (low[cell] + least, high[cell] + most) if again else (least, most)
    counts, sums = measures["count"], measures["label_sum"]
    if absent == "raise":
        _refuse_absent(attributes, counts.size, seen)
    labelled = any(m == "label_sum" for m, _ in seen)
    bounds = (low, high) if np.isfinite(high[np.isnan(counts)]).any() else None
    names = tuple(p.name for p in parts)
    noise = _scaled(spec.noise, spec.factor)
    of_counts = _repeated(noise, draws["count"])
    of_sums = _repeated(noise, draws["label_sum"]) if labelled else of_counts
    label_noise = None if not labelled or of_sums == of_counts else of_sums
    return Table(names, counts, sums if labelled else None, of_counts, bounds, label_noise)


def _repeated(noise: Noise, draws: np.ndarray) -> Noise:
    """The noise of sums of several buckets of one cell."""
    times = draws[draws > 0]
    if isinstance(noise, Exact | Poisson) or not len(times) or times.max() == 1:
        return noise
    if isinstance(noise, Gaussian):
        return Gaussian(noise.scale * np.sqrt(np.maximum(draws, 1)))
    if times.min() == times.max() and isinstance(noise, Laplace | Geometric) and not np.ndim(noise.scale):
        return Summed(noise, int(times.max()))
    raise DataError(
        f"Cells have {int(times.min())} to {int(times.max())} buckets each; sums of {noise!r} then have no one noise.",
        hint="read reports of equal parts one by one, and add them by Tables.combine.",
    )


def _refuse_absent(attributes: tuple, size: int, seen: dict) -> None:
    for measure in {m for m, _ in seen}:
        missing = size - sum(m == measure for m, _ in seen)
        if missing:
            raise DataError(
                f"{missing} of {size} buckets of {' x '.join(map(repr, attributes))} are not there ({measure}).",
                hint="say what that means: absent='zero' or 'unobserved', or a threshold in the key.",
            )


def _scaled(noise: Noise, factor: float) -> Noise:
    if factor == 1 or isinstance(noise, Exact):
        return noise
    if isinstance(noise, Geometric | Laplace):
        return Laplace(noise.scale / factor)
    if isinstance(noise, Gaussian):
        return Gaussian(noise.scale / factor)
    raise DataError(f"{noise!r} can't be divided by a factor of {factor:g}.", hint="Poisson counts come as they are.")
