"""Pages with their output: the Python blocks of tutorials, guides and chapters are run when pages are built.

What a block prints, the value of its last line and the figures it draws are shown below it. A page's output is kept
under ``docs/_build/executed`` until its code or the library changes. A page whose optional packages are absent is built
without output. Only HTML is built with output; the tests read pages without it, and run every block themselves.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import page_blocks
from docutils import nodes
from sphinx.errors import ExtensionError

FOLDERS = ("tutorials", "how-to", "explanation")
HERE = Path(__file__).parent
RUNS_AT_ONCE = 2
WIDTH = page_blocks.WIDTH


def digest(*parts: str) -> str:
    """A short checksum of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def library_digest(root: Path) -> str:
    """A checksum of the library's source."""
    return digest(*(path.read_text("utf-8") for path in sorted((root / "src").rglob("*.py"))))


def code_digest(text: str) -> str:
    """A checksum of a page's code."""
    return digest(*(block.code for block in page_blocks.runnable_blocks(text)))


def read_outputs(folder: Path) -> list[dict] | None:
    """Output that is kept in a folder: per block its code, the text and the figures."""
    path = folder / "outputs.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def run(page: Path, folder: Path) -> list[dict]:
    """Run a page in a process of its own and return its output; a page that fails ends the build."""
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = [sys.executable, str(HERE / "page_blocks.py"), str(page), str(partial)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        shutil.rmtree(partial)
        raise ExtensionError(f"{page.name} can't be run: {done.stderr.strip().splitlines()[-1]}")
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
    return read_outputs(folder) or []


def pages_to_run(source: Path) -> list[Path]:
    """Pages whose output isn't already written on them."""
    pages = [page for folder in FOLDERS for page in sorted((source / folder).glob("*.md"))]
    return [page for page in pages if page_blocks.shows_more_than_written(page.read_text("utf-8"))]


def outputs_of(page: Path, source: Path, library: str) -> dict | None:
    """Where a page's output is and what it is, run now if need be; None if it can't be had here."""
    text = page.read_text("utf-8")
    if page_blocks.missing_needs(text):
        return None
    folder = source / "_build" / "executed" / page.stem / digest(code_digest(text), library)
    shown = read_outputs(folder) or run(page, folder)
    return {"folder": folder, "blocks": shown, "languages": {b.info for b in page_blocks.runnable_blocks(text)}}


def run_pages(app):
    """Run what is out of date, two pages at a time."""
    app.env.executed = found = {}
    if app.builder.format != "html":
        return
    source = Path(app.srcdir)
    library = library_digest(source.parent)
    pages = pages_to_run(source)
    with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        for page, outputs in zip(pages, pool.map(lambda page: outputs_of(page, source, library), pages), strict=True):
            if outputs is not None:
                found[page.relative_to(source).with_suffix("").as_posix()] = outputs


def show_outputs(app, doctree):
    """Add the output below each block of a page."""
    outputs = app.env.executed.get(app.env.docname)
    if outputs is None:
        return
    target = Path(app.outdir) / "_static" / "executed"
    target.mkdir(parents=True, exist_ok=True)
    up = "../" * app.env.docname.count("/")
    blocks = [node for node in doctree.findall(nodes.literal_block) if node.get("language") in outputs["languages"]]
    for node, shown in zip(blocks, outputs["blocks"], strict=True):
        parent, place = node.parent, node.parent.index(node) + 1
        added = [output_block(shown["text"])] if shown["text"].strip() else []
        for figure in shown["figures"]:
            shutil.copyfile(outputs["folder"] / figure["file"], target / figure["file"])
            image = f'<img src="{up}_static/executed/{figure["file"]}" alt="{html.escape(figure["alt"], quote=True)}">'
            added.append(nodes.raw("", f'<p class="sumwise-output-figure">{image}</p>', format="html"))
        parent[place:place] = added


def output_block(text: str) -> nodes.literal_block:
    """Printed text as a block of its own."""
    shown = "\n".join(wrapped(line) for line in text.rstrip("\n").splitlines())
    return nodes.literal_block(shown, shown, language="none", classes=["sumwise-output"])


def wrapped(line: str) -> str:
    """A line of prose no wider than the page; columns of a table, with two spaces between them, stay as they are."""
    return line if len(line) <= WIDTH or "  " in line.strip() else textwrap.fill(line, WIDTH, break_long_words=False)


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", run_pages)
    app.connect("env-get-outdated", lambda app, env, *changes: list(env.executed))
    app.connect("doctree-read", show_outputs)
    return {"parallel_read_safe": True}
