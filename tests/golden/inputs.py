"""Small inputs of every family, drawn from NumPy alone, so that they don't move with the package's generators."""

from __future__ import annotations

import numpy as np
import pandas as pd


def votes(n_units: int = 30, seed: int = 0) -> pd.DataFrame:
    """Precinct totals of three groups and three outcomes; group behaviour varies from precinct to precinct."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(200, 900, n_units)
    groups = np.array([rng.multinomial(n, rng.dirichlet([2.0, 1.5, 1.0])) for n in sizes])
    choices = np.array([[0.62, 0.28, 0.10], [0.18, 0.67, 0.15], [0.35, 0.30, 0.35]])
    outcomes = np.array(
        [sum(rng.multinomial(n, rng.dirichlet(60 * p)) for n, p in zip(row, choices)) for row in groups]
    )
    columns = ["white", "black", "hispanic", "garcia", "oneil", "abstain"]
    frame = pd.DataFrame(np.column_stack([groups, outcomes]), columns=columns)
    frame.insert(0, "precinct", [f"P{k:02d}" for k in range(n_units)])
    return frame


def two_by_two(n_units: int = 40) -> pd.DataFrame:
    """Precinct totals of two groups and two outcomes."""
    frame = votes(n_units, seed=1)
    return pd.DataFrame(
        {
            "precinct": frame.precinct,
            "young": frame.white,
            "old": frame.black + frame.hispanic,
            "yes": frame.garcia,
            "no": frame.oneil + frame.abstain,
        }
    )


def people(n_bags: int = 16, size: int = 15, seed: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Individuals in districts, and how many of each district are positive."""
    rng = np.random.default_rng(seed)
    district = np.repeat(np.arange(n_bags), size)
    centre = rng.normal(0, 0.8, (n_bags, 2))
    x = centre[district] + rng.normal(0, 1, (n_bags * size, 2))
    positive = rng.random(len(x)) < 1 / (1 + np.exp(-(1.5 * x[:, 0] - x[:, 1] - 0.3)))
    names = np.array([f"D{k:02d}" for k in range(n_bags)])
    rows = pd.DataFrame({"district": names[district], "age": x[:, 0].round(3), "income": x[:, 1].round(3)})
    counts = np.bincount(district, weights=positive).astype(int)
    return rows, pd.DataFrame({"district": names, "no": size - counts, "yes": counts})


def samples(n_bags: int = 40, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Samples in bags whose response is the spread of their first feature, next to a mean that says little."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(10, 30, n_bags)
    spread = rng.uniform(0.5, 2.0, n_bags)
    bag = np.repeat(np.arange(n_bags), sizes)
    x = rng.normal(0, 1, (len(bag), 2)) * np.column_stack([spread[bag], np.ones(len(bag))]) + 0.2 * spread[bag, None]
    frame = pd.DataFrame({"site": bag, "depth": x[:, 0].round(4), "salt": x[:, 1].round(4)})
    return frame, spread + 0.05 * rng.normal(size=n_bags)


def rows(n: int = 3000, seed: int = 4) -> pd.DataFrame:
    """Individuals with three correlated attributes and a label."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = (a + rng.integers(0, 3, n)) % 4
    c = (rng.random(n) < 0.3 + 0.1 * b).astype(int)
    y = rng.random(n) < 1 / (1 + np.exp(-(0.8 * a - 0.7 * b + 1.0 * c - 0.9)))
    return pd.DataFrame({"region": a, "income": b, "married": c, "bought": y.astype(int)})


def weeks(n_times: int = 5, side: int = 3) -> tuple[np.ndarray, pd.DataFrame, pd.DataFrame]:
    """Counts of birds on a grid that move north, with Poisson noise: the array, a long frame, and the places."""
    rng = np.random.default_rng(5)
    lon, lat = (a.ravel().astype(float) for a in np.meshgrid(np.arange(side), 40.0 + np.arange(side)))
    distance = np.hypot(lon[:, None] - lon, lat[:, None] - lat)
    step = np.exp(-1.2 * distance + 0.8 * (lat - lat[:, None]))
    step /= step.sum(axis=1, keepdims=True)
    birds = rng.multinomial(900, np.exp(-(lat - 40)) / np.exp(-(lat - 40)).sum())
    counts = []
    for _ in range(n_times):
        counts.append(rng.poisson(birds))
        birds = sum(rng.multinomial(k, p) for k, p in zip(birds, step))
    counts = np.array(counts)
    places = pd.DataFrame({"cell": [f"c{k}" for k in range(side * side)], "lon": lon, "lat": lat})
    week = np.repeat(np.arange(1, n_times + 1), side * side)
    frame = pd.DataFrame({"week": week, "cell": np.tile(places.cell, n_times)})
    frame["lon"], frame["lat"], frame["count"] = np.tile(lon, n_times), np.tile(lat, n_times), counts.ravel()
    return counts, frame, places


def sites() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The samples, and a frame of the responses."""
    frame, response = samples()
    return frame, pd.DataFrame({"site": np.arange(len(response)), "yield": response.round(4)})


def cells() -> pd.DataFrame:
    """The rows, counted by cell, with sums of the label; empty cells are there, as 0."""
    every = pd.MultiIndex.from_product([range(3), range(4), range(2)], names=["region", "income", "married"])
    frame = rows().groupby(every.names).bought.agg(["size", "sum"]).reindex(every, fill_value=0).reset_index()
    frame.columns = ["region", "income", "married", "count", "label_sum"]
    frame["region"] = np.array(["north", "south", "west"])[frame.region]
    frame["income"] = np.array(["low", "mid", "high", "top"])[frame.income]
    frame["married"] = np.array(["no", "yes"])[frame.married]
    return frame
