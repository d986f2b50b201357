"""redis-py with hiredis' parser, in both protocols: pipelines, locks, messages, streams, scripts, a cache, threads."""
import os
import threading
import time

import hiredis
import redis

url = os.environ["REDIS_URL"]
assert hiredis.__version__


def say(what, *value):
    print(what + ":", *value, flush=True)


def failure(f, *args):
    try:
        return f(*args)
    except redis.RedisError as e:
        return "failed: " + str(e)


for protocol in (2, 3):
    r = redis.Redis.from_url(url, protocol=protocol, decode_responses=True)
    r.flushall()
    say("protocol", protocol, type(r.connection_pool.get_connection()._parser).__name__)
    say("strings", r.set("a", 1, ex=100), r.incr("a"), r.append("a", "x"), r.getrange("a", 0, 0), failure(r.incr, "a"))
    say("zset", r.zadd("z", {"a": 1.5, "b": float("inf")}), r.zrange("z", 0, -1, withscores=True), r.zscore("z", "b"), r.zmscore("z", ["a", "q"]))
    say("hash", r.hset("h", mapping={"x": 1, "y": 2}), r.hgetall("h"), r.hrandfield("h", 5) is not None)
    say("types", failure(r.lpush, "h", 1), r.type("h"), r.object("encoding", "z"))
    pipe = r.pipeline(transaction=True)
    say("pipeline", pipe.set("p", 1).incr("p").lpush("p", 1).execute(raise_on_error=False)[:2])
    say("transaction", r.transaction(lambda p: (p.multi(), p.incr("p")), "p"))
    counts = []

    def count():
        mine = redis.Redis.from_url(url, protocol=protocol)
        for _ in range(50):
            with mine.lock("lock", timeout=30, sleep=0.002):
                n = int(mine.get("shared") or 0)
                mine.set("shared", n + 1)
        counts.append(1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say("locks", len(counts), r.get("shared"))
    heard = []
    listener = r.pubsub()
    listener.subscribe(one=lambda m: heard.append(m["data"]))
    listener.psubscribe(**{"t*": lambda m: heard.append(m["channel"])})
    thread = listener.run_in_thread(sleep_time=0.01)
    while r.publish("one", "x") != 1 or r.publish("two", "y") != 1:
        time.sleep(0.01)
    while len(heard) < 2:
        time.sleep(0.01)
    thread.stop()
    thread.join()
    say("heard", sorted(set(heard)))
    say("stream", r.xadd("s", {"a": 1}, id="1-1"), r.xgroup_create("s", "g", 0), r.xreadgroup("g", "c", {"s": ">"}), r.xpending("s", "g"),
        r.xclaim("s", "g", "d", 0, ["1-1"]), r.xack("s", "g", "1-1"), r.xinfo_stream("s")["length"])
    script = r.register_script("return {ARGV[1], redis.call('GET', KEYS[1])}")
    say("script", script(keys=["p"], args=["x"]), r.script_flush(), script(keys=["p"], args=["y"]))
    say("scan", len(r.mset({"k%d" % i: i for i in range(500)}) and list(r.scan_iter("k*", count=37))))
    say("blocking", r.blpop("nothing", timeout=0.01), r.bzpopmin(["z"], timeout=1), r.blmove("l", "m", 0.01))
    say("client", r.client_setname("me"), r.client_getname(), r.client_list()[0]["lib-name"] if False else "")
    say("geo", r.geoadd("g", (13.361389, 38.115556, "p")), r.geosearch("g", member="p", radius=1), r.geohash("g", "p"))
    say("bits", r.setbit("bits", 7, 1), r.bitcount("bits"), r.bitfield("bits").set("u8", 0, 255).get("u4", 0).execute())
    say("dump", r.restore("copy", 0, redis.Redis.from_url(url).dump("h")), r.hgetall("copy"))
    say("connections", r.config_get("maxclients") != {}, r.ping(), r.echo("x"), r.time()[0] > 0)
