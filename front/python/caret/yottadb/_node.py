"""The classes of YDBPython: Node, Key, and what is looped over."""

from __future__ import annotations

import copy as _copy
from typing import Any, Iterator, Optional, Sequence, Union

from . import _yottadb as low
from ._errors import YDB_DEL_NODE, YDB_DEL_TREE, YDB_MAX_SUBS, YDBNodeEnd

Text = Union[str, bytes]
Number = Union[int, float, str, bytes]
_new = object.__new__


def increment(value: Any) -> Text:
    """What is to be added, as text."""
    if isinstance(value, (str, bytes)):
        if isinstance(value, bytes):
            float(value)  # as YDBPython does: ValueError for what is not a number; its rounding is not ours
        return value
    if not isinstance(value, (int, float)):
        raise TypeError("unsupported operand type(s) for +=: must be 'int', 'float', 'str', or 'bytes'")
    return repr(value).upper().replace("E+", "E")


class SubscriptsIter:
    """Subscripts after those given, one level; or variables."""

    def __init__(self, name: Text, subsarray: Sequence[Text] = ()) -> None:
        self.name, self.subsarray = name, list(subsarray or ())
        self._reverse = False

    def __iter__(self) -> SubscriptsIter:
        return self

    def __next__(self) -> bytes:
        step = low.subscript_previous if self._reverse else low.subscript_next
        try:
            found = step(self.name, tuple(self.subsarray))
        except YDBNodeEnd:
            raise StopIteration from None
        if self.subsarray:
            self.subsarray[-1] = found
        else:
            self.name = found
        return found

    def __reversed__(self) -> list[bytes]:
        backwards = SubscriptsIter(self.name, self.subsarray)
        backwards._reverse = True
        return list(backwards)


class NodesIter:
    """Subscripts of the nodes with values, depth first."""

    _last = False

    def __init__(self, name: Text, subsarray: Sequence[Text] = ()) -> None:
        self.name, self.subsarray = name, tuple(subsarray or ())
        self._begun = False

    def __iter__(self) -> Any:
        self._begun = False
        return self

    def _first(self) -> Optional[tuple[Any, ...]]:
        return () if low.data(self.name) % 10 and not self.subsarray else None

    def __next__(self) -> tuple[bytes, ...]:
        if not self._begun:
            self._begun = True
            first = self._first()
            if first is not None:
                self.subsarray = first
                return first
        try:
            self.subsarray = self._step(self.name, self.subsarray)
        except YDBNodeEnd:
            raise StopIteration from None
        return self.subsarray

    def _step(self, name: Text, subs: tuple[Any, ...]) -> tuple[bytes, ...]:
        return low.node_next(name, subs)

    def __reversed__(self) -> Any:
        return NodesIterReversed(self.name, self.subsarray)


