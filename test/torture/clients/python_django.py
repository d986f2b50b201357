"""django-redis: Django's cache and its sessions, locks, patterns, counters, compressed values."""
import os

import django
from django.conf import settings

url = os.environ["REDIS_URL"]


def cache(db, **options):
    return {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url + "/" + str(db), "OPTIONS": options}


settings.configure(
    CACHES={"default": cache(1), "zlib": cache(2, COMPRESSOR="django_redis.compressors.zlib.ZlibCompressor"),
            "json": cache(3, SERIALIZER="django_redis.serializers.json.JSONSerializer")},
    SESSION_ENGINE="django.contrib.sessions.backends.cache", INSTALLED_APPS=["django.contrib.sessions"])
django.setup()

from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402
from django.core.cache import caches  # noqa: E402


def say(what, *value):
    print(what + ":", *value, flush=True)


for name in ("default", "zlib", "json"):
    c = caches[name]
    c.clear()
    say(name, c.set("a", {"deep": [1, 2]}), c.get("a"), c.get("none", "instead"), c.add("a", 1), c.add("b", 1))
    say(name, c.set_many({"x": 1, "y": "two", "z": [3] * 500}), sorted(c.get_many(["x", "y", "z", "none"])))
    say(name, c.set("n", 5), c.incr("n"), c.decr("n", 3), c.get_or_set("new", lambda: "made"), "new" in c)
    say(name, c.set("t", 1, timeout=100), 0 < c.ttl("t") <= 100, c.persist("t"), c.ttl("t"), c.expire("t", 50), c.touch("t", 70))
    say(name, sorted(c.keys("*")), sorted(c.iter_keys("[xyz]")), c.delete_pattern("[xy]"), c.get("x"), c.delete("z"))
    say(name, c.set("v", 1, version=2), c.get("v"), c.get("v", version=2), c.incr_version("a"), c.get("a", version=2))
    try:
        c.incr("nothing")
    except ValueError as e:
        say(name, "incr of nothing", e)
    say(name, c.set("nx", 1, nx=True), c.set("nx", 2, nx=True), c.get("nx"), c.set("gone", 1, timeout=0), c.get("gone"))
    with c.lock("lock", timeout=10):
        say(name, "locked", c.lock("lock").acquire(blocking=False))
    say(name, "unlocked", c.lock("lock", timeout=1).acquire(blocking=False), c.clear(), c.keys("*"))
session = SessionStore()
session["user"] = 7
session.save()
again = SessionStore(session_key=session.session_key)
say("session", again["user"], again.exists(session.session_key))
again.cycle_key()
say("cycled", again["user"], SessionStore().exists(session.session_key), SessionStore().exists(again.session_key))
again.flush()
say("flushed", again.session_key)
