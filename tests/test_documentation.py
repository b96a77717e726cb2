"""The documentation runs: every Python block of every page, and an example for every public name."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
import traceback
import types
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from page_blocks import FILES, Block, PageFailed, fences, missing_needs, run_commands, runnable_blocks  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.exists() and not {"_build", "generated"} & set(page.parts)]

# Blocks that may be shown without being run: (page, first line of the block), and why.
NOT_RUN: dict[tuple[str, str], str] = {}

DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


# --- blocks of pages ----------------------------------------------------------------------------------------


def run_page(path: Path, name: str | None = None) -> None:
    """Run the blocks of a page in order in one namespace; raise PageFailed with file and line otherwise."""
    name = name or path.name
    module = types.ModuleType("__main__")
    for block in runnable_blocks(path.read_text("utf-8")):
        where = f"{name}:{block.line}"
        if block.info == "console":
            run_commands(block)
            continue
        if (name, block.code.splitlines()[0]) in NOT_RUN:
            continue
        if block.info != "python":
            raise PageFailed(f"{where}: Python marked {block.info!r}. Hint: mark it 'python'; it will be run.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                (run_session if block.is_session else run_code)(block, where, str(path), module.__dict__)
        except PageFailed:
            raise
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(path)]
            line = lines[-1] if lines else getattr(error, "lineno", None) or block.line
            raise PageFailed(f"{name}:{line}: {type(error).__name__}: {error}") from error


def run_code(block: Block, where: str, filename: str, namespace: dict) -> None:
    """Execute a block; line numbers in tracebacks are those of the page."""
    exec(compile("\n" * (block.line - 1) + block.code, filename, "exec"), namespace)


def run_session(block: Block, where: str, filename: str, namespace: dict) -> None:
    """Run a block written as an interactive session, and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.code, namespace, where, filename, block.line - 1)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS, verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    if report:
        raise PageFailed(f"{where}: " + "".join(report))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page.name == "README.md" else pytest.mark.check) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_page_runs(page, tmp_path, monkeypatch):
    missing = missing_needs(page.read_text("utf-8"))
    if missing:
        pytest.skip(f"this page needs {', '.join(missing)}")
    if "<!-- run: console -->" in page.read_text("utf-8"):
        shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    try:
        run_page(page, str(page.relative_to(ROOT)))
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def loose_output(text: str) -> list[int]:
    """Where session blocks with a blank line inside begin: text after it belongs to no example and isn't compared."""
    sessions = [block for block in fences(text) if block.is_session]
    return [block.line for block in sessions if re.search(r"\n[ ]*\n[ ]*\S", block.code)]


def test_no_page_has_output_without_its_example():
    found = {page.name: lines for page in PAGES if (lines := loose_output(page.read_text("utf-8")))}
    assert found == {}


def test_output_without_its_example_is_found():
    assert loose_output("```python\n>>> a = 1\n\n[True]\n```\n") == [2]
    assert loose_output("```python\n>>> a = 1\n>>> a\n1\n```\n") == []


def test_readme_needs_nothing_but_the_core():
    assert "needs:" not in (ROOT / "README.md").read_text("utf-8")


def test_blocks_not_run_exist():
    texts = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in PAGES}
    gone = [key for key in NOT_RUN if key[1] not in texts.get(key[0], "")]
    assert not gone


def write_page(folder, text):
    path = folder / "page.md"
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def test_run_page_names_file_and_line_of_an_error(tmp_path):
    page = write_page(tmp_path, "# A\n\n```python\nx = 1\n```\n\n```python\ny = x\nassert y == 2\n```\n")
    with pytest.raises(PageFailed, match=r"^page\.md:9: AssertionError"):
        run_page(page)


def test_run_page_names_the_line_of_a_syntax_error(tmp_path):
    with pytest.raises(PageFailed, match=r"^page\.md:3: SyntaxError"):
        run_page(write_page(tmp_path, "```python\nx = 1\ny = = 2\n```\n"))


