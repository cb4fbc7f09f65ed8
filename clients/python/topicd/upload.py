"""Uploads of any number of operations: as lines, in pieces of which each is durable before the next is sent."""

import json
import re
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional

from .connection import Connection
from .errors import TopicdError, read_answer
from .json_text import encode

#: Exceeded by at most one operation. Of so many operations, the service lists every refusal.
_piece_characters = 256 * 1024
_piece_operations = 4000
#: Before the rest is sent to another worker.
_drained_seconds = 0.05
#: Without the type to accept, a response lists only the first of many refusals.
_lines = dict.fromkeys(("content-type", "accept"), "application/x-ndjson")

#: How many operations were applied and refused.
Uploaded = NamedTuple("Uploaded", [("durable", int), ("refused", int)])
#: Why an operation was refused; the index counts all operations, from 0.
Refusal = NamedTuple("Refusal", [("index", int), ("code", str), ("message", str)])


def upload(connection: Connection, operations: Iterable[Mapping[str, Any]], timeout: Optional[float],
           on_progress: Callable[[Uploaded], object], on_refused: Callable[[Refusal], object]) -> Uploaded:
    """As Client.upload."""
    durable = refused = 0
    for lines in _pieces(operations):
        while lines:
            *details, end = _send(connection, lines, timeout)
            for detail in details:
                if "line" in detail:
                    on_refused(Refusal(durable + refused + detail["line"] - 1, detail["code"], detail["message"]))
            durable, refused = durable + end["durable"], refused + end["refused"]
            on_progress(Uploaded(durable, refused))
            lines = lines[end["durable"] + end["refused"] :]
            if end.get("code") == "draining":
                time.sleep(_drained_seconds)
            elif "code" in end:
                raise TopicdError(200, end["code"], end["message"])
    return Uploaded(durable, refused)


def _pieces(operations: Iterable[Mapping[str, Any]]) -> Iterator[List[str]]:
    lines: List[str] = []
    size = 0
    for operation in operations:
        # Between the tokens of a JsonText, there may be line ends.
        lines.append(re.sub(r"[\r\n]", " ", encode(operation)))
        size += len(lines[-1])
        if size >= _piece_characters or len(lines) >= _piece_operations:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _send(connection: Connection, lines: List[str], timeout: Optional[float]) -> List[Dict[str, Any]]:
    """The lines of the response. The last one has the counts."""
    try:
        text = connection.post("batch", "".join(f"{line}\n" for line in lines).encode(), timeout, headers=_lines)
    except TopicdError as error:
        if error.code != "draining":
            raise
        # Nothing was applied.
        return [{"code": error.code, "message": error.message, "durable": 0, "refused": 0}]
    return read_answer(text, _lines_of)


def _lines_of(text: str) -> List[Dict[str, Any]]:
    lines: List[Dict[str, Any]] = [json.loads(line) for line in text.strip().split("\n")]
    if not isinstance(lines[-1], dict) or "durable" not in lines[-1] or not lines[-1].keys() & {"done", "code"}:
        raise ValueError("the response to an upload does not say how it ended")
    return lines
