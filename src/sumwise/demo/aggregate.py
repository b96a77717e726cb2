"""Rows to tables: raw columns cut, merged and counted inside an engine, in one pass."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Story

SEED = 70


def run(say: Callable[[str], None]) -> list[Finding]:
    """Count made-up clicks from a Parquet file, and check one cell by hand."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from sumwise.aggregate import aggregate, fit_encoding

    clicks = _clicks(np.random.default_rng(SEED))
    asked = {"age": "quartiles", "city": {"kind": "levels", "min_count": 500}, "hour": [6, 12, 18]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.parquet"
        clicks.to_parquet(path)
        say(f"A Parquet file holds {len(clicks):,} ad displays: age, city (some missing), hour, and click or not.")
        rules = fit_encoding(path, asked)
        say(f"Columns become levels:    {rules}")
        tables = aggregate(path, ["age", "city", "hour"], label="click", encoding=rules, threads=2)
    say(f"All pairs, in one pass:   {tables}")
    say("The rows can be thrown away; the rules travel with the tables, to score individuals some day.")
    levels = rules.transform(clicks)
    cell = ((levels["city"] == "other") & (levels["hour"] == "18 and above")).to_numpy()
    table = tables["city", "hour"]
    place = tables.domain.levels("city").index("other"), tables.domain.levels("hour").index("18 and above")
    sums = np.asarray(table.label_sums)
    return [
        Finding("evening displays in small cities", float(table.counts[place]), truth=float(cell.sum()), kind="count"),
        Finding("clicks on them", float(sums[place]), float(clicks["click"].to_numpy()[cell].sum()), kind="count"),
    ]


def _clicks(rng):
    """One row per display."""
    import pandas as pd

    n = 20_000
    cities = ["Bern", "Lyon", "Oslo", "Porto", "Graz", "Ghent"]
    city = rng.choice(cities, n, p=[0.5, 0.3, 0.15, 0.02, 0.02, 0.01]).astype(object)
    city[rng.random(n) < 0.03] = None
    hour = rng.integers(0, 24, n)
    rate = 0.05 + 0.1 * (hour >= 18)
    return pd.DataFrame(
        {
            "age": rng.normal(45, 15, n).clip(18, 90),
            "city": city,
            "hour": hour,
            "click": (rng.random(n) < rate).astype(int),
        }
    )


STORY = Story("From rows to tables", family="aggregate", run=run, order=70)
