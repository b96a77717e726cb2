"""Ecological inference: errors, coverage and times on real contests with truth, beside 16 published methods.

    python benchmarks/ecological.py                       # everything (about 5 minutes on two cores)
    python benchmarks/ecological.py contests senc         # some parts: contests, senc, chains, matproii, chile, raw,
                                                          # units, two_by_two, many, many_files, pooled, covariates,
                                                          # power, row_error, berkson, polarisation, packages
                                                          # (seine and fastei, in R)
    python benchmarks/ecological.py contests --every 10   # a tenth of the contests
    python benchmarks/ecological.py --merge A.json ...    # parts that were written elsewhere (--out)

What had to be chosen (the determinant's power, the intervals' width) was chosen on the contests of
New Zealand 2005 and 2011 and Scotland 2007; the figures to quote are those of New Zealand 2002, 2008 and 2014. CPU
seconds, after compilation. Needs the public data sets (see `sumwise datasets`). Writes
benchmarks/results/ecological.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Contests, Margins, datasets, synthetic
from sumwise.datasets import store
from sumwise.ecological import (
    Bounds,
    EcologicalEM,
    Goodman,
    King,
    MultinomialDirichlet,
    aggregation_bias_test,
    error_index,
    influence,
    segregation,
    sensitivity,
    validate,
)
from sumwise.voting import (
    decisive_groups,
    district_performance,
    homogeneous_units,
    polarised_voting,
)

RESULTS = Path(__file__).parent / "results" / "ecological.json"


def contests(every):
    """Every contest by our methods, and the published scores of the same contests."""
    chosen = datasets.contests()[::every]
    EcologicalEM().fit(chosen[0].margins)
    quick = validate(EcologicalEM(), chosen)
    ours = validate(EcologicalEM(), chosen)
    print(ours.to_text())
    published = store.read_csv("contests", 5, text=["run"])
    keys = {(c.dataset, c.district) for c in chosen}
    published = published[[key in keys for key in zip(published["dataset"], published["district"])]]
    mean = published.groupby(["method", "dataset", "district"], as_index=False)[["EI_V", "runtime_s"]].mean()
    table = mean.groupby("method")[["EI_V", "runtime_s"]].mean()
    table.columns = ["all", "seconds"]
    frame = ours.frame
    table.loc["sumwise EcologicalEM"] = row = [frame["index"].mean(), quick.frame["seconds_fit"].mean()]
    table = table.sort_values("all")
    print("\nMean error index, published scores on the same contests (their seconds are of their machine):")
    print(table.to_string(float_format="%.3f"))
    print(f"\nSeconds per contest: {row[1]:.3f} point estimates, {frame['seconds'].mean():.3f} with intervals")
    return {"table": table.reset_index().to_dict("records"), "summary": ours.summary().to_dict("records")}


def senc(_):
    """Three methods where the truth is known: 212 precincts, 3 x 3."""
    election, rows = datasets.senc(), []
    MultinomialDirichlet(n_draws=20, max_draws=20, r_hat=99.0).fit(election.margins[:30])
    for method in (MultinomialDirichlet(), EcologicalEM(), King(strategy="multivariate", n_draws=500)):
        begin = time.process_time()
        est = method.fit(election.margins)
        seconds = time.process_time() - begin
        estimate = est.estimate()
        rows.append(
            {
                "method": type(method).__name__,
                "index": error_index(est.total_, election.total),
                "covered": f"{int(estimate.covers(election.shares).sum())} of 9",
                "width": float(np.diff(estimate.interval, axis=0).mean()),
                "worst R-hat": float(est.r_hat_.max()) if hasattr(est, "r_hat_") else float("nan"),
                "seconds": seconds,
            }
        )
    return show("senc", rows)


def chains(_):
    """CPU seconds of `MultinomialDirichlet` at its strict R-hat: two files; 125 to 1,000 of the same units, 3 seeds.

    The number of draws until R-hat is below a limit is itself random; seconds per effective draw are steadier.
    """
    precincts = synthetic.precincts(1000, 3, 4, random_state=0).margins
    order = np.random.default_rng(0).permutation(len(precincts))
    cases = {"senc": datasets.senc().margins, "matproii": datasets.matproii().margins}
    cases |= {f"3 x 4, {n} units": precincts[np.sort(order[:n])] for n in (125, 250, 500, 1000)}
    MultinomialDirichlet(n_draws=20, max_draws=20, r_hat=99.0).fit(cases["senc"][:30])
    rows = []
    for name, m in cases.items():
        seconds, r_hats, sizes = [], [], []
        for seed in range(3):
            begin = time.process_time()
            est = MultinomialDirichlet(random_state=seed).fit(m)
            seconds.append(time.process_time() - begin)
            r_hats.append(float(est.r_hat_.max()))
            sizes.append(float(est.effective_size_.min()))
        row = {"file": name, "units": len(m), "worst R-hat": max(r_hats), "effective draws": float(np.mean(sizes))}
        row |= {"CPU seconds": float(np.mean(seconds)), "most CPU seconds": max(seconds)}
        row["CPU seconds for 100 effective draws"] = 100 * sum(seconds) / sum(sizes)
        rows.append(row)
    small, large = rows[2], rows[-1]
    for key in ("CPU seconds", "CPU seconds for 100 effective draws"):
        large[f"exponent of {key}"] = float(np.log(large[key] / small[key]) / np.log(large["units"] / small["units"]))
    return show("chains", rows)


def matproii(_):
    """King's parameters and the bounds, against the reference implementation."""
    m = datasets.matproii().margins
    King(n_draws=10).fit(m)
    begin = time.process_time()
    est = King().fit(m)
    seconds = time.process_time() - begin
    bounds = Bounds().fit(m)
    phi = [1.2671900, 1.9349556, -1.1149542, -1.3270775, 1.6053564]
    rows = [{"what": f"phi {k}", "ours": float(a), "reference": b} for k, (a, b) in enumerate(zip(est.phi_, phi))]
    for k, (name, value) in enumerate((("Bb", 0.5712), ("Bw", 0.8178))):
        rows.append({"what": name, "ours": float(est.shares_[k, 0]), "reference": value})
    rows.append({"what": "lower bound Bb", "ours": float(bounds.lower_bound_[0, 0]), "reference": 0.2125903})
    rows.append({"what": "seconds", "ours": seconds, "reference": 0.2})
    return show("matproii", rows)


