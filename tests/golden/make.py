"""Compute golden answers again: `python tests/golden/make.py KEY`, once changes.toml says why the answer changes.

Without a key it computes those that have no answer yet. The first answers were made by the code before the third plan;
`first.json` keeps their digests, so that no answer can change without its line.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))


def file_of(key: str) -> Path:
    """Where the answer of a key is kept."""
    return FOLDER / "answers" / f"{key}.json"


def changes() -> dict[str, str]:
    """Why answers may differ from the first ones, by key."""
    return tomllib.loads((FOLDER / "changes.toml").read_text("utf-8"))


def first() -> dict[str, str]:
    """Digests of the first answers, by key."""
    return json.loads((FOLDER / "first.json").read_text("utf-8"))


def digest(key: str) -> str:
    """The digest of the answer that is kept now."""
    return hashlib.sha256(file_of(key).read_bytes()).hexdigest()[:16]


def write(key: str) -> None:
    """Compute an answer and keep it."""
    from golden.cases import answer

    path = file_of(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in answer(key).items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main(keys: list[str]) -> None:
    """Write the answers of the keys; refuse one whose change has no reason."""
    from golden.cases import CASES

    for key in keys or [key for key in CASES if not file_of(key).exists()]:
        if key not in CASES:
            raise SystemExit(f"There is no golden answer {key!r}; there are {', '.join(CASES)}.")
        if key in first() and key not in changes():
            raise SystemExit(f'Add a line to {FOLDER / "changes.toml"} first: "{key}" = "issue N.M: why it changes"')
        write(key)


if __name__ == "__main__":
    main(sys.argv[1:])
