"""Files that once broke a reader, and a few new ones of every sort; `make fuzz` makes as many as time allows."""

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sumwise.io.endings import KINDS, kind_of

HERE = Path(__file__).parent


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


fuzz, targets = loaded("fuzz"), loaded("targets")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are set by Unix")


IN_PROCESS = set(targets.READ) - {
    "arrow",
    "avro",
    "birds",
    "workbook",
    "stata",
    "spss",
    "geopackage",
}  # others start one


@pytest.fixture(scope="module")
def reader():
    process = fuzz.Reader()
    yield process
    process.close()


@pytest.mark.parametrize("path", sorted((HERE / "corpus").iterdir()), ids=lambda p: p.name)
def test_what_once_broke_is_refused(reader, path):
    target = path.name.partition("-")[0]
    assert reader.read(target, path) == "refused"


@pytest.mark.parametrize("target", targets.READ)
def test_whole_examples_are_read_and_damaged_ones_read_or_refused(reader, tmp_path, target):
    ending, whole = targets.seeds(tmp_path)[target]
    rng, said = random.Random(target), []
    path = tmp_path / f"case{ending}"
    for _ in range(4 if target in IN_PROCESS else 1):
        data = rng.choice(whole)
        path.write_bytes(targets.forged(data, rng) if target == "forged" else fuzz.damaged(data, rng))
        said.append(reader.read(target, path))
    assert set(said) <= {"fine", "refused"}, said


def test_the_fuzzer_finds_other_errors_and_crashes(tmp_path):
    process = fuzz.Reader()
    (tmp_path / "x").touch()
    assert process.read("no such target", tmp_path / "x").startswith("raised KeyError")
    process.process.kill()
    process.process.wait()
    assert process.read("problem", tmp_path / "x") == "refused"  # by another process
    crash = "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 11)"
    process.close()
    process.process = subprocess.Popen(
        [sys.executable, "-c", crash], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.read("problem", tmp_path / "x") == "ended the process with code -11"
    process.close()


def test_damage_is_reproducible_and_changes_the_file():
    data = bytes(range(200))
    made = [fuzz.damaged(data, random.Random(seed)) for seed in range(50)]
    assert made == [fuzz.damaged(data, random.Random(seed)) for seed in range(50)]
    assert sum(m != data for m in made) > 40


def test_every_kind_of_file_is_fuzzed(tmp_path):
    """A format that the one list gains needs a whole example and a target here."""
    kinds = {kind_of(f"x{ending}") for target, (ending, _) in targets.seeds(tmp_path).items() if target in targets.READ}
    assert set(KINDS) <= kinds