class NodesIterReversed(NodesIter):
    """The same from the last to the first; from a subtree on, if subscripts are given."""

    def _first(self) -> Optional[tuple[Any, ...]]:
        at: tuple[Any, ...] = self.subsarray
        if at and not low.data(self.name, at):
            if at[-1]:
                return None
            at = at[:-1]  # from the end
        at = self._last_of(at)
        while low.data(self.name, at) == 10:  # below it there is but the empty subscript, which is not told
            at = self._last_of((*at, ""))
        if not low.data(self.name, at) % 10:
            return None
        return tuple(s.encode("utf-8", "surrogateescape") if isinstance(s, str) else s for s in at)

    def _last_of(self, at: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            while len(at) < YDB_MAX_SUBS:
                at = (*at, low.subscript_previous(self.name, (*at, "")))
        except YDBNodeEnd:
            pass
        return at

    def _step(self, name: Text, subs: tuple[Any, ...]) -> tuple[bytes, ...]:
        return low.node_previous(name, subs)

    def __reversed__(self) -> Any:
        return NodesIter(self.name, self.subsarray)


class Node:
    """A name with subscripts.  == compares its value with bytes, and its address with another node."""

    __hash__ = None  # type: ignore[assignment]
    _mutable = False

    def __init__(self, name: Text, subsarray: Optional[Sequence[Text]] = None) -> None:
        if not isinstance(name, (str, bytes)):
            raise TypeError("'name' must be an instance of str or bytes")
        if subsarray is not None and not isinstance(subsarray, (list, tuple)):
            raise TypeError("'subsarray' must be an instance of list or tuple")
        self._name = name
        self._subsarray: list[Any] = list(subsarray or ())
        if len(self._subsarray) > YDB_MAX_SUBS:
            raise ValueError("Cannot create Node with %d subscripts (max: %d)" % (len(self._subsarray), YDB_MAX_SUBS))

    @property
    def _at(self) -> tuple[Any, tuple[Any, ...]]:
        return self._name, tuple(self._subsarray)

    def __repr__(self) -> str:
        subs = ", " + repr(tuple(self._subsarray)) if self._subsarray else ""
        return "%s(%s%s)" % (type(self).__name__, '"%s"' % self._name if isinstance(self._name, str)
                             else repr(self._name), subs)

    def __str__(self) -> str:
        subs = ",".join(repr(sub) for sub in self._subsarray)
        name = self._name if isinstance(self._name, str) else repr(self._name)
        return "%s(%s)" % (name, subs) if subs else name

    def __getitem__(self, item: Any) -> Any:
        if self.__class__ is Node and len(self._subsarray) < YDB_MAX_SUBS:  # __init__ would find nothing
            child = _new(Node)
            child._name = self._name
            child._subsarray = [*self._subsarray, item]
            return child
        return type(self)(self._name, [*self._subsarray, item])

    def __setitem__(self, item: Any, value: Any) -> None:
        if isinstance(value, Node) and value._at == (self._name, (*self._subsarray, item)):
            return  # node[item] += 1
        low.set(self._name, (*self._subsarray, item), value)

    def __iadd__(self, num: Number) -> Node:
        self.incr(num)
        return self

    def __isub__(self, num: Number) -> Node:
        text = increment(num)
        minus, dash = (b"-", b"--") if isinstance(text, bytes) else ("-", "--")
        text = minus + text  # type: ignore[operator]
        low.incr(*self._at, text[2:] if text.startswith(dash) else text)  # type: ignore[arg-type]
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Node):
            return self._at == other._at
        return self.value == other

    def __iter__(self) -> Iterator[Any]:
        for sub in self.subscripts:
            yield self._changing(sub)

    def __reversed__(self) -> Iterator[Any]:
        for sub in reversed(SubscriptsIter(self._name, [*self._subsarray, ""])):
            yield self._changing(sub)

    def _changing(self, sub: bytes) -> Any:
        child = self[sub]
        child._mutable = True
        return child

    def __call__(self, *args: Text) -> Any:
        return type(self)(self._name, [*self._subsarray, *args])

    def get(self) -> Optional[bytes]:
        return low.get(self._name, tuple(self._subsarray))

    def set(self, value: Text = "") -> None:
        low.set(self._name, tuple(self._subsarray), value)

    @property
    def value(self) -> Optional[bytes]:
        return low.get(self._name, tuple(self._subsarray))

    @value.setter
    def value(self, value: Text) -> None:
        low.set(self._name, tuple(self._subsarray), value)

    def mutate(self, name: Text) -> Any:
        """The same with another last subscript, or name: itself if it may be changed, else a copy."""
        if not isinstance(name, (str, bytes)):
            raise TypeError("'name' must be an instance of str or bytes")
        changed = self if self._mutable else self.copy()
        changed._mutable = True
        if changed._subsarray:
            changed._subsarray[-1] = name
        else:
            changed._name = name
        return changed

    def copy(self) -> Any:
        """The same address, which is not mutable."""
        return type(self)(self._name, _copy.copy(self._subsarray))

    @property
    def data(self) -> int:
        return low.data(*self._at)

    @property
    def leaf(self) -> Text:
        leaf: Text = self._subsarray[-1] if self._subsarray else self._name
        return leaf

    @property
    def parent(self) -> Any:
        return type(self)(self._name, self._subsarray[:-1])

    @property
    def name(self) -> Text:
        return self._name

    @property
    def subsarray(self) -> list[Any]:
        return self._subsarray

    @property
    def mutable(self) -> bool:
        return self._mutable

    def delete_node(self) -> None:
        low.delete(*self._at, YDB_DEL_NODE)

    def delete_tree(self) -> None:
        low.delete(*self._at, YDB_DEL_TREE)

    def incr(self, increment_by: Number = "1", **named: Number) -> bytes:
        return low.incr(*self._at, increment(named.get("increment", increment_by)))

    def subscript_next(self) -> bytes:
        return low.subscript_next(*self._at)

    def subscript_previous(self, reset: bool = False) -> bytes:
        return low.subscript_previous(*self._at)

    def lock(self, timeout_nsec: int = 0) -> None:
        low.lock((self._at,), timeout_nsec)

    def lock_incr(self, timeout_nsec: int = 0) -> None:
        low.lock_incr(*self._at, timeout_nsec)

    def lock_decr(self) -> None:
        low.lock_decr(*self._at)

    @property
    def has_value(self) -> bool:
        return self.data in (1, 11)

    @property
    def has_subtree(self) -> bool:
        return self.data in (10, 11)

    @property
    def has_both(self) -> bool:
        return self.data == 11

    @property
    def has_neither(self) -> bool:
        return self.data == 0

    @property
    def subscripts(self) -> Iterator[bytes]:
        return iter(SubscriptsIter(self._name, [*self._subsarray, ""]))

    def load_tree(self) -> dict[str, Any]:
        from ._trees import load_tree

        return load_tree(self)

    def save_tree(self, tree: dict[Any, Any], node: Optional[Node] = None) -> None:
        from ._trees import save_tree

        save_tree(tree, self if node is None else node)

    def replace_tree(self, tree: dict[Any, Any]) -> None:
        from ._trees import replace_tree

        replace_tree(tree, self)

    def save_json(self, json: object, node: Optional[Node] = None) -> None:
        from ._trees import save_json

        save_json(json, self if node is None else node)

    def load_json(self, node: Optional[Node] = None, spaces: str = "") -> Any:
        from ._trees import load_json

        return load_json(self if node is None else node)


class Key(Node):
    """The name that Node had before version 2."""
