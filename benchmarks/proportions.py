"""Label proportions: exact inference in bags, fits and accuracies, beside other methods in the same run.

    python benchmarks/proportions.py                 # everything (about 15 minutes on two cores)
    python benchmarks/proportions.py kernels adult   # some: kernels, multiclass, large, adult, adult-logs, franco, puma
    python benchmarks/proportions.py adult --seeds 1 --sizes 100 1000
    python benchmarks/proportions.py franco --some hard --first 4 --seeds 2 --out part.json; ... --merge part.json

CPU seconds (both threads together) after compilation. Prints tables and writes benchmarks/results/proportions.json.
Adult, franco and puma need the public data sets (see `sumwise datasets`); they are skipped, with a line, where absent.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, CardinalityNetwork
from sumwise.proportions.kernels.poisson_binomial import count_posterior, exact_counts
from sumwise.proportions.kernels.poisson_multinomial import class_posterior
from sumwise.proportions.linear import mean_embedding_start

RESULTS = Path(__file__).parent / "results" / "proportions.json"


def cpu(work, repeats=3):
    """The least CPU seconds of a few runs, and what the last gave."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    return best, result


def table(title, rows):
    print(f"\n{title}")
    names = list(rows[0])
    shown = [[f"{r[n]:.4g}" if isinstance(r[n], float) else str(r[n]) for n in names] for r in rows]
    widths = [max(len(n), *(len(s[k]) for s in shown)) for k, n in enumerate(names)]
    for line in [names, *shown]:
        print("  " + "  ".join(text.rjust(w) for text, w in zip(line, widths)))
    return rows


def kernels():
    """One bag: time and agreement of the methods; growth; forty deviations off."""
    rng = np.random.default_rng(0)
    rows, times = [], {}
    for n in (1_000, 10_000, 100_000, 1_000_000):
        logits, z = rng.normal(size=n) - 1.0, n // 3
        reference = count_posterior(logits, [0, n], exact_counts([z]), method="tree").posterior
        methods = (
            ["fourier", "saddlepoint", "tree"]
            + (["banded"] if n <= 100_000 else [])
            + (["direct"] if n <= 1000 else [])
        )
        for method in methods:
            spent, got = cpu(
                lambda m=method, x=logits, c=z: count_posterior(x, [0, len(x)], exact_counts([c]), method=m),
                1 if method == "banded" and n > 10_000 else 3,
            )
            times.setdefault(method, []).append((n, spent))
            rows.append(
                {"n": n, "method": method, "cpu_s": spent, "off_tree": float(np.abs(got.posterior - reference).max())}
            )
    out = {"one bag": table("Posterior of every member of one bag", rows)}
    growth = []
    for method, found in times.items():
        big = [(n, t) for n, t in found if n >= 10_000]
        if len(big) > 1:
            slope = np.polyfit(*np.log(np.array(big)).T, 1)[0]
            growth.append({"method": method, "exponent": float(slope)})
    out["growth"] = table("Fitted exponent of time in n (n log(n)^2 is about 1.17 here)", growth)
    logits = rng.normal(size=2000)
    p = expit(logits)
    z = int(p.sum() + 40 * np.sqrt((p * (1 - p)).sum()))
    some = np.array([int(np.argmin(logits)), 0, 1000, int(np.argmax(logits))])
    exact = _decimal(logits, z, some)
    far = []
    for method in ("direct", "banded", "tree", "fourier", "saddlepoint"):
        got = count_posterior(logits, [0, 2000], exact_counts([z]), method=method).posterior[some]
        far.append({"method": method, "error": float(np.abs(got - exact).max())})
    out["tail"] = table("Count 40 standard deviations from its mean, n = 2,000: error against 40-digit arithmetic", far)
    return out


