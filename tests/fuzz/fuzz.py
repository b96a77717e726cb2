"""Damaged and forged files for every reader, read in a process of their own: `make fuzz`, or see --help.

A file may be read or refused by one of our own errors. Anything else is a finding: another error, a crash, a file
that takes more than `CPU_SECONDS` of processor time or `SECONDS` by the clock, more than `MEMORY`, or one whose reader
leaves another file. Findings are written to a folder; one that is understood goes to `corpus/` as it is, where
`test_corpus.py` reads it ever after.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
SECONDS = 60  # for one file by the clock; generous, so that a busy machine is no finding
CPU_SECONDS = 10  # for one file, in this process and those that it starts
MEMORY = 2**30  # in use at once, in any of these processes
ADDRESS_SPACE = 6 * 2**30  # of the process that reads
ODD = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**62, 2**63 - 1, 2**64 - 1]
WORDS = [b"'", b'"', b'""', b"\0", b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf", b"1e999"]
WORDS += [b"-0", b"nan", b"inf", b"'); DROP TABLE x; --", b"=1+1", b"{", b"}", b"[", b"\xe2\x80\xa8", b"9" * 400]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with one to four injuries; of an archive or of JSON, half the time in what it holds."""
    inside = next((enter for mark, enter in INSIDE.items() if data.startswith(mark)), None)
    if inside is not None and rng.random() < 0.5:
        return inside(data, rng)
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if out:
            rng.choice(INJURIES)(out, rng)
    return bytes(out)


def _flip(out: bytearray, rng: random.Random) -> None:
    out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)


def _odd_number(out: bytearray, rng: random.Random) -> None:
    at, width = rng.randrange(len(out)), rng.choice([1, 2, 4, 8])
    out[at : at + width] = (rng.choice(ODD) % 2 ** (8 * width)).to_bytes(width, rng.choice(["little", "big"]))


def _truncate(out: bytearray, rng: random.Random) -> None:
    del out[rng.randrange(len(out)) :]


def _leave_out(out: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(out))
    del out[at : at + rng.randint(1, 64)]


def _zeros(out: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(out))
    out[at : at + rng.randint(1, 200)] = bytes(rng.randint(1, 200))


def _word(out: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(out))
    out[at:at] = rng.choice(WORDS) * rng.choice([1, 1, 3, 100])


def _overwrite(out: bytearray, rng: random.Random) -> None:
    at, to = rng.randrange(len(out)), rng.randrange(len(out))
    piece = out[at : at + rng.randint(1, 200)]
    out[to : to + len(piece)] = piece


def _repeat(out: bytearray, rng: random.Random) -> None:
    """A piece of the file many times over."""
    at = rng.randrange(len(out))
    piece = out[at : at + rng.choice([1, 8, 64, 512, 4096])]
    out[at:at] = piece * rng.choice([1, 2, 10, 100])


def _reorder(out: bytearray, rng: random.Random) -> None:
    """Two blocks of the file in each other's place."""
    size = rng.choice([8, 64, 512])
    i, j = sorted(rng.randrange(0, len(out), size) for _ in range(2))
    first, second = out[i : i + size], out[j : j + size]
    if i != j:
        out[j : j + size], out[i : i + size] = first, second


def _header(out: bytearray, rng: random.Random) -> None:
    """A length or offset near the beginning or the end, where formats declare them, moved a little or to the file's."""
    width = rng.choice([2, 4, 8])
    room = min(len(out), 256)
    at = rng.randrange(room) if rng.random() < 0.5 else len(out) - 1 - rng.randrange(room)
    order = rng.choice(["little", "big"])
    declared = int.from_bytes(out[at : at + width], order)
    near = rng.choice([declared + 1, declared - 1, declared * 2, declared + len(out), len(out), len(out) + 1])
    out[at : at + width] = (near % 2 ** (8 * width)).to_bytes(width, order)


INJURIES: list[Callable[[bytearray, random.Random], None]] = [
    _flip,
    _odd_number,
    _truncate,
    _leave_out,
    _zeros,
    _word,
    _overwrite,
    _repeat,
    _reorder,
    _header,
]


