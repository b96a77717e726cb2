"""Commands that write, killed at random file operations, without disk, without memory, stopped: nothing is lost."""

import json
import os
import random
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from faults import Commands
from study_cases import clicks, doses, flocks, people, votes
from sumwise import load
from sumwise.io.formats.tables_folder import read_tables_folder

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="forks and signals of Unix")]

PROBLEMS = {
    "ecological": (
        votes(20),
        'method = "Goodman"\nsensitivity = false',
        'unit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]\n',
    ),
    "proportions": (
        people(12, 20),
        "sensitivity = false",
        'bag = "area"\nlabel = "vote"\n[options]\npenalty = 1.0\n',
    ),
    "collective": (
        flocks(3, 2),
        "sensitivity = false",
        'time = "week"\nplace = "site"\ncount = "birds"\nx = "x"\ny = "y"\n[options]\nscale = 1.0\n',
    ),
    "distribution": (doses(), 'method = "means"\nsensitivity = false', 'bag = "sample"\nresponse = "dose"\n'),
    "maxent": (clicks(), "sensitivity = false", 'label = "click"\n[options]\nengine = "exact"\n'),
}


def problem(folder, family):
    frame, top, columns = PROBLEMS[family]
    frame.to_csv(folder / "data.csv", index=False)
    kind = 'kind = "rows"\nholdout = 0\n' if family == "maxent" else ""
    text = f'family = "{family}"\n{top}\n[data]\nfile = "data.csv"\n{kind}[columns]\n{columns}'
    (folder / "problem.toml").write_text(text)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    started = Commands(tmp_path_factory.mktemp("faults"))
    yield started
    started.close()


@pytest.fixture
def place(commands, tmp_path):
    commands.cwd = tmp_path
    return tmp_path