def chile(_):
    """The scale test: a fit with intervals, and intervals of every unit."""
    m = datasets.chile_2021(mismatch="rescale").margins
    small = m[:5000]
    EcologicalEM(max_iter=2).fit(small) if len(small) else None
    begin, wall = time.process_time(), time.perf_counter()
    est = EcologicalEM().fit(m)
    fitted = time.process_time() - begin
    est.interval(0.95)
    est.unit_interval(m, 0.95)
    row = {
        "units": len(m),
        "table": f"{m.n_rows} x {m.n_cols}",
        "CPU seconds, fit": fitted,
        "CPU seconds": time.process_time() - begin,
        "wall seconds": time.perf_counter() - wall,
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "converged": est.fit_.converged,
    }
    return show("chile", [row])


def raw(every):
    """Contests before small options are merged: up to 26 x 15."""
    done = validate(EcologicalEM(), datasets.contests(merged=False)[:: 8 * every])
    print(done.to_text())
    return done.summary().to_dict("records")


def units(_):
    """Coverage of 95% intervals of every unit's cells where they are known; their width was chosen on senc."""
    rows = []
    cases = {"senc": datasets.senc(), "matproii": datasets.matproii(), "1930": datasets.foreign_illiteracy_1930()}
    for name, election in cases.items():
        m = election.margins
        size = np.broadcast_to(m.rows[:, :, None], election.cells.shape)
        truth = np.divide(election.cells, size, out=np.zeros_like(size), where=size > 0)
        methods = [EcologicalEM(), Goodman(constrained=True), King(n_draws=500)]
        methods += [MultinomialDirichlet()] if m.totals.max() > 1 else []  # a model of counts: 1930 has shares only
        for method in methods:
            low, high = method.fit(m).unit_interval(m, 0.95)
            inside = ((low <= truth + 1e-9) & (truth <= high + 1e-9))[size > 0]
            width = (high - low)[size > 0]
            row = {"file": name, "method": type(method).__name__, "units": len(m), "coverage": inside.mean()}
            rows.append(row | {"width": width.mean(), "chosen on": name == "senc"})
    return show("units", rows)


