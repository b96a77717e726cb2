"""When the app was last used, and an upload that is cut off."""

import socket

from app_client import running
from sumwise.app import server as served
from sumwise.app.workspace import Workspace


def test_an_upload_that_is_cut_off_leaves_nothing_and_no_trace(tmp_path, capfd):
    with running(served.App(Workspace(tmp_path / "studies"))) as client:
        place = f"/{client.app.token}/api/upload/votes.csv"
        head = f"PUT {place} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000000\r\n\r\nunit,"
        with socket.create_connection(("127.0.0.1", client.port), timeout=120) as cut:
            cut.sendall(head.encode())
            while not list((tmp_path / "studies").glob("*/.*.tmp")):
                assert client("/api/studies")[0].status == 200
            cut.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        while list((tmp_path / "studies").iterdir()):
            assert client("/api/studies")[0].status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_idle_time_begins_after_the_last_request_and_the_last_job():
    now = [0.0]
    use = served.Use(lambda: now[0])
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
    app.use = served.Use(lambda: now[0])

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
    with running(served.App(Workspace(tmp_path / "studies"))) as client:
        client.app.use.last = -1e9
        client("/api/studies")
        assert client.app.use.idle() < 1e8
