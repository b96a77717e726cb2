"""The words of every report with extreme inputs, kept as text for review under snapshots/.

After a change of wording, write them again with ``SUMWISE_WRITE_SNAPSHOTS=1`` and read the difference.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sumwise import Bags, Margins, Tables
from sumwise.distribution import BagRidge, LinearEmbedding
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King
from sumwise.flows import CountsOverTime, FlowModel, Movement
from sumwise.maxent import BestPair, NaiveBayesTables
from sumwise.noise import Gaussian
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier
from sumwise.report import report

FOLDER = Path(__file__).parent / "snapshots"
FORBIDDEN = re.compile(r"\b(told|tells|hang together|mended|bend|rivals?)\b", re.IGNORECASE)


def margins(n, yes, names=("young", "old"), outcomes=("yes", "no")):
    x = np.linspace(0.1, 0.9, n)
    groups = np.column_stack([np.round(1000 * x), 1000 - np.round(1000 * x)])
    first = np.round(1000 * np.asarray(yes(x)))
    return Margins(groups, np.column_stack([first, 1000 - first]), row_names=names, col_names=outcomes)


def bags(n, shift=1.0):
    rng = np.random.default_rng(1)
    centre = shift * np.linspace(-1, 1, n)
    return Bags.from_arrays([rng.normal(m, 1.0, (20, 2)) for m in centre]), centre


def counts_of(held):
    return np.array([(b[:, 0] > 0).sum() for b in held])


def ecological(kind):
    if kind == "one unit":
        return Bounds(), margins(1, lambda x: x), {}
    if kind == "certain":
        return (
            Goodman(),
            margins(40, lambda x: x),
            {"compare": [Goodman(constrained=True)]},
        )
    if kind == "impossible":
        return Goodman(), margins(40, lambda x: x**2), {"cautions": ["The totals were rescaled."]}
    if kind == "abstention":
        return EcologicalEM(), margins(40, lambda x: 0.9 - 0.2 * x, outcomes=("no vote", "yes")), {}
    return (
        King(random_state=0, n_draws=50),
        margins(30, lambda x: 0.3 + 0.4 * x),
        {"truth": np.array([[0.7, 0.3], [0.3, 0.7]])},
    )


def proportions(kind):
    held = bags(4 if kind == "few bags" else 24)[0]
    options = {"classes": ["no", "yes"]}
    if kind == "subgroups":
        options["groups"] = {"side": np.where(held.values[:, 0] > 0, "right", "left").astype(object)}
        options["truth"] = (held.values[:, 0] > 0).astype(int)
    return (
        (MeanEmbeddingClassifier() if kind == "few bags" else CardinalityClassifier()),
        (held, counts_of(held)),
        options,
    )


def distribution(kind):
    held, centre = bags(24, 0.0 if kind == "no information" else 3.0)
    y = np.random.default_rng(0).normal(size=24) if kind == "no information" else np.linspace(-1, 1, 24)
    if kind == "classes":
        return BagRidge(LinearEmbedding()), (held, (centre > 0).astype(float)), {"classes": ["low", "high"]}
    return BagRidge(LinearEmbedding()), (held, y), {"response": "dose"}


def collective(kind):
    counts = [[9, 1], [4, 6]] if kind == "two times" else [[90, 1, 0], [40, 51, 0], [np.nan, 60, 5], [1, 30, 60]]
    where = None if kind == "two times" else [[0, 0], [1, 0], [2, 0]]
    return FlowModel(movement=Movement(0.0, 1.0)), CountsOverTime(counts, positions=where), {}


def maxent(kind):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    rows = pd.DataFrame({"a": a, "b": b, "y": (rng.random(400) < 0.1 + 0.3 * a).astype(int)})
    tables = Tables.from_frame(rows.iloc[:300], ["a", "b"], label="y")
    if kind == "held-out rows":
        return NaiveBayesTables(), tables, {"truth": (rows.iloc[300:], rows["y"].iloc[300:])}
    if kind == "noisy":
        from dataclasses import replace

        tables = Tables(
            [replace(t, noise=Gaussian(3.0)) for t in tables], tables.domain, n=300, label="y", classes=[0, 1]
        )
    return BestPair(), tables, {}


CASES = {
    ecological: ("one unit", "certain", "impossible", "abstention", "king"),
    proportions: ("few bags", "many bags", "subgroups"),
    distribution: ("no information", "informative", "classes"),
    collective: ("two times", "gaps"),
    maxent: ("tables alone", "held-out rows", "noisy"),
}


def words(summary):
    """Every sentence of a summary, a line each."""
    yield f"# {summary['title']}"
    yield from (*summary["lead"], *summary["checked"])
    for f in summary["findings"]:
        yield f"- {f['line']} {f['because'] or ''}".rstrip()
    for section in summary["sections"]:
        yield f"## {section['title']}"
        for block in section["blocks"]:
            yield from block.get("lines", [])
            yield from (f"* {item}" for item in block.get("items", []))
            if block["kind"] == "note":
                yield f"! {block['text']}"
            if block["kind"] == "table":
                yield f"| {block['title']}: {', '.join(c['name'] for c in block['columns'])}"
                yield from [block["about"]] if block["about"] else []
            if block["kind"] == "figure":
                yield f"[{block['plot']}] {block['caption']}"


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for make, kinds in CASES.items() for kind in kinds])
def test_reports_read_as_reviewed(make, kind):
    model, data, options = make(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = report(model.fit(*(data if isinstance(data, tuple) else (data,))), data, **options)
    text = "\n".join(words(made.summary)) + "\n"
    assert not FORBIDDEN.search(text), FORBIDDEN.search(text)
    assert " nan" not in text.lower()
    path = FOLDER / f"{make.__name__} {kind}.txt".replace(" ", "-")
    if os.environ.get("SUMWISE_WRITE_SNAPSHOTS"):
        path.write_text(text, "utf-8")
    assert path.exists(), "write it with SUMWISE_WRITE_SNAPSHOTS=1 and read it"
    assert shape(text) == shape(path.read_text("utf-8"))


def shape(text):
    """The words without their numbers, which differ between machines in the last digits."""
    return re.sub(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?", "#", text)