def fold(side, k):
    """One option against the rest, (n, 2)."""
    return np.stack([side[..., k], side.sum(axis=-1) - side[..., k]], -1)


def folded(cells, r, c):
    """Tables (..., 2, 2) of one group and one outcome, each against the rest."""
    return np.swapaxes(fold(np.swapaxes(fold(cells, c), -1, -2), r), -1, -2)


def two_by_two_files(seed):
    """2 x 2 files whose truth is known, by kind: name, margins and the true table."""
    rng, files = np.random.default_rng(seed), {"contests": [], "senc": [], "census 2019": [], "old files": []}
    everything = datasets.contests()
    for i in rng.choice(len(everything), 30, replace=False):
        c = everything[i]
        r = int(np.argsort(-c.total.sum(axis=1))[rng.integers(min(3, len(c.total)))])
        k = int(np.argmax(c.total[r]))
        m = Margins(fold(c.margins.rows, r), fold(c.margins.cols, k))
        files["contests"].append((f"{c.dataset} {c.district}", m, folded(c.total, r, k)))
    senc = datasets.senc()
    for r, k in np.ndindex(3, 3):
        files["senc"].append(
            (f"{senc.margins.row_names[r]}, {senc.margins.col_names[k]}", *both(folded(senc.cells, r, k)))
        )
    people = datasets.pums_national().frame
    groups = {"black": people["RAC1P"] == 2, "hispanic": people["HISP"] > 0, "65 or older": people["AGEP"] >= 65}
    groups["renter"] = people["OWN_RENT"] == 2
    outcomes = {"poor": people["POVPIP"] < 150, "never married": people["MSP"] == 6, "degree": people["EDU"] >= 10}
    for (group, x), (outcome, y) in itertools.product(groups.items(), outcomes.items()):
        cells = pd.crosstab(people["PUMA"], [x, y]).to_numpy(float)[:, ::-1].reshape(-1, 2, 2)
        files["census 2019"].append((f"{group}, {outcome}", *both(cells)))
    for name, election in (("matproii", datasets.matproii()), ("1930", datasets.foreign_illiteracy_1930())):
        scale = 1000 if election.margins.totals.max() <= 1 else 1  # 1930 has shares only: a thousand people a state
        files["old files"].append((name, *both(scale * election.cells)))
    return files


def against_rest(side, chosen):
    """Some options (..., k) and all others together, (..., k + 1)."""
    kept = side[..., chosen]
    return np.concatenate([kept, (side.sum(axis=-1) - kept.sum(axis=-1))[..., None]], axis=-1)


def both(cells):
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0)


def two_by_two(_, seed=0):
    """Which method for 2 x 2 tables: files of four kinds, and the method that the other three kinds would choose."""
    scores = []
    for kind, files in two_by_two_files(seed).items():
        for name, m, truth in files:
            true = truth / truth.sum(axis=1, keepdims=True)
            for method in (EcologicalEM(), King(n_draws=300), Goodman(constrained=True), MultinomialDirichlet()):
                begin = time.process_time()
                est = method.fit(m)
                low, high = est.interval(0.95)
                row = {"kind": kind, "file": name, "method": type(method).__name__}
                row |= {"index": error_index(est.total_, truth), "width": (high - low).mean()}
                row["covered"] = ((low <= true + 1e-9) & (true <= high + 1e-9)).mean()
                scores.append(row | {"CPU seconds": time.process_time() - begin})
    frame = pd.DataFrame(scores)
    numbers = ["index", "covered", "width", "CPU seconds"]
    table = frame.groupby(["kind", "method"])[numbers].mean().reset_index()
    table["files"] = [int(((frame["kind"] == k) & (frame["method"] == "King")).sum()) for k in table["kind"]]
    wide = table.pivot_table(index="kind", columns="method", values="index")
    chosen = [
        {"kind": k, "chosen by the others": wide.drop(k).mean().idxmin(), "best here": wide.loc[k].idxmin()}
        for k in wide.index
    ]
    everywhere = table.groupby("method")[numbers].mean().reset_index()  # every kind weighs the same
    each = frame.pivot_table(index=["kind", "file"], columns="method", values="index")
    smaller = {other: float((each["EcologicalEM"] < each[other]).mean()) for other in each if other != "EcologicalEM"}
    found = {
        "by kind": show("two_by_two", table.to_dict("records")),
        "leave one kind out": show("chosen on the other kinds", chosen),
        "over kinds": show("mean over kinds", everywhere.to_dict("records")),
        "EcologicalEM smaller than": show("files where EcologicalEM has the smaller error", [smaller])[0],
    }
    return found | {"files": scores}


