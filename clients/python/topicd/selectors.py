"""Selectors that select exactly the given paths, which may contain any characters. Pure.

The service defines the meaning of a selector. A subtree is written `?segment/segment//`, not `*path//`: the service
also takes the text of `*path//` literally, so a quoted character would select another path as well.
"""

import re
from typing import List

#: Selects every topic.
everything = "?.*//"


def topic(path: str) -> str:
    """Selects the topic at this path alone."""
    return ">" + "/".join(segments_of(path))


def subtree(path: str) -> str:
    """Selects the topic at this path and everything below it."""
    return descendants(path) + "/"


def descendants(path: str) -> str:
    """Selects everything below this path, but not the topic at it."""
    return "?" + re.sub(r"[\\^$.*+?()\[\]{}|]", r"\\\g<0>", "/".join(segments_of(path))) + "/"


def any_of(*selectors: str) -> str:
    """Selects every topic that at least one of these selectors selects. Needs at least one selector."""
    # In a run of slashes, the last four are the separator, so a leading slash would belong to the selector before it.
    return "#" + "////".join(f">{selector}" if selector.startswith("/") else selector for selector in selectors)


def segments_of(path: str) -> List[str]:
    """Ignores a slash at each end. Raises ValueError for an empty segment, which could change a selector's scope."""
    segments = re.sub(r"\A/|(?<=.)/\Z", "", path, flags=re.S).split("/")
    if "" in segments:
        raise ValueError(f"the path {path!r} has an empty segment")
    return segments
