"""Measure every promise anew: PYTHONPATH=tests python -m coverage_contract.measure [family ...] [--draws 200]

Writes benchmarks/results/coverage.json, which docs quote. A part of the worlds (``--worlds``) goes to a file of its own
with ``--out``, and such files come together with ``--merge``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from coverage_contract.worlds import DRAWS, FAMILIES, LEVEL, measure, worlds

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from run_record import run_record  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "coverage.json"


def main() -> None:
    """Measure families, from draws that the tests don't take, and keep what is known of the others."""
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--worlds", nargs="*", help="by name; default all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {"families": {}}
    for part in given.merge:
        for family, rows in json.loads(part.read_text())["families"].items():
            found["families"].setdefault(family, {}).update(rows)
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    for family in () if given.merge else given.families:
        rows = found["families"].setdefault(family, {})
        for name, world in worlds(family).items():
            if given.worlds and name not in given.worlds:
                continue
            each = measure(world, range(5000, 5000 + given.draws))
            rows[name] = {"kind": world.kind, "what": world.what, "draws": given.draws}
            rows[name]["commit"] = run_record()["commit"]
            rows[name]["coverage"] = {
                quantity: {"share": round(c.share, 4), "error": round(c.error, 4)} for quantity, c in each.items()
            }
            print(family, name, {quantity: round(c.share, 3) for quantity, c in each.items()}, flush=True)
        rows = {name: rows[name] for name in worlds(family) if name in rows}
        found["families"][family] = rows
        found |= {"command": "PYTHONPATH=tests python -m coverage_contract.measure", "level": LEVEL}
        given.out.parent.mkdir(exist_ok=True, parents=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
