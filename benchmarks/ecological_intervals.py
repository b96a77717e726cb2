"""Widths of EcologicalEM's intervals: chosen on half of the elections, scored on the other half, and on simulations.

    python benchmarks/ecological_intervals.py collect NZ_2002 --to PART.csv.gz   # an election, or "simulated"
    python benchmarks/ecological_intervals.py covariates NZ_2002 --to PART.csv.gz   # an election, "census", "simulated"
    python benchmarks/ecological_intervals.py report PART.csv.gz ...             # of all parts
    python benchmarks/ecological_intervals.py draws PART.csv.gz ...              # what is drawn, on elections
    python benchmarks/ecological_intervals.py weights PART.csv.gz ...            # two weights of the determinant

`collect` fits every contest as it is and folded to small tables (the largest groups and candidates against the rest),
and writes each cell's estimate, truth and parts of its error. `report` chooses the widths of intervals on one half of
the elections (`CHOSEN_ON`, `REPORTED_ON`), scores them on the other, then the other way round, and scores the
package's own numbers on all and on simulated contests whose shares move with a covariate or with a unit's composition;
it writes benchmarks/results/ecological_intervals.json. `draws` scores draws of whole tables: differences between groups
and all others, candidates of choice, polarised voting, against draws of cells that ignore each other. `weights`
compares parts that were collected with ``--determinant 1.3 1``: errors, coverage, width, time and fits that did not
converge, paired by table, on the elections that no width was chosen on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from ecological import COVARIATE_SHAPES, against_rest, with_bias
from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM, aggregation_bias_test, calibration
from sumwise.ecological.candidates_of_choice import others_shares
from sumwise.ecological.kernels.batched_raking import compiled_kernels

RESULTS = Path(__file__).parent / "results" / "ecological_intervals.json"
SHAPES = {"2 x 2": (1, 1), "2 x 3": (1, 2), "2 x all": (1, None), "all x 2": (None, 1)}
SHAPES |= {"3 x 2": (2, 1), "3 x 3": (2, 2), "4 x 4": (3, 3), "all": (None, None)}
BIASES, SEEDS = (0.0, 0.5, 1.0), range(200, 300)
COVARIATE_SEEDS = range(300, 400)  # of contests with covariates
DEFAULT = EcologicalEM().determinant


def folded(contest, seed):
    """The contest as tables of several shapes: name, margins and the true table."""
    first = np.random.default_rng(seed).integers(min(3, len(contest.total)))
    by_size = [np.argsort(-contest.total.sum(axis=1 - side)) for side in (0, 1)]
    groups = np.roll(by_size[0], -first)
    for name, (n_rows, n_cols) in SHAPES.items():
        x, t, cells = contest.margins.rows, contest.margins.cols, contest.total
        if n_rows:
            x, cells = against_rest(x, groups[:n_rows]), against_rest(cells.T, groups[:n_rows]).T
        if n_cols:
            t, cells = against_rest(t, by_size[1][:n_cols]), against_rest(cells, by_size[1][:n_cols])
        yield name, Margins(x, t), cells


def with_context(seed, bias, n_units=300, n_rows=3, n_cols=3):
    """Units whose shares depend on their own composition, each group's in its own way; margins, and the true table."""
    rng = np.random.default_rng(seed)
    composition = rng.dirichlet(4 * rng.dirichlet([4.0] * n_rows), n_units)
    sizes = rng.integers(300, 1500, n_units)
    rows = np.array([rng.multinomial(n, c) for n, c in zip(sizes, composition)])
    slopes = bias * rng.normal(0, 1.5, (n_rows, n_cols)) + bias * rng.normal(0, 1.5, n_cols)
    z = composition[:, 0] - composition[:, 0].mean()
    logits = np.log(rng.dirichlet([2] * n_cols, n_rows)) + z[:, None, None] * slopes
    shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    cells = [[rng.multinomial(x, rng.dirichlet(60 * p)) for x, p in zip(row, unit)] for row, unit in zip(rows, shares)]
    cells = np.array(cells)
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0)


