"""dbm on Caret: a persistent mapping of bytes to bytes, which processes may share.

    from caret import dbm
    with dbm.open("words.caret", "c") as words:
        words[b"oak"] = b"Eiche"
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, MutableMapping
from typing import Any, Optional, Union

import caret

from .shelf import check_name, release, removed, shared

error = (caret.Error, OSError)
Text = Union[str, bytes]
_MISSING = object()


def _bytes(value: Any, what: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError("%s must be bytes or strings" % what)


class Dbm(MutableMapping[Text, bytes]):
    """An open file."""

    def __init__(self, node: Any, readonly: bool) -> None:
        self._node: Any = node
        self._readonly = readonly

    def _at(self, key: Any) -> Any:
        if self._node is None:
            raise caret.Closed("CLOSED: DBM object has already been closed")
        return self._node[b"k" + _bytes(key, "keys")]  # so that b"7" does not become a number

    def _writable(self, key: Any) -> Any:
        node = self._at(key)
        if self._readonly:
            raise caret.ReadOnly(errno.EROFS, "READONLY: the file was opened with the flag 'r'")
        return node

    def __getitem__(self, key: Text) -> bytes:
        value: Optional[bytes] = self._at(key).bytes
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Text, value: Text) -> None:
        self._writable(key).set(_bytes(value, "values"))

    def __delitem__(self, key: Text) -> None:
        if not removed(self._writable(key)):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return bool(self._at(key).has_value)

    def __iter__(self) -> Iterator[bytes]:
        if self._node is None:
            raise caret.Closed("CLOSED: DBM object has already been closed")
        for sub in self._node:
            yield sub[1:].encode("utf-8", "surrogateescape")

    def keys(self) -> Any:
        """The keys, a list as in dbm."""
        return list(self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def setdefault(self, key: Text, default: Any = b"") -> bytes:
        """The value; it is set to the default if there is none."""
        node = self._writable(key)
        node.add(_bytes(default, "values"))
        return self[key]

    def firstkey(self) -> Optional[bytes]:
        """The first key, in order, or None."""
        return next(iter(self), None)

    def nextkey(self, key: Text) -> Optional[bytes]:
        """The key after this one, or None."""
        found = self._at(key).next
        return None if found is None else found.sub[1:].encode("utf-8", "surrogateescape")

    def sync(self) -> None:
        """Wait until the disk has it; of a closed one nothing."""
        if self._node is not None:
            self._node.db.sync()

    def close(self) -> None:
        """It can't be used any more."""
        if self._node is not None:
            db, self._node = self._node.db, None
            release(db)

    def __enter__(self) -> Dbm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(file: Any, flag: str = "r", mode: int = 0o666, name: str = "^dbm") -> Dbm:
    """Open a file: 'r' to read, 'w' to write, 'c' to make it if need be, 'n' to begin with an empty one."""
    if flag not in ("r", "w", "c", "n"):
        raise ValueError("flag must be one of 'r', 'w', 'c', or 'n', not %r" % (flag,))
    check_name(name)
    if flag in "rw" and not os.path.exists(file):
        raise FileNotFoundError(2, "No such file or directory", os.fsdecode(file))
    db = shared(file, create=flag in "cn", readonly=flag == "r" and not os.access(file, os.W_OK))
    if flag == "n":
        db[name].kill()
    return Dbm(db[name], flag == "r")


def whichdb(filename: Any) -> Optional[str]:
    """'caret.dbm' for a file of Caret, else what dbm.whichdb() says."""
    import dbm

    path = os.fsdecode(filename)  # a number would be a descriptor, which is the caller's
    try:
        with _binary(path) as f:
            head = f.read(8)
    except (OSError, IsADirectoryError):
        head = b""
    return "caret.dbm" if b"caret" in head.lower() else dbm.whichdb(path)


def _binary(path: Any) -> Any:
    import io

    return io.open(path, "rb")
