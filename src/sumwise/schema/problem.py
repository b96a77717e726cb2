"""Problem: what a problem file says (the noise of counts too), and the line that an error is about."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, SumwiseError, UnknownName
from sumwise.io.documents import parse_toml
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, NegativeBinomial, Noise, Poisson

KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
HEADER = re.compile(r"\s*\[\[?\s*(.*?)\s*\]\]?\s*(#.*)?$")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'')
KEY_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+")

KEYS: dict[str, type] = {  # of the file, and what each holds
    "family": str,
    "title": str,
    "method": str,
    "seed": int,
    "level": float,
    "sensitivity": bool,
    "data": dict,
    "columns": dict,
    "options": dict,
    "names": dict,
    "map": dict,
    "court": dict,
    "pool": bool,
    "answers": dict,
    "contest": list,
}
WORDS = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number such as 0.95",
    bool: "true or false",
    dict: "a table",
    list: "tables, each under [[contest]]",
}

NEGATIVE = ("gaussian", "laplace", "geometric")  # kinds of noise that can make a count negative
NOISES: dict[str, tuple[str, ...]] = {  # kind -> its parameters
    "auto": (),
    "poisson": ("rate",),
    "negative-binomial": ("rate", "dispersion"),
    "exact": (),
    **dict.fromkeys(NEGATIVE, ("sd",)),
    "relative": (),
}


@dataclass(frozen=True)
class Problem:
    """What a problem file says: family, method, seed, files, columns, options.

    Parameters
    ----------
    values : mapping
        As TOML gives it.
    text : str
        The file as written, for line numbers.
    path : Path, optional
        Its path; files are looked for next to it.

    Examples
    --------
    >>> from sumwise.schema.problem import Problem
    >>> p = Problem.parse('family = "ecological"\\n[data]\\nfile = "votes.csv"')
    >>> p.family, p.method, p.seed, p.data
    ('ecological', 'auto', 0, {'file': 'votes.csv'})
    >>> Problem.parse('famly = "ecological"')
    Traceback (most recent call last):
    sumwise.errors.UnknownName: problem, line 1: There is no key 'famly'. Hint: did you mean 'family'?
    """

    values: Mapping[str, Any]
    text: str = ""
    path: Path | None = None
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict, repr=False)
    remarks: list[str] = field(default_factory=list, repr=False)  # what was done to files, for the report
    met: set[str] = field(default_factory=set, repr=False)  # the columns of all files that were opened
    frames: Mapping[str, Any] = field(default_factory=dict, repr=False)  # sources in place of the files of [data]
    family: str = field(init=False, repr=False)  # which family of methods
    title: str | None = field(init=False, repr=False)  # of the report
    method: str = field(init=False, repr=False)  # which method, or "auto"
    seed: int = field(init=False, repr=False)  # of all randomness
    level: float = field(init=False, repr=False)  # of the intervals
    sensitivity: bool = field(init=False, repr=False)  # whether other methods are fitted for comparison
    pool: bool = field(init=False, repr=False)  # whether several contests with the same groups are fitted together
    data: dict[str, Any] = field(init=False, repr=False)  # which files, and how to open them
    columns: dict[str, Any] = field(init=False, repr=False)  # which columns play which part
    options: dict[str, Any] = field(init=False, repr=False)  # parameters of the method

    def __post_init__(self) -> None:
        said = {"family": "", "title": None, "method": "auto", "seed": 0, "level": 0.95, "sensitivity": True}
        for key, default in {**said, "pool": True, "data": {}, "columns": {}, "options": {}}.items():
            object.__setattr__(self, key, self.values.get(key, default))

    @classmethod
    def from_file(cls, path: Any) -> Problem:
        """Read a problem file."""
        path = Path(path)
        if path.is_dir() or not path.exists():
            beside = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
            close = difflib.get_close_matches(path.name, beside, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "sumwise init DATA writes one."
            raise DataError(f"There is no problem file {str(path)!r}.", hint=hint)
        checks.ordinary_file(path)
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{str(path)!r} is not UTF-8.", hint="save it as UTF-8 text.") from None
        return cls.parse(text, path).resolved()

    def resolved(self) -> Problem:
        """The problem with its columns, where the file has answers in their place."""
        if "answers" not in self.values:
            return self
        from sumwise.schema.infer import resolve

        with self.blamed(("answers",)):
            return resolve(self)

    @classmethod
    def parse(cls, text: str, path: Path | None = None) -> Problem:
        """Read the text of a problem file."""
        name = "problem" if path is None else path.name
        try:
            values = parse_toml(text)
        except ValueError as error:
            place = re.search(r"line (\d+)", str(error))
            last = len(text.splitlines())
            words = str(error).partition(" (at ")[0]
            raise DataError(
                f"{name}, line {place[1] if place else last}: this is not valid TOML ({words}).",
                hint='put text in quotes and lists in brackets: groups = ["young", "old"].',
            ) from None
        found = cls(values, text, path, key_lines(text))
        found.check_keys((), values, KEYS)
        for key, given in values.items():
            kind = KEYS[key]
            good = isinstance(given, (float, int) if kind is float else kind)
            if not good or (isinstance(given, bool) and kind is not bool):
                found.fail((key,), f"{key} is {given!r}.", f"give {WORDS[kind]}.")
        if "family" not in values and "answers" not in values:
            found.fail((), "There is no family.", 'such as family = "ecological"; sumwise init DATA suggests one.')
        found.check_keys(("map",), values.get("map", {}), ("file", "key"))
        if found.seed < 0:
            found.fail(("seed",), f"seed is {found.seed}.", "give a whole number, 0 or more.")
        if not 0 < found.level < 1:
            found.fail(("level",), f"level is {float(found.level)!r}.", "give a number between 0 and 1, such as 0.95.")
        return found

    @property
    def name(self) -> str:
        """The name of the file."""
        return "problem" if self.path is None else self.path.name

    @property
    def names(self) -> dict[str, str]:
        """Names to show in place of those of columns."""
        return {str(k): str(v) for k, v in self.values.get("names", {}).items()}

    def file(self, key: str = "file", needed: bool = True) -> Any:
        """A file that [data] names, beside the problem file; an error with its line where it isn't there."""
        if key in self.frames and not isinstance(self.frames[key], (str, PathLike)):
            return self.frames[key]
        given = fspath(self.frames[key]) if key in self.frames else self.data.get(key)
        if given is None:
            if needed:
                self.fail(("data",), f"[data] names no {key}.", f'such as {key} = "votes.csv".')
            return None
        if not isinstance(given, str):
            self.fail(("data", key), f"{key} is {given!r}.", "give the name of a file in quotes.")
        path = Path(given)
        if not path.is_absolute() and self.path is not None:
            path = self.path.parent / path
        if not path.exists():
            near = _nearest_file(path)
            hint = f"did you mean {near!r}?" if near else "files are looked for next to the problem file."
            self.fail(("data", key), f"There is no file {str(path)!r}.", hint)
        with self.blamed(("data", key)):
            checks.ordinary_file(path)
        return path

    def column(self, key: str, needed: bool = False) -> str | None:
        """A column that [columns] names."""
        given = self.columns.get(key)
        if given is None and needed:
            self.fail(("columns",), f"[columns] names no {key}.", f'such as {key} = "NAME".')
        if given is not None and not isinstance(given, str):
            self.fail(("columns", key), f"{key} is {given!r}.", "give one column in quotes.")
        return given

    def column_list(self, key: str, needed: bool = False) -> list[str] | None:
        """Several columns that [columns] names."""
        given = self.columns.get(key)
        if given is None and needed:
            self.fail(("columns",), f"[columns] names no {key}.", f'such as {key} = ["FIRST", "SECOND"].')
        given = [given] if isinstance(given, str) else given
        if given is not None and not (isinstance(given, list) and given and all(isinstance(c, str) for c in given)):
            self.fail(("columns", key), f"{key} is {given!r}.", "give a list of columns in quotes.")
        return given

    def check_keys(
        self, where: tuple[str, ...], given: Mapping[str, Any], known: Any, elsewhere: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse a key that isn't known here, and suggest the nearest, or the table that it belongs to."""
        for key in given:
            table = next((name for name, keys in (elsewhere or {}).items() if key in keys and key not in known), None)
            if table is not None:
                self.fail((*where, key), f"{key} stands under [{where[0]}].", f"it belongs under [{table}].")
            with self.blamed((*where, key)):
                checks.known(key, list(known), f"key in [{where[0]}]" if where else "key")

    def fail(self, key: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise an error that names the line of a key."""
        raise DataError(f"{self.before(key)}{message}", hint=hint)

    def before(self, key: tuple[str, ...]) -> str:
        """What stands before a message: the place of a key; nothing if there is no problem file."""
        return f"{self.place(key)}: " if self.text or self.path is not None else ""

    def place(self, key: tuple[str, ...]) -> str:
        """The file and the line of a key (or of the table that it would stand in)."""
        while key and key not in self.lines:
            key = key[:-1]
        line = self.lines.get(key)
        return self.name if line is None else f"{self.name}, line {line}"

    @contextmanager
    def blamed(self, key: tuple[str, ...] | None = None) -> Iterator[None]:
        """Put the place of a key, or of the first value that the message quotes, before an error's message."""
        try:
            yield
        except SumwiseError as error:
            if error.message.startswith(self.name):
                raise
            if not self.text and self.path is None:
                raise
            place = self.place(key) if key is not None else self._place_of(error.message)
            kind = UnknownName if isinstance(error, UnknownName) else type(error)
            raise kind(f"{place}: {error.message}", hint=error.hint) from error

    def _place_of(self, message: str) -> str:
        start = min((line for key, line in self.lines.items() if key[0] in ("data", "columns", "options")), default=1)
        quoted = re.findall(r"'([^']*)'", message)
        named = {str(self.path.parent / v) if self.path else v: v for v in self.data.values() if isinstance(v, str)}
        quoted = [str(named.get(value, value)) for value in quoted]
        for value in sorted(quoted, key=lambda v: v in named.values()):  # the file comes last: all is about it
            line = value_line(self.text, value, start)
            if line is not None:
                return f"{self.name}, line {line}"
        for key, line in self.lines.items():
            if len(key) == 2 and re.search(rf"\b{re.escape(key[1])}\b is ", message):
                return f"{self.name}, line {line}"
        return self.name


def _nearest_file(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    names = [p.name for p in path.parent.iterdir() if p.is_file() and not p.name.startswith(".")]
    close = difflib.get_close_matches(path.name, names, n=1)
    return close[0] if close else None


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, of every key and table of a TOML text, by its path.

    Examples
    --------
    >>> from sumwise.schema.problem import key_lines
    >>> key_lines('seed = 1\\n[columns]\\ngroups = [\\n  "a",\\n]\\nunit = "p"')
    {('seed',): 1, ('columns',): 2, ('columns', 'groups'): 3, ('columns', 'unit'): 6}
    """
    lines: dict[tuple[str, ...], int] = {}
    where: tuple[str, ...] = ()
    depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = STRING.sub(lambda m: "_" * len(m[0]), line).partition("#")[0]
        if depth == 0:
            header, key = HEADER.match(line), KEY.match(line)
            if header and bare.lstrip().startswith("["):
                where = _path(header[1])
                lines.setdefault(where, number)
                continue
            if key and "=" in bare:
                lines.setdefault((*where, *_path(key[1])), number)
                bare = bare[bare.index("=") :]
        depth = max(0, depth + bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}"))
    return lines


def value_line(text: str, value: str, start: int = 1) -> int | None:
    """Return the first line, from `start` on, that holds a text as a quoted value.

    Examples
    --------
    >>> from sumwise.schema.problem import value_line
    >>> value_line('seed = 1\\ngroups = ["a",\\n "b"]', "b")
    3
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if number >= start and any(found[1:-1] == value for found in STRING.findall(line)):
            return number
    return None


def _path(text: str) -> tuple[str, ...]:
    """The keys of a dotted name, each without the quotes around it, whatever quotes are in it."""
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in KEY_PART.findall(text))


def value(given: Any) -> str:
    """A value as TOML writes it.

    Examples
    --------
    >>> from sumwise.schema.problem import value
    >>> value(["a", 'b "c"']), value(True), value(0.5)
    ('["a", "b \\\\"c\\\\""]', 'true', '0.5')
    """
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (int, float)):
        return repr(given)
    if isinstance(given, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in given.items()) + "}"
    if isinstance(given, (list, tuple)):
        parts = [value(item) for item in given]
        flat = f"[{', '.join(parts)}]"
        return flat if len(flat) < 100 else "[\n" + "".join(f"  {part},\n" for part in parts) + "]"
    return json.dumps(str(given), ensure_ascii=False).replace("\x7f", "\\u007f")


def noise_of(given: Mapping[str, Any], kinds: Any = NOISES) -> Noise | None:
    """The noise of a problem file; None where the counts decide.

    Parameters
    ----------
    given : mapping
        ``noise``, one of `kinds`, and its parameters: ``rate``, ``sd``, ``dispersion``.
    kinds : iterable of str
        Those that are known here.

    Examples
    --------
    >>> from sumwise.schema.problem import noise_of
    >>> noise_of({"noise": "gaussian", "sd": 3.0}), noise_of({})
    (Gaussian(scale=3), None)
    """
    kind = checks.choice(given.get("noise", "poisson" if "rate" in given else "auto"), "noise", tuple(kinds))
    for key in ("rate", "sd", "dispersion"):
        if key in given and key not in NOISES[kind]:
            raise DataError(f"{key} is {given[key]!r} with noise {kind!r}.", hint=f"{kind} noise has no {key}.")
        if key in given:
            checks.positive(given[key], key, ndim=0)
    rate, sd = float(given.get("rate", 1.0)), float(given.get("sd", 1.0))
    made = {
        "poisson": lambda: Poisson(rate),
        "negative-binomial": lambda: NegativeBinomial(rate, float(given.get("dispersion", 0.1))),
        "exact": Exact,
        "gaussian": lambda: Gaussian(sd),
        "laplace": lambda: Laplace(sd / np.sqrt(2)),
        "geometric": lambda: Geometric(sd / np.sqrt(2)),
    }
    return made[kind]() if kind in made else None
