"""The gallery: small scripts that draw one figure each, run and shown by ``sumwise demo`` and by the documentation."""

from __future__ import annotations

import ast
import base64
import html
import io
import runpy
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sumwise.errors import DataError

FAMILIES = {
    "ecological": "Cells from margins",
    "proportions": "Individuals from bag counts",
    "distribution": "A response per bag",
    "collective": "Flows from counts",
    "maxent": "Classifiers from tables",
    "privacy": "Privacy",
}
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>sumwise: the gallery</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: auto; padding: 1em; }}
img {{ max-width: 100%; background: white; }} pre {{ overflow-x: auto; padding: 1em; background: #8882; }}
:root {{ color-scheme: light dark; }}
</style>
<h1>sumwise: the gallery</h1>
<p>Every figure is drawn by the code below it, on generated data whose truth is known.</p>
{figures}</html>
"""
FIGURE = """<h2>{title}</h2>
<p>{caption}</p>
<p><img alt="{title}" src="data:image/png;base64,{image}"></p>
<pre><code>{code}</code></pre>
"""


@dataclass(frozen=True)
class Script:
    """One figure: where its script is, what a page says about it, and the code it shows."""

    path: Path
    title: str
    caption: str
    code: str

    @property
    def name(self) -> str:
        """Its name in links and file names."""
        return self.path.stem

    @property
    def family(self) -> str:
        """The part of the gallery that it belongs to: what comes before the first underscore."""
        return self.name.split("_")[0]


def read_script(path: Path) -> Script:
    """Title and caption from the docstring, and the code below it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.cli.gallery import read_script
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ecological_line.py"
    >>> _ = path.write_text('\"\"\"A line\\n\\nIt rises.\\n\"\"\"\\n\\nprint(1)\\n')
    >>> read_script(path).title, read_script(path).family
    ('A line', 'ecological')
    """
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    title, _, caption = (ast.get_docstring(tree) or "").partition("\n")
    if not title:
        raise DataError(f"{path.name} has no docstring.", hint="its first line is the title of the figure.")
    code = "\n".join(text.splitlines()[tree.body[0].end_lineno :]).strip()
    return Script(path, title.strip(), " ".join(caption.split()), code)


def read_scripts(folder: Path) -> list[Script]:
    """All scripts, by family in the order of `FAMILIES` and then by name."""
    scripts = [read_script(path) for path in sorted(folder.glob("*.py"))]
    unknown = [script.path.name for script in scripts if script.family not in FAMILIES]
    if unknown:
        raise DataError(
            f"{unknown[0]} belongs to no family.", hint=f"begin its name with one of {', '.join(FAMILIES)}."
        )
    return sorted(scripts, key=lambda script: list(FAMILIES).index(script.family))


def draw(script: Script) -> Any:
    """Run a script and return the one figure that it draws."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    try:
        with warnings.catch_warnings(), plt.rc_context():  # a script may set a style
            warnings.simplefilter("error")
            runpy.run_path(str(script.path), run_name="__main__")
    except Exception as error:
        raise DataError(f"{script.path.name}: {type(error).__name__}: {error}") from error
    if len(plt.get_fignums()) != 1:
        raise DataError(f"{script.path.name} draws {len(plt.get_fignums())} figures.", hint="draw one.")
    return plt.gcf()


def gallery_page(scripts: Iterable[Script]) -> str:
    """One offline page of figures, each with its caption and code.

    Examples
    --------
    >>> from sumwise.cli.gallery import gallery_page
    >>> "<h1>" in gallery_page([])
    True
    """
    import matplotlib.pyplot as plt

    figures = []
    for script in scripts:
        picture = io.BytesIO()
        draw(script).savefig(picture, dpi=120)
        plt.close("all")
        words = {key: html.escape(getattr(script, key)) for key in ("title", "caption", "code")}
        figures.append(FIGURE.format(image=base64.b64encode(picture.getvalue()).decode(), **words))
    return PAGE.format(figures="".join(figures))