def many(_):
    """Fifty contests of a thousand precincts: pooled, with every table of polarised voting, of units and of doubts."""
    base = synthetic.precincts(1000, 3, 4, random_state=0).base_shares
    contests = {k: synthetic.precincts(1000, 3, 4, base_shares=base, random_state=k).margins for k in range(50)}
    EcologicalEM().fit(contests[0])
    begin, wall = time.process_time(), time.perf_counter()
    est = EcologicalEM().fit(Contests(contests))
    fitted = time.process_time() - begin
    table = polarised_voting(est)
    for k, m in contests.items():
        decisive_groups(est[k])
        segregation(m)
        homogeneous_units(m)
        est[k].unit_interval(m)
        district_performance(m, np.arange(1000) // 100)
        sensitivity(est[k], m)
        aggregation_bias_test(m)
        influence(est[k], m, most=20)
    row = {"contests": 50, "rows of the table": len(table), "CPU seconds, fit": fitted, "pooling": est[0].pooling_}
    row |= {"CPU seconds, all": time.process_time() - begin, "wall seconds": time.perf_counter() - wall}
    return show("many", [row])


def many_files(_):
    """The same from a file by `sumwise fit`: 50 contests of 1,000 precincts in one table, a page for each."""
    rng = np.random.default_rng(0)
    base = synthetic.precincts(1000, 3, 4, random_state=0)
    groups = ["black", "hispanic", "white"]
    frame = pd.DataFrame(np.asarray(base.margins.rows, int), columns=groups)
    lines = ['family = "ecological"', "[data]", 'file = "votes.csv"', "[columns]", f"groups = {groups}"]
    for k in range(50):
        shares = [rng.dirichlet(30 * p) for p in base.base_shares]
        votes = sum(rng.multinomial(frame[g], p) for g, p in zip(groups, shares))
        names = [f"candidate {c} of {k}" for c in range(4)]
        frame[names] = votes
        lines += ["[[contest]]", f'name = "contest {k}"', f"outcomes = {names}"]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        frame.to_csv(here / "votes.csv", index_label="precinct")
        (here / "problem.toml").write_text("\n".join(lines).replace("'", '"'))
        command = [sys.executable, "-m", "sumwise", "fit", str(here / "problem.toml"), "--out", str(here / "result")]
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*command, "--quiet"], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        row = {"contests": 50, "CPU seconds": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime}
        row |= {"wall seconds": time.perf_counter() - wall, "GiB": used.ru_maxrss / 2**20}
        row["pages"] = len(list((here / "result").glob("*/report.html")))
        row["rows of the table"] = len(pd.read_csv(here / "result" / "contests.csv"))
    return show("many_files", [row])


def pooled(every):
    """CPU seconds of all contests at once, pooled, with intervals; errors are in contest_correction.json."""
    known = {(c.dataset, c.district): c for c in datasets.contests()[::every]}
    EcologicalEM().fit(next(iter(known.values())).margins)
    contests = Contests({k: c.margins for k, c in known.items()}, elections={k: k[0] for k in known})
    rows = []
    for correction in ("auto", False):
        begin = time.process_time()
        est = EcologicalEM(correction=correction).fit(contests)
        seconds = time.process_time() - begin
        used = sorted({est[k].pooling_ for k in known})
        rows.append(
            {"contests": len(known), "correction": str(correction), "used": ", ".join(used), "CPU seconds": seconds}
        )
    return show("pooled", rows)