def with_rest(contest, seed):
    """The contest with its largest groups against the rest: shares of the groups merged into it are covariates.

    What the rest chose depends on who it consists of, and so on composition; the covariates explain that in part.
    """
    first = np.random.default_rng(seed).integers(min(3, len(contest.total)))
    groups = np.roll(np.argsort(-contest.total.sum(axis=1)), -first)
    for name, kept in (("2 x 3", 1), ("3 x 3", 2)):
        outcomes = np.argsort(-contest.total.sum(axis=0))[:2]
        merged = contest.margins.rows[:, groups[kept:]]
        size = merged.sum(axis=1, keepdims=True)
        if merged.shape[1] < 3 or len(contest.total[0]) <= len(outcomes):
            continue
        inside = np.divide(merged, size, out=np.tile(merged.sum(axis=0) / merged.sum(), (len(size), 1)), where=size > 0)
        x, t = against_rest(contest.margins.rows, groups[:kept]), against_rest(contest.margins.cols, outcomes)
        cells = against_rest(against_rest(contest.total.T, groups[:kept]).T, outcomes)
        yield name, Margins(x, t, covariates=inside[:, : min(3, merged.shape[1] - 1)]), cells


def census_tables():
    """2 x 2 tables of areas from people, with what else is known of the areas as covariates: name, margins, truth."""
    people = datasets.pums_national().frame
    facts = {"black": people["RAC1P"] == 2, "hispanic": people["HISP"] > 0, "65 or older": people["AGEP"] >= 65}
    facts |= {"renter": people["OWN_RENT"] == 2, "poor": people["POVPIP"] < 150, "never married": people["MSP"] == 6}
    facts |= {"degree": people["EDU"] >= 10}
    for (group, x), (outcome, y) in itertools.permutations(facts.items(), 2):
        cells = pd.crosstab(people["PUMA"], [x, y]).to_numpy(float)[:, ::-1].reshape(-1, 2, 2)
        others = [facts[name].groupby(people["PUMA"]).mean() for name in facts if name not in (group, outcome)]
        z = np.column_stack(others[:3])
        yield f"{group}, {outcome}", Margins(cells.sum(axis=2), cells.sum(axis=1), covariates=z), cells.sum(axis=0)


def cells_of(est, margins, total, **facts):
    """One row per cell: estimate, truth and parts of the error."""
    group = margins.rows.sum(axis=0) / margins.rows.sum()
    found = {"p": est.shares_, "truth": total / total.sum(axis=1, keepdims=True)}
    found |= {"chance": est.error_parts_["chance"]}
    found |= {"theory": calibration.chance_sd(est.shares_, margins.rows, est.overdispersion_)}
    found |= {"group": np.broadcast_to(group[:, None], total.shape)}
    found |= {"low": est.lower_bound_, "high": est.upper_bound_, "own_sd": est.standard_errors_}
    frame = pd.DataFrame({name: np.ravel(values) for name, values in found.items()})
    tests = aggregation_bias_test(margins)
    frame = frame.assign(curved=tests["adjusted p"].min())
    isolation = (margins.rows * margins.row_shares).sum(axis=0) / margins.rows.sum(axis=0)
    frame["apart"] = np.repeat(1 - isolation, total.shape[1])  # 1 less the group's isolation
    for name in ("curvature", "standard error"):
        wide = tests.pivot_table(index="group", columns="outcome", values=name)
        wide = wide.reindex(index=margins.row_names, columns=margins.col_names).ffill(axis=0).ffill(axis=1)
        frame[name] = wide.to_numpy().ravel()  # two groups, or outcomes, mirror each other
    frame = frame.assign(rows=len(total), cols=total.shape[1], units=len(margins), rho=est.overdispersion_)
    return frame.assign(size=margins.totals.mean(), **facts)


