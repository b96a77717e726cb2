"""A server, a browser, and a small file for every family."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from by_keyboard import LONG
from sumwise import synthetic
from sumwise.io.formats import write_margins

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-background-networking"]
FLAGS += ["--disable-component-update"]


@contextmanager
def serving(folder):
    """A server of its own and its address; it is killed at the end, whatever happened."""
    command = [sys.executable, "-m", "sumwise", "serve", str(folder / "ws"), "--port", "0", "--json"]
    own = {**os.environ, "SUMWISE_STATE": str(folder / "state")}  # as every run releases the same tables
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as server:
        try:
            said = ""
            while "}" not in said:
                line = server.stdout.readline()
                assert line, "the server ended"
                said += line
            yield json.loads(said)["url"]
        finally:
            server.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("app")) as url:
        yield url


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    found = context.new_page()
    found.set_default_timeout(LONG)
    yield found
    context.close()


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "votes.csv"
    write_margins(synthetic.precincts(40, random_state=0).margins, path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory, votes):
    """A small file, or two, for every family."""
    folder, rng = tmp_path_factory.mktemp("families"), np.random.default_rng(0)

    def written(name, frame):
        frame.to_csv(folder / name, index=False)
        return str(folder / name)

    bags = [f"r{k}" for k in range(20)]
    income = [rng.normal(mean, 1.0, 20).round(3) for mean in rng.normal(0, 1.5, 20)]
    people = pd.DataFrame({"region": np.repeat(bags, 20), "income": np.concatenate(income)})
    yes = [int((rng.random(20) < 1 / (1 + np.exp(-x))).sum()) for x in income]
    results = pd.DataFrame({"region": bags, "yes": yes, "no": [20 - n for n in yes]})
    dose = rng.uniform(1, 5, 25).round(3)
    samples = pd.DataFrame({"patient": np.repeat([f"p{k}" for k in range(25)], 12), "size": 0.0})
    samples["size"], samples["dose"] = rng.gamma(np.repeat(dose, 12)).round(3), np.repeat(dose, 12)
    places = [(t, i, j) for t in range(4) for i in range(2) for j in range(2)]
    counts = pd.DataFrame(places, columns=["week", "x", "y"])
    counts["site"] = [f"site {i}{j}" for _, i, j in places]
    counts["count"] = [int(100 * np.exp(-((i + j - t / 2) ** 2))) for t, i, j in places]
    level = rng.integers(0, 3, 900)
    clicks = pd.DataFrame({"age": np.array(["young", "middle", "old"])[level]})
    clicks["device"] = rng.choice(["phone", "desktop"], 900)
    clicks["click"] = (rng.random(900) < 0.1 + 0.3 * level).astype(int)
    contests = pd.DataFrame({"precinct": [f"p{k}" for k in range(30)], "total": rng.integers(300, 600, 30)})
    for one, two in (("white", "black"), ("mayor_yes", "mayor_no"), ("judge_yes", "judge_no")):
        contests[one] = (rng.uniform(0.2, 0.8, 30) * contests["total"]).round().astype(int)
        contests[two] = contests["total"] - contests[one]
    return {
        "ecological": [str(votes)],
        "proportions": [written("people.csv", people), written("results.csv", results)],
        "distribution": [written("samples.csv", samples)],
        "collective": [written("counts.csv", counts)],
        "maxent": [written("clicks.csv", clicks)],
        "contests": [written("contests.csv", contests)],
    }


@pytest.fixture
def serve():
    return serving
