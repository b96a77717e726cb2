# ruff: noqa: E402  (bands.py is one folder up)
"""Do banded blackbirds return? Routes that come back after a year, scored on birds that were met again.

    python benchmarks/collective_parts/bands_loops.py                 # about two minutes of one core

The score is that of bands.py. "Returning": a bird's place is predicted given that it is back at its first place a year
after it was ringed, p(j | i) proportional to P(i to j) P(j back to i). Movement and shares are chosen on nine tenths of
the birds and scored on the rest. That birds return was tried with these birds in view: others are the clean test.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]
from bands import DATA, ROOT, crossed, log_score, read, rival_steps, row

from sumwise.flows import FlowModel, Movement
from sumwise.flows.movement_search import SCALES, STAYS, mixture_weights

CYCLE = 52


def both_ways(steps, tracks):
    """Probabilities of every bird's second place: of a plain chain, and given that it returns after a year."""
    plain, back = [], []
    for i, a, j, b in zip(tracks.from_place, tracks.from_time, tracks.to_place, tracks.to_time):
        n = (b - a) % CYCLE
        ahead = np.eye(len(steps[0]))[i]
        for k in range(n):
            ahead = ahead @ steps[(a + k) % CYCLE]
        home = np.eye(len(steps[0]))[i]
        for k in range(CYCLE - 1, n - 1, -1):
            home = steps[(a + k) % CYCLE] @ home
        joint = ahead * home
        plain.append(ahead[j])
        back.append(joint[j] / joint.sum() if joint.sum() > 0 else ahead[j])
    return np.array(plain), np.array(back)


def chosen(p):
    """Cross-validated: the best column on the other birds."""
    out = np.empty(len(p))
    for fold in crossed(len(p)):
        rest = np.setdiff1d(np.arange(len(p)), fold)
        out[fold] = p[fold, int(np.argmax(log_score(p[rest]).mean(axis=0)))]
    return out


def mixed(p):
    """Cross-validated: columns weighted by the likelihood of the other birds."""
    out = np.empty(len(p))
    for fold in crossed(len(p)):
        rest = np.setdiff1d(np.arange(len(p)), fold)
        out[fold] = p[fold] @ mixture_weights(p[rest])
    return out


def types(places, abundance, tracks):
    """The grid of movements: one chosen on bands, and a mixture, plain and returning."""
    columns = []
    for stay in STAYS:
        for scale in SCALES:
            flow = FlowModel(places, Movement(stay, scale * places.unit), cyclic=True).fit(abundance)
            moves = [flow.transitions(k, (k + 1) % CYCLE) for k in range(CYCLE)]
            columns.append(both_ways(moves, tracks))
    plain, back = (np.column_stack([c[k] for c in columns]) for k in (0, 1))
    yield "one movement, plain chain", chosen(plain)
    yield "one movement, all birds return", chosen(back)
    yield "types of movement, plain chain", mixed(plain)
    yield "types of movement, all birds return", mixed(back)
    yield "types of movement, plain and returning", mixed(np.column_stack([plain, back]))


def baselines(places, abundance, tracks):
    """No band seen: the movement that bands.py learned from abundance, and BirdFlow's own flows."""
    rows = json.loads((ROOT / "benchmarks" / "results" / "bands.json").read_text("utf-8"))["rows"]
    words = next(r["movement"] for r in rows if r["method"] == "abundance alone, fixed population")
    stay, scale = (float(re.search(rf"{k}=([\d.]+)", words)[1]) for k in ("stay", "scale"))
    flow = FlowModel(places, Movement(stay, scale), cyclic=True).fit(abundance)
    for name, moves in (
        (f"abundance alone ({words})", [flow.transitions(k, (k + 1) % CYCLE) for k in range(CYCLE)]),
        ("BirdFlow's own flows", rival_steps()),
    ):
        plain, back = both_ways(moves, tracks)
        yield f"{name}, plain chain", plain
        yield f"{name}, all birds return", back


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "types", "baselines"], default=[])
    parts, began = parser.parse_args().parts or ["types", "baselines"], process_time()
    places, abundance, tracks, steps = read(DATA / "rewbla_bands.csv.gz")
    path = ROOT / "benchmarks" / "results" / "bands_loops.json"
    rows = {r["method"]: r for r in json.loads(path.read_text("utf-8"))["rows"]} if path.exists() else {}
    for part in parts:
        for name, p in {"types": types, "baselines": baselines}[part](places, abundance, tracks):
            rows[name] = made = row(name, p, tracks, steps)
            shown = "  ".join(
                f"{k} {made[k]['score']:.3f} ({made[k]['se']:.3f})" for k in ("all", "16 or more", "moved")
            )
            print(f"{name:60s} {shown}", flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {
        "command": "python benchmarks/collective_parts/bands_loops.py",
        "commit": commit,
        "seed": 0,
        "birds": len(tracks),
    }
    found |= {"cpu_s of the last part": round(process_time() - began, 1), "rows": list(rows.values())}
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
