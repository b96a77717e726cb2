"""The app's server: 127.0.0.1 only, a token in the address, Host and Origin checked, nothing from elsewhere."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import tempfile
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sumwise.app.jobs import Jobs
from sumwise.app.reading import problem_text
from sumwise.app.workspace import Workspace, read_json, read_object
from sumwise.errors import DataError, SumwiseError
from sumwise.io.writer import write_text

ADDRESS = "127.0.0.1"
MOST_JSON = 2**20  # bytes of a request other than an upload
MOST_CONNECTIONS = 100  # that are open at once; others are answered that the server is busy
MOST_SECONDS = 120.0  # of reading a file in a child process
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
POLICY += "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
REPORT_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
REPORT_POLICY += "form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads "
REPORT_POLICY += "allow-modals"  # to print; the frame on the page of the app forbids them
UNREADABLE = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
FIRST_PICTURE = re.compile(r'<div class="(?:narrow|both)">(<svg xmlns=.*?</svg>)', re.DOTALL)
INK = "<style>svg{color:#1b1b1b}@media(prefers-color-scheme:dark){svg{color:#ececec}}</style>"  # of a picture by itself
STATIC = {"app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8"}
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
    ".log": "text/plain; charset=utf-8",
}


class App:
    """What the server answers; `asgi` is the application that a server library runs.

    Parameters
    ----------
    workspace : Workspace
    token : str, optional
        What every address begins with; drawn at random by default.
    jobs : Jobs, optional
    """

    def __init__(self, workspace: Workspace, token: str | None = None, jobs: Jobs | None = None) -> None:
        self.workspace = workspace
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.jobs = Jobs(workspace) if jobs is None else jobs
        self.stop: Callable[[], None] = lambda: None  # set by `serve`
        self.use = Use()
        self._read_first: set[str] = set()  # studies whose changes are read before their run begins

    def asgi(self) -> Any:
        """The application with its checks."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        study = "/api/studies/{name}"
        table = [
            ("/", self.index, "GET"),
            ("/static/{file}", self.static, "GET"),
            ("/api/studies", self.studies, "GET"),
            ("/api/upload/{file}", self.upload, "PUT"),
            ("/api/example/{family}", self.example, "POST"),
            (study, self.one_study, "GET"),
            (f"{study}/suggest", self.suggest, "POST"),
            (f"{study}/problem", self.problem, "POST"),
            (f"{study}/run", self.run, "POST"),
            (f"{study}/tables", self.tables, "POST"),
            (f"{study}/plan", self.plan, "POST"),
            (f"{study}/release", self.release, "POST"),
            (f"{study}/cancel", self.cancel, "POST"),
            (f"{study}/job", self.job, "GET"),
            ("/files/{name}/{path:path}", self.file, "GET"),
            ("/thumbnail/{name}", self.thumbnail, "GET"),
            ("/zip/{name}", self.zip, "GET"),
            ("/api/quit", self.quit, "POST"),
        ]
        routes = [Route(f"/{self.token}{place}", self._guarded(do), methods=[verb]) for place, do, verb in table]
        return _Checked(Starlette(routes=routes), self.use)

    def server(self) -> Any:
        """The server library's object that runs the application, with its limits."""
        import uvicorn

        config = uvicorn.Config(
            self.asgi(), ws="none", log_level="error", access_log=False, lifespan="off",
            timeout_keep_alive=10, limit_concurrency=MOST_CONNECTIONS, backlog=128, server_header=False,
        )  # fmt: skip
        server = uvicorn.Server(config)
        self.stop = lambda: setattr(server, "should_exit", True)
        return server

    def _guarded(self, do: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """The handler with errors of the input as JSON in place of a trace."""
        from starlette import responses
        from starlette.requests import ClientDisconnect

        async def answer(request: Any) -> Any:
            try:
                content = await do(request)
            except SumwiseError as error:
                body = {"error": error.message, "hint": error.hint or ""}
                return responses.JSONResponse(body, 404 if "no study" in error.message else 400)
            except UNREADABLE as error:  # something of the wrong kind or size in a request
                body = {"error": f"The request can't be read: {error!r:.200}.", "hint": "reload the page."}
                return responses.JSONResponse(body, 400)
            except ClientDisconnect:
                return responses.Response(status_code=400)  # nobody reads it
            return responses.JSONResponse(content) if isinstance(content, dict | list) else content

        return answer

    # --- pages and files

    async def index(self, _request: Any) -> Any:
        """The page."""
        text = files("sumwise.app").joinpath("static", "app.html").read_text("utf-8")
        return _response(text.replace("{{token}}", self.token), "text/html; charset=utf-8")

    async def static(self, request: Any) -> Any:
        """The page's script and style."""
        name = request.path_params["file"]
        if name not in STATIC:
            raise DataError(f"There is no file {name!r}.")
        return _response(files("sumwise.app").joinpath("static", name).read_bytes(), STATIC[name])

    async def file(self, request: Any) -> Any:
        """A file of a study; a report runs in a sandbox of its own."""
        path = self.workspace.file(request.path_params["name"], request.path_params["path"])
        if path is None:
            raise DataError("There is no such file.", hint="it may have been moved; reload the page.")
        kind = KINDS.get(path.suffix, "application/octet-stream")
        policy = REPORT_POLICY if path.suffix == ".html" else POLICY
        shown = path.suffix in (".html", ".json", ".toml", ".log")
        from starlette.responses import FileResponse

        response = FileResponse(
            path, media_type=kind, filename=None if shown else path.name
        )  # quoted, in whatever alphabet
        response.headers["Content-Security-Policy"] = policy
        return response

    async def thumbnail(self, request: Any) -> Any:
        """The first picture of a study's report."""
        result = self.workspace.result(request.path_params["name"])
        page = "" if result is None else (result / "report.html").read_text("utf-8")
        picture = FIRST_PICTURE.search(page)
        if picture is None:
            raise DataError("This report has no picture.")
        return _response(picture[1].replace(">", f">{INK}", 1), "image/svg+xml")

    async def zip(self, request: Any) -> Any:
        """The result of a study as one archive."""
        name = request.path_params["name"]
        result = self.workspace.result(name)
        if result is None:
            raise DataError("This study has no result yet.", hint="run it first.")
        content = await asyncio.to_thread(_zipped, result)
        response = _response(content, "application/zip")
        response.headers["Content-Disposition"] = f"attachment; filename*=utf-8''{quote(name, safe='')}.zip"
        return response

    # --- studies

    async def studies(self, _request: Any) -> Any:
        """All studies with their state."""
        return [self._facts(name) for name in self.workspace.names()]

    def _facts(self, name: str) -> dict[str, Any]:
        result = self.workspace.result(name)
        summary = {} if result is None else read_object(result / "summary.json") or _of_contests(result)
        root = "" if self.workspace.single else "result/"
        facts = {"name": name, "title": summary.get("title", ""), "method": summary.get("method", "")}
        job = {"status": "done"} if self.workspace.single else self._state(name)
        listed = [] if result is None else sorted(p.name for p in result.iterdir() if p.is_file())
        facts |= {"files": self.workspace.data_files(name), "job": job, "root": root, "result": listed}
        released = self.workspace.study(name) / "private-tables"
        files = sorted(p.name for p in released.iterdir() if p.is_file()) if released.is_dir() else []
        return facts | {"tables": (self.workspace.study(name) / "tables" / "summary.json").exists(), "released": files}

    async def upload(self, request: Any) -> Any:
        """Take a file; with ?study= it joins a study that has one already."""
        name = await self.workspace.receive(
            request.stream(), request.path_params["file"], request.query_params.get("study") or None
        )
        return {"study": name}

    async def example(self, request: Any) -> Any:
        """Make a study of the example files of a family, which the package carries."""
        from sumwise.datasets import example

        return {"study": self.workspace.take(example(request.path_params["family"]))}

    async def one_study(self, request: Any) -> Any:
        """A study; with ?reading=1 also its problem file, as it is read."""
        name = request.path_params["name"]
        facts = self._facts(name)
        path = self.workspace.study(name) / "problem.toml"
        if path.exists() and not self.workspace.single and request.query_params.get("reading"):
            facts["reading"] = await self._ask("check", str(path))
        return facts

    async def suggest(self, request: Any) -> Any:
        """Recognise the files of a study."""
        name, asked = request.path_params["name"], await _body(request)
        folder = self.workspace.study(name)
        paths = [str(folder / f) for f in self.workspace.data_files(name)]
        if not paths:
            raise DataError("This study has no files.", hint="drop one on the page.")
        answers = json.dumps(asked.get("answers") or {})
        return await self._ask("suggest", str(folder / "problem.toml"), str(asked.get("family") or ""), answers, *paths)

    async def problem(self, request: Any) -> Any:
        """Save a problem file, as text or as values, and read the data by it; a bad one is not saved."""
        return await self._save(request.path_params["name"], await _body(request))

    async def _save(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        text = asked["text"] if "text" in asked else problem_text(asked["values"], asked.get("contests", []))
        path = self.workspace.study(name) / "problem.toml"
        trial = path.with_name(f".problem.{secrets.token_hex(4)}.toml")  # two may save at once
        try:
            write_text(trial, text, private=True)
            reading = await self._ask("check", str(trial))
            if "error" in reading:
                reading["error"] = reading["error"].replace(trial.name, path.name)
            else:
                write_text(path, text, private=True)
        finally:
            trial.unlink(missing_ok=True)
        return reading

    # --- jobs

    async def run(self, request: Any) -> Any:
        """Fit; a run that was interrupted goes on, unless its problem or data have changed since.

        Values that are not saved yet come with the request and are saved first: a tab that is closed meanwhile loses
        nothing.
        """
        name, asked = request.path_params["name"], await _body(request)
        reading = {}
        if "values" in asked:
            self._read_first.add(name)
            try:
                reading = await self._save(name, asked)
            finally:
                self._read_first.discard(name)
        if "error" in reading:
            return reading
        if not (self.workspace.study(name) / "problem.toml").exists():
            raise DataError("There is no problem file yet.", hint="let the files be recognised first.")
        flags = ["--replace", "--restart", *(["--edition", "court"] if asked.get("court") else [])]
        if not asked.get("restart"):
            flags.append("--resume")  # goes on only where neither problem nor data have changed since
        job = self.jobs.start(name, "fit", ["fit", "problem.toml", "--out", "result", *flags])
        return job | {"reading": reading} if reading else job

    async def tables(self, request: Any) -> Any:
        """Count the rows of a study's file into tables."""
        name, asked = request.path_params["name"], await _body(request)
        source = _one_of(asked.get("file"), self.workspace.data_files(name), "file")
        arguments = ["aggregate", source, "--out", "tables", "--order", str(int(asked.get("order", 2)))]
        for attribute in asked.get("attributes", []):
            arguments += ["--attribute", str(attribute)]
        if asked.get("label"):
            arguments += ["--label", str(asked["label"])]
        return self.jobs.start(name, "tables", arguments)

    def _release_arguments(self, asked: dict[str, Any]) -> list[str]:
        mechanism = _one_of(asked.get("mechanism", "geometric"), ["geometric", "laplace", "gaussian"], "mechanism")
        arguments = ["release", "tables", "--epsilon", repr(float(asked.get("epsilon", 1.0))), "--mechanism", mechanism]
        if asked.get("delta"):
            arguments += ["--delta", repr(float(asked["delta"]))]
        return [*arguments, *(["--public-levels"] if asked.get("public_levels") else [])]

    async def plan(self, request: Any) -> Any:
        """What a release would spend and how much noise it would add; nothing is spent."""
        folder = self.workspace.study(request.path_params["name"])
        arguments = [*self._release_arguments(await _body(request)), "--plan", "--json"]
        return await _child([*self.jobs.command, *arguments], folder)

    async def release(self, request: Any) -> Any:
        """Spend the budget and write noisy tables."""
        name, asked = request.path_params["name"], await _body(request)
        arguments = [*self._release_arguments(asked), "--out", "private-tables"]
        if asked.get("total_epsilon"):
            arguments += ["--total-epsilon", repr(float(asked["total_epsilon"]))]
        return self.jobs.start(name, "release", arguments)

    async def cancel(self, request: Any) -> Any:
        """End a job."""
        return await asyncio.to_thread(self.jobs.cancel, request.path_params["name"])

    async def job(self, request: Any) -> Any:
        """Where a job stands."""
        return self._state(request.path_params["name"])

    def _state(self, name: str) -> dict[str, Any]:
        job = self.jobs.state(name)
        return {**job, "kind": "fit", "status": "queued", "lines": []} if name in self._read_first else job

    async def quit(self, _request: Any) -> Any:
        """End the server; a job that runs goes on."""
        self.jobs.close()
        asyncio.get_running_loop().call_later(0.2, self.stop)
        return {"stopped": True}

    async def _ask(self, *question: str) -> dict[str, Any]:
        return await _child([sys.executable, "-m", "sumwise.app.reading", *question], Path(question[1]).parent)


def _of_contests(result: Path) -> dict[str, str]:
    """The title of a result over several contests."""
    return {"title": f"{len(read_json(result / 'contests.json') or ())} contests"}


class Use:
    """When the app was last used: a request under way, or a job, is use.

    Parameters
    ----------
    clock : callable
        The time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.under_way = 0
        self.last = clock()

    @contextmanager
    def of_request(self) -> Iterator[None]:
        """Count a request as use, from its beginning to its end."""
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self.last = self.clock()

    def idle(self, busy: bool = False) -> float:
        """Seconds since the last use, 0 where a request or a job (`busy`) is under way."""
        if busy or self.under_way:
            self.last = self.clock()
        return self.clock() - self.last


class _Checked:
    """Wrap the application: requests are checked for Host, Origin and size, and every answer gets security headers."""

    def __init__(self, inner: Any, use: Use) -> None:
        self.inner = inner
        self.use = use

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        port = scope["server"][1]
        hosts = {f"{ADDRESS}:{port}", f"localhost:{port}"}
        origin = headers.get("origin")
        good = headers.get("host") in hosts and (origin is None or origin in {f"http://{h}" for h in hosts})
        if not good:
            from starlette.responses import PlainTextResponse

            response = PlainTextResponse("Forbidden", 403)
            await response(scope, receive, _with_headers(send))
            return
        with self.use.of_request():
            await self.inner(scope, receive, _with_headers(send))


def _with_headers(send: Any) -> Any:
    async def sender(message: Any) -> None:
        if message["type"] == "http.response.start":
            known = {k.lower() for k, _ in message["headers"]}
            extra = {**HEADERS, "Content-Security-Policy": POLICY}
            message["headers"] += [
                (k.encode(), v.encode()) for k, v in extra.items() if k.lower().encode() not in known
            ]
        await send(message)

    return sender


async def _body(request: Any) -> dict[str, Any]:
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MOST_JSON:
            raise DataError("The request is too large.")
    try:
        body = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise DataError("The request is not valid JSON.") from None
    if not isinstance(body, dict):
        raise DataError("The request is not a JSON object.")
    return body


async def _child(command: list[str], folder: Path) -> dict[str, Any]:
    """Run a command that answers in JSON; an error where it fails, dies or takes too long."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        out, err = await asyncio.wait_for(child.communicate(), MOST_SECONDS)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise DataError(
            f"Reading took longer than {MOST_SECONDS:.0f} s and was ended.", hint="use the command line for this file."
        ) from None
    try:
        return json.loads(out)
    except ValueError:
        words = err.decode("utf-8", "replace").strip().splitlines()
        message, _, hint = (words[-1] if words else "The file can't be read.").partition(" Hint: ")
        raise DataError(message.removeprefix("Error: "), hint=hint or "is the file complete?") from None


def _one_of(value: Any, options: list[str], what: str) -> str:
    if value not in options:
        raise DataError(f"There is no {what} {value!r}.", hint=f"there are {', '.join(options)}.")
    return value


def _zipped(folder: Path) -> bytes:
    with tempfile.TemporaryFile() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.is_symlink():
                    archive.write(path, path.name)
        out.seek(0)
        return out.read()


def _response(content: Any, kind: str) -> Any:
    from starlette.responses import Response

    return Response(content, media_type=kind)


def stop_when_idle(app: App, seconds: float, pause: float = 1.0) -> None:
    """Stop the server of an app once nobody has used it for so many seconds; looks every `pause` seconds.

    Parameters
    ----------
    app : App
    seconds : float
    pause : float, default 1
    """
    while app.use.idle(app.jobs.busy) < seconds:
        time.sleep(pause)
    app.stop()


def serve(folder: Any, port: int = 0, ready: Callable[[str], None] = print, idle: float | None = None) -> None:
    """Serve a workspace, or one finished result, until Ctrl-C or until the page asks to stop.

    Parameters
    ----------
    folder : path
    port : int
        0 takes any that is free.
    ready : callable
        Takes the address once the server listens.
    idle : float, optional
        Seconds without a request or a job after which it stops by itself; by default it doesn't.
    """
    import socket
    import threading

    app = App(Workspace(folder))
    server = app.server()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise DataError(f"Port {port} can't be used: {error.strerror}.", hint="--port 0 takes a free one.") from None
    with listener:
        ready(f"http://{ADDRESS}:{listener.getsockname()[1]}/{app.token}/")
        if idle is not None:
            threading.Thread(target=stop_when_idle, args=(app, idle), daemon=True).start()
        server.run(sockets=[listener])
    app.jobs.close()
