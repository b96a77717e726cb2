"""A process that is killed at work: it stands still at a chosen moment, so that no clock decides how far it got."""

from __future__ import annotations

import subprocess
import sys

STAND_STILL = """
import sys
from sumwise.io import checkpoint as _module
_saved = []
def _save(self, state, save=_module.Checkpoint.save):
    save(self, state)
    _saved.append(state)
    if self.path is not None and len(_saved) == {saves}:
        print("standing still", flush=True)
        sys.stdin.read()
_module.Checkpoint.save = _save
"""
"""Code to run first: after so many saves of a checkpoint the process says so, and waits to be killed."""


def kill_after(saves: int, code: str, *arguments: object, **options) -> int:
    """Run code in a process of its own, and kill it when it has saved its checkpoint so many times; its exit code."""
    command = [sys.executable, "-c", STAND_STILL.format(saves=saves) + code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "standing still\n":
                process.kill()
                break
    return process.returncode
