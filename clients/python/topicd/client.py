"""The client: one method for each operation on topics.

Options are named after the members of the API's requests, which docs/api.md describes; `timeout`, in s, is extra.
connection.py decides which requests are repeated. Each write method states the effect of a repetition.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Set,
    TypedDict, TypeVar)
from weakref import ref

from .changes import Change, Changes
from .connection import Connection
from .errors import TopicdError, read_answer
from .item import Answer, Child, Item, Page, TopicType, answer_of, answers_of, children_in, item_of, items_of, page_of
from .json_text import Decode, Numbers, decoder, encode_body, members_of
from .live import LiveTopics
from .selectors import descendants, everything, segments_of
from .upload import Refusal, Uploaded, upload

if TYPE_CHECKING:
    from typing_extensions import Unpack

Result = TypeVar("Result")
#: One operation of a batch: `op`, plus the members of a single request for that operation.
Operation = Mapping[str, Any]
#: The first wait after a conflict, in s, is at most the duration of a durable write; it doubles up to the maximum.
_conflict_seconds, _conflict_seconds_max = 0.004, 0.5


class Versioned(TypedDict, total=False):
    with_version: bool
    timeout: Optional[float]


class Writing(Versioned, total=False):
    type: TopicType
    constraint: Mapping[str, Any]
    #: `properties` and `ttl` are only for methods that create topics.
    properties: Mapping[str, str]
    ttl: str


class Removing(Versioned, total=False):
    constraint: Mapping[str, Any]
    dry_run: bool


class Shown(TypedDict, total=False):
    type: Literal["json", "string", "any"]
    with_values: bool
    with_properties: bool
    with_version: bool


class Reading(Shown, total=False):
    timeout: Optional[float]


class Paging(Reading, total=False):
    size: int
    after: str


class Following(Shown, total=False):
    size: int
    #: `on_connected`: data arrives, initially or after an outage. `on_disconnected`: an outage starts, for this reason.
    on_connected: Callable[[], object]
    on_disconnected: Callable[[Exception], object]


def connect(url: str, key: str, *, numbers: Numbers = "float", timeout: Optional[float] = None,
            context: Optional[ssl.SSLContext] = None) -> Client:
    """Creates a client of the service at this URL, including its base path. Sends nothing until you call a method.

    `numbers` is the type of numbers in values: with `float` or `decimal`, integers are int and other numbers are float
    or exact Decimal; with `text`, every number is a JsonText. `timeout` is the time limit of a request, in seconds.
    """
    return Client(Connection(url, key, timeout, context), numbers)


class Client:
    """A client of one service, for any number of threads. Create it with `connect`."""

    def __init__(self, connection: Connection, numbers: Numbers) -> None:
        self._connection, self._decode = connection, decoder(numbers)
        #: Not a WeakSet, which another thread must not change during an iteration.
        self._followed: Set[ref[Changes]] = set()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every `changes` and `follow`, and closes the idle connections."""
        for changes in filter(None, [reference() for reference in list(self._followed)]):
            changes.close()
        self._connection.close()

    def get(self, path: str, **options: Unpack[Reading]) -> Optional[Item]:
        """Fetches a topic of `type`, json by default. Returns None if there is no topic of that type."""
        return self._get({"path": path, **options}, "no_such_topic", "incompatible_type")

    def get_many(self, paths: Sequence[str], **options: Unpack[Reading]) -> List[Optional[Item]]:
        """Fetches each path as `get` does, in order. The result is a snapshot if it fits into one response."""
        items: List[Optional[Item]] = []
        while len(items) < len(paths):
            rest: Dict[str, Any] = {"paths": paths[len(items) :], **options}
            items += self._fetch(rest, items_of)
        return items

    def set(self, path: str, value: Any, **options: Unpack[Writing]) -> Answer:
        """Sets the value of an existing topic."""
        return self._write("set", {"path": path, "value": value, **options})

    def increment(self, path: str, by: Any, **options: Unpack[Writing]) -> Answer:
        """Adds to an existing number, exactly. Never sent twice: if the connection is lost, the outcome is unknown."""
        return self._write("set", {"path": path, "increment": by, **options})

    def add_and_set(self, path: str, value: Any, **options: Unpack[Writing]) -> Answer:
        """Sets a value and creates the topic if it is missing. If the request was repeated, `created` may be false."""
        return self._write("addAndSet", {"path": path, "value": value, **options})

    def add(self, path: str, **options: Unpack[Writing]) -> Answer:
        """Creates a topic without a value if it is missing. If the request was repeated, `created` may be false."""
        return self._write("add", {"path": path, **options})

    def remove(self, path: str, **options: Unpack[Removing]) -> Answer:
        """Removes the topic at this path, but not its descendants. If the request was repeated, `removed` may be 0."""
        return self._write("remove", {"path": path, **options})

    def remove_matches(self, selector: str, *, dry_run: bool = False, timeout: Optional[float] = None) -> Answer:
        """Removes all matching topics, of either type. If the request was repeated, `removed` may be too low."""
        return self._write("remove", {"selector": selector, "dry_run": dry_run, "timeout": timeout})

    def update(self, path: str, change: Callable[[Optional[Item]], Any], *, type: TopicType = "json",
               properties: Optional[Mapping[str, str]] = None, ttl: Optional[str] = None, attempts_max: int = 16,
               timeout: Optional[float] = None) -> Optional[Answer]:
        """Replaces a topic's value with the result of `change`, and creates the topic if it is missing.

        `change` receives the topic, or None if it is missing. If `change` returns None, nothing is written. If another
        writer changes the topic in the meantime, `change` is called again, up to `attempts_max` times in total. The
        time limit applies to each request. If the connection is lost, the outcome is unknown.
        """
        options: Dict[str, Any] = {"path": path, "type": type, "with_version": True, "timeout": timeout}
        for attempt in range(attempts_max):
            item = self._get(dict(options), "no_such_topic")
            value = change(item)
            if value is None:
                return None
            try:
                if item:
                    return self._write("set", {**options, "value": value, "constraint": {"version": item.version}})
                created = {"value": value, "properties": properties, "ttl": ttl, "constraint": {"no_topic": True}}
                return self._write("addAndSet", {**options, **created})
            except TopicdError as error:
                if error.code != "unsatisfied_constraint" or attempt + 1 == attempts_max:
                    raise
            time.sleep(random.uniform(0, min(_conflict_seconds_max, _conflict_seconds * 2**attempt)))
        raise ValueError(f"attempts_max must be at least 1, but is {attempts_max}")

    def batch(self, operations: Iterable[Operation], **options: Unpack[Versioned]) -> List[Answer]:
        """Applies all operations in order, in one commit, or none of them. The batch is never sent twice.

        Raises a TopicdError whose `operation` is the index of the first rejected operation.
        """
        return self._batch({"operations": [*operations], **options})

    def batch_each(self, operations: Iterable[Operation], **options: Unpack[Versioned]) -> List[Answer]:
        """Applies each operation independently, in order, in one commit. The batch is never sent twice."""
        return self._batch({"operations": [*operations], "atomic": False, **options})

    def upload(self, operations: Iterable[Operation], *, timeout: Optional[float] = None,
               on_progress: Callable[[Uploaded], object] = lambda uploaded: None,
               on_refused: Callable[[Refusal], object] = lambda refusal: None) -> Uploaded:
        """Applies any number of operations, each independently and in order. No operation is sent twice.

        They are sent in chunks as `operations` produces them, each chunk durable before the next is sent. If a lost
        connection ends the upload, up to one chunk after the last reported progress may have been applied.
        """
        return upload(self._connection, operations, timeout, on_progress, on_refused)

    def page(self, selector: str, **options: Unpack[Paging]) -> Page:
        """Fetches one page of matching topics, 10 by default. To continue, pass its last path as `after`."""
        return self._fetch({"selector": selector, **options}, page_of)

    def pages(self, selector: str, **options: Unpack[Paging]) -> Iterator[Page]:
        """Iterates over all pages, by default 100 topics each. Topics that exist throughout occur exactly once."""
        return self._pages({"selector": selector, "size": 100, **options})

    def walk(self, selector: str, **options: Unpack[Paging]) -> Iterator[Item]:
        """Iterates over all matching topics, in tree order, fetched page by page like `pages`."""
        return (item for page in self.pages(selector, **options) for item in page.results)

    def count(self, selector: str, *, type: Literal["json", "string", "any"] = "json",
              timeout: Optional[float] = None) -> int:
        """Counts the matching topics of `type`, json by default."""
        members = {"selector": selector, "type": type, "count": True, "timeout": timeout}
        return self._fetch(members, lambda text, _: int(members_of(text).get("count", "")))

    def list(self, path: str = "", *, size: int = 100, after: Optional[str] = None,
             timeout: Optional[float] = None) -> Iterator[Child]:
        """Lists the children of a path, or the top of the tree, in tree order. Each child costs two seeks."""
        level = len(segments_of(path)) + 1 if path else 1
        members = {"size": size, "after": after, "timeout": timeout, "type": "any", "with_values": False,
                   "deep_branch_depth": level, "deep_branch_limit": 2}
        pages = self._pages({"selector": descendants(path) if path else everything, **members})
        children = children_in((item for page in pages for item in page.results), level)
        # The first results may be descendants of `after` itself.
        first = after and "/".join(segments_of(after))
        return (child for child in children if child.path != first)

    def changes(self, selector: str, *, since: Optional[str] = None, timeout: Optional[float] = None,
                **options: Unpack[Following]) -> Changes:
        """Iterates over the current state, unless `since` is given, then over each change, across outages.

        `timeout` limits the wait for one change, including outages. After a TimeoutError, resume with `since`.
        """
        changes = Changes(self._connection, self._decode, {"selector": selector, "since": since, **options}, timeout)
        self._followed.add(ref(changes, self._followed.discard))
        return changes

    def follow(self, selector: str, *, on_change: Callable[[Change], object] = lambda change: None,
               **options: Unpack[Following]) -> LiveTopics:
        """Follows the matching topics in a mapping that a thread keeps up to date until you close it.

        The thread calls `on_change` after each change to the mapping, including `complete`. If a callback raises an
        exception, following stops.
        """
        return LiveTopics(self.changes(selector, **options), on_change)

    def _get(self, members: Dict[str, Any], *codes: str) -> Optional[Item]:
        """Returns None if the request is rejected with one of these codes."""
        try:
            return self._fetch(members, item_of)
        except TopicdError as error:
            if error.code in codes:
                return None
            raise

    def _pages(self, members: Dict[str, Any]) -> Iterator[Page]:
        while True:
            page = self._fetch(dict(members), page_of)
            yield page
            if not page.has_more:
                return
            members["after"] = page.results[-1].path

    def _fetch(self, members: Dict[str, Any], read: Callable[[str, Decode], Result]) -> Result:
        return self._post("fetch", members, read, True)

    def _write(self, route: str, members: Dict[str, Any]) -> Answer:
        """Does not repeat an increment, nor a write whose constraint the first attempt may have made false."""
        is_repeatable = members.get("constraint") is None and "increment" not in members
        return self._post(route, members, answer_of, is_repeatable)

    def _batch(self, members: Dict[str, Any]) -> List[Answer]:
        count = len(members["operations"])
        return self._post("batch", members, lambda text, decode: answers_of(text, decode, count), False)

    def _post(self, route: str, members: Dict[str, Any], read: Callable[[str, Decode], Result],
              is_repeatable: bool) -> Result:
        timeout = members.pop("timeout", None)
        text = self._connection.post(route, encode_body(members), timeout, is_repeatable)
        return read_answer(text, lambda text: read(text, self._decode))
