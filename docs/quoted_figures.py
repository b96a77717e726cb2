"""Figures that pages quote: docs/figures.json lists them per page, in order, with the place in benchmarks/results.

    python docs/quoted_figures.py      # writes the present values into all pages

An entry is ``[text before, figure, "file.json path format"]``. The text before contains no digit, so it still matches
after an earlier figure of the line was renewed. A format ``.0%`` writes the number; the page writes the sign.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SIDECAR = ROOT / "docs" / "figures.json"


@cache
def results(file: str) -> Any:
    """A file of results."""
    return json.loads((RESULTS / file).read_text("utf-8"))


def present(source: str) -> str:
    """The figure that a source stands for, as a page shows it."""
    file, _, rest = source.partition(" ")
    path, _, form = rest.rpartition(" ")
    value = results(file)
    for key in re.split(r"(?<! )/(?! )", path):  # " / " is part of a name
        value = value[int(key)] if isinstance(value, list) else value[key]
    return format(value, form).rstrip("%")


def renewed(text: str, entries: list[list[str]]) -> tuple[str, list[list[str]], list[str]]:
    """A page with present figures, its entries, and what is out of date or missing."""
    at, problems, kept = 0, [], []
    for before, shown, source in entries:
        place = text.find(before + shown, at)
        if place < 0:
            problems.append(f"not on the page: {before + shown!r} ({source})")
            continue
        now = present(source)
        if now != shown:
            problems.append(f"{shown} != {now} ({source})")
        at = place + len(before) + len(now)
        text = text[:place] + before + now + text[place + len(before) + len(shown) :]
        kept.append([before, now, source])
    return text, kept, problems


def sidecar() -> dict[str, list[list[str]]]:
    """Entries by page."""
    return json.loads(SIDECAR.read_text("utf-8"))


def main() -> None:
    """Renew pages and sidecar; an entry that is no longer on its page is dropped."""
    pages = {}
    for name, entries in sidecar().items():
        path = ROOT / name
        text, pages[name], problems = renewed(path.read_text("utf-8"), entries)
        path.write_text(text, "utf-8")
        sys.stdout.write("".join(f"{name}: {problem}\n" for problem in problems))
    listed = (
        f" {json.dumps(name)}: [\n"
        + ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
        + "\n ]"
        for name, entries in pages.items()
        if entries
    )
    SIDECAR.write_text("{\n" + ",\n".join(listed) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
