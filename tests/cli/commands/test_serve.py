"""The command serve: says where, and ends by Ctrl-C."""

from __future__ import annotations

import json
import socket

import uvicorn

from study_cases import ecological
from sumwise.cli import main
from sumwise.cli.study.fitting import fit_problem


def interrupted(self, sockets=None):
    raise KeyboardInterrupt


def test_serve_says_where_and_ends_by_ctrl_c(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    assert main(["serve", str(tmp_path / "ws"), "--port", "0", "--json"]) == 130
    address = json.loads(capsys.readouterr().out)["url"]
    assert address.startswith("http://127.0.0.1:")
    assert len(address.split("/")[3]) >= 24
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", str(tmp_path / "ws"), "--port", str(taken.getsockname()[1])]) == 2
    assert "can't be used" in capsys.readouterr().err


def test_serve_shows_a_finished_result(tmp_path, capsys, monkeypatch):
    fit_problem(ecological(tmp_path), tmp_path / "r")
    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    assert main(["serve", str(tmp_path / "r"), "--port", "0"]) == 130
    assert "http://127.0.0.1:" in capsys.readouterr().out
