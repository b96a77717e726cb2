"""Distribution regression: the experiments of both theses with every method, beside the best possible error.

    python benchmarks/distribution.py                       # all sections at small sizes (minutes on two cores)
    python benchmarks/distribution.py gamma clouds          # some: statistics, ridge, gamma, variable, gaussian,
                                                            #       clouds, instances, election
    python benchmarks/distribution.py gamma --full          # the papers' sizes
    python benchmarks/distribution.py statistics --full --device cuda --only networks   # networks on a GPU
    python benchmarks/distribution.py statistics --only fixed                           # embeddings and kernels

CPU seconds are for fitting and predicting, without making the data. Prints tables, then verdicts on the hypotheses of
Sun 2019 (section 4.2), and writes benchmarks/results/distribution.json, section by section. Point clouds and
multiple-instance sets need the public data (see `sumwise datasets`); they are skipped, with a line, where absent.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from sumwise import Bags, datasets, synthetic
from sumwise.distribution import (
    BagKernelRidge,
    BagLogistic,
    BagOfWords,
    BagRidge,
    DeepSets,
    EmbeddingKernel,
    FisherVector,
    FourierEmbedding,
    LinearEmbedding,
    MarginalKernel,
    MomentEmbedding,
    PyramidMatchKernel,
    QuantileEmbedding,
    ShrunkEmbedding,
    SizeMatched,
    WassersteinKernel,
)
from sumwise.errors import DataError

RESULTS = Path(__file__).parent / "results" / "distribution.json"
EMBEDDINGS = {
    "means": LinearEmbedding,
    "moments": MomentEmbedding,
    "Fourier": FourierEmbedding,
    "quantiles": QuantileEmbedding,
    "BOW": lambda: BagOfWords(200),
    "Fisher": lambda: FisherVector(20),
}
THESIS_GAMMA = {"Fourier": 0.7497, "marginal kernel": 0.5268, "pyramid kernel": 0.3698, "W1 kernel": 0.2448}
THESIS_GAMMA["DeepSets"] = 0.2433
THESIS_GAUSSIAN = {
    "Fourier": (0.0037, 0.0012, 0.0053, 0.0006),
    "marginal kernel": (0.0038, 0.0007, 0.0006, 0.0004),
    "pyramid kernel": (0.0468, 0.0209, 0.0268, 0.0209),
    "W1 kernel": (0.0015, 0.0004, 0.0261, 0.0078),
    "DeepSets": (0.0023, 0.0004, 0.0005, 0.0002),
}


def ridges(seed=0):
    return {name: BagRidge(make(), random_state=seed) for name, make in EMBEDDINGS.items()}


def kernels(seed=0):
    return {
        "marginal kernel": BagKernelRidge(MarginalKernel(), random_state=seed),
        "pyramid kernel": BagKernelRidge(PyramidMatchKernel(), random_state=seed),
        "W1 kernel": BagKernelRidge(WassersteinKernel(1), random_state=seed),
        "sliced W2 kernel": BagKernelRidge(WassersteinKernel(2, slices=50), random_state=seed),
    }


def timed(work):
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def judged(model, train, test):
    """Mean squared error on test bags, and CPU seconds of fitting and predicting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said, spent = timed(lambda: model.fit(*train).predict(test[0]))
    return float(np.mean((said - test[1]) ** 2)), spent


def table(title, rows):
    print(f"\n{title}")
    names = list(dict.fromkeys(n for r in rows for n in r))
    shown = [[_text(r.get(n, "")) for n in names] for r in rows]
    widths = [max(len(n), *(len(s[k]) for s in shown)) for k, n in enumerate(names)]
    for line in [names, *shown]:
        print("  " + "  ".join(text.rjust(w) for text, w in zip(line, widths)), flush=True)
    return rows


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def statistics(options):
    """Four population statistics, 512 rows per bag, 512 test bags; more and more training bags."""
    powers = range(7, 17) if options.full else (7, 9, 11)
    rows = []
    for task in ("rotation", "correlation", "rank1", "random"):
        test = synthetic.statistics(task, 512, random_state=1, dtype="float32", base=_base(task))
        floor = None if test.base is None else test.bayes_error
        for power in powers:
            train = synthetic.statistics(task, 2**power, random_state=2, dtype="float32", base=test.base)
            models = {"DeepSets": DeepSets.preset("statistics", device=options.device)} if options.networks else {}
            if options.fixed:
                models = {**{n: m for n, m in ridges().items() if n in ("Fourier", "BOW", "Fisher")}, **models}
                models["BOW, Laplace kernel"] = BagKernelRidge(EmbeddingKernel(BagOfWords(), "laplace"), random_state=0)
            for name, model in models.items():
                error, spent = judged(model, (train.bags, train.response), (test.bags, test.response))
                row = {"task": task, "bags": 2**power, "method": name, "mse": error, "cpu_s": spent}
                rows.append({**row, "variance": float(test.response.var()), "bayes": floor if floor else ""})
    return table("Population statistics (Sun 2019, section 4.3.1)", rows)


