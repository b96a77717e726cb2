"""A bare container: every mount read-only, no HOME, no folder for temporary files, a user who isn't root."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sumwise
from study_cases import votes

NOBODY = "65534"
READ_ONLY = """
mount --make-rprivate / && mount -t tmpfs tmpfs "$1" || exit 99
mount -t tmpfs -o ro tmpfs /dev/shm
awk '{print $2}' /proc/self/mounts | while read -r place; do
  case "$place" in "$1"|/proc|/proc/*|/sys|/sys/*|/dev|/dev/*) ;; *) mount -o remount,bind,ro "$place" ;; esac
done 2>/dev/null
cd "$2" && shift 2 && exec "$@"
"""
COMMANDS = """
set -e
test "$(id -u)" != 0
for place in / /tmp /var/tmp . "$SOURCE"; do
  if (: > "$place/sumwise-test") 2>/dev/null; then echo "$place can be written"; exit 98; fi
done
"$@" init votes.csv --out out/problem.toml
"$@" init latin.csv --out out/latin.toml
"$@" fit out/problem.toml --out out/result
"$@" predict --help > /dev/null
if "$@" fit out/problem.toml --out result 2> out/refusal; then exit 97; fi
cat out/refusal out/result/summary.json
ls -A out out/result
"""


@pytest.fixture
def bare(tmp_path):
    """A function that runs the commands in the namespace."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("namespaces are made by unshare of Linux")
    (tmp_path / "out").mkdir()
    script = tmp_path / "read-only.sh"
    script.write_text(READ_ONLY)

    def run(*command):
        start = ["unshare", "-Urm", "sh", script, tmp_path / "out", tmp_path, "unshare", "--user"]
        start += [f"--map-user={NOBODY}", f"--map-group={NOBODY}", "env", "-i", "PATH=/usr/bin:/bin"]
        return subprocess.run([*map(str, start), *command], capture_output=True, text=True, check=False)

    tried = run("sh", "-c", "test ! -w . && : > out/x")
    if tried.returncode:
        pytest.skip(f"this system allows no namespace with read-only mounts: {tried.stderr.strip()[:200]}")
    return run


@pytest.mark.long
def test_import_init_and_fit_where_nothing_else_can_be_written(bare, tmp_path):
    votes(12).to_csv(tmp_path / "votes.csv", index=False)
    votes(12).rename(columns={"yes": "oui, été"}).to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    source = Path(sumwise.__file__).parents[1]
    done = bare(f"SOURCE={source}", f"PYTHONPATH={source}", "sh", "-c", COMMANDS, "sh", sys.executable, "-m", "sumwise")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Read-only file system" in done.stdout
    assert "report.html" in done.stdout
    assert "matplotlib-" not in done.stdout  # the folder that it had beside the result is gone
