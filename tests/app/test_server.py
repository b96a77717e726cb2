"""The app's server: who may ask, and a person's way from a file to a report."""

import io
import json
import threading
import time
import zipfile
from urllib.parse import quote

import pytest

from app_client import running
from sumwise import synthetic
from sumwise.app import server as served
from sumwise.app.workspace import Workspace
from sumwise.io.formats import write_margins


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running(served.App(Workspace(tmp_path_factory.mktemp("ws") / "studies"))) as found:
        yield found


def test_the_page_comes_with_its_policy(client):
    answer, body = client("/")
    assert answer.status == 200
    assert b"Studies" in body
    policy = answer.getheader("Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert answer.getheader("X-Frame-Options") == "SAMEORIGIN"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert client("/static/app.js")[0].status == 200
    assert client("/static/app.html")[0].status == 400
    assert b"http" not in body.replace(b"<!doctype html>", b"")  # nothing from elsewhere


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_other_hosts_and_origins_are_refused(client, headers):
    assert client("/api/studies", **headers)[0].status == 403
    assert client("/api/quit", "POST", b"{}", **headers)[0].status == 403


@pytest.mark.parametrize("token", ["", "x", "studies"])
def test_nothing_is_there_without_the_token(client, token):
    assert client("/api/studies", token=token)[0].status == 404


def test_from_a_file_to_a_report(client, tmp_path):
    write_margins(synthetic.precincts(30, random_state=0).margins, tmp_path / "votes.csv")
    name = client.json("/api/upload/votes.csv", "PUT", (tmp_path / "votes.csv").read_bytes())["study"]
    found = client.json(f"/api/studies/{name}/suggest", "POST", {})
    assert found["values"]["family"] == "ecological"
    values = {**found["values"], "method": "Bounds"}
    assert "error" not in client.json(f"/api/studies/{name}/problem", "POST", {"values": values})
    refused = client.json(f"/api/studies/{name}/run", "POST", {"values": {**values, "family": "ecologic"}})
    assert "ecologic" in refused["error"]
    assert client.json(f"/api/studies/{name}/job")["status"] == "none"
    asked = {"values": {**values, "title": "<b>Votes</b>"}}  # saved by the request that starts the run
    started = client.json(f"/api/studies/{name}/run", "POST", asked)
    assert (started["status"] in ("queued", "running"), started["reading"]["values"]["title"]) == (True, "<b>Votes</b>")
    for _ in range(1500):
        job = client.json(f"/api/studies/{name}/job")
        if job["status"] not in ("queued", "running"):
            break
        time.sleep(0.2)
    assert job["status"] == "done", job
    facts = client.json(f"/api/studies/{name}")
    assert "report.html" in facts["result"]
    answer, page = client(f"/files/{name}/{facts['root']}report.html")
    assert "sandbox" in answer.getheader("Content-Security-Policy")
    answer, picture = client(f"/thumbnail/{name}")
    assert answer.getheader("Content-Type").startswith("image/svg+xml")
    assert picture.startswith(b"<svg xmlns=")
    assert picture.partition(b"</style>")[2] in page
    assert b"&lt;b&gt;Votes&lt;/b&gt;" in page
    answer, packed = client(f"/zip/{name}")
    assert "report.html" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert client.json("/api/studies")[0]["title"] == "<b>Votes</b>"
    assert client(f"/files/{name}/problem.toml")[1].startswith(b"# a problem file")


def test_an_example_is_a_study_of_its_own(client):
    name = client.json("/api/example/proportions", "POST", {})["study"]
    again = client.json("/api/example/proportions", "POST", {})["study"]
    assert name != again
    assert client.json(f"/api/studies/{name}")["files"] == ["districts.csv", "people.csv"]
    assert "no example" in client.json("/api/example/other", "POST", {})["error"]
    assert client(f"/thumbnail/{name}")[0].status == 400  # no result yet


def test_a_problem_that_cannot_be_read_is_not_saved(client):
    name = client.json("/api/upload/few.csv", "PUT", b"unit,young,old,yes,no\na,6,4,5,5\nb,1,9,3,7\n")["study"]
    client.json(f"/api/studies/{name}/suggest", "POST", {})
    before = client(f"/files/{name}/problem.toml")[1]
    refused = client.json(f"/api/studies/{name}/problem", "POST", {"text": 'family = "ecologic"'})
    assert "ecologic" in refused["error"]
    assert client(f"/files/{name}/problem.toml")[1] == before


def test_bad_requests_are_answered_in_words(client):
    assert "no study" in client.json("/api/studies/nothing")["error"]
    assert client("/api/studies/nothing")[0].status == 404
    assert "ending" in client.json("/api/upload/x.exe", "PUT", b"MZ")["error"]
    assert "not valid JSON" in client.json("/api/studies/few/problem", "POST", b"{")["error"]
    assert "no file" in client.json("/api/studies/few/tables", "POST", {"file": "../../secret"})["error"]
    assert "not valid JSON" in client.json("/api/studies/few/problem", "POST", b'{"values":' + b"[" * 100_000)["error"]
    assert "can't be read" in client.json("/api/studies/few/problem", "POST", {"text": ["family"]})["error"]
    assert "can't be read" in client.json("/api/studies/few/problem", "POST", {})["error"]
    assert "no mechanism" in client.json("/api/studies/few/release", "POST", {"mechanism": "--out"})["error"]
    assert client("/files/few/../../x")[0].status in (400, 404)
    for values in ({"family": "ecological", "data": ["../../x"]}, {"family": 3}, [1], None):
        assert client("/api/studies/few/problem", "POST", json.dumps({"values": values}).encode())[0].status in (
            200,
            400,
        )
    assert client("/api/studies/few/tables", "POST", b'{"file": "few.csv", "order": 1e400}')[0].status == 400
    for path in ("%00", "few.csv%00.html", "..%2f..%2fx", "%2e%2e/%2e%2e/x", "a/" * 3000, "a" * 5000, "%ff"):
        assert client(f"/files/few/{path}")[0].status == 400


def test_files_of_any_name_are_downloaded_under_it(client):
    folder = client.app.workspace.folder / "few"
    for name in ("caf\u00e9 \u20ac.csv", 'q"uo;te.csv'):
        (folder / name).write_text("a\n1\n")
        answer, body = client(f"/files/few/{quote(name)}")
        (folder / name).unlink()
        assert answer.status == 200, body
        assert answer.getheader("Content-Disposition") == f"attachment; filename*=utf-8''{quote(name)}"


def test_a_result_in_a_folder_of_any_name_is_downloaded(tmp_path):
    name = 'Łódź "x"'
    (tmp_path / name).mkdir()
    for file in ("summary.json", "provenance.json"):
        (tmp_path / name / file).write_text("{}")
    with running(served.App(Workspace(tmp_path / name))) as client:
        answer, body = client(f"/zip/{quote(name)}")
    assert answer.status == 200, body
    assert answer.getheader("Content-Disposition") == f"attachment; filename*=utf-8''{quote(name)}.zip"
    assert zipfile.ZipFile(io.BytesIO(body)).namelist() == ["provenance.json", "summary.json"]


def test_a_damaged_study_leaves_the_others_in_the_list(client):
    folder = client.app.workspace.folder / "damaged"
    (folder / "result").mkdir(parents=True)
    for name, text in (("summary.json", "[1]"), ("provenance.json", "{}")):
        (folder / "result" / name).write_text(text)
    assert {"few", "damaged"} <= {s["name"] for s in client.json("/api/studies")}


def test_many_requests_at_once_are_all_answered(client):
    done = []

    def one():
        done.append(client("/api/studies")[0].status)

    threads = [threading.Thread(target=one) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert done == [200] * 60
