"""Checkpoints: killed work goes on to the same bits, and never on another computation's state."""

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest

from killed import kill_after
from messages import raises
from sumwise import Bags, Domain, Margins, load, save
from sumwise.errors import DataError
from sumwise.io.checkpoint import CachedSteps, Checkpoint, fingerprint
from sumwise.noise import Laplace


def test_no_file_is_no_state(tmp_path):
    assert Checkpoint(tmp_path / "x").load() is None


def test_state_comes_back_and_is_replaced(tmp_path):
    checkpoint = Checkpoint(tmp_path / "x", key="k")
    checkpoint.save({"step": 1})
    state = {"step": 2, "theta": np.eye(2), "loss": [np.inf, 0.5], "margins": Margins([[1, 2]], [[3, 0]])}
    checkpoint.save(state)
    after = Checkpoint(tmp_path / "x", key="k").load()
    assert after["step"] == 2
    assert after["loss"] == [np.inf, 0.5]
    assert after["margins"] == state["margins"]
    np.testing.assert_array_equal(after["theta"], np.eye(2))
    assert os.listdir(tmp_path) == ["x"]


def test_random_generator_goes_on(tmp_path):
    rng = np.random.default_rng(3)
    rng.random(5)
    Checkpoint(tmp_path / "x").save({"rng": rng})
    assert Checkpoint(tmp_path / "x").load()["rng"].random() == rng.random()


@pytest.mark.parametrize(("written", "here"), [("a", "b"), (None, "b"), ("a", None)])
def test_state_of_another_computation_is_refused(tmp_path, written, here):
    Checkpoint(tmp_path / "x", key=written).save({"step": 1})
    with raises(DataError, "checkpoint-written-other"):
        Checkpoint(tmp_path / "x", key=here).load()


def test_key_may_be_the_inputs_themselves(tmp_path):
    data = Margins([[1, 2]], [[3, 0]])
    Checkpoint(tmp_path / "x", key=(data, {"tol": 1e-3})).save({"step": 1})
    assert Checkpoint(tmp_path / "x", key=(data, {"tol": 1e-3})).load() == {"step": 1}
    with raises(DataError, "checkpoint-written-other"):
        Checkpoint(tmp_path / "x", key=(data, {"tol": 1e-4})).load()


def test_due_after_every_so_many_steps(tmp_path):
    checkpoint = Checkpoint(tmp_path / "x", every=3)
    assert [step for step in range(1, 10) if checkpoint.due(step)] == [3, 6, 9]


def test_due_no_sooner_than_some_seconds(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("sumwise.io.checkpoint.time.monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "x", seconds=10)
    assert not checkpoint.due(1)
    now[0] += 10
    assert checkpoint.due(2)
    checkpoint.save({})
    assert not checkpoint.due(3)
    now[0] += 11
    assert checkpoint.due(4)


def test_checkpoint_without_path_keeps_nothing():
    checkpoint = Checkpoint(None, key="k")
    checkpoint.save({"step": 1})
    assert checkpoint.load() is None
    assert not checkpoint.due(1)
    checkpoint.clear()
    assert repr(checkpoint) == "Checkpoint(None, every=1)"


def test_clear_removes_the_file_once(tmp_path):
    checkpoint = Checkpoint(tmp_path / "x")
    checkpoint.save({})
    checkpoint.clear()
    checkpoint.clear()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "3", None])
def test_bad_every_is_refused(tmp_path, every):
    with raises(DataError, "must-least", "every"):
        Checkpoint(tmp_path / "x", every=every)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_bad_seconds_are_refused(tmp_path, seconds):
    with raises(DataError, "must-least", "seconds"):
        Checkpoint(tmp_path / "x", seconds=seconds)


def test_state_that_is_no_dict_is_refused(tmp_path):
    with raises(DataError, "state-dict-type"):
        Checkpoint(tmp_path / "x").save([1])
    with raises(DataError, "cant-saved", "a function"):
        Checkpoint(tmp_path / "x").save({"f": len})


def test_damaged_or_foreign_file_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "x")
    checkpoint.save({"a": np.arange(9)})
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole[:-30])
    with raises(DataError, "not-sumwise-file-cut"):
        checkpoint.load()
    save({"key": None, "state": {}}, tmp_path / "x")
    with raises(DataError, "holds-sumwise-file", "object", "checkpoint"):
        checkpoint.load()


