"""Label proportions on cuts of the given data that no rule was chosen on: the default beside other methods, paired.

    python benchmarks/proportions_fresh_cuts.py                         # all, twenty draws
    python benchmarks/proportions_fresh_cuts.py adult bank --draws 3    # some of them, only shown
    python benchmarks/proportions_fresh_cuts.py --first 2010 --draws 10 --out b.json    # draws for another machine
    python benchmarks/proportions_fresh_cuts.py --merge a.json b.json

Labels and bags appear in no other table: who is a woman, rents, is 65 or older or is Black, by industry or area;
degrees by age and income by education; on Adult incomes by country, education, or age and sex, and who is a woman by
occupation; on Bank who subscribed, by month, job, or age and education; odd digits in bags of one cluster; generated
votes with large effects of regions. Bags number 6 to 60; "unequal" ones have 20 to 400 members, log-normal. Methods
have their default settings. AUC and log-loss are of individuals of the same groups that are in no bag.
Writes benchmarks/results/proportions_fresh_cuts.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from proportions_few_bags import METHODS, drawn_groups, encoded, rows_of, scores_of
from run_record import run_record

from proportions import survey_adults, table
from sumwise import Bags, datasets, synthetic

RESULTS = Path(__file__).parent / "results" / "proportions_fresh_cuts.json"
FIRST, N_TEST, UNEQUAL = 2000, 1500, 0
SETTINGS = [  # data, bags, members (0: unequal)
    ("acs, women by industry", 10, 100),
    ("acs, renters by area", 20, UNEQUAL),
    ("acs, old by area", 25, 40),
    ("acs, black by area", 15, 150),
    ("acs, degree by age", 24, 80),
    ("acs, rich by education", 10, 150),
    ("adult, income by country", 20, UNEQUAL),
    ("adult, women by occupation", 12, 100),
    ("adult, income by education", 14, UNEQUAL),
    ("adult, income by age and sex", 20, 60),
    ("bank, subscribed by month", 8, 200),
    ("bank, subscribed by job", 12, 100),
    ("bank, subscribed by age and education", 40, 40),
    ("digits, odd by cluster", 30, 20),
    ("digits, odd by cluster", 60, 15),
    ("votes, regions differ", 40, UNEQUAL),
    ("votes, regions differ", 12, 100),
    ("acs, renters by area", 6, 300),
]
NUMBERS = ["AGEP", "NOC", "NPF", "DENSITY", "POVPIP"]
CODED = ["SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU", "PINCP_DECILE", "DVET", "DPHY"]


def plain(frame):
    """Numbers as they are, other columns as text."""
    numbers = {c for c in frame if pd.api.types.is_numeric_dtype(frame[c])}
    return pd.DataFrame({c: frame[c] if c in numbers else frame[c].astype("string").fillna("?") for c in frame})


def codes(*columns):
    """Groups of equal values in all columns, as numbers."""
    together = columns[0].astype(str)
    for column in columns[1:]:
        together = together + "/" + column.astype(str)
    return together.astype("category").cat.codes.to_numpy()


def survey(what):
    """Adults of the American Community Survey."""
    frame = survey_adults()
    label, by = what.split(" by ")
    column = {
        "women": frame["SEX"].astype(str).str.startswith("2"),
        "renters": pd.to_numeric(frame["OWN_RENT"], errors="coerce") == 2,
        "old": frame["AGEP"] >= 65,
        "black": pd.to_numeric(frame["RAC1P"], errors="coerce") == 2,
        "degree": frame["EDU"].astype(int) >= 10,
        "rich": pd.to_numeric(frame["PINCP_DECILE"], errors="coerce").between(7, 9),
    }[label]
    groups = {
        "area": frame["PUMA"],
        "industry": frame["INDP_CAT"],
        "age": frame["AGEP"] // 3,
        "education": frame["EDU"],
    }
    same = {"women": ["SEX"], "renters": ["OWN_RENT"], "old": ["AGEP"], "black": ["RAC1P"], "degree": ["EDU"]}
    same |= {"rich": ["PINCP_DECILE", "POVPIP"]}
    hidden = [*same[label], *{"industry": ["INDP_CAT"], "education": ["EDU"]}.get(by, [])]
    features = pd.DataFrame(
        {c: pd.to_numeric(frame[c], errors="coerce").fillna(-1) for c in NUMBERS if c not in hidden}
        | {c: frame[c].astype("string").fillna("?") for c in CODED if c not in hidden}
    )
    return encoded(features), column.to_numpy().astype(int), codes(groups[by])


def census(what):
    """Adult's training rows."""
    data = datasets.adult()
    frame = data.train.reset_index(drop=True)
    label, by = what.split(" by ")
    y = data.y_train if label == "income" else frame["sex"].astype(str).str.strip().eq("Female").to_numpy().astype(int)
    groups = {
        "country": codes(frame["native_country"]),
        "occupation": codes(frame["occupation"]),
        "education": codes(frame["education"]),
        "age and sex": codes(frame["age"] // 4, frame["sex"]),
    }[by]
    hidden = {"country": ["native_country"], "occupation": ["occupation"], "education": ["education", "education_num"]}
    drop = [data.label, "fnlwgt", *hidden.get(by, []), *([] if label == "income" else ["sex", "relationship"])]
    frame = frame.drop(columns=[c for c in drop if c in frame])
    return encoded(plain(frame)), y, groups


def customers(what):
    """Bank customers, without the length of the call."""
    frame = datasets.bank().frame
    y = (frame["y"] == "yes").to_numpy().astype(int)
    by = what.split(" by ")[1]
    groups = {"month": codes(frame["month"]), "job": codes(frame["job"])}
    groups |= {"age and education": codes(frame["age"] // 5, frame["education"])}
    frame = frame.drop(columns=["y", "duration", *({"month": ["month"], "job": ["job"]}.get(by, []))])
    return encoded(plain(frame)), y, groups[by]


def digits(_what):
    """Odd or even, in clusters of alike images."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x, y % 2, KMeans(60, n_init=1, random_state=0).fit(x).labels_


@cache
def people(name):
    """Features, labels and groups of individuals."""
    data, what = name.split(", ")
    return {"acs": survey, "adult": census, "bank": customers, "digits": digits}[data](what)


def sizes_of(n_bags, size, rng):
    """Members of every bag."""
    drawn = np.clip(np.exp(rng.normal(np.log(90), 0.8, n_bags)), 20, 400).astype(int)
    return np.full(n_bags, size) if size else drawn


def draw(setting, seed):
    """Bags, counts of class 1, and features and labels of other individuals of the same groups."""
    name, n_bags, size = setting
    rng = np.random.default_rng([seed, n_bags, size])
    sizes = sizes_of(n_bags, size, rng)
    if name.startswith("votes"):
        made = synthetic.election(
            n_bags, int(sizes.max()), n_categorical=3, region_effect=0.5, mean_weight=1, weight_spread=0,
            random_state=seed,
        )  # fmt: skip
        rows = [np.arange(a, a + n) for a, n in zip(made.bags.offsets, sizes)]
        train = np.concatenate(rows)
        counts = np.array([made.labels[r].sum() for r in rows])
        bags = Bags(made.bags.values[train], np.concatenate([[0], np.cumsum(sizes)]))
        return bags, counts, made.test_values[:N_TEST], made.test_labels[:N_TEST]
    room = 5 if name.startswith("digits") else 30
    return drawn_groups(people(name), sizes, size or 20, room, rng)


def measured(setting, first, n_draws):
    """AUC and log-loss of every method in every draw."""
    found, begin = {method: [] for method in METHODS}, time.process_time()
    seeds = list(range(first, first + n_draws))
    for seed in seeds:
        for method, scores in scores_of(draw(setting, seed)):
            found[method].append(scores)
    name, n_bags, size = setting
    seconds = round(time.process_time() - begin, 1)
    return {"data": name, "bags": n_bags, "size": size or "20 to 400", "cpu_seconds": seconds, "seeds": seeds,
            "scores": found}  # fmt: skip


def joined(parts):
    """Cells of several runs; draws of the same setting follow each other."""
    out = {}
    for cell in (cell for part in parts for cell in part["cells"]):
        key = (cell["data"], cell["bags"], cell["size"])
        if key not in out:
            out[key] = cell
            continue
        held = out[key]
        if set(held["seeds"]) & set(cell["seeds"]):
            raise ValueError(f"{key} has the same draws twice.")
        held["seeds"] += cell["seeds"]
        held["cpu_seconds"] = round(held["cpu_seconds"] + cell["cpu_seconds"], 1)
        for method, scores in cell["scores"].items():
            held["scores"][method] += scores
    order = [(name, n_bags, size or "20 to 400") for name, n_bags, size in SETTINGS]
    return sorted(out.values(), key=lambda cell: order.index((cell["data"], cell["bags"], cell["size"])))


def lines_of(done):
    """Rows of both scores, and what they come to over all settings."""
    out, summary = {}, {}
    for which, (score, better) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
        rows = rows_of(done, which, better)
        kept = zip(rows, (len(cell["scores"]["cardinality"]) for cell in done))
        out[score] = [{k or "verdict": v for k, v in row.items()} | {"draws": n} for row, n in kept]
        for method in (m for m in METHODS if m != "cardinality"):
            gaps = np.array([better * (row["cardinality"] - row[method]) for row in rows])
            error = round(float(gaps.std(ddof=1) / np.sqrt(len(gaps))), 4)
            found = {"gain": round(float(gaps.mean()), 4), "error": error, "ahead": int((gaps > 0).sum())}
            summary.setdefault(method, {})[score] = found
        good = sum(row[""] != "behind" for row in rows)
        summary.setdefault("best of four", {})[score] = {"within one error": good, "settings": len(rows)}
    return out | {"summary": summary}


def stored(cells, record, path):
    """The file of results: how they were made, what they come to, and every score."""
    draws = min(len(cell["seeds"]) for cell in cells)
    path.write_text(json.dumps(record | {"draws": draws} | lines_of(cells) | {"cells": cells}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="beginnings of data sets' names; default all")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first draw, to share draws out")
    parser.add_argument("--out", type=Path, help=f"file to write; default {RESULTS.name} where all sets are run")
    parser.add_argument("--merge", type=Path, nargs="*", help="joins such files instead of running")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path = args.out or (None if args.sets else RESULTS)
    if args.merge:
        parts = [json.loads(file.read_text()) for file in args.merge]
        commits = " and ".join(sorted({part["commit"] for part in parts}))
        done, record = joined(parts), {"command": "python benchmarks/proportions_fresh_cuts.py", "commit": commits}
        stored(done, record, RESULTS)
    else:
        done = []
        for setting in (s for s in SETTINGS if not args.sets or any(s[0].startswith(name) for name in args.sets)):
            done.append(measured(setting, args.first, args.draws))
            print(setting, f"{done[-1]['cpu_seconds']} s", flush=True)
            if path:
                stored(done, run_record(), path)
    found = lines_of(done)
    for score in ("AUC", "log-loss"):
        table(score, found[score])


if __name__ == "__main__":
    main()
