"""The command serve: until Ctrl-C, on a result only."""

from __future__ import annotations

import json
import socket

from study_cases import ecological
from sumwise.cli import main, server
from sumwise.study.fitting import fit_problem


def test_serve_says_where_and_ends_by_ctrl_c(tmp_path, capsys, monkeypatch):
    fit_problem(ecological(tmp_path), tmp_path / "r")

    def interrupted(self, poll_interval=0.5):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.ThreadingHTTPServer, "serve_forever", interrupted)
    assert main(["serve", str(tmp_path / "r"), "--port", "0", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["url"].startswith("http://127.0.0.1:")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", str(tmp_path / "r"), "--port", str(taken.getsockname()[1])]) == 2
    assert "can't be used" in capsys.readouterr().err


def test_serve_needs_a_result(tmp_path, capsys):
    assert main(["serve", str(tmp_path)]) == 2
    assert "no result" in capsys.readouterr().err
