"""The ledger: a file that keeps what was spent, read strictly, written under a lock, one for each set of tables.

Which ledger tables, and the files that their rows came from, are released from is noted in a file of the user,
``ledgers.json`` in the folder that ``SUMWISE_STATE`` names, else ``XDG_STATE_HOME/sumwise`` or
``~/.local/state/sumwise``: a copied folder, other tables of the same rows, a second ledger, or one that has lost
entries or allows more than it did, is refused. This guards against mistakes. Whoever holds
the exact tables can release them elsewhere, or remove these notes; no file could prevent it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.documents import file_digest, read_json
from sumwise.io.locks import open_lock
from sumwise.io.writer import make_folder, write_text
from sumwise.table import Table
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

UNITS = ("epsilon", "rho", "mu")
NEEDED = {"epsilon", "delta", "entries"}  # of a ledger's file; newer ones also have an id


@dataclass(frozen=True, slots=True)
class LedgerContents:
    """What a ledger's file holds."""

    epsilon: float
    delta: float
    entries: list[dict[str, Any]]
    id: str | None = None


def real_path(path: Any) -> Path:
    """The path of a ledger without links to its folder; a ledger that is itself a link is refused."""
    try:
        if "\0" in os.fspath(path):
            raise ValueError("it has a zero character")
        found = Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        linked, there = os.path.islink(found), found.exists()
    except (TypeError, ValueError, OSError) as error:
        raise DataError(f"{str(path)!r} can't be the name of a budget file: {error}.") from None
    if linked:
        raise DataError(
            f"The budget file {str(path)!r} is a link to {os.path.realpath(found)!r}: nothing is written through it.",
            hint="name the ledger itself.",
        )
    if found.is_dir():
        raise DataError(f"The budget file {str(path)!r} is a folder.", hint="name a file in it, as budget.json.")
    if there and not found.is_file():
        raise DataError(f"The budget file {str(path)!r} is a pipe or a device.", hint="name an ordinary file.")
    if there and os.stat(found).st_nlink > 1:
        raise DataError(
            f"The budget file {str(path)!r} has a second name (a hard link), which would keep the old entries.",
            hint="remove the other name.",
        )
    return found


