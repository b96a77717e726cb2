"""BucketKey: what the parts of a bucket's key mean, as a small file of TOML or JSON says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError, sentence
from sumwise.io.documents import read_json, read_named, read_toml
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson

NOISES = {"geometric": Geometric, "laplace": Laplace, "gaussian": Gaussian, "poisson": Poisson}
ROLES = ("attribute", "measure", "table")
MEASURES = ("count", "label_sum")
MAX_LEVELS = 2**20


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a key: where it is, and what it says.

    Parameters
    ----------
    name : str
        The attribute; for a measure or a table any name.
    role : {"attribute", "measure", "table"}
        A measure says what the bucket's value is (``count`` or ``label_sum``); a table says which attributes the
        bucket is about, where one report holds several tables.
    bits : (low, high), optional
        Bits of a number, counted from the lowest, ``high`` excluded.
    position : int, optional
        Which piece of a key that is text with separators, from 0.
    column : str, optional
        Which column, where the key is spread over columns.
    values : mapping, optional
        What the raw text of the part stands for: a level; a measure; or a list of attributes.
    size : int, optional
        Number of levels, called 0, 1, ...
    other : str, optional
        Raw text of the bucket of all levels that have none of their own; its level is called ``other``.

    Examples
    --------
    >>> from sumwise.io.formats.bucket_key import Part
    >>> Part("geo", bits=(4, 8)).raw_of_number(0b1010_0011)
    '10'
    """

    name: str
    role: str = "attribute"
    bits: tuple[int, int] | None = None
    position: int | None = None
    column: str | None = None
    values: Mapping[str, Any] | None = None
    size: int | None = None
    other: str | None = None

    def __post_init__(self):
        checks.choice(self.role, f"The role of {self.name!r}", ROLES)
        if self.bits is not None:
            object.__setattr__(self, "bits", _bits(self.name, self.bits))
        if self.position is not None:
            checks.at_least(self.position, f"The position of {self.name!r}", 0)
        object.__setattr__(self, "values", _values(self))
        if self.size is not None:
            checks.at_least(self.size, f"The size of {self.name!r}", 1)
        if self.role != "attribute" and not self.values:
            raise DataError(f"The {self.role} {self.name!r} has no values.", hint="say what each raw value stands for.")
        if self.bits is not None and self.values is None and self.size is None:
            width = self.bits[1] - self.bits[0]
            if 2**width > MAX_LEVELS:
                raise DataError(f"{self.name!r} has {width} bits and no size.", hint="give its size, or its values.")
            object.__setattr__(self, "size", 2**width)

    def raw_of_number(self, number: int) -> str:
        """The part of a key that is a number, as decimal text."""
        low, high = self.bits  # type: ignore[misc]
        return str((number >> low) & ((1 << (high - low)) - 1))


@dataclass(frozen=True, slots=True)
class BucketKey:
    """What a report's keys and values mean.

    Parameters
    ----------
    parts : tuple of Part
        The parts of a key.
    bucket, value : str, default "bucket" and "value"
        The columns (or fields) of the key and of the value; ``bucket`` is None where the key is spread over columns.
    separator : str, optional
        What separates the pieces of a key that is text.
    noise : Noise, default Exact()
        How values were observed.
    factor : float >= 0, default 1
        What counts were multiplied by before noise was added; values and noise are divided by it.
    threshold : number, optional
        Buckets below this were dropped: a bucket that isn't there is unknown, not zero.
    withheld : mapping, optional
        Texts in place of a value, and what they say of it: ``{"*": (0, None)}``. ``<5`` is always understood as 0
        to 4. As values, these are divided by the factor; where there is noise they are limits of the noisy value,
        which say nothing certain of the true one.
    records : str, optional
        The field of a JSON object that holds the list of buckets.

    Examples
    --------
    >>> from sumwise.io.formats.bucket_key import BucketKey
    >>> key = BucketKey.read({"parts": [{"name": "geo", "bits": [0, 4]}], "noise": {"kind": "laplace", "scale": 32}})
    >>> key.noise, key.parts[0].size
    (Laplace(scale=32), 16)
    """

    parts: tuple[Part, ...]
    bucket: str | None = "bucket"
    value: str = "value"
    separator: str | None = None
    noise: Noise = field(default_factory=Exact)
    factor: float = 1.0
    threshold: float | None = None
    withheld: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    records: str | None = None

    def __post_init__(self):
        if not self.parts:
            raise DataError("The key has no parts.", hint="say which bits, pieces or columns are which attribute.")
        checks.unique([p.name for p in self.parts], "parts")
        for role in ("measure", "table"):
            if sum(p.role == role for p in self.parts) > 1:
                raise DataError(f"The key has two parts that say the {role}.")
        if not any(p.role == "attribute" for p in self.parts):
            raise DataError("No part of the key is an attribute.")
        for p in self.parts:
            self._check_place(p)
        ranges = sorted((p.bits, p.name) for p in self.parts if p.bits is not None)
        for (a, name), (b, other) in pairwise(ranges):
            if b[0] < a[1]:
                raise DataError(f"The bits of {name!r} and {other!r} overlap: {a} and {b}.")
        self._check_tables()
        checks.at_least(self.factor, "factor", 0, whole_number=False)
        if self.factor <= 0:
            raise DataError(f"factor is {self.factor!r}; it must be above 0.")
        if self.threshold is not None:
            checks.at_least(self.threshold, "threshold", 0, whole_number=False)

    @property
    def attributes(self) -> tuple[Part, ...]:
        """The parts that are attributes."""
        return tuple(p for p in self.parts if p.role == "attribute")

    def part(self, role: str) -> Part | None:
        """The part with that role, if there is one."""
        return next((p for p in self.parts if p.role == role), None)

    @classmethod
    def read(cls, source: Any) -> BucketKey:
        """A key from a dict, or from a TOML or JSON file."""
        if isinstance(source, BucketKey):
            return source
        data, name = (source, "the key") if isinstance(source, Mapping) else _load(source)
        known = ("parts", "bucket", "value", "separator", "noise", "factor", "threshold", "withheld", "records")
        for k in data:
            checks.known(k, known, f"entry of {name}")
        parts = data.get("parts")
        if not isinstance(parts, list | tuple):
            raise DataError(f"{sentence(name)} has no list of parts.", hint="one [[parts]] per attribute.")
        given: dict[str, Any] = {k: v for k, v in data.items() if k not in ("parts", "noise", "withheld", "bucket")}
        made = tuple(_part(p) for p in parts)
        spread = all(p.column is not None for p in made)
        bucket = data.get("bucket", None if spread else "bucket")
        return cls(made, bucket, noise=_noise(data.get("noise")), withheld=_withheld(data.get("withheld")), **given)

    def _check_place(self, p: Part) -> None:
        places = [w for w in ("bits", "position", "column") if getattr(p, w) is not None]
        if len(places) != 1:
            raise DataError(f"{p.name!r} needs one of bits, position and column; it has {len(places)}.")
        if places == ["position"] and not self.separator:
            raise DataError(f"{p.name!r} has a position, and the key no separator.", hint="give the separator.")
        if places != ["column"] and self.bucket is None:
            raise DataError(f"{p.name!r} is part of a key, and no column contains it.", hint="name the bucket column.")

    def _check_tables(self) -> None:
        table = self.part("table")
        known = [p.name for p in self.attributes]
        for listed in () if table is None else (table.values or {}).values():
            for name in listed:
                checks.known(name, known, "attribute of the key")


