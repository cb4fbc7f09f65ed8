"""The client: one method for each thing that can be done with topics.

Options are the members of the API's requests, by the same names, as docs/api.md describes them, and `timeout`, in
seconds. A request is repeated only as connection.py says, so every method that writes says here what may happen twice.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, TypedDict,
    TypeVar)
from weakref import WeakSet

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
#: One operation of a batch: the members of its route, and `op`, the route's name.
Operation = Mapping[str, Any]
#: The first wait for other writers, in s, is at most the time of a durable write, and doubles up to the longest.
_conflict_seconds, _conflict_seconds_max = 0.004, 0.5


class Versioned(TypedDict, total=False):
    with_version: bool
    timeout: Optional[float]


class Writing(Versioned, total=False):
    type: TopicType
    constraint: Mapping[str, Any]
    #: These two are only of methods that create topics.
    properties: Mapping[str, str]
    ttl: str


class Removing(Versioned, total=False):
    constraint: Mapping[str, Any]
    dry_run: bool


class Reading(Versioned, total=False):
    type: Literal["json", "string", "any"]
    with_values: bool
    with_properties: bool


class Paging(Reading, total=False):
    size: int
    after: str


class Following(Reading, total=False):
    size: int
    #: Called at the first data, initially and after each outage; and at the start of an outage, with its reason.
    on_connected: Callable[[], object]
    on_disconnected: Callable[[Exception], object]


def connect(url: str, key: str, *, numbers: Numbers = "float", timeout: Optional[float] = None,
            context: Optional[ssl.SSLContext] = None) -> Client:
    """A client of the service at this URL, which includes its base path. Nothing is sent until a method is called.

    `numbers` says how numbers arrive: integers exactly as int, others as `float` or as an exact `decimal`; or each as
    JsonText (`text`). Without a `timeout`, in seconds, a request has no time limit.
    """
    return Client(Connection(url, key, timeout, context), numbers)


class Client:
    """Any number of threads can use it. From `connect`."""

    def __init__(self, connection: Connection, numbers: Numbers) -> None:
        self._connection, self._decode = connection, decoder(numbers)
        self._followed: WeakSet[Changes] = WeakSet()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends `changes` and `follow`, and closes the connections that have no request."""
        for changes in list(self._followed):
            changes.close()
        self._connection.close()

    def get(self, path: str, **options: Unpack[Reading]) -> Optional[Item]:
        """None if there is no topic, or none of the type, which is json by default."""
        return self._get({"path": path, **options}, "no_such_topic", "incompatible_type")

    def get_many(self, paths: Sequence[str], **options: Unpack[Reading]) -> List[Optional[Item]]:
        """As `get` of each. A snapshot, unless they exceed a page of the service."""
        items: List[Optional[Item]] = []
        while len(items) < len(paths):
            rest: Dict[str, Any] = {"paths": paths[len(items) :], **options}
            items += self._fetch(rest, items_of)
        return items

    def set(self, path: str, value: Any, **options: Unpack[Writing]) -> Answer:
        """Sets the value of an existing topic."""
        return self._write("set", {"path": path, "value": value, **options})

    def increment(self, path: str, by: Any, **options: Unpack[Writing]) -> Answer:
        """Adds to an existing number, exactly. Never sent twice: after a lost connection, the outcome is unknown."""
        return self._write("set", {"path": path, "increment": by, **options})

    def add_and_set(self, path: str, value: Any, **options: Unpack[Writing]) -> Answer:
        """Sets a value, and creates the topic if it is missing. `created` may be false after a repetition."""
        return self._write("addAndSet", {"path": path, "value": value, **options})

    def add(self, path: str, **options: Unpack[Writing]) -> Answer:
        """Creates a topic without a value if it is missing. `created` may be false after a repetition."""
        return self._write("add", {"path": path, **options})

    def remove(self, path: str, **options: Unpack[Removing]) -> Answer:
        """Removes the topic at this path, not its descendants. `removed` may be 0 after a repetition."""
        return self._write("remove", {"path": path, **options})

    def remove_matches(self, selector: str, *, dry_run: bool = False, timeout: Optional[float] = None) -> Answer:
        """Removes everything that the selector matches, of either type. `removed` may be too low after a repetition."""
        return self._write("remove", {"selector": selector, "dry_run": dry_run, "timeout": timeout})

    def update(self, path: str, change: Callable[[Optional[Item]], Any], *, type: TopicType = "json",
               properties: Optional[Mapping[str, str]] = None, ttl: Optional[str] = None, attempts_max: int = 16,
               timeout: Optional[float] = None) -> Optional[Answer]:
        """Replaces a value by what `change` returns for the topic, or for None if there is none; then it is created.

        If another writer comes first, `change` is called again, up to `attempts_max` times. After None, nothing is
        written. Each request has the time limit. After a lost connection, the outcome is unknown.
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
        """Applies all operations in one commit, in their order, or none of them. It is never sent twice.

        Raises a TopicdError whose `operation` is the index of the first operation that was refused.
        """
        return self._batch({"operations": [*operations], **options})

    def batch_each(self, operations: Iterable[Operation], **options: Unpack[Versioned]) -> List[Answer]:
        """Applies each operation on its own, in order, in one commit. It is never sent twice."""
        return self._batch({"operations": [*operations], "atomic": False, **options})

    def upload(self, operations: Iterable[Operation], *, timeout: Optional[float] = None,
               on_progress: Callable[[Uploaded], object] = lambda uploaded: None,
               on_refused: Callable[[Refusal], object] = lambda refusal: None) -> Uploaded:
        """Applies any number of operations, each on its own and in order, while they are made. None is sent twice.

        They are sent in pieces, each durable before the next. If a lost connection ends it, up to one piece more was
        applied than the last progress said.
        """
        return upload(self._connection, operations, timeout, on_progress, on_refused)

    def page(self, selector: str, **options: Unpack[Paging]) -> Page:
        """One page, of 10 topics unless `size` says otherwise."""
        return self._fetch({"selector": selector, **options}, page_of)

    def pages(self, selector: str, **options: Unpack[Paging]) -> Iterator[Page]:
        """Every page, of 100 topics unless `size` says otherwise. Topics that exist throughout come exactly once."""
        return self._pages({"selector": selector, "size": 100, **options})

    def walk(self, selector: str, **options: Unpack[Paging]) -> Iterator[Item]:
        """Everything that the selector matches, in tree order, fetched page by page as by `pages`."""
        return (item for page in self.pages(selector, **options) for item in page.results)

    def count(self, selector: str, *, type: Literal["json", "string", "any"] = "json",
              timeout: Optional[float] = None) -> int:
        """How many topics match."""
        members = {"selector": selector, "type": type, "count": True, "timeout": timeout}
        return self._fetch(members, lambda text, _: int(members_of(text).get("count", "")))

    def list(self, path: str = "", *, size: int = 100, after: Optional[str] = None,
             timeout: Optional[float] = None) -> Iterator[Child]:
        """The children of a path, or the top of the tree, in tree order. Each costs two seeks, whatever is below it."""
        level = len(segments_of(path)) + 1 if path else 1
        members = {"size": size, "after": after, "timeout": timeout, "type": "any", "with_values": False,
                   "deep_branch_depth": level, "deep_branch_limit": 2}
        pages = self._pages({"selector": descendants(path) if path else everything, **members})
        children = children_in((item for page in pages for item in page.results), level)
        # What is below the child after which they are listed comes first.
        first = after and "/".join(segments_of(after))
        return (child for child in children if child.path != first)

    def changes(self, selector: str, *, since: Optional[str] = None, **options: Unpack[Following]) -> Changes:
        """The current state first, unless `since` is given; then each change, across outages.

        `timeout` limits the wait for one change, during an outage also: after a TimeoutError, resume with `since`.
        """
        changes = Changes(self._connection, self._decode, {"selector": selector, "since": since, **options})
        self._followed.add(changes)
        return changes

    def follow(self, selector: str, *, on_change: Callable[[Change], object] = lambda change: None,
               **options: Unpack[Following]) -> LiveTopics:
        """The selector's matches as a mapping that a thread keeps up to date, until it is closed.

        That thread calls `on_change` for each change that the mapping has, `complete` included. An exception of a
        callback ends following.
        """
        return LiveTopics(self.changes(selector, **options), on_change)

    def _get(self, members: Dict[str, Any], *codes: str) -> Optional[Item]:
        """None if it is refused with one of these codes."""
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
        """Not repeatable: an increment, and a constraint, which its own first attempt may have made untrue."""
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