def _base(task):
    return None if task == "random" else synthetic.statistics(task, 1, random_state=0).base


def ridge(options):
    """Linear against kernel ridge on the same embeddings, with the conditioning that the thesis saw."""
    rows = []
    for task in ("rotation", "random"):
        test = synthetic.statistics(task, 512, random_state=1, base=_base(task))
        for power in (7, 9, 11) if options.full else (7, 9):
            train = synthetic.statistics(task, 2**power, random_state=2, base=test.base)
            for name in ("Fourier", "BOW", "Fisher"):
                rows.append({"task": task, "bags": 2**power, **_both_ridges(name, train, test)})
    return table("Linear and kernel ridge (thesis figure 4.4); unregularised: scikit-learn with alpha = 1e-12", rows)


def _both_ridges(name, train, test):
    embedding = EMBEDDINGS[name]()
    if "random_state" in embedding.get_params():
        embedding.set_params(random_state=0)
    pair = (train.bags, train.response), (test.bags, test.response)
    linear, _ = judged(BagRidge(embedding), *pair)
    model = BagKernelRidge(EmbeddingKernel(embedding), random_state=0)
    gaussian, _ = judged(model, *pair)
    gram = model.kernel_.gram(train.bags)
    values = np.linalg.eigvalsh(gram)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    added = float(model.penalty_[0] * np.linalg.eigvalsh(centred)[-1])  # penalties are relative to the centred matrix
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = KernelRidge(alpha=1e-12, kernel="precomputed").fit(gram, train.response)
    raw = float(np.mean((model.kernel_.gram(test.bags, train.bags) @ plain.dual_coef_ - test.response) ** 2))
    return {
        "embedding": name,
        "linear": linear,
        "kernel": gaussian,
        "unregularised": raw,
        "condition": float(values[-1] / max(abs(values[0]), 1e-300)),
        "with penalty": float((values[-1] + added) / (max(values[0], 0.0) + added)),
        "warnings": len(caught),
    }


def gamma(options):
    """Fixed bags: train on 1,000, test on 1,000, five seeds; a network also sees 500 validation bags."""
    seeds, size = (range(5), 1000) if options.full else (range(2), 200)
    found: dict[str, list] = {}
    for seed in seeds:
        data = synthetic.gamma(2500, size, random_state=seed)
        best = float(np.mean((data.bayes() - data.response)[1500:] ** 2))
        parts = [(data.bags[a:b], data.response[a:b]) for a, b in ((0, 1000), (1000, 1500), (1500, 2500))]
        models = {
            **(ridges(seed) | kernels(seed) if options.fixed else {}),
            **({"DeepSets": None} if options.networks else {}),
        }
        for name, model in models.items():
            if model is None:
                net = DeepSets(device=options.device, random_state=seed)
                said, spent = timed(lambda n=net, p=parts: n.fit(*p[0], validation=p[1]).predict(p[2][0]))
                error = float(np.mean((said - parts[2][1]) ** 2))
            else:
                error, spent = judged(model, parts[0], parts[2])
            found.setdefault(name, []).append((error, error / best, spent))
    rows = [
        {"method": n, "mse": m[0], "over_bayes": m[1], "cpu_s": m[2], "thesis": THESIS_GAMMA.get(n, "")}
        for n, m in ((n, [float(x) for x in np.mean(v, axis=0)]) for n, v in found.items())
    ]
    return table(f"Gamma, fixed bags of {size}, mean over {len(seeds)} seeds (Lemus Gonzalez, section 5.1.1)", rows)


