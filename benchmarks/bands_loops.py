"""Do banded blackbirds return? Routes that come back after a year, scored on birds that were met again.

    python benchmarks/bands_loops.py                 # about two minutes of one core

The score is that of bands.py. "Returning": a bird's place is predicted given that it is back at its first place a year
after it was ringed, p(j | i) proportional to P(i to j) P(j back to i). Movement and the share of birds that return are
chosen on nine tenths of the birds and scored on the rest.
"""

from __future__ import annotations

import json
import subprocess
from time import process_time

import numpy as np
from bands import DATA, ROOT, crossed, log_score, read, row

from sumwise.collective import FlowModel, Movement
from sumwise.collective.movement_search import SCALES, STAYS, mixture_weights

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


def main():
    began, rows = process_time(), []
    places, abundance, tracks, steps = read(DATA / "rewbla_bands.csv.gz")
    columns = []
    for stay in STAYS:
        for scale in SCALES:
            flow = FlowModel(places, Movement(stay, scale * places.unit), cyclic=True, tol=1e-3).fit(abundance)
            moves = [flow.transitions(k, (k + 1) % CYCLE) for k in range(CYCLE)]
            columns.append(both_ways(moves, tracks))
    plain, back = (np.column_stack([c[k] for c in columns]) for k in (0, 1))
    for name, p in (
        ("one movement, plain chain", chosen(plain)),
        ("one movement, all birds return", chosen(back)),
        ("types of movement, plain chain", mixed(plain)),
        ("types of movement, all birds return", mixed(back)),
        ("types of movement, plain and returning", mixed(np.column_stack([plain, back]))),
    ):
        rows.append(row(name, p, tracks, steps))
        parts = "  ".join(f"{k} {rows[-1][k]['score']:.3f} ({rows[-1][k]['se']:.3f})" for k in ("all", "16 or more"))
        print(f"{name:45s} {parts}", flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {"command": "python benchmarks/bands_loops.py", "commit": commit, "seed": 0, "birds": len(tracks)}
    found |= {"cpu_s": round(process_time() - began, 1), "rows": rows}
    path = ROOT / "benchmarks" / "results" / "bands_loops.json"
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
