"""A server for one result folder: this machine only, these files only, nothing but reading."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

__all__ = ["server_for"]

ADDRESS = "127.0.0.1"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def server_for(folder: Any, port: int = 0) -> ThreadingHTTPServer:
    """A server of a folder's files on 127.0.0.1; port 0 takes any that is free.

    Requests that come under another host name are refused, so that no page of another site can read the files by
    letting its name point here.

    Examples
    --------
    >>> import tempfile
    >>> from sumwise.cli.server import server_for
    >>> with server_for(tempfile.mkdtemp()) as server:
    ...     server.server_address[0]
    '127.0.0.1'
    """
    root = Path(folder).resolve()

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "sumwise", ""

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, body: bool) -> None:
            ports = cast("tuple[str, int]", self.server.server_address)[1]
            if self.headers.get("Host") not in (f"{ADDRESS}:{ports}", f"localhost:{ports}"):
                self.send_error(HTTPStatus.FORBIDDEN, "Wrong host")
                return
            path = _file(root, self.path)
            if path is None:
                self.send_error(HTTPStatus.NOT_FOUND, "No such file")
                return
            content = path.read_bytes()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", KINDS.get(path.suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(content)))
            for name, told in HEADERS.items():
                self.send_header(name, told)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing; the browser tells."""

    return ThreadingHTTPServer((ADDRESS, port), Handler)


def _file(root: Path, asked: str) -> Path | None:
    """The file of the folder that a path asks for: by its bare name, the report by a slash."""
    from urllib.parse import unquote, urlsplit

    name = unquote(urlsplit(asked).path).removeprefix("/") or "report.html"
    for path in root.iterdir():
        if path.name == name and not name.startswith(".") and path.is_file() and not path.is_symlink():
            return path
    return None
