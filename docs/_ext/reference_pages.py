"""Write a page under docs/reference/generated for every module; what is in its ``__all__`` appears by itself.

Only modules that a user imports have a page; what the package is built with is read in the source.
"""

import importlib
import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

from sphinx import addnodes

USED_BY_NAME = {"errors", "estimator", "io.checkpoint", "io.persistence", "progress"}  # also
TEMPLATE = """# `{name}`

```{{eval-rst}}
.. automodule:: {name}
   :members:
   :inherited-members:{others}
```
"""
RECORD = """

.. autoclass:: {}
   :members:
   :inherited-members:"""


def modules():
    """All modules that a user imports, by name."""
    package = importlib.import_module("sumwise")
    exported = {getattr(package, name).__module__ for name in package.__all__}
    users = sorted({f"sumwise.{name}" for name in USED_BY_NAME | package._SUBMODULES} | exported)
    return ["sumwise", *(name for name in users if getattr(importlib.import_module(name), "__all__", None))]


def page(name, documented):
    """The Markdown of one module's page; a name that another page documents is left to that page."""
    module = importlib.import_module(name)
    if name != "sumwise":
        homes = {public: getattr(getattr(module, public), "__module__", name) for public in module.__all__}
        others = [public for public, home in homes.items() if home != name and home in documented]
        excluded = f"\n   :exclude-members: {', '.join(others)}" if others else ""
        return TEMPLATE.format(name=name, others=excluded + "".join(map(RECORD.format, records(module))))
    links = [f"{{py:obj}}`{public} <{getattr(module, public).__module__}.{public}>`" for public in module.__all__]
    return "# `sumwise`\n\nThe names that `import sumwise` gives:\n\n" + "".join(f"- {link}\n" for link in links)


def records(module):
    """Full names of the records that a module's functions return and that it doesn't export itself."""
    exported = [getattr(module, name) for name in module.__all__]
    returned = set()
    for function in filter(inspect.isfunction, exported):
        words = re.findall(r"\w+", str(function.__annotations__.get("return", "")))
        returned |= {kind for word in words if isinstance(kind := function.__globals__.get(word), type)}
    own = [kind for kind in returned if kind not in exported and kind.__module__.startswith(f"{module.__name__}.")]
    return sorted(f"{kind.__module__}.{kind.__name__}" for kind in own)


def command_line_page():
    """The Markdown of the command line, from the commands themselves: what each does, its arguments and options."""
    from typer.main import get_command

    from sumwise.cli.app import build

    command = get_command(build())
    text = ["# Command line", "What `sumwise --help` and `sumwise COMMAND --help` print, in one place."]
    for name, sub in command.commands.items():
        if not sub.hidden:
            text += [f"## `sumwise {name}`", *described(sub.help or ""), *options(sub)]
    return "\n\n".join(text) + "\n"


def described(words):
    """Help as Markdown: lines that begin with ``$`` are a block of commands."""
    words = re.sub(r"\[/?bold\]", "**", re.sub(r"\[/?dim\]", "", words))
    for part in re.split(r"\n\s*\n", words.replace("\b", "").strip()):
        lines = [line.strip() for line in part.splitlines()]
        is_example = all(line.startswith("$") for line in lines)
        yield "```console\n" + "\n".join(lines) + "\n```" if is_example else " ".join(lines)


def options(command):
    """A table of a command's arguments and options."""
    rows = ["| argument or option | meaning | default |", "|---|---|---|"]
    for param in command.params:
        names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
        names = f"`{param.name.upper()}`" if param.param_type_name == "argument" else names
        meaning = " ".join((getattr(param, "help", None) or "").split()).replace("|", "\\|")
        low, high = getattr(param, "min", None), getattr(param, "max", None)
        meaning += f" From {low} to {high}." if low is not None and high is not None else ""
        rows.append(f"| {names} | {meaning} | {default_of(param)} |")
    return ["\n".join(rows)] if len(rows) > 2 else []


def default_of(param):
    """The default of a parameter of a command, in words where it is no value."""
    if param.required:
        return "required"
    if isinstance(param.default, bool):
        return "on" if param.default else "off"
    return f"`{param.default}`" if isinstance(param.default, (str, int, float)) and param.default != "" else "none"


def write_pages(app):
    """Bring the generated pages up to date; a page that would not change is left, so builds stay quick."""
    folder = Path(app.srcdir) / "reference" / "generated"
    found = modules()
    pages = {folder / f"{name}.md": page(name, found) for name in found}
    pages[folder / "command-line.md"] = command_line_page()
    for old in set(folder.rglob("*.md")) - pages.keys():
        old.unlink()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def skip_foreign(app, what, name, thing, skip, options):
    """Leave out what a class inherits from scikit-learn or Python: it is documented there."""
    thing = getattr(thing, "fget", None) or getattr(thing, "__objclass__", None) or thing
    foreign = not (getattr(thing, "__module__", None) or "sumwise").startswith("sumwise")
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def show_defaults(app, what, name, thing, options, signature, returned):
    """Write ``{}`` or ``[]`` for a default that a dataclass makes anew each time."""
    if not (signature and "<factory>" in signature and is_dataclass(thing)):
        return None
    for field in fields(thing):
        if field.init and field.default_factory is not MISSING:
            made = field.default_factory()
            shown = repr(made) if isinstance(made, (dict, list)) else f"{type(made).__name__}()"
            signature = signature.replace(f"{field.name}=<factory>", f"{field.name}={shown}")
    return signature, returned


def parameters(thing):
    """The lines of each parameter in a docstring: ``{name: lines}``; of several with one description, that."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.getdoc(thing) or "", re.M | re.S)
    found = {}
    for entry in re.split(r"\n(?=\S)", section[1].rstrip()) if section else []:
        names, _, rest = entry.partition(" : ")
        found |= {name: f"{name} : {rest}".split("\n") for name in names.split(", ")}
    return found


def describe_borrowed(app, what, name, thing, options, lines):
    """Write out parameters that are "as in" another class of the package, where their defaults are the same."""
    if what != "class":
        return
    written = []
    for line in lines:
        found = re.fullmatch(r"(\w+(?:, \w+)*) : as in `(\w+)`\.?", line)
        package = importlib.import_module(thing.__module__.rpartition(".")[0]) if found else None
        other = getattr(package, found[2], None) if found else None
        if other is None:
            written.append(line)
            continue
        names, known = found[1].split(", "), parameters(other)
        own, theirs = inspect.signature(thing).parameters, inspect.signature(other).parameters
        same = all(one in known and one in own and own[one].default == theirs[one].default for one in names)
        written += [text for one in names for text in known[one]] if same else [line]
    lines[:] = written


def keep_words_words(_app, doctree):
    """Take links out of types: in "array of shape (n_rows,)" only names with a capital letter or a dot are classes."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        target = node.get("reftarget", "")
        if node.get("refdomain") == "py" and node.hasattr("refspecific") and "." not in target and target.islower():
            node.replace_self(node.children)


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("doctree-read", keep_words_words)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("autodoc-process-docstring", describe_borrowed, priority=400)  # before napoleon, at 500
    return {"parallel_read_safe": True}
