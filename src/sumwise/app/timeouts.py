"""Limits on slow clients: an unfinished request, a stalled upload or an unread answer doesn't keep a connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sumwise.errors import DataError
from sumwise.extras import require

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
else:
    _Protocol = object  # the library is an extra; `protocol` adds its class


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a client may take, and connections at once."""

    request: float = 20.0  # until a request's headers are whole
    body: float = 30.0  # of waiting for a body, and a second more for every `slowest` bytes of it
    slowest: float = 1024.0
    unread: float = 300.0  # without taking a byte of an answer; a person may be choosing where to save it
    connections: int = 100


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


class Timed(_Protocol):
    """The server library's protocol with a clock on the time that a client takes.

    A connection on which no request is being answered ends after `limits.request` seconds, whatever trickles in. Where
    there are as many as allowed, the one that has been silent longest makes way for a new one, so that idle connections
    never lock a person out.
    """

    limits: Limits
    silent: dict[Any, None]  # connections that wait for a request, the oldest first
    timer: asyncio.TimerHandle | None = None
    unsent: int = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections and self.silent:
            next(iter(self.silent)).end()
        self.await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self.rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.rest()
        self.await_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.rest()
        self.await_request()

    def await_request(self) -> None:
        """Start the clock where no request is being answered, and stop it where one is."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering:
            if self in self.silent:  # not the clock of an unread answer, which bytes from its reader don't stop
                self.rest()
        elif self.timer is None and not self.transport.is_closing():
            self.silent[self] = None
            self.timer = self.loop.call_later(self.limits.request, self.late)

    def await_reader(self) -> None:
        self.unsent = self.transport.get_write_buffer_size()
        self.timer = self.loop.call_later(self.limits.unread, self.late)

    def late(self) -> None:
        left = self.transport.get_write_buffer_size()
        self.rest()
        if left and left != self.unsent:  # the client is taking its answer
            self.await_reader()
        else:
            self.end()

    def rest(self) -> None:
        self.silent.pop(self, None)
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def end(self) -> None:
        self.rest()
        self.transport.abort()


def protocol(limits: Limits) -> type:
    """The protocol class of one server."""
    base = require("uvicorn.protocols.http.h11_impl", extra="serve").H11Protocol
    return type("TimedProtocol", (Timed, base), {"limits": limits, "silent": {}})


def patient_receive(receive: Any, limits: Limits) -> Any:
    """`receive` that gives up on a body which arrives more slowly than the limits allow; the server's time is free."""
    waited, size, done = 0.0, 0, False

    async def timed() -> Any:
        nonlocal waited, size, done
        if done:  # what follows is a disconnection, and may take as long as it likes
            return await receive()
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(limits.body + size / limits.slowest - waited, 0.0))
        except TimeoutError:
            done = True
            raise DataError(
                f"The request stalled after {size:,} bytes and was ended.", hint="send the file again."
            ) from None
        waited += time.monotonic() - began
        size += len(message.get("body", b""))
        done = not message.get("more_body", False)
        return message

    return timed
