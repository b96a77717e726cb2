"""The directives ``gallery`` and ``gallery-figure``: figures drawn by the scripts of docs/gallery when pages are built.

A script's docstring is its title (first line) and its caption (the rest); it draws one figure with Matplotlib. Images
are kept under docs/_build/gallery and drawn again when the script or any file of the library is newer.
"""

import html
import logging
import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from sumwise.cli.gallery import FAMILIES, draw, read_script, read_scripts

WIDE = 9.0


def render(script, folder, newest=0.0):
    """Save a script's figure as PNG in a folder, unless one is there that is newer than the script and `newest`."""
    path = folder / f"{script.name}.png"
    if path.exists() and path.stat().st_mtime > max(newest, script.path.stat().st_mtime):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    figure = draw(script)
    partial = folder / f".{script.name}-{os.getpid()}.png"
    figure.savefig(partial, dpi=100, bbox_inches="tight")
    os.replace(partial, path)

    import matplotlib.pyplot as plt

    plt.close("all")
    return path


def write_images(app, error):
    """Draw what is out of date and copy all figures into the build."""
    if error is not None or app.builder.format != "html":
        return
    source = Path(app.srcdir)
    logging.getLogger("sumwise").setLevel(logging.ERROR)  # that kernels are compiled is no warning about a page
    newest = max((path.stat().st_mtime for path in (source.parent / "src").rglob("*.py")), default=0.0)
    target = Path(app.outdir) / "_static" / "gallery"
    target.mkdir(parents=True, exist_ok=True)
    for script in read_scripts(source / "gallery"):
        shutil.copyfile(render(script, source / "_build" / "gallery", newest), target / f"{script.name}.png")


def image(script, up, lazy=True):
    """The HTML of a figure; `up` leads from the page to the root of the build."""
    loading = ' loading="lazy"' if lazy else ""
    alt = html.escape(f"{script.title}. {script.caption}".replace("`", ""), quote=True)
    return f'<img src="{up}_static/gallery/{script.name}.png" alt="{alt}"{loading}>'


def words_of(caption):
    """A caption as HTML; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(caption))


def is_wide(script):
    """Whether a figure is too wide for a phone, in inches: it scrolls there instead of shrinking."""
    given = re.search(r"figsize=\(([\d.]+)", script.code)
    return given is not None and float(given[1]) > WIDE


class Gallery(SphinxDirective):
    """Thumbnails that lead to the figures, then every figure with its caption and code."""

    def run(self):
        """A section per family."""
        folder = Path(self.env.srcdir) / "gallery"
        scripts = read_scripts(folder)
        for script in scripts:
            self.env.note_dependency(str(script.path))
        found = [self.thumbnails(scripts)]
        for family, title in FAMILIES.items():
            section = nodes.section("", nodes.title(text=title), ids=[f"gallery-{family}"])
            section += [self.figure(script) for script in scripts if script.family == family]
            found.append(section)
        return found

    def thumbnails(self, scripts):
        """A grid of small figures."""
        cells = [
            f'<a href="#figure-{s.name.replace("_", "-")}">{image(s, "")}<span>{html.escape(s.title)}</span></a>'
            for s in scripts
        ]
        return nodes.raw("", f'<div class="sumwise-gallery">{"".join(cells)}</div>', format="html")

    def figure(self, script):
        """Title, figure, caption and code of one script."""
        section = nodes.section("", nodes.title(text=script.title), ids=[f"figure-{script.name.replace('_', '-')}"])
        section += nodes.raw("", f"<p>{image(script, '')}</p>", format="html")
        section += nodes.raw("", f"<p>{words_of(script.caption)}</p>", format="html")
        section += nodes.literal_block(script.code, script.code, language="python")
        return section


class GalleryFigure(SphinxDirective):
    """``{gallery-figure} name``: one figure of the gallery on another page."""

    required_arguments = 1

    def run(self):
        """The figure, its caption, and nothing of its code."""
        script = read_script(Path(self.env.srcdir) / "gallery" / f"{self.arguments[0]}.py")
        self.env.note_dependency(str(script.path))
        up = "../" * self.env.docname.count("/")
        link = f'<a href="{up}gallery.html#figure-{script.name.replace("_", "-")}">Code in the gallery.</a>'
        kind = ' class="sumwise-wide"' if is_wide(script) else ""
        drawn = f"<div{kind}>{image(script, up, lazy=False)}</div>"
        figure = f"<figure>{drawn}<figcaption>{words_of(script.caption)} {link}</figcaption></figure>"
        return [nodes.raw("", figure, format="html")]


def setup(app):
    """Called by Sphinx."""
    app.add_directive("gallery", Gallery)
    app.add_directive("gallery-figure", GalleryFigure)
    app.add_css_file("gallery.css")
    app.connect("build-finished", write_images)
    return {"parallel_read_safe": True}
