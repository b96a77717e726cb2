"""Measure every promise anew: PYTHONPATH=tests python -m coverage_contract.measure [family ...] [--draws 200]

Writes benchmarks/results/coverage.json, which docs quote.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from coverage_contract.worlds import DRAWS, FAMILIES, LEVEL, measure, worlds

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "coverage.json"


def main() -> None:
    """Measure families, from draws that the tests don't take, and keep what is known of the others."""
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    given = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"families": {}}
    for family in given.families:
        rows = {}
        for name, world in worlds(family).items():
            each = measure(world, range(5000, 5000 + given.draws))
            rows[name] = {"kind": world.kind, "what": world.what, "draws": given.draws}
            rows[name]["commit"] = head.stdout.strip()
            rows[name]["coverage"] = {
                quantity: {"share": round(c.share, 4), "error": round(c.error, 4)} for quantity, c in each.items()
            }
            print(family, name, {quantity: round(c.share, 3) for quantity, c in each.items()}, flush=True)
        found["families"][family] = rows
        found |= {"command": "PYTHONPATH=tests python -m coverage_contract.measure", "level": LEVEL}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
