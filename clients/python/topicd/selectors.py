"""Selectors that select exactly the paths they are built from, whatever characters those contain. Pure.

The service decides what a selector means. A subtree is written `?segment/segment//`, because `*path//` also takes its
text literally, so that a quotation in it would be another path that it selects.
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
    """Selects everything that any of these selectors selects; there must be at least one."""
    # The separator's last four slashes count, so a slash after it would belong to the selector before it.
    return "#" + "////".join(f">{selector}" if selector.startswith("/") else selector for selector in selectors)


def segments_of(path: str) -> List[str]:
    """Drops a slash at each end. Raises ValueError for an empty segment, which a selector could take for its scope."""
    segments = re.sub(r"\A/|(?<=.)/\Z", "", path, flags=re.S).split("/")
    if "" in segments:
        raise ValueError(f"the path {path!r} has an empty segment")
    return segments
