"""The R package gives the numbers of Python; skipped where R or reticulate is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sumwise import Margins
from sumwise.ecological import Bounds, EcologicalEM, King

PACKAGE = Path(__file__).parents[1] / "r"


def r_with_reticulate():
    """Why R can't be used here, or None."""
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    asked = subprocess.run(["Rscript", "-e", "library(reticulate)"], capture_output=True, text=True, check=False)
    return None if asked.returncode == 0 else "R has no package reticulate"


@pytest.fixture
def votes():
    rng = np.random.default_rng(0)
    black = rng.integers(50, 450, 40)
    frame = pd.DataFrame({"precinct": [f"P{k}" for k in range(40)], "black": black, "white": 500 - black})
    frame["A"] = rng.binomial(black, 0.4) + rng.binomial(500 - black, 0.1)
    frame["B"] = rng.binomial(500 - frame["A"], 0.5)
    frame["stayed"] = 500 - frame["A"] - frame["B"]
    return frame


@pytest.mark.check
def test_r_package_gives_the_numbers_of_python(votes, tmp_path):
    if why := r_with_reticulate():
        pytest.skip(why)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    library = tmp_path / "library"
    library.mkdir()
    known = [str(library), *filter(None, [os.environ.get("R_LIBS")])]
    settings = os.environ | {"RETICULATE_PYTHON": sys.executable, "R_LIBS": os.pathsep.join(known)}
    install = ["R", "CMD", "INSTALL", f"--library={library}", str(PACKAGE)]
    for command in (install, ["Rscript", str(PACKAGE / "tests" / "ei.R"), str(tmp_path)]):
        done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
    margins = Margins.from_frame(votes, ["black", "white"], ["A", "B", "stayed"], unit="precinct")
    est = EcologicalEM().fit(margins)
    columns = ["share", "low", "high", "lower_bound", "upper_bound"]
    found = pd.read_csv(tmp_path / "estimates.csv")
    expected = est.estimate(0.9).to_frame()
    assert found["group"].tolist() == expected["group"].tolist()
    np.testing.assert_allclose(found[columns], expected[columns], atol=1e-9)
    units = pd.read_csv(tmp_path / "units.csv").set_index(["unit", "group", "outcome"])["share"]
    assert abs(units["P7", "white", "B"] - est.cells_[7, 1, 1]) < 1e-9
    people = np.full(40, 500.0)
    two = Margins(np.column_stack([votes["black"], votes["white"]]), np.column_stack([votes["A"], people - votes["A"]]))
    for name, method in (("king", King(n_draws=100)), ("bounds", Bounds())):
        np.testing.assert_allclose(
            pd.read_csv(tmp_path / f"{name}.csv")[columns], method.fit(two).estimate().to_frame()[columns], atol=1e-6
        )
