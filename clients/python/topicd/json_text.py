"""JSON without loss: exact numbers in requests, and the exact text of received values.

Python's own parser and writer do the rest. item.py interprets the text.
"""

import json
import re
import secrets
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Callable, Dict, List, Literal, Mapping

#: The type of received numbers: integers as int and others as float or Decimal, or each as a JsonText.
Numbers = Literal["float", "decimal", "text"]
Decode = Callable[[str], Any]


@dataclass(frozen=True)
class JsonText:
    """JSON text in place of a value or part of it, sent verbatim: `JsonText('1.10')` keeps its last 0."""

    text: str

    def __post_init__(self) -> None:
        json.loads(self.text, parse_int=str, parse_float=str, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"JSON cannot hold {constant}")


def decoder(numbers: Numbers) -> Decode:
    """Returns the parser for values. It can be copied and pickled, as part of an item."""
    choices: Dict[str, Any] = {"float": (int, float), "decimal": (int, Decimal), "text": (JsonText, JsonText)}
    if numbers not in choices:
        raise ValueError(f"numbers must be one of {', '.join(choices)}, but is {numbers!r}")
    whole, fraction = choices[numbers]
    return partial(json.loads, parse_int=whole, parse_float=fraction, parse_constant=_refuse)


#: Marks the place of JSON text that json.dumps cannot write. The mark is random, so no value contains it.
_mark = secrets.token_hex(16)


def encode(value: Any) -> str:
    """Returns the JSON text of a value. Raises ValueError or TypeError if JSON cannot hold it, as with NaN."""
    texts: List[str] = []

    def marked(part: Any) -> str:
        if not (isinstance(part, JsonText) or isinstance(part, Decimal) and part.is_finite()):
            raise TypeError(f"JSON cannot hold {part!r}, which is a {type(part).__name__}")
        texts.append(part.text if isinstance(part, JsonText) else str(part))
        return f"{_mark}{len(texts) - 1}"

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=marked)
    text = re.sub(f'"{_mark}([0-9]+)"', lambda found: texts[int(found[1])], text) if texts else text
    # UTF-8 cannot encode half of a surrogate pair.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def encode_body(members: Mapping[str, Any]) -> bytes:
    """Returns a request body. Omits members that are None, except `value`, which becomes null."""
    return encode({name: member for name, member in members.items() if member is not None or name == "value"}).encode()


_token = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]', re.S)


def _parts(text: str, brackets: str) -> List[str]:
    """Returns the parts between the commas and colons directly inside the outer brackets."""
    text = text.strip()
    parts: List[str] = []
    depth, start = 0, 1
    for token in _token.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 1 and token[0] in ",:" or depth == 0 and token.end() == len(text):
            parts.append(text[start : token.start()].strip())
            start = token.end()
    if text[:1] + text[-1:] != brackets or depth != 0 or start != len(text):
        raise ValueError(f"expected {brackets}")
    return [] if parts == [""] else parts


def members_of(text: str) -> Dict[str, str]:
    """Returns the text of each member of a JSON object. Raises ValueError if it is not one; does not check values."""
    parts = _parts(text, "{}")
    if len(parts) % 2 == 1 or not all(name.startswith('"') for name in parts[::2]):
        raise ValueError("expected members")
    return {json.loads(name): value for name, value in zip(parts[::2], parts[1::2])}


def elements_of(text: str) -> List[str]:
    """Returns the text of each element of a JSON array. Raises ValueError if it is not one; does not check elements."""
    return _parts(text, "[]")
