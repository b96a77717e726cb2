"""The correction of pooled contests: training, and errors and coverage by leaving one election out.

    python benchmarks/contest_correction.py features FOLDER   # fit every contest alone, write features.npz
    python benchmarks/contest_correction.py train FOLDER      # networks for each election left out (torch); some of
                                                              # them by --folds SCO_2007 NZ
    python benchmarks/contest_correction.py report FOLDER     # errors, coverage, width, which elections were corrected
                                                              # of --folds, to --out
    python benchmarks/contest_correction.py merge FOLDER      # those of FOLDER/*.json
    python benchmarks/contest_correction.py install FOLDER    # the network of all elections becomes the package's

`train` needs torch and NumPy alone, so that it can run on another machine. Settings of the network (48 hidden units,
200 passes, noise 0.2 on inputs) were chosen among 32 by errors on elections left out; the 16 with 200 passes or more
are within 0.15 of each other in the mean index, so the choice hardly matters. `report` writes
benchmarks/results/contest_correction.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from run_record import run_record

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "contest_correction.json"
FOLDS = ("NZ_2002", "NZ_2005", "NZ_2008", "NZ_2011", "NZ_2014", "SCO_2007", "NZ", "all")  # what is left out, or nothing
HIDDEN, PASSES, NOISE, DROP, RATE, DECAY, SEEDS = 48, 200, 0.2, 0.1, 5e-3, 1e-2, 3


def election_facts(pooling=True, fold="all"):
    """Facts of contests with truth, and the strengths of pooling, by the package's own code."""
    import warnings

    from sumwise import Contests, datasets
    from sumwise.ecological import EcologicalEM
    from sumwise.ecological.alignment import match_outcomes
    from sumwise.ecological.pooling import contest_facts, pooling_strength

    warnings.simplefilter("ignore")
    known = {(c.dataset, c.district): c for c in datasets.contests() if fold == "all" or c.dataset.startswith(fold)}
    contests = Contests({k: c.margins for k, c in known.items()}, elections={k: k[0] for k in known})
    fits = {k: EcologicalEM().fit(c.margins) for k, c in known.items()}
    facts, strength = {}, {}
    for election in sorted({k[0] for k in known}):
        ids = [k for k in known if k[0] == election]
        matched = match_outcomes(contests, ids, {k: fits[k].total_ for k in ids})
        found = contest_facts(contests, ids, fits, matched)
        strength[election] = pooling_strength(contests, ids, fits, found) if pooling else 0.0
        facts |= found
    return facts, strength, {k: c.total for k, c in known.items()}, contests


def features(folder):
    """Write the network's inputs and the true tables, padded to one shape."""
    from sumwise.ecological.correction import FEATURES, cell_features, contest_features

    facts, _, truth, _ = election_facts(pooling=False)
    shape = tuple(max(f.table.shape[k] for f in facts.values()) for k in (0, 1))
    x = np.zeros((len(facts), *shape, len(FEATURES)), np.float32)
    mask, tables = np.zeros(x.shape[:3], np.float32), np.zeros(x.shape[:3], np.float32)
    for i, (key, fact) in enumerate(facts.items()):
        r, c = fact.table.shape
        x[i, :r, :c], mask[i, :r, :c] = cell_features(fact), 1
        tables[i, :r, :c] = truth[key] / truth[key].sum()
    contest = np.array([contest_features(fact) for fact in facts.values()])
    elections = np.array([key[0] for key in facts])
    np.savez(folder / "features.npz", x=x, mask=mask, tables=tables, contest=contest, elections=elections)