def collect_election(name, weights=(DEFAULT,)):
    for i, contest in enumerate(datasets.contests()):
        if contest.dataset == name:
            for (shape, m, total), weight in itertools.product(folded(contest, i), weights):
                begin = time.process_time()
                est = EcologicalEM(determinant=weight).fit(m)
                facts = {"fit_seconds": time.process_time() - begin, "steps": est.fit_.n_iter, "determinant": weight}
                facts |= {"unconverged": est.unconverged_refits_ + (not est.fit_.converged)}
                yield cells_of(est, m, total, source=name, table=shape, contest=contest.district, **facts)


def collect_simulated():
    for seed, bias in itertools.product(SEEDS, BIASES):
        shape = COVARIATE_SHAPES[seed % 3]
        for source, make in (("covariate", with_bias), ("composition", with_context)):
            m, total = make(seed, bias, *shape)
            for used in (None, "all") if source == "covariate" else (None,):
                name = source if used is None else f"{source}, used"
                facts = {"source": name, "table": f"{shape[1]} x {shape[2]}", "contest": seed, "bias": bias}
                yield cells_of(EcologicalEM(covariates=used).fit(m), m, total, **facts)


def collect_covariates(name):
    """Real tables whose groups are mixtures, and simulated ones, without and with covariates."""
    cases = []
    if name == "census":
        cases = [("2 x 2", *case) for case in census_tables()]
    elif name == "simulated":
        made = itertools.product(COVARIATE_SEEDS, BIASES)
        cases = [(f"bias {bias}", seed, *with_bias(seed, bias, *COVARIATE_SHAPES[seed % 3])) for seed, bias in made]
    for i, contest in enumerate(datasets.contests()):
        if contest.dataset == name:
            cases += [(shape, contest.district, m, total) for shape, m, total in with_rest(contest, i)]
    for shape, contest, m, total in cases:
        for used in (None, "all"):
            est = EcologicalEM(covariates=used).fit(m)
            yield cells_of(est, m, total, source=name, table=shape, contest=contest, covariates=used == "all")


def collect(names, to, covariates=False, weights=(DEFAULT,)):
    begin, parts = time.process_time(), []
    with compiled_kernels():
        for name in names:
            found = collect_simulated() if name == "simulated" else collect_election(name, weights)
            for part in collect_covariates(name) if covariates else found:
                parts.append(part)
                if len(parts) % 100 == 0:
                    pd.concat(parts).to_csv(to, index=False)
    facts = {"seconds": time.process_time() - begin, "commit": run_record()["commit"]}
    pd.concat(parts).assign(**facts).to_csv(to, index=False)


def collected(files, weights=(DEFAULT,)):
    """The cells of all files, of fits with these weights of the determinant."""
    cells = pd.concat([pd.read_csv(file, dtype={"commit": str}) for file in files], ignore_index=True)
    cells = cells[cells["determinant"].fillna(DEFAULT).isin(weights)] if "determinant" in cells else cells
    rest = cells["own_sd"] ** 2 - (widening(cells) * plain_sd(cells)) ** 2
    return cells.assign(rest=rest.clip(0))  # what the package adds for units alike: regression, few units


def commits(cells):
    return ", ".join(cells["commit"].dropna().unique())


def plain_sd(cells):
    """Standard deviations by chance and model error, before they are widened."""
    p = cells["p"].clip(calibration.EDGE, 1 - calibration.EDGE)
    model = p * (1 - p) * (calibration.SHARE**2 + calibration.GROUP**2 / (10 * cells["group"].clip(1e-6)))
    return calibration.SCALE * np.sqrt((calibration.CHANCE * cells["chance"]) ** 2 + model)


def covered(cells, widening, more=0.0):
    """Coverage, width and score of intervals with `widening` of the plain deviation; by `widening` the package's own.

    `more` is a standard deviation that is added to it, as squares.
    """
    return scored(cells, np.sqrt((widening * plain_sd(cells)) ** 2 + cells["rest"] + more**2))