def _decimal(logits, z, members):
    """Posteriors of some members in 40-digit arithmetic, from the generating polynomial of the others."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 40
        odds = [Decimal(float(x)).exp() for x in logits]
        out = []
        for i in members:
            poly = [Decimal(1)] + [Decimal(0)] * z  # elementary symmetric functions of the others' odds
            for k, w in enumerate(odds[:i] + odds[i + 1 :]):
                for s in range(min(z, k + 1), 0, -1):
                    poly[s] += w * poly[s - 1]
            one = odds[i] * poly[z - 1]
            out.append(float(one / (one + poly[z])))
    return np.array(out)


def _line(task, method, spent, off, got):
    return {"task": task, "method": method, "cpu_s": spent, "off_direct": off, "estimate": float(got.error.max())}


def multiclass():
    """Class counts: one gradient of 100 bags of 100 with 4 classes, and large bags."""
    rng = np.random.default_rng(0)
    rows = []
    logits, counts = rng.normal(size=(10_000, 4)), rng.multinomial(100, [0.4, 0.3, 0.2, 0.1], size=100)
    offsets = np.arange(101) * 100
    reference = class_posterior(logits, offsets, counts, method="direct").posterior
    for method in ("auto", "fourier", "direct", "saddlepoint"):
        spent, got = cpu(lambda m=method: class_posterior(logits, offsets, counts, method=m), 1)
        off = float(np.abs(got.posterior - reference).max())
        rows.append(_line("100 bags of 100, 4 classes", method, spent, off, got))
    for n, c, method in ((20_000, 3, "fourier"), (100_000, 10, "saddlepoint"), (1_000_000, 5, "saddlepoint")):
        logits, counts = rng.normal(size=(n, c)), rng.multinomial(n, np.ones(c) / c, size=1)
        spent, got = cpu(lambda m=method, x=logits, z=counts: class_posterior(x, [0, len(x)], z, method=m), 1)
        rows.append(_line(f"one bag of {n:,}, {c} classes", method, spent, float("nan"), got))
    return {"multiclass": table("Class counts", rows)}


def large():
    """979 bags of 1,000 with 50 features."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(979_000, 50)) + np.repeat(0.3 * rng.normal(size=(979, 50)), 1000, axis=0)
    labels = rng.random(979_000) < expit(values @ (0.3 * rng.normal(size=50)))
    bags, counts = Bags(values, np.arange(980) * 1000), labels.reshape(979, 1000).sum(axis=1)
    spent, clf = cpu(lambda: CardinalityClassifier(penalty=1.0).fit(bags, counts), 1)
    auc = roc_auc_score(labels, clf.predict_proba(values)[:, 1])
    rows = [
        {
            "bags": 979,
            "rows": 979_000,
            "features": 50,
            "cpu_s": spent,
            "steps": clf.fit_.n_iter,
            "train_auc": float(auc),
        }
    ]
    return {"large": table("A fit with a fixed penalty", rows)}


def encode(train, test, drop):
    """Numbers standardised, categories as indicators."""
    import pandas as pd

    numbers = [c for c in train if pd.api.types.is_numeric_dtype(train[c]) and c not in drop]
    others = [c for c in train if c not in numbers and c not in drop]
    mean, spread = train[numbers].mean(), train[numbers].std()
    one = pd.get_dummies(train[others].fillna("?").astype(str))
    two = pd.get_dummies(test[others].fillna("?").astype(str)).reindex(columns=one.columns, fill_value=False)
    parts = ((train, one), (test, two))
    return [np.hstack([((f[numbers] - mean) / spread).to_numpy(), d.to_numpy(float)]) for f, d in parts]


def make_bags(values, labels, size, seed, groups=None, whole=False):
    """Random bags of a size, or the same within groups; ``whole`` leaves out those that didn't fill up."""
    order = np.random.default_rng(seed).permutation(len(values))
    if groups is not None:
        order = order[np.argsort(groups[order], kind="stable")]
        starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) != 0])
        edges = np.concatenate([np.arange(a, b, size) for a, b in zip(starts, np.r_[starts[1:], len(order)])])
    else:
        edges = np.arange(0, len(order), size)
    offsets = np.append(edges, len(order))
    bags, counts = Bags(values[order], offsets), np.add.reduceat(labels[order], offsets[:-1])
    full = bags.sizes == size
    return (bags[full], counts[full]) if whole else (bags, counts)


