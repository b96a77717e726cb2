"""Label proportions: every method on the same bags, with standard errors over seeds.

    python benchmarks/proportions_methods.py                          # all sections, cheap methods first; resumes
    python benchmarks/proportions_methods.py random occupation --sizes 100 1000 --seconds 1200
    python benchmarks/proportions_methods.py franco puma --methods cardinality "proportion loss"
    python benchmarks/proportions_methods.py --methods DLLP MixBag network --device cuda --jobs 12
    python benchmarks/proportions_methods.py --show                   # only the tables of what was run
    python benchmarks/proportions_methods.py --show --markdown        # as in the documentation

Sections: random and occupation (Adult in bags of 10, 100, 1,000; test AUC), franco (published bag assignments of Adult
beside the published runs; accuracy on held-out rows), puma (areas of the American Community Survey, bachelor's degree;
test AUC). Every method runs with its default settings, chosen from bags alone. Each fit is written to
benchmarks/results/proportions_methods.json (or `--results`) as soon as it is done, and not run again; `--seconds`
bounds one call, `--again` runs anew. Sections whose data are absent are skipped, with a line.

A cell says whether ours is the best of its kind (linear models; networks), or how far behind: the difference to the
best other method is taken seed by seed, on the same bags, and printed with the standard error of its mean.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from proportions import adult_people, make_bags, puma_people, puma_split
from sumwise import proportions as p
from sumwise.errors import DataError, NotConverged

RESULTS = Path(__file__).parent / "results" / "proportions_methods.json"  # unless --results says otherwise
COMMAND = "python benchmarks/proportions_methods.py"
OURS, OUR_NETWORK = "cardinality", "network"
METHODS = {  # cheap ones first
    "oracle": p.Oracle(penalty=1.0),
    "mean embedding": p.MeanEmbeddingClassifier(),
    "inverse calibration": p.InverseCalibration(),
    OURS: p.CardinalityClassifier(),
    "proportion loss": p.ProportionLossClassifier(),
    "central limit": p.CentralLimitClassifier(),
    "mean map": p.MeanMap(),
    "easy LLP": p.EasyLLP(),
    "AMM min": p.AlternatingMeanMap(),  # with two classes also hard EM
    "AMM max": p.AlternatingMeanMap(variant="max"),
    "Laplacian mean map": p.MeanMap(laplacian=True),
    "own intercepts": p.CardinalityClassifier(random_intercept=True),
    "DLLP": p.ProportionLossNetwork(),
    "MixBag": p.MixBag(),
    OUR_NETWORK: p.CardinalityNetwork(),
    "network, own intercepts": p.CardinalityNetwork(random_intercept=True),
}
NEURAL = ("DLLP", "MixBag", OUR_NETWORK, "network, own intercepts")
APART = ("oracle", "own intercepts", "network, own intercepts")  # sees labels; not the default settings
KINDS = {
    "linear": (OURS, [m for m in METHODS if m not in (*NEURAL, *APART, OURS)]),
    "networks": (OUR_NETWORK, ["DLLP", "MixBag"]),
}
PUBLISHED = {"mean map": "mm", "Laplacian mean map": "lmm", "AMM min": "amm", "DLLP": "dllp"}
SIZES = (10, 100, 1000)
FRANCO = (
    "simple-large-not-equal-close",
    "simple-large-not-equal-far",
    "hard-large-not-equal-close",
    "hard-large-not-equal-far",
    "intermediate-large-not-equal-far",
)
PUMA = "puma, bachelor's degree"
SECTIONS = {
    "random": [f"random {size}" for size in SIZES],
    "occupation": [f"occupation {size}" for size in SIZES],
    "franco": list(FRANCO),
    "puma": [PUMA],
}


def make(cell, seed):
    """Bags, counts, individual labels and the score of one cell and seed."""
    if cell in FRANCO:
        return _franco(cell, seed)
    return _puma(seed) if cell == PUMA else _adult(cell, seed)


def _adult(cell, seed):
    values, labels, groups, test_values, test_labels = _once(adult_people)
    kind, size = cell.split()
    by = groups if kind == "occupation" else None
    bags, counts = make_bags(values, labels, int(size), seed, by)
    marks, _ = make_bags(labels[:, None].astype(float), labels, int(size), seed, by)
    return bags, counts, marks.values[:, 0], lambda m: _auc(m, test_values, test_labels)


def _franco(cell, seed):
    from sumwise import datasets

    data = datasets.franco(cell)
    mask = np.random.default_rng(seed).random(data.bags.n_rows) < 0.75
    counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
    rest, truth = data.bags.values[~mask], data.labels[~mask]
    return data.bags.subset(mask), counts, data.labels[mask], lambda m: float(np.mean(m.predict(rest) == truth))


def _puma(seed):
    people = _once(puma_people)
    bags, counts, values, truth = puma_split(people, seed)
    features, labels, groups = people
    test = np.random.default_rng(seed).random(len(features)) < 0.3
    own, _ = make_bags(labels[~test][:, None].astype(float), labels[~test], len(features), seed, groups[~test])
    return bags, counts, own.values[:, 0], lambda m: _auc(m, values, truth)


@cache
def _once(read):
    return read()


def _auc(model, values, truth):
    return float(roc_auc_score(truth, model.predict_proba(values)[:, 1]))


def run(cell, method, seed, device="cpu"):
    """Fit one method: score, CPU seconds, whether it converged."""
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", NotConverged)
    bags, counts, labels, score = make(cell, seed)
    model = clone(METHODS[method])
    if device != "cpu" and method in NEURAL:
        model.set_params(device=device)
    begin = time.process_time()
    model.fit(bags, labels if method == "oracle" else counts)
    spent = time.process_time() - begin
    return {"score": score(model), "cpu_s": spent, "converged": bool(model.fit_.converged)}


def scores(done, cell):
    """The scores of each method in one cell, by seed."""
    out: dict[str, dict[int, float]] = {m: {} for m in METHODS}
    for key, found in done.items():
        where, method, seed = key.split("|")
        if where == cell and method in out:
            out[method][int(seed)] = found["score"]
    return {method: found for method, found in out.items() if found}


def mean_and_error(values):
    """Mean, and standard error of the mean (not a number for one value)."""
    array = np.asarray(list(values))
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else float("nan")


def verdict(found, ours, rivals):
    """Our method against the best other one: word, the difference and its standard error, over the seeds both have."""
    theirs = [m for m in rivals if m in found]
    if ours not in found or not theirs:
        return None
    best = max(theirs, key=lambda m: mean_and_error(found[m].values())[0])
    both = sorted(set(found[ours]) & set(found[best]))
    if not both:
        return None
    gap, paired = mean_and_error([found[ours][s] - found[best][s] for s in both])
    apart = float(np.nan_to_num([mean_and_error(found[m].values())[1] for m in (ours, best)]).max())
    if gap >= 0:
        word = "best"
    else:
        word = "within one standard error" if -gap <= max(np.nan_to_num(paired), apart) else "behind"
    return {"word": word, "rival": best, "gap": gap, "paired": paired, "apart": apart, "seeds": len(both)}


def published(cell):
    """Best mean accuracy of each published method on a variant, over its settings."""
    from sumwise import datasets

    runs = datasets.franco_published()
    runs = runs[runs["dataset"].str.startswith(f"adult-{cell}-")]
    by = runs.groupby(["model", "loss", "split_method"], dropna=False)["accuracy_test"].mean()
    return by.groupby("model").max().round(3).to_dict()


def show(done):
    """One list per cell: every method, best first, what is missing, and whether ours is the best of its kind."""
    for cell in (c for cells in SECTIONS.values() for c in cells):
        found = scores(done, cell)
        if not found:
            continue
        print(f"\n{cell}")
        theirs = published(cell) if cell in FRANCO else {}
        for method in sorted(found, key=lambda m: -mean_and_error(found[m].values())[0]):
            mean, error = mean_and_error(found[method].values())
            stuck = sum(not done[f"{cell}|{method}|{s}"]["converged"] for s in found[method])
            note = f"  published {theirs[PUBLISHED[method]]:.3f}" if PUBLISHED.get(method) in theirs else ""
            note += f"  {stuck} not converged" if stuck else ""
            print(f"  {method:24s} {mean:.4f}  se {error:.4f}  seeds {len(found[method])}{note}")
        if theirs:
            print(f"  published, best setting of each: {theirs}")
        missing = [m for m in METHODS if m not in found]
        if missing:
            print(f"  not run: {', '.join(missing)}")
        for kind, (ours, rivals) in KINDS.items():
            v = verdict(found, ours, rivals)
            if v:
                print(
                    f"  {kind}: {ours} is {v['word']}: {v['gap']:+.4f} against {v['rival']}, standard error "
                    f"{v['paired']:.4f} paired over {v['seeds']} seeds, {v['apart']:.4f} unpaired"
                )


def heading(cell):
    """A cell's name in the documentation."""
    return {PUMA: "areas (AUC)"}.get(cell, cell).replace("-large-not-equal", "").replace("1000", "1,000")


