"""Write the reproduction book and the comparison book, docs/book/*.md, from docs/book/*.toml and benchmarks/results.

    python docs/write_book.py            # all pages, in seconds
    python docs/write_book.py --check    # exit 1 if a page is out of date

A TOML file is a page: `title`, `intro`, and per table or figure an `[[item]]` with `what`, `shows`, `command`, and
- `rows`: a table, the first row its head. A cell ``@file.json path format`` is a value of the committed results
  (``part/method=dual&weights=5.0/steps`` names a record by its values);
- `each`: ``file.json path``, a list of records, with `columns` = {heading = "key format"}, or all their keys;
- `bars`: labels and cells, `draw`: a key of every record, drawn as bars;
- `dots`: the same by group, a dot for each series: keys of groups, of series and of the value, or ``bars``;
- `plot`: lines or points over two axes, with `x`, `y`, `by` (what names a line), `only`, `log`, `kind` and `title`;
- `seeds`: of the draws, where the results don't name them;
- `finds`: what we find where the paper shows no number; `differ`: where we differ and why; `missing`: which data or run
  is not there;
- `draws`: on how many draws a table rests: the headings of columns that say so, or for all cells a number, a value
  ``@file.json path d`` (of a list its length), or words (``nothing is drawn``). Numbers below ten are marked;
- `covers`: which of the paper's numbered tables and figures it is the counterpart of (a test knows all of them).
An item without a result says "not run". Numbers of a paper are typed in the TOML file; ours never are.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parent))
from book_figures import OURS, THEIRS, bars, dots, plot
from run_record import digest, part_of

HERE = Path(__file__).parent
BOOK = HERE / "book"
RESULTS = HERE.parent / "benchmarks" / "results"
HEADER = "<!-- written by docs/write_book.py from {name}.toml and benchmarks/results; do not edit -->\n\n"
FEW = 10
MARKED = f"† Fewer than {FEW} draws: shown as measured; nothing is concluded from it.\n"
WORDS = {"finds": "What we find", "differ": "Where we differ", "missing": "What is missing", "note": "Note"}
SHOWN = ("commit", "seed", "seeds", "machine", "cpu_s", "CPU seconds")


class MissingResult(Exception):
    """A file of results, or a part of it, isn't there."""


@cache
def results(file: str):
    """A file of benchmarks/results."""
    path = RESULTS / file
    if not path.exists():
        raise MissingResult(file)
    return json.loads(path.read_text("utf-8"))


def value_at(file: str, path: str):
    """A value by keys and positions separated by slashes; ``k=v&l=w`` is the one record with these values."""
    value, keys = results(file), [part for part in path.split("/") if part]
    if keys and keys[0] not in value:
        raise MissingResult(f"{file} {keys[0]}")  # a part that was not run; a wrong path within one is an error
    for key in keys:
        if isinstance(value, list) and "=" in key:
            wanted = dict(part.split("=") for part in key.split("&"))
            (value,) = (r for r in value if all(str(r.get(k)) == v for k, v in wanted.items()))
        else:
            value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def formatted(value, form: str) -> str:
    """A value as a page shows it; one that isn't there is a dash."""
    if value is None or value != value:
        return "–"
    text = format(value, form) if form and not isinstance(value, str) else str(value)
    return text.removeprefix("-") if re.fullmatch(r"-0(\.0*)?", text) else text


def number(cell) -> float:
    """The number behind a cell of a figure."""
    if isinstance(cell, str) and cell.startswith("@"):
        file, _, rest = cell[1:].partition(" ")
        return float(value_at(file, rest.rpartition(" ")[0]))
    return float(cell)


def shown(cell) -> str:
    """The text of a cell of a table."""
    if isinstance(cell, str) and cell.startswith("@"):
        file, _, rest = cell[1:].partition(" ")
        path, _, form = rest.rpartition(" ")
        return formatted(value_at(file, path), form)
    return str(cell)


def few(cell: str) -> bool:
    """Whether a cell says a number of draws below ten."""
    return cell.isdigit() and int(cell) < FEW