def with_bias(seed, bias, n_units=300, n_rows=3, n_cols=3):
    """Units whose shares depend on a covariate that composition is correlated with; margins, and the true table."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n_units)
    lean = np.log(rng.dirichlet([1.5] * n_rows)) + 0.8 * rng.standard_normal((n_units, n_rows))
    lean[:, 0] += z
    composition = np.exp(lean) / np.exp(lean).sum(axis=1, keepdims=True)
    rows = np.array([rng.multinomial(n, c) for n, c in zip(rng.integers(300, 1500, n_units), composition)])
    logits = np.log(rng.dirichlet([2] * n_cols, n_rows))[None] + z[:, None, None] * bias * np.linspace(
        -0.6, 0.6, n_cols
    )
    shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    cells = [[rng.multinomial(x, rng.dirichlet(60 * p)) for x, p in zip(row, unit)] for row, unit in zip(rows, shares)]
    cells = np.array(cells)
    return Margins(cells.sum(axis=2), cells.sum(axis=1), covariates=z[:, None]), cells.sum(axis=0)


COVARIATE_SHAPES = ((300, 3, 3), (100, 2, 2), (150, 4, 3))  # units, groups, outcomes


def covariates(_):
    """Aggregation bias that a covariate explains: without and with it, with and without contextual effects."""
    rows = []
    for bias, seed in itertools.product((0.0, 0.5, 1.0), range(1, 134, 2)):
        m, total = with_bias(seed, bias, *COVARIATE_SHAPES[seed // 2 % 3])
        true = total / total.sum(axis=1, keepdims=True)
        for used, context in ((None, True), ("all", True), ("all", False)):
            begin = time.process_time()
            est = EcologicalEM(covariates=used, context=context).fit(m)
            low, high = est.interval(0.95)
            row = {"bias": bias, "covariates": str(used), "intervals": est.interval_kind}
            row |= {"index": error_index(est.total_, total), "width": (high - low).mean()}
            row |= {"covered": ((low <= true) & (true <= high)).mean()}
            rows.append(row | {"CPU seconds": time.process_time() - begin})
    table = pd.DataFrame(rows).groupby(["bias", "covariates", "intervals"]).mean().reset_index()
    return show("covariates", table.to_dict("records"))


def power(_):
    """How often the test of aggregation bias rejects, beside the power that it states; 300 draws each."""
    rows = []
    for effect in (0.0, 0.1, 0.2, 0.4):
        found, stated = [], []
        for seed in range(300):
            rng = np.random.default_rng(seed)
            x = rng.beta(2, 2, 80)
            b, w = 0.6 + effect * (x - 0.5), np.full(80, 0.3)  # slopes in composition that differ by `effect`
            n = rng.integers(200, 800, 80)
            members = rng.binomial(n, x)
            yes = rng.binomial(members, np.clip(rng.normal(b, 0.05), 0, 1))
            yes = yes + rng.binomial(n - members, np.clip(rng.normal(w, 0.05), 0, 1))
            m = Margins(np.stack([members, n - members], 1), np.stack([yes, n - yes], 1))
            row = aggregation_bias_test(m, effect=max(effect, 0.01)).iloc[0]
            found.append(row["p value"] < 0.05)
            stated.append(row["power"])
        rows.append({"effect": effect, "rejected": np.mean(found), "stated power": np.mean(stated) if effect else 0.05})
    return show("power", rows)


def uncertain_rows(seed, kind, relative, n_units=80, n_rows=3, n_cols=3):
    """Units whose groups are known with an error of `relative` of their size: margins with and without row_sd, truth.

    classical: what is given is the truth plus noise (a survey, noise for privacy). Berkson: the truth is what is given
    plus noise. voters: expected counts from voters' probabilities, Berkson by nature (`relative` has no effect).
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(300, 1000, n_units)
    composition = rng.dirichlet([2] * n_rows, n_units)
    if kind == "voters":
        lean = [rng.dirichlet(3 * c, n) for n, c in zip(sizes, composition)]
        first = np.array([p.sum(axis=0) for p in lean])
        second = np.array([(p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1) for p in lean], dtype=object)
        second = np.array([np.bincount(x.astype(int), minlength=n_rows) for x in second], float)
        sd = np.sqrt([(p * (1 - p)).sum(axis=0) for p in lean])
    else:
        first = np.array([rng.multinomial(n, c) for n, c in zip(sizes, composition)], float)
        sd = relative * first.mean() * np.ones(first.shape)
        second = np.maximum(first + sd * rng.standard_normal(first.shape), 0.0) + 1e-6
        second *= (sizes / second.sum(axis=1))[:, None]
    true, given = (first, second) if kind == "classical" else (second, first)
    shares = rng.dirichlet([1.5] * n_cols, n_rows)
    cells = np.array([[rng.multinomial(round(x), rng.dirichlet(60 * p)) for x, p in zip(row, shares)] for row in true])
    cols = cells.sum(axis=1)
    rows = given / given.sum(axis=1, keepdims=True) * cols.sum(axis=1, keepdims=True)
    total = cells.sum(axis=0)
    return Margins(rows, cols), Margins(rows, cols, row_sd=sd), total / total.sum(axis=1, keepdims=True)


