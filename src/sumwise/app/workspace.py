"""The workspace of the app: one folder per study, laid out so that the command line understands it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.io.endings import ENDINGS as READ
from sumwise.io.endings import KINDS
from sumwise.io.writer import make_folder, new_file, write_text

ENDINGS = (*(ending + ".gz" for ending in KINDS["text"]), *READ)
MOST_BYTES = 2 * 2**30  # of one upload
MOST_NAME = 120  # bytes of a file name before its ending; a folder takes 255, and a part that arrives has a longer name
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,80}")


class Workspace:
    """Studies below one folder: ``NAME/`` holds the data, ``problem.toml``, ``job.json``, ``job.log`` and ``result/``.

    A folder that is itself a result is a workspace with that one study, to look at.
    """

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder).resolve()
        self.single = is_result(self.folder)
        if not self.single:
            make_folder(self.folder, private=True)

    def names(self) -> list[str]:
        """Studies, the latest first."""
        if self.single:
            return [self.folder.name]
        folders = [p for p in self.folder.iterdir() if p.is_dir() and not p.is_symlink() and NAME.fullmatch(p.name)]
        return [p.name for p in sorted(folders, key=lambda p: -p.stat().st_mtime)]

    def study(self, name: str) -> Path:
        """The folder of a study; an error where there is none."""
        if name not in self.names():
            raise DataError(f"There is no study {name!r}.", hint="go back to the list of studies.")
        return self.folder if self.single else self.folder / name

    def result(self, name: str) -> Path | None:
        """The result folder of a study, where it has one."""
        place = self.folder if self.single else self.study(name) / "result"
        return place if is_result(place) else None

    def data_files(self, name: str) -> list[str]:
        """Names of the files that were uploaded to a study."""
        return sorted(p.name for p in self.study(name).iterdir() if p.is_file() and p.name.lower().endswith(ENDINGS))

    def file(self, name: str, parts: str) -> Path | None:
        """A file below a study's folder by its relative path; None for anything else, links included."""
        root = self.study(name)
        path = root.joinpath(*[p for p in parts.split("/") if p not in ("", ".")])
        inside = ".." not in parts.split("/") and path.resolve().is_relative_to(root.resolve())
        hidden = any(p.startswith(".") for p in path.relative_to(root).parts)
        return path if inside and not hidden and path.is_file() and not path.is_symlink() else None

    def new(self, stem: str) -> str:
        """Make the folder of a new study, called after a file."""
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:60] or "study"
        for number in range(1, 10_000):
            name = base if number == 1 else f"{base}-{number}"
            try:
                make_folder(self.folder / name, private=True, exist_ok=False)
            except FileExistsError:
                continue
            return name
        raise DataError("There are 10,000 studies of that name.", hint="give the file another name.")

    def take(self, sources: Sequence[Path]) -> str:
        """Copy files that the package carries into a new study; returns its name."""
        if self.single:
            raise DataError("This is a finished result, to look at.", hint="start sumwise serve with another folder.")
        name = self.new(sources[0].stem)
        for source in sources:
            with new_file(self.folder / name / source.name, private=True) as out:
                out.write(source.read_bytes())
        return name

    async def receive(self, chunks: AsyncIterator[bytes], filename: str, study: str | None) -> str:
        """Stream an upload to disk; the file appears when it is whole. Returns the study's name."""
        if self.single:
            raise DataError("This is a finished result, to look at.", hint="start sumwise serve with another folder.")
        safe = safe_filename(filename)
        name = self.new(safe.split(".")[0]) if study is None else study
        folder = self.study(name)
        size = 0
        try:
            with new_file(folder / safe, private=True) as out:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > MOST_BYTES:
                        raise DataError(
                            f"The file is larger than {MOST_BYTES >> 30} GiB.", hint="use sumwise on the command line."
                        )
                    out.write(chunk)
                if not size:
                    raise DataError("The file is empty.", hint="choose another one.")
        except BaseException:
            if study is None and not any(folder.iterdir()):
                folder.rmdir()
            raise
        return name


def is_result(folder: Path) -> bool:
    """Whether a folder is a finished result, of one contest or of several."""
    alone = (folder / "summary.json").is_file() and (folder / "provenance.json").is_file()
    return alone or ((folder / "contests.json").is_file() and (folder / "report.html").is_file())


def safe_filename(given: str) -> str:
    """The last part of a file name, in letters and digits of any alphabet, with an ending that sumwise reads."""
    last = unicodedata.normalize("NFC", re.split(r"[/\\]", given)[-1]).rstrip()
    ending = next((e for e in ENDINGS if last.lower().endswith(e)), None)
    if ending is None:
        raise DataError(
            f"{last!r} has an ending that sumwise doesn't read.", hint=f"choose one of {', '.join(ENDINGS)}."
        )
    stem = re.sub(r"[^\w. -]+", "_", last[: -len(ending)])
    short = stem.encode("utf-8", "ignore")[-MOST_NAME:].decode("utf-8", "ignore").strip(" ._-")
    return (short or "data") + last[-len(ending) :]


def write_json(path: Path, value: Any) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False), private=True)


def read_json(path: Path) -> Any:
    """The JSON of a file; None where there is none or it is damaged."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, RecursionError, ValueError):
        return None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file; an empty one where the file holds none."""
    content = read_json(path)
    return content if isinstance(content, dict) else {}
