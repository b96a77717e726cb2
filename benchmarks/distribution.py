"""Distribution regression: the experiments of both theses with every method, beside the best possible error.

    python benchmarks/distribution.py                        # all sections at small sizes, then tables and figures
    python benchmarks/distribution.py gamma clouds           # some: statistics, ridge, gamma, variable, law,
                                                             # intervals, gaussian, clouds, instances, election,
                                                             # dimension, subgroups
    python benchmarks/distribution.py gamma --full           # the papers' sizes
    python benchmarks/distribution.py statistics --full --only networks --device cuda    # networks, on a GPU
    python benchmarks/distribution.py gamma --full --where seed=3 seed=4     # some cells, by their keys
    python benchmarks/distribution.py --full --show          # tables, figures and verdicts of what was measured so far

Every measurement is a line of benchmarks/results/distribution/cells.jsonl and is made once: a run that was stopped goes
on where it was, and `--merge` adds lines from another machine. Cells of the statistics that would take more than
`--limit` seconds (twice those of the cell with half the bags) are left out, with a line. Seconds are of one processor
for fitting and predicting, without making the data, or of the clock on a GPU. Tables and verdicts on the hypotheses of
Sun 2019 (section 4.2) are printed and written to benchmarks/results/distribution.json, figures beside it. Point clouds
and multiple-instance sets need the public data (see `sumwise datasets`); they are left out, with a line, where absent.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from distribution.cells import Store, run
from distribution.clouds import clouds_cells, instances_cells
from distribution.election import dimension_cells, election_cells, subgroups_cells
from distribution.gamma import gamma_cells, variable_cells
from distribution.intervals import intervals_cells
from distribution.law import law_cells
from distribution.population import ridge_cells, statistics_cells
from distribution.regions import gaussian_cells
from distribution.tables import TABLES, show, with_stored
from distribution.verdicts import verdicts
from run_record import run_record

RESULTS = Path(__file__).parent / "results"
SECTIONS = {
    "statistics": statistics_cells,
    "ridge": ridge_cells,
    "gamma": gamma_cells,
    "variable": variable_cells,
    "law": law_cells,
    "intervals": intervals_cells,
    "gaussian": gaussian_cells,
    "clouds": clouds_cells,
    "instances": instances_cells,
    "election": election_cells,
    "dimension": dimension_cells,
    "subgroups": subgroups_cells,
}


def chosen(cells, where):
    """Cells whose keys have one of the values that are given for a name, wherever they have the name; seed 0 unsaid."""
    wanted = {}
    for name, _, value in (each.partition("=") for each in where):
        wanted.setdefault(name, set()).add(value)
    return (c for c in cells if all(str(v) in wanted.get(k, {str(v)}) for k, v in ({"seed": 0} | c.key).items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--full", action="store_true", help="the papers' sizes")
    parser.add_argument("--device", default="cpu", help="of the networks")
    parser.add_argument("--only", choices=["fixed", "networks"], help="leave the other methods out")
    parser.add_argument("--tasks", nargs="*", help="of the statistics: some of the four")
    parser.add_argument("--draws", nargs="*", type=int, default=[0], help="of the statistics")
    parser.add_argument("--where", nargs="*", default=[], metavar="KEY=VALUE", help="cells whose keys have such values")
    parser.add_argument("--most", type=int, default=2**16, help="bags of the statistics, at most")
    parser.add_argument("--limit", type=float, default=400.0, help="seconds that a cell of the statistics may take")
    parser.add_argument("--cells", type=Path, default=RESULTS / "distribution" / "cells.jsonl", help="where they lie")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="files of cells from other machines")
    parser.add_argument("--clouds", type=Path, help="a reduced copy of ModelNet10 (.npz)")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--measure", action="store_true", help="no tables, no figures")
    options = parser.parse_args()
    options.folder = RESULTS / "distribution"
    store = Store(options.cells)
    for path in options.merge:
        store.merge(path)
    if not options.show:
        for name in options.sections or SECTIONS:
            cells = chosen(SECTIONS[name](options), options.where)
            kinds = {"fixed": options.only != "networks", "networks": options.only != "fixed"}
            run(cells, store, **kinds, limit=options.limit)
    if options.measure:
        return
    tables = {name: TABLES[name](store, options.full) for name in options.sections or TABLES}
    for name, rows in tables.items():
        show(name, rows)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "distribution.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    made = with_stored(tables, before)
    changed = [name for name, rows in made.items() if rows != before.get(name)]
    made |= {"command": "python benchmarks/distribution.py --full", "verdicts": verdicts(made)}
    script = "python benchmarks/distribution.py"
    made["runs"] = before.get("runs", {}) | {n: run_record() | {"command": f"{script} {n} --full"} for n in changed}
    path.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
