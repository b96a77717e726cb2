"""How the documentation is built: Sphinx, Markdown by MyST, reference pages from the docstrings."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import sumwise  # noqa: E402

project = "sumwise"
author = "The sumwise founders"
copyright = f"2026, {author}"
release = version = sumwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_copybutton",
    "reference_pages",  # docs/_ext: a page per public module, names from __all__
    "bibliography",  # docs/_ext: references.bib as a list
    "gallery",  # docs/_ext: figures drawn by the scripts of docs/gallery
    "executed",  # docs/_ext: output and figures of the blocks of tutorials and how-to guides
]
exclude_patterns = ["_build", "_ext", "_static", "outputs"]

smartquotes_action = "qe"  # quotes and ellipses; two hyphens are an option of a command, not a dash

html_theme = "furo"
html_title = "sumwise"
html_copy_source = False
html_static_path = ["_static"]
html_search_scorer = str(HERE / "search.js")  # ranks pages by most of the words, not only those that have all
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the numpydoc sections say the types in words
autodoc_member_order = "bysource"
default_role = "py:obj"  # `Bags` in a docstring is a link where there is a page for it
autosummary_generate = False
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
suppress_warnings = ["ref.python"]  # "array of shape (n,)" is words; nothing in it is meant as a link
