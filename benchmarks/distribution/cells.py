"""Cells: each measurement is a line of a file, made once; a run that was stopped goes on with the cells that lack."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Cell", "Store", "run", "timed"]


class Cell(NamedTuple):
    """One measurement: where it stands in which table, and how it is made."""

    section: str
    key: dict[str, Any]
    work: Callable[[], dict[str, Any]]
    network: bool = False
    half: dict[str, Any] | None = None  # the cell with half the bags, which tells how long this one takes


class Store:
    """Measurements by section and key, in a file of JSON lines to which several processes may add."""

    def __init__(self, path: Path):
        self.path = path
        self.found: dict[str, dict[str, dict]] = {}
        if path.exists():
            self.merge(path, keep=False)

    def merge(self, path: Path, keep: bool = True) -> None:
        """Read the lines of a file, such as one that was made on another machine."""
        for line in path.read_text().splitlines():
            told = json.loads(line)
            if keep and self.get(told["section"], told["key"]) is None:
                self._write(line)
            self.found.setdefault(told["section"], {})[_name(told["key"])] = told

    def get(self, section: str, key: dict) -> dict | None:
        """Return what was measured, or None."""
        told = self.found.get(section, {}).get(_name(key))
        return None if told is None else told["value"]

    def put(self, section: str, key: dict, value: dict) -> None:
        """Keep a measurement."""
        told = {"section": section, "key": key, "value": value}
        self.found.setdefault(section, {})[_name(key)] = told
        self._write(json.dumps(told))

    def rows(self, section: str) -> Iterator[dict]:
        """Yield keys and values together, one dict per cell."""
        for told in self.found.get(section, {}).values():
            yield {**told["key"], **told["value"]}

    def _write(self, line: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(line + "\n")


def run(cells: Iterable[Cell], store: Store, *, fixed: bool, networks: bool, limit: float) -> None:
    """Make the cells that lack, of the kinds asked for; skip, with a line, what would take over `limit` seconds."""
    for cell in cells:
        if store.get(cell.section, cell.key) is not None or not (networks if cell.network else fixed):
            continue
        half = None if cell.half is None else store.get(cell.section, cell.half)
        told = ", ".join(f"{k} {v}" for k, v in cell.key.items())
        if half is not None and 2 * half["seconds"] > limit:
            print(f"{cell.section}: {told}: left out, half of it took {half['seconds']:.0f} s", flush=True)
            continue
        value = cell.work()
        store.put(cell.section, cell.key, value)
        shown = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items())
        print(f"{cell.section}: {told}: {shown}", flush=True)


def timed(work: Callable[[], Any], device: str = "cpu") -> tuple[Any, float]:
    """Return what `work` gives, and its seconds: of the processor, or of the clock where a GPU works."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    begin = clock()
    result = work()
    return result, clock() - begin


def _name(key: dict) -> str:
    return json.dumps(key, sort_keys=True)
