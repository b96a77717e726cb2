"""Other systems and ours on the same task: error, CPU seconds and peak memory, each in a process of its own.

    python benchmarks/beside_others.py                          # all tasks, about forty CPU minutes
    python benchmarks/beside_others.py senc --only fastei       # systems of a task whose name has this in it
    python benchmarks/beside_others.py bags --first 5 --draws 5 --out part.json     # some of the draws of a task
    python benchmarks/beside_others.py --merge part.json ...    # draws of parts together

senc: registration by race in 212 precincts, by PyEI, five R packages and ours. king: King's model on the example of R's
ei. adult: eight attributes and a label released at epsilon 1, by AIM, MST and our model of noisy pairs; a logistic
regression on the rows. blackbirds: a year of abundance by BirdFlow's training code and ours, scored by banded birds.
flows: the most likely flows on a 15 x 15 grid over 20 weeks, by mbi and ours, ten draws of counts. bags: Adult in
random bags of 100, by llp-learn and ours, ten draws of bags; a logistic regression on the rows. trivial: what answers
without a model reach, on the 386 contests (groups vote as their precinct) and on Adult (the largest class).

Python systems are installed when they are first used, each in an environment under .cache/others; R packages must be
installed (``R_LIBS`` or .cache/others/R), and BirdFlowPy checked out as .cache/others/BirdFlowPy. A system's imports
are measured apart. Scripts that run in those environments are in benchmarks/rivals.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from private_tables import ADULT, DELTA, load, rival_python
from run_record import run_record
from scipy.special import xlogy
from simulated_release import rho_by_formula

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "results" / "beside_others.json"
DATA = Path(os.environ.get("SUMWISE_DATA", ROOT.parent / "shared" / "data"))
OTHERS = ROOT / ".cache" / "others"
SCRIPTS = HERE / "rivals"
WRAPPER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if done.returncode:
    sys.exit(done.stderr[-2000:])
found = {"MiB": round(used.ru_maxrss / 1024), "CPU s": round(used.ru_utime + used.ru_stime, 1)}
printed = [line for line in done.stdout.splitlines() if line.startswith("{")]
print(json.dumps(found | {"printed": json.loads(printed[-1]) if printed else {}}))
"""


class System(NamedTuple):
    """A command, one that does its imports alone, and the environment of both."""

    command: list[str]
    imports: list[str]
    environment: dict[str, str] | None = None