def table(rows: list[list], draws: object = None) -> str:
    """A Markdown table; the first row is its head. `draws` are the headings of columns with numbers of draws."""
    lines = [[shown(cell) for cell in row] for row in rows]
    columns = draws if isinstance(draws, list) else []
    if missing := set(columns) - set(lines[0]):
        raise ValueError(f"draws: the table has no heading {min(missing)!r}")
    for k in (lines[0].index(name) for name in columns):
        lines[1:] = [[*line[:k], f"{line[k]} †" if few(line[k]) else line[k], *line[k + 1 :]] for line in lines[1:]]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def rows_of(item: dict) -> list[list]:
    """The rows of an item: written out, or one per record of the results."""
    if "rows" in item:
        return [with_command(row, item) for row in item["rows"]]
    records = records_of({**item, "only": item.get("rows only", {})})
    columns = item.get("columns") or {key: f"{key} " for key in records[0]}
    keys = {name: spec.rpartition(" ")[::2] for name, spec in columns.items()}
    unknown = [key for key, _ in keys.values() if not any(key in record for record in records)]
    if unknown:
        raise KeyError(f"{item['each']}: no record has {unknown}")
    return [list(keys), *([formatted(record.get(key), form) for key, form in keys.values()] for record in records)]


def with_command(row: list, item: dict) -> list:
    """A row whose cell ``its command`` is that of the entry named before it, on the page that the item names."""
    if "its command" not in row:
        return row
    k = row.index("its command")
    command = commands(item["page"])[row[k - 1]]
    return [*row[:k], f"`{command}`" if command else "–", *row[k + 1 :]]


@cache
def commands(page: str) -> dict[str, str]:
    """The command of every entry of a page, by its heading; nothing where nothing is run."""
    items = tomllib.loads((BOOK / f"{page}.toml").read_text("utf-8"))["item"]
    return {item["what"]: item.get("command", "") for item in items}


def records_of(item: dict) -> list[dict]:
    """The records of ``each``, of which ``only`` keeps those with its values."""
    file, _, path = item["each"].partition(" ")
    records = value_at(file, path)
    records = list(records.values()) if isinstance(records, dict) else records
    return [r for r in records if all(str(r.get(k)) == v for k, v in item.get("only", {}).items())]


def drawn_bars(item: dict) -> list[tuple[str, float, str, str]]:
    """Bars of every record, as ``draw = ["method, weights", "seconds .3f"]`` says: what names one, and its value.

    The longest comes first, unless what names them are numbers.
    """
    names, (key, form) = item["draw"][0].split(", "), item["draw"][1].rpartition(" ")[::2]
    chosen = [r for r in records_of(item) if r.get(key) is not None and r[key] == r[key]]
    if any(isinstance(r[name], str) for r in chosen for name in names):
        chosen.sort(key=lambda r: -r[key])
    return [(", ".join(formatted(r[n], "g") for n in names), r[key], formatted(r[key], form), OURS) for r in chosen]


def drawn_dots(item: dict) -> str:
    """Dots of every record by group: ``dots = ["group, keys", "series, keys", "value"]``, or a list of values.

    ``dots = ["group", ["1", "2"], "population"]`` has a series per value, named *population 1* and so on.
    """
    of = item["dots"]
    groups: dict[str, dict[str, float]] = {}
    for r in records_of(item):
        group = groups.setdefault(named(r, of[0]), {})
        if isinstance(of[1], list):
            group |= {f"{of[2]} {key}": r.get(key) for key in of[1]}
        else:
            group[named(r, of[1])] = r.get(of[2])
    return dots(groups, item["unit"], item.get("log", ""))


def named(record: dict, keys: str) -> str:
    """What names a record: its values of these keys; a number has the key before it."""
    values = [(key, record[key]) for key in keys.split(", ")]
    return ", ".join(v if isinstance(v, str) else f"{key} = {formatted(v, 'g')}" for key, v in values)


def typed_dots(item: dict) -> str:
    """Dots of typed cells ``["series, group", cell]``."""
    groups: dict[str, dict[str, float]] = {}
    for label, cell in item["bars"]:
        series, _, group = label.partition(", ")
        groups.setdefault(group, {})[series] = number(cell)
    return dots(groups, item["unit"])


def bar_figure(item: dict) -> str:
    """A chart of written and of drawn bars, ours in blue; of dots where an item has ``dots``."""
    if "dots" in item:
        return typed_dots(item) if item["dots"] == "bars" else drawn_dots(item)
    given = [(label, number(cell), shown(cell)) for label, cell in item.get("bars", [])]
    rows = [(*bar, OURS if bar[0].startswith("sumwise") else THEIRS) for bar in given]
    return bars(rows + (drawn_bars(item) if "draw" in item else []), item.get("unit", ""))


