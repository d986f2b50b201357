"""Values that expire: what the caches of caret.contrib and memoize() stand on.

^c("v",key) is a value, ^c("e",key) the time when it expires, ^c("t",time,key) an index of that.  All three change in one
transaction, so a death in its midst leaves none of them half done.

A key is k and the key; of a long one l, its beginning and its hash.  So those that begin alike are beside each other.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import operator
import pickle
import time
from typing import Any, Callable, Optional

from ._transactions import together

BATCH = 100
FOREVER = 1e11  # s: three thousand years
LONG = 200  # bytes: longer keys are kept by their hash
BEGIN = 100  # bytes that it keeps of them


class Expiring:
    """A cache below a node; values are what the codec takes."""

    def __init__(self, node: Any, codec: Any = pickle, clock: Callable[[], float] = time.time) -> None:
        self.db, self._run = node.db, together(node)
        self._values, self._expires, self._index = node["v"], node["e"], node["t"]
        self.codec, self._clock = codec, clock

    @staticmethod
    def _bytes(key: Any) -> bytes:
        if isinstance(key, str):
            return key.encode("utf-8", "surrogateescape")
        if not isinstance(key, (bytes, bytearray, memoryview)):  # bytes(7) are seven of them
            raise TypeError("a key of a cache is str or bytes, not %s" % type(key).__name__)
        return bytes(key)

    def _sub(self, key: Any) -> bytes:
        data = self._bytes(key)
        return b"k" + data if len(data) <= LONG else b"l" + data[:BEGIN] + hashlib.sha256(data).digest()

    def _alive(self, sub: bytes) -> bool:
        expires = self._expires[sub].float()
        return expires is None or expires > self._clock()

    def _data(self, sub: bytes) -> Optional[bytes]:
        """Outside of a transaction others may set it between both steps.  So the time is first: with it second, the
        time of a new value would count for the old one, which has expired."""
        return self._values[sub].bytes if self._alive(sub) else None

    def get(self, key: Any, default: Any = None) -> Any:
        """The value; the default if there is none, or it has expired."""
        data = self._data(self._sub(key))
        return self.codec.loads(data) if data is not None else default

    def has(self, key: Any) -> bool:
        return self._data(self._sub(key)) is not None

    def _forget(self, sub: bytes) -> None:
        expires = self._expires[sub].bytes
        if expires is not None:
            self._index[expires, sub].kill()
            self._expires[sub].kill()
        self._values[sub].kill()

    def _put(self, sub: bytes, data: bytes, seconds: Optional[float]) -> None:
        if seconds is not None and not seconds < FOREVER:
            if seconds != seconds:
                raise ValueError("a value expires after so many seconds, not after NaN")
            seconds = None
        self._forget(sub)
        if seconds is not None and seconds <= 0:
            return  # it has expired already
        self._values[sub].set(data)
        if seconds is not None:
            expires = ("%.3f" % (self._clock() + seconds)).rstrip("0").rstrip(".")  # a number, so in order of time
            self._expires[sub].set(expires)
            self._index[expires, sub].set("")

    def set(self, key: Any, value: Any, seconds: Optional[float] = None) -> None:
        """Set a value, for so many seconds; None: for ever."""
        data = self.codec.dumps(value)
        self._run(self._put, self._sub(key), data, seconds)
        self.cull()

    def add(self, key: Any, value: Any, seconds: Optional[float] = None) -> bool:
        """Set it if there is none; was it set?"""
        sub, data = self._sub(key), self.codec.dumps(value)

        def body() -> bool:
            if self._data(sub) is not None:
                return False
            self._put(sub, data, seconds)
            return True

        return bool(self._run(body))

    def touch(self, key: Any, seconds: Optional[float]) -> bool:
        """Expire at another time; was there a value?"""
        sub = self._sub(key)

        def body() -> bool:
            data = self._data(sub)
            if data is None:
                return False
            self._put(sub, data, seconds)
            return True

        return bool(self._run(body))

    def incr(self, key: Any, by: Any = 1, add: Callable[[Any, Any], Any] = operator.add) -> Any:
        """Add; None: there is no value.  It expires when it did before."""
        sub = self._sub(key)

        def body() -> Any:
            data = self._data(sub)
            if data is None:
                return None
            value = add(self.codec.loads(data), by)
            self._values[sub].set(self.codec.dumps(value))
            return value

        return self._run(body)

    def delete(self, key: Any) -> bool:
        """Was there a value?"""
        sub = self._sub(key)

        def body() -> bool:
            found = self._data(sub) is not None
            self._forget(sub)
            return found

        return bool(self._run(body))

    def clear(self) -> None:
        def body() -> None:
            for node in (self._values, self._expires, self._index):
                node.kill()

        self._run(body)

    def clear_prefix(self, prefix: Any) -> None:
        """Forget all whose keys begin so; also other long keys whose first 100 bytes are the prefix's."""
        data = self._bytes(prefix)
        for begin in (b"k" + data, b"l" + data[:BEGIN]):
            while self._run(self._forget_some, self._values.prefix(begin), BATCH):
                pass

    def _forget_some(self, nodes: Any, most: int) -> int:
        found = list(itertools.islice(nodes, most))
        for sub in found:
            self._forget(self._bytes(sub))
        return len(found)

    def shrink(self, most: int, part: int) -> int:
        """If there are so many values or more, forget one in `part` of them, or all (0); how many.

        What has expired goes first, then what expires next, then any.
        """
        count = int(self._values.count())
        if count < most:
            return 0
        if part == 0:
            self.clear()
            return count
        wanted = left = count // part
        while left > 0:
            gone = int(self._run(self._forget_next, min(left, BATCH)))
            if gone == 0:
                break
            left -= gone
        return wanted - left

    def _forget_next(self, most: int) -> int:
        first = self._index.first
        if first is not None:
            return self._forget_some(first, most)
        node = self._values.random()
        if node is not None:
            self._forget(self._bytes(node.sub))
        return int(node is not None)

    def cull(self, most: int = BATCH) -> int:
        """Forget some of what has expired; how many."""
        now = self._clock()
        first = self._index.first
        if first is None or float(first.sub) > now:
            return 0
        return int(self._run(self._cull, most, now))

    def _cull(self, most: int, now: float) -> int:
        count = 0
        while count < most:
            first = self._index.first
            if first is None or float(first.sub) > now:
                break
            count += self._forget_some(first, most - count)
        return count


