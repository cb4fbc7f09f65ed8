"""Changes to a selector's matches, from a stream that is resumed whenever it ends. docs/changes.md has the guarantees.

Long polls replace a stream that a proxy buffers. live.py builds a mapping from the changes.
"""

import json
import os
import random
import socket
import threading
from contextlib import suppress
from time import monotonic
from typing import Any, Callable, Dict, Generator, Iterator, List, Literal, NamedTuple, Optional, Tuple

from .connection import Connection, Link
from .errors import NotConnected, TopicdError, read_answer
from .item import Item, item_of
from .json_text import Decode, elements_of, encode_body, members_of

#: A host that does not respond within this time, in s, is not reachable.
_connecting_seconds = 10
#: The service sends the first line immediately. If it takes longer than this, in s, a proxy is buffering the stream.
_first_line_seconds = 5
#: The service sends data at least every 15 s, so a stream that is silent for this long, in s, is dead.
_silence_seconds = 40
#: The time for which polls replace a buffered stream, in s, because each attempt costs seconds without data.
_polling_seconds = 600
_poll_seconds = 30
#: A poll may take this much longer than its wait, in s, because the service may search the log for up to 120 s.
_search_seconds = 130
#: The wait before the second attempt, in s. It doubles with each failure up to the maximum, and is shortened randomly.
_first_wait_seconds = 0.5
_wait_seconds_max = 30


class Change(NamedTuple):
    """One change, by its kind.

    `topic`: `item` is the topic's current state. `removed`: there is no topic at the path, or its type is not the
    requested one. `complete`: all changes so far form a snapshot. `restarted`: the missed changes are no longer
    available; the current state follows, and topics not in it no longer exist.
    """

    kind: Literal["topic", "removed", "complete", "restarted"]
    path: str = ""
    item: Optional[Item] = None


