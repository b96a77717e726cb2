"""Every script of the gallery draws a figure, and the extension that renders them says what is wrong with one."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
pytest.importorskip("sphinx", reason="the documentation is built where the extra docs is installed")

import gallery  # noqa: E402

from messages import raises  # noqa: E402
from sumwise.cli.gallery import FAMILIES, draw, read_script, read_scripts  # noqa: E402
from sumwise.errors import DataError  # noqa: E402


def test_there_are_at_least_24_figures():
    assert len(SCRIPTS) >= 24
    assert {path.stem.split("_")[0] for path in SCRIPTS} == set(FAMILIES)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_draws_something(path):
    script = read_script(path)
    assert script.title
    assert script.caption
    assert 3 <= len(script.code.splitlines()) <= 25
    figure = draw(script)
    assert any(ax.has_data() for ax in figure.axes)
    assert figure.axes[0].get_xlabel() or figure.axes[0].get_title()
    plt.close("all")


def test_titles_are_unique():
    titles = [script.title for script in read_scripts(ROOT / "docs" / "gallery")]
    assert len(set(titles)) == len(titles)


def write(folder, name, text):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_draw_names_the_script_that_fails(tmp_path):
    path = write(tmp_path, "ecological_wrong.py", '"""A title"""\n\n1 / 0\n')
    with pytest.raises(DataError, match=r"ecological_wrong\.py: ZeroDivisionError"):
        draw(read_script(path))


def test_draw_refuses_a_script_without_a_figure(tmp_path):
    path = write(tmp_path, "ecological_empty.py", '"""A title"""\n\nx = 1\n')
    with raises(DataError, "draws-figures-draw", 0):
        draw(read_script(path))


def test_read_script_wants_a_title(tmp_path):
    with raises(DataError, "no-docstring-first"):
        read_script(write(tmp_path, "ecological_bare.py", "x = 1\n"))


def test_read_scripts_refuses_an_unknown_family(tmp_path):
    write(tmp_path, "other_thing.py", '"""A title"""\n')
    with raises(DataError, "belongs-no-family", "py"):
        read_scripts(tmp_path)


def test_render_draws_again_only_what_is_old(tmp_path):
    text = '"""A title"""\n\nimport matplotlib.pyplot as plt\n\nplt.plot([1, 2])\n'
    script = read_script(write(tmp_path, "ecological_line.py", text))
    path = gallery.render(script, tmp_path / "out")
    first = path.stat().st_mtime_ns
    assert path.read_bytes().startswith(b"\x89PNG")
    assert gallery.render(script, tmp_path / "out").stat().st_mtime_ns == first
    later = first / 1e9 + 10
    assert gallery.render(script, tmp_path / "out", newest=later).stat().st_mtime_ns > first


def test_code_in_a_caption_is_code():
    assert gallery.words_of("From `a.json`: 1 < 2") == "From <code>a.json</code>: 1 &lt; 2"


def test_a_wide_figure_scrolls_on_a_phone():
    wide = {s.name for s in read_scripts(ROOT / "docs" / "gallery") if gallery.is_wide(s)}
    assert {"distribution_stability", "proportions_stability"} <= wide
    assert "ecological_fallacy" not in wide
