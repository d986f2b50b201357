"""A cache and sessions for Django.

    CACHES = {"default": {"BACKEND": "caret.contrib.django.Cache", "LOCATION": "/var/lib/app/cache.caret"}}
    SESSION_ENGINE = "caret.contrib.django"

With OPTIONS = {"NAME": "^other"} it is below another variable.  MAX_ENTRIES and CULL_FREQUENCY are as in Django, but
nothing is forgotten for its number unless MAX_ENTRIES is given; it is looked at by each set of a small cache, and by one
of a 32nd part of MAX_ENTRIES of another.
"""

from __future__ import annotations

from typing import Any, Optional

from django.contrib.sessions.backends.cache import SessionStore as CacheSession
from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

from caret.expiring import Expiring
from caret.shelf import shared


class Cache(BaseCache):  # type: ignore[misc,unused-ignore]
    """Calls take less than a switch of threads, so async methods call directly."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        options = params.get("OPTIONS") or {}
        self._cache = Expiring(shared(location)[options.get("NAME", "^django")])  # one object for each thread
        self._limited = "MAX_ENTRIES" in options or "MAX_ENTRIES" in params or "max_entries" in params
        self._sets = 0

    def _make_room(self) -> None:
        if self._limited:
            self._sets += 1
            if self._sets % max(1, self._max_entries // 32) == 0:
                self._cache.shrink(self._max_entries, self._cull_frequency)

    def _key(self, key: Any, version: Any) -> str:
        made: str = self.make_and_validate_key(key, version=version)
        return made

    def _seconds(self, timeout: Any) -> Optional[float]:
        seconds: Optional[float] = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return seconds

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        return self._cache.get(self._key(key, version), default)

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> None:
        name = self._key(key, version)
        self._make_room()
        self._cache.set(name, value, self._seconds(timeout))

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        name = self._key(key, version)
        self._make_room()
        return self._cache.add(name, value, self._seconds(timeout))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        return self._cache.touch(self._key(key, version), self._seconds(timeout))

    def delete(self, key: Any, version: Any = None) -> bool:
        return self._cache.delete(self._key(key, version))

    def has_key(self, key: Any, version: Any = None) -> bool:
        return self._cache.has(self._key(key, version))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> Any:
        made = self._cache.incr(self._key(key, version), delta)
        if made is None:
            raise ValueError("Key '%s' not found" % key)
        return made

    def clear(self) -> None:
        self._cache.clear()

    async def aget(self, key: Any, default: Any = None, version: Any = None) -> Any:
        return self.get(key, default, version)

    async def aset(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> None:
        self.set(key, value, timeout, version)

    async def aadd(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        return self.add(key, value, timeout, version)

    async def atouch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        return self.touch(key, timeout, version)

    async def adelete(self, key: Any, version: Any = None) -> bool:
        return self.delete(key, version)

    async def aincr(self, key: Any, delta: int = 1, version: Any = None) -> Any:
        return self.incr(key, delta, version)

    async def aclear(self) -> None:
        self.clear()


class SessionStore(CacheSession):  # type: ignore[misc,unused-ignore]
    """Sessions in the cache that SESSION_CACHE_ALIAS names, which is a Cache of this module."""

    def save(self, must_create: bool = False) -> None:
        """It is looked for, and set, in one transaction: what a request has ended another one does not bring back."""
        self._cache._cache.db.run(super().save, must_create)

    async def asave(self, must_create: bool = False) -> None:
        self.save(must_create)

    @classmethod
    def clear_expired(cls) -> None:
        """For `manage.py clearsessions`."""
        from django.conf import settings  # at the top stubtest would look into it, which takes settings

        while getattr(caches[settings.SESSION_CACHE_ALIAS], "_cache").cull():
            pass

    @classmethod
    async def aclear_expired(cls) -> None:
        cls.clear_expired()
