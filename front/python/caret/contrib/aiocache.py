"""A cache for aiocache.

    from caret.contrib.aiocache import CaretCache
    cache = CaretCache(caret.open("cache.caret")["^cache"])
"""

from __future__ import annotations

from typing import Any, Optional

from aiocache.base import BaseCache
from aiocache.serializers import NullSerializer

from caret.expiring import Expiring


def _sum(value: Any, by: int) -> Any:
    """A serializer may have made text of a number; then it stays text."""
    if not isinstance(value, (str, bytes)):
        return value + by
    try:
        made = str(int(value) + by)
    except ValueError:
        raise TypeError("Value is not an integer") from None
    return made if isinstance(value, str) else made.encode()


class CaretCache(BaseCache):  # type: ignore[type-arg,misc,unused-ignore]
    """Below a node.  Calls are made directly: they take less than a switch of threads."""

    NAME = "caret"

    def __init__(self, node: Any, **options: Any) -> None:
        options.setdefault("serializer", NullSerializer())
        super().__init__(**options)
        self._cache = Expiring(node)

    def build_key(self, key: str, namespace: Optional[str] = None) -> str:
        namespace = namespace if namespace is not None else self.namespace
        return key if namespace is None else "%s%s" % (namespace, key)

    async def _get(self, key: str, encoding: Any = None, _conn: Any = None) -> Any:
        return self._cache.get(key)

    _gets = _get

    async def _multi_get(self, keys: Any, encoding: Any = None, _conn: Any = None) -> list[Any]:
        return [self._cache.get(key) for key in keys]

    async def _set(self, key: str, value: Any, ttl: Any = None, _cas_token: Any = None, _conn: Any = None) -> bool:
        def body() -> bool:
            same = _cas_token is None or _cas_token == self._cache.get(key)
            if same:
                self._cache.set(key, value, ttl or None)
            return same

        return bool(self._cache.db.run(body))

    async def _multi_set(self, pairs: Any, ttl: Any = None, _conn: Any = None) -> bool:
        def body() -> None:
            for key, value in pairs:
                self._cache.set(key, value, ttl or None)

        self._cache.db.run(body)
        return True

    async def _add(self, key: str, value: Any, ttl: Any = None, _conn: Any = None) -> bool:
        if not self._cache.add(key, value, ttl or None):
            raise ValueError("Key %s already exists, use .set to update the value" % key)
        return True

    async def _exists(self, key: str, _conn: Any = None) -> bool:
        return self._cache.has(key)

    async def _increment(self, key: str, delta: int, _conn: Any = None) -> Any:
        def body() -> Any:
            made = self._cache.incr(key, delta, _sum)
            return delta if made is None and self._cache.add(key, self.serializer.dumps(delta)) else int(made)

        return self._cache.db.run(body)

    async def _expire(self, key: str, ttl: Any, _conn: Any = None) -> bool:
        return self._cache.touch(key, ttl or None)

    async def _delete(self, key: str, _conn: Any = None) -> int:
        return int(self._cache.delete(key))

    async def _clear(self, namespace: Any = None, _conn: Any = None) -> bool:
        if namespace:
            self._cache.clear_prefix(namespace)
        else:
            self._cache.clear()
        return True

    async def _raw(self, command: str, *args: Any, encoding: Any = None, _conn: Any = None, **options: Any) -> Any:
        return getattr(self._cache, command)(*args, **options)

    async def _redlock_release(self, key: str, value: Any) -> int:
        return int(self._cache.db.run(lambda: self._cache.get(key) == value and self._cache.delete(key)))