def _pickled(what: Any) -> bytes:
    """Without what tells that two parts are the same object, not only equal ones, unless they go round in a circle."""
    for fast in (True, False):
        made = io.BytesIO()
        pickler = pickle.Pickler(made, 4)
        pickler.fast = fast
        try:
            pickler.dump(what)
            break
        except (ValueError, RecursionError):
            if not fast:
                raise
    return made.getvalue()


def memoize(node: Any, expire: Optional[float] = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: keep what a function, or an async one, returns for its arguments, below a node.

    All processes share it; function.forget(*args) takes one result away.  Arguments and results are pickled.
    """
    cache = Expiring(node)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        if not callable(function):
            raise TypeError("memoize() takes a function: @db.memoize, or @db.memoize(expire=60)")

        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("memoize() keeps what a function returns, and a generator can't be kept; make a list")

        def key(args: Any, kw: Any) -> bytes:
            name = "%s.%s" % (function.__module__, function.__qualname__)
            return _pickled((name, args, sorted(kw.items())))

        def keep(k: bytes, value: Any) -> Any:
            cache.set(k, (value,), expire)
            return value

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kw: Any) -> Any:
                k = key(args, kw)
                found = cache.get(k)
                return found[0] if found is not None else keep(k, await function(*args, **kw))

            wrapper: Any = later
        else:

            @functools.wraps(function)
            def at_once(*args: Any, **kw: Any) -> Any:
                k = key(args, kw)
                found = cache.get(k)
                return found[0] if found is not None else keep(k, function(*args, **kw))

            wrapper = at_once
        wrapper.forget = lambda *args, **kw: cache.delete(key(args, kw))
        decorated: Callable[..., Any] = wrapper
        return decorated

    return decorate
