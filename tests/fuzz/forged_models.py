"""Model files of every estimator with forged arrays and numbers, and a use of each in a process of its own.

A forger knows the format: the checksums in a file are renewed. A file is refused, or what is loaded answers as a fitted
model does; it must not end the process, hang or take far more memory than the file has. Those of scikit-learn
may raise.
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import re
import select
import signal
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 60  # for one file; generous, so that a busy machine is no finding
MEMORY = 3 * 2**30  # address space beyond what the process has when it begins
HARMLESS = ("fine", "refused")
OF_OTHERS = (*HARMLESS, "raised")  # what a model of scikit-learn says of itself
NUMBERS = (0, -1, 10**6, 2**31, 2**62, -(2**63))


def forgeries(array: np.ndarray) -> dict[str, np.ndarray]:
    """Other arrays in the place of one, by what was done to it."""
    made: dict[str, Any] = {
        "empty": array.ravel()[:0],
        "scalar": array.ravel()[:1].reshape(()) if array.size else np.zeros((), array.dtype),
        "flat": array.ravel(),
        "transposed": array.T,
        "one axis more": array[..., None],
        "half": array[: len(array) // 2] if array.ndim else array,
        "twice": np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
        "no columns": array[..., :0] if array.ndim else array,
        "text": np.full(array.shape, "x"),
        "complex": np.full(array.shape, 1j),
        "dates": np.zeros(array.shape, "M8[s]"),
    }
    if array.dtype.kind in "iub":
        for value in (-1, -(2**31), 10**6, 2**31 - 1, 2**62):
            made[f"all {value}"] = np.full(array.shape, value, np.int64)
            made[f"last {value}"] = _last(array.astype(np.int64), value)
        made["small integers"] = array.astype(np.int8)
        made["nan"] = np.full(array.shape, np.nan)
        if array.dtype.kind in "iu":
            made["same type, all at most"] = np.full(array.shape, np.iinfo(array.dtype).max, array.dtype)
            made["same type, last at most"] = _last(array, np.iinfo(array.dtype).max)
            made["same type, all at least"] = np.full(array.shape, np.iinfo(array.dtype).min, array.dtype)
            made["reversed"] = array[::-1] if array.ndim else array
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -1.0, 0.0, 1e300, 1e-320):
            with np.errstate(over="ignore"):  # 1e300 is infinite in single precision
                made[f"all {value}"] = np.full(array.shape, value, array.dtype)
        made["last nan"] = _last(array, np.nan)
        made["other precision"] = array.astype(np.float32 if array.dtype.itemsize == 8 else np.float64)
        made["integers"] = np.full(array.shape, 2**62, np.int64)
    return {name: np.ascontiguousarray(a) if a.ndim else a for name, a in made.items() if not _equal(a, array)}


def _last(array: np.ndarray, value: Any) -> np.ndarray:
    out = np.array(array)
    if out.size:
        out.reshape(-1)[-1] = value
    return out


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def variants(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Files made from a whole one, one value in each forged, with what was forged."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    document = json.loads(members.pop("object.json"))
    places = _places(document["object"])
    for name, content in _some_of_each(members, places).items():
        array = np.load(io.BytesIO(content), allow_pickle=False)
        for kind, forged in forgeries(array).items():
            changed = {**members, name: _npy(forged)}
            yield f"{places.get(name, name)} {array.dtype}{array.shape}: {kind}", _file(document, changed)
    for place, value in _numbers(document["object"]):
        for other in NUMBERS:
            if other != value:
                twin = copy.deepcopy(document)
                *way, last = place
                node = twin["object"]
                for step in way:
                    node = node[step]
                node[last] = other
                yield f"{'.'.join(map(str, place))} {value}: {other}", _file(twin, members)


def _some_of_each(members: dict[str, bytes], places: dict[str, str], most: int = 2) -> dict[str, bytes]:
    """Of arrays whose places differ by numbers alone, such as those of a hundred trees, the first few."""
    seen: dict[str, int] = {}
    some = {}
    for name, content in members.items():
        kind = re.sub(r"\d+", "", places.get(name, name))
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= most:
            some[name] = content
    return some


def _places(tree: Any) -> dict[str, str]:
    """Where in the document each array stands."""
    found: dict[str, str] = {}

    def visit(node: Any, place: str) -> None:
        if isinstance(node, str) and node.startswith("array-"):
            found[node] = place
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            skip = key in ("estimator", "attributes", "noun", "fields", "array", "class")
            visit(value, place if skip else f"{place}.{key}".lstrip("."))

    visit(tree, "")
    return found


def _numbers(tree: Any, most: int = 60) -> list[tuple[tuple, int]]:
    """Learned whole numbers in the document, and the ways to them; of a long list the first.

    A parameter is what a user asks for: who asks for a million moments gets them.
    """
    found: list[tuple[tuple, int]] = []

    def visit(node: Any, place: tuple) -> None:
        if type(node) is int and _learned(place):
            found.append((place, node))
        items = (
            list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
        )
        for key, value in items if isinstance(node, dict) else items[:3]:
            visit(value, (*place, key))

    visit(tree, ())
    return found[:most]


def _learned(place: tuple) -> bool:
    """Whether a way into a document leads to what was learned, not to a parameter."""
    names = [name for step, name in itertools.pairwise(place) if step == "attributes"]
    return all(name.endswith("_") or name.startswith("_") for name in names)


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def _file(document: dict, members: dict[str, bytes]) -> bytes:
    """A model file with checksums that fit."""
    from sumwise.io.saved import archive

    document = {key: value for key, value in document.items() if key != "sha256"}
    document["members"] = {}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
            info = new.getinfo(name)
            document["members"][name] = {"size": info.file_size, "crc32": info.CRC}
        document["sha256"] = archive._digest(document)
        new.writestr("object.json", json.dumps(document))
    return out.getvalue()


def run(files: list[bytes], use: Callable[[Path], object]) -> list[str]:
    """What came of the use of each file: "fine", "refused", "raised ...", or how it ended its process."""
    said: list[str] = []
    while len(said) < len(files):
        said += _child(files[len(said) :], use)
    return said


def _child(files: list[bytes], use: Callable[[Path], object]) -> list[str]:
    """Answers of a forked process, up to and with the file that ended it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            _answer(files, use, write)
        finally:
            os._exit(0)
    os.close(write)
    said, text = [], ""
    while True:
        if not select.select([read], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            said.append(f"took more than {SECONDS} s")
            break
        part = os.read(read, 65536).decode()
        *lines, text = (text + part).split("\n")
        said += lines
        if not part:
            break
    os.close(read)
    _, status = os.waitpid(child, 0)
    if len(said) < len(files) and said[-1:] != [f"took more than {SECONDS} s"]:
        said.append(f"ended the process with code {os.waitstatus_to_exitcode(status)}")
    return said


def _answer(files: list[bytes], use: Callable[[Path], object], pipe: int) -> None:
    import faulthandler
    import resource
    import warnings

    from threadpoolctl import threadpool_limits

    from sumwise.errors import SumwiseError

    faulthandler.disable()
    threadpool_limits(1)  # a fork has none of the threads that OpenMP started, and would wait for them
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY,) * 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sumwise"
        for data in files:
            path.write_bytes(data)
            try:
                use(path)
                line = "fine"
            except SumwiseError as error:
                line = "refused" if not isinstance(error.__cause__, MemoryError) else "took too much memory"
            except MemoryError:
                line = "took too much memory"
            except Exception as error:
                line = f"raised {type(error).__name__}: {' '.join(str(error).split())[:80]}"
            os.write(pipe, f"{line}\n".encode())


