"""The Python blocks of a Markdown page, and running them: shared by the build, which shows output, and by the tests.

On a page with the comment ``<!-- run: console -->`` the commands of console blocks are run too, with the files of
``docs/tutorials/files`` in the working folder.

``python docs/_ext/page_blocks.py PAGE FOLDER`` runs a page's blocks in one namespace, in a working folder of their own,
and writes what each printed and drew to FOLDER: ``outputs.json`` and PNG files.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import warnings
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent>[ ]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`\n]*)$")
FILES = Path(__file__).parents[1] / "tutorials" / "files"  # that readers download
WIDTH = 118  # characters of code or output that fit at 1280 pixels
PYTHON = re.compile(r"\b(python|python3|py|pycon|code-cell)\b")


@dataclass(frozen=True)
class Block:
    """The Python in one fence."""

    line: int  # of the first line of code in its file, from 1
    info: str  # what stands behind the ticks
    code: str

    @property
    def is_session(self) -> bool:
        """Whether it is written as an interactive session, whose output stands on the page."""
        return self.code.lstrip().startswith(">>>")


class PageFailed(AssertionError):
    """A block of a page doesn't do what the page says."""


def fences(text: str) -> list[Block]:
    """All fenced blocks of a Markdown text, of any language, those inside lists too."""
    blocks, opened, body = [], None, []
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened, body = (match, number + 1), []
            continue
        fence, first = opened
        if match and match["ticks"].startswith(fence["ticks"]) and not match["info"].strip():
            blocks.append(Block(first, fence["info"].strip(), textwrap.dedent("\n".join(body)) + "\n"))
            opened = None
        else:
            body.append(line)
    if opened is not None:
        raise PageFailed(f"the fence opened in line {opened[1] - 1} is never closed")
    return blocks


def python_blocks(text: str) -> list[Block]:
    """The blocks of a page that hold Python, in whatever way they are marked."""
    return [block for block in fences(text) if PYTHON.search(block.info)]


def runnable_blocks(text: str) -> list[Block]:
    """The blocks of a page that are run: Python, and commands where the page asks for it."""
    console = "<!-- run: console -->" in text
    return [block for block in fences(text) if PYTHON.search(block.info) or (console and block.info == "console")]


def run_commands(block: Block) -> str:
    """Run each line that begins with ``$`` and return what all printed; a command that fails is an error."""
    printed = []
    for line in block.code.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        words = [sys.executable, "-m", *words] if words[0] == "sumwise" else words
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise PageFailed(f"{line}: exit code {done.returncode}: {done.stderr}")
        printed.append(done.stdout)
    return "".join(printed)


def missing_needs(text: str) -> list[str]:
    """What a page says it needs beyond the core (``<!-- needs: data, torch -->``) and isn't here."""
    needs = re.findall(r"^<!-- needs: ([\w, ]+) -->$", text, re.MULTILINE)
    return [need for line in needs for need in re.split(r",\s*", line) if not is_present(need)]


def is_present(need: str) -> bool:
    """Whether the public data, Java or an importable package is here."""
    if need == "java":
        return shutil.which("java") is not None
    if need == "data":
        places = [os.environ.get("SUMWISE_DATA"), Path(__file__).parents[3] / "shared" / "data"]
        return any(place and Path(place).is_dir() for place in places)
    return importlib.util.find_spec(need) is not None


def shows_more_than_written(text: str) -> bool:
    """Whether running a page adds to it: output of a block that isn't a session, or a figure."""
    return any(not block.is_session or "plot" in block.code for block in runnable_blocks(text))


def run_block(block: Block, filename: str, namespace: dict) -> str:
    """Run a block and return what it printed; for code that ends in an expression also its value, as a notebook does.

    Of a session nothing is returned: its output stands on the page, and the tests compare it.
    """
    if block.info == "console":
        return run_commands(block)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if block.is_session:
            for example in doctest.DocTestParser().get_examples(block.code):
                with contextlib.suppress(*([Exception] if example.exc_msg else [])):
                    exec(compile(example.source, filename, "single"), namespace)
            return ""
        tree = ast.parse("\n" * (block.line - 1) + block.code, filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, filename, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), filename, "eval"), namespace)
            if value is not None and not is_drawing(value) and not block.code.rstrip().endswith(";"):
                sys.stdout.write(f"{value!r}\n")
    return printed.getvalue()


def is_drawing(value: object) -> bool:
    """Whether a value is part of a figure, which is shown and not printed."""
    if isinstance(value, (list, tuple)) and value:
        return is_drawing(value[0])
    return type(value).__module__.split(".")[0] in {"matplotlib", "mpl_toolkits"}


def save_figures(folder: Path, stem: str) -> list[dict]:
    """Save the open figures as PNG and close them: file and alternative text of each."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    plt = sys.modules["matplotlib.pyplot"]
    found = []
    for number in plt.get_fignums():
        figure, name = plt.figure(number), f"{stem}-{len(found)}.png"
        figure.savefig(folder / name, dpi=90, bbox_inches="tight")
        found.append({"file": name, "alt": describe(figure)})
    plt.close("all")
    return found


def describe(figure) -> str:
    """A figure in words: titles and axis labels."""
    parts = []
    for ax in figure.axes:
        axes = " against ".join(label for label in (ax.get_ylabel(), ax.get_xlabel()) if label)
        parts += [part for part in (ax.get_title(), axes) if part]
    return "Figure: " + "; ".join(dict.fromkeys(parts)) if parts else "Figure"


def run_page(page: Path, folder: Path) -> list[dict]:
    """Run all blocks of a page and keep what they printed and drew under a folder."""
    module = types.ModuleType("__main__")
    shown = []
    for number, block in enumerate(runnable_blocks(page.read_text("utf-8"))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                text = run_block(block, str(page), module.__dict__)
        except Exception as error:
            raise PageFailed(f"{page.name}:{block.line}: {type(error).__name__}: {error}") from error
        shown.append({"code": block.code, "text": text, "figures": save_figures(folder, f"{page.stem}-{number}")})
    return shown


def main(page: str, folder: str) -> None:
    """Run a page in an empty working folder; write ``outputs.json`` and figures."""
    import logging

    import pandas as pd

    os.environ["MPLBACKEND"] = "Agg"
    pd.set_option("display.width", WIDTH, "display.max_columns", 20)
    logging.getLogger("sumwise").setLevel(logging.ERROR)  # that kernels are compiled is no output of a page
    path, out = Path(page).resolve(), Path(folder).resolve()
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(FILES, work, dirs_exist_ok=True)
        os.chdir(work)
        shown = run_page(path, out)
        os.chdir(out)
    (out / "outputs.json").write_text(json.dumps(shown, indent=1), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
