"""The directive ``bibliography``: a BibTeX file as a list, each entry with an anchor ``ref-KEY`` to link to.

It reads the plain BibTeX that references.bib is written in: one field per line, values in braces.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?\s*$", re.MULTILINE)


def read_entries(text):
    """``{key: fields}`` in the order of the file; an entry that can't be read is an error, not a gap."""
    entries = {key: dict(FIELD.findall(body)) for _, key, body in ENTRY.findall(text)}
    written = re.findall(r"^@\w+\{([\w-]+),", text, re.MULTILINE)
    unread = [key for key in written if not {"author", "title", "year"} <= entries.get(key, {}).keys()]
    if unread:
        raise ValueError(f"references.bib: can't read author, title and year of {', '.join(unread)}")
    return entries


class Bibliography(SphinxDirective):
    """``.. bibliography:: references.bib``"""

    required_arguments = 1

    def run(self):
        """The list of entries as nodes."""
        relative, absolute = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        entries = read_entries(Path(absolute).read_text("utf-8"))
        listing = nodes.bullet_list()
        for key, fields in sorted(entries.items(), key=lambda item: (item[1]["author"], item[1]["year"])):
            listing += self.entry(key, fields)
        return [listing]

    def entry(self, key, fields):
        """One entry: authors (year). Title. Where. Link."""
        paragraph = nodes.paragraph()
        paragraph += nodes.Text(f"{authors(fields['author'])} ({fields['year']}). ")
        paragraph += nodes.emphasis(text=plain(fields["title"]))
        where = [fields.get(name) for name in ("journal", "booktitle", "publisher", "school", "note")]
        paragraph += nodes.Text("".join(f". {plain(part)}" for part in where if part) + ".")
        if "url" in fields:
            paragraph += nodes.Text(" ")
            paragraph += nodes.reference(text=fields["url"], refuri=fields["url"])
        target = nodes.target("", "", ids=[f"ref-{key}"], names=[f"ref-{key}"])
        self.state.document.note_explicit_target(target)
        return nodes.list_item("", target, paragraph)


def plain(text):
    """BibTeX's protecting braces and dashes as a reader sees them."""
    for written, seen in {"{": "", "}": "", "--": "–", "``": "“", "''": "”"}.items():
        text = text.replace(written, seen)
    return text


def authors(names):
    """``A and B and C`` as ``A, B and C``."""
    people = [plain(name) for name in names.split(" and ")]
    return people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"


def setup(app):
    """Called by Sphinx."""
    app.add_directive("bibliography", Bibliography)
    return {"parallel_read_safe": True}