def examples(names: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes, Callable[[Path], object]]]:
    """Name, file and use of every estimator, ours and those of scikit-learn that a file may hold; or of some."""
    import sumwise
    from contract import CASES, OWN_CASES, estimators, fitted_once, outputs
    from saving.test_scikit import PUBLIC
    from saving.test_scikit import fitted as fitted_scikit
    from saving.test_scikit import outputs as outputs_of_scikit

    def saved(model: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            sumwise.save(model, Path(folder) / "model.sumwise")
            return (Path(folder) / "model.sumwise").read_bytes()

    cases = {name: make() for name, make in (CASES | OWN_CASES).items()}
    for kind in estimators():
        family = kind.__module__.split(".")[1]
        if not names or {kind.__name__, family} & set(names):
            case = cases[kind.__name__ if kind.__name__ in OWN_CASES else family]
            use = partial(_use, answers=outputs, given=case)
            yield f"{family}.{kind.__name__}", saved(fitted_once(kind, case)), use
    for name in PUBLIC:
        if not names or {name, "scikit"} & set(names):
            model, data = fitted_scikit(name)
            yield f"scikit.{name}", saved(model), partial(_use, answers=outputs_of_scikit, given=data)


def _use(path: Path, answers: Callable[[Any, Any], object], given: Any) -> object:
    """Load a file and ask the model all that a fitted one is asked."""
    import sumwise

    return answers(sumwise.load(path), given)


def main(names: list[str]) -> None:
    """Forge the models of the named estimators or families, or of all, and print what ended a process."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    for name, data, use in examples(tuple(names)):
        made = list(variants(data))
        said = run([file for _, file in made], use)
        tally: dict[str, int] = {}
        for (what, _), words in zip(made, said, strict=True):
            key = words.split(":")[0]
            tally[key] = tally.get(key, 0) + 1
            if not words.startswith(OF_OTHERS if name.startswith("scikit.") else HARMLESS):
                print(f"  FOUND {name}: {what}: {words}", flush=True)
        print(f"{name:40} {len(data):8} bytes  {len(made):5} files  {tally}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
