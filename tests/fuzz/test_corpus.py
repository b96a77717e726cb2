"""Files that once broke a reader, and a few new ones of every sort; `make fuzz` makes as many as time allows."""

import contextlib
import gzip
import importlib.util
import io
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sumwise.io.endings import ENDINGS, KINDS, PACKED, kind_of

HERE = Path(__file__).parent


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


fuzz, targets = loaded("fuzz"), loaded("targets")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are set by Unix")


OWN_PROCESS = {"avro", "birds", "tif"} | {
    ending[1:] for kind in ("arrow", "workbook", "statistical", "geopackage") for ending in KINDS[kind]
}  # is started for each file
FIRST = {endings[0][1:] for endings in KINDS.values()}


def marked(targets_):
    """The first ending of each kind; the others are read by the same code."""
    others = [name for name in targets_ if f".{name.removesuffix(PACKED)}" in ENDINGS and name not in FIRST]
    return [pytest.param(name, marks=pytest.mark.long) if name in others else name for name in targets_]


# What is damaged is in a column that no role names, or a number that stays as written.
UNUSED = {"dta-column-without-a-name.dta", "geojson-whole-number-beyond-64-bits.geojson"}


@pytest.fixture(scope="module")
def reader():
    process = fuzz.Reader()
    yield process
    process.close()


@pytest.mark.parametrize("path", sorted((HERE / "corpus").iterdir()), ids=lambda p: p.name)
def test_what_once_broke_is_refused(reader, path):
    target = path.name.partition("-")[0]
    assert reader.read(target, path) == ("fine" if path.name in UNUSED else "refused")


@pytest.mark.parametrize("target", marked(targets.READ))
def test_whole_examples_are_read_and_damaged_ones_read_or_refused(reader, tmp_path, target):
    ending, whole = targets.seeds(tmp_path / "seeds")[target]
    rng, said = random.Random(target), []
    (tmp_path / "cases").mkdir()
    path = tmp_path / "cases" / f"case{ending}"
    path.write_bytes(whole[0])
    assert reader.read(target, path) == "fine"
    for _ in range(1 if target in OWN_PROCESS else 4):
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
    for data in (bytes(range(200)), targets.csv_bytes(), gzip.compress(b"a,b\n1,2\n"), b'{"a": [1, {"b": null}]}'):
        made = [fuzz.damaged(data, random.Random(seed)) for seed in range(50)]
        assert made == [fuzz.damaged(data, random.Random(seed)) for seed in range(50)]
        assert sum(m != data for m in made) > 40


def test_what_an_archive_holds_is_damaged(tmp_path):
    whole = targets.model_bytes(tmp_path)[0]
    contents = set()
    for seed in range(60):
        data = io.BytesIO(fuzz.damaged(whole, random.Random(seed)))
        with contextlib.suppress(Exception), zipfile.ZipFile(data) as archive:  # what zipfile says is of many kinds
            contents.add(b"".join(archive.read(name) for name in archive.namelist()))
    assert len(contents) > 10  # with checksums that fit


def test_every_ending_is_fuzzed(tmp_path):
    """An ending that the one list gains needs a whole example and a target here."""
    examples = targets.seeds(tmp_path)
    assert set(examples) == set(targets.READ)
    assert {*ENDINGS, *(f"{ending}{PACKED}" for ending in KINDS["text"])} <= {ending for ending, _ in examples.values()}
    assert all(kind_of(f"x.{name}") for name in examples if f".{name}" in ENDINGS)
