"""Topics, pages and the responses to writes, and their readers, which raise ValueError for any other text.

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
    """A topic. `text` is the JSON text of its value, with every digit as it was sent, or None without a value.

    `properties`, `version` and `updated` are None unless they were requested.
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
        """The value in Python's types; None if it is null, or if there is none."""
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
    """The response to a write: `version` if it was requested, `value` and its `text`, which has every digit, for an
    increment, `code` and `message` only for a refused operation of `batch_each`.
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
    """A topic."""
    members = members_of(text)
    value = members.pop("value", None)
    known = {name: json.loads(member) for name, member in members.items()}
    path, type = known.get("path"), known.get("type")
    if not isinstance(path, str) or type not in ("json", "string"):
        raise ValueError("not a topic")
    return Item(path, type, value, known.get("properties"), known.get("version"), known.get("updated"), decode)


def items_of(text: str, decode: Decode) -> List[Optional[Item]]:
    """Topics, None for each that is missing."""
    results = elements_of(members_of(text).get("results", ""))
    if not results:
        raise ValueError("no results")
    return [None if "missing" in members_of(result) else item_of(result, decode) for result in results]


def page_of(text: str, decode: Decode) -> Page:
    """A page, which is not empty unless it is the last."""
    members = members_of(text)
    has_more, results = members.get("has_more"), elements_of(members.get("results", ""))
    if has_more not in ("true", "false") or has_more == "true" and not results:
        raise ValueError("not a page")
    return Page(has_more == "true", [item_of(result, decode) for result in results])


def answer_of(text: str, decode: Decode) -> Answer:
    """The response to a write."""
    members = members_of(text)
    value = members.pop("value", None)
    known = {name: json.loads(member) for name, member in members.items() if name in Answer._fields}
    return Answer(**known, text=value, value=None if value is None else decode(value))


def answers_of(text: str, decode: Decode, count: int) -> List[Answer]:
    """The response to a batch of so many operations."""
    results = elements_of(members_of(text).get("results", ""))
    if len(results) != count:
        raise ValueError("not one result for each operation")
    return [answer_of(result, decode) for result in results]


def children_in(items: Iterable[Item], level: int) -> Iterator[Child]:
    """The children at this level, 1 for the top, of topics in tree order: two of each child that has so many."""
    for path, group in groupby(items, lambda item: "/".join(item.path.split("/")[:level])):
        # A topic precedes its descendants.
        first, *others = group
        is_topic = first.path == path
        yield Child(path, path.rsplit("/", 1)[-1], first.type if is_topic else None, bool(others) or not is_topic)
