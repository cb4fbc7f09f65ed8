"""A mapping of topics that a thread keeps up to date. It keeps the last state during an outage, then catches up."""

import threading
from typing import Callable, Dict, ItemsView, Iterator, Mapping, Optional, Set, ValuesView

from .changes import Change, Changes
from .item import Item


class LiveTopics(Mapping[str, Item]):
    """A live mapping of a selector's matches by path, from `Client.follow`.

    `is_ready` is true once the initial state has loaded. `closed` is true once following has ended; then the mapping
    no longer changes, and `error` is the reason, or None after `close`.
    """

    def __init__(self, changes: Changes, on_change: Callable[[Change], object]) -> None:
        self.is_ready = self.closed = self._is_complete = False
        self.error: Optional[Exception] = None
        self._changes, self._on_change = changes, on_change
        self._topics: Dict[str, Item] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._follow, name="topicd", daemon=True).start()

    def __getitem__(self, path: str) -> Item:
        return self._topics[path]

    def __iter__(self) -> Iterator[str]:
        # A copy, because the thread may change the topics during the iteration.
        return iter(list(self._topics))

    def __len__(self) -> int:
        return len(self._topics)

    def items(self) -> ItemsView[str, Item]:
        """Returns the paths and topics of this moment, which later changes do not affect."""
        return self._topics.copy().items()

    def values(self) -> ValuesView[Item]:
        """Returns the topics of this moment, which later changes do not affect."""
        return self._topics.copy().values()

    def __enter__(self) -> "LiveTopics":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_connected(self) -> bool:
        """True if the last attempt received data and has not failed since."""
        return self._changes.is_connected

    @property
    def is_complete(self) -> bool:
        """True while the mapping is a snapshot, as far as the client knows."""
        return self._is_complete and self._changes.is_complete

    def close(self) -> None:
        """Stops following; the mapping keeps its last state."""
        self._changes.close()

    def wait_ready(self, timeout: Optional[float] = 30) -> None:
        """Waits until the initial state has loaded. After a TimeoutError, following continues."""
        self.wait_for(lambda topics: topics.is_ready, timeout)

    def wait_for(self, condition: Callable[["LiveTopics"], bool], timeout: Optional[float] = None) -> None:
        """Waits until the condition, tested after each change, is true. Raises the error that ended following."""
        is_met = False

        def is_over() -> bool:
            nonlocal is_met
            is_met = condition(self)
            return is_met or self.closed

        with self._changed:
            if not self._changed.wait_for(is_over, timeout):
                raise TimeoutError(f"not within {timeout:g} s") from self._changes.outage
        if not is_met:
            raise self.error or ConnectionError("following was closed")

    def _follow(self) -> None:
        unseen: Set[str] = set()
        try:
            for change in self._changes:
                if change.kind == "restarted":
                    unseen, self._is_complete = set(self._topics), False
                    continue
                unseen.discard(change.path)
                while unseen and change.kind == "complete":
                    self._take(Change("removed", unseen.pop()))
                self._take(change)
        except Exception as error:
            self.error = error
        finally:
            self._changes.close()
            with self._changed:
                self.closed = True
                self._changed.notify_all()

    def _take(self, change: Change) -> None:
        with self._changed:
            if change.item:
                self._topics[change.path] = change.item
            elif change.kind == "removed" and self._topics.pop(change.path, None) is None:
                return
            self._is_complete = change.kind == "complete"
            self.is_ready = self.is_ready or self._is_complete
            self._changed.notify_all()
        self._on_change(change)