class Changes(Iterator[Change]):
    """An iterator of changes, endless until it is closed; from `Client.changes`. Only one thread may iterate.

    `next` is the token to pass as `since` to resume after the changes received so far. `is_complete` is true while
    those changes form a snapshot, as far as the client knows. `is_connected` is true if the last attempt received data
    and has not failed since. During an outage, `outage` is the reason.
    """

    def __init__(self, connection: Connection, decode: Decode, members: Dict[str, Any],
                 timeout: Optional[float]) -> None:
        self.next: Optional[str] = members.pop("since", None)
        self._on_connected: Callable[[], object] = members.pop("on_connected", lambda: None)
        self._on_disconnected: Callable[[Exception], object] = members.pop("on_disconnected", lambda error: None)
        self._connection, self._decode, self._members, self._timeout = connection, decode, members, timeout
        self.is_connected = self.is_complete = self._has_all = False
        self.outage: Optional[Exception] = None
        self._link: Optional[Link] = None
        self._pid = os.getpid()
        self._closing = threading.Event()
        self._failures = self._restarts = 0
        self._polls_until, self._complete_time, self._end = 0.0, float("inf"), float("inf")
        self._iterator = self._changes()

    def __next__(self) -> Change:
        self._end = float("inf") if self._timeout is None else monotonic() + self._timeout
        try:
            return next(iter(()) if self._closing.is_set() else self._iterator)
        except BaseException as error:
            self.is_connected = self.is_complete = False
            raise (error.__cause__ or error) if isinstance(error, _CallbackFailed) else error

    def __enter__(self) -> "Changes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration, even if it runs in another thread."""
        self._closing.set()
        # A forked child must not end its parent's stream. SSLSocket.shutdown must not be called from another thread.
        with suppress(OSError):
            if self._link and self._pid == os.getpid():
                socket.socket.shutdown(self._link.socket, socket.SHUT_RDWR)
        # Raises ValueError while another thread iterates.
        with suppress(ValueError):
            self._iterator.close()

    def _changes(self) -> Generator[Change, None, None]:
        while not self._closing.is_set():
            is_stream = monotonic() >= self._polls_until
            try:
                for text in self._stream() if is_stream else self._poll():
                    yield from self._changes_in(text)
            except (ConnectionError, TimeoutError, TopicdError) as error:
                if self._closing.is_set():
                    return
                if monotonic() >= self._end:
                    raise TimeoutError(f"no change within {self._timeout:g} s") from self.outage or error
                if isinstance(error, _HeldBack):
                    self._polls_until = monotonic() + _polling_seconds
                    continue
                seconds = self._wait_after(error)
                if seconds > 0:
                    self.is_connected = self.is_complete = False
                    was_outage, self.outage = self.outage, error
                    if not was_outage:
                        self._on_disconnected(error)
                if _is_gone(error):
                    self.next, self._has_all, self._complete_time = None, False, float("inf")
                    yield Change("restarted")
                self._closing.wait(min(seconds, self._end - monotonic()))
            finally:
                if self._link:
                    self._link.close()

    def _changes_in(self, text: str) -> Iterator[Change]:
        """Yields the changes of a page."""
        has_more, token, changes = read_answer(text, self._page_of)
        self.is_complete = self.is_complete and not (changes or has_more)
        yield from changes
        self.next, self._has_all, self._failures = token, not has_more, 0
        if not has_more:
            self._complete_time = min(self._complete_time, monotonic())
            self.is_complete = True
            yield Change("complete")

    def _poll(self) -> Iterator[str]:
        # The first poll after an outage does not wait, so that the connection is reported immediately.
        wait = _poll_seconds if self._has_all and self.is_connected else 0
        link = self._open()
        end = self._until(_search_seconds + wait)
        self._send(link, "application/json", end, wait)
        text = link.text(end)
        self._report()
        yield text

    def _stream(self) -> Iterator[str]:
        """Yields the pages of a stream. Always ends by raising."""
        link = self._open()
        try:
            end = self._until(_first_line_seconds)
            self._send(link, "text/event-stream", end)
            line = link.line(end)
            if not (link.response.getheader("content-type") or "").startswith("text/event-stream"):
                raise TimeoutError("the response is not a stream")
        except TimeoutError as error:
            raise _HeldBack from error
        self._report()
        fields: Dict[str, str] = {}
        seconds = _first_wait_seconds
        while line:
            name, _, fields[name] = line.rstrip("\n").partition(": ")
            if line == "\n":
                seconds = int(fields.pop("retry", seconds * 1000)) / 1000
                if fields.get("event") == "end":
                    raise read_answer(fields.get("data", ""), lambda text: _end_of(text, seconds))
                if "data" in fields:
                    yield fields["data"]
                fields = {}
            line = link.line(self._until(_silence_seconds))
        raise _Ended("the stream has ended", seconds)

    def _open(self) -> Link:
        """Returns a new connection, which `close` can end from now on."""
        try:
            self._link = link = self._connection.connect(self._until(_connecting_seconds))
        except TimeoutError as error:
            raise NotConnected(str(error)) from error
        if self._closing.is_set():
            raise ConnectionError("the changes were closed")
        return link

    def _send(self, link: Link, accept: str, end: float, wait: Optional[int] = None) -> None:
        body = encode_body({**self._members, "since": self.next, "wait": wait})
        try:
            self._connection.send(link, "changes", body, {"accept": accept}, end)
        except TopicdError:
            # The connection now belongs to the idle ones.
            self._link = None
            raise

    def _until(self, seconds: float) -> float:
        """Returns the time after this many seconds, but no later than the time limit for the next change."""
        return min(self._end, monotonic() + seconds)

    def _report(self) -> None:
        """Reports that data arrives, unless that is known already."""
        if not self.is_connected:
            self.is_connected, self.outage = True, None
            try:
                self._on_connected()
            except Exception as error:
                raise _CallbackFailed from error

    def _page_of(self, text: str) -> Tuple[bool, str, List[Change]]:
        members = members_of(text)
        has_more, token = (json.loads(members.get(name, "null")) for name in ("has_more", "next"))
        if not isinstance(has_more, bool) or not isinstance(token, str):
            raise ValueError("not a page of changes")
        return has_more, token, [self._change_of(result) for result in elements_of(members.get("results", ""))]

    def _change_of(self, text: str) -> Change:
        members = members_of(text)
        if "removed" in members:
            return Change("removed", json.loads(members.get("path", "")))
        item = item_of(text, self._decode)
        return Change("topic", item.path, item)

    def _wait_after(self, error: Exception) -> float:
        """Returns the wait before the next attempt, in s. Raises the error if another attempt would not help."""
        if isinstance(error, _Ended):
            return error.seconds
        if _is_gone(error):
            # Each restart requests the whole state, so consecutive restarts wait longer to spare a busy service.
            is_first = monotonic() - self._complete_time > _wait_seconds_max
            self._restarts = 1 if is_first else self._restarts + 1
            return _random_wait(self._restarts)
        seconds = 0
        if isinstance(error, TopicdError):
            # An unreadable response with status 200 is permanent: it is from another service.
            if error.status < 429 and (error.status == 200 or error.code != "unexpected_answer"):
                raise error
            seconds = error.retry_after_seconds or 0
        self._failures += 1
        return max(seconds, _random_wait(self._failures))


class _CallbackFailed(Exception):
    """An exception of a callback, which is not an outage, whatever its type."""


class _HeldBack(TimeoutError):
    """Something between client and service, such as a proxy, buffers the stream."""


class _Ended(ConnectionError):
    """The stream ended and can be resumed after at most this many seconds."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds * random.random()


def _end_of(text: str, seconds: float) -> Exception:
    members = members_of(text)
    code, message = (json.loads(members.get(name, "null")) for name in ("code", "message"))
    if code == "unauthorized":
        return TopicdError(401, code, message)
    if code in ("since_gone", "access_changed"):
        return TopicdError(410, "since_gone", message)
    # Streams rotate at different times, so their clients do not all reconnect at once.
    return _Ended(message, 0 if code == "rotated" else seconds)


def _is_gone(error: Exception) -> bool:
    return isinstance(error, TopicdError) and error.code == "since_gone"


def _random_wait(failures: int) -> float:
    seconds: float = _first_wait_seconds * 2 ** min(failures - 1, 9)
    return min(_wait_seconds_max, seconds) * random.uniform(0.5, 1)