def proportion_loss(bags, counts, penalty):
    """Rival: logistic model whose mean probability per bag is fitted to the bag's share by cross-entropy."""
    sizes, x = bags.sizes, bags.values
    share = counts / sizes

    def cost(theta):
        p = expit(x @ theta[:-1] + theta[-1])
        mean = np.clip(np.add.reduceat(p, bags.offsets[:-1]) / sizes, 1e-9, 1 - 1e-9)
        value = -(share * np.log(mean) + (1 - share) * np.log1p(-mean)).sum() + 0.5 * penalty * (theta[:-1] ** 2).sum()
        slope = np.repeat((mean - share) / (mean * (1 - mean)) / sizes, sizes) * p * (1 - p)
        return value, np.append(slope @ x + penalty * theta[:-1], slope.sum())

    start = np.zeros(x.shape[1] + 1)
    start[-1] = np.log(counts.sum() / (sizes.sum() - counts.sum()))
    return minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def _others(bags, counts, test):
    """Test scores of mean embedding and proportion loss with three penalties each; the best one will count."""
    share = (counts + 0.5) / (bags.sizes + 1)
    shares = np.column_stack([1 - share, share])
    scores = {"mean embedding": [], "proportion loss": []}
    for penalty in (0.1, 1.0, 10.0):
        theta = mean_embedding_start(np.ascontiguousarray(bags.values), bags.offsets, shares, penalty)
        scores["mean embedding"].append(test @ theta[:-1] + theta[-1])
        theta = proportion_loss(bags, counts, penalty / bags.sizes.mean())
        scores["proportion loss"].append(test @ theta[:-1] + theta[-1])
    return scores


def adult_people(seed=0):
    """Adult as published, in its own split (whatever the seed), without occupation: training features, labels and
    occupations, test features and labels."""
    from sumwise import datasets

    data = datasets.adult()
    train, test = data.train.drop(columns=data.label), data.test.drop(columns=data.label)
    values, test_values = encode(train, test, ("fnlwgt", "occupation"))
    groups = train["occupation"].fillna("?").astype("category").cat.codes.to_numpy()
    return values, data.y_train, groups, test_values, data.y_test


