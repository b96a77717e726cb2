"""Progress: silent by default, a bar on a terminal, plain lines elsewhere."""

import io
import os
import pty
import subprocess
import sys

import pytest

from messages import raises
from sumwise import progress as module
from sumwise.errors import DataError
from sumwise.progress import Progress, track


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now)
    return Clock


def test_silent_by_default(capfd):
    assert list(track(range(5), "Work")) == list(range(5))
    with Progress("Work", 3) as bar:
        bar.step(loss=1.0)
    assert capfd.readouterr() == ("", "")


def test_lines_go_to_standard_error_with_a_last_line(capsys):
    assert list(track(range(5), "Work", verbose=1)) == list(range(5))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Work: 5/5, ")
    assert err.endswith("s, done\n")
    assert err.count("\n") == 1


def test_lines_come_at_most_every_few_seconds(clock):
    stream = io.StringIO()
    with Progress("Work", 100, verbose=1, stream=stream) as bar:
        for _ in range(100):
            clock.now += 1.0
            bar.step()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 100 / module.SECONDS_BETWEEN_LINES + 1
    assert lines[0] == "Work: 5/100, 5.0 s"
    assert lines[-1] == "Work: 100/100, 100.0 s, done"


def test_every_step_has_its_line_when_very_verbose(clock):
    stream = io.StringIO()
    with Progress("EM", 2, verbose=2, stream=stream) as bar:
        bar.step(loss=0.123456789, part="a")
        bar.step(loss=1e-12)
    assert stream.getvalue().splitlines() == [
        "EM: 1/2, loss 0.123457, part a, 0.0 s",
        "EM: 2/2, loss 1e-12, part a, 0.0 s",
        "EM: 2/2, loss 1e-12, part a, 0.0 s, done",
    ]


def test_unknown_total_shows_the_count_alone(clock):
    stream = io.StringIO()
    with Progress("Rows", verbose=1, stream=stream) as bar:
        bar.step(40)
    assert stream.getvalue() == "Rows: 40, 0.0 s, done\n"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_error_passes_through_and_the_last_line_says_where(clock, kind):
    stream = io.StringIO()

    def work():
        with Progress("Work", 9, verbose=1, stream=stream) as bar:
            bar.step(4)
            raise kind

    with pytest.raises(kind):
        work()
    assert stream.getvalue() == "Work: 4/9, 0.0 s, stopped\n"


def test_leaving_a_tracked_loop_early_is_said(capsys):
    tracked = track(range(10), "Search", verbose=1)
    next(tracked), next(tracked)
    tracked.close()
    assert "Search: 1/10" in (err := capsys.readouterr().err)
    assert err.endswith("left early\n")


def test_rich_is_loaded_only_for_a_bar():
    code = (
        "import sys; from sumwise.progress import track; list(track(range(3), 'a', verbose=1));"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def on_terminal(code: str) -> tuple[int, str]:
    """Run Python code with a terminal as its standard error; the exit status and what it wrote there."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=subprocess.DEVNULL, env=env)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # the other side of a terminal was closed
        pass
    os.close(ours)
    return process.wait(), seen.decode()


SHOW, HIDE = "\x1b[?25h", "\x1b[?25l"


def test_bar_on_a_terminal_shows_label_count_and_values():
    code = """
from sumwise.progress import Progress
with Progress("Fit [x]", 3, verbose=1) as bar:
    for _ in range(3):
        bar.step(loss=0.25)
"""
    status, seen = on_terminal(code)
    assert status == 0
    assert "Fit [x]" in seen
    assert "3/3" in seen
    assert "loss 0.25" in seen
    assert seen.rindex(SHOW) > seen.rindex(HIDE)  # the cursor is back


def test_bars_within_each_other_share_one_display():
    code = """
from sumwise.progress import track, _Bar
for _ in track(range(2), "Outer", verbose=1):
    for _ in track(range(3), "Inner", verbose=1):
        pass
    assert _Bar.users == 1
assert _Bar.users == 0 and _Bar.display is None
"""
    status, seen = on_terminal(code)
    assert status == 0, seen
    assert "Outer" in seen
    assert "Inner" in seen
    assert seen.count(SHOW) == 1


def test_interruption_leaves_the_terminal_clean():
    code = """
from sumwise.progress import track
try:
    for i in track(range(9), "Work", verbose=1):
        if i == 4:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    raise SystemExit(7)
"""
    status, seen = on_terminal(code)
    assert status == 7
    assert seen.rindex(SHOW) > seen.rindex(HIDE)


def test_what_can_not_be_shown_is_refused():
    with raises(DataError, "verbose-nothing-bar", "x"):
        list(track([1], "Adding", verbose="x"))
    with raises(DataError, "cant-iterate-over", "Adding", "NoneType"):
        list(track(None, "Adding"))


def test_what_is_under_way_says_how_long_it_will_take(clock):
    with Progress("Outer", 10) as outer:
        assert module.active == [outer]
        assert outer.seconds_left() is None
        clock.now += 6.0
        outer.step(3)
        assert outer.seconds_left() == 14.0
        with Progress("No total") as inner:
            inner.step()
            assert inner.seconds_left() is None
            assert module.active == [outer, inner]
    assert module.active == []
