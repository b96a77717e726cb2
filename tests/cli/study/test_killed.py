"""A fit of each family that is killed without warning, twice, and resumed to its end: the same bits as undisturbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from study_cases import clicks, doses, flocks, people, votes
from sumwise import load
from sumwise.cli.study.fitting import fit_problem, read_result
from sumwise.cli.study.initialise import suggest_problem

pytestmark = pytest.mark.check

FRAMES = {"ecological": votes, "proportions": people, "distribution": doses, "maxent": clicks, "collective": flocks}
KILLED = """
import os, signal, sys
from sumwise.io import checkpoint
from sumwise.cli.study.fitting import fit_problem

whole, left = checkpoint.Checkpoint.save, [int(sys.argv[3])]

def save(self, state):
    whole(self, state)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.Checkpoint.save = save
fit_problem(sys.argv[1], sys.argv[2], resume=sys.argv[4] == "resume")
"""


def killed(problem, out, saves, begun):
    """Fit in a process that kills itself after so many checkpoints."""
    command = [sys.executable, "-c", KILLED, str(problem), str(out), str(saves), "resume" if begun else ""]
    return subprocess.run(command, env={**os.environ}, check=False, capture_output=True).returncode


@pytest.mark.parametrize("family", sorted(FRAMES))
def test_a_fit_that_is_killed_twice_ends_with_the_same_bits(tmp_path, family):
    FRAMES[family]().to_csv(tmp_path / "data.csv", index=False)
    problem = suggest_problem([tmp_path / "data.csv"], tmp_path / "problem.toml", family=family).write()
    fit_problem(problem, tmp_path / "whole")
    assert killed(problem, tmp_path / "again", 1, begun=False) == -signal.SIGKILL
    assert not (tmp_path / "again").exists()
    second = killed(problem, tmp_path / "again", 1, begun=True)
    if second == 0:  # one step was all there is
        assert (tmp_path / "again").exists()
    else:
        assert second == -signal.SIGKILL
        fit_problem(problem, tmp_path / "again", resume=True)
    assert read_result(tmp_path / "again")[1]["kept steps"]
    files = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "again").iterdir())
    timed = {"provenance.json", "report.html"} | ({"model.sumwise"} if family == "collective" else set())
    for name in set(files) - timed:  # those say when it was, or how long its steps took
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    if family == "collective":
        one, two = (load(tmp_path / out / "model.sumwise") for out in ("whole", "again"))
        assert one.to_frame().equals(two.to_frame())