def adult_people_logs(seed=0):
    """Adult with a quarter drawn for testing, logarithms of capital gains and losses, education as a number, and
    occupation among the features; otherwise as `adult_people`.

    Of the encodings tried it comes nearest to scores of other implementations: a logistic regression of rows .899,
    a penalty of 1 or 10 in random bags of ten .896 and .897, a regression on the means of ten .893.
    """
    import pandas as pd

    from sumwise import datasets

    data = datasets.adult()
    frame = pd.concat([data.train, data.test], ignore_index=True).drop(columns=data.label)
    labels = np.concatenate([data.y_train, data.y_test])
    for name in ("capital_gain", "capital_loss"):
        frame[name] = np.log1p(frame[name])
    test = np.zeros(len(frame), bool)
    test[np.random.default_rng(seed).permutation(len(frame))[: len(frame) // 4]] = True
    values, test_values = encode(frame[~test], frame[test], ("fnlwgt", "education"))
    groups = frame["occupation"].fillna("?").astype("category").cat.codes.to_numpy()
    return values, labels[~test], groups[~test], test_values, labels[test]


def _adult_fits(bags, counts, by_group, test_values, y_test):
    """Test AUC of our methods with settings from bags alone, and of others with the best of three penalties."""
    models = {
        "linear": CardinalityClassifier(),
        "linear, own intercepts": CardinalityClassifier(random_intercept=True),
        "network": CardinalityNetwork(max_epochs=40),
    }
    out = {}
    for name, model in models.items():
        out[name] = roc_auc_score(y_test, model.fit(bags, counts).predict_proba(test_values)[:, 1])
    for name, scores in _others(bags, counts, test_values).items():
        out[name] = max(roc_auc_score(y_test, s) for s in scores)
    return out


def adult(seeds, sizes=(10, 100, 1000), people=adult_people, name="adult"):
    """Test AUC and seconds on Adult: random bags and bags by occupation."""
    rows = []
    for kind in ("random", "occupation"):
        for size in sizes:
            found, spent = [], []
            for seed in range(seeds):
                values, y_train, groups, test_values, y_test = people(seed)
                by = groups if kind == "occupation" else None
                bags, counts = make_bags(values, y_train, size, seed, by, whole=people is adult_people_logs)
                CardinalityClassifier(penalty=10.0).fit(bags, counts)
                spent.append(cpu(lambda b=bags, c=counts: CardinalityClassifier(penalty=10.0).fit(b, c), 1)[0])
                found.append(_adult_fits(bags, counts, by is not None, test_values, y_test))
                print(name, kind, size, seed, {k: round(v, 4) for k, v in found[-1].items()}, flush=True)
            row = {"bags": kind, "size": size} | {k: float(np.mean([f[k] for f in found])) for k in found[0]}
            rows.append(row | {"fixed penalty cpu_s": float(np.mean(spent))})
    return {name: table(f"{name}, test AUC, mean of {seeds} seeds (penalty, epochs from bags alone)", rows)}


def adult_logs(seeds, sizes=(10, 100, 1000)):
    """The same with features that are easier to learn from few bags."""
    return adult(seeds, sizes, adult_people_logs, "adult-logs")


def franco(seeds, some=(), first=0):
    """Accuracy on published bag assignments of Adult, beside the best published run of each method; some of them, or
    all."""
    import pandas as pd

    from sumwise import datasets
    from sumwise.datasets.microdata import franco_variants
    from sumwise.datasets.store import verified

    published = pd.read_parquet(verified("franco", -1)[1])
    rows = []
    for name in franco_variants():
        short = name.split("-global")[0]
        if (
            not any(w in short for w in ("simple", "hard", "intermediate-large-not-equal-far"))
            or "mixed" in short
            or "not" not in short
            or (some and not short.startswith(tuple(some)))
        ):
            continue
        data = datasets.franco(name)
        scores = []
        for seed in range(first, first + seeds):
            mask = np.random.default_rng(seed).random(data.bags.n_rows) < 0.75
            counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
            clf = CardinalityClassifier(tol=1e-3).fit(data.bags.subset(mask), counts)
            scores.append(np.mean(clf.predict(data.bags.values[~mask]) == data.labels[~mask]))
        theirs = published[published["dataset"] == f"adult-{name}"].groupby("model")["accuracy_test"].mean()
        rows.append({"variant": short, "scores": dict(zip(map(str, range(first, first + seeds)), scores))})
        rows[-1] |= {"best published mean": float(theirs.max()), "commit": run_record()["commit"]}
    return {"franco": [_of_splits(row) for row in rows]}


def _of_splits(row):
    """Mean accuracy over splits, and its standard error."""
    scores = np.array([row["scores"][split] for split in sorted(row["scores"], key=int)])
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
    return row | {"ours": float(scores.mean()), "error": error, "splits": len(scores)}


def joined(before, rows):
    """Rows of published assignments after those before; splits of one assignment at one commit come together."""
    found = {row["variant"]: row for row in before}
    for row in rows:
        old = found.get(row["variant"], {})
        same = old.get("commit") == row["commit"] and "scores" in old
        found[row["variant"]] = _of_splits(row | {"scores": (old["scores"] if same else {}) | row["scores"]})
    return [found[name] for name in sorted(found)]


def survey_adults():
    """People of 25 and older in the American Community Survey, both given samples."""
    import pandas as pd

    from sumwise import datasets

    frame = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    return frame[frame["EDU"].notna() & (frame["AGEP"] >= 25)].reset_index(drop=True)


def puma_people():
    """The American Community Survey: features, who has a bachelor's degree, and areas."""
    import pandas as pd

    frame = survey_adults()
    labels = (frame["EDU"].astype(int) >= 10).to_numpy().astype(int)
    numbers = ["AGEP", "NOC", "NPF", "DENSITY"]
    features = frame[["AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT",
                                  "PINCP_DECILE", "DVET", "DPHY", "DREM", "DEYE", "DEAR"]].copy()  # fmt: skip
    for c in features:
        features[c] = (
            pd.to_numeric(features[c], errors="coerce").fillna(-1)
            if c in numbers
            else features[c].astype("string").fillna("?")
        )
    return features, labels, frame["PUMA"].astype("category").cat.codes.to_numpy()


def puma_split(people, seed):
    """Bags by area of the training rows with their counts, and features and labels of the test rows."""
    features, labels, groups = people
    test = np.random.default_rng(seed).random(len(features)) < 0.3
    values, test_values = encode(features[~test], features[test], ())
    bags, counts = make_bags(values, labels[~test], len(features), seed, groups[~test])
    return bags, counts, test_values, labels[test]


def puma(seeds):
    """Areas as bags: test AUC."""
    people = puma_people()
    found: dict[str, list] = {}
    for seed in range(seeds):
        bags, counts, test_values, test_labels = puma_split(people, seed)
        for name, model in (
            ("linear", CardinalityClassifier()),
            ("linear, own intercepts", CardinalityClassifier(random_intercept=True)),
        ):
            score = model.fit(bags, counts).predict_proba(test_values)[:, 1]
            found.setdefault(name, []).append(roc_auc_score(test_labels, score))
        for name, scores in _others(bags, counts, test_values).items():
            found.setdefault(name, []).append(max(roc_auc_score(test_labels, s) for s in scores))
        print(seed, {name: round(v[-1], 4) for name, v in found.items()}, flush=True)
    rows = []
    for name, v in found.items():
        gain = np.array(found["linear"]) - v
        row = {"method": name, "auc": float(np.mean(v)), "gain": float(gain.mean()), "splits": seeds}
        row |= {"first": 0, "commit": run_record()["commit"]}
        rows.append(row | {"gain error": float(gain.std(ddof=1) / np.sqrt(seeds))})
    return {
        "puma": table(f"{len(np.unique(people[2]))} areas, bachelor's degree, test AUC, mean of {seeds} splits", rows)
    }


def effects():
    """How far bags of people differ beyond what their members explain: deviation of log-odds, labels of people known.

    A logistic regression of 20,000 people, and given it the deviation of bags' intercepts of maximum likelihood.
    """
    import proportions_few_bags as few
    from sklearn.linear_model import LogisticRegression

    from sumwise.proportions.kernels.poisson_binomial_intercept import intercept_posterior

    rows = []
    for name in [*few.LABELS, "bachelor", "rich, industries", "bachelor, industries", "adult, occupations"]:
        values, labels, groups = (np.asarray(part) for part in few.people(name))
        people = np.random.default_rng(0).permutation(len(labels))[:20_000]
        people = people[np.argsort(groups[people], kind="stable")]
        x, y, offsets = (
            values[people].astype(float),
            labels[people],
            np.flatnonzero(np.diff(groups[people], prepend=-1)),
        )
        logits = LogisticRegression(max_iter=300).fit(x, y).decision_function(x)
        offsets, counts = np.append(offsets, len(y)), np.add.reduceat(y, offsets).astype(float)

        def cost(log_scale, logits=logits, offsets=offsets, counts=counts):
            return -intercept_posterior(logits, offsets, np.ones(len(logits)), counts, np.exp(log_scale))[0].sum()

        found = minimize_scalar(cost, bounds=(-6.0, 1.5), method="bounded").x
        rows.append({"label": name, "bags": len(counts), "deviation": float(np.exp(found))})
    rows.append({"label": "root mean square", "bags": sum(r["bags"] for r in rows)})
    rows[-1]["deviation"] = float(np.sqrt(np.mean([r["deviation"] ** 2 for r in rows[:-1]])))
    return {"effects": table("Effects of bags", rows)}


PARTS = {
    "effects": effects,
    "kernels": kernels,
    "multiclass": multiclass,
    "large": large,
    "adult": adult,
    "adult-logs": adult_logs,
    "franco": franco,
    "puma": puma,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--some", nargs="*", default=[], help="beginnings of names of published assignments")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000], help="of Adult's bags")
    parser.add_argument("--first", type=int, default=0, help="first split of published assignments")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file to write to")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="take published assignments from such files")
    args = parser.parse_args()
    results = json.loads(args.out.read_text()) if args.out.exists() else {}
    warnings.simplefilter("ignore", UserWarning)
    count_posterior(np.zeros(4), [0, 4], exact_counts([2]))  # compile
    class_posterior(np.zeros((6, 3)), [0, 6], [[2, 2, 2]])
    for part in args.merge:
        results["franco"] = joined(results.get("franco", []), json.loads(part.read_text())["franco"])
    for name in () if args.merge else args.parts:
        work = PARTS[name]
        try:
            settings = {"franco": (args.seeds, args.some, args.first), "puma": (args.seeds,)}.get(name, ())
            new = work(args.seeds, args.sizes) if name.startswith("adult") else work(*settings)
        except DataError as error:
            print(f"{name}: skipped. {error}")
            continue
        if name == "franco":
            new["franco"] = joined(results.get("franco", []), new["franco"])
        results |= new
    if "franco" in results:
        shown = ("variant", "ours", "error", "splits", "best published mean")
        table("Published bag assignments, accuracy", [{k: row[k] for k in shown} for row in results["franco"]])
    args.out.parent.mkdir(exist_ok=True, parents=True)
    args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
