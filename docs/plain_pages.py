"""Pages as plain HTML, for a wheel that is built without Sphinx: ``python docs/plain_pages.py FOLDER``.

`make docs` renders the pages in full: figures, output of code, search, the reference. Without it, ``hatch_build.py``
renders them by this module, so that `sumwise docs` opens in a browser after any ``pip install``. Formulas stay TeX, and
figures of the gallery are named only.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

DOCS = Path(__file__).parent
PARTS = ("tutorials", "how-to", "explanation", "book")
NAVIGATION = {
    "index": "Start",
    "tutorials/index": "Tutorials",
    "how-to/index": "How-to guides",
    "explanation/index": "Explanation",
    "book/index": "Reproduction and comparison",
    "choose": "Choose a method",
    "glossary": "Glossary",
}
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.6 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1rem 1.2rem 4rem}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;padding:.6rem 0 1rem;border-bottom:1px solid #8886;font-size:.92rem}
pre{overflow-x:auto;padding:.8rem 1rem;background:#8881;border-radius:6px;font-size:.86rem;line-height:1.45}
code{font-size:.9em}table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.92rem}
th,td{border-bottom:1px solid #8885;padding:.35rem .8rem .35rem 0;text-align:left;vertical-align:top}
img{max-width:100%}a{color:#1f6feb}h1,h2,h3{line-height:1.25}dt{font-weight:600;margin-top:.8rem}
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title} - sumwise</title><style>{style}</style></head>
<body><nav aria-label="Parts">{navigation}</nav><main>
{body}
</main></body></html>
"""
DIRECTIVE = re.compile(r"^```\{([\w-]+)\}[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def title_of(text: str) -> str:
    """The first heading of a page."""
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading[1] if heading else "sumwise"


def directive(found: re.Match[str], folder: Path) -> str:
    """What a directive of MyST is in plain Markdown."""
    name, argument, body = found.groups()
    if name == "toctree":
        if ":hidden:" in body:
            return ""
        pages = [line.strip() for line in body.splitlines() if line.strip() and not line.startswith(":")]
        files = {page: folder / f"{page}.md" for page in pages}
        return "\n".join(f"- [{title_of(f.read_text('utf-8'))}]({p}.md)" for p, f in files.items() if f.exists())
    if name == "glossary":
        return re.sub(r"^(\S.*)\n  ", r"**\1**: ", body, flags=re.MULTILINE)
    if name == "gallery-figure":
        return f"*Figure: `sumwise demo` draws it (`{argument}`).*"
    if name == "gallery":
        return "`sumwise demo` draws all figures and shows the code of each."
    return ""  # entries of an index, blocks for Sphinx alone


def plain(text: str, folder: Path) -> str:
    """A page of MyST as plain Markdown with links to HTML."""
    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)
    text = DIRECTIVE.sub(lambda found: directive(found, folder), text)
    text = re.sub(r"\{download\}`([^`<]+) <([^`>]+)>`", r"[\1](\2)", text)
    text = re.sub(r"\{term\}`([^`<]+?)(?: <[^`>]+>)?`", r"\1", text)
    text = re.sub(r"\{(?:py:obj|func)\}`([^`<]+?)(?: <[^`>]+>)?`", r"`\1`", text)
    parts = re.split(r"(^```.*?^```[ \t]*$|`[^`\n]+`(?!`))", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("`") and i % 2 else prose(part) for i, part in enumerate(parts))


def prose(text: str) -> str:
    """Text outside code: formulas, links and definitions."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda f: f"\n```text\n{f[1].strip()}\n```\n", text, flags=re.DOTALL)
    text = re.sub(r"\$([^$\n]+?)\$", r"`\1`", text)
    text = re.sub(r"^([^\n]+)\n: (?=\S)", r"**\1**: ", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\((?:\.\./)*(?:references|reference/\w+)\.md[^)]*\)", r"\1", text)
    return re.sub(r"\]\((?!https?:)([^)#]+)\.md(#[^)]*)?\)", r"](\1.html\2)", text)


def anchored(body: str) -> str:
    """HTML whose headings can be linked to."""

    def heading(found: re.Match[str]) -> str:
        words = re.sub(r"[^\w\s-]", "", html.unescape(re.sub(r"<[^>]+>", "", found[2])).lower())
        return f'<h{found[1]} id="{"-".join(words.split())}">{found[2]}</h{found[1]}>'

    return re.sub(r"<h([1-4])>(.*?)</h\1>", heading, body)


def render(out: Path, docs: Path = DOCS) -> Path:
    """Write every page as HTML into a folder, and return it."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    files = [docs / f"{name}.md" for name in ("index", "choose", "glossary", "gallery")]
    for file in [*files, *(file for part in PARTS for file in sorted((docs / part).glob("*.md")))]:
        name = file.relative_to(docs)
        up = "../" * (len(name.parts) - 1)
        links = " ".join(f'<a href="{up}{page}.html">{words}</a>' for page, words in NAVIGATION.items())
        text = file.read_text("utf-8")
        target = out / name.with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        body = anchored(reader.render(plain(text, file.parent)))
        title = html.escape(title_of(text).replace("`", ""))
        target.write_text(PAGE.format(title=title, style=STYLE, navigation=links, body=body), "utf-8")
    for folder in ("_static", "tutorials/files", "book/figures"):
        shutil.copytree(docs / folder, out / folder, dirs_exist_ok=True)
    return out


if __name__ == "__main__":
    sys.stdout.write(f"{render(Path(sys.argv[1]))}\n")