def _inside_zip(data: bytes, rng: random.Random) -> bytes:
    """An archive with one member damaged, twice there, renamed, gone, or the archive itself."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = [(name, old.read(name)) for name in old.namelist()]
    i, kind = rng.randrange(len(members)), rng.randrange(8)
    name, content = members[i]
    if kind < 4:
        members[i] = (name, damaged(content, rng))
    elif kind == 4:
        members[i] = (name, data)  # an archive in itself
    elif kind == 5:
        members.append((name, content))
    elif kind == 6:
        members[i] = (rng.choice(["../out.csv", "/tmp/out.csv", name + "x", name * 300]), content)
    else:
        del members[i]
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        warnings.simplefilter("ignore")  # a name twice
        for member, text in members:
            new.writestr(member[:60_000], text)
    return out.getvalue()


def _inside_gzip(data: bytes, rng: random.Random) -> bytes:
    content = damaged(gzip.decompress(data), rng)
    return gzip.compress(gzip.compress(content) if rng.random() < 0.2 else content)


def _inside_json(data: bytes, rng: random.Random) -> bytes:
    """A document with one value, or one list, in another's place."""
    try:
        document = json.loads(data)
    except ValueError:  # it begins like one
        return data[::-1]
    places: list[tuple[Any, Any]] = []
    values: list[Any] = [[], {}, None, True, -1, 1e308, 10**400, "", "x" * 10**5, [[1]], {"a": {}}, "\u202e", "\0"]

    def visit(node: Any) -> None:
        values.append(node)
        for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            places.append((node, key))
            visit(value)

    visit(document)
    for _ in range(rng.choice([1, 1, 2])):
        if places:
            node, key = rng.choice(places)
            node[key] = json.loads(json.dumps(rng.choice(values)))
    return json.dumps(document).encode()


INSIDE = {b"PK": _inside_zip, b"\x1f\x8b": _inside_gzip, b"{": _inside_json, b"[": _inside_json}


