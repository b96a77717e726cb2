"""Where the keys of a TOML text stand; tomllib reads the values and forgets their places."""

from __future__ import annotations

import re

KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
HEADER = re.compile(r"\s*\[\[?\s*(.*?)\s*\]\]?\s*(#.*)?$")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'')
PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+)")


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, of every key and table of a TOML text, by its path.

    Examples
    --------
    >>> from sumwise.study.toml_lines import key_lines
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
    >>> from sumwise.study.toml_lines import value_line
    >>> value_line('seed = 1\\ngroups = ["a",\\n "b"]', "b")
    3
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if number >= start and any(found[1:-1] == value for found in STRING.findall(line)):
            return number
    return None


def _path(text: str) -> tuple[str, ...]:
    return tuple(next(part for part in found if part) for found in PART.findall(text) if any(found))