def measured(system: System) -> dict:
    """Peak memory and CPU seconds of a system, those of its imports, and what it printed."""
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | (system.environment or {})
    out = {}
    for name, command in (("", system.command), (", imports alone", system.imports)):
        wrapped = [sys.executable, "-c", WRAPPER, *command]
        done = subprocess.run(wrapped, check=False, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise SystemExit(done.stderr)
        out |= {f"{key}{name}": value for key, value in json.loads(done.stdout).items()}
    out.pop("printed, imports alone")
    return out


def python_with(name: str, *packages: str) -> str:
    """The Python of an environment that has these packages."""
    python = OTHERS / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(OTHERS / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


def ours(imports: str, work: str, *given: str) -> System:
    """Code in this environment."""
    code = f"import sys, json, warnings; warnings.simplefilter('ignore')\n{imports}\n"
    return System([sys.executable, "-c", code + work, *given], [sys.executable, "-c", imports])


COUNTY = """
import numpy as np
from sumwise import Margins
given = np.load(sys.argv[1])
est = {method}.fit(Margins(given["rows"], given["cols"]))
found = est.estimate()
print(json.dumps({{"shares": found.values.tolist(), "lower": found.low.tolist(), "upper": found.high.tolist()}}))
"""
IN_R = ("fastei:mult", "fastei:mvn_pdf", "fastei:mvn_pdf_sym", "fastei:bootstrap", "lphom:nslphom_dual",
        "ecolRxC:ecolRxC", "eiPack:ei.MD.bayes", "eiCompare:ei_iter")  # fmt: skip


def in_r(method: str) -> System:
    """A method of an R package."""
    package, script = method.split(":", maxsplit=1)[0] + ":", str(SCRIPTS / "ecological.R")
    libraries = {"R_LIBS": os.pathsep.join(filter(None, [str(OTHERS / "R"), os.environ.get("R_LIBS", "")]))}
    senc = str(DATA / "ei" / "senc.csv")
    return System(["Rscript", script, method, senc], ["Rscript", script, package, senc], libraries)


def senc(folder: Path, _draw: int, _mbi: Path | None) -> Iterator[tuple[str, System]]:
    """One county whose table is known."""
    from sumwise import datasets

    margins, path = datasets.senc().margins, folder / "senc.npz"
    np.savez(path, rows=margins.rows, cols=margins.cols)
    python, script = python_with("pyei", "pyei==1.1.4"), str(SCRIPTS / "pyei_county.py")
    yield "PyEI, multinomial-Dirichlet", System([python, script, str(path)], [python, script])
    for method in IN_R:
        yield f"R, {method.replace(':', ' ')}", in_r(method)
    for method in ("MultinomialDirichlet()", "EcologicalEM()", 'King(strategy="multivariate", n_draws=500)'):
        name = method.split("(")[0]
        imports = f"from sumwise.ecological import {name}"
        yield f"sumwise, {name}", ours(imports, COUNTY.format(method=method), str(path))


def senc_score(printed: dict) -> dict:
    """Percent of people in a wrong cell, and of nine intervals how many contain the truth."""
    from sumwise import datasets

    election = datasets.senc()
    shares, true = np.array(printed["shares"]), np.asarray(election.shares)
    people = np.asarray(election.total).sum(axis=1, keepdims=True)
    out: dict = {"error": round(float(50 * np.abs((shares - true) * people).sum() / people.sum()), 3)}
    if "lower" in printed:
        inside = (np.array(printed["lower"]) <= true) & (true <= np.array(printed["upper"]))
        out["covered of 9"] = int(inside.sum())
    return out


KING = """
from sumwise import datasets
est = King(random_state=0).fit(datasets.matproii().margins)
print(json.dumps({"shares": est.shares_[:, 0].tolist(), "phi": est.phi_.tolist()}))
"""


def king(_: Path, _draw: int, _mbi: Path | None) -> Iterator[tuple[str, System]]:
    """King's model on the example of his package."""
    yield "R, ei", in_r("ei:king")
    yield "sumwise, King", ours("from sumwise.ecological import King", KING)


def king_score(printed: dict) -> dict:
    """Estimates and parameters as they are."""
    return {"Bb": round(printed["shares"][0], 4), "Bw": round(printed["shares"][1], 4), "phi": printed["phi"][:5]}


NOISY = """
sys.path.insert(0, sys.argv[1])
from private_tables import load, released
from sumwise.metrics import nllh
task = load("adult", None, sys.argv[2].split(), True)
model = MaxEntClassifier(random_state=0).fit(released(task.tables, "pairs", 1.0, 0, True))
print(json.dumps({"NLLH": float(nllh(task.y, model.predict_proba(task.test)[:, 1]))}))
"""
ROWS = """
from sumwise.metrics import nllh
data, kept = datasets.adult(), sys.argv[2].split()
coder = OneHotEncoder(handle_unknown="ignore")
rows = coder.fit_transform(data.train[kept].astype(str))
model = LogisticRegression(max_iter=200).fit(rows, data.y_train)
found = model.predict_proba(coder.transform(data.test[kept].astype(str)))[:, 1]
print(json.dumps({"NLLH": float(nllh(data.y_test, found))}))
"""


def adult(folder: Path, _: int, mbi: Path | None) -> Iterator[tuple[str, System]]:
    """Eight attributes and a label, released."""
    task = load("adult", None, ADULT.split(), True)
    source, rho = folder / "in.npz", str(rho_by_formula(1.0, DELTA))
    np.savez(source, codes=task.codes, sizes=np.array([*task.tables.domain.shape, 2]))
    python, environment = rival_python("aim", mbi)
    for way in ("aim", "mst"):
        command = [python, "-W", "ignore", str(SCRIPTS / f"{way}_rows.py"), str(source), str(folder / "out.npz"), rho]
        yield f"{way.upper()} (mbi)", System([*command, "0"], [python, "-W", "ignore", "-c", "import mbi"], environment)
    yield "sumwise, noisy pairs", ours("from sumwise.maxent import MaxEntClassifier", NOISY, str(HERE), ADULT)
    imports = "from sklearn.linear_model import LogisticRegression\nfrom sklearn.preprocessing import OneHotEncoder\n"
    yield "scikit-learn on the rows", ours(imports + "from sumwise import datasets", ROWS, str(HERE), ADULT)


BIRDS = """
import numpy as np
given = np.load(sys.argv[1])
places = Places(lon=given["lon"], lat=given["lat"])
flow = FlowModel(places, cyclic=True).fit(given["abundance"])
"""
SCORES = """
sys.path.insert(0, sys.argv[2])
import bands
_, _, tracks, steps = bands.read(bands.DATA / "rewbla_bands.csv.gz")
found = bands.row("ours", flow.predict_tracks(tracks), tracks, steps)
print(json.dumps({k: found[k]["score"] for k in ("all", "16 or more", "moved")}))
"""


def blackbirds(folder: Path, _draw: int, _mbi: Path | None) -> Iterator[tuple[str, System]]:
    """A year of abundance, and birds that were seen twice."""
    import bands

    places, abundance, _, _ = bands.read(bands.DATA / "rewbla_bands.csv.gz")
    path, lon, lat = folder / "birds.npz", np.radians(places.lon), np.radians(places.lat)
    points = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    km = 6371.0 * np.arccos(np.clip(points @ points.T, -1, 1))
    np.savez(path, abundance=abundance, km=km, lon=places.lon, lat=places.lat)
    python = python_with("birdflow", "jax", "dm-haiku", "optax", "scipy")
    command = [python, str(SCRIPTS / "birdflow_year.py"), str(OTHERS / "BirdFlowPy"), str(path)]
    imports = [python, "-c", "import haiku, optax, scipy.spatial"]
    yield "BirdFlow, 600 steps", System([*command, str(folder / "flows.npz"), "600"], imports)
    imports = "from sumwise.flows import FlowModel, Places"
    yield "sumwise, FlowModel", ours(imports, BIRDS + SCORES, str(path), str(HERE))


def blackbirds_score(folder: Path, printed: dict) -> dict:
    """Mean log scores of banded birds; BirdFlow's from the transitions that it left."""
    import bands

    if printed:
        return {k: round(v, 3) for k, v in printed.items()}
    _, _, tracks, steps = bands.read(bands.DATA / "rewbla_bands.csv.gz")
    found = bands.row("", bands.chained(np.load(folder / "flows.npz")["steps"], tracks), tracks, steps)
    return {k: round(found[k]["score"], 3) for k in ("all", "16 or more", "moved")}


FLOWS = """
import time
import numpy as np
from collective_map import chain, node_tables, reached
from sumwise.noise import Poisson
given = np.load(sys.argv[1])
model, n = chain(given["theta"]), int(given["n"])
tables = node_tables(model, given["y"], Poisson(), n)
map_counts(model, tables, tol=1e-2)  # compiles
before = time.process_time()
fit = map_counts(model, tables, tol=1e-6)
spent = time.process_time() - before
_, early = reached(fit.history, float(given["ours"]), 1e-4)
print(json.dumps({"s to 1e-4": early, "s to gap 1e-6": spent, "relative gap": float(fit.gap / abs(fit.objective))}))
"""


def flows(folder: Path, draw: int, mbi: Path | None) -> Iterator[tuple[str, System]]:
    """Poisson counts of a thousand birds on a grid, each week."""
    from collective_map import chain, node_tables

    from sumwise import synthetic
    from sumwise.collective import map_counts
    from sumwise.noise import Poisson

    season, n = synthetic.birds(15, 20, 1000, random_state=draw), 1000
    theta = np.stack([season.log_potentials[e] for e in season.edges])
    theta[0] += season.log_potentials["t0"][:, None]
    y = np.stack([t.counts for t in season.tables]).astype(float)
    model = chain(theta)
    best = map_counts(model, node_tables(model, y, Poisson(), n), tol=1e-10)
    flow = np.stack([best.table(*e) for e in zip(list(model.domain), list(model.domain)[1:])])
    path = folder / "flows.npz"
    np.savez(path, theta=theta, y=y, n=n, ours=best.objective, optimum=energy(theta, y, flow))
    python, environment = rival_python("aim", mbi)
    environment |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}  # fully optimised: compiling is not counted
    for name, step in (("mbi, default step", []), ("mbi, tuned step", ["0.1"])):
        command = [python, "-W", "ignore", str(SCRIPTS / "mbi_flows.py"), str(path), *step]
        yield name, System(command, [python, "-W", "ignore", "-c", "import mbi"], environment)
    imports = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom sumwise.collective import map_counts"
    yield "sumwise, dual", ours(imports, FLOWS, str(path))


def energy(theta: np.ndarray, y: np.ndarray, flow: np.ndarray) -> float:
    """The Bethe free energy of flows (T - 1, L, L) and the Poisson loss of their places, as mbi is given it."""
    places = np.concatenate([flow.sum(axis=2), flow[-1:].sum(axis=1)])
    entropy = xlogy(flow, flow).sum() - xlogy(places[1:-1], places[1:-1]).sum()
    return float(entropy - (theta * flow).sum() + (places - xlogy(y, places)).sum())


BAGS = """
import numpy as np
from sumwise import Bags
given = np.load(sys.argv[1])
sizes = np.bincount(given["bag"])
counts = np.round(given["shares"] * sizes).astype(int)
model = {method}.fit(Bags(given["train"], np.append(0, np.cumsum(sizes))), counts)
p = model.predict_proba(given["test"])[:, 1]
"""
BAG_SCORES = """
from sumwise.metrics import auc
print(json.dumps({"accuracy": float(((p > 0.5) == given["truth"]).mean()), "AUC": float(auc(given["truth"], p))}))
"""
BAG_ROWS = """
import numpy as np
given = np.load(sys.argv[1])
p = LogisticRegression(max_iter=200).fit(given["train"], given["labels"]).predict_proba(given["test"])[:, 1]
"""


def bags(folder: Path, draw: int, _: Path | None) -> Iterator[tuple[str, System]]:
    """Adult in random bags of 100."""
    from proportions import adult_people, make_bags

    values, labels, _, test, truth = adult_people()
    order = np.random.default_rng(draw).permutation(len(values))
    made, counts = make_bags(values, labels, 100, draw)
    path = folder / "bags.npz"
    bag = np.repeat(np.arange(len(made)), made.sizes)
    given = {"train": made.values, "labels": labels[order], "bag": bag, "shares": counts / made.sizes}
    np.savez(path, **given, test=test, truth=truth)
    if not (OTHERS / "llp").exists():  # its own pins forbid present versions of what it needs
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(OTHERS / "llp")]
        subprocess.run([*install, "llp-learn==1.6.0", "tqdm"], check=True)
    learn = {"PYTHONPATH": str(OTHERS / "llp")}
    for method in ("EM", "DLLP", "MixBag"):
        command = [sys.executable, str(SCRIPTS / "llp_learn_bags.py"), method]
        yield f"llp-learn, {method}", System([*command, str(path)], command, learn)
    for method in ("MeanMap()", "CardinalityNetwork()", "CardinalityClassifier()"):
        name = method.split("(")[0]
        imports = f"from sumwise.proportions import {name}"
        yield f"sumwise, {name}", ours(imports, BAGS.format(method=method) + BAG_SCORES, str(path))
    imports = "from sklearn.linear_model import LogisticRegression"
    yield "scikit-learn on the rows", ours(imports, BAG_ROWS + BAG_SCORES, str(path))


