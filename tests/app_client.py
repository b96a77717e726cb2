"""The app's server in a thread, and a client of it."""

import contextlib
import http.client
import json
import socket
import threading


@contextlib.contextmanager
def running(app):
    """A client of the app's server, which runs in a thread."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    server = app.server()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield Client(app, server, listener.getsockname()[1])
    server.should_exit = True
    thread.join(60)
    app.jobs.close()


class Client:
    """A browser without a page."""

    def __init__(self, app, server, port):
        self.app, self.server, self.port = app, server, port

    def __call__(self, path, method="GET", body=None, token=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        place = f"/{self.app.token if token is None else token}{path}"
        headers = {"Host": f"127.0.0.1:{self.port}", **headers}
        connection.request(method, place, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def json(self, path, method="GET", body=None):
        raw = json.dumps(body).encode() if isinstance(body, dict) else body
        return json.loads(self(path, method, raw)[1])