def one_network(x, mask, tables, seed):
    """Train one network by the error index of raked tables; returns its six layers."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    z, m, t = (torch.tensor(v) for v in (x, mask, tables))
    rows, cols = t.sum(2), t.sum(1)
    lifts, gap = z[..., 0], z[..., 1]
    sel = mask > 0
    mean, sd = x[sel].mean(0), x[sel].std(0) + 1e-3
    z = ((z - torch.tensor(mean)) / torch.tensor(sd)).clip(-4, 4)
    start = lifts + torch.log(rows + 1e-9)[:, :, None] + torch.log(cols + 1e-9)[:, None, :]
    net = nn.Sequential(
        *(nn.Linear(x.shape[-1], HIDDEN), nn.SiLU(), nn.Dropout(DROP)),
        *(nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), nn.Dropout(DROP), nn.Linear(HIDDEN, 2)),
    )
    nn.init.zeros_(net[6].weight)
    nn.init.zeros_(net[6].bias)
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, PASSES)
    for _ in range(PASSES):
        for part in torch.randperm(len(z)).split(64):
            real = m[part] > 0  # the network sees cells that exist, a half of the padded ones
            cells = z[part][real]
            out = z.new_zeros(*real.shape, 2)
            out[real] = net(cells + NOISE * torch.randn_like(cells))
            table = torch.exp(start[part] + torch.sigmoid(out[..., 0]) * gap[part] + out[..., 1]) * m[part]
            for _ in range(8):
                table = table * (rows[part] / (table.sum(2) + 1e-12))[:, :, None]
                table = table * (cols[part] / (table.sum(1) + 1e-12))[:, None, :]
            loss = 50 * (table - t[part]).abs().sum((1, 2)).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        schedule.step()
    return [v.detach().numpy() for k in (0, 3, 6) for v in (net[k].weight.T, net[k].bias)]


def reference(contest):
    """Where the contests that were learned on lie, and the distance that holds 99 percent of them."""
    mean, sd = contest.mean(0), contest.std(0) + 0.05
    z = (contest - mean) / sd
    precision = np.linalg.inv(np.cov(z.T) + 0.1 * np.eye(z.shape[1]))
    distance = np.sqrt(np.einsum("ni,ij,nj->n", z, precision, z))
    limit = np.quantile(distance, 0.99)
    return {"contest_mean": mean, "contest_sd": sd, "contest_precision": precision, "contest_limit": limit}


def job(arguments):
    """One network of one fold."""
    folder, fold, seed = arguments
    data = np.load(folder / "features.npz")
    kept = ~np.char.startswith(data["elections"], fold)
    return one_network(data["x"][kept], data["mask"][kept], data["tables"][kept], seed)


def train(folder, folds=FOLDS, n_jobs=None):
    """Write parameters for every election left out, for a country left out, and `all.npz` for none."""
    data = np.load(folder / "features.npz")
    jobs = [(folder, fold, seed) for fold in folds for seed in range(SEEDS)]
    with ProcessPoolExecutor(n_jobs or len(os.sched_getaffinity(0))) as pool:
        nets = list(pool.map(job, jobs))
    for k, fold in enumerate(folds):
        kept = ~np.char.startswith(data["elections"], fold)
        inside = data["x"][kept][data["mask"][kept] > 0]
        part = nets[k * SEEDS : (k + 1) * SEEDS]
        layers = {f"layer_{name}": np.stack([net[i] for net in part]) for i, name in enumerate("abcdef")}
        scale = {"mean": inside.mean(0), "sd": inside.std(0) + 1e-3}
        np.savez_compressed(folder / f"{fold}.npz", **layers, **scale, **reference(data["contest"][kept]))


def report(folder, folds, out):
    """Errors of each election with the network learned on the others; `ecological_intervals.py` has the coverage.

    Writes index by (fold, election, contest), which `merge` averages.
    """
    from sumwise.ecological import error_index
    from sumwise.ecological.correction import corrected_table, resemblance
    from sumwise.ecological.kernels.pooling import mixed_table
    from sumwise.ecological.pooling import shrinkage

    found = {}
    for fold in (fold for fold in folds if fold != "all"):
        begin = time.process_time()
        facts, strength, truth, _ = election_facts(fold=fold)
        seconds, known = time.process_time() - begin, dict(np.load(folder / f"{fold}.npz"))
        for election in strength:
            ids = [k for k in facts if k[0] == election]
            weights = {k: shrinkage(strength[election], facts[k]) for k in ids}
            tables = {"alone": {k: facts[k].table for k in ids}}
            tables["pooled"] = {k: mixed_table(facts[k].table, facts[k].pooled, weights[k]) for k in ids}
            tables["corrected"] = {k: corrected_table(facts[k], known) for k in ids}
            each = {method: [error_index(made[k], truth[k]) for k in ids] for method, made in tables.items()}
            distance = float(np.median(resemblance([facts[k] for k in ids], known)))
            row = {"index": each, "distance": distance, "pooling strength": strength[election]}
            found[f"{fold} {election}"] = row | {
                "CPU seconds": seconds / len(strength),
                "commit": run_record()["commit"],
            }
    out.write_text(json.dumps(found, indent=1, default=float) + "\n")


def merge(folder, out):
    """Write the results of all folds from those of each."""
    rows = {key: row for part in sorted(folder.glob("*.json")) for key, row in json.loads(part.read_text()).items()}
    own = {key.split()[1]: row for key, row in sorted(rows.items()) if len(set(key.split())) == 1}
    index, errors = {}, {}
    for method in ("alone", "pooled", "corrected"):
        values = {election: row["index"][method] for election, row in own.items()}
        everything = np.concatenate(list(values.values()))
        index[method] = {k: float(np.mean(v)) for k, v in values.items()} | {"all": float(everything.mean())}
        errors[method] = float(everything.std(ddof=1) / np.sqrt(len(everything)))
    country = {}
    for key, row in rows.items():
        if key.startswith("NZ "):
            means = {method: float(np.mean(values)) for method, values in row["index"].items()}
            country[key.split()[1]] = means | {"distance": row["distance"], "used by default": row["distance"] < 1}
    result = run_record() | {"command": "benchmarks/contest_correction.py features, train, report, merge"}
    result |= {"commit": ", ".join(dict.fromkeys(row["commit"] for row in rows.values()))}
    result |= {"index": index, "standard error of all": errors, "country left out": country}
    result |= {name: {k: row[name] for k, row in own.items()} for name in ("distance", "pooling strength")}
    result |= {"seeds": list(range(SEEDS)), "CPU seconds": sum(row["CPU seconds"] for row in rows.values())}
    out.write_text(json.dumps(result, indent=1, default=float) + "\n")


def install(folder):
    """Copy the network of all elections into the package."""
    shutil.copy(folder / "all.npz", HERE.parent / "src" / "sumwise" / "ecological" / "correction.npz")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("features", "train", "report", "merge", "install"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--folds", nargs="*", default=FOLDS, choices=FOLDS, help="for train and report")
    parser.add_argument("--jobs", type=int, help="processes, for train; as many as cores by default")
    parser.add_argument("--out", type=Path, default=RESULTS, help="for report and merge")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.part == "train":
        train(asked.folder, asked.folds, asked.jobs)
    elif asked.part == "report":
        report(asked.folder, asked.folds, asked.out)
    elif asked.part == "merge":
        merge(asked.folder, asked.out)
    elif asked.part == "features":
        features(asked.folder)
    else:
        install(asked.folder)