def scored(task: str, folder: Path, name: str, printed: dict) -> dict:
    """The scores of a system."""
    if task == "senc":
        return senc_score(printed)
    if task == "king":
        return king_score(printed)
    if task == "blackbirds":
        return blackbirds_score(folder, printed)
    if task == "adult" and not printed:  # synthetic rows: the classifiers are fitted to them by private_tables.py
        way = name.split(maxsplit=1)[0].lower()
        compared = json.loads((RESULTS.parent / f"{way}_comparison.json").read_text("utf-8"))["data"]["adult"]
        return {"NLLH": compared[way]["1"]["nllh"]}
    return {k: round(v, 4) for k, v in printed.items()}


TASKS = {"senc": senc, "king": king, "adult": adult, "flows": flows, "blackbirds": blackbirds, "bags": bags}
DRAWN = {"flows": "s to 1e-4", "bags": "accuracy"}  # tasks with many draws, and the score that is compared by draw
OURS = {"flows": "sumwise, dual", "bags": "sumwise, CardinalityClassifier"}


def trivial(target: Path, record: dict) -> None:
    """Store the scores of answers without a model."""
    from sumwise import datasets
    from sumwise.ecological import error_index

    errors = []
    for contest in datasets.contests():
        margins = contest.margins
        shares = margins.cols / np.maximum(margins.totals, 1)[:, None]
        errors.append(error_index(margins.rows.T @ shares, contest.total))
    adult = datasets.adult()
    majority = 1 - float(np.concatenate([adult.y_train, adult.y_test]).mean())
    keep(target, "trivial", "groups vote as their precinct", {"index": float(np.mean(errors))}, record)
    keep(target, "trivial", "largest class of Adult", {"accuracy": majority}, record)


