"""Kernels compile wherever sumwise is installed, and a wait is announced once."""

import ast
import importlib
import logging
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import config

from architecture import SOURCE
from sumwise.inference.kernels import compiled
from sumwise.inference.kernels.compiled import njit


def test_kernels_ask_for_numba_in_one_place():
    """`numba.njit(cache=True)` fails where nothing can be written; ours doesn't."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text if "numba" in text or "nb." in text else "")):
            named = (
                isinstance(node, ast.ImportFrom) and node.module == "numba" and "njit" in {a.name for a in node.names}
            )
            called = isinstance(node, ast.Attribute) and node.attr in ("njit", "jit", "vectorize", "guvectorize")
            if named or (called and getattr(getattr(node, "value", None), "id", None) in ("numba", "nb")):
                found.append(path.relative_to(SOURCE).as_posix())
    assert set(found) == {"inference/kernels/compiled.py"}


def test_without_a_folder_kernels_compile_in_every_session(monkeypatch):
    monkeypatch.setattr(compiled._notice, "can_keep", False)
    asked = []
    monkeypatch.setattr(numba, "njit", lambda **options: asked.append(options) or (lambda f: f))
    njit(cache=True, nogil=True)(abs)
    assert asked == [{"cache": False, "nogil": True, "no_cfunc_wrapper": True}]


def test_notice_comes_once_and_only_after_a_moment(monkeypatch, caplog):
    clock = iter([0.0, 0.1, 1.0, 1.2, 2.0, 2.2, 3.0])
    monkeypatch.setattr(compiled.time, "perf_counter", lambda: next(clock))
    notice: Any = compiled._Notice("compiling", True)
    with caplog.at_level(logging.WARNING, "sumwise"):
        notice.on_start(None)
        notice.on_end(None)  # a tenth of a second in all
        notice.on_start(None)
        notice.on_end(None)  # three tenths
        assert caplog.messages == []
        notice.on_start(None)
        notice.on_start(None)  # half a second
        assert caplog.messages == ["compiling"]
        notice.on_start(None)
    assert caplog.messages == ["compiling"]


def read_only(script: str, *keep: Path) -> subprocess.CompletedProcess:
    """Run Python in a namespace of its own where nothing can be written but what is in these folders."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    kept = " ".join(f"'{k}'" for k in keep)
    prepare = f"""
        set -e
        for k in {kept}; do mount -t tmpfs tmpfs "$k"; done
        for m in $(awk '{{print $5}}' /proc/self/mountinfo | sort -r); do
          skip=; for k in {kept} /proc /sys; do case "$m" in "$k"*) skip=yes;; esac; done
          test -n "$skip" || mount -o remount,bind,ro "$m" 2>/dev/null || true
        done
        for d in / /tmp /dev/shm "$HOME" "$PACKAGE"; do
          if touch "$d/sumwise-writes" 2>/dev/null; then echo "$d can be written" >&2; exit 77; fi
        done
        exec "$PYTHON" -W ignore::UserWarning -c "$SCRIPT"
    """
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")}
    environment |= {"PYTHON": sys.executable, "SCRIPT": textwrap.dedent(script), "PACKAGE": str(SOURCE)}
    environment |= {"HOME": os.path.expanduser("~"), "PYTHONPATH": str(SOURCE.parent)}
    command = ["unshare", "-rm", "sh", "-c", textwrap.dedent(prepare)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=keep[0] if keep else "/")
    if done.returncode == 77 or "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this machine makes no read-only namespace: {done.stderr.strip()[:200]}")
    return done


FIT = """
    import numpy as np
    from sumwise import Bags
    from sumwise.proportions import CardinalityClassifier
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(i % 3, 1, (20, 2)) for i in range(12)])
    fitted = CardinalityClassifier().fit(bags, [5 + i % 3 for i in range(12)])
    print("fitted", fitted.predict_proba(bags.values).shape)
"""


def test_fit_where_nothing_can_be_written():
    done = read_only(FIT)
    assert done.returncode == 0, done.stderr
    assert "fitted (240, 2)" in done.stdout
    assert done.stderr.count("\n") <= 1, done.stderr
    assert "compiles its kernels" in done.stderr
    assert "in every session" in done.stderr


def test_fit_where_only_a_temporary_folder_can_be_written(tmp_path):
    before = f"import os\nos.environ['TMPDIR'] = {str(tmp_path)!r}\n"
    after = f"print('kept', any(f.endswith('.nbi') for _, _, fs in os.walk({str(tmp_path)!r}) for f in fs))\n"
    done = read_only(before + textwrap.dedent(FIT) + after, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fitted (240, 2)" in done.stdout
    assert "kept True" in done.stdout
    assert done.stderr.count("\n") <= 1, done.stderr


def test_first_fits_compile_few_kernels(tmp_path):
    """Seconds depend on the machine; what they go into doesn't: how many functions a first fit compiles."""
    counting = """
    import numpy as np
    from numba.core import event
    from sumwise import Bags, Margins
    from sumwise.ecological import EcologicalEM
    from sumwise.proportions import CardinalityClassifier

    class Count(event.Listener):
        names = []
        def on_start(self, e):
            self.names.append(e.data["dispatcher"].py_func.__module__)
        def on_end(self, e):
            pass

    event.register("numba:compile", Count())
    rng = np.random.default_rng(0)
    rows = rng.integers(20, 200, (40, 2))
    yes = rng.binomial(rows[:, 0], 0.7) + rng.binomial(rows[:, 1], 0.2)
    EcologicalEM().fit(Margins(rows, np.stack([yes, rows.sum(1) - yes], 1))).interval(0.95)
    print(len(Count.names), sum("unicode" in n for n in Count.names))
    Count.names.clear()
    bags = Bags.from_arrays([rng.normal(size=(20, 2)) for _ in range(40)])
    CardinalityClassifier().fit(bags, np.array([int((b[:, 0] > 0).sum()) for b in bags.values.reshape(40, 20, 2)]))
    print(len(Count.names), sum("unicode" in n for n in Count.names))
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SOURCE.parent)}
    environment["NUMBA_OPT"] = "0"  # counted, and hardly run
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(counting)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (ecological, its_texts), (proportions, their_texts) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert (its_texts, their_texts) == (0, 0)  # writing down shapes for an error took a third of the time
    assert ecological == 0  # small problems rake in NumPy
    assert proportions <= 30  # 91 before
    assert done.stderr.count("\n") == 1  # the notice, once


RENAMED = """
from typing import NamedTuple
from sumwise.inference.kernels.compiled import njit

class {record}(NamedTuple):
    x: float

@njit(cache=True)
def twice(given):
    return {factor} * given.x
"""


def test_what_an_earlier_version_kept_with_a_renamed_record_is_compiled_anew(tmp_path, monkeypatch):
    """Numba alone fails: ``Can't get attribute 'Before' on <module ...>``."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    config.reload_config()
    monkeypatch.syspath_prepend(tmp_path)
    try:
        for record, factor in (("Before", 2), ("Afterwards", 3)):
            (tmp_path / "renamed_record.py").write_text(RENAMED.format(record=record, factor=factor))
            sys.modules.pop("renamed_record", None)
            importlib.invalidate_caches()
            module = importlib.import_module("renamed_record")
            assert module.twice(getattr(module, record)(1.0)) == factor
        assert list((tmp_path / "kept").rglob("*.nbi"))
    finally:
        sys.modules.pop("renamed_record", None)
        monkeypatch.undo()
        config.reload_config()
