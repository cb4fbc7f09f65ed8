"""One request and its response: kept connections, the time limit, and the single retry. The routes are in client.py.

A request is repeated at most once, and only after its connection failed: either the connection was refused or reset
before anything was sent, or applying the request twice is harmless. A response is never a reason to retry.
"""

import http.client
import os
import re
import selectors
import socket
import ssl
from collections import deque
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Deque, Iterator, Mapping, Optional, Type
from urllib.parse import urlsplit

from .errors import ConnectionLost, NotConnected, refusal

#: The service closes a connection after about 10 s without a request; a request sent just then would fail.
_idle_seconds_max = 7
#: The maximum size of one read, so that the time limit also holds for a slow response.
_piece_bytes = 65536
_json = {"content-type": "application/json"}


def seconds_until(end: float) -> Optional[float]:
    """Returns the remaining time as a socket's timeout. Raises TimeoutError if no time is left."""
    seconds = end - monotonic()
    if seconds <= 0:
        raise TimeoutError("the time limit has passed")
    return None if end == float("inf") else seconds


class Link:
    """A connection for one request at a time. It is closed if a request fails or is not complete by its `end`."""

    def __init__(self, link: http.client.HTTPConnection, end: float) -> None:
        self._link, self.close = link, link.close
        with self.failing_as(NotConnected):
            link.timeout = seconds_until(end)
            link.connect()
        self.socket: socket.socket = link.sock

    def send(self, target: str, headers: Mapping[str, str], body: bytes, end: float) -> None:
        """Sends a request and waits for the start of its response."""
        with self.failing_as(ConnectionLost):
            self.socket.settimeout(seconds_until(end))
            self._link.request("POST", target, body, dict(headers))
            self.socket.settimeout(seconds_until(end))
            self.response = self._link.getresponse()

    def text(self, end: float) -> str:
        """Returns the rest of the response. Afterwards the connection can take another request."""
        with self.failing_as(ConnectionLost):
            text = b"".join(iter(lambda: self._piece(self.response, end), b""))
        self.response.close()
        self.used = monotonic()
        return text.decode("utf-8", "replace")

    def line(self, end: float) -> str:
        """Returns the next line, with its line feed, of a response without a length; at its end, an empty str."""
        with self.failing_as(ConnectionLost):
            self.socket.settimeout(seconds_until(end))
            return self.response.readline().decode("utf-8", "replace")

    def _piece(self, response: http.client.HTTPResponse, end: float) -> bytes:
        self.socket.settimeout(seconds_until(end))
        if response.length is None:
            return response.read1(_piece_bytes)
        # Before Python 3.12, HTTPResponse.read1 does not update `length`.
        piece = response.fp.read1(min(_piece_bytes, response.length)) if response.length else b""
        if response.length and not piece:
            raise http.client.IncompleteRead(piece, response.length)
        response.length -= len(piece)
        return piece

    def is_usable(self) -> bool:
        """False if the service has closed the connection or may do so soon: no other data arrives between requests."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            return monotonic() - self.used < _idle_seconds_max and not selector.select(0)

    @contextmanager
    def failing_as(self, kind: Type[ConnectionError]) -> Iterator[None]:
        """Closes the connection after any failure, and converts network errors to this kind."""
        try:
            yield
        except BaseException as error:
            self.close()
            # A network error may be a TimeoutError too; it has a number.
            if isinstance(error, (socket.timeout, TimeoutError)) and error.errno is None:
                raise TimeoutError(f"no complete response: {error}") from error
            if isinstance(error, (OSError, http.client.HTTPException)):
                raise kind(str(error) or type(error).__name__) from error
            raise


class Connection:
    """Connections to the service, one for each concurrent request, for any number of threads."""

    def __init__(self, url: str, key: str, timeout: Optional[float], context: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or re.search("[?#]", url):
            raise ValueError(f"url must be an http or https URL with only a host, a port and a path, but is {url}")
        # The message does not show the key. A key from a file may end in a line feed.
        if not isinstance(key, str) or not re.fullmatch(r"[\x21-\x7e]+", key.strip()):
            raise ValueError("key must be a non-empty str of characters that an API key may contain")
        self._host, self._port, self._is_secure = parts.hostname, parts.port, parts.scheme == "https"
        self._base, self._key = parts.path.rstrip("/") + "/topics/", {"authorization": f"Apikey {key.strip()}"}
        self._timeout, self._context = timeout, context
        #: Idle connections, the least recently used first.
        self._idle: Deque[Link] = deque()
        self._pid = os.getpid()

    def post(self, route: str, body: bytes, timeout: Optional[float], is_repeatable: bool = False,
             headers: Mapping[str, str] = _json) -> str:
        """Returns the text of a response with status 200. Raises TopicdError if the request is rejected."""
        seconds = self._timeout if timeout is None else timeout
        end = float("inf") if seconds is None else monotonic() + seconds

        def sent(link: Optional[Link]) -> str:
            return self._text(self.send(link or self.connect(end), route, body, headers, end), end)

        try:
            return sent(self._take())
        except NotConnected as error:
            if not isinstance(error.__cause__, (ConnectionError, ssl.SSLEOFError)):
                raise
            return sent(None)
        except ConnectionLost:
            if is_repeatable:
                # NotConnected would be wrong, because the first attempt may have been applied.
                with suppress(NotConnected):
                    return sent(None)
            raise

    def connect(self, end: float) -> Link:
        """Returns a new connection. Raises NotConnected or TimeoutError."""
        if self._is_secure:
            return Link(http.client.HTTPSConnection(self._host, self._port, context=self._context), end)
        return Link(http.client.HTTPConnection(self._host, self._port), end)

    def send(self, link: Link, route: str, body: bytes, headers: Mapping[str, str], end: float) -> Link:
        """Sends once. If the status is not 200, raises TopicdError, and the connection belongs to the idle ones."""
        link.send(self._base + route, {**self._key, **_json, **headers}, body, end)
        if link.response.status != 200:
            self._text(link, end)
        return link

    def close(self) -> None:
        """Closes the idle connections."""
        with suppress(IndexError):
            while True:
                self._idle.popleft().close()

    def _text(self, link: Link, end: float) -> str:
        text, response = link.text(end), link.response
        link.close() if response.will_close else self._idle.append(link)
        if response.status != 200:
            raise refusal(response.status, response.getheader("retry-after"), text)
        return text

    def _take(self) -> Optional[Link]:
        # After a fork, the connections belong to the parent: both processes would receive each other's responses.
        if self._pid != os.getpid():
            self.close()
            self._pid = os.getpid()
        with suppress(IndexError):
            while True:
                link = self._idle.popleft()
                if link.is_usable():
                    return link
                link.close()
        return None
