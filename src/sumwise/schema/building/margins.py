"""The schema that the arguments of `Margins.from_frame` say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.formats.margin_sides import named_side
from sumwise.schema.declared import Schema


def margins_schema(
    rows: Sequence | Mapping,
    cols: Sequence | Mapping,
    mismatch: str,
    columns: Mapping[str, Any],
    lists: Mapping[str, Sequence | None],
) -> Schema:
    """What `Margins.from_frame` says of a frame: the two sides, other columns, and lists of columns, by their roles.

    Examples
    --------
    >>> from sumwise.schema.building.margins import margins_schema
    >>> margins_schema({"black": "x", "white": None}, ["yes"], "raise", {"total": "n"}, {}).columns
    {'groups': ['x'], 'outcomes': ['yes'], 'rest_group': 'white', 'total': 'n'}
    """
    groups, outcomes = named_side(rows, "rows"), named_side(cols, "cols")
    if both := ({*groups.values()} & {*outcomes.values()}) - {None}:
        raise DataError(f"Column {sorted(map(str, both))[0]!r} is in rows and in cols.", hint="name it on one side.")
    roles: dict[str, Any] = {}
    for role, named in (("groups", groups), ("outcomes", outcomes)):
        roles[role] = [str(column) for column in named.values() if column is not None]
    for role, named in (("rest_group", groups), ("rest_outcome", outcomes)):
        if None in named.values():
            roles[role] = str(next(name for name, column in named.items() if column is None))
    for role, column in columns.items():
        if column is not None:
            roles[role] = str(checks.name_of_column(column, role))
    for role, listed in lists.items():
        if listed is not None and len(listed):
            roles[role] = [str(column) for column in checks.listing(listed, role)]
    pairs = [(str(c), str(name)) for named in (groups, outcomes) for name, c in named.items() if c is not None]
    return Schema("ecological", {"mismatch": mismatch}, roles, names={c: name for c, name in pairs if c != name})