def entry(values):
    """Mean and standard error of some scores; how many there are, unless three."""
    if not values:
        return ""
    mean, error = mean_and_error(values.values())
    spread = f" ± {error:.4f}" if len(values) > 1 else ""
    return f"{mean:.4f}{spread}{'' if len(values) == 3 else f' ({len(values)})'}".replace("0.", ".")


def told(v):
    """A verdict in a table, in bold where ours is behind."""
    if not v:
        return ""
    text = f"{v['word']}: {v['gap']:+.4f} ± {v['paired']:.4f} ({v['rival']})".replace("0.", ".")
    return f"**{text}**" if v["word"] == "behind" else text


def line(name, entries):
    print(f"| {name} | " + " | ".join(entries) + " |")


def markdown(done):
    """The tables of the documentation; last the verdicts on ours, and what was published."""
    for cells in ([*SECTIONS["random"], *SECTIONS["occupation"]], [*FRANCO, PUMA]):
        found = {cell: scores(done, cell) for cell in cells}
        print()
        line("", [heading(cell) for cell in cells])
        print("|" + "---|" * (len(cells) + 1))
        for method, model in METHODS.items():
            line(f"`{model!r}`", [entry(found[cell].get(method)) for cell in cells])
        for kind, (ours, rivals) in KINDS.items():
            line(f"*{kind}: ours*", [told(verdict(found[cell], ours, rivals)) for cell in cells])
        theirs = {cell: published(cell) for cell in cells if cell in FRANCO}
        if theirs:
            names = list(PUBLISHED.values())
            rows = [" / ".join(f"{theirs[c][n]:.3f}"[1:] for n in names) if c in theirs else "" for c in cells]
            line(f"*published {' / '.join(names)}*", rows)