ROW_SHAPES = ((80, 3, 3), (60, 2, 2), (200, 4, 3))  # units, groups, outcomes


def row_error(kinds=(("classical", 0.1), ("classical", 0.3)), draws=34):
    """Groups that are known with an error: attenuation of differences between groups, and coverage.

    `draws` for each kind of error, its size, and each of three shapes: 204 simulations.
    """
    rows = []
    for (kind, relative), shape, seed in itertools.product(kinds, ROW_SHAPES, range(draws)):
        exact, stated, true = uncertain_rows(seed, kind, relative, *shape)
        apart = true - true.mean(axis=0)
        ways = {"exact": (exact, {}), "row_sd": (stated, {})}
        ways["row_sd, not corrected"] = stated, {"row_error": "uncorrected"}
        ways["row_sd, row_error berkson"] = stated, {"row_error": "berkson"}
        for used, (m, options) in ways.items():
            est = EcologicalEM(**options).fit(m)
            low, high = est.interval(0.95)
            found = est.shares_ - est.shares_.mean(axis=0)
            row = {"error": kind, "relative": relative, "groups taken as": used}
            row |= {
                "attenuation": (found * apart).sum() / (apart**2).sum(),
                "error of shares": np.abs(est.shares_ - true).mean(),
            }
            rows.append(row | {"covered": ((low <= true) & (true <= high)).mean(), "width": (high - low).mean()})
    table = pd.DataFrame(rows).groupby(["error", "relative", "groups taken as"]).mean().reset_index()
    return show("row_error", table.to_dict("records"))


def berkson(_):
    """The same where the truth is what is given plus noise: not the errors that the correction is meant for."""
    return row_error((("Berkson", 0.1), ("Berkson", 0.3), ("voters", 0.0)), 22)


def show(title, rows):
    print(f"\n{title}\n{pd.DataFrame(rows).to_string(index=False, float_format='%.4f')}")
    return rows


def apart(shares):
    """Differences between every two groups (pairs, C) of row shares (R, C)."""
    one, two = np.triu_indices(len(shares), 1)
    return shares[one] - shares[two]