def _part(given: Any) -> Part:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise DataError(f"A part of the key is {given!r}.", hint="give it a name, and bits, a position or a column.")
    for k in given:
        checks.known(k, Part.__dataclass_fields__, f"entry of part {given['name']!r}")
    return Part(**dict(given))


def _bits(name: str, given: Any) -> tuple[int, int]:
    if not isinstance(given, list | tuple) or len(given) != 2 or not all(type(b) is int for b in given):
        raise DataError(f"The bits of {name!r} are {given!r}.", hint="give the lowest, and one past the highest.")
    low, high = given
    if not 0 <= low < high <= 4096:
        raise DataError(f"The bits of {name!r} go from {low} to {high}.", hint="0 <= low < high, high excluded.")
    return low, high


def _values(part: Part) -> dict[str, Any] | None:
    given = part.values
    if given is None:
        return None
    if isinstance(given, list | tuple):
        given = {str(i): v for i, v in enumerate(given)} if part.bits else {str(v): v for v in given}
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"The values of {part.name!r} are {given!r}.", hint="map raw values to what they stand for.")
    values = {str(k): v for k, v in given.items()}
    if part.role == "measure":
        for v in values.values():
            checks.choice(v, f"A value of {part.name!r}", MEASURES)
    elif part.role == "table":
        values = {k: tuple([v] if isinstance(v, str) else v) for k, v in values.items()}
    else:
        checks.unique(list(values.values()), f"The values of {part.name!r}")
    return values


def _noise(given: Any) -> Noise:
    if given is None or isinstance(given, Noise):
        return Exact() if given is None else given
    if not isinstance(given, Mapping) or "kind" not in given:
        raise DataError(f"noise is {given!r}.", hint="give its kind and its scale.")
    kind = checks.choice(given["kind"], "The kind of noise", ("exact", *NOISES))
    if kind == "exact":
        return Exact()
    name = "rate" if kind == "poisson" else "scale"
    if set(given) != {"kind", name}:
        raise DataError(f"The noise {kind!r} needs a {name}, and nothing else; it has {sorted(set(given) - {'kind'})}.")
    return NOISES[kind](given[name])


def _withheld(given: Any) -> dict[str, tuple[float, float]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"withheld is {given!r}.", hint="map texts to (low, high), as {'*': (0, 9)}.")
    out = {}
    for text, bounds in given.items():
        if not isinstance(bounds, list | tuple) or len(bounds) not in (1, 2):
            raise DataError(f"withheld {text!r} says {bounds!r}.", hint="give (low, high), or (low,) without a limit.")
        high = float("inf") if len(bounds) == 1 or bounds[1] is None else float(bounds[1])
        if not 0 <= float(bounds[0]) <= high:
            raise DataError(f"withheld {text!r} goes from {bounds[0]} to {high}.")
        out[str(text)] = (float(bounds[0]), high)
    return out


def _load(source: str | PathLike) -> tuple[dict, str]:
    if not isinstance(source, str | PathLike):
        raise DataError(f"The key is of type {type(source).__name__}.", hint="give a dict, or a TOML or JSON file.")
    path = Path(source)
    name = f"the key file {str(path)!r}"
    data = read_named(read_json if path.suffix == ".json" else read_toml, path, "key file")
    if not isinstance(data, dict):
        raise DataError(f"{sentence(name)} contains no entries.")
    return data, name
