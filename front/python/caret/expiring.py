"""Values that expire: what the caches of caret.contrib and memoize() stand on.

^c("v",key) is a value, ^c("e",key) the time when it expires, ^c("t",time,key) an index of that.  All three change in one
transaction, so a death in its midst leaves none of them half done.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import time
from typing import Any, Callable, Optional

BATCH = 100


class Expiring:
    """A cache below a node; values are what the codec takes."""

    def __init__(self, node: Any, codec: Any = pickle, clock: Callable[[], float] = time.time) -> None:
        self.db = node.db
        self._values, self._expires, self._index = node["v"], node["e"], node["t"]
        self._codec, self._clock = codec, clock

    @staticmethod
    def _sub(key: Any) -> bytes:
        data = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key)
        return b"k" + data if len(data) <= 200 else b"h" + hashlib.sha256(data).digest()

    def _alive(self, sub: bytes) -> bool:
        expires = self._expires[sub].float()
        return expires is None or expires > self._clock()

    def _data(self, sub: bytes) -> Optional[bytes]:
        data: Optional[bytes] = self._values[sub].bytes
        return data if data is not None and self._alive(sub) else None

    def get(self, key: Any, default: Any = None) -> Any:
        """The value; the default if there is none, or it has expired."""
        sub = self._sub(key)
        data = self._values[sub].bytes
        return self._codec.loads(data) if data is not None and self._alive(sub) else default

    def has(self, key: Any) -> bool:
        return self._data(self._sub(key)) is not None

    def _forget(self, sub: bytes) -> None:
        expires = self._expires[sub].bytes
        if expires is not None:
            self._index[expires, sub].kill()
            self._expires[sub].kill()
        self._values[sub].kill()

    def _put(self, sub: bytes, data: bytes, seconds: Optional[float]) -> None:
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
        data = self._codec.dumps(value)
        self.db.run(self._put, self._sub(key), data, seconds)
        self.cull()

    def add(self, key: Any, value: Any, seconds: Optional[float] = None) -> bool:
        """Set it if there is none; was it set?"""
        sub, data = self._sub(key), self._codec.dumps(value)

        def body() -> bool:
            if self._data(sub) is not None:
                return False
            self._put(sub, data, seconds)
            return True

        return bool(self.db.run(body))

    def touch(self, key: Any, seconds: Optional[float]) -> bool:
        """Expire at another time; was there a value?"""
        sub = self._sub(key)

        def body() -> bool:
            data = self._data(sub)
            if data is None:
                return False
            self._put(sub, data, seconds)
            return True

        return bool(self.db.run(body))

    def incr(self, key: Any, by: int = 1) -> Any:
        """Add; None: there is no value.  It expires when it did before."""
        sub = self._sub(key)

        def body() -> Any:
            data = self._data(sub)
            if data is None:
                return None
            value = self._codec.loads(data) + by
            self._values[sub].set(self._codec.dumps(value))
            return value

        return self.db.run(body)

    def delete(self, key: Any) -> bool:
        """Was there a value?"""
        sub = self._sub(key)

        def body() -> bool:
            found = self._data(sub) is not None
            self._forget(sub)
            return found

        return bool(self.db.run(body))

    def clear(self) -> None:
        def body() -> None:
            for node in (self._values, self._expires, self._index):
                node.kill()

        self.db.run(body)

    def cull(self, most: int = BATCH) -> int:
        """Forget some of what has expired; how many."""
        now = self._clock()
        first = self._index.first
        if first is None or float(first.sub) > now:
            return 0
        return int(self.db.run(self._cull, most, now))

    def _cull(self, most: int, now: float) -> int:
        count = 0
        while count < most:
            first = self._index.first
            if first is None or float(first.sub) > now:
                break
            for sub in list(first):
                self._forget(sub.encode("utf-8", "surrogateescape"))
                count += 1
        return count


def memoize(node: Any, expire: Optional[float] = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: keep what a function, or an async one, returns for its arguments, below a node.

    All processes share it; function.forget(*args) takes one result away.  Arguments and results are pickled.
    """
    cache = Expiring(node)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        def key(args: Any, kw: Any) -> bytes:
            name = "%s.%s" % (function.__module__, function.__qualname__)
            return pickle.dumps((name, args, sorted(kw.items())), 4)

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
