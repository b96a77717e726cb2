"""What the wheel carries of the built documentation: ``python docs/bundle.py`` after ``make docs``.

Pages, figures, search and the part of MathJax that they load go to ``docs/_build/wheel``, which ``hatch_build.py``
packs; doctrees, copies of sources with the links to them, and the other builds of MathJax (20 of 24 MB) stay behind.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

BUILT = Path(__file__).parent / "_build" / "html"
BUNDLE = Path(__file__).parent / "_build" / "wheel"
LEFT = {".doctrees", "_sources", "_modules", ".buildinfo", "objects.inv"}
SOURCE_LINK = re.compile(r'<a class="reference internal" href="[^"]*_modules/[^"]*">.*?</a>', re.DOTALL)
MATHJAX = {"tex-chtml.js", "output"}  # the script that pages load, and its fonts


def unwanted(folder: str, names: list[str]) -> set[str]:
    """What `shutil.copytree` leaves out of a folder."""
    here = Path(folder)
    if here.name == "mathjax":
        return set(names) - MATHJAX
    if here.name == "output" and here.parent.name == "mathjax":
        return set(names) - {"chtml"}
    return LEFT & set(names)


def bundle(built: Path = BUILT, out: Path = BUNDLE) -> Path:
    """Copy what a reader needs, and return the folder."""
    if not (built / "index.html").exists():
        sys.exit(f"There is no {built / 'index.html'}: make docs first.")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(built, out, ignore=unwanted)
    for page in out.rglob("*.html"):
        page.write_text(SOURCE_LINK.sub("", page.read_text("utf-8")), "utf-8")
    return out


if __name__ == "__main__":
    made = bundle()
    size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
    sys.stdout.write(f"{made}: {size / 1e6:.1f} MB\n")
