"""Topics, pages and responses to writes, and their readers, which raise ValueError for text in another format.

Nothing is sent from here.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Iterable, Iterator, List, Literal, Mapping, NamedTuple, Optional

from .json_text import Decode, elements_of, members_of

TopicType = Literal["json", "string"]


@dataclass(frozen=True)
class Item:
    """A topic. `text` is the JSON text of its value, with every digit as sent; None if there is no value.

    `properties`, `version` and `updated` are None unless requested.
    """

    path: str
    type: TopicType
    text: Optional[str]
    properties: Optional[Mapping[str, str]]
    version: Optional[int]
    updated: Optional[str]
    _decode: Decode = field(repr=False, compare=False)

    @cached_property
    def value(self) -> Any:
        """The value in Python's types; None if the value is null, or if there is no value."""
        return None if self.text is None else self._decode(self.text)


class Page(NamedTuple):
    """Topics in tree order: a topic precedes its descendants."""

    has_more: bool
    results: List[Item]


class Child(NamedTuple):
    """A path segment directly below another. `type` is None if there is no topic at the path, only topics below it."""

    path: str
    name: str
    type: Optional[TopicType]
    has_children: bool


class Answer(NamedTuple):
    """The response to a write. `version` is set if requested. After an increment, `value` and `text` are set, and
    `text` has every digit. `code` and `message` are set only for a rejected operation of `batch_each`.
    """

    path: Optional[str] = None
    created: bool = False
    removed: int = 0
    version: Optional[int] = None
    value: Any = None
    text: Optional[str] = None
    code: Optional[str] = None
    message: Optional[str] = None


def item_of(text: str, decode: Decode) -> Item:
    """Reads a topic."""
    members = members_of(text)
    value = members.pop("value", None)
    known = {name: json.loads(member) for name, member in members.items()}
    path, type = known.get("path"), known.get("type")
    if not isinstance(path, str) or type not in ("json", "string"):
        raise ValueError("not a topic")
    return Item(path, type, value, known.get("properties"), known.get("version"), known.get("updated"), decode)


def items_of(text: str, decode: Decode) -> List[Optional[Item]]:
    """Reads topics, None for each missing topic."""
    results = elements_of(members_of(text).get("results", ""))
    if not results:
        raise ValueError("no results")
    return [None if "missing" in members_of(result) else item_of(result, decode) for result in results]


def page_of(text: str, decode: Decode) -> Page:
    """Reads a page. Only the last page may be empty."""
    members = members_of(text)
    has_more, results = members.get("has_more"), elements_of(members.get("results", ""))
    if has_more not in ("true", "false") or has_more == "true" and not results:
        raise ValueError("not a page")
    return Page(has_more == "true", [item_of(result, decode) for result in results])


def answer_of(text: str, decode: Decode) -> Answer:
    """Reads the response to a write."""
    members = members_of(text)
    value = members.pop("value", None)
    known = {name: json.loads(member) for name, member in members.items() if name in Answer._fields}
    return Answer(**known, text=value, value=None if value is None else decode(value))


def answers_of(text: str, decode: Decode, count: int) -> List[Answer]:
    """Reads the response to a batch of `count` operations."""
    results = elements_of(members_of(text).get("results", ""))
    if len(results) != count:
        raise ValueError("not exactly one result per operation")
    return [answer_of(result, decode) for result in results]


def children_in(items: Iterable[Item], level: int) -> Iterator[Child]:
    """Derives the children at this level, 1 for the top, from topics in tree order, up to two per child."""
    for path, group in groupby(items, lambda item: "/".join(item.path.split("/")[:level])):
        # A topic precedes its descendants.
        first, *others = group
        is_topic = first.path == path
        yield Child(path, path.rsplit("/", 1)[-1], first.type if is_topic else None, bool(others) or not is_topic)