def mean_of(task: str, runs: dict[str, list[dict]]) -> dict[str, dict]:
    """Means over draws, and how far each system is from ours on the same draws, with its standard error."""
    out, score = {}, DRAWN[task]
    for name, lines in runs.items():
        named = [{k: v for k, v in line.items() if k != "draw"} for line in lines]
        found: dict = {k: round(float(np.mean([line[k] for line in named])), 4) for k in named[0]}
        apart = [line[score] - own[score] for line, own in zip(lines, runs[OURS[task]]) if line["draw"] == own["draw"]]
        found |= {k: round(found[k]) for k in found if k.startswith("MiB")} | {"draws": len(lines)}
        if len(apart) > 1 and name != OURS[task]:
            error = np.std(apart, ddof=1) / np.sqrt(len(apart))
            found |= {f"{score} apart": round(float(np.mean(apart)), 4), f"{score} error": round(float(error), 4)}
        out[name] = found | {"each": lines}
    return out


def keep(target: Path, task: str, name: str, found: dict, record: dict) -> None:
    """One more result in a file."""
    out = json.loads(target.read_text("utf-8")) if target.exists() else {}
    out.setdefault("runs", {})[task] = record
    if task in DRAWN:
        held = out.setdefault(task, {}).setdefault(name, {"each": []})["each"]
        held[:] = sorted([line for line in held if line["draw"] != found["draw"]] + [found], key=lambda r: r["draw"])
        runs = {k: v["each"] for k, v in out[task].items()}
        if OURS[task] in runs:
            out[task] = mean_of(task, runs)
    else:
        out.setdefault(task, {})[name] = found
    target.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