def scored(cells, sd):
    """Whether the 95% interval of each cell holds the truth, its width, and its interval score."""
    ends = (cells[name].to_numpy() for name in ("low", "high"))
    low, high = calibration.beta_interval(cells["p"].to_numpy(), sd.to_numpy(), 0.95, *ends)
    missed = (low - cells["truth"]).clip(lower=0) + (cells["truth"] - high).clip(lower=0)
    return cells.assign(coverage=missed <= 1e-9, width=high - low, score=high - low + 2 / 0.05 * missed)


def widening(cells, folded_=None, power=None, spread=None, by_spread=None):
    """How many times wider than the plain deviation; by the package's numbers where none are given."""
    folded_, power = folded_ or calibration.FOLDED, calibration.FOLD_POWER if power is None else power
    spread, by_spread = spread or calibration.SPREAD, calibration.SPREAD_POWER if by_spread is None else by_spread
    free = ((cells["rows"] - 1) * (cells["cols"] - 1)).clip(1)
    used = cells["source"].str.endswith("used")
    used = used | cells["covariates"].eq(True) if "covariates" in cells else used
    factor = np.where(used, calibration.COVARIATES, 1.0)
    return factor * (folded_ * free**-power).clip(1) * (cells["rho"] / spread).clip(1) ** by_spread


def chosen(cells):
    """The numbers whose coverage, table by table, is nearest to 95.5 percent, with 91 percent in every election.

    They were chosen before the error of a regression was added, so without it here.
    """
    best, cells = (np.inf, ()), cells.assign(rest=0.0)
    for (a, b), spread, power in itertools.product(FOLDINGS, SPREADS, POWERS):
        done = covered(cells, widening(cells, a, b, spread, power))
        each = done.groupby("table")["coverage"].mean()
        short = max(0.91 - done[done["table"] != "all"].groupby("source")["coverage"].mean().min(), 0.0)
        best = min(best, (float(((each - 0.955) ** 2).mean()) + short, (a, b, spread, power)))
    return best[1]


def composition_ways(whole, context):
    """Two ways to allow for shares that depend on composition: coverage and width on contests and on simulations.

    "curvature": a deviation of so many times the curvature of outcomes in composition, where it is three standard
    errors or more, times one less the group's isolation. "allowed": of so many times twice the root of p (1 - p), times
    the latter: any group may depend on composition by so much.
    """
    out = {}
    for way, strengths in (("curvature", (0.2, 0.35, 0.5)), ("allowed", (0.05, 0.1, 0.2, 0.3))):
        for strength in strengths:
            row = {}
            for name, part in (("contests", whole), ("composition", context)):
                p = part["p"].clip(calibration.EDGE, 1 - calibration.EDGE)
                steep = (
                    part["curvature"].abs().where(part["curvature"].abs() > 3 * part["standard error"], 0.0).fillna(0)
                )
                size = steep if way == "curvature" else 2 * np.sqrt(p * (1 - p))
                done = covered(part, widening(part), (strength * size * part["apart"]).clip(upper=0.5))
                row[name] = scores(done, "source" if name == "contests" else "bias")
            out[f"{way}, {strength}"] = row
    return out


FOLDINGS = ((1.0, 0.0), (1.3, 0.1), (1.5, 0.15), (1.6, 0.2), (1.7, 0.25), (1.9, 0.25), (1.9, 0.28))
SPREADS, POWERS = (0.01, 0.015), (0.25, 0.35, 0.5)


def scores(done, by):
    found = done.groupby(by)[["coverage", "width"]].mean()
    found = {" ".join(map(str, np.atleast_1d(np.array(k, object)))): dict(row) for k, row in found.iterrows()}
    return found | {"overall": dict(done[["coverage", "width"]].mean())}


WITH_COVARIATES = ("NZ_2002", "SCO_2007")  # on which COVARIATES was chosen


