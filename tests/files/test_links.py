"""Whoever can put a link in a folder doesn't choose what is overwritten: no writer follows one; private is private."""

import asyncio
import contextlib
import os
import stat

import numpy as np
import pandas as pd
import pytest

import sumwise
from messages import raises
from sumwise.app.jobs import Jobs
from sumwise.app.server import App
from sumwise.app.workspace import Workspace
from sumwise.cli import main
from sumwise.errors import DataError
from sumwise.io.checkpoint import Checkpoint
from sumwise.io.formats.write import write_frame
from sumwise.io.writer import make_folder, new_folder, open_log, write_text
from sumwise.privacy import Budget

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and permissions of Unix")
VOTES = "precinct,young,old,yes,no\nA,60,40,55,45\nB,10,80,30,60\n"
PROBLEM = 'family = "ecological"\nmethod = "Bounds"\n[data]\nfile = "votes.csv"\n'
PROBLEM += '[columns]\nunit = "precinct"\nrows = ["young", "old"]\ncols = ["yes", "no"]\n'


def figure(path):
    from sumwise import synthetic
    from sumwise.ecological import Bounds
    from sumwise.report import export_figures, report

    margins = synthetic.precincts(9, random_state=0).margins
    export_figures(report(Bounds().fit(margins), margins), path.parent)


WRITERS = {
    "text": lambda path: write_text(path, "new"),
    "log": lambda path: open_log(path).close(),
    "object": lambda path: sumwise.save(np.zeros(3), path),
    "checkpoint": lambda path: Checkpoint(path).save({"step": 1}),
    "ledger": lambda path: Budget(1.0, path=path).spend(0.5),
    "x.csv": lambda path: write_frame(pd.DataFrame({"a": [1]}), path),
    "x.parquet": lambda path: write_frame(pd.DataFrame({"a": [1]}), path),
    "x.arrow": lambda path: write_frame(pd.DataFrame({"a": [1]}), path),
    "folder": make_folder,
}


@pytest.fixture
def victim(tmp_path):
    """A file that belongs to the user and lies elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "victim").write_text("mine")
    return tmp_path / "elsewhere" / "victim"


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("target", ["victim", "new", "."])
def test_no_writer_follows_a_link(tmp_path, victim, name, target):
    path = tmp_path / name
    path.symlink_to(victim.parent / target)
    with pytest.raises(DataError, match=name):
        WRITERS[name](path)
    assert path.is_symlink()
    assert [(p.name, p.read_text()) for p in victim.parent.iterdir()] == [("victim", "mine")]


def test_a_log_with_a_second_name_is_refused(tmp_path, victim):
    os.link(victim, tmp_path / "log")
    with raises(DataError, "second-name-hard"):
        open_log(tmp_path / "log")
    assert victim.read_text() == "mine"


def test_a_folder_that_is_a_link_is_not_emptied(tmp_path, victim):
    (tmp_path / ".x-abcdefgh").symlink_to(victim.parent)
    (victim.parent / ".being-written").touch()
    with new_folder(tmp_path / "x"):
        pass
    assert victim.read_text() == "mine"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study folder that somebody else prepared."""
    folder = tmp_path / "work" / "study"
    folder.mkdir(parents=True)
    (folder / "votes.csv").write_text(VOTES)
    (folder / "problem.toml").write_text(PROBLEM)
    monkeypatch.chdir(folder)
    return folder


JOB = ["job.log", "job.json", ".job.json.new"]


@pytest.mark.parametrize("name", JOB)
def test_jobs_of_the_app_write_through_no_link(study, victim, name):
    (study / name).symlink_to(victim)
    jobs = Jobs(Workspace(study.parent), command=["true"])
    with contextlib.suppress(DataError):
        jobs.start("study", "fit", [])
    jobs.close()
    jobs._thread.join(60)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["problem.toml", "votes.csv", "new.csv"])
def test_the_app_saves_and_takes_files_through_no_link(study, victim, name):
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to(victim)
    app = App(Workspace(study.parent), jobs=Jobs(Workspace(study.parent), command=["true"]))

    async def sent():
        yield b"a,b\n1,2\n"

    async def write():
        if name == "problem.toml":
            app._ask = read
            await app._save("study", {"text": PROBLEM})
        else:
            await app.workspace.receive(sent(), name, "study")

    async def read(*_):
        return {}

    with pytest.raises(DataError, match=name):
        asyncio.run(write())
    app.jobs.close()
    assert victim.read_text() == "mine"
    assert not [p.name for p in study.iterdir() if p.name.startswith(".")]


COMMANDS = {
    "problem.toml": ["init", "votes.csv", "--replace"],
    "result": ["fit", "problem.toml", "--replace", "--restart"],
    ".result.partial": ["fit", "problem.toml", "--replace", "--restart"],
    ".result.old": ["fit", "problem.toml", "--replace", "--restart"],
    ".result.lock": ["fit", "problem.toml", "--replace", "--restart"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_write_through_no_link(study, victim, capsys, name):
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to(victim if name == "problem.toml" else victim.parent)
    (victim.parent / "result").mkdir()
    (victim.parent / "result" / "kept").touch()
    if name != "problem.toml":
        (victim.parent / "summary.json").touch()
        (victim.parent / "provenance.json").touch()
    before = sorted(p.name for p in victim.parent.rglob("*"))
    assert main(COMMANDS[name]) in (0, 2)
    assert victim.read_text() == "mine"
    assert sorted(p.name for p in victim.parent.rglob("*")) == before


def modes(folder):
    return {p.name: stat.S_IMODE(p.lstat().st_mode) for p in folder.rglob("*")}


def test_what_holds_individuals_is_private(tmp_path):
    mask = os.umask(0o000)
    try:
        workspace = Workspace(tmp_path / "work")

        async def sent():
            yield b"a,b\n1,2\n"

        asyncio.run(workspace.receive(sent(), "people.csv", None))
        Jobs(workspace, command=["true"]).start("people", "fit", [])
        sumwise.save(np.zeros(3), tmp_path / "work" / "people" / "model.sumwise")
        Checkpoint(tmp_path / "work" / "people" / "state").save({"x": 1})
        Budget(1.0, path=tmp_path / "work" / "people" / "budget.json").spend(0.5)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o700
    found = modes(tmp_path / "work")
    folders = {name for name in found if (tmp_path / "work" / name).is_dir()}
    assert {found.pop(name) for name in folders} == {0o700}
    found.pop(".budget.json.lock", None)
    assert {"people.csv", "job.json", "job.log", "model.sumwise", "state", "budget.json"} <= set(found)
    assert set(found.values()) == {0o600}


def test_predictions_are_private(tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.cli.study.fitting.predict_file", lambda *_: pd.DataFrame({"p": [0.5]}))
    mask = os.umask(0o000)
    try:
        for name in ("p.csv", "p.parquet"):
            assert main(["predict", "result", "people.csv", "--out", str(tmp_path / name)]) == 0
    finally:
        os.umask(mask)
    assert modes(tmp_path) == {"p.csv": 0o600, "p.parquet": 0o600}


def test_unfinished_runs_are_private(study, monkeypatch):
    from sumwise.cli.study.folder import ResultFolder

    mask = os.umask(0o000)
    try:
        with ResultFolder(study / "result", "key") as place:
            Checkpoint(place.steps / "x.step").save({"x": 1})
            assert stat.S_IMODE(place.partial.stat().st_mode) == 0o700
            assert set(modes(place.steps).values()) == {0o600}
    finally:
        os.umask(mask)
