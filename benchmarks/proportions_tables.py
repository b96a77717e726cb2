"""Write the tables of docs/explanation/label-proportion-methods.md from the committed results.

    python benchmarks/proportions_tables.py

Each table stands between ``<!-- table: NAME -->`` and ``<!-- end -->`` and comes from benchmarks/results/NAME.json; a
test compares them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "label-proportion-methods.md"
RESULTS = ROOT / "benchmarks" / "results"
NAMES = {
    "cardinality": "`CardinalityClassifier`",
    "proportion loss": "`ProportionLossClassifier`",
    "central limit": "`CentralLimitClassifier`",
    "mean embedding": "`MeanEmbeddingClassifier`",
    "mean map": "`MeanMap`",
    "cardinality at the reference": "the default at the reference penalty",
}
OURS = ("cardinality", "cardinality at the reference")


def shown(x, digits=3):
    """.123 for 0.123."""
    text = f"{x:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(x) < 1 else text


def signed(x):
    return ("+" if x >= 0 else "-") + shown(abs(x))


def markdown(header, rows):
    return "\n".join(
        ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(r) + " |" for r in rows)]
    )


def held(gains):
    """A line on how many of these paired gains are not below zero by more than one standard error."""
    good = sum(gap.mean() >= -gap.std(ddof=1) / np.sqrt(len(gap)) for gap in gains)
    return f"At least as good as the best other method, within one standard error, in {good} of {len(gains)} settings."


def few_bags(record):
    """AUC and log-loss of every method, and the paired gain."""
    out = []
    names = {"cardinality": NAMES["cardinality"]} | {m: NAMES.get(m, m) for m in record["cells"][0]["scores"]}
    for which, (title, better) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
        rows, gains = [], []
        for cell in record["cells"]:
            scores = {m: np.array(v)[:, which] for m, v in cell["scores"].items()}
            others = {m: v.mean() for m, v in scores.items() if m not in OURS}
            best = max(others, key=lambda m, others=others, better=better: better * others[m])
            gap = better * (scores["cardinality"] - scores[best])
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            gains.append(gap)
            setting = f"{cell['data']}, {cell['bags']} bags of {cell['size']}"
            gain = f"{signed(gap.mean())} ± {shown(error)}"
            rows.append([setting, *(shown(scores[m].mean()) for m in names), gain, str(len(gap))])
        out += [markdown([f"test {title}", *names.values(), "gain", "draws"], rows), held(gains)]
    return "\n\n".join(out)


def fresh_cuts(record):
    """The same from means that are kept, with what they come to."""
    out = []
    for score in ("AUC", "log-loss"):
        rows = []
        for r in record[score]:
            gain = f"{signed(r['gain'])} ± {shown(r['error'])}"
            means = (shown(r[m]) for m in NAMES if m in r)
            rows.append([r["setting"].replace(" of ", " bags of ", 1), *means, gain, str(r["draws"])])
        good = record["summary"]["best of four"][score]
        said = f"in {good['within one error']} of {good['settings']} settings."
        names = [name for m, name in NAMES.items() if m in record[score][0]]
        out.append(markdown([f"test {score}", *names, "gain", "draws"], rows))
        out.append(f"At least as good as the best other method, within one standard error, {said}")
    return "\n\n".join(out)


def sums(record):
    """R squared of every method."""
    names = list(next(iter(record["sets"].values()))["scores"][0])
    rows = []
    for data, found in record["sets"].items():
        scores = {m: np.array([draw[m] for draw in found["scores"]]) for m in names}
        gap = scores["sums"] - scores["bag means"]
        gain = f"{signed(gap.mean())} ± {shown(gap.std(ddof=1) / np.sqrt(len(gap)))}"
        rows.append([data, *(shown(scores[m].mean()) for m in names), gain, str(len(gap))])
    return markdown(["response", *names, "gain of sums over bag means", "draws"], rows)


def coverage(record):
    """Coverage of each case."""
    rows = [
        [case, shown(found["coverage"]), shown(found["error"]), str(found["trials"])]
        for case, found in record["cases"].items()
    ]
    return markdown(["case", "coverage", "standard error", "simulations"], rows)


def bundled(record):
    """AUC and log-loss of every method on scikit-learn's own data, and the paired gain."""
    out = []
    names = {m: NAMES.get(m, m) for m in ("cardinality", "proportion loss", "central limit", "mean embedding")}
    for title, which, better in (("AUC", "scores", 1.0), ("log-loss", "losses", -1.0)):
        rows, gains = [], []
        for cell in record["cells"]:
            scores = {m: np.array(v) for m, v in cell[which].items()}
            others = {m: better * v.mean() for m, v in scores.items() if m not in ("cardinality", "oracle")}
            best = max(others, key=lambda m, others=others: others[m])
            gap = better * (scores["cardinality"] - scores[best])
            gains.append(gap)
            setting = f"{cell['data']}, {cell['bags']} bags of {cell['size']}"
            means = [shown(scores[m].mean()) if m in scores else "" for m in (*names, "oracle")]
            gain = f"{signed(gap.mean())} ± {shown(gap.std(ddof=1) / np.sqrt(len(gap)))}"
            rows.append([setting, *means, gain, str(len(gap))])
        out += [markdown([f"test {title}", *names.values(), "labels of rows", "gain", "draws"], rows), held(gains)]
    return "\n\n".join(out)


def heuristics(record):
    """What each rule is worth on every set: AUC, then log-loss."""
    out = []
    for which, title in enumerate(("gain in AUC", "gain in log-loss")):
        rows = []
        for rule in dict.fromkeys(r for cell in record["cells"] for r in cell["gains"]):
            found = [np.array(cell["gains"].get(rule, np.zeros((0, 2))))[:, which] for cell in record["cells"]]
            each = [f"{signed(v.mean())} ± {shown(v.std(ddof=1) / np.sqrt(len(v)))}" if len(v) else "" for v in found]
            rows.append([rule, *each])
        heads = [f"{cell['data']} ({len(cell['usual'])})" for cell in record["cells"]]
        out.append(markdown([title, *heads], rows))
    return "\n\n".join(out)


TABLES = {
    "proportions_few_bags": few_bags,
    "proportions_other_cuts": few_bags,
    "proportions_fresh_cuts": fresh_cuts,
    "proportions_recent": few_bags,
    "proportions_sums": sums,
    "proportions_coverage": coverage,
    "proportions_bundled": bundled,
    "cardinality_heuristics": heuristics,
}


def filled(page):
    """The page with all its tables made anew."""
    for name, make in TABLES.items():
        table = make(json.loads((RESULTS / f"{name}.json").read_text()))
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        page = re.sub(pattern, lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", page, flags=re.S)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