def covariate_scores(cells):
    """Error, coverage and width without and with covariates, of elections and the census, and by the factor."""
    done = covered(cells, widening(cells)).assign(error=(cells["p"] - cells["truth"]).abs())
    known = done["source"].isin(WITH_COVARIATES)
    parts = {"chosen on": done[known], "census": done[done["source"] == "census"]}
    parts |= {"simulated": done[done["source"] == "simulated"]}
    parts["reported"] = done[~known & ~done["source"].isin(("census", "simulated"))]
    found = {}
    for name, part in parts.items():
        for used, some in part.groupby("covariates"):
            each = some.groupby("source")["coverage"].mean()
            row = dict(some[["error", "coverage", "width"]].mean()) | {"elections": each.to_dict()}
            row |= {"tables": int(some.groupby(["source", "table", "contest"]).ngroups)}
            found[f"{name}, {'with' if used else 'without'} covariates"] = row
    some = cells[cells["covariates"].eq(True) & cells["source"].isin(WITH_COVARIATES)]
    tried = (1.0, 0.9, 0.85, 0.8, 0.7)
    tries = {k: covered(some, k / calibration.COVARIATES * widening(some)).groupby("source") for k in tried}
    return found | {"factors tried": {str(k): each["coverage"].mean().to_dict() for k, each in tries.items()}}


def apart(shares, sd, lower, upper, n_draws, *, rng):
    """Draws of cells that ignore each other, scaled so that rows sum to 1."""
    p = np.clip(shares, calibration.EDGE, 1 - calibration.EDGE)
    size = p * (1 - p) / np.clip(sd**2, 1e-12, calibration.WIDEST * p * (1 - p)) - 1
    drawn = rng.beta(p * size, (1 - p) * size, (n_draws, *p.shape))
    drawn = np.clip(drawn, np.maximum(lower, 1e-12), upper)
    return drawn / drawn.sum(axis=2, keepdims=True)


def draws_of(table, seed):
    """Scores of draws of one table, by the package's way and by cells that ignore each other."""
    shape = int(table["rows"].iloc[0]), int(table["cols"].iloc[0])
    p, truth, sd, low, high, sizes = (
        table[name].to_numpy().reshape(shape) for name in ("p", "truth", "own_sd", "low", "high", "group")
    )
    sizes, best = sizes[:, 0], p.argmax(axis=1)
    gap, differ = truth - others_shares(truth, sizes), truth.argmax(1) != others_shares(truth, sizes).argmax(1)
    for way in ("totals known", "cells apart"):
        rng = np.random.default_rng(seed)
        if way == "totals known":
            drawn = calibration.beta_sample(p, sd, low, high, N_DRAWS, sizes=sizes, rng=rng)
        else:
            drawn = apart(p, sd, low, high, N_DRAWS, rng=rng)
        rest = others_shares(drawn, sizes)
        ends, gaps = (np.quantile(v, [0.025, 0.975], axis=0) for v in (drawn, drawn - rest))
        chosen = (drawn.argmax(2) == best).mean(axis=0)
        apart_ = (drawn.argmax(2) != rest.argmax(2)).mean(axis=0)
        row = {"way": way, "table": table["table"].iloc[0], "source": table["source"].iloc[0]}
        for name, (a, b), true in (("share", ends, truth), ("difference", gaps, gap)):
            row |= {name: ((a <= true + 1e-9) & (true <= b + 1e-9)).mean(), f"{name}, width": (b - a).mean()}
        sure, called = chosen >= 0.95, (apart_ >= 0.95) | (apart_ <= 0.05)
        row |= {"candidates sure": sure.sum(), "of them right": (sure & (truth.argmax(1) == best)).sum()}
        row |= {"polarisation called": called.sum(), "called rightly": (called & ((apart_ > 0.5) == differ)).sum()}
        yield row | {"groups": len(p), "squared error": ((apart_ - differ) ** 2).sum()}


N_DRAWS = 400
WEIGHTS = Path(__file__).parent / "results" / "ecological_determinant.json"


def by_table(cells, sd):
    """One row per table: percent of people in a wrong cell, coverage, width and interval score of 95% intervals."""
    cells = scored(cells, sd).assign(index=50 * cells["group"] * (cells["p"] - cells["truth"]).abs())
    each = cells.groupby(["source", "table", "contest"])
    means = each[["coverage", "width", "score", "fit_seconds", "steps", "unconverged"]].mean()
    return means.assign(index=each["index"].sum())