def variable(options):
    """Bags of 5, 20, 100 and 1,000 rows."""
    seeds = range(5) if options.full else range(1)
    rows = []
    for small in (0.0, 0.25, 0.5):
        found: dict[str, list] = {}
        for seed in seeds:
            data = synthetic.gamma(2000, small=small, random_state=seed)
            train, test = ((data.bags[k], data.response[k]) for k in (slice(1000), slice(1000, 2000)))
            best = float(np.mean((data.bayes() - data.response)[1000:] ** 2))
            models = {"DeepSets": DeepSets(device=options.device, random_state=seed)} if options.networks else {}
            if options.fixed:
                fixed = ridges(seed) | kernels(seed)
                models |= {n: fixed[n] for n in ("moments", "Fourier", "quantiles", "W1 kernel", "pyramid kernel")}
                models["Fourier, shrunk"] = BagRidge(ShrunkEmbedding(), random_state=seed)
                models["size-matched"] = SizeMatched(random_state=seed)
            for name, model in models.items():
                error, spent = judged(model, train, test)
                found.setdefault(name, []).append((error, error / best, spent))
        means = {n: [float(x) for x in np.mean(v, axis=0)] for n, v in found.items()}
        rows += [
            {"share of bags of 5": small, "method": n, "mse": m[0], "over_bayes": m[1], "cpu_s": m[2]}
            for n, m in means.items()
        ]
    return table(f"Gamma, variable bags, mean over {len(seeds)} seeds", rows)


def gaussian(options):
    """Four experiments: train on whole regions, predict the members of category A alone."""
    rows = []
    for number in (1, 2, 3, 4):
        data = synthetic.gaussian(number, 1000 if options.full else 300, random_state=0)
        part = (data.bags.subset(data.in_a), data.response_a)
        models = {"DeepSets": DeepSets(device=options.device)} if options.networks else {}
        if options.fixed:
            models = ridges() | kernels() | models
        floor = float(np.mean((data.expected_a - data.response_a) ** 2))
        for name, model in models.items():
            error, spent = judged(model, (data.bags, data.response), part)
            thesis = THESIS_GAUSSIAN.get(name, ("",) * 4)[number - 1]
            row = {"experiment": number, "method": name, "mse": error, "best": floor, "cpu_s": spent}
            rows.append({**row, "mean response": float(np.mean((0.5 - data.response_a) ** 2)), "thesis": thesis})
    return table("Gaussian regions: shares of a subgroup (Lemus Gonzalez, section 5.1.2)", rows)


def clouds(options):
    """Generated shapes with 100, 1,000 and 5,000 points; ModelNet10 with 100 and 1,000."""
    rows = []
    n_train, n_test, sizes = (2000, 500, (100, 1000, 5000)) if options.full else (320, 160, (100, 1000))
    data = synthetic.shapes(n_train + n_test, max(sizes), random_state=0)
    for size in sizes:
        bags = first_rows(data.bags, size)
        train, test = (bags[:n_train], data.labels[:n_train]), (bags[n_train:], data.labels[n_train:])
        rows += _classified("shapes", size, train, test, options)
    try:
        real = datasets.modelnet10()
    except DataError as error:
        print(f"ModelNet10 is skipped: {error}")
        return table("Point clouds, accuracy", rows)
    kept = slice(None) if options.full else slice(0, None, 8)
    for size in (100, 1000):
        train = (first_rows(real.bags, size)[kept], real.y[kept])
        rows += _classified("ModelNet10", size, train, (first_rows(real.test_bags, size), real.test_y), options)
    return table("Point clouds, accuracy (Sun 2019, section 4.3.2)", rows)


def first_rows(bags: Bags, n: int) -> Bags:
    within = np.arange(bags.n_rows) - np.repeat(bags.offsets[:-1], bags.sizes)
    return bags.subset(within < n)


def _classified(name, size, train, test, options):
    rows = []
    for method in ("Fourier", "BOW", "Fisher") if options.fixed else ():
        right, spent = timed(lambda m=method: logistic_accuracy(EMBEDDINGS[m](), train, test))
        rows.append({"data": name, "points": size, "bags": len(train[0]), "method": method, "accuracy": right})
        rows[-1]["cpu_s"] = spent
    if not options.networks:
        return rows
    net = DeepSets.preset("pointnet", max_rows=256, batch_bags=32, max_epochs=40, device=options.device)
    right, spent = timed(lambda: net.fit(*train).score(*test))
    row = {"data": name, "points": size, "bags": len(train[0]), "method": "DeepSets", "accuracy": float(right)}
    return [*rows, {**row, "cpu_s": spent}]