def hidden(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


def is_whole(folder):
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    load(folder / "model.sumwise")
    pd.read_parquet(folder / "estimates.parquet")
    return "</html>" in (folder / "report.html").read_text("utf-8") and bool(summary)


@pytest.mark.parametrize(
    ("family", "kills"),
    [("ecological", 1), ("maxent", 1), *(pytest.param(family, 30, marks=pytest.mark.long) for family in PROBLEMS)],
)
def test_fit_killed_at_any_moment_keeps_the_earlier_result(commands, place, family, kills):
    problem(place, family)
    code, count = commands.run("fit", "problem.toml", "--out", "result")
    assert code == 0, commands.said()
    for at in random.Random(family).sample(range(1, count + 1), kills):
        code, _ = commands.run("fit", "problem.toml", "--out", "result", "--replace", fault="kill", at=at)
        assert code in (-9, 0), commands.said()
        if (place / "result").exists():  # else between two renames: the next run puts it back
            assert is_whole(place / "result")
        code, _ = commands.run("fit", "problem.toml", "--out", "result", "--replace", "--restart")
        assert code == 0, commands.said()
        assert is_whole(place / "result")
        assert hidden(place) == []


def test_aggregate_and_release_killed_at_any_moment(commands, place):
    pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")
    rng = np.random.default_rng(0)
    pd.DataFrame({name: rng.integers(0, 3, 200) for name in "abc"}).to_parquet(place / "rows.parquet")
    count = commands.run("aggregate", "rows.parquet", "--out", "tables")[1]
    for i, at in enumerate(random.Random(1).sample(range(1, count + 1), 2)):
        code, _ = commands.run("aggregate", "rows.parquet", "--out", f"t{i}", fault="kill", at=at)
        assert code == -9
        if (place / f"t{i}").exists():
            read_tables_folder(place / f"t{i}")
        else:
            assert commands.run("aggregate", "rows.parquet", "--out", f"t{i}")[0] == 0
        assert read_tables_folder(place / f"t{i}") == read_tables_folder(place / "tables")
    assert hidden(place) == []
    release = ["--epsilon", "1", "--public-levels", "--total-epsilon", "4"]
    code, count = commands.run("release", "tables", "--out", "noisy", *release)
    assert code == 0, commands.said()
    published = 1
    for i, at in enumerate(random.Random(2).sample(range(1, count + 1), 2)):
        code, _ = commands.run("release", "tables", "--out", f"n{i}", *release, fault="kill", at=at)
        assert code in (-9, 0), commands.said()  # 0: a later release does less than the first
        published += (place / f"n{i}").exists()
        if (place / f"n{i}").exists():
            read_tables_folder(place / f"n{i}")
        entries = json.loads((place / "tables" / "budget.json").read_text())["entries"]
        assert len(entries) >= published  # what was published is paid for
    for fault in ("full", "term"):
        code, _ = commands.run("release", "tables", "--out", fault, *release[:3], fault=fault, at=count // 2)
        assert code in ((2,) if fault == "full" else (-15, 143)), commands.said()
        assert "defect" not in commands.said()
        assert not (place / fault).exists() or read_tables_folder(place / fault)


OTHERS = {  # what else writes: a file that is there, and the command that would replace it
    "init": ("problem.toml", ["init", "data.csv", "--out", "problem.toml", "--replace"]),
    "predict": ("predicted.csv", ["predict", "result", "data.csv", "--out", "predicted.csv"]),
    "report": ("result/report.html", ["report", "result"]),
    "compare": ("compared/report.html", ["compare", "result", "other", "--out", "compared"]),
}


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_other_commands_leave_whole_files(commands, place, fault):
    problem(place, "ecological")
    assert commands.run("fit", "problem.toml", "--out", "result")[0] == 0, commands.said()
    shutil.copytree(place / "result", place / "other")
    for name, (file, arguments) in OTHERS.items():
        code, count = commands.run(*arguments)
        assert code in ((0, 2) if name == "init" else (0,)), commands.said()
        before = (place / file).read_bytes()
        for at in sorted({1, count // 2, count} - {0}):
            code, _ = commands.run(*arguments, fault=fault, at=at)
            assert code in ((-9, 0, 2) if fault == "kill" else (0, 2)), commands.said()
            assert "defect" not in commands.said()
            assert (place / file).read_bytes() == before, (name, at)
        commands.run(*arguments)
        assert not [p.name for p in place.rglob(".*.tmp")]


@pytest.mark.parametrize("fault", ["full", "term"])
def test_without_disk_or_stopped_there_is_one_line_and_nothing_half(commands, place, fault):
    problem(place, "ecological")
    count = commands.run("fit", "problem.toml", "--out", "whole")[1]
    for at in (count // 2, count - 1):
        code, _ = commands.run("fit", "problem.toml", "--out", "result", "--restart", fault=fault, at=at)
        if fault == "full":
            assert code == 2, commands.said()
            assert "No space left" in commands.said().splitlines()[-1]
            assert "defect" not in commands.said()
        else:
            assert code in (-15, 143, 0)
        assert not (place / "result").exists() or is_whole(place / "result")
        shutil.rmtree(place / "result", ignore_errors=True)
    code, _ = commands.run("fit", "problem.toml", "--out", "result", "--restart")
    assert code == 0
    assert hidden(place) == []


def test_a_folder_that_cannot_be_written_is_one_line(commands, place):
    problem(place, "ecological")
    (place / "file").touch()
    for out in ("file/result", "no/such/result", "/proc/result"):
        code, _ = commands.run("fit", "problem.toml", "--out", out)
        assert code == 2, commands.said()
        assert "defect" not in commands.said()
        assert len(commands.said().splitlines()) == 1, commands.said()
    if os.geteuid() != 0:  # root writes everywhere
        (place / "closed").mkdir(mode=0o500)
        assert commands.run("fit", "problem.toml", "--out", "closed/result")[0] == 2
        assert "Permission denied" in commands.said()


def test_two_processes_on_one_folder_leave_one_whole_result(commands, place):
    problem(place, "ecological")
    assert commands.run("fit", "problem.toml", "--out", "result")[0] == 0
    other = Commands(place)
    try:
        arguments = ["fit", "problem.toml", "--out", "result", "--replace"]
        given = {"arguments": arguments, "cwd": str(place), "log": str(place / "other.txt")}
        other.process.stdin.write(json.dumps(given) + "\n")  # begun, not waited for
        other.process.stdin.flush()
        code, _ = commands.run(*arguments)
        second, _ = json.loads(other.process.stdout.readline())
    finally:
        other.close()
    assert {code, second} <= {0, 2}
    assert 0 in (code, second)
    assert is_whole(place / "result")
    assert hidden(place) == []


@pytest.mark.long  # what a library does without memory depends on the machine; test_entry.py has no such limit
@pytest.mark.parametrize("megabytes", [20, 400])
def test_out_of_memory_is_one_line_and_no_defect(commands, place, megabytes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.random(60_000) for i in range(12)})
    frame["y"] = rng.integers(0, 2, len(frame))
    frame.to_parquet(place / "rows.parquet")
    code, _ = commands.run("init", "rows.parquet", memory=2**20 * megabytes)  # some libraries crash, some raise
    assert code in (0, 2), commands.said()
    if code == 2:
        assert "not enough memory" in commands.said()
        assert "defect" not in commands.said()
        assert "Traceback" not in commands.said()