@dataclass
class Reader:
    """A process that reads files one after the other; it is started again when one of them ends it."""

    process: subprocess.Popen | None = None

    def read(self, target: str, path: Path) -> str:
        """`fine`, `refused`, or what went wrong."""
        self.ready()
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{target}\t{path}\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._end()
        if not select.select([process.stdout], [], [], SECONDS)[0]:
            self.close()
            return f"took more than {SECONDS} s"
        line = process.stdout.readline().strip()
        return line or self._end()

    def ready(self) -> None:
        """Start the process where there is none."""
        if self.process is None or self.process.poll() is not None:
            self._start()

    def _start(self) -> None:
        self.close()
        command = [sys.executable, "-W", "ignore", str(HERE / "fuzz.py"), "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()  # it has loaded what it needs: that is no file's time

    def _end(self) -> str:
        assert self.process is not None
        code = self.process.wait()
        self.close()
        return f"ended the process with code {code}"

    def close(self) -> None:
        """End the process."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.process = None


PARSERS = ("arrow", "avro", "geopackage", "hdf5", "raster", "statistical", "workbook")
LIBRARIES = ("fastavro", "h5py", "openpyxl", "pandas", "pyarrow", "pyreadstat", "rasterio")


def start_once() -> None:
    """Have files parsed by forks of one process with all libraries: starting Python anew takes longer than a file.

    A fork has the limits of the process that parses a file for a user, and gives the same answers.
    """
    import multiprocessing

    from sumwise.io import child, sandbox

    os.environ[child.POOL] = "system"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", *(f"sumwise.io.parsers.{name}" for name in PARSERS), *LIBRARIES])

    here, plainly = os.getpid(), sandbox._run

    def run(command: list[str], seconds: float) -> tuple[int, bytes]:
        if os.getpid() != here:  # a command with limited memory works in a child, which has no such server
            return plainly(command, seconds)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=parse_in_fork, args=(theirs, *command[-2:]), daemon=True)
        process.start()
        theirs.close()
        try:
            if ours.poll(seconds):
                return ours.recv()
            return child.TIMED_OUT, b""
        except EOFError:
            process.join()
            return 128 - (process.exitcode or 0), b""
        finally:
            process.kill()
            process.join()
            ours.close()

    sandbox._run = run


def parse_in_fork(answers: Any, parser: str, asked: str) -> None:
    """What the process that parses a file does, but for its start and its watch."""
    import faulthandler

    from sumwise.io import child

    faulthandler.disable()
    given = json.loads(asked)
    child.limit(given["memory"], given["seconds"])
    answers.send(child.answered(parser, given["path"], given["options"]))


def serve() -> None:
    """Read the files that standard input names, and say what came of each."""
    import resource

    sys.path.insert(0, str(HERE))
    import targets

    from sumwise.errors import SumwiseError

    start_once()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    answers.write("ready\n")
    answers.flush()

    def used() -> tuple[float, int]:
        """Processor time so far, and the most memory that a process had in use."""
        own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
        return seconds, 1024 * max(own.ru_maxrss, others.ru_maxrss)

    for line in sys.stdin:
        target, _, path = line.rstrip("\n").partition("\t")
        before, there = used(), set(os.listdir(Path(path).parent))
        try:
            targets.READ[target](Path(path))
            said = "fine"
        except SumwiseError:
            said = "refused"
        except BaseException as error:
            text = " ".join(str(error).split())[:150]
            trace, place = error.__traceback__, ""
            while trace is not None:
                if "sumwise" in trace.tb_frame.f_code.co_filename:
                    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
                trace = trace.tb_next
            said = f"raised {type(error).__name__} at {place}: {text}"
        after = used()
        if after[0] - before[0] > CPU_SECONDS:
            said = f"took {after[0] - before[0]:.0f} s of processor time"
        elif after[1] > max(MEMORY, before[1]):
            said = f"took {after[1] / 2**20:.0f} MiB"
        elif set(os.listdir(Path(path).parent)) != there:
            said = "left another file"
        answers.write(said + "\n")
        answers.flush()


def fuzz(names: list[str], cases: int, seconds: float, seed: int, findings: Path) -> dict[str, dict[str, int]]:
    """Fuzz some targets in turn, until there were so many cases of each or the time is over."""
    sys.path.insert(0, str(HERE))
    import targets

    tally: dict[str, dict[str, int]] = {name: {} for name in names}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        examples = targets.seeds(Path(place))
        reader, rng = Reader(), random.Random(seed)
        spent = dict.fromkeys(names, 0.0)
        while time.monotonic() < end and min(sum(counts.values()) for counts in tally.values()) < cases:
            name = min(spent, key=spent.__getitem__)  # each target has an equal time
            ending, whole = examples[name]
            data = rng.choice(whole)
            data = targets.forged(data, rng) if name == "forged" else damaged(data, rng)
            path = Path(place) / f"case{ending}"
            path.write_bytes(data)
            reader.ready()
            began = time.monotonic()
            said = reader.read(name, path)
            spent[name] += time.monotonic() - began
            kind = said if said in ("fine", "refused") else "FOUND"
            tally[name][kind] = tally[name].get(kind, 0) + 1
            if kind == "FOUND":
                findings.mkdir(parents=True, exist_ok=True)
                kept = findings / f"{name}-{seed}-{sum(tally[name].values())}{ending}"
                kept.write_bytes(data)
                print(f"{name}: {said} ({kept.name})", flush=True)
        reader.close()
    return tally


def main() -> int:
    """Fuzz from the command line; the exit code is 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--cases", type=int, default=10**9, help="of each target")
    parser.add_argument("--seconds", type=float, default=120, help="for all of them (default 120)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=Path, default=Path(".cache/fuzz"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    sys.path.insert(0, str(HERE))
    import targets

    names = options.targets or list(targets.READ)
    tally = fuzz(names, options.cases, options.seconds, options.seed, options.findings)
    for name, counts in tally.items():
        print(f"{name:10}", "  ".join(f"{kind} {n}" for kind, n in sorted(counts.items())))
    return 1 if any("FOUND" in counts for counts in tally.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
