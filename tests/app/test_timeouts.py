"""Clients that are slow on purpose: each loses its connection, and others are answered meanwhile."""

import asyncio
import contextlib
import socket
import time

import pytest

from app_client import running
from sumwise.app import server as served
from sumwise.app import timeouts
from sumwise.app.workspace import Workspace
from sumwise.errors import DataError

pytest.importorskip("starlette", reason="the extra 'serve' isn't installed")
pytest.importorskip("uvicorn", reason="the extra 'serve' isn't installed")

NEVER = 1e6  # seconds; a limit that a test doesn't mean


@contextlib.contextmanager
def serving(tmp_path, **limits):
    given = {"request": NEVER, "body": NEVER, "unread": NEVER, **limits}
    with running(served.App(Workspace(tmp_path / "studies"), limits=timeouts.Limits(**given))) as client:
        yield client


@contextlib.contextmanager
def connected(client, sent=b""):
    with socket.create_connection(("127.0.0.1", client.port), timeout=120) as connection:
        connection.sendall(sent)
        yield connection


def allow(client, **limits):
    """Set limits that hold from now on."""
    for name, seconds in limits.items():
        object.__setattr__(client.app.limits, name, seconds)


def everything(connection):
    """What a server sends until it ends the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127"])
def test_a_request_that_never_ends_loses_its_connection(tmp_path, sent):
    with serving(tmp_path, request=0.05) as client, connected(client, sent) as slow:
        assert everything(slow) == b""
        allow(client, request=NEVER)  # a busy machine is slow to ask, too
        assert client("/api/studies")[0].status == 200


def test_a_body_that_trickles_in_after_the_answer_does_not_keep_the_connection(tmp_path):
    with serving(tmp_path) as client:
        head = f"POST /none HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000000\r\n\r\n".encode()
        with connected(client) as slow:
            while not client.server.server_state.connections:
                time.sleep(0.01)  # until the server has taken it, with time enough for the head
            allow(client, request=0.05)
            slow.sendall(head)
            assert slow.recv(65536).startswith(b"HTTP/1.1 404")
            slow.settimeout(0.02)
            ended = False
            for _ in range(3000):
                try:
                    slow.sendall(b"x")
                    ended = slow.recv(1) == b""
                except TimeoutError:
                    continue
                except ConnectionError:
                    ended = True
                if ended:
                    break
            assert ended


def test_an_upload_that_stalls_is_ended_and_leaves_nothing(tmp_path):
    with serving(tmp_path, body=0.05, slowest=1e12) as client:
        place = f"/{client.app.token}/api/upload/votes.csv"
        head = f"PUT {place} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000000\r\n\r\nunit,"
        with connected(client, head.encode()) as slow:
            answer = b""
            while b"again" not in answer:
                answer += slow.recv(65536) or b"again: the connection ended"
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"stalled after 5 bytes" in answer
        assert list((tmp_path / "studies").iterdir()) == []


def test_an_upload_that_is_cut_off_leaves_nothing_and_no_trace(tmp_path, capfd):
    with serving(tmp_path) as client:
        place = f"/{client.app.token}/api/upload/votes.csv"
        head = f"PUT {place} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000000\r\n\r\nunit,"
        with connected(client, head.encode()) as cut:
            while not list((tmp_path / "studies").glob("*/.*partial")):
                assert client("/api/studies")[0].status == 200
            cut.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        while list((tmp_path / "studies").iterdir()):
            assert client("/api/studies")[0].status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_silent_connections_make_way_for_a_person(tmp_path):
    with serving(tmp_path, connections=5) as client, contextlib.ExitStack() as held:
        for number in range(30):
            held.enter_context(connected(client, b"GET /" * (number % 2)))
        for _ in range(3):
            assert client("/api/studies")[0].status == 200


def test_an_answer_that_nobody_reads_is_given_up(tmp_path):
    with serving(tmp_path, unread=0.05) as client:
        study = tmp_path / "studies" / "large"
        study.mkdir(parents=True)
        with (study / "data.csv").open("wb") as out:
            out.truncate(64 * 2**20)
        head = f"GET /{client.app.token}/files/large/data.csv HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n"
        with connected(client, head.encode()) as deaf:
            assert deaf.recv(4) == b"HTTP"
            while client.server.server_state.connections:
                time.sleep(0.01)
            assert len(everything(deaf)) < 64 * 2**20
        allow(client, unread=NEVER)
        assert client("/api/studies")[0].status == 200


def test_time_for_a_body_grows_with_what_came():
    limits = timeouts.Limits(body=0.05, slowest=1.0)  # a second for every byte
    messages = [{"type": "http.request", "body": b"x" * 1000, "more_body": True}]

    async def receive():
        if messages:
            return messages.pop()
        await asyncio.sleep(0.2)  # longer than `body` alone allows
        return {"type": "http.request", "body": b"", "more_body": False}

    async def both():
        timed = timeouts.patient_receive(receive, limits)
        return await timed(), await timed()

    assert [m["more_body"] for m in asyncio.run(both())] == [True, False]

    async def nothing():
        await asyncio.sleep(NEVER)

    with pytest.raises(DataError, match="stalled after 0 bytes"):
        asyncio.run(timeouts.patient_receive(nothing, limits)())


def test_idle_time_begins_after_the_last_request_and_the_last_job():
    now = [0.0]
    use = timeouts.Use(lambda: now[0])
    now[0] = 40.0
    assert use.idle() == 40.0
    with use.of_request():
        now[0] = 100.0
        assert use.idle() == 0.0  # an upload takes its time
    now[0] = 130.0
    assert use.idle() == 30.0
    assert use.idle(busy=True) == 0.0
    now[0] = 135.0
    assert use.idle() == 5.0


def test_a_server_stops_when_nobody_uses_it_and_not_while_a_job_runs(tmp_path):
    app, stopped, looks = served.App(Workspace(tmp_path / "studies")), [], []
    now = [0.0]
    app.use = timeouts.Use(lambda: now[0])

    class Busy:
        @property
        def busy(self):
            now[0] += 60.0
            looks.append(now[0])
            return now[0] <= 180.0

    app.jobs.close()
    app.jobs, app.stop = Busy(), lambda: stopped.append(now[0])
    served.stop_when_idle(app, 100.0, pause=0.0)
    assert stopped == [300.0]  # the job ended after 180 s
    assert looks == [60.0, 120.0, 180.0, 240.0, 300.0]


def test_a_request_is_use(tmp_path):
    with serving(tmp_path) as client:
        client.app.use.last = -1e9
        client("/api/studies")
        assert client.app.use.idle() < 1e8
