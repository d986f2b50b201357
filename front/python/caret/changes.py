"""What was committed, change by change.  Loaded when first used.

    with db.changes(below=db["^queue"]) as feed:
        for change in feed:                 # waits for the next one
            print(change.kind, change.node, change.value)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

_KINDS = {1: "set", 2: "delete", 3: "kill", 4: "kill_range"}


class Change(NamedTuple):
    """One change of a commit."""

    node: Any  # of a kill of a range: the parent of what was killed
    kind: str  # "set", "delete", "kill" or "kill_range"
    value: Any  # of a set; None: it was long, and was replaced since
    length: int  # of the value, in bytes
    place: int  # in the log, after its commit
    number: int  # among the changes of its commit, from 0
    of: int  # so many
    range: Optional[tuple[Any, Any, int]]  # of a kill of a range: from, to, flags as CARET_RANGE_*


class Changes:
    """A feed: an iterator that waits for the next change, for `wait` seconds at most.  One thread at a time uses it."""

    __slots__ = ("_log", "_wait")

    def __init__(self, db: Any, place: Optional[int], below: Any, wait: Optional[float]) -> None:
        self._log, self._wait = db._log(place, below), wait

    def next(self, timeout: Optional[float] = None) -> Optional[Change]:
        """The next change; None if there is none in so many seconds (None: wait for ever; 0: only look).

        caret.NotFound: the log has gone round since the last one; begin anew with db.changes().
        """
        told = self._log.read()
        if told is None and self._log.wait(timeout):
            told = self._log.read()
        if told is None:
            return None
        node, kind, *more = told
        return Change(node, _KINDS[kind], *more)

    @property
    def place(self) -> int:
        """Where to go on from: after the last commit that was told whole."""
        place: int = self._log.place
        return place

    def close(self) -> None:
        """Give it back at once, not when it is collected."""
        self._log.close()

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> Change:
        change = self.next(self._wait)
        if change is None:
            raise StopIteration
        return change

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