def load():
    """What was run, by cell, method and seed."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {key: found for key, found in kept.items() if "|" in key}


def summary(done):
    """Mean score, its standard error, the number of draws, and how far ours is ahead on the same draws."""
    out: dict[str, dict] = {}
    for cell in dict.fromkeys(key.split("|")[0] for key in done):
        every = scores(done, cell)
        for method, found in every.items():
            mean, error = mean_and_error(found.values())
            row = {"mean": round(mean, 4), "error": round(error, 4), "draws": len(found)}
            both = [seed for seed in found if method != OURS and seed in every.get(OURS, {})]
            if len(both) > 1:
                gain, error = mean_and_error([every[OURS][seed] - found[seed] for seed in both])
                row |= {"gain": round(gain, 4), "gain error": round(error, 4)}
            out.setdefault(cell, {})[method] = row
    return out


def keep(key, found):
    """Add one result to the file; other calls may have added theirs meanwhile."""
    print(f"{key} {found['score']:.4f} {found['cpu_s']:.1f} CPU s", flush=True)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    near = RESULTS.with_suffix(".part")
    with RESULTS.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = load() | {key: found}
        near.write_text(
            json.dumps(
                {"command": COMMAND, "commit": run_record()["commit"], "summary": summary(done)} | done, indent=1
            )
        )
        near.replace(RESULTS)


def work(pending, args, begin):
    """Fit what is pending, here or in several processes, until the time is up."""
    if args.jobs == 1:
        for task in pending:
            if time.monotonic() - begin < args.seconds and (args.again or _key(*task) not in load()):
                keep(_key(*task), run(*task, args.device))
        return
    with ProcessPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(run, *task, args.device): task for task in pending}
        try:
            for future in as_completed(futures, timeout=args.seconds if np.isfinite(args.seconds) else None):
                keep(_key(*futures[future]), future.result())
        except TimeoutError:
            print("The time is up.")
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):
                process.terminate()


def _key(cell, method, seed):
    return f"{cell}|{method}|{seed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--device", default="cpu", help="of the networks")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--again", action="store_true", help="run even what was run")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    parser.add_argument("--markdown", action="store_true", help="print tables for the documentation")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the results")
    args = parser.parse_args()
    globals()["RESULTS"] = args.results
    begin = time.monotonic()
    cells = []
    for section in [] if args.show else args.sections:
        try:
            make(SECTIONS[section][0], 0)
            sized = section in ("random", "occupation")
            cells += [c for c in SECTIONS[section] if not sized or int(c.split()[1]) in args.sizes]
        except DataError as error:
            print(f"{section}: skipped. {error}")
    done = {} if args.again else load()
    wanted = ((c, m, s) for m in METHODS if m in args.methods for c in cells for s in range(args.seeds))
    work([task for task in wanted if _key(*task) not in done], args, begin)
    (markdown if args.markdown else show)(load())


if __name__ == "__main__":
    main()
