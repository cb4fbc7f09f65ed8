"""The client of topicd, a topic tree over HTTP. README.md has examples.

    import topicd

    topics = topicd.connect("http://127.0.0.1:8080", key)
    topics.add_and_set("plant/7/temp", 21.5)
"""

from .changes import Change, Changes
from .client import Client, Operation, connect
from .errors import ConnectionLost, NotConnected, TopicdError
from .item import Answer, Child, Item, Page
from .json_text import JsonText
from .live import LiveTopics
from .selectors import any_of, descendants, subtree, topic
from .upload import Refusal, Uploaded

__all__ = [
    "Answer", "Change", "Changes", "Child", "Client", "ConnectionLost", "Item", "JsonText", "LiveTopics",
    "NotConnected", "Operation", "Page", "Refusal", "TopicdError", "Uploaded", "any_of", "connect", "descendants",
    "subtree", "topic",
]
