"""Local variables: those of the engine, and here the ones with a name too long for it.

A key of the engine has at most 1,015 bytes, a local name of YottaDB 31 subscripts of 1 MiB.  So a local variable whose
name does not fit once is moved to a Long: all of it, so that one place knows its order.  Both are of the thread.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import Any, Iterator, Union

import caret

Bytes = bytes  # in classes with an attribute of that name
Path = tuple[tuple[Any, ...], ...]
Saved = dict[str, list[tuple[tuple[bytes, ...], bytes]]]

store = caret.local()
moved = False  # was there ever a Long, in any thread?
_NUMBER = re.compile(rb"-?(?:[1-9]\d*(?:\.\d*[1-9])?|\.\d*[1-9])\Z|0\Z")
_AFTER = ((3,),)  # after all subscripts


def out(sub: Any) -> bytes:
    """A subscript as bytes."""
    if sub.__class__ is int:
        return b"%d" % sub
    return sub if isinstance(sub, bytes) else str(sub).encode("utf-8", "surrogateescape")


def collate(sub: bytes) -> tuple[Any, ...]:
    """What sorts as subscripts do: the empty one, numbers by value, strings by bytes."""
    if not sub:
        return 0, sub
    if len(sub) < 50 and _NUMBER.match(sub) and len(sub.strip(b"-0.").replace(b".", b"")) <= 18:
        return 1, Decimal(sub.decode()), sub
    return 2, sub


class Long:
    """A tree in memory."""

    def __init__(self) -> None:
        self.keys: list[Path] = []  # sorted, as the tree is
        self.values: dict[Path, bytes] = {}

    def put(self, path: Path, value: bytes) -> None:
        if path not in self.values:
            self.keys.insert(bisect_left(self.keys, path), path)
        self.values[path] = value

    def take(self, path: Path, below: bool) -> None:
        """Delete it, and what is below."""
        first = bisect_left(self.keys, path)
        last = bisect_left(self.keys, path + _AFTER) if below else first + (path in self.values)
        for key in self.keys[first:last]:
            del self.values[key]
        del self.keys[first:last]


class _Trees(threading.local):
    def __init__(self) -> None:
        self.of: dict[str, Long] = {}


trees = _Trees()


class Place:
    """A node of a Long, with what this package uses of caret.Node."""

    __slots__ = ("name", "tree", "path")

    def __init__(self, name: str, tree: Long, path: Path) -> None:
        self.name, self.tree, self.path = name, tree, path

    @property
    def bytes(self) -> Union[Bytes, None]:
        return self.tree.values.get(self.path)

    def set(self, value: Union[str, Bytes]) -> None:
        self.tree.put(self.path, value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)

    def delete(self) -> None:
        self.tree.take(self.path, False)

    def kill(self) -> None:
        self.tree.take(self.path, True)

    @property
    def data(self) -> int:
        after = bisect_right(self.tree.keys, self.path)
        below = after < len(self.tree.keys) and self.tree.keys[after][: len(self.path)] == self.path
        return (self.path in self.tree.values) + 10 * below

    is_local = True

    @property
    def sub(self) -> Any:
        return self.path[-1][-1]

    @property
    def subs(self) -> tuple[Any, ...]:
        return tuple(sub[-1] for sub in self.path)

    def _at(self, i: int) -> Union[Place, None]:
        return Place(self.name, self.tree, self.tree.keys[i]) if 0 <= i < len(self.tree.keys) else None

    def _sibling(self, place: Union[Place, None]) -> Union[Place, None]:
        depth = len(self.path)
        if place is None or len(place.path) < depth or place.path[: depth - 1] != self.path[:-1]:
            return None
        return Place(self.name, self.tree, place.path[:depth])

    @property
    def next(self) -> Union[Place, None]:
        return self._sibling(self._at(bisect_left(self.tree.keys, self.path + _AFTER)))

    @property
    def previous(self) -> Union[Place, None]:
        return self._sibling(self._at(bisect_left(self.tree.keys, self.path) - 1))

    @property
    def last(self) -> Union[Place, None]:
        return Place(self.name, self.tree, self.path + _AFTER).previous

    @property
    def next_node(self) -> Union[Place, None]:
        return self._at(bisect_right(self.tree.keys, self.path))

    @property
    def previous_node(self) -> Union[Place, None]:
        return self._at(bisect_left(self.tree.keys, self.path) - 1)

    def _incr_m(self, by: Bytes) -> Bytes:
        """Counted by the engine, in a variable of its own."""
        scratch: Any = store["%caretincr"]
        scratch.set(self.bytes or b"")
        try:
            made: Bytes = scratch._incr_m(by)
        finally:
            scratch.kill()
        self.set(made)
        return made


def place(name: str, subs: tuple[bytes, ...]) -> Any:
    """The node of a local variable."""
    tree = trees.of.get(name)
    if tree is None:
        try:
            return store[(name, *subs)]
        except caret.Key2Big:
            tree = trees.of[name] = _moved(name)
    return Place(name, tree, tuple(collate(sub) for sub in subs))


def _moved(name: str) -> Long:
    """What a variable of the engine has, in a Long instead."""
    global moved
    moved = True
    tree = Long()
    for subs, value in _nodes(name):
        tree.put(tuple(collate(sub) for sub in subs), value)
    store[name].kill()
    return tree


def _nodes(name: str) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
    at: Any = place(name, ())
    if at.data % 10:
        yield (), at.bytes
    at = at.next_node
    while at is not None and at.name == name:
        yield tuple(out(sub) for sub in at.subs), at.bytes
        at = at.next_node


def names() -> list[str]:
    """Of all local variables, in order."""
    return sorted({*store.names(local=True), *(name for name, tree in trees.of.items() if tree.keys)})


def delete(name: str) -> None:
    trees.of.pop(name, None)
    store[name].kill()


def beside(name: str, step: int) -> Union[str, None]:
    """The variable after or before a name, where some are in memory."""
    known = names()
    i = bisect_right(known, name) if step > 0 else bisect_left(known, name) - 1
    return known[i] if 0 <= i < len(known) else None


def save(wanted: list[str]) -> Saved:
    """What these variables have; "*": all."""
    if wanted == ["*"]:
        return {"*": [], **{name: list(_nodes(name)) for name in names()}}
    return {name: list(_nodes(name)) for name in wanted}


def restore(saved: Saved) -> None:
    for name in names() if "*" in saved else saved:
        delete(name)
    for name, nodes in saved.items():
        for subs, value in nodes:
            place(name, subs).set(value)
