"""The server: this machine, these files, this name."""

from __future__ import annotations

import http.client
import threading

import pytest

from sumwise.cli.server import server_for


@pytest.fixture
def port(tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "report.html").write_text("<p>hello")
    (folder / "a b.csv").write_text("x\n1\n")
    (folder / ".hidden").write_text("no")
    (folder / "inner").mkdir()
    (tmp_path / "secret.txt").write_text("no")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    with server_for(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def ask(port, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("path", ["/", "/report.html", "/?x=1"])
def test_the_report_is_shown(port, path):
    answer, body = ask(port, path)
    assert (answer.status, body) == (200, b"<p>hello")
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_other_files_by_their_names(port):
    assert ask(port, "/a%20b.csv")[1] == b"x\n1\n"
    assert ask(port, f"http://127.0.0.1:{port}/a%20b.csv", method="HEAD")[1] == b""


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/link.txt",
        "/.hidden",
        "/inner",
        "/inner/",
        "//etc/passwd",
        "/nothing",
    ],
)
def test_nothing_else_can_be_read(port, path):
    assert ask(port, path)[0].status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil.example"])
def test_other_host_names_are_refused(port, host):
    assert ask(port, "/", host)[0].status == 403


def test_localhost_is_this_machine_and_only_reading_is_possible(port):
    assert ask(port, "/", f"localhost:{port}")[0].status == 200
    assert ask(port, "/", method="POST")[0].status == 501