def plot_figure(spec: dict, item: dict) -> str:
    """Lines or points over two axes: ``x`` and ``y`` are keys of the records, or places in their lists ``of``."""
    series: dict[str, list[tuple[float, float]]] = {}
    wide = spec.get("wide")
    for r in records_of({"each": spec.get("each", item.get("each", "")), "only": spec.get("only", {})}):
        name = "" if spec["by"] == "all" else named(r, spec["by"])
        if name in spec.get("without", []):
            continue
        if "of" in spec:
            series.setdefault(name, []).extend((float(pair[0]), float(pair[1])) for pair in r[spec["of"]])
        elif wide:
            series[name] = [(float(at), r[key]) for at, key in zip(spec["at"], wide) if r.get(key) is not None]
        else:
            series.setdefault(name, []).append((r.get(spec["x"]), r.get(spec["y"])))
    if not series:
        raise KeyError(f"{item['what']}: no record for the plot of {spec['y']!r}")
    return plot(series, spec | {k: spec.get(f"{k} label", spec[k]) for k in "xy"})


def draws_of(draws: object) -> int | None:
    """The number of draws that holds for all cells: given, or a value of the results, of a list its length."""
    if isinstance(draws, str) and draws.startswith("@"):
        file, _, rest = draws[1:].partition(" ")
        value = value_at(file, rest.rpartition(" ")[0])
        return len(value) if isinstance(value, list) else int(value)
    return draws if isinstance(draws, int) else None


def drawn_words(draws: object, body: list[str]) -> list[str]:
    """What a page says below a table about its draws."""
    number = draws_of(draws)
    if number is not None:
        return [f"Draws: {number} †.\n", MARKED] if number < FEW else [f"Draws: {number}.\n"]
    return [MARKED] if any("†" in part for part in body) else []


def provenance(item: dict, name: str, path: str) -> str:
    """Which file has an item's results, and by which commit and seeds they were made."""
    part = path.partition("/")[0].removesuffix(" means")
    made = run_of(name, part)
    words = {key: _short(made[key]) for key in SHOWN if key in made}
    words.setdefault("commit", stored_by(name, part) or "not recorded")
    if not {"seed", "seeds"} & set(words):
        words["seeds"] = item.get("seeds") or seeds_of(results(name).get(part)) or seeds_in_script(name)
    return f"`benchmarks/results/{name}` ({', '.join(f'{key} {words[key]}' for key in SHOWN if key in words)})"


def source_of(item: dict) -> tuple[str, str] | None:
    """The file and the part of it that an item is made from: `source`, or where its records or first cell come from.

    None of a table whose cells come from the results of many pages (``source = "pages"``).
    """
    if item.get("source") == "pages":
        return None
    cells = [c[1:].rpartition(" ")[0] for row in item.get("rows", []) for c in row if str(c).startswith("@")]
    given = [item.get(key, "") for key in ("source", "each")]
    given.sort(key=lambda where: not where.partition(" ")[2])  # one that names a part comes before a file alone
    found = [where for where in given + cells if where and not where.startswith("published.json")]
    name, _, path = found[0].partition(" ") if found else ("", "", "")
    return (name, path) if name else None


def run_of(name: str, part: str) -> dict:
    """What a file says about the run behind a part of it: its own record, one within the part, or the whole file's."""
    held = results(name)
    within = held.get(part)
    own = within if isinstance(within, dict) and {"commit", "command"} & set(within) else held
    return held.get("runs", {}).get(part, own)


def stored_by(name: str, part: str) -> str | None:
    """The commit that stored a part whose run recorded none, as long as the part is still what that commit stored."""
    if not (RESULTS / "stored.json").exists():
        return None
    held, kept = results(name), results("stored.json").get(name, {})
    for key in (part, ""):
        if key in kept and kept[key]["digest"] == digest(part_of(held, key)):
            return f"{kept[key]['commit']} (which stored it)"
    return None


def seeds_of(records: object) -> str | None:
    """The seeds that records name, as a range where they have many."""
    rows = records if isinstance(records, list) else []
    found = sorted({r["seed"] for r in rows if isinstance(r, dict) and isinstance(r.get("seed"), int)})
    return None if not found else ", ".join(map(str, found)) if len(found) < 4 else f"{found[0]} to {found[-1]}"


@cache
def seeds_in_script(name: str) -> str:
    """The seeds of a file that names none: those that its script fixes (benchmarks/seeds.toml)."""
    listed = tomllib.loads((HERE.parent / "benchmarks" / "seeds.toml").read_text("utf-8"))
    return listed.get(name.removesuffix(".json"), "in the script")


def _short(value: object) -> object:
    """Seconds to three digits; anything else as it is."""
    return f"{value:.3g}" if isinstance(value, float) and value < 1000 else value


