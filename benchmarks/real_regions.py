"""Votes of groups beside the exit poll, from the real regions at hand (Sun 2019, Tables 3.2 and 3.3, Figure 3.6).

    python benchmarks/real_regions.py                # ten draws, about two CPU minutes
    python benchmarks/real_regions.py --draws 2

Persons of the American Community Survey 2019 in 20 of the country's 979 regions, returns of 2016, and the exit poll of
2016, as in the tutorial "Who voted how". Clinton's share of the two-party vote by sex, race and education: by mean
embeddings, AMM and the cardinality model (one-vs-rest), each with a class of people who didn't vote and 100 people
drawn from every region by weight (mean embeddings see all), and, as Lemus Gonzalez has it (section 5.2.2), by
regressions of the region's share: the marginal kernel, and Deep Sets. `nation` beside the poll of the nation, `states`
beside those of states, `scores` those of Table 3.3, `fits` the share of every region, predicted from the other 19
(Figures 5.3 and 5.4). Means over draws of people. Writes benchmarks/results/real_regions.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Bags, datasets
from sumwise.distribution import BagRidge, DeepSets, FourierEmbedding
from sumwise.metrics import compare_polls, share_scores
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    Covariates,
    MeanEmbeddingClassifier,
    draw,
    merge_regions,
    subgroups,
)

RESULTS = Path(__file__).parent / "results" / "real_regions.json"
CODES = ["SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU"]
NUMBERS = ["AGEP", "NPF", "PINCP", "POVPIP", "DENSITY"]
PARTIES = ["Clinton", "Trump", "no vote"]
POLLS = {
    "sex": ("Gender", {"Male": "men", "Female": "women"}),
    "race": (
        "Race",
        {"White": "white", "Black": "black", "Latino": "hispanic", "Asian": "asian", "Other race": "other"},
    ),
    "education": ("Education", None),
}
STATES = {
    "California": "CA", "Colorado": "CO", "Georgia": "GA", "Illinois": "IL", "Iowa": "IA", "Michigan": "MI",
    "Missouri": "MO", "Nevada": "NV", "Virginia": "VA",
}  # fmt: skip
INDIVIDUALS = {
    "mean-emb": lambda: MeanEmbeddingClassifier(penalty=10.0, totals="scale"),
    "AMM": lambda: AlternatingMeanMap(penalty=10.0, totals="scale"),
    "cardinality": lambda: CardinalityClassifier(multiclass="ovr", totals="scale", penalty=10.0, tol=1e-3),
}
REGIONS = {
    "marginal kernel": lambda _seed: BagRidge(FourierEmbedding(8, (1.0,), marginal=True), random_state=0),
    "Deep Sets": lambda seed: DeepSets(max_epochs=60, max_rows=200, random_state=seed),
}


def joined():
    """Adults with their region and groups, and the returns of these regions."""
    walk = datasets.crosswalk()
    walk["county"] = walk["county"].where(walk["stab"] != "AK", "Alaska")
    regions = merge_regions(walk, "county", ["state", "puma12"], prefix="stab")
    votes = datasets.county_2012_2016().rename(columns={"fips_code": "county", "2016_extrapolated_adult_pop": "adults"})
    votes = votes.replace({"county": {"46102": "46113"}}).dropna(subset=["clinton_votes", "adults"])
    results = regions.totals(votes, "county", ["clinton_votes", "trump_votes", "adults"], missing="drop")
    persons = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    area = persons["PUMA"].str.split("-", expand=True).set_axis(["state", "puma12"], axis=1)
    persons["region"] = regions.of(area, ["state", "puma12"])
    adults = persons[(persons["AGEP"] >= 18) & persons["EDU"].notna()].sort_values("region").reset_index(drop=True)
    adults["state"] = adults["region"].str.split("-").str[0].str.split("_").str[0]
    adults["sex"] = adults["SEX"].map({1: "men", 2: "women"})
    adults["race"] = datasets.coarse_race(adults["RAC1P"], adults["HISP"], not_hispanic=0).astype(str)
    adults["education"] = datasets.coarse_education(adults["EDU"], "EDU").astype(str)
    return adults, results.set_index("region")


def as_bags(adults, values, names):
    """Bags of regions with survey weights."""
    frame = pd.DataFrame(values, columns=names)
    frame["region"], frame["weight"] = adults["region"], adults["PWGTP"].astype(float)
    return Bags.from_frame(frame, bag="region", weight="weight")


def polled(by):
    """The exit poll by state and group, under our names."""
    question, names = POLLS[by]
    found = datasets.exit_poll_shares(question)
    group = found["answer"].str.lower() if names is None else found["answer"].map(names)
    return found.assign(**{by: group})


def by_region(model, bags, groups):
    """Share of every group by a regression of regions: predicted for its part of every region, averaged by people."""
    rows = []
    for group in sorted(set(groups)):
        part = bags.subset((groups == group).to_numpy()).drop_empty()
        people = np.add.reduceat(part.weights, part.offsets[:-1])
        rows.append((group, float(np.average(model.predict(part), weights=people)), float(people.sum())))
    return pd.DataFrame(rows, columns=["group", "share", "people"])


def shares(name, seed, adults, bags, official):
    """Two-party shares by attribute, of the nation and of states: {(level, by): frame}."""
    if name in REGIONS:
        model = REGIONS[name](seed).fit(bags, official[:, 0] / official[:, :2].sum(axis=1))
        return {("nation", by): by_region(model, bags, adults[by]).rename(columns={"group": by}) for by in POLLS}
    rows = bags if name == "mean-emb" else draw(bags, 100, random_state=seed)
    model = INDIVIDUALS[name]().fit(rows, official)
    found = {}
    for by in POLLS:
        for level, columns in (("nation", [by]), ("states", ["state", by])):
            groups = subgroups(model, bags, {c: adults[c] for c in columns}, classes=PARTIES)
            found[level, by] = groups.two_party("Clinton", "Trump")
    return found


def measured(name, draws, adults, bags, official):
    """Rows of the tables by one method."""
    seeds = range(1 if name in ("mean-emb", "marginal kernel") else draws)  # these draw nothing
    each = [shares(name, seed, adults, bags, official) for seed in seeds]
    out = {"nation": [], "states": [], "scores": []}
    for level, by in each[0]:
        poll, on = polled(by), [by] if level == "nation" else ["state", by]
        poll = poll[poll["state"] == "National"] if level == "nation" else poll.assign(state=poll["state"].map(STATES))
        merged = [compare_polls(one[level, by], poll.dropna(subset=on), on=on, missing="drop") for one in each]
        mean = merged[0][[*on, "polled"]].assign(predicted=np.mean([m["predicted"] for m in merged], axis=0))
        spread = np.std([m["predicted"] for m in merged], axis=0, ddof=1) if len(merged) > 1 else np.zeros(len(mean))
        for record, sd in zip(mean.to_dict("records"), spread):
            head = {"by": by, **{k: record[k] for k in on if k == "state"}, "group": record[by], "method": name}
            out[level].append(head | {k: float(record[k]) for k in ("predicted", "polled")} | {"sd": float(sd)})
        if level == "nation":
            found = [share_scores(m["predicted"], m["polled"], m["weight"]) for m in merged]
            row = {k: float(np.mean([f[k] for f in found])) for k in ("majority", "order", "rmse")}
            out["scores"].append({"by": by, "method": name, "groups": len(mean), **row, "draws": len(merged)})
    return out


def left_out(make, bags, y, k):
    """The prediction of one region from the others."""
    return make(0).fit(bags[np.arange(len(y)) != k], np.delete(y, k)).predict(bags[k : k + 1])[0]


def fits(bags, official):
    """Every region's two-party share, predicted from the other regions, by the two regressions."""
    y = official[:, 0] / official[:, :2].sum(axis=1)
    rows = []
    for name, make in REGIONS.items():
        said = np.array([left_out(make, bags, y, k) for k in range(len(y))])
        explained = float(1 - np.var(y - said) / np.var(y))
        mse = float(np.mean((y - said) ** 2))
        rows += [{"method": name, "true": float(a), "said": float(b), "explained": explained, "mse": mse}
                 for a, b in zip(y, said)]  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    begin = time.process_time()
    adults, results = joined()
    prepared = Covariates(CODES, n_components=10).fit(adults[[*CODES, *NUMBERS]])
    bags = as_bags(adults, prepared.transform(adults[[*CODES, *NUMBERS]]), list(prepared.get_feature_names_out()))
    result = results.loc[bags.ids]
    votes = result[["clinton_votes", "trump_votes"]].to_numpy(float)
    official = np.column_stack([votes, result["adults"].to_numpy(float) - votes.sum(axis=1)])
    made = run_record(seeds=list(range(args.draws)), regions=len(bags), persons=len(adults))
    made |= {"nation": [], "states": [], "scores": [], "fits": []}
    for name in (*INDIVIDUALS, *REGIONS):
        for part, rows in measured(name, args.draws, adults, bags, official).items():
            made[part] += rows
        print(name, round(time.process_time() - begin, 1), "CPU-s", flush=True)
    made["fits"] = fits(bags, official)
    made["nation"] = {f"{r['group']}; {r['method']}": r for r in made["nation"]}  # by name, for the book
    made["scores"] = {f"{r['by']}; {r['method']}": r for r in made["scores"]}
    made["cpu_s"] = round(time.process_time() - begin, 1)
    RESULTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