def test_run_page_takes_a_warning_as_an_error(tmp_path):
    page = write_page(tmp_path, "```python\nimport warnings\nwarnings.warn('old')\n```\n")
    with pytest.raises(PageFailed, match=r"^page\.md:3: UserWarning: old"):
        run_page(page)


def test_run_page_keeps_one_namespace(tmp_path):
    first, second = "```python\nx = 1\n```\n", "- a list\n  ```python\n  >>> x + 1\n  2\n  ```\n"
    run_page(write_page(tmp_path, first + second + "```python\nassert x == 1\n```\n"))


def test_run_page_compares_a_session_with_its_output(tmp_path):
    with pytest.raises(PageFailed, match=r"page\.md:2: (?s:.*)Expected:(?s:.*)3(?s:.*)Got:(?s:.*)2"):
        run_page(write_page(tmp_path, "```python\n>>> 1 + 1\n3\n```\n"))


@pytest.mark.parametrize("info", ["python no-run", "py", "{code-block} python", "{code-cell}", "pycon"])
def test_run_page_refuses_other_marks(tmp_path, info):
    with pytest.raises(PageFailed, match="marked"):
        run_page(write_page(tmp_path, f"```{info}\n1 / 0\n```\n"))


def test_run_page_leaves_other_languages_alone(tmp_path):
    text = "```console\n$ python -m sumwise\n```\n\n```{glossary}\npython\n  a snake\n```\n"
    run_page(write_page(tmp_path, text))


def test_fences_refuses_an_open_fence():
    with pytest.raises(PageFailed, match="line 2 is never closed"):
        fences("text\n```python\nx\n")


def test_missing_needs_names_what_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))
    text = "<!-- needs: no_such_package, data -->\n<!-- needs: numpy -->"
    assert missing_needs(text) == ["no_such_package"]


# --- the build ----------------------------------------------------------------------------------------------


def build(source: Path, out: Path, builder: str) -> subprocess.CompletedProcess:
    """Build pages as `make docs` does; a warning is an error. The builder "dummy" reads and links all, writes none."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", builder, str(source), str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.check
def test_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="the documentation is built where the extra docs is installed")
    done = build(ROOT / "docs", tmp_path, "dummy")
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page.stem for page in (tmp_path / ".doctrees" / "reference" / "generated").rglob("*.doctree")}
    used = importlib.import_module("reference_pages").modules()
    assert {"sumwise.ecological", "sumwise.draws"} < set(used) <= pages


@pytest.mark.parametrize("builder", ["dummy", "html"])
def test_build_fails_on_a_broken_link(tmp_path, builder):
    pytest.importorskip("sphinx", reason="the documentation is built where the extra docs is installed")
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser']\n", "utf-8")
    (tmp_path / "index.md").write_text("# A\n\n[nowhere](nowhere.md)\n", "utf-8")
    done = build(tmp_path, tmp_path / "out", builder)
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr


def test_the_bundle_has_no_link_to_what_stays_behind(tmp_path):
    link = '<a class="reference internal" href="../_modules/sumwise/fit.html#Fit"><span>[source]</span></a>'
    for name, text in {
        "index.html": f"<p>Fit{link}</p>",
        "_modules/fit.html": "code",
        "_sources/index.md": "#",
    }.items():
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    made = runpy.run_path(str(ROOT / "docs" / "bundle.py"))["bundle"](tmp_path / "html", tmp_path / "wheel")
    assert [path.name for path in made.rglob("*")] == ["index.html"]
    assert (made / "index.html").read_text("utf-8") == "<p>Fit</p>"


# --- public names -------------------------------------------------------------------------------------------


def public_modules() -> list[types.ModuleType]:
    """``sumwise`` and the modules and packages directly under it."""
    package = importlib.import_module("sumwise")
    names = [found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_")]
    return [package, *(importlib.import_module(f"sumwise.{name}") for name in names)]


def undocumented(module: types.ModuleType) -> list[str]:
    """What is wrong with the docstrings of a module's public names, one line each."""
    found = []
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name, None)
        if thing is None:
            found.append(f"{module.__name__}.{name} is in __all__ and isn't there")
        elif inspect.isclass(thing) or inspect.isroutine(thing) or callable(thing):
            problem = docstring_problem(thing.__doc__)
            found += [f"{module.__name__}.{name} {problem}"] if problem else []
    return found


