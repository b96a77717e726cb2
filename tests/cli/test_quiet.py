"""Every command of the application with --quiet and with --json: nothing but the result, and JSON that can be read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sumwise.cli import app, main

pytestmark = pytest.mark.check


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with rows, tables, precincts, a problem file and two results."""
    folder = tmp_path_factory.mktemp("quiet")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.choice(["young", "old"], 200), "sex": rng.choice(["f", "m"], 200)})
    rows.assign(click=(rows["age"] == "old").astype(int)).to_csv(folder / "rows.csv", index=False)
    black = rng.integers(20, 180, 30)
    votes = rng.binomial(black, 0.8) + rng.binomial(200 - black, 0.3)
    precincts = pd.DataFrame(
        {"precinct": [f"p{k}" for k in range(30)], "black voters": black, "white voters": 200 - black}
    )
    precincts.assign(Smith=votes, Jones=200 - votes).to_csv(folder / "precincts.csv", index=False)
    assert main(["aggregate", f"{folder}/rows.csv", "--label", "click", "--out", f"{folder}/tables", "--quiet"]) == 0
    assert main(["init", f"{folder}/precincts.csv", "--out", f"{folder}/problem.toml", "--yes", "--quiet"]) == 0
    for name in ("one", "two"):
        assert main(["fit", f"{folder}/problem.toml", "--out", f"{folder}/{name}", "--quiet"]) == 0
    return folder


LINES = {
    "aggregate": ["{0}/rows.csv", "--label", "click", "--out", "{0}/{1}-tables"],
    "release": ["{0}/tables", "--epsilon", "0.1", "--public-levels", "--total-epsilon", "1", "--out", "{0}/{1}-noisy"],
    "init": ["{0}/precincts.csv", "--yes", "--out", "{0}/{1}.toml"],
    "fit": ["{0}/problem.toml", "--out", "{0}/{1}-result"],
    "predict": ["{0}/one", "{0}/precincts.csv", "--out", "{0}/{1}-predicted.csv"],
    "report": ["{0}/one", "--out", "{0}/{1}.html"],
    "compare": ["{0}/one", "{0}/two", "--out", "{0}/{1}-comparison"],
    "datasets": ["senc"],
    "docs": ["--list"],
    "demo": ["ecological", "--out", "{0}/{1}-demo"],
}


def test_every_command_is_tried():
    assert sorted([*LINES, "serve"]) == sorted(app.COMMANDS)  # serve does not end: tests/cli/commands


@pytest.mark.parametrize("command", LINES)
def test_quiet_and_json(command, work, capsys):
    capsys.readouterr()
    line = [part.format(work, "quiet") for part in LINES[command]]
    assert main([command, *line, "--quiet"]) == 0
    said = capsys.readouterr()
    assert not [text for text in said.err.splitlines() if not text.startswith("Warning: ")]
    if "--out" in line:
        place = line[line.index("--out") + 1]
        assert said.out.strip().startswith(place)
        assert len(said.out.splitlines()) == 1
    line = [part.format(work, "json") for part in LINES[command]]
    assert main([command, *line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
