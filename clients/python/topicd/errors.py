"""The client's errors, and their construction from responses. connection.py decides which requests are repeated."""

import json
from typing import Callable, Optional, TypeVar

Result = TypeVar("Result")


class TopicdError(Exception):
    """Raised if the service rejects a request or, with the code `unexpected_answer`, if something else responds.

    `status` is the HTTP status, 200 if the response could not be read. `operation` is the index of a batch's rejected
    operation. `retry_after_seconds` is set if a 429 or 503 specifies when to retry.
    """

    def __init__(self, status: int, code: str, message: str, operation: Optional[int] = None,
                 retry_after_seconds: Optional[int] = None) -> None:
        super().__init__(status, code, message, operation, retry_after_seconds)
        self.status, self.code, self.message = status, code, message
        self.operation, self.retry_after_seconds = operation, retry_after_seconds

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code})"


class NotConnected(ConnectionError):
    """Raised if no connection could be established, so nothing was sent. `__cause__` is the reason."""


class ConnectionLost(ConnectionError):
    """Raised if the connection was lost during a request; a write may have been applied. `__cause__` is the reason."""


def refusal(status: int, retry_after: Optional[str], text: str) -> TopicdError:
    """The error for a response with a status other than 200."""
    seconds = int(retry_after) if retry_after and retry_after.isdecimal() else None
    try:
        problem = json.loads(text)
        code, message, operation = (problem.get(name) for name in ("code", "message", "operation"))
    except (ValueError, AttributeError):
        code = message = operation = None
    if isinstance(code, str) and isinstance(message, str):
        return TopicdError(status, code, message, operation, seconds)
    return TopicdError(status, "unexpected_answer", f"The {status} response has no error code.", None, seconds)


def read_answer(text: str, read: Callable[[str], Result]) -> Result:
    """Reads a response with status 200. Converts a ValueError to a TopicdError."""
    try:
        return read(text)
    except ValueError as error:
        raise TopicdError(200, "unexpected_answer", f"The response could not be read: {error}.") from error
