"""How a result was made: the command and the commit, for the files of benchmarks/results.

python benchmarks/run_record.py     # writes results/stored.json: which commit stored what recorded none
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def run_record(**more: object) -> dict[str, object]:
    """Command and commit of this run, and what else is given (seeds, draws).

    A copy of the files without their history has its commit from the environment, as SUMWISE_COMMIT.
    """
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT).as_posix() if script.is_relative_to(ROOT) else script.name
    commit = os.environ.get("SUMWISE_COMMIT") or _git("rev-parse", "--short", "HEAD").strip() or "unknown"
    return {"command": " ".join(["python", name, *sys.argv[1:]]), "commit": commit, **more}


def digest(part: object) -> str:
    """Short digest of a part of the results."""
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:12]


def part_of(held: dict, name: str) -> object:
    """A part of a file by its name; the whole file without one."""
    return held.get(name) if name else held


def _lacks_commit(held: dict, name: str) -> bool:
    value = held[name]
    recorded = name in held.get("runs", {}) or (isinstance(value, dict) and "commit" in value)
    return isinstance(value, (list, dict)) and name not in ("runs", "seeds") and not recorded


def stored() -> dict[str, dict[str, dict[str, str]]]:
    """For files and parts without a commit of their own: the first commit that stored the part as it is now."""
    out: dict[str, dict[str, dict[str, str]]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        held = json.loads(path.read_text("utf-8"))
        if path.name == "stored.json" or not isinstance(held, dict) or "commit" in held:
            continue
        names = ["", *(k for k in held if _lacks_commit(held, k))]
        file = path.relative_to(ROOT).as_posix()
        for commit in _git("log", "--format=%h", "--", file).split():
            then = json.loads(_git("show", f"{commit}:{file}") or "{}")
            names = [k for k in names if isinstance(then, dict) and part_of(then, k) == part_of(held, k)]
            for name in names:
                out.setdefault(path.name, {})[name] = {"commit": commit, "digest": digest(part_of(held, name))}
    return out


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    (RESULTS / "stored.json").write_text(json.dumps(stored(), indent=1) + "\n", "utf-8")
