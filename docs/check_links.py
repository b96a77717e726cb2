"""Links of Markdown files that lead nowhere: to a file, or to a heading of a page. Nothing outside is asked.

python docs/check_links.py    # exit 1 and a line per broken link
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^ *(```|~~~).*?^ *\1`*\s*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]*`")
OUTSIDE = ("http://", "https://", "mailto:")


def markdown_files() -> list[Path]:
    """The Markdown files of the repository, without what is generated or built."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(p for p in pages if not {"_build", "generated"} & set(p.relative_to(ROOT).parts))


def anchors(path: Path) -> set[str]:
    """The anchors of a page: of its headings, as GitHub and MyST make them, and of entries of the bibliography."""
    text = path.read_text("utf-8")
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    found = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.strip().lower())) for title in titles}
    if "{bibliography}" in text:
        entries = (path.parent / "references.bib").read_text("utf-8")
        found |= {f"ref-{key}" for key in re.findall(r"^@\w+\{([\w-]+),", entries, re.MULTILINE)}
    return found | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def broken_links(path: Path) -> list[str]:
    """The links of one file that lead nowhere, each as ``file:line: target``."""
    text, found = path.read_text("utf-8"), []
    for code in (FENCED, INLINE):  # blanked, so that lines keep their numbers
        text = code.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in LINK.finditer(text):
        target = match["target"].strip("<>")
        if target.startswith(OUTSIDE) or "generated" in Path(target).parts:  # Sphinx makes these, and checks them
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        missing = not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file))
        if missing:
            found.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {target}")
    return found


if __name__ == "__main__":
    broken = [line for path in markdown_files() for line in broken_links(path)]
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    sys.exit(bool(broken))