def compared(first, second, by):
    """Means of both and of paired differences (second less first) with their standard errors, over tables."""
    found = {}
    for key in ["overall", *first.index.unique(by)]:
        a, b = (part if key == "overall" else part.xs(key, level=by) for part in (first, second))
        found[key] = {"tables": len(a)}
        for name in a:
            difference = b[name] - a[name]
            found[key][name] = {"first": a[name].mean(), "second": b[name].mean(), "difference": difference.mean()}
            found[key][name]["error"] = difference.std(ddof=1) / np.sqrt(len(a))
    return found


LEFT_OUT = {"CHANCE": {"CHANCE": 0.0}, "SHARE": {"SHARE": 0.0}, "GROUP": {"GROUP": 0.0}}
LEFT_OUT |= {"SCALE": {"SCALE": 1.0}, "FOLDED": {"FOLDED": 1.0, "FOLD_POWER": 0.0}, "SPREAD": {"SPREAD_POWER": 0.0}}


def widths_left_out(cells):
    """What each number behind the widths adds to coverage and width, paired by table."""

    def means():
        done = covered(cells, widening(cells))
        return done.groupby(["source", "table", "contest"])[["coverage", "width"]].mean()

    found, usual = {}, means()
    for name, changes in LEFT_OUT.items():
        kept = {key: getattr(calibration, key) for key in changes}
        for key, value in changes.items():
            setattr(calibration, key, value)
        gain = usual - means()
        for key, value in kept.items():
            setattr(calibration, key, value)
        found[name] = {"tables": len(gain)}
        for what in gain:
            error = gain[what].std(ddof=1) / np.sqrt(len(gain))
            found[name][what] = {"mean": gain[what].mean(), "error": error}
    return found


def weights_report(files):
    """The two weights of the determinant on elections that no width was chosen on, and on those that were used."""
    cells = collected(files, (DEFAULT, 1.0))
    used = cells["source"].isin(calibration.CHOSEN_ON)
    result = {"command": "benchmarks/ecological_intervals.py collect --determinant 1.3 1, weights"}
    result |= {
        "commit": commits(cells),
        "first": 1.3,
        "second": 1.0,
        "tables": "as they are, and merged to seven shapes",
    }
    for name, part in (("not used", cells[~used]), ("chosen on", cells[used])):
        weights = {w: part[part["determinant"] == w] for w in (1.3, 1.0)}
        tables = [by_table(some, some["own_sd"]) for some in weights.values()]
        result[name] = {by: compared(*tables, by) for by in ("source", "table")}
        result[name]["widths left out"] = widths_left_out(part[part["determinant"] == 1.3])
    one = cells[cells["determinant"] == 1.0]
    result["widths chosen again"] = {
        "numbers": chosen(one[used]),
        "of weight 1.3": chosen(cells[used].query("determinant == 1.3")),
    }
    WEIGHTS.write_text(json.dumps(result, indent=1, default=float) + "\n")
    print(json.dumps(result, indent=1, default=float))


def draws(files):
    begin = time.process_time()
    cells = collected(files)
    tables = list(cells.groupby(["source", "table", "contest"], sort=False))
    rows = pd.DataFrame([row for k, (_, table) in enumerate(tables) for row in draws_of(table, k)])
    found, counts = {}, ["candidates sure", "of them right", "polarisation called", "called rightly", "groups"]
    for way, part in rows.groupby("way"):
        means = [name for name in part if name.startswith(("share", "difference"))]
        found[way] = dict(part[means].mean()) | dict(part[counts].sum()) | {"tables": len(part)}
        found[way] |= {"brier": part["squared error"].sum() / part["groups"].sum()}
        found[way] |= {by: part.groupby(by)["difference"].mean().to_dict() for by in ("table", "source")}
    known = json.loads(RESULTS.read_text("utf-8"))
    facts = {"commit": commits(cells), "draws": N_DRAWS, "CPU seconds": time.process_time() - begin}
    RESULTS.write_text(json.dumps(known | {"draws of tables": facts | found}, indent=1, default=float) + "\n")
    print(json.dumps(found, indent=1, default=float))