def test_failed_save_keeps_the_state_before(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "x")
    checkpoint.save({"step": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save({"step": 2})
    assert checkpoint.load() == {"step": 1}
    assert os.listdir(tmp_path) == ["x"]


WORK = textwrap.dedent(
    """
    import sys
    import numpy as np
    from sumwise.io.checkpoint import Checkpoint, fingerprint

    path = sys.argv[1]
    data = np.arange(50.0)
    checkpoint = Checkpoint(path, key=fingerprint(data, {"steps": 60}), every=5)
    state = checkpoint.load() or {"step": 0, "x": np.zeros(50), "rng": np.random.default_rng(1)}
    print("from", state["step"], flush=True)
    for step in range(state["step"], 60):
        x = 0.9 * state["x"] + 0.1 * data + state["rng"].normal(size=50)
        state = {"step": step + 1, "x": x, "rng": state["rng"]}
        if checkpoint.due(step + 1):
            checkpoint.save(state)
    print(state["x"].tobytes().hex())
    """
)


def run(path):
    command = [sys.executable, "-c", WORK, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(out[0].split()[1]), out[1]


def test_killed_work_resumes_to_the_same_bits(tmp_path):
    _, expected = run(tmp_path / "undisturbed")
    path = tmp_path / "killed"
    assert kill_after(3, WORK, path) == -signal.SIGKILL
    start, result = run(path)
    assert start == 15
    assert result == expected


# Fingerprints


def test_equal_values_have_one_fingerprint():
    assert fingerprint({"b": np.arange(3), "a": 1}) == fingerprint({"a": 1, "b": np.arange(3)})
    assert fingerprint({(1, "x"): 1, 2: np.ones(2)}) == fingerprint({2: np.ones(2), (1, "x"): 1})
    matrix = np.arange(6.0).reshape(2, 3)
    assert fingerprint(matrix) == fingerprint(np.asfortranarray(matrix)) == fingerprint(matrix.copy()[:, :])
    assert fingerprint(np.broadcast_to(1.0, 5)) == fingerprint(np.ones(5))
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert fingerprint(frame) == fingerprint(frame.copy())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Domain({"a": 2, "b": ["x", "y"]}),
        lambda: Margins([[60, 40]], [[55, 45]]),
        lambda: Bags.from_arrays([np.zeros((3, 2))]),
        lambda: Laplace(np.array([1.0, 2.0])),
    ],
)
def test_container_keeps_its_fingerprint_through_a_file(tmp_path, make):
    save(make(), tmp_path / "x")
    assert fingerprint(load(tmp_path / "x")) == fingerprint(make())


def test_different_values_have_different_fingerprints():
    values = [
        (),
        (None,),
        (0,),
        (False,),
        (0.0,),
        ("",),
        ([],),
        ((),),
        ({},),
        (np.zeros(0),),
        (np.zeros(2),),
        (np.zeros(2, dtype=int),),
        (np.zeros((1, 2)),),
        (np.zeros((2, 1)),),
        (np.array([0.0, 1.0]),),
        (np.array(["a", "b"]),),
        (np.array(["ab", ""]),),
        (np.zeros(1), np.zeros(1)),
        ([np.zeros(1), np.zeros(1)],),
        ({"a": 1, "b": 2},),
        ({"a": 2, "b": 1},),
        (Margins([[60, 40]], [[55, 45]]),),
        (Margins([[60, 40]], [[55, 45]], units=["u"]),),
        (np.random.default_rng(1),),
        (np.random.default_rng(2),),
    ]
    assert len({fingerprint(*value) for value in values}) == len(values)


def test_fingerprint_is_the_same_in_every_run():
    code = "from sumwise.io.checkpoint import fingerprint; print(fingerprint({'b': {3, 'x'}, 'a': (1.5, None)}))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {fingerprint({"a": (1.5, None), "b": {"x", 3}}) + "\n"}


def test_what_has_no_fingerprint_is_refused():
    with raises(DataError, "cant-saved", "a function"):
        fingerprint(len)


@pytest.mark.parametrize("options", [{"path": 3}, {"path": "x", "seconds": "1"}, {"path": "x", "seconds": None}])
def test_what_is_no_checkpoint_is_refused(options):
    with pytest.raises(DataError):
        Checkpoint(**options)


def test_steps_are_whole_numbers_and_a_folder_is_not_cleared(tmp_path):
    for step in ("1", None, 1.5):
        with raises(DataError, "must-least", "step"):
            Checkpoint(tmp_path / "x").due(step)
    with raises(DataError, "folder-name-file"):
        Checkpoint(tmp_path).clear()


def test_a_step_is_kept_with_what_it_warned_of(tmp_path):
    def compute():
        warnings.warn("shaky", UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return {"x": np.arange(3.0)}

    first = CachedSteps(tmp_path, "k")
    first.step("Fit A", compute)
    told = []
    again = CachedSteps(tmp_path, "k", told.append)
    assert again.step("Fit A", lambda: 1 / 0)["x"].tolist() == [0, 1, 2]
    assert first.warnings == again.warnings == ["Fit A: shaky"]
    assert again.kept == ["Fit A"]
    assert told == ["Fit A: done before"]


def test_steps_of_another_problem_are_refused(tmp_path):
    CachedSteps(tmp_path, "k").step("a", lambda: 1)
    with raises(DataError, "checkpoint-written-other"):
        CachedSteps(tmp_path, "other").step("a", lambda: 1)


def test_an_error_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError):
        CachedSteps(tmp_path, "k").step("a", lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []
    assert CachedSteps().step("a", lambda: 2) == 2


def test_steps_named_in_other_scripts_are_kept_apart(tmp_path):
    steps = CachedSteps(tmp_path, "k")
    assert [steps.step(name, lambda name=name: name) for name in ("fit 東京", "fit 大阪")] == ["fit 東京", "fit 大阪"]