def entry(item: dict, name: str, k: int) -> tuple[str, dict[str, str]]:
    """The Markdown of one item, and its figures."""
    text, figures = [f"## {item['what']}\n", f"{item['shows']}\n"], {}
    if "command" in item:
        text.append(f"```console\n$ {item['command']}\n```\n")
    try:
        body = [table(rows_of(item), item.get("draws"))] if "rows" in item or "each" in item else []
        body += drawn_words(item.get("draws"), body)
        if {"bars", "draw", "dots"} & set(item):
            figure = f"figures/{name}-{k}.svg"
            figures[figure] = bar_figure(item)
            body.append(f"![{item['what']}: {item.get('unit', 'values of the table')}]({figure})\n")
        if body and (source := source_of(item)):
            body.append(f"Ours: {provenance(item, *source)}.\n")
        for n, spec in enumerate(item.get("plot", [])):
            figure = f"figures/{name}-{k}{'abcdefghij'[n]}.svg"
            figures[figure] = plot_figure(spec, item)
            words = f"{item['what']}: {spec.get('title', spec.get('y label', spec['y']))}"
            body.append(f"![{words}]({figure})\n")
        text += body
    except MissingResult as error:
        text.append(f"*Not run: no committed result (`{error}` of `benchmarks/results`).*\n")
    for key, words in WORDS.items():
        if key in item:
            text.append(f"**{words}.** {item[key]}\n")
    return "\n".join(text), figures


STATUS = {
    "works": "work",
    "differs": "work and differ from what is printed, or give another result",
    "partly": "work in part",
    "missing": "are missing",
    "needs data": "need data that are not public, and are run on the nearest data at hand",
    "nothing to compute": "are diagrams and lists of symbols",
}


def statuses(spec: dict) -> list[tuple[str, str, str]]:
    """Where, what and with which status, of every row of the page of items."""
    rows = []
    for item in spec["item"]:
        head = item["rows"][0] if "rows" in item else []
        if "status" in head:
            rows += [(row[0], row[1], row[head.index("status")]) for row in item["rows"][1:]]
    return rows


def counted(spec: dict) -> str:
    """How many items have each status."""
    kinds = [status.partition(":")[0] for *_, status in statuses(spec)]
    parts = [f"{kinds.count(kind)} {words}" for kind, words in STATUS.items() if kind in kinds]
    return f"Of {len(kinds)} items {'; '.join(parts)}."


def shortfalls(spec: dict) -> str:
    """All items that differ, work in part or are missing, with the reason."""
    lines = ["## Where ours differs or falls short\n", "| where | what | status |", "|---|---|---|"]
    for where, what, status in statuses(spec):
        if status.partition(":")[0] in ("differs", "partly", "missing"):
            lines.append(f"| {where} | {what} | {status} |")
    return "\n".join(lines) + "\n"


def page(path: Path) -> dict[str, str]:
    """The files of one page: the Markdown and its figures."""
    spec = tomllib.loads(path.read_text("utf-8"))
    intro = spec["intro"].strip().replace("COUNTS", counted(spec)) + "\n"
    text, files = [HEADER.format(name=path.stem) + f"# {spec['title']}\n", intro], {}
    for k, item in enumerate(spec["item"]):
        words, figures = entry(item, path.stem, k)
        text.append(words)
        files |= figures
    if "COUNTS" in spec["intro"]:
        text.append(shortfalls(spec))
    return {f"{path.stem}.md": "\n".join(text), **files}


def pages() -> dict[str, str]:
    """All files of the books."""
    return {name: text for path in sorted(BOOK.glob("*.toml")) for name, text in page(path).items()}


def out_of_date() -> list[str]:
    """Files that are not what the results say, and figures that no page has any more."""
    made = pages()
    left = [f"figures/{path.name}" for path in (BOOK / "figures").glob("*.svg") if f"figures/{path.name}" not in made]
    return left + [n for n, text in made.items() if not (BOOK / n).exists() or (BOOK / n).read_text("utf-8") != text]


if __name__ == "__main__":
    stale = out_of_date()
    if "--check" in sys.argv:
        sys.stdout.write("".join(f"docs/book/{name} is out of date. Hint: make book\n" for name in stale))
        sys.exit(bool(stale))
    (BOOK / "figures").mkdir(exist_ok=True)
    made = pages()
    for name, text in made.items():
        (BOOK / name).write_text(text, "utf-8")
    for name in (n for n in stale if n not in made):
        (BOOK / name).unlink()
    sys.stdout.write(f"{len(made)} files, {len(stale)} changed\n")