def overstated(rows):
    """How far methods overstate differences between groups: rows of method, estimated and true shares of a contest.

    "ratio": mean size of estimated differences over that of true ones; "slope": of estimated on true differences, below
    1 where they are understated; "overstated in": contests whose mean difference is; "bias": of the difference of the
    contest's largest group to its second largest in the contest's largest outcome, towards the truth's sign.
    """
    frame = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        pairs = [(apart(row["estimate"]), apart(row["true"])) for row in own]
        sizes = np.array([[np.abs(a).mean(), np.abs(b).mean()] for a, b in pairs])
        bias = []
        for row in own:
            one, two = np.argsort(-row["people"])[:2]
            c = int(np.argmax(row["people"] @ row["true"]))
            gap, true = (float(row[k][one, c] - row[k][two, c]) for k in ("estimate", "true"))
            bias.append(np.sign(true) * (gap - true))
        scores = {
            "method": method,
            "contests": len(own),
            "true": sizes[:, 1].mean(),
            "estimated": sizes[:, 0].mean(),
            "ratio": sizes[:, 0].mean() / sizes[:, 1].mean(),
            "slope": sum((a * b).sum() for a, b in pairs) / sum((b * b).sum() for _, b in pairs),
            "overstated in": float(np.mean(sizes[:, 0] > sizes[:, 1])),
            "bias": float(np.mean(bias)),
            "bias error": float(np.std(bias, ddof=1) / np.sqrt(len(bias))),
            "index": float(np.mean([row["index"] for row in own])),
        }
        covered = [row["covered"] for row in own if "covered" in row]
        frame.append(scores | ({"covered": float(np.mean(covered))} if covered else {}))
    return frame


def by_method(job):
    """What one method says of one contest, (R, C) shares."""
    name, contest, pooled = job
    m, total = contest.margins, contest.total
    methods = {
        "Goodman": Goodman(constrained=True),
        "King": King(n_draws=200),
        "MultinomialDirichlet": MultinomialDirichlet(),
        "EcologicalEM": EcologicalEM(),
    }
    people = total.sum(axis=1)
    row = {"method": name, "people": people, "true": total / np.maximum(people, 1e-300)[:, None]}
    if name in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = methods[name].fit(m)
        shares = est.shares_
        if est.fit_.converged:
            low, high = est.interval(0.95)
            row["covered"] = float(((low <= row["true"] + 1e-9) & (row["true"] <= high + 1e-9)).mean())
    else:  # trivial: everybody alike
        shares = pooled if pooled is not None else np.tile(total.sum(axis=0) / total.sum(), (len(total), 1))
    return row | {"estimate": shares, "index": error_index(shares * people[:, None], total)}


def polarisation(every, jobs=1):
    """Whether methods overstate differences between groups, on contests whose tables are known.

    The trivial estimate has everybody alike. King's model and chains take every eighth of the contests.
    """
    known = datasets.contests()[::every]
    both = Contests(
        {(c.dataset, c.district): c.margins for c in known},
        elections={(c.dataset, c.district): c.dataset for c in known},
    )
    pooled = EcologicalEM(correction=False).fit(both)
    work = [("everybody alike", c, None) for c in known]
    work += [("EcologicalEM, pooled", c, pooled[c.dataset, c.district].shares_) for c in known]
    work += [(name, c, None) for name in ("Goodman", "EcologicalEM") for c in known]
    work += [(name, c, None) for name in ("King", "MultinomialDirichlet") for c in known[::8]]
    with ProcessPoolExecutor(jobs) as pool:
        rows = list(pool.map(by_method, work, chunksize=4))
    some = {(c.dataset, c.district) for c in known[::8]}
    keys = [(c.dataset, c.district) for _, c, _ in work]
    return {
        "all": show("polarisation, all contests", overstated(rows[: 4 * len(known)])),
        "every eighth": show("every eighth", overstated([row for row, key in zip(rows, keys) if key in some])),
    }


