"""Uploads of any number of operations, as lines, in chunks. Each chunk is durable before the next is sent."""

import json
import re
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional

from .connection import Connection
from .errors import TopicdError, read_answer
from .json_text import encode

#: Limits of one chunk, which one operation may exceed. For this many operations, the service lists every rejection.
_piece_characters = 256 * 1024
_piece_operations = 4000
#: The wait before the rest is sent to another worker.
_drained_seconds = 0.05
#: Without this `accept`, the response to a large upload lists only the first rejections.
_lines = dict.fromkeys(("content-type", "accept"), "application/x-ndjson")

#: The numbers of applied and rejected operations.
Uploaded = NamedTuple("Uploaded", [("durable", int), ("refused", int)])
#: A rejected operation; `index` is its index among all operations, from 0.
Refusal = NamedTuple("Refusal", [("index", int), ("code", str), ("message", str)])


def upload(connection: Connection, operations: Iterable[Mapping[str, Any]], timeout: Optional[float],
           on_progress: Callable[[Uploaded], object], on_refused: Callable[[Refusal], object]) -> Uploaded:
    """Implements Client.upload."""
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
    """Yields all operations before one that fails, and then raises its exception."""
    lines: List[str] = []
    size = 0
    failure: Optional[Exception] = None
    try:
        for operation in operations:
            # A JsonText may contain line ends between its tokens.
            lines.append(re.sub(r"[\r\n]", " ", encode(operation)))
            size += len(lines[-1])
            if size >= _piece_characters or len(lines) >= _piece_operations:
                yield lines
                lines, size = [], 0
    except Exception as error:
        failure = error
    if lines:
        yield lines
    if failure is not None:
        raise failure


def _send(connection: Connection, lines: List[str], timeout: Optional[float]) -> List[Dict[str, Any]]:
    """Returns the lines of the response. The last line has the counts."""
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
        raise ValueError("the response to the upload has no final counts")
    return lines
