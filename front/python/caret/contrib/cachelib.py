"""A cache for cachelib, and with it for Flask-Session (SESSION_TYPE = "cachelib") and Flask-Caching.

    from caret.contrib.cachelib import CaretCache
    cache = CaretCache(caret.open("cache.caret")["^cache"])
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Optional, Union

from cachelib.base import BaseCache

from caret.expiring import Expiring

Timeout = Union[int, timedelta, None]


class CaretCache(BaseCache):
    """Below a node; timeouts are seconds, 0: never.  Its serializer has dumps and loads; options are cachelib's."""

    def __init__(self, node: Any, default_timeout: Any = 300, **options: Any) -> None:
        super().__init__(default_timeout, **options)
        self._cache = Expiring(node)

    @property
    def serializer(self) -> Any:
        return self._cache.codec

    @serializer.setter
    def serializer(self, codec: Any) -> None:
        self._cache.codec = codec

    def _seconds(self, timeout: Timeout) -> Optional[float]:
        wanted: Any = self.default_timeout if timeout is None else timeout
        return (wanted.total_seconds() if isinstance(wanted, timedelta) else wanted) or None

    def get(self, key: str) -> Any:
        return self._cache.get(key)

    def set(self, key: str, value: Any, timeout: Timeout = None) -> Optional[bool]:
        self._cache.set(key, value, self._seconds(timeout))
        return True

    def add(self, key: str, value: Any, timeout: Timeout = None) -> bool:
        return self._cache.add(key, value, self._seconds(timeout))

    def delete(self, key: str) -> bool:
        return self._cache.delete(key)

    def has(self, key: str) -> bool:
        return self._cache.has(key)

    def clear(self) -> bool:
        self._cache.clear()
        return True

    def inc(self, key: str, delta: int = 1) -> Optional[int]:
        made: Optional[int] = self._cache.incr(key, delta)
        if made is None and self.add(key, delta):
            made = delta
        return self._cache.incr(key, delta) if made is None else made

    def dec(self, key: str, delta: int = 1) -> Optional[int]:
        return self.inc(key, -delta)