def packages(every):
    """R's seine (McCartan and Kuriwaki 2025) and fastei beside ours on contests whose tables are known, and on senc.

    seine's debiased estimates are without covariates; fastei is by the symmetric normal density, its best published.
    Needs Rscript with the packages seine, fastei and jsonlite (``R_LIBS``).
    """
    senc = datasets.senc()
    known = {f"{c.dataset} {c.district}": (c.margins, c.total) for c in datasets.contests()[::every]}
    known["senc"] = senc.margins, senc.total
    printed = {name: in_r(name, [m for m, _ in known.values()]) for name in ("seine", "fastei:joint", "fastei:average")}
    rows, failed = [], []
    for k, (name, (m, total)) in enumerate(known.items()):
        contest = SimpleNamespace(margins=m, total=total)
        own = [by_method((method, contest, None)) for method in ("everybody alike", "Goodman", "EcologicalEM")]
        for package, found in printed.items():
            if "error" in found[k]:
                failed.append({"package": package, "contest": name, "error": found[k]["error"]})
            else:
                own += by_package(package, found[k], own[0], total)
        rows.append([row | {"contest": name} for row in own])
    outside = [((row["estimate"] < 0) | (row["estimate"] > 1)).mean() for each in rows for row in each
               if row["method"] == "seine"]  # fmt: skip
    seconds = pd.DataFrame([row for each in rows[:-1] for row in each if "seconds" in row])
    return {
        "contests": show("contests", overstated([row for each in rows[:-1] for row in each])),
        "senc": show("senc", [{k: row.get(k) for k in ("method", "index", "covered")} for row in rows[-1]]),
        "seine's estimates outside [0, 1]": float(np.mean(outside)),
        "median seconds": seconds.groupby("method")["seconds"].median().to_dict(),
        "failed": failed,
    }


def in_r(package, margins):
    """What a package says of each contest (rivals/contests.R)."""
    with tempfile.TemporaryDirectory() as folder:
        for k, m in enumerate(margins):
            names = [f"g{r}" for r in range(m.n_rows)] + [f"o{c}" for c in range(m.n_cols)]
            full = m[m.totals > 0]
            shares = pd.DataFrame(np.hstack([full.row_shares, full.col_shares]), columns=names)
            shares.assign(total=full.totals).to_csv(Path(folder) / f"{k}.csv", index=False)
        script = Path(__file__).parent / "rivals" / "contests.R"
        done = subprocess.run(["Rscript", str(script), package, folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def by_package(package, found, facts, total):
    """Rows of a contest by a package; those of seine, which leave [0, 1], also cut to it."""
    estimate = np.array(found["estimate"])
    inside = np.clip(estimate, 0, None)
    inside = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-300)
    row = facts | {"method": package, "estimate": estimate, "seconds": found["seconds"]}
    row["index"] = error_index(inside * facts["people"][:, None], total)
    if "low" not in found:
        return [row]
    low, high = (np.array(found[part]) for part in ("low", "high"))
    row["covered"] = float(((low <= facts["true"]) & (facts["true"] <= high)).mean())
    return [row, row | {"method": f"{package}, cut to [0, 1]", "estimate": inside}]


PARTS = {
    "contests": contests,
    "senc": senc,
    "chains": chains,
    "matproii": matproii,
    "chile": chile,
    "raw": raw,
    "units": units,
    "two_by_two": two_by_two,
    "many": many,
    "many_files": many_files,
    "pooled": pooled,
    "covariates": covariates,
    "power": power,
    "row_error": lambda _: row_error(),
    "berkson": berkson,
    "polarisation": polarisation,
    "packages": packages,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[name for name in PARTS if name != "packages"])
    parser.add_argument("--every", type=int, default=1, help="take every k-th contest")
    parser.add_argument("--seed", type=int, default=0, help="of the contests that two_by_two draws")
    parser.add_argument("--jobs", type=int, default=1, help="processes, for polarisation")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    if asked.merge:
        for part in asked.merge:
            known |= json.loads(part.read_text())
        asked.out.write_text(json.dumps(known, indent=1, default=float) + "\n")
        return
    commit = run_record()["commit"]
    for name in asked.parts:
        begin = time.process_time()
        more = {"two_by_two": (asked.seed,), "polarisation": (asked.jobs,)}.get(name, ())
        found = PARTS[name](asked.every, *more)
        command = f"benchmarks/ecological.py {name} --every {asked.every} --seed {asked.seed}"
        facts = {"command": command, "commit": commit}
        known[name] = facts | {"CPU seconds": time.process_time() - begin, "result": found}
        asked.out.write_text(json.dumps(known, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