def logistic_accuracy(embedding, train, test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BagLogistic(embedding, target="classes", random_state=0).fit(*train)
        return float(np.mean(model.predict(test[0]) == test[1]))


def instances(options):
    """Two multiple-instance sets, cross-validated."""
    rows = []
    for name in ("musk1", "elephant"):
        try:
            bags, y = getattr(datasets, name)()
        except DataError as error:
            print(f"{name} is skipped: {error}")
            continue
        n_folds, found = (10, {}) if options.full else (5, {})
        fold = np.random.default_rng(0).permutation(np.arange(len(bags)) % n_folds)
        for k in range(n_folds):
            train, test = ((bags[fold != k], y[fold != k]), (bags[fold == k], y[fold == k]))
            for method in ("means", "moments", "quantiles", "BOW") if options.fixed else ():
                embedding = BagOfWords(20) if method == "BOW" else EMBEDDINGS[method]()
                found.setdefault(method, []).append(logistic_accuracy(embedding, train, test))
            for pool in ("mean", "max") if options.networks else ():
                net = DeepSets(pool=pool, task="classification", dropout=0.2, device=options.device)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.setdefault(f"DeepSets, {pool}", []).append(float(net.fit(*train).score(*test)))
        rows += [
            {"data": name, "method": m, "accuracy": float(np.mean(v)), "se": float(np.std(v) / np.sqrt(len(v)))}
            for m, v in found.items()
        ]
    return table("Multiple-instance sets (few bags, small bags)", rows) if rows else rows


def election(options):
    """Regions with survey weights: 70% train, 30% test; then shares of subgroups."""
    rows = []
    for n_regions in (840, 979):
        n_rows, n_trials = (500, 10) if options.full else (60, 2)
        wide = {"n_continuous": 18, "n_categorical": 60}
        data = synthetic.election(n_regions, n_rows, dtype="float32", random_state=n_regions, **wide)
        y = data.totals[:, 1] / data.totals.sum(axis=1)
        bags = reduced(data.bags, 100)
        found: dict[str, list] = {}
        for trial in range(n_trials):
            order = np.random.default_rng(trial).permutation(n_regions)
            cut = round(0.7 * n_regions)
            for name, model in _election_models(options, trial).items():
                train, test = ((bags[k], y[k]) for k in (np.sort(order[:cut]), np.sort(order[cut:])))
                found.setdefault(name, []).append((*_variance_and_error(model, train, test),))
        for name, each in found.items():
            explained, error, spent = np.mean(each, axis=0)
            row = {"regions": n_regions, "method": name, "mse": float(error), "explained": float(explained)}
            rows.append({**row, "sd": float(np.std([e[1] for e in each])), "cpu_s": float(spent)})
        rows.append({"regions": n_regions, "method": "mean share", "mse": float(y.var()), "explained": 0.0})
    title = f"Election by region, SVD to 100 of {data.bags.n_features} columns, {n_trials} trials (Sun 2019, 4.3.3)"
    return {"regions": table(title, rows), "subgroups": subgroups(data, bags, y, options)}


def reduced(bags: Bags, dimension: int) -> Bags:
    """The leading principal components of the weighted rows."""
    x = np.asarray(bags.values, dtype=np.float64)
    x = (x - np.average(x, axis=0, weights=bags.weights)) / np.maximum(x.std(axis=0), 1e-9)
    values, vectors = np.linalg.eigh((x * bags.weights[:, None]).T @ x)
    print(f"SVD: {values[-dimension:].sum() / values.sum():.0%} of the variance in {dimension} components")
    return bags.with_values((x @ vectors[:, -dimension:]).astype(np.float32))


def _election_models(options, seed):
    models = {"DeepSets": DeepSets(device=options.device, random_state=seed)} if options.networks else {}
    if not options.fixed:
        return models
    fixed = {n: m for n, m in ridges(seed).items() if n in ("means", "Fourier", "BOW")}
    fixed["Fisher"] = BagRidge(FisherVector(20), random_state=seed)
    fixed["means, kernel"] = BagKernelRidge(EmbeddingKernel(LinearEmbedding()), random_state=seed)
    fixed["Fourier, kernel"] = BagKernelRidge(EmbeddingKernel(FourierEmbedding()), random_state=seed)
    return {**fixed, **models}


def _variance_and_error(model, train, test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said, spent = timed(lambda: model.fit(*train).predict(test[0]))
    error = test[1] - said
    return 1 - error.var() / test[1].var(), float(np.mean(error**2)), spent


def subgroups(data, bags, y, options):
    """Shares of subgroups over all regions, as 004's table of section 5.2.2, beside the truth."""
    models = {}
    if options.networks:
        models = {"DeepSets": DeepSets(device=options.device), "DeepSets, share": DeepSets(task="share")}
    if options.fixed:
        models = {
            "means": BagRidge(LinearEmbedding()),
            "Fourier": BagRidge(FourierEmbedding(), random_state=0),
            **models,
        }
    fitted = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
            fitted[name] = model.fit(bags, y)
        rows = []
        for attribute in ("sex", "race", "education"):
            truth = data.shares(attribute)
            for code, level in enumerate(data.levels[attribute]):
                part = bags.subset(data.codes[attribute] == code)
                people = np.add.reduceat(np.append(part.weights, 0.0), part.offsets[:-1]) * (part.sizes > 0)
                there = part[part.sizes > 0]
                row = {"variable": attribute, "subgroup": level}
                row["truth"] = float(truth.loc[truth[attribute] == level, "D"].iloc[0])
                for name, model in fitted.items():
                    row[name] = float(np.average(model.predict(there), weights=people[part.sizes > 0]))
                rows.append(row)
    return table("Shares of D by subgroup, over all regions", rows)


def verdicts(found):
    """What the tables say about H1 to H3 (Sun 2019, section 4.2)."""
    told = []
    if found.get("clouds"):
        for name in dict.fromkeys(r["data"] for r in found["clouds"]):
            part = [r for r in found["clouds"] if r["data"] == name]
            sizes = sorted({r["points"] for r in part})
            gains = {
                m: max(r["accuracy"] for r in part if r["method"] == m and r["points"] == sizes[-1])
                - max(r["accuracy"] for r in part if r["method"] == m and r["points"] == sizes[0])
                for m in dict.fromkeys(r["method"] for r in part)
            }
            each = ", ".join(f"{m} {g:+.3f}" for m, g in gains.items())
            told.append(f"H1 (large bags help), {name}, {sizes[0]} to {sizes[-1]} points: {each}.")
    if found.get("statistics"):
        for task in dict.fromkeys(r["task"] for r in found["statistics"]):
            part = [r for r in found["statistics"] if r["task"] == task]
            winners = []
            for n in sorted({r["bags"] for r in part}):
                best = min((r for r in part if r["bags"] == n), key=lambda r: r["mse"])
                winners.append(f"{n}: {best['method']} ({best['mse']:.2g})")
            told.append(f"H2 (networks win with many bags), {task}: {'; '.join(winners)}.")
    if found.get("election"):
        for n in (840, 979):
            part = {r["method"]: r["mse"] for r in found["election"]["regions"] if r["regions"] == n}
            order = sorted(part, key=lambda m: part[m])
            told.append(f"H2, H3 (few bags, 100 columns), {n} regions, best first: {', '.join(order)}.")
    if found.get("ridge"):
        worse = sum(r["kernel"] > r["linear"] for r in found["ridge"])
        raw = max(r["unregularised"] / r["kernel"] for r in found["ridge"])
        told.append(
            f"Linear or kernel ridge: kernel ridge is worse in {worse} of {len(found['ridge'])} cases. Without "
            f"a penalty its error is up to {raw:.3g} times higher (what the thesis saw)."
        )
    print("\nVerdicts")
    for line in told:
        print(f"  {line}")
    return told


SECTIONS = {f.__name__: f for f in (statistics, ridge, gamma, variable, gaussian, clouds, instances, election)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--full", action="store_true", help="the papers' sizes")
    parser.add_argument("--device", default="cpu", help="of the networks")
    parser.add_argument("--only", choices=["fixed", "networks"], help="leave the other methods out")
    options = parser.parse_args()
    options.fixed, options.networks = options.only != "networks", options.only != "fixed"
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.sections or SECTIONS:
        found[name] = SECTIONS[name](options)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1))
    found["verdicts"] = verdicts(found)
    RESULTS.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
