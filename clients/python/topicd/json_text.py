"""JSON without loss: exact numbers in what is sent, and the texts of the values that arrive.

Python's own parser and writer do the rest. What the texts mean is not known here (item.py).
"""

import json
import re
import secrets
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Callable, Dict, List, Literal, Mapping

#: How numbers arrive: integers as int, the others as float or Decimal; or each as a JsonText.
Numbers = Literal["float", "decimal", "text"]
Decode = Callable[[str], Any]


@dataclass(frozen=True)
class JsonText:
    """Stands for a value or a part of one, and is sent verbatim: `JsonText('1.10')` keeps its 0."""

    text: str

    def __post_init__(self) -> None:
        json.loads(self.text, parse_int=str, parse_float=str, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"JSON cannot hold {constant}")


def decoder(numbers: Numbers) -> Decode:
    """The parser of values."""
    choices: Dict[str, Any] = {"float": (int, float), "decimal": (int, Decimal), "text": (JsonText, JsonText)}
    if numbers not in choices:
        raise ValueError(f"numbers must be one of {', '.join(choices)}, but is {numbers!r}")
    whole, fraction = choices[numbers]
    return json.JSONDecoder(parse_int=whole, parse_float=fraction, parse_constant=_refuse).decode


#: Marks the place of a text that json.dumps cannot write. It is random, so no value contains it.
_mark = secrets.token_hex(16)


def encode(value: Any) -> str:
    """The JSON text of a value. Raises ValueError or TypeError for what JSON cannot hold, such as NaN."""
    texts: List[str] = []

    def marked(part: Any) -> str:
        if not (isinstance(part, JsonText) or isinstance(part, Decimal) and part.is_finite()):
            raise TypeError(f"JSON cannot hold {part!r}, which is a {type(part).__name__}")
        texts.append(part.text if isinstance(part, JsonText) else str(part))
        return f"{_mark}{len(texts) - 1}"

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=marked)
    text = re.sub(f'"{_mark}([0-9]+)"', lambda found: texts[int(found[1])], text) if texts else text
    # UTF-8 has no form for half of a surrogate pair.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def encode_body(members: Mapping[str, Any]) -> bytes:
    """A request body. Members that are None are left out, except a value, which is then null."""
    return encode({name: member for name, member in members.items() if member is not None or name == "value"}).encode()


_token = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]', re.S)


def _parts(text: str, brackets: str) -> List[str]:
    """The texts between the commas and colons directly within the outer brackets."""
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
    """The text of each member of a JSON object. Raises ValueError for another text; values are not checked."""
    parts = _parts(text, "{}")
    if len(parts) % 2 == 1 or not all(name.startswith('"') for name in parts[::2]):
        raise ValueError("expected members")
    return {json.loads(name): value for name, value in zip(parts[::2], parts[1::2])}


def elements_of(text: str) -> List[str]:
    """The text of each element of a JSON array. Raises ValueError for another text; elements are not checked."""
    return _parts(text, "[]")
