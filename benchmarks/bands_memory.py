"""Do banded blackbirds remember their direction? Second-order moves, scored on birds that were met again.

    python benchmarks/bands_memory.py --stay 4 --scales 0.7,1.5 --out part.json     # some minutes of one core
    python benchmarks/bands_memory.py --merge part.json other.json                  # the table, from all parts

Movements with and without memory of direction (`FlowModel(order=2)`), moves of at most some cells a week. One movement
is chosen on nine tenths of the birds and scored on the rest, among those without memory and among all; plain chains,
and given that a bird is back after a year. The score is that of bands.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from bands import DATA, ROOT, log_score, one_chosen, read, row

from sumwise.collective import FlowModel, Movement

MEMORIES = (0.0, 1.0, 2.0, 4.0)
REACH = 3.2  # in distances between neighbouring cells: 29 cells


def part(stay, scales, memories, reach, out):
    """Probabilities of every bird under some movements, each with every memory."""
    places, abundance, tracks, _ = read(DATA / "rewbla_bands.csv.gz")
    near, columns = replace(places, reach=reach * places.unit), []
    for scale in scales:
        for memory in memories:
            began = process_time()
            movement = Movement(stay, scale * places.unit, memory=memory)
            flow = FlowModel(near, movement, cyclic=True, order=2, tol=1e-3).fit(abundance)
            plain, back = (flow.predict_tracks(tracks, returning=r) for r in (False, True))
            found = {
                "reach": reach,
                "stay": stay,
                "scale": scale,
                "memory": memory,
                "gap": flow.fit_.gap / abs(flow.fit_.objective),
            }
            found |= {"plain": np.round(plain, 8).tolist(), "returning": np.round(back, 8).tolist()}
            columns.append(found | {"cpu_s": round(process_time() - began, 1)})
            print(stay, scale, memory, log_score(plain).mean(), log_score(back).mean(), flush=True)
            out.write_text(json.dumps(columns), "utf-8")


def merge(paths):
    """The table of scores, from parts."""
    columns = [c for path in paths for c in json.loads(path.read_text("utf-8"))]
    _, _, tracks, steps = read(DATA / "rewbla_bands.csv.gz")
    rows, memory = [], np.array([c["memory"] for c in columns])
    for kind in ("plain", "returning"):
        p = np.column_stack([c[kind] for c in columns])
        without, with_ = one_chosen(p[:, memory == 0]), one_chosen(p)
        more = log_score(with_) - log_score(without)
        gain = {"mean": round(float(more.mean()), 4), "se": round(float(more.std(ddof=1) / len(more) ** 0.5), 4)}
        rows.append(row(f"first order, {kind}", without, tracks, steps))
        rows.append(row(f"memory chosen on bands, {kind}", with_, tracks, steps, gain_of_memory=gain))
    each = [
        {"reach": c.get("reach", REACH)}
        | {k: c[k] for k in ("stay", "scale", "memory", "gap", "cpu_s")}
        | {k: round(float(log_score(np.array(c[k])).mean()), 4) for k in ("plain", "returning")}
        for c in columns
    ]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {"command": "python benchmarks/bands_memory.py", "commit": commit, "seed": 0, "birds": len(tracks)}
    found |= {"cpu_s": round(sum(c["cpu_s"] for c in columns), 1), "rows": rows, "each": each}
    path = ROOT / "benchmarks" / "results" / "bands_memory.json"
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for r in rows:
        print(r["method"], r["all"], r["16 or more"], r["moved"], r.get("gain_of_memory", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stay", type=float)
    parser.add_argument("--scales", type=lambda text: [float(s) for s in text.split(",")])
    parser.add_argument("--memories", type=lambda text: [float(s) for s in text.split(",")], default=MEMORIES)
    parser.add_argument("--reach", type=float, default=REACH)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--merge", type=Path, nargs="*")
    given = parser.parse_args()
    if given.merge:
        merge(given.merge)
    else:
        part(given.stay, given.scales, given.memories, given.reach, given.out)


if __name__ == "__main__":
    main()
