"""Damaged and forged files for every reader, read in a process of their own: `make fuzz`, or see --help.

A file may be read or refused by one of our own errors. Anything else is a finding: another error, a crash, a file
that takes more than `SECONDS`, or more than `MEMORY`. Findings are written to a folder; one that is understood goes to
`corpus/` as it is, where `test_corpus.py` reads it ever after.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
SECONDS = 60  # for one file; generous, so that a busy machine is no finding
MEMORY = 6 * 2**30  # address space of the process that reads
ODD = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**62, 2**63 - 1, 2**64 - 1]
WORDS = [b"'", b'"', b'""', b"\0", b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf", b"1e999"]
WORDS += [b"-0", b"nan", b"inf", b"'); DROP TABLE x; --", b"=1+1", b"{", b"}", b"[", b"\xe2\x80\xa8", b"9" * 400]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with one to four injuries."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not out:
            break
        at, kind = rng.randrange(len(out)), rng.randrange(7)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            width = rng.choice([1, 2, 4, 8])
            out[at : at + width] = (rng.choice(ODD) % 2 ** (8 * width)).to_bytes(width, rng.choice(["little", "big"]))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + rng.randint(1, 64)]
        elif kind == 4:
            out[at : at + rng.randint(1, 200)] = bytes(rng.randint(1, 200))
        elif kind == 5:
            out[at:at] = rng.choice(WORDS) * rng.choice([1, 1, 3, 100])
        else:
            piece = out[at : at + rng.randint(1, 200)]
            to = rng.randrange(len(out))
            out[to : to + len(piece)] = piece
    return bytes(out)


@dataclass
class Reader:
    """A process that reads files one after the other; it is started again when one of them ends it."""

    process: subprocess.Popen | None = None

    def read(self, target: str, path: Path) -> str:
        """`fine`, `refused`, or what went wrong."""
        if self.process is None or self.process.poll() is not None:
            self._start()
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

    def _start(self) -> None:
        self.close()
        command = [sys.executable, "-W", "ignore", str(HERE / "fuzz.py"), "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

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


def serve() -> None:
    """Read the files that standard input names, and say what came of each."""
    import resource

    sys.path.insert(0, str(HERE))
    import targets

    from sumwise.errors import SumwiseError

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    for line in sys.stdin:
        target, _, path = line.rstrip("\n").partition("\t")
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
        for i in range(cases):
            for name in names:
                ending, whole = examples[name]
                data = rng.choice(whole)
                data = targets.forged(data, rng) if name == "forged" else damaged(data, rng)
                path = Path(place) / f"case{ending}"
                path.write_bytes(data)
                said = reader.read(name, path)
                kind = said if said in ("fine", "refused") else "FOUND"
                tally[name][kind] = tally[name].get(kind, 0) + 1
                if kind == "FOUND":
                    findings.mkdir(parents=True, exist_ok=True)
                    kept = findings / f"{name}-{seed}-{i}{ending}"
                    kept.write_bytes(data)
                    print(f"{name}: {said} ({kept.name})", flush=True)
                if time.monotonic() > end:
                    reader.close()
                    return tally
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
