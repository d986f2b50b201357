"""Values that expire, memoize(), and cachelib's cache where cachelib is installed."""

import asyncio
import hashlib
import json
import threading
from datetime import timedelta

from caret.expiring import Expiring, memoize
from support import Case, main


class Expire(Case):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.cache = Expiring(self.n, clock=lambda: self.now)

    def test_life_of_a_value(self):
        c = self.cache
        c.set("a", [1], 10)
        c.set("b", None)
        c.set("x" * 500, 2, 5)
        self.assertEqual((c.get("a"), c.get("b", 5), c.get("c", 5), c.get("x" * 500)), ([1], None, 5, 2))
        self.assertEqual((c.add("a", 2), c.add("c", 2, 5), c.has("c")), (False, True, True))
        self.now += 6
        self.assertEqual((c.get("a"), c.has("c"), c.add("c", 3)), ([1], False, True))
        self.assertEqual((c.touch("a", 100), c.touch("none", 5)), (True, False))
        self.now += 50
        self.assertEqual((c.get("a"), c.delete("a"), c.delete("a")), ([1], True, False))
        self.assertEqual((c.incr("c", 4), c.incr("none")), (7, None))
        c.clear()
        self.assertEqual(self.n.data, 0)

    def test_another_sets_it_between_two_steps(self):
        """What has expired is not given out by the time of a new value."""
        class Slow(Expiring):
            def _alive(slow, sub):
                self.cache.set("a", "new", 60)
                return super()._alive(sub)

        slow = Slow(self.n, clock=lambda: self.now)
        for call in (lambda: slow.get("a"), lambda: slow.codec.loads(slow._data(slow._sub("a")))):
            self.cache.set("a", "old", 5)
            self.now += 10
            self.assertEqual(call(), "new")

    def test_times(self):
        for seconds in (float("inf"), 1e300, 10**400):
            self.cache.set("a", 1, seconds)
            self.now += 1e9
            self.assertEqual((self.cache.get("a"), self.n["t"].data), (1, 0))
        with self.assertRaisesRegex(ValueError, "NaN"):
            self.cache.set("a", 2, float("nan"))
        self.assertEqual(self.cache.get("a"), 1)
        self.cache.set("a", 2, -1)
        self.assertIsNone(self.cache.get("a"))

    def test_keys_that_look_like_others(self):
        """A long key is kept by its hash; no short one is the same."""
        long = b"x" * 500
        self.cache.set(long, "long", 60)
        for mark in (b"", b"\0", b"h", b"k", b"k\0"):
            self.assertIsNone(self.cache.get(mark + hashlib.sha256(long).digest()))
        self.assertEqual(self.cache.get(long), "long")

    def test_other_keys_are_refused(self):
        """Also a number, which would be as many bytes, and a list of numbers."""
        c = self.cache
        for key in (7, 1 << 40, None, [1, 2], 1.5):
            for f in (c.get, c.has, c.delete, c.clear_prefix, lambda k: c.set(k, 1)):
                self.assertRaisesRegex(TypeError, "a key of a cache is str or bytes, not ", f, key)
        self.cache.set(bytearray(b"k"), 1)
        self.assertEqual((self.cache.get("k"), self.cache.get(memoryview(b"k"))), (1, 1))

    def test_cull_leaves_no_trace(self):
        for i in range(250):
            self.cache.set("k%d" % i, i, 1 + i % 2)
        self.now += 5
        while self.cache.cull():
            pass
        self.assertEqual(self.n.data, 0)

    def test_prefixes(self):
        """Long keys go with their beginning, too, and keys of bytes."""
        keys = ["a:1", "a:" + "x" * 500, b"a:\xff", "a", "b:1", "b:" + "x" * 500]
        for key in keys:
            self.cache.set(key, 1, 60)
        for i in range(250):
            self.cache.set("a:%d" % i, i)
        self.cache.clear_prefix("a:")
        self.assertEqual([self.cache.has(key) for key in keys], [False, False, False, True, True, True])
        self.assertEqual([self.n[name].count() for name in ("v", "e")], [3, 3])
        self.cache.clear_prefix("")
        self.assertEqual(self.n.data, 0)

    def test_shrink(self):
        for i in range(300):
            self.cache.set("k%d" % i, i, 1000 - i if i % 3 == 0 else None)
        self.assertEqual((self.cache.shrink(301, 3), self.cache.shrink(300, 3)), (0, 100))
        self.assertEqual((self.n["e"].data, self.n["v"].count()), (0, 200))  # those that expire were 100
        self.assertEqual((self.cache.shrink(0, 200), self.n["v"].count()), (1, 199))
        self.assertEqual((self.cache.shrink(0, 0), self.cache.shrink(0, 0), self.n.data), (199, 0, 0))
        for i in range(30):
            self.cache.set("k%d" % i, i, 10 + i)
        self.cache.shrink(30, 3)
        self.assertEqual([i for i in range(30) if self.cache.has("k%d" % i)], list(range(10, 30)))

    def test_memoize(self):
        calls = []

        @memoize(self.n)
        def square(x, y=0):
            calls.append(x)
            return None if x == 0 else x * x + y

        self.assertEqual([square(3), square(3), square(3, y=1), square(0), square(0)], [9, 9, 10, None, None])
        self.assertEqual(calls, [3, 3, 0])
        self.assertTrue(square.forget(3))
        self.assertEqual((square(3), len(calls)), (9, 4))

        @memoize(self.n, expire=60)
        async def later(x):
            calls.append(x)
            return x

        self.assertEqual((asyncio.run(later(7)), asyncio.run(later(7)), calls.count(7)), (7, 7, 1))

    def test_memoize_knows_arguments_by_what_they_are(self):
        """Not by whether two of them are one object."""
        @memoize(self.n)
        def join(*names):
            return "".join(map(str, names))

        one, other = ("".join(["o", "ak"]) for _ in range(2))
        self.assertEqual((join(one, one), self.n["v"].count()), ("oakoak", 1))
        self.assertEqual((join(one, other), self.n["v"].count()), ("oakoak", 1))
        self.assertTrue(join.forget(other, one))
        ring = [1]
        ring.append(ring)
        self.assertEqual((join(ring), join.forget(ring), join.forget(ring)), ("[1, [...]]", True, False))

    def test_what_memoize_refuses(self):
        def some():
            yield 1

        async def more():
            yield 1

        for body in (some, more):
            with self.assertRaisesRegex(TypeError, "generator"):
                memoize(self.n)(body)

    def test_memoize_as_a_method(self):
        calls = []

        def square(x):
            calls.append(x)
            return x * x

        kept, below = self.db.memoize(square), self.db.memoize(expire=60, node=self.n["m"])(square)
        self.assertEqual([kept(3), kept(3), below(3), below(3), calls], [9, 9, 9, 9, [3, 3]])
        self.assertEqual((list(self.db), list(self.n), self.n["m", "e"].count()), (["^memoize", "^n"], ["m"], 1))
        with self.db.session() as other:  # what one has computed the other finds
            self.assertEqual((other.memoize(square)(3), len(calls)), (9, 2))
        self.assertTrue(kept.forget(3))
        self.assertEqual((kept(3), len(calls)), (9, 3))
        with self.assertRaisesRegex(TypeError, "expire="):
            self.db.memoize(60)

    def test_cachelib(self):
        try:
            from caret.contrib.cachelib import CaretCache
        except ImportError:
            self.skipTest("cachelib is not installed")
        c = CaretCache(self.n)
        c.set("d", 1, timedelta(seconds=60))
        self.assertEqual(c.get("d"), 1)
        self.assertTrue(c.set_many({"a": 1, "b": [2]}))
        self.assertEqual((c.get_many("a", "b", "c"), c.has("a"), c.add("a", 5)), ([1, [2], None], True, False))
        self.assertEqual((c.inc("a"), c.dec("a", 3), c.inc("new", 4)), (2, -1, 4))
        self.assertEqual((c.delete("a"), c.get("a"), c.clear(), c.get("b")), (True, None, True, None))
        c.serializer = json
        c.set("a", {"b": 1})
        self.assertEqual((self.n["v", "ka"].value, c.get("a"), c.serializer), ('{"b": 1}', {"b": 1}, json))

    def test_aiocache(self):
        try:
            from aiocache.serializers import JsonSerializer
            from caret.contrib.aiocache import CaretCache
        except ImportError:
            self.skipTest("aiocache is not installed")

        async def body():
            c = CaretCache(self.n)
            await c.set("a", [1], ttl=60)
            self.assertEqual((await c.get("a"), await c.get("b", default=5), await c.exists("a")), ([1], 5, True))
            with self.assertRaises(ValueError):
                await c.add("a", 2)
            await c.multi_set([("x", 1), ("y", 2)])
            self.assertEqual(await c.multi_get(["x", "y", "z"]), [1, 2, None])
            self.assertEqual((await c.increment("x", 4), await c.increment("new")), (5, 1))
            self.assertEqual((await c.expire("x", 60), await c.delete("x"), await c.delete("x")), (True, 1, 0))
            self.assertEqual((await c.set("a", [2], _cas_token=[0]), await c.set("a", [2], _cas_token=[1])), (False, True))
            self.assertEqual((await c._redlock_release("a", [1]), await c._redlock_release("a", [2])), (0, 1))
            await c.set("a", 1, namespace="x:")
            await c.set("a", 2, namespace="y:")
            await c.clear(namespace="x:")
            self.assertEqual((await c.exists("a", namespace="x:"), await c.get("a", namespace="y:")), (False, 2))
            self.assertEqual(await c.raw("get", "y:a"), 2)
            await c.clear()
            self.assertIsNone(await c.get("a", namespace="y:"))
            j = CaretCache(self.n, serializer=JsonSerializer())
            await j.set("n", 2)
            self.assertEqual((await j.increment("n", 3), await j.get("n")), (5, 5))
            self.assertEqual((await j.increment("m", 3), await j.get("m")), (3, 3))
            await j.set("n", "word")
            with self.assertRaises(TypeError):
                await j.increment("n")

        asyncio.run(body())

    def test_django(self):
        try:
            from django.conf import settings
        except ImportError:
            self.skipTest("Django is not installed")
        where = {"BACKEND": "caret.contrib.django.Cache", "LOCATION": self.path}
        settings.configure(CACHES={"default": where}, SESSION_ENGINE="caret.contrib.django")
        from caret.contrib.django import SessionStore
        from django.core.cache import cache, caches

        self.db.close()  # so that it is opened by the cache
        used = [cache._cache.db]
        thread = threading.Thread(target=lambda: used.append(caches["default"]._cache.db))
        thread.start()
        thread.join()
        self.assertIs(used[0], used[1])
        cache.set("a", {"b": 1}, 60)
        cache.set("gone", 1, 0)
        cache.set("ever", 1, None)
        self.assertEqual((cache.get("a"), cache.get("gone"), cache.get("none", 7)), ({"b": 1}, None, 7))
        self.assertEqual((cache.add("a", 2), cache.incr("ever", 4), cache.decr("ever")), (False, 5, 4))
        self.assertRaises(ValueError, cache.incr, "none")
        self.assertEqual((cache.touch("a"), cache.touch("none"), "a" in cache), (True, False, True))
        self.assertEqual(cache.set_many({"x": 1, "y": 2}), [])
        self.assertEqual(cache.get_many(["x", "y", "z"]), {"x": 1, "y": 2})
        cache.set("v", 1, version=2)
        self.assertEqual((cache.get("v"), cache.get("v", version=2), cache.get_or_set("w", lambda: 9)), (None, 1, 9))
        asyncio.run(cache.aset("async", 3))
        self.assertEqual(asyncio.run(cache.aget("async")), 3)
        session = SessionStore()
        session["user"] = 5
        session.save()
        self.assertEqual(SessionStore(session.session_key)["user"], 5)
        self.ends_while_it_is_saved(SessionStore, session.session_key)
        session.create()
        session.set_expiry(-1)
        session.save()
        cache._cache.set("old", 1, 60)
        cache._cache._clock, before = (lambda: 1e10), cache._cache._clock
        SessionStore.clear_expired()
        cache._cache._clock = before
        self.assertEqual(cache._cache._index.data, 0)
        cache.clear()
        self.assertIsNone(cache.get("a"))
        small = type(caches["default"])(self.path, {"OPTIONS": {"NAME": "^small", "MAX_ENTRIES": 64}})
        for i in range(200):
            (small.set if i % 2 else small.add)(str(i), i)
            cache.set(str(i), i)  # has no MAX_ENTRIES
        self.assertEqual((cache.get_many(map(str, range(200))).popitem(), small.get("199")), (("199", 199), 199))
        self.assertLess(sum(str(i) in small for i in range(200)), 66)
        self.assertTrue(all(str(i) in cache for i in range(200)))

    def ends_while_it_is_saved(self, store, key):
        """Another request ends a session: this one does not bring it back."""
        from django.contrib.sessions.backends.base import UpdateError

        class Late(store):
            def _get_session(late, no_load=False):
                if late.saves:
                    cache = late._cache._cache
                    Expiring(cache.db.session()["^django"]).delete(late._cache._key(late.cache_key, None))
                return super()._get_session(no_load)

        late = Late(key)
        late.saves = False
        late["user"] = 6
        late.saves = True
        self.assertRaises(UpdateError, late.save)
        self.assertFalse(late.exists(key))


if __name__ == "__main__":
    main()