def report(files):
    begin = time.process_time()
    cells = collected(files)
    more = {}
    if "covariates" in cells:
        more = {"covariates": covariate_scores(cells[cells["covariates"].notna()])}
        cells = cells[cells["covariates"].isna()]
        if not len(cells):  # the other figures stay
            known = json.loads(RESULTS.read_text("utf-8"))
            RESULTS.write_text(json.dumps(known | more, indent=1, default=float) + "\n")
            print(json.dumps(more, indent=1, default=float))
            return
    simulated = cells["source"].str.startswith(("covariate", "composition"))
    real, made = cells[~simulated], cells[simulated]
    first = real["source"].isin(calibration.CHOSEN_ON)
    halves = {}
    for name, here in (("chosen on the first half", first), ("chosen on the second half", ~first)):
        numbers, others = chosen(real[here]), real[~here].assign(rest=0.0)
        done = covered(others, widening(others, *numbers))
        halves[name] = {"numbers": numbers, "tables": scores(done, "table"), "elections": scores(done, "source")}
    own, odd = covered(real, widening(real)), made[made["contest"].astype(int) % 2 == 1]
    whole = own[own["table"] == "all"]
    sure = whole.assign(flagged=whole["curved"] < 0.05) if "curved" in whole else None
    found = {
        "contests as they are": scores(whole, "source"),
        "left out": halves,
        "small tables": scores(own[own["table"] != "all"], "table"),
        "small tables by election": scores(own[own["table"] != "all"], "source"),
        "plain, small tables": scores(covered(real.assign(rest=0.0), 1.0).query("table != 'all'"), "table"),
        "simulated, odd seeds": scores(covered(odd, widening(odd)), ["source", "bias"]),
        "simulated, odd seeds, units' variation ignored": scores(
            covered(odd, widening(odd, by_spread=0.0)), ["source", "bias"]
        ),
        "overdispersion": {name: dict(part["rho"].describe()) for name, part in real.groupby("table")},
    }
    flagged = {}
    for times in (1.0, 1.25, 1.5):  # what widening where the test rejects would change
        for name, part in (("contests", whole), ("simulated, odd seeds", odd[odd["source"] == "composition"])):
            some = part[part["curved"] < 0.01]
            row = {"rejected": dict(covered(some, times * widening(some))[["coverage", "width"]].mean())}
            if name != "contests":
                done = covered(part, np.where(part["curved"] < 0.01, times, 1.0) * widening(part))
                row |= {str(bias): dict(each[["coverage", "width"]].mean()) for bias, each in done.groupby("bias")}
            flagged[f"{name}, {times} times"] = row
    found["widened where the test rejects"] = flagged
    found["two other ways"] = composition_ways(whole, odd[odd["source"] == "composition"])
    if sure is not None:
        found["contests by the test of aggregation bias"] = scores(sure, "flagged")
    seconds = float(cells.groupby("source")["seconds"].first().drop_duplicates().sum())
    facts = {"command": "benchmarks/ecological_intervals.py collect, report", "commit": commits(cells)}
    facts |= {"seeds": [SEEDS[0], SEEDS[-1]], "CPU seconds, collect": seconds}
    facts |= {"CPU seconds, report": time.process_time() - begin}
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(known | facts | found | more, indent=1, default=float) + "\n")
    print(json.dumps(found | more, indent=1, default=float))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["collect", "covariates", "report", "draws", "weights"])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--to", default="part.csv.gz")
    parser.add_argument("--determinant", nargs="*", type=float, default=[DEFAULT], help="weights, for collect")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.what == "draws":
        draws(asked.names)
    elif asked.what == "weights":
        weights_report(asked.names)
    elif asked.what != "report":
        collect(asked.names, asked.to, covariates=asked.what == "covariates", weights=asked.determinant)
    else:
        report(asked.names)


if __name__ == "__main__":
    main()