def docstring_problem(text: str | None) -> str | None:
    """What a docstring lacks: itself, an Examples section, or an example in it."""
    if not text or not text.strip():
        return "has no docstring"
    section = re.search(r"^\s*Examples\n\s*-{8}\s*\n(.*)", text, re.MULTILINE | re.DOTALL)
    if not section:
        return "has no section Examples"
    examples = doctest.DocTestParser().get_examples(section[1])
    if not examples:
        return "has no example with >>> under Examples"
    # The examples of sumwise.datasets need no mark: src/conftest.py skips them where the data aren't.
    skipped = all(example.options.get(doctest.SKIP) for example in examples)
    return "has only examples that are never run (+SKIP)" if skipped else None


def test_every_public_name_has_an_example():
    problems = [line for module in public_modules() for line in undocumented(module)]
    assert not problems, "\n" + "\n".join(problems)


def undescribed(function: types.FunctionType) -> list[str]:
    """The parameters of a function that its docstring doesn't list."""
    section = re.search(
        r"Parameters\n-{10}\n(.*?)(?:\n\n\w[\w ]*\n-{3,}\n|\Z)", inspect.getdoc(function) or "", re.DOTALL
    )
    heads = re.findall(r"^(\S[^:\n]*)", section[1], re.MULTILINE) if section else []
    listed = {name.strip().lstrip("*") for head in heads for name in head.split(",")}
    return [name for name in inspect.signature(function).parameters if name not in listed and name[0] != "_"]


def test_every_parameter_of_a_public_function_is_described():
    imported = pytest.importorskip("reference_pages", reason="Sphinx isn't here", exc_type=ImportError).modules()
    used = [module for module in public_modules() if module.__name__ in imported]
    functions = {name: thing for m in used for name in m.__all__ if inspect.isfunction(thing := getattr(m, name))}
    found = {name: undescribed(thing) for name, thing in functions.items()}
    assert len(functions) > 100
    assert not {name: missing for name, missing in found.items() if missing}


def test_undescribed_names_what_is_missing():
    def partly(a, b, *, c=1):
        """One line.

        Parameters
        ----------
        a, c : int
            Both.

        Examples
        --------
        >>> 1
        1
        """

    assert undescribed(partly) == ["b"]


def test_undocumented_finds_each_kind_of_offence():
    def bare(): ...

    def worded():
        """One line."""

    def empty():
        """One line.

        Examples
        --------
        See the tutorial.
        """

    def skipped():
        """One line.

        Examples
        --------
        >>> 1 + 1  # doctest: +SKIP
        3
        """

    def good():
        """One line.

        Examples
        --------
        >>> 1 + 1
        2
        """

    module = types.ModuleType("m")
    names = ["LEVEL", "bare", "empty", "gone", "good", "skipped", "worded"]
    module.__dict__.update(bare=bare, worded=worded, empty=empty, good=good, LEVEL=0.95, __all__=names)
    module.__dict__["skipped"] = skipped
    assert undocumented(module) == [
        "m.bare has no docstring",
        "m.empty has no example with >>> under Examples",
        "m.gone is in __all__ and isn't there",
        "m.skipped has only examples that are never run (+SKIP)",
        "m.worded has no section Examples",
    ]


def test_every_public_module_says_what_it_is_for():
    assert not [module.__name__ for module in public_modules() if not (module.__doc__ or "").strip()]