def merge(parts: list[Path], target: Path) -> None:
    """Put the draws of parts, and their records, into one file."""
    for path in parts:
        held = json.loads(path.read_text("utf-8"))
        for task, record in held.pop("runs").items():
            for name, found in held[task].items():
                for line in found["each"] if task in DRAWN else [found]:
                    keep(target, task, name, line, record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help=", ".join(TASKS))
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--draws", type=int, default=10, help="of the tasks that are drawn")
    parser.add_argument("--mbi", type=Path, help="a folder with mbi for this Python")
    parser.add_argument("--machine", default="two shared cores")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="+")
    given = parser.parse_args()
    if given.merge:
        merge(given.merge, given.out)
        return
    if unknown := set(given.tasks) - {*TASKS, "trivial"}:
        parser.error(f"there is no task {sorted(unknown)[0]!r}; tasks are {', '.join(TASKS)}, trivial")
    for task in given.tasks or [*TASKS, "trivial"]:
        seeds = list(range(given.first, given.first + given.draws)) if task in DRAWN else [0]
        record = run_record(seeds=seeds, machine=given.machine) | {
            "command": f"python benchmarks/beside_others.py {task}"
        }
        if task == "trivial":
            trivial(given.out, record)
            continue
        for draw in seeds:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                for name, system in TASKS[task](folder, draw, given.mbi):
                    if given.only in name:
                        found = measured(system)
                        found |= scored(task, folder, name, found.pop("printed"))
                        found |= {"draw": draw} if task in DRAWN else {}
                        print(task, name, json.dumps(found), flush=True)
                        keep(given.out, task, name, found, record)


if __name__ == "__main__":
    main()