def beside(rows: str) -> Path:
    """The ledger of a file of rows, which lies beside it; links to the file have no other one.

    Examples
    --------
    >>> from sumwise.privacy.ledger import beside
    >>> beside("nowhere/people.csv").name
    'people.csv.budget.json'
    """
    there = os.path.realpath(rows) if os.path.exists(rows) else rows.rstrip("/")
    return Path(f"{there}.budget.json")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file for one program; the system lets go when the program ends, however it ends."""
    make_folder(path.parent)
    with open_lock(path.with_name(f".{path.name}.lock")) as lock:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read(path: Path) -> LedgerContents:
    """Epsilon, delta and entries of a ledger; anything that isn't exactly that is an error."""
    try:
        data = read_json(path, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
        if not isinstance(data, dict) or not NEEDED <= set(data) <= {*NEEDED, "id"}:
            raise ValueError("it must contain epsilon, delta and entries")
        if not isinstance(data["entries"], list):
            raise ValueError("entries must be a list")
        if not isinstance(data.get("id", ""), str):
            raise ValueError("id must be text")
        epsilon, delta = _number(data["epsilon"], "epsilon"), _number(data["delta"], "delta", least=0.0)
        return LedgerContents(epsilon, delta, [_entry(e) for e in data["entries"]], data.get("id"))
    except (OSError, ValueError, OverflowError) as error:
        raise DataError(
            f"The budget file {str(path)!r} can't be read: {error}.",
            hint="restore it from a copy: what was spent stays spent, and a new ledger would forget it.",
        ) from None


def write(path: Path, kept: LedgerContents) -> None:
    """Write a ledger whole, in place of the old one and with its mode."""
    data = {"epsilon": kept.epsilon, "delta": kept.delta, "entries": kept.entries, "id": kept.id}
    _write_json(path, data)


def new_id() -> str:
    """An identifier for a new ledger."""
    return secrets.token_hex(16)


def fingerprints(tables: Tables) -> list[str]:
    """Hashes of exact tables: of all together, of each (in any order of its attributes), and of the files that their
    rows came from. Copies have the same. Keep them with the exact tables, never with a release.
    """
    turned = (t.transpose(sorted(t.attributes)) for t in tables)
    every = _fingerprint(sorted(tables, key=lambda t: t.attributes))
    return [every, *(_fingerprint([t]) for t in turned), *tables.provenance.sources]


def _fingerprint(tables: Sequence[Table]) -> str:
    digest = hashlib.sha256()
    for t in tables:
        digest.update(json.dumps([t.attributes, t.shape]).encode())
        for array in t.filled():
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def source_digests(source: Any) -> list[str]:
    """Hashes of the rows behind a release: of a file or folder, or of a frame."""
    if isinstance(source, str | os.PathLike):
        digest = file_digest(os.fspath(source))
        return [] if digest is None else [digest]
    from sumwise import frames

    return [rows_fingerprint(frames.to_pandas(source))]


def rows_fingerprint(frame: pd.DataFrame) -> str:
    """A hash of rows in any order; copies have the same. Keep it with the rows, never with a release."""
    from pandas.core.util.hashing import hash_pandas_object

    digest = hashlib.sha256(json.dumps([str(c) for c in sorted(frame.columns)]).encode())
    mixed = [c for c in frame.columns if frame[c].dtype == object]
    text = frame.assign(**{c: frame[c].map(_plain_text) for c in mixed})[sorted(frame.columns)].astype(str)
    keys = hash_pandas_object(text, index=False).to_numpy()
    digest.update(np.sort(keys).tobytes())
    return digest.hexdigest()


def _plain_text(value: Any) -> str:
    """A value as text that can be encoded, whatever it is."""
    return str(value).encode("utf-8", "backslashreplace").decode()


@contextmanager
def registered(data: Sequence[str], path: Path, before: LedgerContents, after: LedgerContents) -> Iterator[None]:
    """Spend inside this context, which notes afterwards which ledger the data were released from.

    Refuses data of which any part was released from another ledger, from a copy, or from one that has since lost
    entries.
    """
    if not data:
        yield
        return
    place = _state_folder() / "ledgers.json"
    note = {"ledger": str(path), "id": after.id, "entries": len(after.entries), "digest": _digest(after)}
    try:
        make_folder(place.parent)
        writable = os.access(place.parent, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        warnings.warn(
            f"Which ledger these data are released from can't be noted in {str(place)!r}: a copy of their folder "
            "could spend again unnoticed. Hint: set SUMWISE_STATE to a folder that can be written.",
            stacklevel=5,
        )
        _refuse_known(data, _noted_ledgers(place), path, before)
        yield
        return
    with locked(place):
        known = _noted_ledgers(place)
        _refuse_known(data, known, path, before)
        yield
        _write_json(place, known | dict.fromkeys(data, note))


def _refuse_known(data: Sequence[str], known: dict[str, dict[str, Any]], path: Path, before: LedgerContents) -> None:
    for name in data:
        if name in known:
            _refuse_second(known[name], path, before.id)
            _refuse_edited(known[name], path, before)


def _refuse_second(first: dict[str, Any], path: Path, identity: str | None) -> None:
    known = Path(first["ledger"])
    if first["id"] == identity and (not known.exists() or (path.exists() and known.samefile(path))):
        return  # the ledger was moved, with its entries, or is mounted at a second place
    if known == path and not path.exists():
        raise DataError(
            f"The ledger {str(path)!r}, from which these data or other tables of the same rows were released, is gone.",
            hint="restore it: what was spent stays spent. Rows of other people belong in a file of their own.",
        )
    why = "a copy of" if first["id"] == identity else "another than"
    raise DataError(
        f"The ledger {str(path)!r} is {why} the one that these data, or other tables of the same rows, were released "
        f"from, {first['ledger']!r}.",
        hint=f"spend from that one: --budget {first['ledger']!r}. If it is lost, so is the count of what was spent. "
        "Rows of other people belong in a file of their own.",
    )


def _refuse_edited(first: dict[str, Any], path: Path, now: LedgerContents) -> None:
    noted = first.get("entries", 0)  # none in notes of earlier versions
    word = "entry" if noted == 1 else "entries"
    if noted and (len(now.entries) < noted or _digest(now, noted) != first["digest"]):
        raise DataError(
            f"The ledger {str(path)!r} was changed, or is an older one: it had {noted} {word} when these data were "
            "last released, and what it had then, with what it may spend in all, is not in it now.",
            hint="restore the newest copy of it: what was spent stays spent.",
        )


def _digest(kept: LedgerContents, n: int | None = None) -> str:
    """A hash of what a ledger allows and of its first n entries."""
    content = json.dumps([kept.epsilon, kept.delta, kept.entries[:n]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _noted_ledgers(place: Path) -> dict[str, dict[str, Any]]:
    closed = os.path.isdir(place.parent) and not os.access(place.parent, os.X_OK)
    if closed or (os.path.exists(place) and not os.access(place, os.R_OK)):
        raise DataError(
            f"The notes on ledgers in {str(place)!r} can't be read, so what was spent on these data isn't known.",
            hint="restore their permissions.",
        )
    if not os.path.exists(place):
        return {}
    try:
        known = read_json(place, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
        if all(set(v) in ({"ledger", "id"}, {"ledger", "id", "entries", "digest"}) for v in known.values()):
            return known
    except (ValueError, AttributeError, TypeError):
        pass
    raise DataError(f"The notes on ledgers in {str(place)!r} are damaged.", hint="restore them from a copy.")


def _state_folder() -> Path:
    given = os.environ.get("SUMWISE_STATE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "sumwise"


def _write_json(path: Path, data: Any) -> None:
    write_text(path, json.dumps(data, indent=1), private=True)


def _entry(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError("an entry must have a name, a loss and a time")
    which = [k for k in UNITS if k in given]
    if len(which) != 1 or set(given) - {"delta"} != {"what", "when", which[0]}:
        raise ValueError("an entry must have what, when, and one of epsilon, rho and mu")
    own = {"delta": _number(given["delta"], "delta")} if "delta" in given else {}
    if not isinstance(given["what"], str) or not isinstance(given["when"], str):
        raise ValueError("what and when must be text")
    return {"what": given["what"], which[0]: _number(given[which[0]], which[0]), **own, "when": given["when"]}


def _number(value: Any, name: str, least: float = 5e-324) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise ValueError(f"{name} is {value!r}, which is not a loss")
    return float(value)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({k for k, _ in pairs}) < len(pairs):
        raise ValueError("a name is in it twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"it contains {name}")
