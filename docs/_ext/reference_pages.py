"""Write docs/reference/generated/MODULE.md for every public module; what is in ``__all__`` appears by itself.

Public are the package ``sumwise``, the modules and packages directly under it, and the modules of
``sumwise.kernels``, where their names begin without an underscore. A module without public names has no page.
"""

import importlib
import pkgutil
from pathlib import Path

KERNELS = "sumwise.kernels"
TEMPLATE = """```{{eval-rst}}
.. automodule:: {name}
   :members:
   :inherited-members: object, BaseException, BaseEstimator
```
"""


def public_modules():
    """Names of the public modules that have public names, in order."""
    package = importlib.import_module("sumwise")
    names = [f"sumwise.{found.name}" for found in pkgutil.iter_modules(package.__path__)]
    kernels = importlib.import_module(KERNELS)
    names += [f"{KERNELS}.{found.name}" for found in pkgutil.iter_modules(kernels.__path__)]
    names = sorted(name for name in names if "._" not in name and not name.endswith("__main__"))
    return ["sumwise", *(name for name in names if getattr(importlib.import_module(name), "__all__", None))]


def page(name):
    """The Markdown of one module's page."""
    module = importlib.import_module(name)
    title = f"# `{name}`\n\n"
    if name == "sumwise":  # its names are documented where they are written
        return title + "".join(f"- {link(module, public)}\n" for public in getattr(module, "__all__", ()))
    return title + TEMPLATE.format(name=name)


def link(module, public):
    """A cross-reference to the place where a name of the package is documented."""
    thing = getattr(module, public)
    if not hasattr(thing, "__module__"):  # a module, or a plain value such as the version
        target = getattr(thing, "__name__", None)
        return f"{{py:mod}}`{target}`" if target else f"`{public}`"
    return f"{{py:obj}}`{public} <{thing.__module__}.{public}>`"


def write_pages(app):
    """Bring the generated pages up to date; a page that would not change is left, so builds stay quick."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.md": page(name) for name in public_modules()}
    for old in set(folder.glob("*.md")) - {folder / file for file in pages}:
        old.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
