"""shelve on Caret: a persistent mapping of str to pickled objects, which processes may share.

    from caret import shelf
    with shelf.open("app.caret") as trees:
        trees["oak"] = {"age": 300}

Each assignment is on its own and atomic; there is nothing to close for it to be kept.  writeback=True is as in shelve.
"""

from __future__ import annotations

import errno
import os
import pickle
import threading
from collections.abc import Iterator, MutableMapping
from typing import Any, Optional

import caret
from caret import _core

_opened: dict[tuple[str, bool], list[Any]] = {}  # by path and readonly: a Database opened here, and how many use it
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have had it


os.register_at_fork(after_in_child=_after_fork)


def check_name(name: str) -> None:
    """What is kept is kept in a file."""
    if not name.startswith("^"):
        raise ValueError("a name begins with ^, as in '^shelf', not %r: others are of this thread alone" % (name,))


def removed(node: Any) -> bool:
    """Delete the value of the node: whether it had one, in one step."""

    def take() -> bool:
        found = bool(node.has_value)
        node.delete()
        return found

    return bool(node.db.run(take))


def shared(path: Any, readonly: bool = False, **options: Any) -> Any:
    """The Database of this path: open here already, or opened, and closed by the last release().

    For reading one that can be written to will do, too.
    """
    text = os.fsdecode(path)
    if text == ":memory:" or "://" in text:
        return caret.open(text, readonly=readonly, **options)  # closed with its last node
    full = os.path.realpath(text)  # as Database.path has it
    with _lock:
        for known in [_opened.get((full, False)), _opened.get((full, True))][: 1 + readonly]:
            if known is not None and not known[0].closed:
                known[1] += 1
                return known[0]
        db = getattr(_core, "find")(full)
        if db is not None and db.readonly <= readonly:
            return db
        db = caret.open(full, readonly=readonly, **options)
        _opened[full, readonly] = [db, 1]
        return db


def release(db: Any) -> None:
    """It is used no longer."""
    with _lock:
        key = db.path, db.readonly
        known = _opened.get(key)
        if known is None or known[0] is not db:
            return
        known[1] -= 1
        if known[1] == 0:
            del _opened[key]
            db.close()


class Shelf(MutableMapping[str, Any]):
    """As shelve.Shelf; keys are str."""

    def __init__(self, node: Any, codec: Any = pickle, writeback: bool = False, close: bool = False,
                 readonly: bool = False) -> None:
        self.node: Any = node
        self._codec, self._writeback, self._close, self._readonly = codec, writeback, close, readonly
        self.cache: dict[str, Any] = {}

    def _at(self, key: str) -> Any:
        if self.node is None:
            raise ValueError("invalid operation on closed shelf")
        if not isinstance(key, str):
            raise TypeError("keys of a shelf are str, not %s" % type(key).__name__)
        return self.node[b"k" + key.encode("utf-8", "surrogateescape")]  # so that "7" does not become a number

    def __getitem__(self, key: str) -> Any:
        if key in self.cache:
            return self.cache[key]
        data = self._at(key).bytes
        if data is None:
            raise KeyError(key)
        value = self._codec.loads(data)
        if self._writeback:
            self.cache[key] = value
        return value

    def _writable(self, key: str) -> Any:
        node = self._at(key)
        if self._readonly:  # the database itself may be open for others
            raise caret.ReadOnly(errno.EROFS, "READONLY: the shelf was opened with the flag 'r'")
        return node

    def __setitem__(self, key: str, value: Any) -> None:
        data = self._codec.dumps(value)
        self._writable(key).set(data.encode() if isinstance(data, str) else data)
        if self._writeback:
            self.cache[key] = value

    def __delitem__(self, key: str) -> None:
        if not removed(self._writable(key)):
            raise KeyError(key)
        self.cache.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self._at(key).has_value)

    def __iter__(self) -> Iterator[str]:
        if self.node is None:
            raise ValueError("invalid operation on closed shelf")
        for sub in self.node:
            yield sub[1:]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def sync(self) -> None:
        """Write what writeback=True kept, and wait for the disk; of a closed one nothing."""
        if self.node is None:
            return
        self._write()
        self.cache.clear()
        self.node.db.sync()

    def _write(self) -> None:
        if not self._readonly:
            for key, value in list(self.cache.items()):
                self[key] = value

    def close(self) -> None:
        """Write what writeback=True kept; the shelf can't be used any more."""
        if self.node is None:
            return
        try:
            self._write()
        finally:  # closed all the same
            db, self.node = self.node.db, None
            self.cache = {}
            if self._close:
                release(db)

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(path: Any, flag: str = "c", codec: Any = pickle, writeback: bool = False, name: str = "^shelf",
         protocol: Optional[int] = None) -> Shelf:
    """The shelf of this file: flag is r, w, c or n, as for shelve.open(); codec has dumps() and loads()."""
    if flag not in ("r", "w", "c", "n"):
        raise ValueError("flag is 'r', 'w', 'c' or 'n', not %r" % (flag,))
    if protocol is not None:
        codec = _Protocol(protocol)
    check_name(name)
    db = shared(path, create=flag in "cn", readonly=flag == "r")
    if flag == "n":
        db[name].kill()
    return Shelf(db[name], codec, writeback, True, flag == "r")


class _Protocol:
    """pickle with a protocol of one's own."""

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol

    def loads(self, data: bytes) -> Any:
        return pickle.loads(data)

    def dumps(self, value: Any) -> bytes:
        return pickle.dumps(value, self._protocol)
